r"""The tensor trick: vec, and the blocks of the Kronecker product.

With vec reading a matrix row by row, :math:`\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)`.
Row :math:`j` of the logits :math:`S=A_1XA_2^\top` is :math:`A_jx` with :math:`x=\mathrm{vec}(X)` and the
block :math:`A_j=A_1[j,:]\otimes A_2`. A regression on a matrix is therefore a sum of regressions on its rows.
"""

from __future__ import annotations

import math

from icl.pytorch import Tensor


def vec(X: Tensor) -> Tensor:
    """Stack the rows of a matrix (..., d, e): entry (i, j) becomes entry i * e + j of (..., d * e)."""
    return X.flatten(-2)


def unvec(x: Tensor, rows: int | None = None, cols: int | None = None) -> Tensor:
    """Return the matrix (..., rows, cols) whose `vec` is x, by default a square one.

    One of ``rows`` and ``cols`` is enough.
    """
    if rows is None and cols is None:
        rows = cols = math.isqrt(x.shape[-1])
    return x.reshape(*x.shape[:-1], -1 if rows is None else rows, -1 if cols is None else cols)


def kron_block(A1: Tensor, A2: Tensor, j: int) -> Tensor:
    """Return the block A_j = A1[j, :] (x) A2, which is rows j*m ... (j+1)*m - 1 of A1 (x) A2.

    ``kron_block(A1, A2, j) @ vec(X)`` is row j of ``A1 @ X @ A2.T``. Shapes: A1 (..., n, d), A2 (..., m, e),
    the block (..., m, d * e).
    """
    row = A1[..., j, :]
    return (row[..., None, :, None] * A2[..., :, None, :]).flatten(-2)
