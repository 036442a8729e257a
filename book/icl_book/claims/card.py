"""The verdict card as plain data and as text; `icl_book.site.card` draws it on pages."""

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
        """Return the verdict in one line, see `write_line`."""
        return write_line(self.data)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Record:
        whole = write_text(self.data)
        return {
            "text/plain": whole,
            "text/markdown": _write_markdown(whole),
            CARD_MIME: self.evidence,
        }


def write_line(record: Mapping[str, Any]) -> str:
    """Say in one line the verdict, the one expected instead, what decides it, and what does not count."""
    text = f"{record['id']}: {record['verdict']}"
    if record["verdict"] != record["expected"]:
        text += f", expected {record['expected']}"
    if record["decided_by"]:
        text += f": {record['decided_by']}"
    return "; ".join([text, *map(explain_refusal, record["refused"])])


def badge(verdict: str, grade: Grade | str | None) -> str:
    """Return the word for a verdict on a page, where one of this book's results says how it is known."""
    return KNOWN[Grade(grade)] if grade and verdict == Verdict.ESTABLISHED else verdict


def list_empty_parts(record: Mapping[str, Any]) -> list[str]:
    """List the parts of a card without a case: readings, the situations where they hold, the control."""
    # Our own reading comes first, and its cases are not among the others.
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
    """Return the part of a record that comes from the claim, which is all there is if it is not tested."""
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
        # `icl_book.claims.judge.decide` puts the verdict on the evidence in its place.
        "verdict": str(claim.expected),
    }


def _name_origin(claim: Claim) -> str:
    """Write who made the statement, and where; empty for this book's own, which have no quote."""
    if not claim.quote:
        return ""
    key, _, line = claim.place.partition(":")
    place = f"{SOURCES[key].name}, line {line}"
    who = str(claim.authority)
    # Some words of authors are known to us only from notes on other papers.
    among_notes = claim.authority in OWN and place.startswith("formulas")
    link = ", found among the " if among_notes else ": "
    # The names of some sources begin with who speaks, such as "machine-written summary of ...".
    return place if place.startswith(who) else f"{who}{link}{place}"


def describe_interval(case: Mapping[str, Any], enclosed: bool = False) -> str:
    """Format a case's interval by its ends, or as plus-minus if an exact number is in the middle of it.

    If ``enclosed``, as for certified numbers, the ends are written in any case. A number that a search found
    is *attained*, and of its interval only the end is written that a proof gives, if there is one.
    """
    measured, low, high = map(float, (case["measured"], *case["interval"]))
    half = (high - low) / 2
    if case["kind"] == "found":
        # The other end is the number itself.
        end, side = (low, "less") if low < measured else (high, "more")
        if not math.isfinite(end):
            return "attained"
        return f"attained, no {side} than {format_number(end, '.4g')} by proof"
    # Plus-minus says an interval only if the number is in the middle of it.
    if (
        case["samples"] is None
        and not enclosed
        and math.isfinite(half)
        and abs(low + half - measured) <= 0.01 * half
    ):
        return f"± {format_number(half, '.2g')}"
    return format_interval((low, high))


def describe_decisive_case(cases: Cases, must: str = "agrees", which: str = "outcome") -> str:
    """Name the case that fails most clearly, with its interval and what is permitted.

    Args:
        cases: Judged cases, of one reading or of a control, at least one.
        must: The outcome that every case must have, ``"agrees"`` or ``"contradicts"``.
        which: ``"outcome"``, or ``"outcome_corrected"`` for the correction.

    Returns:
        A sentence without its period; empty if all cases do what they must.
    """
    found = [case[which] for case in cases]
    worst_first = ["contradicts", "undecided", "agrees"]
    if must == "contradicts":
        # The worst outcome of a case that must contradict is that it agrees.
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
    # The number has as many digits as tell it from the ends of what is permitted.
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
    """Return how far the interval of a case lies outside the permitted range, or inside it if it agrees.

    ``permits`` is the key of the permitted range, ``outcome`` that of the case.
    """
    low, high = map(float, case["interval"])
    least, most = map(float, case[permits])
    if outcome == "agrees":
        return min(low - least, most - high)
    if outcome == "contradicts":
        # The distance of the two ranges is that of their nearest ends.
        low, high = high, low
    # Two ends may both be infinite, and their difference would not be a number.
    return max(least - low if low < least else 0.0, high - most if high > most else 0.0)


