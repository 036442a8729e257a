"""Checks of arguments: every error names the parameter, its value and what is allowed."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np


def integer(value, name: str, least: int) -> int:
    """``value`` as an int of at least ``least``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.

    Returns:
        The value as a plain int.

    Raises:
        ValueError: If it is not a whole number or too small.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or isinstance(value, bool) or whole < least:
        raise ValueError(f"{name}={value!r}: must be an integer >= {least}")
    return whole


def real(value: Any, name: str, least: float = -math.inf, above: bool = False) -> float:
    """Return ``value`` as a finite float of at least ``least``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.
        above: Whether ``least`` itself is not allowed.

    Raises:
        ValueError: If it is not a finite number or out of range.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and number >= least) or (above and number == least):
        raise ValueError(f"{name}={value!r}: must be a finite number {'>' if above else '>='} {least:g}")
    return number


def matrix_rows(matrix, name: str) -> tuple[tuple[float, ...], ...]:
    """A matrix as a tuple of rows, which a frozen dataclass can hold and compare.

    Args:
        matrix: Anything NumPy reads as a matrix.
        name: The parameter's name, for the message.

    Returns:
        Its rows.

    Raises:
        ValueError: If it is no matrix of finite numbers.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name}={matrix!r}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))
