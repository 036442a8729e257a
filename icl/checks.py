"""Checks of arguments: each returns the argument as a plain value or refuses it.

A refusal is a ValueError of one line with the parameter's ``name``, its value and what is allowed; ``least``
and ``most`` are the smallest and the largest value allowed. A number is anything that registers as
`numbers.Real` (Python and NumPy numbers), or an array of NumPy or a tensor of PyTorch that holds one; a
tensor of any device and floating type is taken without its gradient. Whole floats are integers, so ``n=1e3``
is a context length. Booleans, text and masked entries are no numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


def integer(
    value: Any, name: str, least: float = -math.inf, most: float = math.inf
) -> int:
    """Return ``value``, a whole number, as an int."""
    number = _number(value)
    try:
        whole = int(number)
    except (OverflowError, ValueError):  # infinite, or not a number
        whole = None
    if whole is None or whole != number or not least <= whole <= most:
        _refuse(value, name, "an integer", least, most)
    return whole


def real(
    value: Any,
    name: str,
    least: float = -math.inf,
    most: float = math.inf,
    above: bool = False,
) -> float:
    """Return ``value`` as a finite float; with ``above``, ``least`` itself is not allowed."""
    try:
        number = float(_number(value))
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not (math.isfinite(number) and least <= number <= most) or (
        above and number == least
    ):
        _refuse(value, name, "a finite number", least, most, ">" if above else ">=")
    return number


def reals(
    value: Any, name: str, least: float, most: float = math.inf, whole: bool = False
) -> NDArray[np.float64]:
    """Return one finite number or an array of them, if ``whole`` only integers, as a float64 array."""
    array = _array(value)
    if array is None:  # read entry by entry: NumPy would turn [True, 2] into integers
        try:
            array = np.asarray(_plain(value), dtype=object)
        except ValueError:  # rows of different lengths
            array = np.empty(1, dtype=object)
    numbers = np.full(1, math.nan)
    if array.dtype.kind in "iuf" or (
        array.dtype.kind == "O" and all(map(_is_number, array.flat))
    ):
        try:
            with np.errstate(over="ignore"):
                numbers = array.astype(float)
        except OverflowError:  # an integer beyond the largest float
            pass
    if not np.all(np.isfinite(numbers) & (numbers >= least) & (numbers <= most)) or (
        whole and np.any(numbers != np.floor(numbers))
    ):
        _refuse(value, name, "an integer" if whole else "a finite number", least, most)
    return numbers


def flag(value: Any, name: str) -> bool:
    """Return ``value``, a bool of Python or NumPy: text like "no" counts as true in Python."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shown(value)}: must be True or False")
    return bool(value)


def choice(value: Any, name: str, allowed: Iterable[str], more: str = "") -> str:
    """Return ``value``, a text that is one of ``allowed``; ``more`` is added to the refusal."""
    if not isinstance(value, str) or value not in list(allowed):
        raise ValueError(
            f"{name}={shown(value)}: allowed are {', '.join(allowed)}{more}"
        )
    return value


def affordable(cost: float, most: float, name: str, value: Any, unit: str) -> None:
    """Refuse a ``value`` that would take days or all memory: a cost, counted in ``unit``, above ``most``."""
    if cost > most:
        raise ValueError(
            f"{name}={shown(value)}: too large, it takes {cost:.1e} {unit}, at most {most:.0e}"
        )


def broadcast(**arrays: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the arrays, given by parameter name, in one shape."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        raise ValueError(
            f"shapes {shapes} of {', '.join(arrays)}: must broadcast"
        ) from None


def matrix_rows(matrix: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a matrix of finite numbers as a tuple of rows, which a frozen dataclass can hold and compare."""
    try:
        array = reals(matrix, name, -math.inf)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name}={shown(matrix)}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))


def tensor(value: Any, name: str, *shape: int | str, finite: bool = True) -> None:
    """Refuse what is no dense tensor of PyTorch with a floating type and finite entries.

    The last axes are ``shape``: a number is the length that an axis must have, a word the name of one of any
    length from one on. With ``finite=False`` the entries are not looked at.
    """
    torch = sys.modules.get("torch")  # without it there are no tensors
    if (
        torch is None
        or not isinstance(value, torch.Tensor)
        or value.layout != torch.strided
    ):
        raise ValueError(f"{name}={shown(value)}: must be a dense tensor of PyTorch")
    if not value.is_floating_point():
        raise ValueError(f"{name} has dtype {value.dtype}: must be a floating type")
    ends = tuple(value.shape[-len(shape) :]) if shape else ()
    if len(ends) < len(shape) or any(
        length < 1 or length != axis and not isinstance(axis, str)
        for length, axis in zip(ends, shape, strict=True)
    ):
        text = ", ".join(map(str, shape))
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}: must be (..., {text}), none of them empty"
        )
    if finite and not bool(value.isfinite().all()):
        raise ValueError(f"{name} has a NaN or infinite entry: all must be finite")


def matrices(value: Any, name: str, most: float = math.inf) -> NDArray[np.float64]:
    """Return nonempty matrices of finite numbers of size at most ``most`` as a float64 array (..., k, d)."""
    array = reals(value, name, -most, most)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {array.shape}: must be (..., k, d), none of them empty"
        )
    return array


def sequence(value: Any) -> list[Any] | None:
    """Return a list, tuple, one-dimensional array, tensor or Series as a list; anything else as None."""
    if isinstance(value, list | tuple):
        return list(value)
    if getattr(value, "ndim", None) != 1 or not hasattr(value, "tolist"):
        return None
    listed: list[Any] = value.tolist()
    return listed


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _array(value: Any) -> NDArray[Any] | None:
    """Return an array or a tensor as an array, what is neither as None; masked entries become NaN."""
    if isinstance(value, np.ma.MaskedArray):
        return (
            np.ma.filled(value.astype(float), math.nan)
            if value.dtype.kind in "iuf"
            else value.data
        )
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get(
        "torch"
    )  # without it there are no tensors, and it takes long to import
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    dense = (
        value.detach().to_dense() if value.layout != torch.strided else value.detach()
    )
    plain: NDArray[Any] = (
        (dense.double() if dense.is_floating_point() else dense).cpu().numpy()
    )
    return plain


def _plain(value: Any) -> Any:
    """Return nested sequences with the numbers in place of arrays and tensors that hold one."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    array = _array(value)
    return (
        value
        if array is None
        else array[()]
        if array.ndim == 0
        else [_plain(row) for row in array]
    )


def _number(value: Any) -> Any:
    """Return the number that ``value`` is or holds, NaN if it is none."""
    array = _array(value)
    value = array[()] if array is not None and array.ndim == 0 else value
    return value if _is_number(value) else math.nan


def shown(value: Any) -> str:
    """Return the text of a value for an error: one line of at most 200 characters."""
    try:
        text = " ".join(repr(value).split())  # an array's text has several lines
    except ValueError:  # an integer of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "..."


def _refuse(
    value: Any, name: str, kind: str, least: float, most: float, sign: str = ">="
) -> NoReturn:
    limit = "" if least == -math.inf else f" {sign} {least:g}"
    upper = (
        "" if most == math.inf else f" and <= {most:g}" if limit else f" <= {most:g}"
    )
    raise ValueError(f"{name}={shown(value)}: must be {kind}{limit}{upper}")
