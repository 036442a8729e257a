r"""Gradient and Hessian product in tiles of rows, without an n x n array; the numbers are the plain ones.

Rows of the problem do not interact, so the logits of a few rows at a time are enough:

    for a tile of rows a of A1:   S = (a X) A2',   P from S and its rows of B,   result += a' (P A2).

A tile is sized to stay in a core's cache, so the many passes that softmax and its derivatives make over
their arrays run at the speed of the cache instead of that of memory. Beside B, which is read once,
extra memory is O(n d): a X, and a tile of at most `TILE` numbers (or one row).
"""

from __future__ import annotations

import torch
from torch import Tensor

from icl.tensor_trick import row_gradient, row_hvp

#: Numbers in a tile of logits.
TILE = 2**18


def gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized",
             tile: int = TILE) -> Tensor:
    """`icl.tensor_trick.gradient` of one problem, streamed over rows.

    Args:
        A1: (n, d).
        A2: (m, e), same dtype and device.
        X: (d, e).
        B: (n, m) targets; may be None for "sparse" and "entropy".
        kind: One of `icl.tensor_trick.KINDS`.
        tile: Most numbers in a tile; at least one row is taken.

    Returns:
        (d, e).

    Raises:
        ValueError: If an argument is not a single matrix, or kind is unknown.
        OverflowError: If the result is not finite; `icl.tensor_trick.gradient` says why.
    """
    _single(A1, A2, X, B)
    queries, total = A1 @ X, torch.zeros_like(X)
    for rows in _tiles(len(A1), len(A2), tile):
        P = row_gradient(queries[rows] @ A2.T, None if B is None else B[rows], kind)
        total.addmm_(A1[rows].T, P @ A2)
    return _finite(total, kind)


def hvp(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor, kind: str = "normalized",
        tile: int = TILE) -> Tensor:
    """`icl.tensor_trick.hvp` of one problem, streamed over rows.

    Args:
        A1: (n, d).
        A2: (m, e), same dtype and device.
        X: (d, e).
        B: (n, m) targets; may be None for "sparse" and "entropy".
        V: (d, e) direction.
        kind: One of `icl.tensor_trick.KINDS`.
        tile: Most numbers in a tile; at least one row is taken.

    Returns:
        (d, e).

    Raises:
        ValueError: As `gradient`.
        OverflowError: As `gradient`.
    """
    _single(A1, A2, X, B, V)
    queries, moves, total = A1 @ X, A1 @ V, torch.zeros_like(X)
    for rows in _tiles(len(A1), len(A2), tile):
        W = row_hvp(queries[rows] @ A2.T, moves[rows] @ A2.T, None if B is None else B[rows], kind)
        total.addmm_(A1[rows].T, W @ A2)
    return _finite(total, kind)


def _tiles(n: int, m: int, tile: int):
    rows = max(1, tile // m)
    return (slice(start, start + rows) for start in range(0, n, rows))


def _single(*matrices: Tensor | None) -> None:
    for value in matrices:
        if value is not None and value.ndim != 2:
            raise ValueError(f"an argument has shape {tuple(value.shape)}; streaming takes one problem, of "
                             "matrices without leading dimensions")


def _finite(value: Tensor, kind: str) -> Tensor:
    if not torch.isfinite(value).all():
        raise OverflowError(f"the result ({kind}) is not finite; icl.tensor_trick says whether the input or "
                            "exp is to blame")
    return value
