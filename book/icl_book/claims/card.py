"""The verdict card: a statement with its evidence as plain data, and as HTML by one template.

The record is all that a card, the audit and the front page show; ``templates/card.html.j2`` shows it. A strip
plot shows the numbers of each reading against what it permits, at a glance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from icl_book.claims.claim import OWN, Claim, Verdict
from icl_book.claims.sources import SOURCES
from icl_book.markup import environment, interval, number
from icl_book.provenance import CARD_MIME

Record = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

#: Lengths of a strip, in pixels.
WIDTH, MARGIN = 200, 8
QUARTER = (WIDTH - 2 * MARGIN) / 4

#: What a record says of a claim in the claim's own words.
SAID = (
    *(
        "id",
        "paper",
        "own",
        "source",
        "quote",
        "place",
        "reading",
        "statement",
        "quantifier",
        "implied_by",
    ),
    *("corrected", "quantity", "tested", "why_not", "unit", "control", "standing"),
)


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict, which draws itself in a notebook."""

    data: Record  #: Strict JSON: the statement, the verdict, and each reading with its cases

    @property
    def verdict(self) -> Verdict:
        """Return what the evidence says in all readings together."""
        return Verdict(self.data["verdict"])

    def record(self) -> Record:
        """Return the card as plain data, for result files and the audit page."""
        return self.data

    def __str__(self) -> str:
        """Return the verdict in one line."""
        expected = (
            "" if self.data["as_expected"] else f", expected {self.data['expected']}"
        )
        return f"{self.data['id']}: {self.verdict}{expected}"

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> Record:
        text = f"{self.data['id']}: {self.verdict}"
        for case in self.data["cases"]:
            measured, ends = number(case["measured"], ".6g"), interval(case["interval"])
            text += f"\n  {case['name']}: {measured} in {ends}"
        return {
            "text/html": render(self.data),
            "text/plain": text,
            CARD_MIME: self.data,
        }


def macros() -> Any:
    """Return the macros of the template, for pages that show parts of a record."""
    return environment().get_template("card.html.j2").module


def render(
    record: Mapping[str, Any], on_a_page: bool = False, rerun: bool = False
) -> str:
    """Write a card as HTML, from its record; on a page it links to the audit, and to what a `rerun` found."""
    return str(macros().card(record, on_a_page, rerun))


def statement_record(claim: Claim) -> Record:
    """Return the record of a statement without evidence: one that is not testable."""
    return {key: getattr(claim, key) for key in SAID} | {
        "authority": str(claim.authority),
        "by": _by(claim),
        "grade": str(claim.grade) if claim.grade else None,
        "severity": str(claim.severity) if claim.severity else None,
        "depends_on": [choice.what for choice in claim.depends_on],
        "late": [
            alternative.name for alternative in claim.alternatives if alternative.late
        ],
        "verdict": str(claim.expected),
        "expected": str(claim.expected),
        "as_expected": True,
        "objects": False,
        "folded": False,
        "stability": "",
        "readings": {},
        "detection_limit": None,
        "detection_limit_least": None,
        "distance": None,
        "control_must": "",
        "control_passed": True,
        "cases": [],
        "control_cases": [],
        "other_readings": {},
    }


def _by(claim: Claim) -> str:
    """Write who says it, and where."""
    if not claim.quote:
        return ""
    key, _, line = claim.place.partition(":")
    place, who = f"{SOURCES[key].name}, line {line}", str(claim.authority)
    # What authors wrote may be known to us only from notes on other papers.
    known = (
        ", found among the "
        if claim.authority in OWN and place.startswith("formulas")
        else ": "
    )
    return place if place.startswith(who) else f"{who}{known}{place}"


def _spread(row: Mapping[str, Any], enclosed: bool = False) -> str:
    """Format a case's interval: as plus-minus where it is an error, else (`enclosed`) by its ends."""
    measured, low, high = map(float, (row["measured"], *row["interval"]))
    half = (high - low) / 2
    if row["kind"] == "found":
        end, side = (low, "less") if low < measured else (high, "more")
        return "attained" + (
            f", no {side} than {number(end, '.4g')} by proof"
            if math.isfinite(end)
            else ""
        )
    if (
        row["samples"] is None
        and not enclosed
        and math.isfinite(half)
        and abs(low + half - measured) <= 0.01 * half
    ):
        return f"± {number(half, '.2g')}"
    return interval((low, high))


def _size(limit: float | str) -> str:
    """Format a distance with two digits: 210, not 2.1e+02."""
    x = float(limit)
    if math.isinf(x):
        return "infinity"
    return number(f"{x:.2g}", ".0f" if 99.5 <= x < 1e5 else ".2g")


