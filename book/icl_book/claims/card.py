"""The verdict card as plain data and as text; `icl_book.site.card` draws it on pages.

A *judged case* is a mapping: ``name``, ``measured``, ``interval`` and ``kind`` as in
`icl_book.claims.evidence.Case`, the range that is ``permitted``, and the ``outcome``: ``agrees``,
``contradicts`` or ``undecided``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from icl_book.claims.claim import OWN, SOURCES, Claim, Grade, Verdict
from icl_book.markup import format_interval, format_number
from icl_book.provenance import CARD_MIME

Record = dict[str, Any]
Cases = Sequence[Mapping[str, Any]]

_CLAIM = TypeAdapter(Claim)
#: What pages say in place of *established*, by the kind of evidence.
KNOWN = {
    Grade.IDENTITY: "proved",
    Grade.PROVED: "proved",
    Grade.CERTIFIED: "computed",
    Grade.EXACT: "computed",
    Grade.EXTRAPOLATED: "computed",
    Grade.SEARCHED: "computed",
    Grade.SAMPLED: "measured",
    Grade.MEASURED: "measured",
}
#: Attributes of a claim that a record leaves out, or has in another form.
_LEFT_OUT = {"rule", "corrected_rule", "depends_on", "where"}


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict; a notebook shows it whole and keeps the evidence."""

    #: The record as strict JSON: the statement, the verdict, and each reading with its cases.
    data: Record
    #: The evidence as strict JSON, from which `icl_book.claims.judge.decide` makes ``data``.
    evidence: Record

    @property
    def verdict(self) -> Verdict:
        """Return what the evidence says in all readings together."""
        return Verdict(self.data["verdict"])

    def record(self) -> Record:
        """Return the card as plain data, for result files and the audit page."""
        return self.data

    def __str__(self) -> str:
        """Return the verdict in one line."""
        return write_line(self.data)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Record:
        whole = write_text(self.data)
        return {
            "text/plain": whole,
            "text/markdown": _write_markdown(whole),
            CARD_MIME: self.evidence,
        }


def write_line(record: Mapping[str, Any]) -> str:
    """Say the verdict in one line, also what was expected, which case decides, and what does not count."""
    text = f"{record['id']}: {record['verdict']}"
    if record["verdict"] != record["expected"]:
        text += f", expected {record['expected']}"
    if record["decided_by"]:
        text += f": {record['decided_by']}"
    return "; ".join([text, *map(explain_refusal, record["refused"])])


def badge(verdict: str, grade: Grade | str | None) -> str:
    """Return the word that a page shows for a verdict; for *established*, that of `KNOWN`."""
    return KNOWN[Grade(grade)] if grade and verdict == Verdict.ESTABLISHED else verdict


def list_empty_parts(record: Mapping[str, Any]) -> list[str]:
    """List the names of the parts of a record that have no case: readings, situations, or the control."""
    # The first reading is ours, whose cases are under the key ``cases``.
    ours, *_ = record["readings"]
    parts = {ours: record["cases"], **record["other_readings"]}
    parts |= {f"where it holds: {name}": cases for name, cases in record["holding"].items()}
    if record["control"]:
        parts["the control"] = record["control_cases"]
    return [name for name, cases in parts.items() if not cases]


def explain_refusal(reading: str) -> str:
    """Say why a reading does not count."""
    return f'the reading "{reading}" fails, and no situation is measured in which it holds'


def statement_record(claim: Claim) -> Record:
    """Return the part of a record that comes from the claim; a claim without a rule has no other part."""
    said: Record = _CLAIM.dump_python(claim, mode="json", exclude=_LEFT_OUT)
    late = [reading.name for reading in claim.alternatives if reading.late]
    could = {a.name: a.could for a in claim.alternatives if a.could}
    return said | {
        "title": claim.title or claim.statement,
        "paper": claim.paper,
        "own": claim.own,
        "statement": claim.statement,
        "tested": claim.tested,
        "by": _name_origin(claim),
        "depends_on": [choice.what for choice in claim.depends_on],
        "late": late,
        "could": could,
        # `icl_book.claims.judge.decide` replaces the expected verdict by the verdict on the evidence.
        "verdict": str(claim.expected),
    }


