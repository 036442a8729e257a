r"""Loss, gradient and Hessian product of the five softmax regressions of paper 2.

`icl.tensor_trick.formulas` holds the formulas. Nothing here forms a Kronecker product or calls autograd;
`icl.tensor_trick.kronecker` holds the explicit Kronecker versions these are tested against.

Shapes: A1 (..., n, d), A2 (..., m, e), X and V (..., d, e), B (..., n, m); the paper has m = n and e = d.
Leading dimensions broadcast; every element of the batch is a problem of its own. Logits are not divided by
anything: put a 1/sqrt(d) into X if you want one.
"""

from __future__ import annotations

from torch import Tensor

from icl.tensor_trick.formulas import TARGETED, row_loss
from icl.tensor_trick.inputs import check_problem, check_result
from icl.tensor_trick.tiling import tiled_or_plain


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
    given = check_problem(A1, A2, X, B, kind)
    return check_result(row_loss(A1 @ X @ A2.mT, B, kind).sum(-1), "loss", given, kind)


def gradient(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized"
) -> Tensor:
    """Compute the gradient of `loss` with respect to X, A1' P A2 with P = dloss/dS.

    Arguments and errors are those of `loss`. Large problems are computed in tiles of rows, with O(n d) memory
    beside the arguments. Small ones, and those that autograd or torch.func is to differentiate or to map,
    are computed by `plain_gradient`. Tiles save memory; they are little faster than autograd, unlike those of
    `hvp`: the page *Benchmarks* has both. The result is (..., d, e).
    """
    given = check_problem(A1, A2, X, B, kind)
    result = tiled_or_plain(A1, A2, X, B if kind in TARGETED else None, None, kind=kind)
    return check_result(result, "gradient", given, kind)


def hvp(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    V: Tensor,
    kind: str = "normalized",
) -> Tensor:
    """Compute the Hessian of `loss` in X applied to the direction V, both (..., d, e).

    The other arguments and the errors are those of `loss`; `gradient` says how it is computed.
    """
    given = check_problem(A1, A2, X, B, kind, V)
    result = tiled_or_plain(A1, A2, X, B if kind in TARGETED else None, V, kind=kind)
    return check_result(result, "Hessian product", given, kind)
