"""Loss, gradient and Hessian product of the five softmax regressions of paper 2.

`icl.tensor_trick.formulas` has the formulas for each row of the logits S. Rows are computed in blocks, whose
logits fit into the cache. For the gradient:

- ``half = A1 X`` is computed once. Let h be a block of its rows.
- For each block, ``S = h A2'``, then P = dloss/dS from S and the same rows of B, then ``P A2``.
- The gradient is A1' times all ``P A2``, stacked.

So O(n e) numbers are held beside the arguments, and never n x m. PyTorch can differentiate and map the
results, but its history holds all logits.

Shapes: A1 is (..., n, d), A2 is (..., m, e), X and V are (..., d, e), and B is (..., n, m). In the paper n is
m, and d is e. Leading dimensions broadcast. Logits are not divided by sqrt(d).

On a CPU several blocks are computed at once, each by one thread, because threads that share operations wait
for one another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from icl.pytorch import Tensor, torch
from icl.tensor_trick.formulas import TARGETED, check_target, row_gradient, row_hvp, row_loss

#: Bytes of the logits of a block on a CPU and on a GPU: a few arrays fit into the caches, or keep a GPU busy.
BLOCK, BLOCK_GPU = 2**20, 2**26


def loss(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute one of the five losses that `icl.tensor_trick.formulas` defines.

    ``kind`` is one of `KINDS`. B may be None for "sparse" and "entropy", which have no targets. The result is
    (...). NaN gives NaN, and exp in "rescaled" and "sparse" may overflow to infinity.

    Raises:
        ValueError: If ``kind`` is not in `KINDS`, or if it needs targets and B is None or has another shape.
    """
    used = _check_targets(A1, A2, B, kind)
    half = A1 @ X

    def part(rows: slice) -> Tensor:
        S = half[..., rows, :] @ A2.mT
        b = None if used is None else used[..., rows, :]
        return row_loss(S, b, kind).sum(-1)

    total = torch.zeros((), dtype=X.dtype, device=X.device)
    for value in _map_blocks(part, A1, A2, X, used):
        total = total + value
    return total


def gradient(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute the gradient of `loss` with respect to X, of shape (..., d, e).

    Arguments and errors are those of `loss`.
    """
    used = _check_targets(A1, A2, B, kind)
    half = A1 @ X

    def part(rows: slice) -> Tensor:
        S = half[..., rows, :] @ A2.mT
        b = None if used is None else used[..., rows, :]
        return row_gradient(S, b, kind) @ A2

    return A1.mT @ torch.cat(_map_blocks(part, A1, A2, X, used), -2)


def hvp(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor, kind: str = "normalized"
) -> Tensor:
    """Compute the product of the Hessian of `loss` in X with V; V and the result have shape (..., d, e).

    The other arguments and the errors are those of `loss`.
    """
    used = _check_targets(A1, A2, B, kind)
    half = A1 @ X
    half_move = A1 @ V

    def part(rows: slice) -> Tensor:
        S = half[..., rows, :] @ A2.mT
        # T is the derivative of S in the direction V.
        T = half_move[..., rows, :] @ A2.mT
        b = None if used is None else used[..., rows, :]
        return row_hvp(S, T, b, kind) @ A2

    return A1.mT @ torch.cat(_map_blocks(part, A1, A2, X, used, V), -2)


def _check_targets(A1: Tensor, A2: Tensor, B: Tensor | None, kind: str) -> Tensor | None:
    """Return B, or None for kinds without targets; ValueError if the kind is unknown or B does not fit."""
    B = check_target(B, kind)
    shape = A1.shape[-2], A2.shape[-2]
    if kind not in TARGETED:
        return None
    if B.shape[-2:] != shape:
        raise ValueError(f"B has shape {tuple(B.shape)}: must be (..., {shape[0]}, {shape[1]})")
    return B


def _cut_blocks(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None = None
) -> list[slice]:
    """Cut the rows of A1 into blocks.

    The logits of a block, for all problems of a batch, have about `BLOCK` bytes on a CPU, else `BLOCK_GPU`.
    """
    block = BLOCK if A1.device.type == "cpu" else BLOCK_GPU
    leading = (part.shape[:-2] for part in (A1, A2, X, B, V) if part is not None)
    problems = math.prod(torch.broadcast_shapes(*leading))  # type: ignore[no-untyped-call]
    # rows of an empty batch have zero bytes
    row_bytes = problems * A2.shape[-2] * A1.element_size()
    height = max(1, block // max(1, row_bytes))
    return [slice(start, start + height) for start in range(0, A1.shape[-2], height)]


def _map_blocks(part: Callable[[slice], Tensor], *given: Tensor | None) -> list[Tensor]:
    """Return the values of ``part`` on all blocks of rows, in order; ``given`` are A1, A2, X, B and V."""
    A1, A2, X, B, V = (*given, None)[:5]
    assert A1 is not None and A2 is not None and X is not None
    blocks = _cut_blocks(A1, A2, X, B, V)
    total = torch.get_num_threads()
    # new threads do not know the history, transforms and autocast of this thread
    recorded = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given)
    watched = torch._C._are_functorch_transforms_active() or torch.is_autocast_enabled("cpu")
    workers = min(total, len(blocks))
    if A1.device.type != "cpu" or workers < 2 or recorded or watched:
        return [part(rows) for rows in blocks]
    try:
        # `set_num_threads` in a new thread also changes the number for threads that begin later
        with ThreadPoolExecutor(workers, "", torch.set_num_threads, (1,)) as pool:
            # a new thread would record history
            return list(pool.map(torch.no_grad()(part), blocks))
    finally:
        torch.set_num_threads(total)