def _name_origin(claim: Claim) -> str:
    """Write who made the statement, and where; nothing for a statement of this book."""
    if not claim.quote:
        return ""
    key, _, line = claim.place.partition(":")
    place = f"{SOURCES[key].name}, line {line}"
    who = str(claim.authority)
    # We know some words of authors only from a source whose name begins with "formulas", our notes on other
    # papers.
    among_notes = claim.authority in OWN and place.startswith("formulas")
    link = ", found among the " if among_notes else ": "
    # Some names of sources already say who speaks, such as "machine-written summary of ...".
    return place if place.startswith(who) else f"{who}{link}{place}"


def describe_interval(case: Mapping[str, Any], enclosed: bool = False) -> str:
    """Format the interval of a case, as plus-minus or by its two ends.

    Plus-minus is for an exact number in the middle of its interval, unless the number is ``enclosed``, as
    certified numbers are. A number that a search found is called *attained*.
    """
    measured, low, high = map(float, (case["measured"], *case["interval"]))
    half = (high - low) / 2
    if case["kind"] == "found":
        # One end of the interval is the number itself, the other is the proved end.
        end, side = (low, "less") if low < measured else (high, "more")
        if not math.isfinite(end):
            return "attained"
        return f"attained, no {side} than {format_number(end, '.4g')} by proof"
    if (
        case["samples"] is None
        and not enclosed
        and math.isfinite(half)
        and abs(low + half - measured) <= 0.01 * half
    ):
        return f"± {format_number(half, '.2g')}"
    return format_interval((low, high))


def describe_decisive_case(cases: Cases, must: str = "agrees", which: str = "outcome") -> str:
    """Describe the case that fails most clearly: its number, its interval and what is permitted.

    Args:
        cases: Judged cases, of one reading or of a control, at least one.
        must: The outcome that every case must have, ``"agrees"`` or ``"contradicts"``.
        which: The key of the outcome: ``"outcome"``, or ``"outcome_corrected"`` for the corrected rule.

    Returns:
        A sentence without its period; empty if no case fails.
    """
    found = [case[which] for case in cases]
    worst_first = ["contradicts", "undecided", "agrees"]
    if must == "contradicts":
        worst_first.reverse()
    worst = next(word for word in worst_first if word in found)
    if worst == must:
        return ""
    permits = which.replace("outcome", "permitted")
    case = max(
        (one for one in cases if one[which] == worst),
        key=lambda one: _measure_distance(one, permits, worst),
    )
    ends, measured = case[permits], case["measured"]
    # The number gets so many digits that it does not look like an end of what is permitted.
    digits = next(
        (d for d in range(4, 12) if format_number(measured, f".{d}g") not in _format_ends(ends, d)),
        12,
    )
    low, high = map(float, case["interval"])
    text = f"{case['name']} is {format_number(measured, f'.{digits}g')}"
    if case["kind"] == "found":
        text += f" ({describe_interval(case)})"
    elif case["samples"] and math.isinf(high - low):
        text += ", with too few samples for an interval"
    elif low < high:
        around = describe_interval(case)
        known = around if around[0] == "±" else f"in {format_interval((low, high), digits)}"
        text += f" {known}"
    side = {"contradicts": "outside", "undecided": "partly outside", "agrees": "within"}
    return f"{text}, {side[worst]} what is permitted, {format_interval(ends, digits)}"


def _format_ends(ends: Sequence[float | str], digits: int) -> list[str]:
    return [format_number(end, f".{digits}g") for end in ends]


def _measure_distance(case: Mapping[str, Any], permits: str, outcome: str) -> float:
    """Return how far the interval of a case lies outside the permitted range, or, if it agrees, inside.

    ``permits`` is the key of the permitted range.
    """
    low, high = map(float, case["interval"])
    least, most = map(float, case[permits])
    if outcome == "agrees":
        return min(low - least, most - high)
    if outcome == "contradicts":
        # The interval is wholly outside, so the distance is measured from its nearer end.
        low, high = high, low
    # The difference of two infinite ends would not be a number.
    below = least - low if low < least else 0.0
    above = high - most if high > most else 0.0
    return max(below, above)


def count_outcomes(cases: Cases, which: str = "outcome") -> str:
    """Count the outcomes of cases in words, e.g. ``"2 of 3 agree, 1 contradicts"``."""
    found = [case[which] for case in cases]
    text = f"{found.count('agrees')} of {len(cases)} agree"
    if against := found.count("contradicts"):
        verb = "contradicts" if against == 1 else "contradict"
        text += f", {against} {verb}"
    if unclear := found.count("undecided"):
        text += f", {unclear} undecided"
    return text


