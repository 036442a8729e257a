"""Measurements offered as evidence: cases, made of tidy tables.

A `Case` carries a measured value with an interval, and says where the interval comes from: *exact* numbers
have a numerical error, *found* ones are the best of a search and bound a supremum or an infimum from one
side, *sampled* ones have a distribution-free interval for the median over seeds. A function for each kind
makes cases of a tidy table. As plain data (`as_data`, `from_data`) they travel in an executed notebook, and
`icl_book.claims.judge` compares them with what a claim permits. A process that only compares them needs
neither pandas nor SciPy, which take long to import.
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

#: Rounding may put a found number this far beyond the proved end, relative to the larger of that end and one.
ROUNDING = 1e-12
#: A tidy table, or the cases made of it, in any nesting of lists.
Evidence: TypeAlias = "pd.DataFrame | Case | Iterable[Evidence]"
#: A case as plain data.
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One measurement offered as evidence.

    Attributes:
        name: What was measured where, e.g. ``"ReLU, d = 3"``.
        measured: The number.
        interval: ``(low, high)`` around it.
        parameters: What the claim's rule needs, e.g. ``{"dim": 3}``.
        samples: Independent samples behind the interval; None if nothing was sampled.
        kind: Where the interval comes from: ``"exact"``, ``"found"`` or ``"sampled"``.
        miss: Probability that a sampled interval misses the median; zero for the others.
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
        frame: The table. Columns that are not named below are labels: the claim's rule reads them.
        value: The column of the measured number.
        error: The column of the largest absolute error, computed or derived: an error bar is never typed.
            Without it the interval is the number itself.
        labels: The columns that are labels, where the table has others that are not.
        name: Template of the cases' names, e.g. ``"{task}, $n$ = {n:g}"``; by default every label, and the
            name of the column ``value`` for a case without labels.

    Returns:
        The cases in the order of the table, none of an empty one. A label that a row lacks (None, NaN) is
        left out.

    Raises:
        ValueError: If a column is missing, the error is not a column or negative, or a case is not a number.
    """
    if error is not None and not isinstance(error, str):
        raise ValueError(
            f"error = {error}: must be a column; errors are computed, not typed by hand"
        )
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
    """Make a case of each row of a tidy table of exact numbers between two ends, each a column or a number.

    The other arguments, the result and the errors are those of `exact_cases`; a value outside its interval
    is a ValueError, too.
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

    A supremum is at least the largest value found, and at most ``high``, a column or a number that is proved
    (infinite by default). Where the value is the smallest found, ``low`` is what the infimum cannot pass
    (``-math.inf`` without a proof). A value that passes its proved end by more than rounding is said to do so
    in the name of its case. The other arguments and the result are those of `exact_cases`.

    Raises:
        ValueError: If a column is missing, both ends are given, or a case is not a number.
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
    """Make a case of independent values with the same labels: their median, between two order statistics.

    ``samples`` is the column that tells the values of one case apart, e.g. ``"seed"``, with one row a case
    and sample (`icl_book.statistics`). The other arguments and the result are those of `exact_cases`.

    Raises:
        ValueError: If a column is missing, a value is not finite, or a case has fewer than two samples or one
            of them twice.
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
    # Without labels all rows are one case.
    groups = frame.groupby(labels, sort=False, dropna=False) if labels else [((), frame)]
    for _, group in groups:
        middle, low, high, miss = (
            float(v) for v in median_interval(group[value].to_numpy(dtype=float))
        )
        # All rows of the group have the same labels.
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
    """Return the columns that are labels: those given, or all but the named ones.

    ``named`` may also have None and numbers, which are not columns. A column that is missing is a ValueError.
    """
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
    """Make a case of each row, named by its labels or, without any, by ``value``; ``notes`` follow names."""
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
    """Return the intervals of found numbers, with a note for the name of each that is beyond its proof.

    A found number is attained, so that its interval has it even where a proof says otherwise. If it passes
    the proof by more than rounding, one of the two is wrong, and the interval has no end on that side.
    """
    notes = []
    low_ends, high_ends = low.copy(), high.copy()
    for i, x in enumerate(measured):
        # This is the end that the number passes, or the number itself.
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
    """Name a case by the template, filled with its labels, or by all labels if there is not a template.

    Of these, words are as they are, and numbers follow their names.
    """
    if template is not None:
        return template.format(**labels)
    parts = []
    for key, x in labels.items():
        if isinstance(x, float):
            parts.append(f"{key} = {x:g}")
        elif isinstance(x, int):
            parts.append(f"{key} = {x}")
        else:
            parts.append(str(x))
    return ", ".join(parts)


def as_data(case: Case) -> JsonObject:
    """Return a case as strict JSON, in which infinities and NaN are strings."""
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
    """Yield the cases of evidence in any nesting.

    ``columns`` says what tables hold: the arguments of `sampled_cases` if it names samples, else those of
    `exact_cases`.
    """
    import pandas as pd

    if isinstance(evidence, Case):
        yield evidence
    elif isinstance(evidence, pd.DataFrame):
        make = sampled_cases if "samples" in columns else exact_cases
        yield from make(evidence, **columns)
    else:
        for part in evidence:
            yield from yield_cases(part, columns)
