r"""Loss, gradient and Hessian product of the five softmax regressions of paper 2.

`icl.tensor_trick.formulas` holds the formulas of a row. Rows of the problem do not interact, so they are
taken in blocks, of which the logits fit the cache of a core. With a the rows of A1 in a block, ::

    S = a X A2',   P from S and its rows of B,   gradient += a' (P A2).

So beside the arguments O(n d) numbers are held, never n x m. Nothing here forms a Kronecker product or calls
autograd; `icl.tensor_trick.kronecker` holds the explicit Kronecker versions these are tested against. The
results can be differentiated and mapped by PyTorch; a recorded history then holds all logits.

Shapes: A1 (..., n, d), A2 (..., m, e), X and V (..., d, e), B (..., n, m); the paper has m = n and e = d.
Leading dimensions broadcast; every element of the batch is a problem of its own. Logits are not divided by
anything: put a 1/sqrt(d) into X if you want one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from icl.tensor_trick.formulas import (
    TARGETED,
    row_gradient,
    row_hvp,
    row_loss,
    target,
)
from icl.tensor_trick.inputs import batch_shape, check_problem, check_result

#: Bytes of the logits of a block: a few arrays of this size fit the cache of a core, or fill a GPU.
BLOCK, BLOCK_GPU = 2**19, 2**26


def loss(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute one of the five losses, with the factor 1/2 where `icl.tensor_trick.formulas` has it.

    The kind is one of `KINDS`; B may be None for "sparse" and "entropy", which have no targets. The result
    (...) has one loss for every element of the broadcast batch.

    Raises:
        TypeError: If an argument is not a floating tensor, or dtypes differ.
        ValueError: If kind, a shape or a device is wrong, or an entry is NaN or infinite.
        OverflowError: If the result leaves the range of the dtype (exp in "rescaled" and
            "sparse", or the logits themselves).
    """
    target(B, kind)
    check_problem(A1, A2, X, B)
    used = B if kind in TARGETED else None
    total = torch.zeros((), dtype=X.dtype, device=X.device)
    for a, b in _blocks(A1, A2, X, used):
        total = total + row_loss(a @ X @ A2.mT, b, kind).sum(-1)
    return check_result(total, f"loss ({kind})", X, used)


def gradient(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute the gradient of `loss` with respect to X, A1' P A2 with P = dloss/dS.

    Arguments and errors are those of `loss`. The result is (..., d, e).
    """
    target(B, kind)
    check_problem(A1, A2, X, B)
    used = B if kind in TARGETED else None
    total = torch.zeros_like(X)
    for a, b in _blocks(A1, A2, X, used):
        P = row_gradient(a @ X @ A2.mT, b, kind)
        total = total + a.mT @ (P @ A2)
    return check_result(total, f"gradient ({kind})", X, used)


def hvp(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    V: Tensor,
    kind: str = "normalized",
) -> Tensor:
    """Compute the Hessian of `loss` in X applied to the direction V, both (..., d, e).

    The other arguments and the errors are those of `loss`.
    """
    target(B, kind)
    check_problem(A1, A2, X, B, V)
    used = B if kind in TARGETED else None
    total = torch.zeros_like(X)
    for a, b in _blocks(A1, A2, X, used, V):
        W = row_hvp(a @ X @ A2.mT, a @ V @ A2.mT, b, kind)
        total = total + a.mT @ (W @ A2)
    return check_result(total, f"Hessian product ({kind})", X, used)


def _blocks(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None = None
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield blocks of rows of A1 and the same rows of B."""
    block = BLOCK if A1.device.type == "cpu" else BLOCK_GPU
    problems = math.prod(batch_shape(A1, A2, X, B, V))
    row = max(1, problems) * A2.shape[-2] * A1.element_size()
    height = max(1, block // row)
    for start in range(0, A1.shape[-2], height):
        rows = slice(start, start + height)
        yield A1[..., rows, :], None if B is None else B[..., rows, :]
