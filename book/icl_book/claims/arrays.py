"""Cases of parallel arrays, the form before tables; it goes when the last chapter hands over tables.

Each function makes a table and hands it to `icl_book.claims.case.cases`. ``name`` is the name of a single
number's case, and for an array the template of `cases`. Numbers and labels broadcast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from icl_book.claims.case import Case, cases

Made = Any  # a case of a number, a list of cases of an array


def exact(name: str, measured: ArrayLike, error: ArrayLike = 0.0, **labels: Any) -> Made:
    """Make cases of numbers that are computed, not sampled."""
    return _made(name, np.shape(measured), labels, value=measured, error=error)


def extrapolated(
    name: str,
    measured: ArrayLike,
    change: ArrayLike | None = None,
    *,
    known: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    remainder: ArrayLike | None = None,
    **labels: Any,
) -> Made:
    """Make cases of limits read off exact values at the end of a sweep."""
    three = dict(zip(("limit", "step", "truth"), known, strict=True)) if known is not None else {}
    numbers: dict[str, Any] = {"value": measured, "change": change, "error": remainder, **three}
    return _made(name, np.shape(measured), labels, kind="extrapolated", **numbers)


def found(
    name: str, measured: ArrayLike, bound: ArrayLike | None = None, *, least: bool = False, **labels: Any
) -> Made:
    """Make cases of the best values that a search found, with a proved bound if there is one."""
    end = (-math.inf if least else math.inf) if bound is None else bound
    numbers: dict[str, Any] = {"value": measured, "low" if least else "high": end}
    return _made(name, np.shape(measured), labels, kind="found", **numbers)


def sampled(name: str, values: ArrayLike, **labels: Any) -> Made:
    """Make cases of the medians of independent values, shape (..., samples)."""
    shape = np.shape(values)
    mine = {key: np.expand_dims(np.asarray(value), -1) for key, value in labels.items()}
    mine[" case"] = np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1)  # labels may be alike
    return _made(name, shape[:-1], mine, shape, value=values, samples=np.arange(shape[-1]))


def _made(
    name: str, one: tuple[int, ...], labels: dict[str, Any], shape: tuple[int, ...] = (), **given: Any
) -> list[Case] | Case:
    kind = given.pop("kind", "exact")
    numbers = {f" {key}": value for key, value in given.items() if value is not None}  # no label has a blank
    table = pd.DataFrame(
        {
            key: np.broadcast_to(np.asarray(value), shape or one).ravel()
            for key, value in (labels | numbers).items()
        }
    )
    columns: dict[str, Any] = {key.strip(): key for key in numbers}
    if "limit" in columns:
        columns["known"] = tuple(columns.pop(key) for key in ("limit", "step", "truth"))
    template = name if one else name.replace("{", "{{").replace("}", "}}")
    made: list[Case] = cases(table, kind=kind, labels=list(labels), name=template, **columns)
    for case in made:
        case.parameters.pop(" case", None)
    return made if one else made[0]
