"""Checks of arguments, most of which return the argument as a plain value.

A check of a wrong argument raises a ValueError of one line, with the parameter's ``name``, its value and what
is allowed. A number is a real number of Python, NumPy or PyTorch, but not a boolean or text. A float without
a fraction is an integer, so ``n=1e3`` is a context length. A masked entry of an array is NaN.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


def integer(value: Any, name: str, minimum: float = -math.inf, maximum: float = math.inf) -> int:
    """Return ``value``, a whole number, as an int."""
    number = _convert_arrays(value)
    try:
        whole = int(number) if _is_number(number) else None
    except (ValueError, OverflowError):
        whole = None
    # the caller may compute with the integer as a float
    largest = min(maximum, sys.float_info.max)
    if whole is None or whole != number or not minimum <= whole <= largest:
        _refuse(value, name, "an integer", minimum, maximum)
    return whole


def real(
    value: Any,
    name: str,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    exclusive_min: bool = False,
) -> float:
    """Return ``value`` as a finite float; with ``exclusive_min`` it is larger than ``minimum``."""
    numbers = _read_numbers(value)
    number = float(numbers) if numbers.ndim == 0 else math.nan
    fits = math.isfinite(number) and minimum <= number <= maximum
    if not fits or (exclusive_min and number == minimum):
        _refuse(value, name, "a finite number", minimum, maximum, exclusive_min)
    return number


def reals(
    value: Any, name: str, minimum: float, maximum: float = math.inf, whole: bool = False
) -> NDArray[np.float64]:
    """Return finite numbers, with ``whole`` integers, as a float64 array."""
    numbers = _read_numbers(value)
    fits = np.isfinite(numbers) & (numbers >= minimum) & (numbers <= maximum)
    if whole:
        fits &= numbers == np.floor(numbers)
    if not fits.all():
        kind = "an integer" if whole else "a finite number"
        _refuse(value, name, kind, minimum, maximum)
    return numbers


def flag(value: Any, name: str) -> bool:
    """Return ``value``, a bool of Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shown(value)}: must be True or False")
    return bool(value)


def choice(value: Any, name: str, allowed: Iterable[str], hint: str = "") -> str:
    """Return ``value`` if it is one of ``allowed``; an error ends with ``hint``."""
    if not isinstance(value, str) or value not in list(allowed):
        raise ValueError(f"{name}={shown(value)}: allowed are {', '.join(allowed)}{hint}")
    return value


def affordable(cost: float, maximum: float, name: str, value: Any, unit: str) -> None:
    """Raise if a computation with ``value`` has a ``cost`` above ``maximum``, both counted in ``unit``."""
    if cost > maximum:
        raise ValueError(
            f"{name}={shown(value)}: too large, it takes {cost:.1e} {unit}, at most {maximum:.0e}"
        )


