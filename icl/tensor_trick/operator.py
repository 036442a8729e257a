"""The Hessian of the regressions as a linear operator of SciPy, for `eigsh` and conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from icl.pytorch import Tensor, torch
from icl.tensor_trick.regressions import hvp


def hessian(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> LinearOperator:
    """Return the Hessian of `loss` in X as an operator on vectors `vec` (V), of length d * e.

    Nothing is formed but a Hessian product whenever the operator is applied, for several vectors at once
    where SciPy hands it several. The matrix is symmetric.

    Args:
        A1: (n, d).
        A2: (m, e).
        X: (d, e).
        B: Targets (n, m), for the kinds that have them.
        kind: As for `loss`.

    Raises:
        ValueError: For a batch of problems, besides what `loss` raises.

    >>> from scipy.sparse.linalg import eigsh
    >>> A = torch.linspace(-1, 1, 15, dtype=torch.float64).reshape(5, 3)
    >>> H = hessian(A, A, torch.eye(3, dtype=torch.float64), kind="sparse")
    >>> eigsh(H, k=1, return_eigenvectors=False).round(4)
    array([111.2513])
    """
    # refuses now what it would refuse later
    shape = tuple(hvp(A1, A2, X, B, X, kind).shape)
    if len(shape) != 2:
        raise ValueError(
            f"A1, A2, X, B make a Hessian product of shape {shape}: must be one problem, (d, e)"
        )
    d, e = shape

    def products(vectors: NDArray[Any]) -> NDArray[Any]:
        if np.iscomplexobj(vectors):
            # PyTorch would drop the imaginary part of what it makes real
            return np.asarray(products(vectors.real) + 1j * products(vectors.imag))
        columns = np.ascontiguousarray(vectors.reshape(d * e, -1).T)
        V = torch.from_numpy(columns).to(X).reshape(-1, d, e)
        found = hvp(A1, A2, X, B, V, kind).reshape(-1, d * e)
        return np.asarray(found.mT.detach().cpu().numpy()).reshape(vectors.shape)

    dtype = torch.empty(0, dtype=X.dtype).numpy().dtype
    return LinearOperator(
        (d * e, d * e),
        matvec=products,
        rmatvec=products,
        matmat=products,
        rmatmat=products,
        dtype=dtype,
    )
