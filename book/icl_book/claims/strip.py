"""The strip plots of a card: the measured numbers of each reading against what it permits, at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Row = Mapping[str, Any]

WIDTH, HEIGHT, MARGIN = 200, 18, 8
_QUARTER = (WIDTH - 2 * MARGIN) / 4


@dataclass(frozen=True)
class Strip:
    """A strip plot: a band for the permitted range, dots with intervals, hollow for controls.

    Each number is placed relative to its own range: the ends of a range lie at a quarter and at three
    quarters of the width, and numbers far outside move towards the margins. The strip has no scale; the
    table has.

    Attributes:
        name: The reading; empty if there is only one.
        words: What the strip shows, in words.
        left: Where the band begins.
        right: Where it ends.
        marks: The interval's lower end, the number and the upper end, and the style-sheet class of each mark.
    """

    name: str
    words: str
    left: float
    right: float
    marks: tuple[tuple[float, float, float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT


def strips(record: Mapping[str, Any]) -> Iterator[Strip]:
    """Draw the strips of a card's record: our reading with the control, the others, the correction."""
    names = list(record["readings"])
    alone = len(names) == 1 and not record["corrected"]
    yield _strip("" if alone else names[0], record["cases"], record["control_cases"])
    for name, rows in record["other_readings"].items():
        yield _strip(name, rows)
    if record["corrected"]:
        corrected = [
            row | {"permitted": row["permitted_corrected"], "outcome": row["outcome_corrected"]}
            for row in record["cases"]
        ]
        yield _strip("corrected", corrected)


def in_words(rows: Sequence[Row], controls: int = 0) -> str:
    """Say how many numbers agree, contradict and are undecided."""
    count = {
        word: sum(row["outcome"] == word for row in rows) for word in ("agrees", "contradicts", "undecided")
    }
    n = len(rows)
    text = f"{count['agrees']} of {n} number{'s' * (n > 1)} lie{'s' * (n == 1)} in the permitted range"
    if count["contradicts"]:
        text += f", {count['contradicts']} contradict{'s' * (count['contradicts'] == 1)}"
    if count["undecided"]:
        text += f", {count['undecided']} undecided"
    return text + (f"; control{'s' * (controls > 1)} hollow" if controls else "")


def _strip(name: str, rows: Sequence[Row], control: Sequence[Row] = ()) -> Strip:
    every = [(row, *_ends(row)) for row in [*rows, *control]]
    gaps = [abs(float(row["measured"]) - end) for row, *ends in every for end in ends]
    unit = median([g for g in gaps if 0 < g < math.inf] or [1.0])  # of length beside a single end
    marks = []
    for i, (row, low, high) in enumerate(every):
        css = "icl-hollow" if i >= len(rows) else f"icl-{row['outcome']}"
        first, last = map(float, row["interval"])
        a, x, b = (_place(value, low, high, unit) for value in (first, float(row["measured"]), last))
        marks.append((a, x, b, css))
    left = 0 if all(math.isinf(low) for _, low, _ in every) else MARGIN + _QUARTER
    right = WIDTH if all(math.isinf(high) for _, _, high in every) else MARGIN + 3 * _QUARTER
    return Strip(name, in_words(rows, len(control)), left, right, tuple(marks))


def _ends(row: Row) -> tuple[float, float]:
    low, high = map(float, row["permitted"])
    return low, high


def _place(x: float, low: float, high: float, unit: float) -> float:
    if math.isinf(low) and math.isinf(high):
        t = 0.0
    elif math.isinf(low):
        t = 1 + (x - high) / unit
    elif math.isinf(high):
        t = -1 + (x - low) / unit
    else:
        t = (x - (low + high) / 2) / ((high - low) / 2 or unit)
    t = t / (1 + abs(t)) if math.isfinite(t) else math.copysign(1, t)
    return round(MARGIN + 2 * _QUARTER * (1 + t), 1)
