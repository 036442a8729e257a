r"""Loss, gradient and Hessian product of the five softmax regressions of paper 2.

`icl.tensor_trick.formulas` holds the formulas of a row. Rows of the problem do not interact, so they are
taken in blocks, of which a few arrays of logits fit the cache. With h a block of rows of ``half = A1 X``, ::

    S = h A2',   P from S and its rows of B,   P A2,

and the gradient is A1' times the blocks of P A2 stacked. The products with A1 are taken once for all rows,
as small products are slow. So beside the arguments O(n d) numbers are held, never n x m.
Nothing here forms a Kronecker product or calls autograd. The results can be differentiated and mapped by
PyTorch; a recorded history then holds all logits.

Shapes: A1 (..., n, d), A2 (..., m, e), X and V (..., d, e), B (..., n, m); the paper has m = n and e = d.
Leading dimensions broadcast; every element of the batch is a problem of its own. Logits are not divided by
anything: put a 1/sqrt(d) into X if you want one.

On a CPU blocks run in as many threads as PyTorch has, each of which computes alone. Otherwise every
operation on a block would wait until each thread has done its part, and beside other work threads wait for
their turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from icl.pytorch import Tensor, torch
from icl.tensor_trick.formulas import TARGETED, check_target, row_gradient, row_hvp, row_loss

#: Bytes of the logits of a block: a few arrays of ``BLOCK`` fit the caches of a processor, and a few
#: of ``BLOCK_GPU`` fill a GPU.
BLOCK, BLOCK_GPU = 2**20, 2**26


def loss(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute one of the five losses, with the factor 1/2 where `icl.tensor_trick.formulas` has it.

    The kind is one of `KINDS`; B may be None for "sparse" and "entropy", which have no targets. The result
    (...) has one loss for every element of the broadcast batch. Entries are not checked: NaN gives NaN, and
    exp in "rescaled" and "sparse" may overflow to infinity.

    Raises:
        ValueError: If the kind is not in `KINDS`, or its targets are missing or have another shape.
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
    """Compute the gradient of `loss` with respect to X, A1' P A2 with P = dloss/dS.

    Arguments and errors are those of `loss`. The result is (..., d, e).
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
    """Compute the Hessian of `loss` in X applied to the direction V, both (..., d, e).

    The other arguments and the errors are those of `loss`.
    """
    used = _check_targets(A1, A2, B, kind)
    half = A1 @ X
    half_move = A1 @ V

    def part(rows: slice) -> Tensor:
        S = half[..., rows, :] @ A2.mT
        T = half_move[..., rows, :] @ A2.mT
        b = None if used is None else used[..., rows, :]
        return row_hvp(S, T, b, kind) @ A2

    return A1.mT @ torch.cat(_map_blocks(part, A1, A2, X, used, V), -2)


def _check_targets(A1: Tensor, A2: Tensor, B: Tensor | None, kind: str) -> Tensor | None:
    """Return the targets, or None for kinds without targets; raise ValueError unless they are (..., n, m)."""
    B, shape = check_target(B, kind), (A1.shape[-2], A2.shape[-2])
    if kind not in TARGETED:
        return None
    if B.shape[-2:] != shape:
        raise ValueError(f"B has shape {tuple(B.shape)}: must be (..., {shape[0]}, {shape[1]})")
    return B


def _cut_blocks(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None = None
) -> list[slice]:
    """Cut the rows of A1 into blocks whose logits take at most `BLOCK` bytes, or that have one row.

    Where A1 is not on a CPU the number of bytes is `BLOCK_GPU`.
    """
    block = BLOCK if A1.device.type == "cpu" else BLOCK_GPU
    leading = (part.shape[:-2] for part in (A1, A2, X, B, V) if part is not None)
    problems = math.prod(torch.broadcast_shapes(*leading))  # type: ignore[no-untyped-call]
    # an empty batch has rows without bytes
    row_bytes = problems * A2.shape[-2] * A1.element_size()
    height = max(1, block // max(1, row_bytes))
    return [slice(start, start + height) for start in range(0, A1.shape[-2], height)]


def _map_blocks(part: Callable[[slice], Tensor], *given: Tensor | None) -> list[Tensor]:
    """Return the values of ``part`` on all blocks of rows, in order; ``given`` are A1, A2, X, B and maybe V.

    Several blocks on a CPU run in threads.
    """
    # V is given by `hvp` alone
    A1, A2, X, B, V = (*given, None)[:5]
    assert A1 is not None and A2 is not None and X is not None
    blocks = _cut_blocks(A1, A2, X, B, V)
    total = torch.get_num_threads()
    # PyTorch keeps autograd history, transforms and autocast types by thread, so new threads lack them
    recorded = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in given)
    watched = torch._C._are_functorch_transforms_active() or torch.is_autocast_enabled("cpu")
    workers = min(total, len(blocks))
    if A1.device.type != "cpu" or workers < 2 or recorded or watched:
        return [part(rows) for rows in blocks]
    try:
        # each thread sets its own number of threads, and that of threads which begin later
        with ThreadPoolExecutor(workers, "", torch.set_num_threads, (1,)) as pool:
            # a new thread would record history, also where the caller has turned that off
            return list(pool.map(torch.no_grad()(part), blocks))
    finally:
        torch.set_num_threads(total)
