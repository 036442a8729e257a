r"""Gradient and Hessian product in tiles of rows, without an n x m array of their own (private).

Rows of the problem do not interact, so the logits of a few rows at a time are enough:

    for a tile of rows a of A1:   S = (a X) A2',   P from S and its rows of B,   result += a' (P A2).

A tile fits the cache of a core, so the many passes that softmax and its derivatives make over their arrays
run at the speed of the cache. Beside B, which is read once, extra memory is O(n d): a X, P A2 and a few
tiles. On a CPU the two squared losses go through compiled loops (`icl.compiled`); everything else calls
`icl.tensor_trick.plain`. Small problems are computed by the plain form, as many at a time as fit a tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from icl.tensor_trick.inputs import batch_shape
from icl.tensor_trick.plain import plain_gradient, plain_hvp, row_gradient, row_hvp

#: Bytes of logits in a tile: what two cores have of cache, or a GPU.
TILE, TILE_GPU = 2**21, 2**26

#: Bytes of logits from which streaming is faster than the plain form on a CPU. Measured with one thread, all
#: kinds, d = 8 and 64: the two take equal time between 2^16 and 2^17 in both precisions.
SMALL = 2**17

_SQUARED = ("normalized", "rescaled")  # the kinds with compiled loops
_MKLDNN = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_ONEDNN: bool = _MKLDNN and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def can_stream(given: Iterable[Tensor]) -> bool:
    """Return whether nobody will differentiate, map or trace the result."""
    # PyTorch has no public name that tells whether `torch.func` is at work: without this one, the plain form
    transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)
    if torch.compiler.is_compiling() or transform is None or transform() is not None:
        return False
    history = torch.is_grad_enabled()
    return not any(
        (history and t.requires_grad)
        or unpack_dual(t).tangent is not None  # type: ignore[no-untyped-call]
        or type(t) not in (Tensor, torch.nn.Parameter)
        for t in given
    )


def streamed(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None, *, kind: str) -> Tensor:
    """Compute the gradient, or with V the Hessian product, of one problem or of a batch.

    Shapes are those of `icl.tensor_trick.hvp`; V is None for the gradient, B where the kind has no targets.
    The result has no autograd history.
    """
    problem = (A1, A2, X, B, V)
    batch = batch_shape(*problem)
    on_cpu = A1.device.type == "cpu"
    small, together = (SMALL, TILE // 4) if on_cpu else (TILE_GPU, TILE_GPU)
    size = A1.shape[-2] * A2.shape[-2] * A1.element_size()
    if 0 in batch or (size < small and math.prod(batch) * size <= together):
        return plain_gradient(A1, A2, X, B, kind) if V is None else plain_hvp(A1, A2, X, B, V, kind)
    if not batch:
        return tiled(A1, A2, X, B, V, kind=kind)

    inner = math.prod(batch[1:]) * size
    count = max(1, together // inner) if size < small else 1

    def parts(t: Tensor | None) -> Iterable[Tensor | None]:  # along the first dimension of the batch
        if t is None or t.ndim - 2 < len(batch):
            return repeat(t)
        t = t.expand(batch[0], *t.shape[1:])
        return t.unbind() if count == 1 else torch.split(t, count)

    done = [streamed(*piece, kind=kind) for piece in zip(*map(parts, problem), strict=False)]
    return torch.stack(done) if count == 1 else torch.cat(done)


@torch.no_grad()
def tiled(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    V: Tensor | None,
    *,
    kind: str,
    tile: int | None = None,
) -> Tensor:
    """Compute A1' W A2 of one problem by tiles of ``tile`` bytes of logits; the rest is as for `streamed`."""
    on_cpu = A1.device.type == "cpu"
    squared = on_cpu and kind in _SQUARED and A1.dtype in (torch.float32, torch.float64)
    # outside the compiled loops several arrays of a tile's size are alive at a time
    tile = tile or (TILE_GPU if not on_cpu else TILE if squared else TILE // 4)
    moved, columns = [_product(A1, M.T) for M in (X, V) if M is not None], _columns(A2)
    reach = A1.new_empty(len(A1), A2.shape[1])
    height = min(len(A1), max(1, tile // (len(A2) * A1.element_size())))
    spare = A1.new_empty(len(moved), height, len(A2))
    parts = max(1, torch.get_num_threads() // 2)  # to wake a second thread costs as much as it saves
    with ThreadPoolExecutor(parts) as pool:
        each = map if parts == 1 else pool.map
        for start in range(0, len(A1), height):
            rows = slice(start, min(start + height, len(A1)))
            memory = spare[:, : rows.stop - start]
            logits = [_product(a[rows], A2, own) for a, own in zip(moved, memory, strict=True)]
            b = None if B is None else B[rows]
            if squared and b is not None:
                from icl.compiled.regressions import squared_gradient, squared_hvp  # numba is slow to import

                chunks = (value.chunk(parts) for value in (*logits, b.contiguous()))
                overwrite = squared_gradient if V is None else squared_hvp
                list(each(overwrite, *chunks, repeat(kind)))
                W = logits[0]
            else:
                W = row_gradient(logits[0], b, kind) if V is None else row_hvp(logits[0], logits[1], b, kind)
            reach[rows] = _product(W, columns)
    return _product(A1.T, reach.T)


def _product(left: Tensor, right: Tensor, spare: Tensor | None = None) -> Tensor:
    """Return ``left @ right.T``, in the memory ``spare`` if given and possible.

    In single precision on a CPU by oneDNN: MKL, to which PyTorch gives its products, leaves the wide vectors
    of processors other than Intel's unused. PyTorch has no public name for this; `torch.compile` writes it.
    """
    if _onednn(left):
        product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
        return product
    return torch.mm(left, right.T, out=spare)


def _onednn(matrix: Tensor) -> bool:
    return _ONEDNN and matrix.dtype == torch.float32 and matrix.device.type == "cpu"


def _columns(A2: Tensor) -> Tensor:
    """Return ``A2.T`` laid out as its product is fastest: MKL wants contiguous columns, oneDNN takes any."""
    return A2.T if _onednn(A2) else A2.T.contiguous()
