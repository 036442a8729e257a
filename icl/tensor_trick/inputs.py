"""Checks of the arguments and results of `icl.tensor_trick` (private)."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor

from icl.tensor_trick.formulas import TARGETED, target

#: Bytes of the logits looked at together after an overflow.
TILE = 2**21


def check_problem(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    kind: str,
    V: Tensor | None = None,
) -> dict[str, Tensor]:
    """Check kind, types, shapes and entries as `icl.tensor_trick.loss` documents; return the tensors by name.

    The entries of a target that the kind uses are left to `check_result`. The target is the only array of
    n x m numbers, and an entry of it that is not finite makes the result not finite.
    """
    target(B, kind)
    maybe = {"A1": A1, "A2": A2, "X": X, "B": B, "V": V}
    optional = {"B", "V"}  # `target` has seen that B is there where the kind needs one
    given = {
        n: cast(Tensor, value)
        for n, value in maybe.items()
        if value is not None or n not in optional
    }
    check_matrices(**given)
    (n, d), (m, e) = A1.shape[-2:], A2.shape[-2:]
    for name, wanted in {"X": (d, e), "V": (d, e), "B": (n, m)}.items():
        if name in given and given[name].shape[-2:] != wanted:
            raise ValueError(
                f"{name} has shape {tuple(given[name].shape)}; it must end in {wanted}, "
                f"as A1 ends in {(n, d)} and A2 in {(m, e)}"
            )
    used = [name for name in given if name != "B" or kind not in TARGETED]
    largest = require_finite(**{name: given[name] for name in used})
    # softmax turns logits of -infinity into zeros in silence: where they may overflow, they are looked at
    bound = d * e * largest["A1"] * largest["X"] * max(largest["A2"], 1.0)
    if not bound <= torch.finfo(A1.dtype).max and not _all_finite(
        *_logit_range(A1, A2, X)
    ):
        raise _overflow("logits", given, kind)
    return given


def check_result(
    result: Tensor, what: str, given: dict[str, Tensor], kind: str
) -> Tensor:
    """Return a finite result; raise ValueError if the target is to blame for another, else OverflowError."""
    if _all_finite(*_range(result)):
        return result
    if "B" in given:
        require_finite(B=given["B"])
    raise _overflow(what, given, kind)


def check_matrices(**given: Tensor) -> None:
    """Check that all are nonempty matrices of one floating dtype and device whose batches broadcast."""
    (reference, first), *_ = given.items()
    for name, value in given.items():
        require_tensor(name, value)
        if not value.is_floating_point():
            raise TypeError(
                f"{name} has dtype {value.dtype}; a floating dtype is needed"
            )
        if value.dtype != first.dtype:
            raise TypeError(
                f"{name} has dtype {value.dtype} but {reference} has {first.dtype}; they must agree"
            )
        if value.device != first.device:
            raise ValueError(
                f"{name} is on {value.device} but {reference} is on {first.device}; they must agree"
            )
        if value.ndim < 2 or 0 in value.shape[-2:]:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; a nonempty matrix (..., rows, cols) is needed"
            )
    try:
        batch_shape(*given.values())
    except RuntimeError:
        shapes = ", ".join(
            f"{name} {tuple(value.shape[:-2])}" for name, value in given.items()
        )
        raise ValueError(f"leading dimensions do not broadcast: {shapes}") from None


def batch_shape(*matrices: Tensor | None) -> torch.Size:
    """Return the leading dimensions that the matrices broadcast to."""
    shape: torch.Size = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
        *(t.shape[:-2] for t in matrices if t is not None)
    )
    return shape


def require_tensor(name: str, value: object) -> None:
    """Check that a value is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}; a torch tensor is needed")
    if value.layout != torch.strided:
        raise TypeError(f"{name} is sparse ({value.layout}); use {name}.to_dense()")


def require_finite(**given: Tensor) -> dict[str, float]:
    """Return the largest absolute entry of each tensor; raise ValueError if an entry is not finite."""
    largest = {}
    for name, value in given.items():
        if value.is_complex():
            raise TypeError(f"{name} has dtype {value.dtype}; real numbers are needed")
        low, high = _range(value)
        if not _all_finite(low, high):
            raise ValueError(f"{name} has a NaN or infinite entry; all must be finite")
        largest[name] = max(-low, high)
    return largest


def _range(value: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest entry, NaN if one is NaN, and zeros where they cannot be known."""
    if value.numel() == 0:
        return 0.0, 0.0
    try:
        low, high = torch.aminmax(
            value.detach()
        )  # reads a large array in a tenth of the time of isfinite
        return low.item(), high.item()
    except RuntimeError as error:
        if "vmap" in str(error):  # inside torch.func.vmap values cannot be looked at
            return 0.0, 0.0
        raise


def _all_finite(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high)


def _logit_range(A1: Tensor, A2: Tensor, X: Tensor) -> tuple[float, float]:
    """Return the smallest and the largest logit, from a few rows at a time."""
    row = math.prod(batch_shape(A1, A2, X)) * A2.shape[-2] * A1.element_size()
    rows = max(1, TILE // max(1, row))
    ranges = [_range(part @ X @ A2.mT) for part in torch.split(A1, rows, -2)]
    return _range(torch.tensor(ranges, dtype=torch.float64))


def _overflow(what: str, given: dict[str, Tensor], kind: str) -> OverflowError:
    """Return the error that says whether the logits overflow or what is made of them."""
    A1, A2, X = given["A1"], given["A2"], given["X"]
    low, high = _logit_range(A1, A2, X)
    what = what if _all_finite(low, high) else "logits"
    top = math.log(torch.finfo(A1.dtype).max)
    squared = (
        f" ({top / 2:.3g} where they are squared, as in rescaled)"
        if kind == "rescaled"
        else ""
    )
    dtype = str(A1.dtype).removeprefix("torch.")
    fits = high <= (top / 2 if kind == "rescaled" else top) - math.log(A2.shape[-2])
    cause = "B" if what != "logits" and fits and "B" in given else "X"
    return OverflowError(
        f"the {what} ({kind}) overflows {dtype}: the largest logit is {high:.4g}, "
        f"exp allows {top:.3g}{squared}; shrink {cause} or use a wider dtype"
    )