def describe_contradiction(cases: Cases, main: bool = False) -> str:
    """Say in one sentence which measured values would contradict the statement.

    The sentence calls a case a *setting*. If ``main`` is true, the readings of the card differ, and the
    sentence is about our main reading.
    """
    permitted = [tuple(map(float, case["permitted"])) for case in cases]
    ranges = sorted(set(permitted))
    lows = [low for low, _ in ranges if math.isfinite(low)]
    highs = sorted(high for _, high in ranges if math.isfinite(high))
    same = len(ranges) == 1
    # Every range is finite on both sides.
    if len(lows) == len(highs) == len(ranges):
        first, last = format_interval(ranges[0]), format_interval(ranges[-1])
        if same and lows == highs:
            where = f"other than {first}"
        elif same:
            where = f"outside {first}"
        elif all(low == high for low, high in ranges):
            where = f"other than the permitted one of its setting ({first} to {last})"
        else:
            where = f"outside the range for its setting ({first} to {last})"
    else:
        # Some range is infinite on one side.
        said = []
        for side, index, ends in (("below", 0, lows), ("above", 1, highs)):
            if not ends:
                continue
            if format_number(ends[0]) == format_number(ends[-1]):
                clause = f"{side} {format_number(ends[0])}"
            else:
                span = f"{format_number(ends[0])} to {format_number(ends[-1])}"
                clause = f"{side} the limit for its setting ({span})"
            # Not every case is limited on both sides.
            if lows and highs:
                limited = [case for case in cases if math.isfinite(float(case["permitted"][index]))]
                if len(limited) == 1:
                    clause += f" at one setting ({limited[0]['name']})"
                else:
                    clause += f" at any of {len(limited)} settings"
            said.append(clause)
        where = " or ".join(said)
    value = "In our main reading, a value" if main else "A value"
    return f"{value} {where} would contradict the statement."


def describe_measurement(record: Mapping[str, Any]) -> str:
    """Say what is measured or computed: "We compute" or "We measure", and the claim's ``quantity``."""
    verb = "measure" if record["grade"] in (Grade.SAMPLED, Grade.MEASURED) else "compute"
    return f"We {verb} {record['quantity']}"


def write_text(record: Mapping[str, Any]) -> str:
    """Write a whole card as text: title, verdict, quotation, our reading, what is measured, and numbers."""
    shown = [record["title"], f"  {write_line(record)}"]
    if record["quote"]:
        shown += [f'  "{" ".join(record["quote"].split())}"', f"  {record['by']}"]
    if record["reading"]:
        label = "This book states" if record["own"] else "We test"
        shown.append(f"{label}: {record['reading'].rstrip('.')}.")
    shown.append(f"{describe_measurement(record)}.")
    ours, *_ = record["readings"]
    readings = {ours: record["cases"], **record["other_readings"]}
    for name, cases in readings.items():
        shown.append(f"{name}: {count_outcomes(cases)}")
        shown += [f"  {_write_case(case)}" for case in cases]
    if record["control"]:
        verb = "reject" if record["control_must"] == "contradicts" else "accept"
        does = f"{verb}s" if record["control_passed"] else f"does NOT {verb}"
        shown.append(f"The rule {does} the control: {record['control']}")
        shown += [f"  {_write_case(case)}" for case in record["control_cases"]]
    if record["cases"]:
        shown.append(
            describe_contradiction(record["cases"], record["verdict"].startswith("depends"))
        )
    # Texts of a claim may have line breaks, and parts with an indent have none.
    return "\n".join(" ".join(part.split()) if part[:1] != " " else part for part in shown)


def _write_case(case: Mapping[str, Any]) -> str:
    measured = format_number(case["measured"], ".6g")
    permitted = format_interval(case["permitted"])
    return f"{case['name']}: {measured} {describe_interval(case)}; permitted {permitted}"


def _write_markdown(card: str) -> str:
    """Turn the text of `write_text` into Markdown, with the title in bold and lists of numbers folded."""
    # A part is one line without an indent, or successive lines with one. The second part has the verdict and
    # the quotation.
    parts = re.findall(r"^\S.*|(?:^  .*\n?)+", card, re.MULTILINE)
    title, found, *rest = (re.sub("^  ", "- ", part.strip("\n"), flags=re.M) for part in parts)
    folded = "<details><summary>Numbers</summary>\n\n{}\n\n</details>"
    shown = (folded.format(part) if part.startswith("- ") else part for part in rest)
    return "\n\n".join([f"**{title}**", found, *shown])
