"""Measurements offered as evidence: cases, made of tidy tables.

An *exact* number has a numerical error. A *found* number is the best of a search, and bounds a supremum or an
infimum from one side. A *sampled* number is the median over seeds, with a distribution-free interval.

A process that only compares cases does not need pandas and SciPy, which take long to import. Therefore they
are imported inside of functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Range = tuple[float, float]
#: A column of a table, by its name, or one number for all rows.
Column = str | float
Numbers = NDArray[np.float64]

#: A found number may pass its proved end by this much through rounding, relative to ``max(1, |end|)``.
ROUNDING = 1e-12
#: A tidy table, or the cases made of it, in any nesting of lists.
Evidence: TypeAlias = "pd.DataFrame | Case | Iterable[Evidence]"
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One measurement offered as evidence.

    Attributes:
        name: What was measured where, e.g. ``"ReLU, d = 3"``.
        measured: The number.
        interval: ``(low, high)`` around it.
        parameters: The labels of the case, which the claim's rule reads, e.g. ``{"dim": 3}``.
        samples: How many independent samples the interval rests on; None if nothing was sampled.
        kind: Where the interval comes from: ``"exact"``, ``"found"`` or ``"sampled"``.
        miss: Probability that a sampled interval misses the median of the distribution; zero for other kinds.
    """

    name: str
    measured: float
    interval: Range
    parameters: dict[str, Any] = field(default_factory=dict)
    samples: int | None = None
    kind: str = "exact"
    miss: float = 0.0

    def __post_init__(self) -> None:
        low, high = self.interval
        if not low <= self.measured <= high:
            raise ValueError(
                f"case {self.name!r}: measured {self.measured} outside interval {self.interval}"
            )


def exact_cases(
    frame: pd.DataFrame,
    value: str = "value",
    *,
    error: str | None = None,
    labels: list[str] | None = None,
    name: str | None = None,
) -> list[Case]:
    """Make a case of each row of a tidy table of numbers that are exact up to an error.

    Args:
        frame: The table.
        value: The column of the measured number.
        error: The column of the largest absolute error, by default zero.
        labels: The columns that are labels, which the claim's rule reads, by default all without another use.
            A label that is None or NaN in a row is left out.
        name: Template of the names, e.g. ``"{task}, $n$ = {n:g}"``. By default a name lists all labels.

    Raises:
        ValueError: If a column is missing, if an error is negative, or if a number is NaN.
    """
    if error is not None and not isinstance(error, str):
        raise ValueError(
            f"error = {error}: must be a column; errors are computed, not typed by hand"
        )
    # A table without rows may lack the columns, too.
    if not len(frame):
        return []
    labels = _find_label_columns(frame, [value, error], labels)
    measured = _read_numbers(frame, value)
    half = _read_numbers(frame, 0.0 if error is None else error)
    return _make_cases(frame, measured, measured - half, measured + half, value, labels, name)


def interval_cases(
    frame: pd.DataFrame,
    value: str = "value",
    *,
    low: Column,
    high: Column,
    labels: list[str] | None = None,
    name: str | None = None,
) -> list[Case]:
    """Make a case of each row of a tidy table of exact numbers whose intervals are given.

    ``low`` and ``high`` are the ends of the intervals. The other arguments are those of `exact_cases`.

    Raises:
        ValueError: As `exact_cases`, and if a value lies outside its interval.
    """
    if not len(frame):
        return []
    labels = _find_label_columns(frame, [value, low, high], labels)
    measured = _read_numbers(frame, value)
    return _make_cases(
        frame, measured, _read_numbers(frame, low), _read_numbers(frame, high), value, labels, name
    )


def attained_cases(
    frame: pd.DataFrame,
    value: str = "value",
    *,
    low: Column | None = None,
    high: Column | None = None,
    labels: list[str] | None = None,
    name: str | None = None,
) -> list[Case]:
    """Make a case of each row of a tidy table of the best numbers that a search found.

    If a value is the largest that was found, the supremum lies between the value and ``high``, a proved bound
    that is infinite by default. If a value is the smallest that was found, give ``low`` instead,
    ``-math.inf`` if nothing is proved. If a value passes its proved end by more than rounding, the name of
    its case says so, and the interval is infinite on that side. The other arguments are those of
    `exact_cases`.

    Raises:
        ValueError: If a column is missing, if ``low`` and ``high`` are both given, or if a number is NaN.
    """
    if low is not None and high is not None:
        raise ValueError(f"low = {low}, high = {high}: a search has one proved end")
    if not len(frame):
        return []
    labels = _find_label_columns(frame, [value, low, high], labels)
    measured = _read_numbers(frame, value)
    proved_low = measured if low is None else _read_numbers(frame, low)
    proved_high = measured
    if low is None:
        proved_high = _read_numbers(frame, math.inf if high is None else high)
    low_ends, high_ends, notes = _enclose_attained(measured, proved_low, proved_high)
    return _make_cases(frame, measured, low_ends, high_ends, value, labels, name, "found", notes)


