"""Checks of arguments: every error names the parameter, its value and what is allowed, in one line.

A number is anything that registers as `numbers.Real` (Python and NumPy numbers), or an array of NumPy or a
tensor of PyTorch that holds one; a tensor of any device and floating type is taken without its gradient.
Whole floats are integers, so ``n=1e3`` is a context length. Booleans, text and masked entries are no numbers.
"""

from __future__ import annotations

import math
import sys
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


def integer(value: Any, name: str, least: float = -math.inf, most: float = math.inf) -> int:
    """Return ``value`` as an int between ``least`` and ``most``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.
        most: The largest value allowed.

    Raises:
        ValueError: If it is not a whole number or out of range.
    """
    number = _number(value)
    try:
        whole = int(number)
    except (OverflowError, ValueError):  # infinite, or not a number
        whole = None
    if whole is None or whole != number or not least <= whole <= most:
        _refuse(value, name, "an integer", "" if least == -math.inf else f" >= {least}", most)
    return whole


def real(
    value: Any, name: str, least: float = -math.inf, most: float = math.inf, above: bool = False
) -> float:
    """Return ``value`` as a finite float between ``least`` and ``most``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.
        most: The largest value allowed.
        above: Whether ``least`` itself is not allowed.

    Raises:
        ValueError: If it is not a finite number or out of range.
    """
    try:
        number = float(_number(value))
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not (math.isfinite(number) and least <= number <= most) or (above and number == least):
        limit = "" if least == -math.inf else f" {'>' if above else '>='} {least:g}"
        _refuse(value, name, "a finite number", limit, most)
    return number


def reals(
    value: Any, name: str, least: float, most: float = math.inf, whole: bool = False
) -> NDArray[np.float64]:
    """Return ``value``, one number or an array of them, as a float64 array.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.
        most: The largest value allowed.
        whole: Whether the numbers must be integers.

    Raises:
        ValueError: If an entry is not a finite number, is out of range, or is not whole although it must be.
    """
    array = _array(value)
    if array is None:  # read entry by entry: NumPy would turn [True, 2] into integers
        try:
            array = np.asarray(_plain(value), dtype=object)
        except ValueError:  # rows of different lengths
            array = np.empty(1, dtype=object)
    numbers = np.full(1, math.nan)
    if array.dtype.kind in "iuf" or (array.dtype.kind == "O" and all(map(_is_number, array.flat))):
        try:
            with np.errstate(over="ignore"):
                numbers = array.astype(float)
        except OverflowError:  # an integer beyond the largest float
            pass
    if not np.all(np.isfinite(numbers) & (numbers >= least) & (numbers <= most)) or (
        whole and np.any(numbers != np.floor(numbers))
    ):
        limit = "" if least == -math.inf else f" >= {least:g}"
        _refuse(value, name, "an integer" if whole else "a finite number", limit, most)
    return numbers


def flag(value: Any, name: str) -> bool:
    """Return ``value``, which must be True or False: text like "no" counts as true in Python.

    Args:
        value: What the caller was given, a bool of Python or NumPy.
        name: The parameter's name, for the message.

    Raises:
        ValueError: If it is anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={_shown(value)}: must be True or False")
    return bool(value)


def affordable(cost: float, most: float, name: str, value: Any, unit: str) -> None:
    """Refuse work that would take days or more memory than there is.

    Args:
        cost: What the call takes, counted in ``unit``.
        most: The largest cost allowed.
        name: The parameter's name, for the message.
        value: Its value.
        unit: What is counted, in words.

    Raises:
        ValueError: If the cost is larger.
    """
    if cost > most:
        raise ValueError(f"{name}={_shown(value)}: too large, it takes {cost:.1e} {unit}, at most {most:.0e}")


def broadcast(**arrays: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return arrays of one shape.

    Args:
        **arrays: Arrays by parameter name.

    Raises:
        ValueError: If their shapes do not broadcast.
    """
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        raise ValueError(f"shapes {shapes} of {', '.join(arrays)}: must broadcast") from None


def matrix_rows(matrix: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as a tuple of rows, which a frozen dataclass can hold and compare.

    Args:
        matrix: A matrix, as an array or as nested sequences.
        name: The parameter's name, for the message.

    Raises:
        ValueError: If it is no matrix of finite numbers.
    """
    try:
        array = reals(matrix, name, -math.inf)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name}={_shown(matrix)}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _array(value: Any) -> NDArray[Any] | None:
    """Return an array or a tensor as an array, what is neither as None; masked entries become NaN."""
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.filled(value.astype(float), math.nan) if value.dtype.kind in "iuf" else value.data
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")  # without it there are no tensors, and it takes long to import
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    plain: NDArray[Any] = (dense.double() if dense.is_floating_point() else dense).cpu().numpy()
    return plain


def _plain(value: Any) -> Any:
    """Return nested sequences with the numbers in place of arrays and tensors that hold one."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    array = _array(value)
    return value if array is None else array[()] if array.ndim == 0 else [_plain(row) for row in array]


def _number(value: Any) -> Any:
    """Return the number that ``value`` is or holds, NaN if it is none."""
    array = _array(value)
    value = array[()] if array is not None and array.ndim == 0 else value
    return value if _is_number(value) else math.nan


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())  # an array's text has several lines
    except ValueError:  # an integer of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "..."


def _refuse(value: Any, name: str, kind: str, limit: str, most: float) -> NoReturn:
    upper = "" if most == math.inf else f" and <= {most:g}" if limit else f" <= {most:g}"
    raise ValueError(f"{name}={_shown(value)}: must be {kind}{limit}{upper}")
