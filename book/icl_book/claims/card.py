"""The verdict card: a claim with its evidence, as data for the audit and as HTML for a page."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from icl_book.claims.case import Case, Range
from icl_book.claims.claim import OWN, Claim, Rule, Verdict
from icl_book.claims.quotes import place_in_words
from icl_book.claims.strip import strip
from icl_book.markup import badge, interval, number, prose, style_class
from icl_book.provenance import CARD_MIME


@dataclass(frozen=True)
class Reading:
    """One reading of a statement with its cases and its outcome.

    Attributes:
        name: The reading, in words.
        outcome: ``"agrees"``, ``"contradicts"`` or ``"undecided"``.
        cases: The evidence.
        rule: What the statement permits in this reading.
        outcomes: The outcome of each case.
    """

    name: str
    outcome: str
    cases: tuple[Case, ...]
    rule: Rule
    outcomes: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict, which draws itself in a notebook.

    Attributes:
        claim: The claim judged.
        verdict: What the evidence says in all readings together.
        readings: Ours first, then every alternative.
        control: The negative control's cases; empty if the claim has none.
        control_outcomes: The outcome of each of them.
        control_must: What it must be: ``"contradicts"``, or ``"agrees"`` if the rule contradicts the
            evidence.
        limits: Smallest planted error that would have been seen in the most and in the least sensitive case;
            None if the evidence does not agree.
    """

    claim: Claim
    verdict: Verdict
    readings: tuple[Reading, ...]
    control: tuple[Case, ...]
    control_outcomes: tuple[str, ...]
    control_must: str
    limits: tuple[float, float] | None

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return the evidence in our own reading."""
        return self.readings[0].cases

    @property
    def control_passed(self) -> bool:
        """Return whether every control was judged as it must be."""
        return all(found == self.control_must for found in self.control_outcomes)

    @property
    def as_expected(self) -> bool:
        """Return whether the verdict is that of the last run, and the control was judged as it must be."""
        return self.verdict is self.claim.expected and self.control_passed

    @property
    def stability(self) -> str:
        """Describe how the readings agree, e.g. ``"contradicted in 12 of 12 readings"``."""
        outcome = [r.outcome for r in self.readings]
        if len(outcome) == 1:
            return ""
        word, count = ("contradicted", "contradicts") if "contradicts" in outcome else ("agrees", "agrees")
        return f"{word} in {outcome.count(count)} of {len(outcome)} readings"

    def record(self) -> dict:
        """Return the card as plain data, for result files and the audit page."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "authority": str(claim.authority),
            "source": claim.source,
            "quote": claim.quote,
            "place": claim.place,
            "reading": claim.reading,
            "statement": claim.statement,
            "quantifier": claim.quantifier,
            "grade": str(claim.grade),
            "depends_on": [choice.what for choice in claim.depends_on],
            "implied_by": list(claim.implied_by),
            "corrected": claim.corrected,
            "severity": str(claim.severity) if claim.severity else None,
            "quantity": claim.quantity,
            "verdict": str(self.verdict),
            "expected": str(claim.expected),
            "as_expected": self.as_expected,
            "stability": self.stability,
            "readings": {r.name: r.outcome for r in self.readings},
            "detection_limit": None if self.limits is None else plain(self.limits[0]),
            "detection_limit_least": None if self.limits is None else plain(self.limits[1]),
            "unit": claim.unit,
            "control": claim.control,
            "control_must": self.control_must,
            "control_passed": self.control_passed,
            "cases": _rows(self.cases, self.readings[0].outcomes, claim.rule, claim.corrected_rule),
            "control_cases": _rows(self.control, self.control_outcomes, claim.rule, claim.corrected_rule),
            "other_readings": {r.name: _rows(r.cases, r.outcomes, r.rule) for r in self.readings[1:]},
        }

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._html(), "text/plain": self._text(), CARD_MIME: self.record()}

    def _text(self) -> str:
        lines = [f"{self.claim.id}: {self.verdict}"]
        lines += [f"  {c.name}: {c.measured:.6g} in {interval(c.interval, None)}" for c in self.cases]
        return "\n".join(lines)

    def _html(self) -> str:
        claim, esc = self.claim, html.escape
        parts = [
            f'<div class="icl-card {style_class(self.verdict)}" id="claim-{esc(claim.id)}">',
            f'<p class="icl-head">{badge(self.verdict)} <strong>{esc(claim.id)}</strong> '
            f"<span>{esc(claim.source)}</span></p>",
        ]
        if not self.as_expected:
            control = "" if self.control_passed else "; the control was not judged as it must be"
            parts.append(
                f'<p class="icl-surprise">Not what we expected: {esc(str(claim.expected))}{control}.</p>'
            )
        record = self.record()
        count = sum(len(r.cases) for r in self.readings) + len(self.control)
        parts += [
            said(claim),
            strip(self.cases, self.readings[0].outcomes, self.control, claim.rule),
            f'<p class="icl-quantity">{brief(claim, record)}</p>',
            fold(
                f"How it was judged: {count} number{'s' * (count != 1)}",
                evidence(claim, record),
                self._table(),
            ),
        ]
        return "".join(parts) + "</div>"

    def _table(self) -> str:
        claim = self.claim
        heads = ["case", "statement permits", *(["corrected permits"] if claim.corrected_rule else [])]
        heads += ["measured", "interval", "evidence"]
        rules = [rule for rule in (claim.rule, claim.corrected_rule) if rule]

        def row(c: Case, permitted: Sequence[Rule | None], css: str = "") -> str:
            cells = [prose(c.name), *(interval(r(c.parameters), None) if r else "" for r in permitted)]
            cells += [number(c.measured), _spread(c), _kind(c)]
            pairs = zip(heads, cells, strict=True)
            return f"<tr{css}>" + "".join(f'<td data-head="{h}">{cell}</td>' for h, cell in pairs) + "</tr>"

        rows = [row(c, rules) for c in self.cases]
        for other in self.readings[1:]:
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}">{prose(other.name)}</th></tr>')
            pad: list[Rule | None] = [other.rule, *[None] * (len(rules) - 1)]
            rows += [row(c, pad) for c in other.cases]
        if self.control:
            word = (
                "negative control, must be rejected"
                if self.control_must == "contradicts"
                else "positive control"
            )
            rows.append(f'<tr><th scope="rowgroup" colspan="{len(heads)}">{word}</th></tr>')
            rows += [row(c, rules, ' class="icl-control"') for c in self.control]
        head = "".join(f'<th scope="col">{h}</th>' for h in heads)
        table = f"<table><thead><tr>{head}</tr></thead>{''.join(rows)}</table>"
        return f'<div class="icl-scroll">{table}</div>'