def broadcast(**arrays: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Broadcast arrays to one shape; an error has their keywords."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        raise ValueError(f"shapes {shapes} of {', '.join(arrays)}: must broadcast") from None


def matrices(value: Any, name: str, maximum: float = math.inf) -> NDArray[np.float64]:
    """Return matrices, with entries of size at most ``maximum``, as a float64 array (..., k, d)."""
    array = reals(value, name, -maximum, maximum)
    if array.ndim < 2 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: must be (..., k, d), none of them empty")
    return array


def matrix_rows(matrix: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as a tuple of rows, which a frozen dataclass can compare."""
    array = reals(matrix, name, -math.inf)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name}={shown(matrix)}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))


def table(value: Any, name: str, maximum: float) -> NDArray[np.float64]:
    """Return an array, data frame, tensor or nested list of finite numbers as a new float64 array."""
    numbers = _read_numbers(value)
    # this is a single number, or not an array of numbers
    if numbers.ndim == 0:
        raise ValueError(_describe_wrong_entry(value, name))
    # unlike abs, max and min do not make an array; NaN makes the comparison false
    if not max(numbers.max(initial=0), -numbers.min(initial=0)) <= maximum:
        wrong = ~(np.abs(numbers) <= maximum)
        at = np.unravel_index(int(wrong.argmax()), wrong.shape)
        raise ValueError(
            f"{name}[{_describe_place(value, at)}]={numbers[at]}: must be a finite number of size at most "
            f"{maximum:.0e}, no NaN and no infinity"
        )
    return np.ascontiguousarray(numbers)


def column_names(value: Any) -> tuple[Any, ...] | None:
    """Return the column labels of a data frame, or the labels of a Series, which is one row; else None."""
    labels = value.columns if _is_frame(value) else getattr(value, "index", None)
    # the attribute `index` of a list is a method
    return None if labels is None or callable(labels) else tuple(labels)


def same_columns(value: Any, name: str, wanted: tuple[Any, ...] | None) -> None:
    """Raise unless ``value`` has the column labels ``wanted``, in this order, or either is without labels."""
    given = column_names(value)
    if given is None or wanted is None or given == wanted:
        return
    # pandas gives these labels to columns without names
    numbered = tuple(range(len(given)))
    if numbered in (given, wanted) and not set(given) & set(wanted):
        return
    raise ValueError(
        f"{name} has the columns {shown(list(given))}: must have those of X in their order, "
        f"{shown(list(wanted))}"
    )


def without_text(value: Any, name: str) -> None:
    """Raise if an array, data frame or list has text, because scikit-learn would read "1" as a number."""
    try:
        array = np.asarray(value)
    # scikit-learn refuses everything else
    except (ValueError, TypeError, RuntimeError):
        return
    if array.dtype.kind in "SU" or (
        array.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in array.flat)
    ):
        raise ValueError(_describe_wrong_entry(value, name))


def masked_as_nan(value: Any) -> Any:
    """Return an array, or a list of arrays, with NaN in place of masked entries; other values unchanged."""
    if isinstance(value, list | tuple):
        return [masked_as_nan(entry) for entry in value]
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if not np.ma.is_masked(value):
        return value.data
    # text and integers cannot be NaN, so the entries become objects
    objects: Any = value.astype(object)
    # the index () makes a plain value of an array without axes
    return objects.filled(math.nan)[()]


def tensor(value: Any, name: str, *shape: int | str, finite: bool = True) -> None:
    """Raise unless ``value`` is a dense, floating-point tensor with finite entries.

    The last axes are ``shape``: a number is the length that an axis must have, a word names an axis of
    any positive length. With ``finite=False`` entries may be NaN or infinite.
    """
    # the name of the layout is compared as text, so that PyTorch need not be imported
    strided = str(getattr(value, "layout", None)) == "torch.strided"
    # a meta tensor does not have entries, and a masked tensor lacks some
    if not strided or value.is_meta or hasattr(value, "get_mask"):
        raise ValueError(f"{name}={shown(value)}: must be a dense tensor of PyTorch")
    if not value.is_floating_point():
        raise ValueError(f"{name} has dtype {value.dtype}: must be a floating type")
    ends = tuple(value.shape[-len(shape) :]) if shape else ()
    if len(ends) < len(shape) or any(
        length < 1 or (length != axis and not isinstance(axis, str))
        for length, axis in zip(ends, shape, strict=True)
    ):
        text = ", ".join(map(str, shape))
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}: must be (..., {text}), none of them empty"
        )
    if finite and not bool(value.isfinite().all()):
        raise ValueError(f"{name} has a NaN or infinite entry: all must be finite")


def device(value: Any, name: str) -> torch.device:
    """Return ``value``, a device or its text, if PyTorch can compute there."""
    # PyTorch takes long to import
    from icl.pytorch import torch

    try:
        return torch.empty(0, device=value).device
    except (RuntimeError, AssertionError, TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name}={shown(value)}: must be a device that PyTorch can use here"
        ) from None


def sequence(value: Any) -> list[Any] | None:
    """Return a list, tuple, one-dimensional array, tensor or Series as a list; None for anything else."""
    value = masked_as_nan(value)
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):
        return list(value.tolist())
    return list(value) if isinstance(value, list | tuple) else None


def shown(value: Any) -> str:
    """Return the text of a value for an error: one line of 200 characters at most, then dots."""
    try:
        text = " ".join(repr(value).split())
    # Python does not print an integer of thousands of digits
    except ValueError:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "..."


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _convert_arrays(value: Any) -> Any:
    """Return tensors, data frames and arrays as arrays of NumPy, in lists, too; other values unchanged.

    An array without axes becomes a number, a masked entry NaN, and what cannot be converted None.
    """
    if isinstance(value, list | tuple):
        return [_convert_arrays(entry) for entry in value]
    try:
        # only tensors have to_dense, so that PyTorch need not be imported
        if hasattr(type(value), "to_dense"):
            dense = value.detach().to_dense().cpu()
            # NumPy does not have the short floats of PyTorch
            array = (dense.double() if dense.is_floating_point() else dense).numpy()
        # a number of NumPy has __array__, too, but is a plain number already
        elif hasattr(type(value), "__array__") and not isinstance(value, np.generic):
            array = np.asanyarray(value)
        else:
            return value
    except (ValueError, TypeError, RuntimeError):
        # for example, a tensor of the device "meta"
        return None
    return np.asarray(masked_as_nan(array))[()]


def _read_numbers(value: Any) -> NDArray[np.float64]:
    """Return a number or an array of numbers as a new float64 array; NaN, without axes, for anything else."""
    value = _convert_arrays(value)
    # NumPy would turn the list [True, 2] into integers, so a list becomes an array of objects
    is_list = isinstance(value, list)
    try:
        array = np.array(value, dtype=object if is_list else None)
        numeric = array.dtype.kind in "iuf" or (
            array.dtype.kind == "O" and all(map(_is_number, array.flat))
        )
        # a long double beyond float64 becomes infinity, which callers refuse
        with np.errstate(over="ignore"):
            return array.astype(float, copy=False) if numeric else np.array(math.nan)
    # NumPy raises for ragged rows and for integers that are too large
    except (ValueError, TypeError, OverflowError):
        return np.array(math.nan)


def _describe_wrong_entry(value: Any, name: str) -> str:
    """Return the text of an error: what is wrong with a value, and how to mend it."""
    ragged = f"{name} has rows of different lengths: must be an array of finite numbers"
    if hasattr(value, "toarray"):
        kind = type(value).__name__
        return f"{name} is a {kind}, which is sparse: must be dense, use .toarray()"
    try:
        entries = np.array(_convert_arrays(value), dtype=object)
    except ValueError:
        return ragged
    # the loop goes column by column, since in a data frame a whole column tends to be wrong
    for reversed_index in np.ndindex(entries.shape[::-1]) if entries.ndim else ():
        at = reversed_index[::-1]
        entry = entries[at]
        if isinstance(entry, list | np.ndarray):
            return ragged
        if _is_number(entry) and abs(entry) <= sys.float_info.max:
            continue
        frame = _is_frame(value)
        dtype = list(value.dtypes)[at[-1]] if frame else getattr(value, "dtype", None)
        said = f"{shown(entry)}, of dtype {dtype}" if dtype else shown(entry)
        return f"{name}[{_describe_place(value, at)}]={said}: must be {_describe_allowed(entry)}"
    return (
        f"{name}={shown(value)}: must be an array, data frame, tensor or nested list "
        "of finite numbers"
    )


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "dtypes")


def _describe_place(value: Any, at: tuple[Any, ...]) -> str:
    """Return the indices of an entry as text, with the name of its column in a data frame."""
    column = repr(list(value.columns)[at[-1]]) if _is_frame(value) else str(at[-1])
    return ", ".join([*map(str, at[:-1]), column])


def _describe_allowed(entry: Any) -> str:
    """Say what is allowed in place of an entry that is not a finite number."""
    if isinstance(entry, bool | np.bool_):
        return "a number, .astype(float) makes 0 and 1 of booleans"
    if isinstance(entry, complex):
        return "a real number"
    if type(entry).__name__ in ("NoneType", "NAType", "NaTType"):
        return "a number, so drop or fill what is missing"
    return "a finite number; encode this entry as a number or leave it out"


def _refuse(
    value: Any, name: str, kind: str, minimum: float, maximum: float, exclusive_min: bool = False
) -> NoReturn:
    """Raise the ValueError that says which numbers are allowed."""
    low = f"{'>' if exclusive_min else '>='} {minimum:g}" if minimum > -math.inf else ""
    high = f"<= {maximum:g}" if maximum < math.inf else ""
    allowed = " and ".join(filter(None, [low, high]))
    raise ValueError(f"{name}={shown(value)}: must be {kind} {allowed}".rstrip())
