"""The verdict card as plain data and as text; `icl_book.site.card` draws it on pages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from icl_book.claims.claim import OWN, SOURCES, Claim, Grade, Verdict
from icl_book.markup import format_number, interval
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
        """Return the verdict in one line, see `line`."""
        return line(self.data)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Record:
        whole = text(self.data)
        return {
            "text/plain": whole,
            "text/markdown": _write_markdown(whole),
            CARD_MIME: self.evidence,
        }


def line(record: Mapping[str, Any]) -> str:
    """Say in one line what was found, what was expected instead, and which numbers decide it."""
    text = f"{record['id']}: {record['verdict']}"
    if record["verdict"] != record["expected"]:
        text += f", expected {record['expected']}"
    if record["decided_by"]:
        text += f": {record['decided_by']}"
    return "; ".join([text, *map(refusal, record["refused"])])


def badge(verdict: str, grade: Grade | str | None) -> str:
    """Return the word for a verdict on a page, where one of this book's results says how it is known."""
    return KNOWN[Grade(grade)] if grade and verdict == Verdict.ESTABLISHED else verdict


def lacking(record: Mapping[str, Any]) -> list[str]:
    """List the parts of a card without a case: readings, the situations where they hold, the control."""
    ours, *_ = record["readings"]
    parts = {ours: record["cases"], **record["other_readings"]}
    parts |= {f"where it holds: {name}": cases for name, cases in record["holding"].items()}
    if record["control"]:
        parts["the control"] = record["control_cases"]
    return [name for name, cases in parts.items() if not cases]


def refusal(reading: str) -> str:
    """Say why a reading does not count."""
    return f'the reading "{reading}" fails, and no situation is measured in which it holds'


def statement_record(claim: Claim) -> Record:
    """Return the part of a record that comes from the claim, all there is if it is not testable."""
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
        "verdict": str(claim.expected),
    }


def _name_origin(claim: Claim) -> str:
    """Write who made the statement, and where."""
    if not claim.quote:
        return ""
    key, _, line = claim.place.partition(":")
    place = f"{SOURCES[key].name}, line {line}"
    who = str(claim.authority)
    # Some words of authors are known to us only from notes on other papers.
    among_notes = claim.authority in OWN and place.startswith("formulas")
    link = ", found among the " if among_notes else ": "
    return place if place.startswith(who) else f"{who}{link}{place}"


def spread(case: Mapping[str, Any], enclosed: bool = False) -> str:
    """Format a case's interval: an error as plus-minus unless ``enclosed``, another interval by its ends.

    A number that a search found is *attained*, and its interval ends where a proof ends it.
    """
    measured, low, high = map(float, (case["measured"], *case["interval"]))
    half = (high - low) / 2
    if case["kind"] == "found":
        # The other end is the number itself.
        end, side = (low, "less") if low < measured else (high, "more")
        return "attained" + (
            f", no {side} than {format_number(end, '.4g')} by proof" if math.isfinite(end) else ""
        )
    # Plus-minus says an interval only if the number is in the middle of it.
    if (
        case["samples"] is None
        and not enclosed
        and math.isfinite(half)
        and abs(low + half - measured) <= 0.01 * half
    ):
        return f"± {format_number(half, '.2g')}"
    return interval((low, high))


def decisive(cases: Cases, must: str = "agrees", which: str = "outcome") -> str:
    """Name the case that fails most clearly, with its interval and what is permitted.

    Args:
        cases: Judged cases, of one reading or of a control.
        must: The outcome that every case must have, ``"agrees"`` or ``"contradicts"``.
        which: ``"outcome"``, or ``"outcome_corrected"`` for the correction.

    Returns:
        A sentence without its period; empty if all cases do what they must.
    """
    found = [case[which] for case in cases]
    order = ["contradicts", "undecided", "agrees"]
    # The worst outcome of a case that must contradict is that it agrees.
    worst = next(word for word in order[:: 1 if must == "agrees" else -1] if word in found)
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
        text += f" ({spread(case)})"
    elif case["samples"] and math.isinf(high - low):
        text += ", with too few samples for an interval"
    elif low < high:
        around = spread(case)
        known = around if around[0] == "±" else f"in {interval((low, high), digits)}"
        text += f" {known}"
    side = {"contradicts": "outside", "undecided": "partly outside", "agrees": "within"}
    return f"{text}, {side[worst]} what is permitted, {interval(ends, digits)}"


def _format_ends(ends: Sequence[float | str], digits: int) -> list[str]:
    return [format_number(end, f".{digits}g") for end in ends]


def _measure_distance(case: Mapping[str, Any], permits: str, outcome: str) -> float:
    """Return how far the interval of a case lies outside the permitted range, or inside it if it agrees."""
    low, high = map(float, case["interval"])
    least, most = map(float, case[permits])
    if outcome == "agrees":
        return min(low - least, most - high)
    if outcome == "contradicts":
        # The distance of the two ranges is that of their nearest ends.
        low, high = high, low
    return max(least - low if low < least else 0.0, high - most if high > most else 0.0)