def sampled_cases(
    frame: pd.DataFrame,
    value: str = "value",
    *,
    samples: str,
    labels: list[str] | None = None,
    name: str | None = None,
) -> list[Case]:
    """Make one case of all rows with the same labels. Its number is the median of their independent values.

    The intervals are those of `icl_book.statistics.median_interval`. ``samples`` is the column that tells the
    values of one case apart, e.g. ``"seed"``. The other arguments are those of `exact_cases`.

    Raises:
        ValueError: If a column is missing, if a value is not finite, if a case has fewer than two samples, or
            if it has one sample twice.
    """
    if not len(frame):
        return []
    labels = _find_label_columns(frame, [value, samples], labels)
    if frame.duplicated([*labels, samples]).any():
        raise ValueError(
            f"{samples!r}: a case has one of its samples twice; labels are {', '.join(labels)}"
        )
    from icl_book.statistics import median_interval

    out = []
    # Without `dropna=False` pandas would drop rows that lack a label.
    groups = frame.groupby(labels, sort=False, dropna=False) if labels else [((), frame)]
    for _, group in groups:
        middle, low, high, miss = (
            float(v) for v in median_interval(group[value].to_numpy(dtype=float))
        )
        (case_labels,) = _read_labels(group.head(1), labels)
        out.append(
            Case(
                _name_case(case_labels, name) or value,
                middle,
                (low, high),
                case_labels,
                len(group),
                "sampled",
                miss,
            )
        )
    return out


def _find_label_columns(
    frame: pd.DataFrame, named: Iterable[Column | None], labels: list[str] | None
) -> list[str]:
    """Return ``labels`` if they are given, otherwise all columns of the table that are not in ``named``."""
    columns = [column for column in named if isinstance(column, str)]
    if labels is None:
        labels = [str(column) for column in frame.columns if column not in columns]
    if lacking := [column for column in [*columns, *labels] if column not in frame.columns]:
        raise ValueError(
            f"column {lacking[0]!r}: the table has {', '.join(map(str, frame.columns))}"
        )
    return labels


def _read_numbers(frame: pd.DataFrame, column: Column) -> Numbers:
    """Return the numbers of a column, or one number for all rows."""
    given = frame[column] if isinstance(column, str) else np.full(len(frame), column)
    return np.asarray(given, dtype=float)


def _make_cases(
    frame: pd.DataFrame,
    measured: Numbers,
    low: Numbers,
    high: Numbers,
    value: str,
    labels: list[str],
    name: str | None,
    kind: str = "exact",
    notes: Iterable[str] | None = None,
) -> list[Case]:
    """Make a case of each row. Its name is that of `_name_case`, or else ``value``, and a note."""
    made = []
    rows = zip(
        _read_labels(frame, labels),
        measured.tolist(),
        low.tolist(),
        high.tolist(),
        notes or [""] * len(frame),
        strict=True,
    )
    for case_labels, number, case_low, case_high, note in rows:
        case_name = (_name_case(case_labels, name) or value) + note
        made.append(Case(case_name, number, (case_low, case_high), case_labels, kind=kind))
    return made


def _enclose_attained(
    measured: Numbers, low: Numbers, high: Numbers
) -> tuple[Numbers, Numbers, list[str]]:
    """Return the low and the high ends of the intervals of found numbers, and a note on each.

    One of ``low`` and ``high`` is the proved end, and the other is the number itself, which the interval
    contains. If the number passes the proved end by more than rounding, the interval is infinite on that
    side, and the note says so.
    """
    notes = []
    low_ends, high_ends = low.copy(), high.copy()
    for i, x in enumerate(measured):
        # `proved` becomes the end that the number passes, if any.
        proved = x
        if x < low[i]:
            proved = low[i]
        elif x > high[i]:
            proved = high[i]
        beyond = abs(x - proved) > ROUNDING * max(1.0, abs(proved))
        notes.append(f", beyond the proved {proved:.6g}" if beyond else "")
        if x < low[i]:
            low_ends[i] = -math.inf if beyond else x
        if x > high[i]:
            high_ends[i] = math.inf if beyond else x
    return low_ends, high_ends, notes


def _read_labels(frame: pd.DataFrame, labels: list[str]) -> list[dict[str, Any]]:
    """Return the labels of each row, as plain Python values."""
    rows = frame[labels].to_dict("records") if labels else [{} for _ in range(len(frame))]
    # None, and NaN, which is not equal to itself, stand for a label that the row lacks.
    return [{str(k): v for k, v in row.items() if v is not None and v == v} for row in rows]


def _name_case(labels: dict[str, Any], template: str | None) -> str:
    """Name a case by the template, or without one list its labels, as in ``"ReLU, dim = 3"``."""
    if template is not None:
        return template.format(**labels)
    parts = []
    for key, x in labels.items():
        # This format would round a large integer.
        if isinstance(x, float):
            parts.append(f"{key} = {x:g}")
        elif isinstance(x, int):
            parts.append(f"{key} = {x}")
        else:
            parts.append(str(x))
    return ", ".join(parts)


def as_data(case: Case) -> JsonObject:
    """Return a case as data for strict JSON."""
    return asdict(case) | {"measured": to_json(case.measured), "interval": to_json(case.interval)}


def from_data(data: Mapping[str, Any]) -> Case:
    """Return the case of `as_data`."""
    low, high = map(float, data["interval"])
    return Case(**{**data, "measured": float(data["measured"]), "interval": (low, high)})


def to_json(x: float | Range) -> float | str | list[Any]:
    """Convert a number or a range to strict JSON, in which infinities and NaN are strings."""
    if isinstance(x, tuple):
        return [to_json(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


def yield_cases(evidence: Evidence, columns: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the cases of evidence in any nesting; ``columns`` are arguments for the tables."""
    import pandas as pd

    if isinstance(evidence, Case):
        yield evidence
    elif isinstance(evidence, pd.DataFrame):
        make = sampled_cases if "samples" in columns else exact_cases
        yield from make(evidence, **columns)
    else:
        for part in evidence:
            yield from yield_cases(part, columns)
