r"""Gradient and Hessian product in tiles of rows, without an n x n array; the numbers are the plain ones.

Rows of the problem do not interact, so the logits of a few rows at a time are enough:

    for a tile of rows a of A1:   S = (a X) A2',   P from S and its rows of B,   result += a' (P A2).

A tile is sized to stay in a core's cache, so the many passes that softmax and its derivatives make over
their arrays run at the speed of the cache instead of that of memory. Beside B, which is read once,
extra memory is O(n d): a X, P A2, and two tiles of `TILE` bytes (or one row). For the gradients of the two
squared losses, which people compute most, the passes also work in place and are as few as we could make
them (`_squared`); the rest calls the functions of `icl.tensor_trick`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from icl.tensor_trick import TARGETED, row_gradient, row_hvp

#: Bytes in a tile of logits.
TILE = 2**21


@torch.no_grad()
def gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized",
             tile: int = TILE) -> Tensor:
    """`icl.tensor_trick.gradient` of one problem, streamed over rows.

    Args:
        A1: (n, d).
        A2: (m, e), same dtype and device.
        X: (d, e).
        B: (n, m) targets; may be None for "sparse" and "entropy".
        kind: One of `icl.tensor_trick.KINDS`.
        tile: Most bytes in a tile; at least one row is taken.

    Returns:
        (d, e), without autograd history.

    Raises:
        ValueError: If an argument is not a single matrix, kind is unknown, or it needs a B.
        OverflowError: If the result is not finite; `icl.tensor_trick.gradient` says why.
    """
    _check(kind, A1, A2, X, B)
    if kind in ("normalized", "rescaled"):
        return _finite(_squared(A1, A2, X, B, kind, tile), kind)
    queries, total = A1 @ X, torch.zeros_like(X)
    for rows in _tiles(A1, A2, tile):
        P = row_gradient(queries[rows] @ A2.T, None if B is None else B[rows], kind)
        total.addmm_(A1[rows].T, P @ A2)
    return _finite(total, kind)


def _squared(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, kind: str, tile: int) -> Tensor:
    """The gradients of 1/2 |f - b|^2 and 1/2 |u - a b|^2, row by row from the same few passes.

    With any number t near the row's largest logit, e = exp(s - t), z = sum of e and c = b - f = b - e / z,

        normalized:  p = -(1 / z)    e (c - r),   r = <c, f>,
        rescaled:    p = -exp(2t) z  e (c - r),   r = <c, b> = <c, f> + |c|^2,

    so that a tile needs two buffers, and the factor of a row can wait until P A2 is known. Powers of two
    take a quarter of the time of exp here; the logits carry the factor log2(e) from the start. If no logit
    can be large, t = 0 saves two more passes.
    """
    queries, products = A1 @ X * math.log2(math.e), A1.new_empty(len(A1), A2.shape[1])
    tiles = list(_tiles(A1, A2, tile))
    first, second = A1.new_empty(2, tiles[0].stop, len(A2))
    small = queries.norm(dim=1).max() * A2.norm(dim=1).max() < math.log2(torch.finfo(X.dtype).max) / 4
    for rows in tiles:
        e = torch.mm(queries[rows], A2.T, out=first[: rows.stop - rows.start])
        t = None if small else e.amax(-1, keepdim=True)
        z = (e if t is None else e.sub_(t)).exp2_().sum(-1, keepdim=True)
        c = torch.addcmul(B[rows], e, 1 / z, value=-1, out=second[: len(e)])
        miss = torch.linalg.vector_norm(c, dim=-1, keepdim=True).square_() if kind == "rescaled" else 0
        r = c.mul_(e).sum(-1, keepdim=True).div_(z).add_(miss)
        c.addcmul_(e, r, value=-1)
        factor = -1 / z if kind == "normalized" else -z if t is None else -z * (2 * t).exp2()
        torch.mm(c, A2, out=products[rows]).mul_(factor)
    return A1.T @ products


@torch.no_grad()
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
        tile: Most bytes in a tile; at least one row is taken.

    Returns:
        (d, e), without autograd history.

    Raises:
        ValueError: As `gradient`.
        OverflowError: As `gradient`.
    """
    _check(kind, A1, A2, X, B, V)
    queries, moves, total = A1 @ X, A1 @ V, torch.zeros_like(X)
    for rows in _tiles(A1, A2, tile):
        W = row_hvp(queries[rows] @ A2.T, moves[rows] @ A2.T, None if B is None else B[rows], kind)
        total.addmm_(A1[rows].T, W @ A2)
    return _finite(total, kind)


def _tiles(A1: Tensor, A2: Tensor, tile: int):
    n, rows = len(A1), max(1, tile // (len(A2) * A1.element_size()))
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def _check(kind: str, *matrices: Tensor | None) -> None:
    for value in matrices:
        if value is not None and value.ndim != 2:
            raise ValueError(f"an argument has shape {tuple(value.shape)}; streaming takes one problem, of "
                             "matrices without leading dimensions")
    if kind in TARGETED and matrices[3] is None:
        raise ValueError(f"B is None; kind {kind!r} needs targets of shape (n, m)")


def _finite(value: Tensor, kind: str) -> Tensor:
    if not torch.isfinite(value).all():
        raise OverflowError(f"the result ({kind}) is not finite; icl.tensor_trick says whether the input or "
                            "exp is to blame")
    return value
