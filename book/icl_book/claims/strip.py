"""The strip plots of a card: the numbers of each reading against what it permits, at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

Rows = Sequence[Mapping[str, Any]]

WIDTH, MARGIN = 200, 8
QUARTER = (WIDTH - 2 * MARGIN) / 4


def strips(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Place the marks of a card's strips: our reading with the control, the others, the correction.

    A strip is a band for the permitted range, dots with intervals, hollow for controls. Each number is placed
    relative to its own range: the ends of a range lie at a quarter and at three quarters of the width, and
    numbers far outside move towards the margins. The strip has no scale; the table has.
    """
    ours, *others = record["readings"]
    alone = not (others or record["corrected"])
    yield _strip("" if alone else ours, record["cases"], record["control_cases"])
    for name in others:
        yield _strip(name, record["other_readings"][name])
    if record["corrected"]:
        names = {"permitted_corrected": "permitted", "outcome_corrected": "outcome"}
        rows = [row | {ours: row[theirs] for theirs, ours in names.items()} for row in record["cases"]]
        yield _strip("corrected", rows)


def _strip(name: str, rows: Rows, control: Rows = ()) -> dict[str, Any]:
    every = [*rows, *control]
    ends = [tuple(map(float, row["permitted"])) for row in every]
    gaps = [abs(float(row["measured"]) - end) for row, both in zip(every, ends, strict=True) for end in both]
    unit = median([gap for gap in gaps if 0 < gap < math.inf] or [1.0])  # of length beside a single end
    marks = []
    for i, (row, (low, high)) in enumerate(zip(every, ends, strict=True)):
        three = [float(x) for x in (row["interval"][0], row["measured"], row["interval"][1])]
        css = row["outcome"] if i < len(rows) else "hollow"
        marks.append((*(_place(x, low, high, unit) for x in three), css))
    return {
        "name": name,
        "words": _words(rows) + f"; control{'s' * (len(control) > 1)} hollow" * bool(control),
        "left": 0 if all(math.isinf(low) for low, _ in ends) else MARGIN + QUARTER,
        "right": WIDTH if all(math.isinf(high) for _, high in ends) else MARGIN + 3 * QUARTER,
        "marks": marks,
    }


def _words(rows: Rows) -> str:
    """Say how many numbers agree, contradict and are undecided."""
    found, n = [row["outcome"] for row in rows], len(rows)
    text = f"{found.count('agrees')} of {n} number{'s lie' if n > 1 else ' lies'} in the permitted range"
    if against := found.count("contradicts"):
        text += f", {against} contradict{'s' * (against == 1)}"
    return text + (f", {unclear} undecided" if (unclear := found.count("undecided")) else "")


def _place(x: float, low: float, high: float, unit: float) -> float:
    if math.isinf(low):
        t = 1 + (x - high) / unit
    elif math.isinf(high):
        t = -1 + (x - low) / unit
    else:
        t = (x - (low + high) / 2) / ((high - low) / 2 or unit)
    t = t / (1 + abs(t)) if math.isfinite(t) else math.copysign(1, t)
    return round(MARGIN + 2 * QUARTER * (1 + t), 1)
