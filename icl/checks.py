"""Checks of arguments: every error names the parameter, its value and what is allowed, in one line.

A number is anything that registers as `numbers.Real` (Python and NumPy numbers) or an array that holds one.
Whole floats are integers, so ``n=1e3`` is a context length. Booleans and text are no numbers.
"""

from __future__ import annotations

import math
import reprlib
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


def integer(value: Any, name: str, least: int, most: float = math.inf) -> int:
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
        _refuse(value, name, "an integer", f" >= {least}", most)
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
    # a list is read entry by entry: NumPy would turn [True, 2] into integers
    array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    if array.dtype.kind == "O" and all(_is_number(entry) for entry in array.flat):
        try:
            array = array.astype(float)
        except OverflowError:  # an integer beyond the largest float
            pass
    if (
        array.dtype.kind not in "iuf"
        or not np.all(np.isfinite(array) & (array >= least) & (array <= most))
        or (whole and np.any(array != np.floor(array)))
    ):
        _refuse(value, name, "an integer" if whole else "a finite number", f" >= {least:g}", most)
    return np.asarray(array, float)


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
        raise ValueError(f"{name}={reprlib.repr(matrix)}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(value: Any) -> Any:
    """Return the number that ``value`` is or holds, NaN if it is none."""
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return value if _is_number(value) else math.nan


def _refuse(value: Any, name: str, kind: str, limit: str, most: float) -> NoReturn:
    upper = "" if most == math.inf else f" and <= {most:g}" if limit else f" <= {most:g}"
    shown = " ".join(repr(value).split())  # an array's text has several lines
    shown = shown if len(shown) <= 200 else shown[:200] + "..."
    raise ValueError(f"{name}={shown}: must be {kind}{limit}{upper}")