def count_outcomes(cases: Cases, which: str = "outcome") -> str:
    """Say how many numbers of a reading agree, and how many others contradict or are undecided, if any.

    For example ``"2 of 3 agree, 1 contradicts"``.
    """
    found = [case[which] for case in cases]
    text = f"{found.count('agrees')} of {len(cases)} agree"
    if against := found.count("contradicts"):
        text += f", {against} contradict{'s' * (against == 1)}"
    if unclear := found.count("undecided"):
        text += f", {unclear} undecided"
    return text


def describe_contradiction(cases: Cases, main: bool = False) -> str:
    """Say in one sentence which measured values would contradict the statement, as the rule has it.

    If ``main``, the sentence says that it is about our main reading, for a card whose readings differ.
    """
    ranges = sorted({(float(a), float(b)) for a, b in (r["permitted"] for r in cases)})
    lows = [low for low, _ in ranges if math.isfinite(low)]
    highs = sorted(high for _, high in ranges if math.isfinite(high))
    same = len(ranges) == 1
    # Each range has two ends.
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
        said = []
        # A side is its word, the index of its ends in a range, and these ends in rising order.
        for side, index, ends in (("below", 0, lows), ("above", 1, highs)):
            if not ends:
                continue
            if format_number(ends[0]) == format_number(ends[-1]):
                clause = f"{side} {format_number(ends[0])}"
            else:
                span = f"{format_number(ends[0])} to {format_number(ends[-1])}"
                clause = f"{side} the limit for its setting ({span})"
            # Where cases are limited on different sides, the sentence says how many are on this one.
            if lows and highs:
                limited = [r for r in cases if math.isfinite(float(r["permitted"][index]))]
                if len(limited) == 1:
                    clause += f" at one setting ({limited[0]['name']})"
                else:
                    clause += f" at any of {len(limited)} settings"
            said.append(clause)
        where = " or ".join(said)
    value = "In our main reading, a value" if main else "A value"
    return f"{value} {where} would contradict the statement."


def describe_measurement(record: Mapping[str, Any]) -> str:
    """Say what is measured or computed; the quantity of a claim is the object of this sentence."""
    verb = "measure" if record["grade"] in (Grade.SAMPLED, Grade.MEASURED) else "compute"
    return f"We {verb} {record['quantity']}"


def write_text(record: Mapping[str, Any]) -> str:
    """Write a whole card as text: who says what, how we read it, the numbers, what would contradict it."""
    shown = [record["title"], f"  {write_line(record)}"]
    if record["quote"]:
        shown += [f'  "{" ".join(record["quote"].split())}"', f"  {record['by']}"]
    if record["reading"]:
        label = "This book states" if record["own"] else "We test"
        shown.append(f"{label}: {record['reading'].rstrip('.')}.")
    shown.append(f"{describe_measurement(record)}.")
    # Our own reading comes first.
    readings = {name: record["cases"] for name in list(record["readings"])[:1]}
    readings |= record["other_readings"]
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
    # Texts of a claim may have line breaks of their own. A part with an indent keeps it, and stays as it is.
    return "\n".join(" ".join(part.split()) if part[:1] != " " else part for part in shown)


def _write_case(case: Mapping[str, Any]) -> str:
    measured = format_number(case["measured"], ".6g")
    permitted = format_interval(case["permitted"])
    return f"{case['name']}: {measured} {describe_interval(case)}; permitted {permitted}"


def _write_markdown(card: str) -> str:
    """Write a card's `write_text` as Markdown: its first line is bold, and lists of numbers are folded."""
    # A part is a line without an indent, or all lines with one up to the next. The first two parts are the
    # title, and the verdict with the quotation.
    parts = re.findall(r"^\S.*|(?:^  .*\n?)+", card, re.MULTILINE)
    title, found, *rest = (re.sub("^  ", "- ", part.strip("\n"), flags=re.M) for part in parts)
    folded = "<details><summary>Numbers</summary>\n\n{}\n\n</details>"
    shown = (folded.format(part) if part.startswith("- ") else part for part in rest)
    return "\n\n".join([f"**{title}**", found, *shown])
