"""The verdict card: a statement with its evidence, as plain data, and as HTML by one template.

The record is all that a card, the audit and the front page show; `render` writes it with
``templates/card.html.j2``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from icl_book.claims.case import Case, Range
from icl_book.claims.claim import OWN, Claim, Rule, Verdict
from icl_book.claims.quotes import place_in_words
from icl_book.claims.strip import Row, strips
from icl_book.markup import environment, interval, number
from icl_book.provenance import CARD_MIME

Record = dict[str, Any]


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict, which draws itself in a notebook.

    Attributes:
        data: Its record, strict JSON: the statement, the verdict, and each reading with its cases.
    """

    data: Record

    @property
    def verdict(self) -> Verdict:
        """Return what the evidence says in all readings together."""
        return Verdict(self.data["verdict"])

    def record(self) -> Record:
        """Return the card as plain data, for result files and the audit page."""
        return self.data

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Record:
        text = f"{self.data['id']}: {self.verdict}"
        for case in self.data["cases"]:
            measured, ends = number(case["measured"], ".6g"), interval(case["interval"], None)
            text += f"\n  {case['name']}: {measured} in {ends}"
        return {"text/html": render(self.data), "text/plain": text, CARD_MIME: self.data}


def render(record: Mapping[str, Any], *, folded: bool | None = None) -> str:
    """Write a card as HTML.

    Args:
        record: Its record.
        folded: Whether only its head is shown until a reader opens it; by default what the notebook says. A
            card that objects is never folded.
    """
    given = record if folded is None else {**record, "folded": folded}
    return str(macros().card(given))


def macros() -> Any:
    """Return the macros of the template, for pages that show parts of a record."""
    return environment().get_template("card.html.j2").module


def statement_record(claim: Claim) -> Record:
    """Return the record of a statement without evidence: one that is not testable."""
    return {
        "id": claim.id,
        "paper": claim.paper,
        "authority": str(claim.authority),
        "own": claim.own,
        "source": claim.source,
        "quote": claim.quote,
        "place": claim.place,
        "by": _by(claim),
        "reading": claim.reading,
        "statement": claim.statement,
        "quantifier": claim.quantifier,
        "grade": str(claim.grade) if claim.grade else None,
        "depends_on": [choice.what for choice in claim.depends_on],
        "implied_by": list(claim.implied_by),
        "corrected": claim.corrected,
        "severity": str(claim.severity) if claim.severity else None,
        "quantity": claim.quantity,
        "tested": claim.tested,
        "why_not": claim.why_not,
        "verdict": str(claim.expected),
        "expected": str(claim.expected),
        "as_expected": True,
        "objects": False,
        "folded": False,
        "stability": "",
        "readings": {},
        "detection_limit": None,
        "detection_limit_least": None,
        "unit": claim.unit,
        "control": claim.control,
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
    place, who = place_in_words(claim.place), str(claim.authority)
    # What authors wrote may be known to us only from notes on other papers.
    known = ", found among the " if claim.authority in OWN and place.startswith("formulas") else ": "
    return place if place.startswith(who) else f"{who}{known}{place}"


def stability(outcomes: Sequence[str]) -> str:
    """Describe how readings agree, e.g. ``"contradicted in 12 of 12 readings"``; empty for a single one."""
    if len(outcomes) == 1:
        return ""
    word, count = ("contradicted", "contradicts") if "contradicts" in outcomes else ("agrees", "agrees")
    return f"{word} in {outcomes.count(count)} of {len(outcomes)} readings"


def row(case: Case, rule: Rule, outcome: str, corrected: tuple[Rule, str] | None = None) -> Record:
    """Return a case as plain data, with what a rule and its correction permit and their outcomes."""
    return asdict(case) | {
        "outcome": outcome,
        "measured": plain(case.measured),
        "interval": plain(case.interval),
        "permitted": plain(rule(case.parameters)),
        "permitted_corrected": plain(corrected[0](case.parameters)) if corrected else None,
        "outcome_corrected": corrected[1] if corrected else None,
    }


def plain(x: float | Range) -> float | str | list[Any]:
    """Convert a number or a range to strict JSON, which has no infinity and no NaN: those become strings."""
    if isinstance(x, tuple):
        return [plain(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


# ---------------------------------------------------------------------- what the template asks for
def limits_in_words(record: Mapping[str, Any]) -> str:
    """Describe the detection limits of the most and of the least sensitive case."""
    best, least = float(record["detection_limit"]), float(record["detection_limit_least"])
    if math.isinf(best):
        return "Detection limit: none; the statement bounds nothing here."
    if least == 0:
        return "Detection limit: any error at all would be seen."
    sizes = [_size(limit, record["unit"]) for limit in (best, least)]
    text = f"Detection limit: an error of {sizes[0]} would be seen"
    if sizes[0] == sizes[1]:
        return f"{text}."
    last = "none would be seen" if math.isinf(least) else f"it takes {sizes[1]}"
    return f"{text} in the most sensitive case; in the least sensitive one {last}."


def _size(limit: float, unit: str) -> str:
    digits = ".0f" if 99.5 <= limit < 1e5 else ".2g"  # 210, not 2.1e+02
    return f"{number(float(f'{limit:.2g}'), digits)} {unit}".strip()


def _groups(record: Mapping[str, Any]) -> Iterator[tuple[str, list[Row], str]]:
    """Yield the groups of a card's table: heading, rows, style-sheet class."""
    yield "", record["cases"], ""
    for name, rows in record["other_readings"].items():
        yield name, rows, ""
    if record["control_cases"]:
        negative = record["control_must"] == "contradicts"
        yield (
            "negative control, must be rejected" if negative else "positive control",
            record["control_cases"],
            "icl-control",
        )


def _count(record: Mapping[str, Any]) -> str:
    count = sum(len(rows) for _, rows, _ in _groups(record))
    return f"{count} number{'s' * (count != 1)}"


def _kind(row: Row) -> str:
    return {"found": "best found", "sampled": f"{row['samples']} seeds"}.get(row["kind"], row["kind"])


def _spread(row: Row) -> str:
    """Format a case's interval: as plus-minus where it is computed, else by its ends."""
    measured, low, high = map(float, (row["measured"], *row["interval"]))
    half = (high - low) / 2
    if row["kind"] == "found":
        end, side = (low, "less") if low < measured else (high, "more")
        return "attained" + (f", no {side} than {number(end, '.4g')} by proof" if math.isfinite(end) else "")
    if row["samples"] is None and math.isfinite(half) and abs(low + half - measured) <= 0.01 * half:
        return f"± {number(half, '.2g')}"
    return interval((low, high), None)


environment().filters |= {
    "strips": strips,
    "limits": limits_in_words,
    "groups": _groups,
    "count": _count,
    "evidence": _kind,
    "spread": _spread,
    "permits": lambda ends: interval(ends, None) if ends else "",
}