def contradiction(rows: Rows) -> str:
    """Say in one sentence which measured values would contradict the statement, as the rule has it."""
    ranges = sorted({(float(a), float(b)) for a, b in (r["permitted"] for r in rows)})
    lows = [low for low, _ in ranges if math.isfinite(low)]
    highs = sorted(high for _, high in ranges if math.isfinite(high))
    same = len(ranges) == 1
    if len(lows) == len(highs) == len(ranges):
        first, last = interval(ranges[0]), interval(ranges[-1])
        if same and lows == highs:
            where = f"other than {first}"
        elif same:
            where = f"outside {first}"
        elif all(low == high for low, high in ranges):
            where = f"other than the one of its case, {first} to {last},"
        else:
            where = f"outside the range of its case, from {first} to {last},"
    else:
        sides = [("below", lows), ("above", highs)]
        said = [
            f"{side} {number(ends[0])}"
            if same or number(ends[0]) == number(ends[-1])
            else f"{side} the limit of its case, {number(ends[0])} to {number(ends[-1])},"
            for side, ends in sides
            if ends
        ]
        where = " or in other cases ".join(said)
    return f"A measured value {where} would contradict it."


def strips(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Place the marks of a card's strips: our reading with the control, the others, the correction.

    A strip is a band for the permitted range, dots with intervals, hollow for controls. Each number is placed
    relative to its own range: the ends of a range lie at a quarter and at three quarters of the width, and
    numbers far outside move towards the margins. The strip has no scale; the table has.
    """
    ours, *others = record["readings"]
    alone = not (others or record["corrected"])
    yield _strip(
        "" if alone else ours, record["cases"], record["control_cases"], short=False
    )
    for name in others:
        added = " (a reading added after its data)" if name in record["late"] else ""
        yield _strip(name + added, record["other_readings"][name])
    if record["corrected"]:
        names = {"permitted_corrected": "permitted", "outcome_corrected": "outcome"}
        rows = [
            row | {ours: row[theirs] for theirs, ours in names.items()}
            for row in record["cases"]
        ]
        yield _strip(
            "true in our reading"
            if record["verdict"] == Verdict.DEPENDS
            else "corrected",
            rows,
        )


def _strip(
    name: str, rows: Rows, control: Rows = (), short: bool = True
) -> dict[str, Any]:
    every = [*rows, *control]
    styles = [row["outcome"] for row in rows] + ["hollow"] * len(control)
    ends = [tuple(map(float, row["permitted"])) for row in every]
    gaps = [
        abs(float(row["measured"]) - end)
        for row, both in zip(every, ends, strict=True)
        for end in both
    ]
    unit = median(
        [gap for gap in gaps if 0 < gap < math.inf] or [1.0]
    )  # of length beside a single end
    marks = []
    for row, (low, high), css in zip(every, ends, styles, strict=True):
        three = map(float, (row["interval"][0], row["measured"], row["interval"][1]))
        marks.append((*(_place(x, low, high, unit) for x in three), css))
    return {
        "name": name,
        "words": _words(rows, short),
        "hollow": f" (Hollow dot{'s: controls' if len(control) > 1 else ': control'}.)"
        if control
        else "",
        "left": 0 if all(math.isinf(low) for low, _ in ends) else MARGIN + QUARTER,
        "right": WIDTH
        if all(math.isinf(high) for _, high in ends)
        else MARGIN + 3 * QUARTER,
        "marks": marks,
    }


def _words(rows: Rows, short: bool) -> str:
    """Say how many numbers agree, contradict and are undecided."""
    found, n = [row["outcome"] for row in rows], len(rows)
    text = f"{found.count('agrees')} of {n}"
    if short:
        text += " agree"
    elif n == 1:
        text += " measurement lies in the permitted range"
    else:
        if found.count("agrees") == n:
            text = f"all {n}"
        text += " measurements lie in the permitted range"
    if against := found.count("contradicts"):
        text += f", {against} contradict{'s' * (against == 1)}"
    return text + (
        f", {unclear} undecided" if (unclear := found.count("undecided")) else ""
    )


def _place(x: float, low: float, high: float, unit: float) -> float:
    if math.isinf(low):
        t = 1 + (x - high) / unit
    elif math.isinf(high):
        t = -1 + (x - low) / unit
    else:
        t = (x - (low + high) / 2) / ((high - low) / 2 or unit)
    t = t / (1 + abs(t)) if math.isfinite(t) else math.copysign(1, t)
    return round(MARGIN + 2 * QUARTER * (1 + t), 1)


environment().filters |= {
    "strips": strips,
    "spread": _spread,
    "size": _size,
    "contradiction": contradiction,
}
