"""Checks of the arguments and results of `icl.tensor_trick` (private)."""

from __future__ import annotations

import math

from icl.checks import shown, tensor
from icl.pytorch import Tensor, torch


def check_problem(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor | None = None
) -> None:
    """Check types, shapes and entries as `icl.tensor_trick.loss` documents them.

    The entries of B, the only array of n x m numbers, are left to `finite_result`.
    """
    tensor(A1, "A1", "n", "d", finite=False)
    tensor(A2, "A2", "m", "e", finite=False)
    (n, d), (m, e) = A1.shape[-2:], A2.shape[-2:]
    tensor(X, "X", d, e, finite=False)
    given = {"A1": A1, "A2": A2, "X": X}
    if B is not None:
        tensor(B, "B", n, m, finite=False)
        given["B"] = B
    if V is not None:
        tensor(V, "V", d, e, finite=False)
        given["V"] = V
    check_alike(**given)
    for name, value in given.items():
        if name != "B":
            check_finite(name, value)


def check_alike(**given: Tensor) -> None:
    """Check that matrices have one dtype and one device, and that their leading dimensions broadcast."""
    reference, first = next(iter(given.items()))
    for name, value in given.items():
        if (value.dtype, value.device) != (first.dtype, first.device):
            raise ValueError(
                f"{name} is {value.dtype} on {value.device}: must be that of {reference}, "
                f"{first.dtype} on {first.device}"
            )
    try:
        batch_shape(*given.values())
    except RuntimeError:
        shapes = ", ".join(f"{name} {tuple(value.shape[:-2])}" for name, value in given.items())
        raise ValueError(f"leading dimensions must broadcast: {shapes}") from None


def check_finite(name: str, value: Tensor) -> None:
    """Check that all entries are finite."""
    if not _all_finite(value):
        raise ValueError(f"{name} has a NaN or infinite entry: all must be finite")


def check_dense(name: str, value: Tensor, axes: int) -> None:
    """Check for a dense real tensor of any dtype with finite entries and so many axes or more."""
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_complex():
        raise ValueError(f"{name}={shown(value)}: must be a dense tensor of real numbers")
    if value.ndim < axes:
        raise ValueError(f"{name} has shape {tuple(value.shape)}: must have {axes} axes or more")
    check_finite(name, value)


def finite_result(result: Tensor, what: str, X: Tensor, B: Tensor | None) -> Tensor:
    """Return a result that is finite, and refuse another.

    A finite result shows that the entries of B, of which there are n x m, are finite. So they are read only
    to say why a result is none: ValueError for an entry that is not finite, else OverflowError.
    """
    if _all_finite(result):
        return result
    if B is not None:
        check_finite("B", B)
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
