"""Measurements offered as evidence for or against a statement.

A `Case` carries a measured value with an interval, and says where the interval comes from: `exact` numbers
have a numerical error, `extrapolated` ones an error that is calibrated on a known case, `found` ones are the
best of a search and bound a supremum or an infimum from one side, `sampled` ones have a distribution-free
interval for the median over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from icl.statistics import median_interval

Range = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """One measurement offered as evidence.

    Attributes:
        name: What was measured where, e.g. ``"ReLU, d = 3"``.
        measured: The number.
        interval: ``(low, high)`` around it.
        parameters: What the claim's rule needs, e.g. ``{"dim": 3}``.
        samples: Independent samples behind the interval; None if nothing was sampled.
        kind: Where the interval comes from: ``"exact"``, ``"extrapolated"``, ``"found"`` or ``"sampled"``.
        miss: Probability that a sampled interval misses the median; zero for the others.
    """

    name: str
    measured: float
    interval: Range
    parameters: dict = field(default_factory=dict)
    samples: int | None = None
    kind: str = "exact"
    miss: float = 0.0

    def __post_init__(self):
        low, high = self.interval
        if not low <= self.measured <= high:
            raise ValueError(f"case {self.name!r}: measured {self.measured} outside interval {self.interval}")


def exact(name: str, measured: ArrayLike, error: ArrayLike = 0.0, **labels) -> Case | list[Case]:
    """Make cases of numbers that are computed, not sampled.

    Args:
        name: What was measured where. For an array it is a template with a field for each label that tells
            the cases apart, e.g. ``"d = {d}, n = {n:g}"``; write a brace of mathematics twice there.
        measured: A number, or an array of them.
        error: Largest absolute numerical error, computed: a literal is refused when the book is made, and so
            is zero for a number that is not whole, where the claim's grade says exact or certified. A number,
            or one for each measured number.
        **labels: What the claim's rule and the template need: numbers, or arrays that broadcast with
            ``measured``, e.g. ``d=dims[:, None], n=n_values``.

    Returns:
        One case, or a list of them in the order of the array's entries.
    """
    return _computed("exact", name, measured, error, labels)


def extrapolated(
    name: str,
    measured: ArrayLike,
    change: ArrayLike | None = None,
    *,
    known: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    remainder: ArrayLike | None = None,
    **labels,
) -> Case | list[Case]:
    """Make cases of limits read off exact values at the end of a sweep.

    The error is either an analytic ``remainder``, or the ``change`` over the last step, calibrated: the same
    computation on a ``known`` case says by which factor the change understates the error.

    Args:
        name: As in `exact`.
        measured: The extrapolated number, or an array of them.
        change: How much it changed over the last step.
        known: ``(measured, change, truth)`` of the same computation where the limit is known; arrays
            broadcast with ``measured``, so that each case can have a known case of its own.
        remainder: Bound on the error, derived; then neither ``change`` nor ``known`` is given.
        **labels: As in `exact`.

    Returns:
        One case, or a list of them.

    Raises:
        ValueError: If there is neither a remainder nor a change with a known case.
    """
    if (remainder is None) == (change is None) or (change is None) != (known is None):
        raise ValueError(f"extrapolated({name!r}): needs a remainder, or a change and a known case")
    if known is None:
        return _computed("extrapolated", name, measured, remainder, labels)
    value, step, truth = (np.asarray(x, dtype=float) for x in known)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.nan_to_num(np.abs(value - truth) / np.abs(step), nan=0.0, posinf=np.inf)
    return _computed("extrapolated", name, measured, np.abs(change) * np.maximum(1.0, factor), labels)


def found(
    name: str, measured: ArrayLike, bound: ArrayLike | None = None, *, least: bool = False, **labels
) -> Case | list[Case]:
    """Make cases of the best values that a search found: one-sided evidence about a supremum or an infimum.

    A search contradicts "at most b" where it found more, and never establishes it. A card that wants more
    brings a proved bound on the supremum.

    Args:
        name: As in `exact`.
        measured: The largest value found, or an array of them; with ``least`` the smallest.
        bound: What the supremum (with ``least`` the infimum) cannot pass, proved; one number or one for each.
        least: Whether the search was for the infimum.
        **labels: As in `exact`.

    Returns:
        One case, or a list of them.

    Raises:
        ValueError: If a search found more than the bound.
    """
    measured = np.asarray(measured, dtype=float)
    end = np.inf if bound is None else bound
    end = np.broadcast_to(-np.abs(end) if least and bound is None else end, measured.shape)
    ends = (end, measured) if least else (measured, end)
    return _between("found", name, measured, *ends, labels)


def sampled(name: str, values: ArrayLike, **labels) -> Case | list[Case]:
    """Make cases of the medians of independent values, with distribution-free intervals.

    The interval is made of two order statistics; `icl.statistics.median_interval` says how often it misses.

    Args:
        name: As in `exact`.
        values: Independent values, shape (samples,) for one case, or (..., samples) for an array of cases.
        **labels: As in `exact`, broadcasting with all axes of ``values`` but the last.

    Returns:
        One case, or a list of them.

    Raises:
        ValueError: If there are fewer than two values.
    """
    values = np.asarray(values, dtype=float)

    def case(name, row, labels):
        middle, low, high, miss = (float(v) for v in median_interval(row))
        return Case(name, middle, (low, high), labels, row.shape[-1], "sampled", miss)

    return _over(case, name, values, values.shape[:-1], labels)


def _computed(kind: str, name: str, measured: ArrayLike, error: ArrayLike, labels: dict) -> Case | list[Case]:
    measured, error = np.asarray(measured, dtype=float), np.asarray(error, dtype=float)
    return _between(kind, name, measured, measured - error, measured + error, labels)


def _between(
    kind: str, name: str, measured: np.ndarray, low: np.ndarray, high: np.ndarray, labels: dict
) -> Case | list[Case]:
    """Make cases of numbers in intervals."""
    rows = np.stack([measured, *(np.broadcast_to(end, measured.shape) for end in (low, high))], -1)

    def case(name, row, labels):
        value, *ends = row.tolist()
        return Case(name, value, tuple(ends), labels, kind=kind)

    return _over(case, name, rows, measured.shape, labels)


def _over(make: Callable, name: str, rows: np.ndarray, shape: tuple, labels: dict) -> Case | list[Case]:
    """Make one case, or one for each entry of an array, whose name is the filled template."""
    if not shape:
        return make(name, rows, labels)
    return [make(name.format(**own), rows[at], own) for at, own in _each(shape, labels)]


def _each(shape: tuple[int, ...], labels: dict) -> Iterator[tuple[tuple[int, ...], dict]]:
    """Yield every index of an array and the labels there, as plain Python values."""
    arrays = {key: np.broadcast_to(np.asarray(value), shape) for key, value in labels.items()}
    for at in np.ndindex(shape):
        yield at, {key: array[at].item() for key, array in arrays.items()}