def agreement(cases: Cases, which: str = "outcome") -> str:
    """Say how many numbers of a reading agree, contradict and are undecided, e.g. ``"2 of 3 agree"``."""
    found = [case[which] for case in cases]
    text = f"{found.count('agrees')} of {len(cases)} agree"
    if against := found.count("contradicts"):
        text += f", {against} contradict{'s' * (against == 1)}"
    if unclear := found.count("undecided"):
        text += f", {unclear} undecided"
    return text


def contradiction(cases: Cases, main: bool = False) -> str:
    """Say in one sentence which measured values would contradict the statement, as the rule has it.

    Where readings differ in their verdicts, the sentence says that it is about the `main` one.
    """
    ranges = sorted({(float(a), float(b)) for a, b in (r["permitted"] for r in cases)})
    lows = [low for low, _ in ranges if math.isfinite(low)]
    highs = sorted(high for _, high in ranges if math.isfinite(high))
    same = len(ranges) == 1
    # Each range has two ends.
    if len(lows) == len(highs) == len(ranges):
        first, last = interval(ranges[0]), interval(ranges[-1])
        if same and lows == highs:
            where = f"other than {first}"
        elif same:
            where = f"outside {first}"
        elif all(low == high for low, high in ranges):
            where = f"other than the permitted one of its setting ({first} to {last})"
        else:
            where = f"outside the range for its setting ({first} to {last})"
    else:
        sides = [("below", 0, lows), ("above", 1, highs)]
        said = []
        for side, end, ends in sides:
            if not ends:
                continue
            if same or format_number(ends[0]) == format_number(ends[-1]):
                text = f"{side} {format_number(ends[0])}"
            else:
                span = f"{format_number(ends[0])} to {format_number(ends[-1])}"
                text = f"{side} the limit for its setting ({span})"
            # Where a limit holds for some cases only, the sentence names them.
            if lows and highs and not same:
                limited = [r for r in cases if math.isfinite(float(r["permitted"][end]))]
                single = len(limited) == 1
                text += (
                    f" at one setting ({limited[0]['name']})"
                    if single
                    else f" at any of {len(limited)} settings"
                )
            said.append(text)
        where = " or ".join(said)
    value = "In our main reading, a value" if main else "A value"
    return f"{value} {where} would contradict the statement."


def asked(record: Mapping[str, Any]) -> str:
    """Say what is measured or computed; the quantity of a claim is the object of this sentence."""
    verb = "measure" if record["grade"] in (Grade.SAMPLED, Grade.MEASURED) else "compute"
    return f"We {verb} {record['quantity']}"


def text(record: Mapping[str, Any]) -> str:
    """Write a whole card as text: who says what, how we read it, the numbers, what would contradict it."""
    shown = [record["title"], f"  {line(record)}"]
    if record["quote"]:
        shown += [f'  "{" ".join(record["quote"].split())}"', f"  {record['by']}"]
    if record["reading"]:
        label = "This book states" if record["own"] else "We test"
        shown.append(f"{label}: {record['reading'].rstrip('.')}.")
    shown.append(f"{asked(record)}.")
    # Our own reading comes first.
    readings = {name: record["cases"] for name in list(record["readings"])[:1]}
    readings |= record["other_readings"]
    for name, cases in readings.items():
        shown.append(f"{name}: {agreement(cases)}")
        shown += [f"  {_write_case(case)}" for case in cases]
    if record["control"]:
        verb = "reject" if record["control_must"] == "contradicts" else "accept"
        does = f"{verb}s" if record["control_passed"] else f"does NOT {verb}"
        shown.append(f"The rule {does} the control: {record['control']}")
        shown += [f"  {_write_case(case)}" for case in record["control_cases"]]
    if record["cases"]:
        shown.append(contradiction(record["cases"], record["verdict"].startswith("depends")))
    return "\n".join(" ".join(part.split()) if part[:1] != " " else part for part in shown)


def _write_case(case: Mapping[str, Any]) -> str:
    permitted = interval(case["permitted"])
    return f"{case['name']}: {format_number(case['measured'], '.6g')} {spread(case)}; permitted {permitted}"


def _write_markdown(card: str) -> str:
    """Write a card's `text` as Markdown: its first line is bold, and lists of numbers are folded."""
    parts = re.findall(r"^\S.*|(?:^  .*\n?)+", card, re.MULTILINE)
    title, found, *rest = (re.sub("^  ", "- ", part.strip("\n"), flags=re.M) for part in parts)
    folded = "<details><summary>Numbers</summary>\n\n{}\n\n</details>"
    shown = (folded.format(part) if part.startswith("- ") else part for part in rest)
    return "\n\n".join([f"**{title}**", found, *shown])
