"""Checks of the arguments and results of `icl.tensor_trick` (private)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def check_matrices(**given: Tensor) -> None:
    """Check that all are nonempty matrices of one floating dtype and device whose batches broadcast."""
    reference, first = next(iter(given.items()))
    for name, value in given.items():
        require_tensor(name, value)
        if not value.is_floating_point():
            raise TypeError(f"{name} has dtype {value.dtype}; a floating dtype is needed")
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
        shapes = ", ".join(f"{name} {tuple(value.shape[:-2])}" for name, value in given.items())
        raise ValueError(f"leading dimensions do not broadcast: {shapes}") from None


def check_problem(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None = None
) -> None:
    """Check types, shapes and entries as `icl.tensor_trick.loss` documents them.

    The entries of B, the only array of n x m numbers, are left to `check_result`.
    """
    given = {"A1": A1, "A2": A2, "X": X}
    if B is not None:
        given["B"] = B
    if V is not None:
        given["V"] = V
    check_matrices(**given)
    n, d = A1.shape[-2:]
    m, e = A2.shape[-2:]
    for name, wanted in {"X": (d, e), "B": (n, m), "V": (d, e)}.items():
        if name in given and given[name].shape[-2:] != wanted:
            raise ValueError(
                f"{name} has shape {tuple(given[name].shape)}; it must end in {wanted}, "
                f"as A1 ends in {(n, d)} and A2 in {(m, e)}"
            )
    given.pop("B", None)
    require_finite(**given)


def check_result(result: Tensor, what: str, X: Tensor, B: Tensor | None) -> Tensor:
    """Return a finite result; for another raise ValueError if B is not finite, else OverflowError."""
    if _all_finite(result):
        return result
    if B is not None:
        require_finite(B=B)
    dtype = str(result.dtype).removeprefix("torch.")
    largest = X.detach().abs().max().item()
    raise OverflowError(
        f"the {what} overflows {dtype} (the largest entry of X is {largest:.4g}); "
        "shrink X or B, or use a wider dtype"
    )


def batch_shape(*matrices: Tensor | None) -> torch.Size:
    """Return the leading dimensions that the matrices broadcast to."""
    shape: torch.Size = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
        *(t.shape[:-2] for t in matrices if t is not None)
    )
    return shape


def require_tensor(name: str, value: object) -> None:
    """Check that a value is a dense tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}; a torch tensor is needed")
    if value.layout != torch.strided:
        raise TypeError(f"{name} is sparse ({value.layout}); use {name}.to_dense()")


def require_finite(**given: Tensor) -> None:
    """Check that all entries are real and finite."""
    for name, value in given.items():
        if value.is_complex():
            raise TypeError(f"{name} has dtype {value.dtype}; real numbers are needed")
        if not _all_finite(value):
            raise ValueError(f"{name} has a NaN or infinite entry; all must be finite")


def _all_finite(value: Tensor) -> bool:
    """Return whether all entries are finite, as far as values can be looked at."""
    if value.numel() == 0:
        return True
    try:
        # of NaN the largest is NaN; one pass, and no array of the size of a large target
        low, high = torch.aminmax(value.detach())
        return math.isfinite(low.item()) and math.isfinite(high.item())
    except RuntimeError as error:
        if "vmap" in str(error):  # inside torch.func.vmap there are no values
            return True
        raise
