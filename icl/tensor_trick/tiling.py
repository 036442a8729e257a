r"""Gradient and Hessian product in tiles of rows, without an n x m array of their own (private).

Rows of the problem do not interact, so the logits of a few rows at a time are enough::

    for a tile of rows a of A1:   S = (a X) A2',   P from S and its rows of B,   result += a' (P A2).

A tile fits the cache of a core, so the many passes that softmax and its derivatives make over their arrays
run at the speed of the cache. Beside B, which is read once, extra memory is O(n d): a X, P A2 and a few
tiles. On a CPU the two squared losses go through compiled loops (`icl.compiled`); everything else calls
`icl.tensor_trick.formulas`. Small problems are computed by the formula, as many at a time as fit a tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from icl.tensor_trick.formulas import plain_gradient, plain_hvp, row_gradient, row_hvp
from icl.tensor_trick.inputs import batch_shape

#: Bytes of logits in a tile: what two cores have of cache, or a GPU.
TILE, TILE_GPU = 2**21, 2**26

#: Bytes of logits from which tiles are faster than the formula on a CPU. Measured with one thread, all
#: kinds, d = 8 and 64: the two take equal time between 2^16 and 2^17 in both precisions.
SMALL = 2**17

_SQUARED = ("normalized", "rescaled")  # the kinds with compiled loops


def _can_tile(given: list[Tensor]) -> bool:
    """Return whether nobody will differentiate, map or trace the result."""
    if torch.compiler.is_compiling():
        return False
    # `torch.func.grad` wraps new tensors, too, so it is noticed even if none of the arguments depends on it
    wrapped = any(torch.func.debug_unwrap(t) is not t for t in (*given, torch.empty(0)))
    history = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    dual = any(unpack_dual(t).tangent is not None for t in given)  # type: ignore[no-untyped-call]
    return not (wrapped or history or dual) and all(
        type(t) in (Tensor, torch.nn.Parameter) for t in given
    )


def tiled_or_plain(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None, *, kind: str
) -> Tensor:
    """Compute the gradient, or with V the Hessian product, of one problem or of a batch.

    Shapes are those of `icl.tensor_trick.hvp`; V is None for the gradient, B where the kind has no targets.
    Tiles leave no autograd history.
    """
    problem = (A1, A2, X, B, V)
    batch = batch_shape(*problem)
    on_cpu = A1.device.type == "cpu"
    small, together = (SMALL, TILE // 4) if on_cpu else (TILE_GPU, TILE_GPU)
    size = A1.shape[-2] * A2.shape[-2] * A1.element_size()
    few = 0 in batch or (size < small and math.prod(batch) * size <= together)
    if few or not _can_tile([t for t in problem if t is not None]):
        return (
            plain_gradient(A1, A2, X, B, kind)
            if V is None
            else plain_hvp(A1, A2, X, B, V, kind)
        )
    if not batch:
        return tiled(A1, A2, X, B, V, kind)
    count = max(1, together // (math.prod(batch[1:]) * size)) if size < small else 1

    def parts(
        t: Tensor | None,
    ) -> Iterable[Tensor | None]:  # along the first dimension of the batch
        if t is None or t.ndim - 2 < len(batch):
            return repeat(t)
        t = t.expand(batch[0], *t.shape[1:])
        return t.unbind() if count == 1 else torch.split(t, count)

    done = [
        tiled_or_plain(*piece, kind=kind)
        for piece in zip(*map(parts, problem), strict=False)
    ]
    return torch.stack(done) if count == 1 else torch.cat(done)


@torch.no_grad()
def tiled(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    V: Tensor | None,
    kind: str,
    tile: int | None = None,
) -> Tensor:
    """Compute A1' W A2 of one problem by tiles of ``tile`` bytes of logits; the rest as `tiled_or_plain`."""
    on_cpu = A1.device.type == "cpu"
    squared = on_cpu and kind in _SQUARED and A1.dtype in (torch.float32, torch.float64)
    # outside the compiled loops several arrays of a tile's size are alive at a time
    tile = tile or (TILE_GPU if not on_cpu else TILE if squared else TILE // 4)
    height = min(len(A1), max(1, tile // (len(A2) * A1.element_size())))
    moved, columns = [A1 @ M for M in (X, V) if M is not None], A2.T.contiguous()
    W_A2 = A1.new_empty(len(A1), A2.shape[1])
    spare = A1.new_empty(len(moved), height, len(A2))
    parts = max(
        1, torch.get_num_threads() // 2
    )  # to wake a second thread costs as much as it saves
    with ThreadPoolExecutor(parts) as pool:
        each = map if parts == 1 else pool.map
        for start in range(0, len(A1), height):
            rows = slice(start, start + height)
            b = None if B is None else B[rows]
            memory = spare[:, : len(A1[rows])]
            logits = [
                torch.mm(a[rows], A2.T, out=S)
                for a, S in zip(moved, memory, strict=True)
            ]
            if squared and b is not None:
                from icl.compiled.regressions import (
                    squared_gradient,
                    squared_hvp,
                )  # numba is slow to import

                chunks = (value.chunk(parts) for value in (*logits, b.contiguous()))
                list(
                    each(
                        squared_gradient if V is None else squared_hvp,
                        *chunks,
                        repeat(kind),
                    )
                )
                W = logits[0]
            else:
                W = (
                    row_gradient(logits[0], b, kind)
                    if V is None
                    else row_hvp(logits[0], logits[1], b, kind)
                )
            torch.mm(
                W, columns.T, out=W_A2[rows]
            )  # the layout that MKL is fastest with
    return A1.T @ W_A2
