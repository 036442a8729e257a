r"""The tensor trick: vec, and the blocks of the Kronecker product.

With vec reading a matrix row by row, :math:`\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)`.
Row :math:`j` of the logits :math:`S=A_1XA_2^\top` is :math:`A_jx` with :math:`x=\mathrm{vec}(X)` and the
block :math:`A_j=A_1[j,:]\otimes A_2`. A regression on a matrix is therefore a sum of regressions on its rows.

ValueError for what is no dense tensor, for shapes that do not fit, and for NaN and infinity.
"""

from __future__ import annotations

import math

from icl.checks import integer, tensor
from icl.pytorch import Tensor
from icl.tensor_trick.inputs import check_alike, check_dense, check_finite


def vec(X: Tensor) -> Tensor:
    """Stack the rows of a matrix (..., d, e): entry (i, j) becomes entry i * e + j of (..., d * e)."""
    check_dense("X", X, 2)
    return X.flatten(-2)


def unvec(x: Tensor, rows: int | None = None, cols: int | None = None) -> Tensor:
    """Return the matrix (..., rows, cols) whose `vec` is x, by default a square one."""
    check_dense("x", x, 1)
    length = x.shape[-1]
    rows = rows if rows is None else integer(rows, "rows", 0)
    cols = cols if cols is None else integer(cols, "cols", 0)
    if rows is None and cols is None:
        rows = cols = math.isqrt(length)
    if rows is None:
        rows = length // cols if cols else 0
    if cols is None:
        cols = length // rows if rows else 0
    if rows < 1 or cols < 1 or rows * cols != length:
        raise ValueError(
            f"x has {length} entries, which do not fill a {rows} x {cols} matrix; name rows and cols"
        )
    return x.reshape(*x.shape[:-1], rows, cols)


def kron_block(A1: Tensor, A2: Tensor, j: int) -> Tensor:
    """Return the block A_j = A1[j, :] (x) A2, which is rows j*m ... (j+1)*m - 1 of A1 (x) A2.

    ``kron_block(A1, A2, j) @ vec(X)`` is row j of ``A1 @ X @ A2.T``. Shapes: A1 (..., n, d), A2 (..., m, e),
    the block (..., m, d * e). IndexError if A1 has no row j.
    """
    tensor(A1, "A1", "n", "d", finite=False)
    tensor(A2, "A2", "m", "e", finite=False)
    check_alike(A1=A1, A2=A2)
    check_finite("A1", A1)
    check_finite("A2", A2)
    j, n = integer(j, "j"), A1.shape[-2]
    if not 0 <= j < n:
        raise IndexError(f"j is {j}; A1 has rows 0 to {n - 1}")
    row = A1[..., j, :]
    return (row[..., None, :, None] * A2[..., :, None, :]).flatten(-2)
