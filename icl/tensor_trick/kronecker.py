r"""The tensor trick: vec, and the blocks of the Kronecker product.

If vec reads a matrix row by row, :math:`\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)`. So row
:math:`j` of the logits :math:`S=A_1XA_2^\top` is :math:`A_jx`, with :math:`x=\mathrm{vec}(X)` and the block
:math:`A_j=A_1[j,:]\otimes A_2`.
"""

from __future__ import annotations

import math

from icl.pytorch import Tensor


def vec(X: Tensor) -> Tensor:
    """Stack the rows of a matrix (..., d, e): entry (i, j) becomes entry i * e + j of (..., d * e)."""
    return X.flatten(-2)


def unvec(x: Tensor, rows: int | None = None, cols: int | None = None) -> Tensor:
    """Return the matrix (..., rows, cols) whose `vec` is x.

    Without ``rows`` and ``cols`` the matrix is square.
    """
    if rows is None and cols is None:
        rows = cols = math.isqrt(x.shape[-1])
    return x.reshape(*x.shape[:-1], -1 if rows is None else rows, -1 if cols is None else cols)


def kron_block(A1: Tensor, A2: Tensor, j: int) -> Tensor:
    """Return the block A_j, the Kronecker product of row j of A1 with A2, (..., m, d * e).

    ``kron_block(A1, A2, j) @ vec(X)`` is row j of ``A1 @ X @ A2.T``. A1 is (..., n, d), and A2 is
    (..., m, e).
    """
    row = A1[..., j, :]
    return (row[..., None, :, None] * A2[..., :, None, :]).flatten(-2)