def fold(summary: str, lines: Sequence[str], more: str = "") -> str:
    """Write lines and a table behind a summary that opens."""
    body = "".join(f'<p class="icl-quantity">{line}</p>' for line in lines)
    return f'<details class="icl-cases"><summary>{summary}</summary>{body}{more}</details>'


def said(claim: Claim) -> str:
    """Write who says what, and what we make of it, in two voices: a quotation, and ours."""
    out = ""
    if claim.quote:
        place, who = place_in_words(claim.place), str(claim.authority)
        # What authors wrote may be known to us only from notes on other papers.
        known = ", found among the " if claim.authority in OWN and place.startswith("formulas") else ": "
        by = html.escape(place if place.startswith(who) else f"{who}{known}{place}")
        words = prose(claim.quote.replace("**", ""))  # marks of emphasis are no words
        out += f'<blockquote class="icl-quote"><p>{words}</p><footer>{by}</footer></blockquote>'
    label = "This book states" if claim.own else "We judge"
    if claim.reading:
        out += f'<p class="icl-statement">{label}: {prose(claim.reading)}</p>'
    if claim.corrected:
        out += f'<p class="icl-statement">Corrected: {prose(claim.corrected)}</p>'
    return out


def brief(claim: Claim, record: Mapping) -> str:
    """Write the line below the statement: kind of evidence, stability over the readings, detection limit."""
    parts = [f"Evidence: {claim.grade}, {prose(claim.quantifier)}."]
    if record["stability"]:
        parts.append(f"{record['stability'].capitalize()}.")
    if claim.severity:
        parts.append(f"Severity: {claim.severity}.")
    if record["detection_limit"] is not None:
        limits = float(record["detection_limit"]), float(record["detection_limit_least"])
        parts.append(limits_in_words(*limits, claim.unit))
    return " ".join(parts)


def evidence(claim: Claim, record: Mapping, link: Callable[[str], str] = html.escape) -> list[str]:
    """Write what is folded beside the table, as lines of HTML.

    Args:
        claim: The claim.
        record: Its card's record.
        link: From the id of another claim to what stands for it.
    """
    lines = [f"Measured: {prose(claim.quantity)}."]
    if claim.depends_on:
        lines.append(f"Rests on our choice of: {'; '.join(prose(c.what) for c in claim.depends_on)}.")
    if record["stability"]:
        each = "; ".join(f"{prose(name)}: {outcome}" for name, outcome in record["readings"].items())
        lines.append(f"{record['stability'].capitalize()}: {each}.")
    if claim.implied_by:
        lines.append(f"Follows from {', '.join(map(link, claim.implied_by))}.")
    if claim.control:
        negative = record["control_must"] == "contradicts"
        kind, verb = ("Negative", "rejected") if negative else ("Positive", "accepted")
        ok = f"{verb}, as it must be" if record["control_passed"] else f"NOT {verb}"
        lines.append(f"{kind} control: {prose(claim.control)}: {ok}.")
    return lines


def limits_in_words(best: float, least: float, unit: str) -> str:
    """Describe the detection limits of the most and of the least sensitive case."""
    if math.isinf(best):
        return "Detection limit: none; the statement bounds nothing here."
    if least == 0:
        return "Detection limit: any error at all would be seen."
    text = f"Detection limit: an error of {_size(best, unit)} would be seen"
    if _size(best, unit) == _size(least, unit):
        return f"{text}."
    last = "none would be seen" if math.isinf(least) else f"it takes {_size(least, unit)}"
    return f"{text} in the most sensitive case; in the least sensitive one {last}."


def _size(limit: float, unit: str) -> str:
    digits = ".0f" if 99.5 <= limit < 1e5 else ".2g"  # 210, not 2.1e+02
    return f"{number(float(f'{limit:.2g}'), digits)} {prose(unit)}".strip()


def _rows(
    cases: Sequence[Case], outcomes: Sequence[str], rule: Rule, corrected: Rule | None = None
) -> list[dict]:
    return [
        asdict(c)
        | {
            "outcome": outcome,
            "measured": plain(c.measured),
            "interval": plain(c.interval),
            "permitted": plain(rule(c.parameters)),
            "permitted_corrected": plain(corrected(c.parameters)) if corrected else None,
        }
        for c, outcome in zip(cases, outcomes, strict=True)
    ]


def plain(x: float | Range) -> float | str | list:
    """Convert a number or a range to strict JSON, which has no infinity and no NaN: those become strings."""
    if isinstance(x, tuple):
        return [plain(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


def _kind(case: Case) -> str:
    return {"found": "best found", "sampled": f"{case.samples} seeds"}.get(case.kind, case.kind)


def _spread(case: Case) -> str:
    """Format a case's interval: as plus-minus where it is computed, else by its ends."""
    low, high = case.interval
    half = (high - low) / 2
    if case.kind == "found":
        end, side = (low, "less") if low < case.measured else (high, "more")
        return "attained" + (f", no {side} than {number(end, '.4g')} by proof" if math.isfinite(end) else "")
    if case.samples is None and math.isfinite(half) and abs(low + half - case.measured) <= 0.01 * half:
        return f"± {number(half, '.2g')}"
    return interval(case.interval, None)
