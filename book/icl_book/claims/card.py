"""The verdict card: a claim with its evidence, as data for the audit and as HTML for a page."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass

from icl_book.claims.claim import Case, Claim, Range, Verdict
from icl_book.markup import badge, interval, number, prose, style_class
from icl_book.provenance import CARD_MIME


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict, which draws itself in a notebook.

    Attributes:
        claim: The claim judged.
        verdict: What the evidence says.
        cases: The evidence.
        control: The negative control's cases.
        control_passed: Whether the rule judged every one of them as it must.
    """

    claim: Claim
    verdict: Verdict
    cases: tuple[Case, ...]
    control: tuple[Case, ...]
    control_passed: bool

    @property
    def as_expected(self) -> bool:
        """Return whether verdict and control are those that the claim expects."""
        testable = self.claim.rule is not None
        return self.verdict is self.claim.expected and (self.control_passed or not testable)

    def record(self) -> dict:
        """Return the card as plain data, for result files and the audit page."""
        claim = self.claim

        def rows(cases):
            return [
                asdict(c)
                | {
                    "measured": plain(c.measured),
                    "interval": plain(c.interval),
                    "permitted": plain(claim.rule(c.parameters)),
                    "permitted_corrected": plain(claim.corrected_rule(c.parameters))
                    if claim.corrected_rule
                    else None,
                }
                for c in cases
            ]

        return {
            "id": claim.id,
            "source": claim.source,
            "statement": claim.statement,
            "corrected": claim.corrected,
            "quantity": claim.quantity,
            "verdict": str(self.verdict),
            "expected": str(claim.expected),
            "as_expected": self.as_expected,
            "why_not": claim.why_not,
            "control": claim.control,
            "control_passed": self.control_passed,
            "cases": rows(self.cases),
            "control_cases": rows(self.control),
        }

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._html(), "text/plain": self._text(), CARD_MIME: self.record()}

    def _text(self) -> str:
        lines = [f"{self.claim.id}: {self.verdict}"]
        lines += [f"  {c.name}: {c.measured:.6g} in {interval(c.interval, None)}" for c in self.cases]
        return "\n".join(lines)

    def _html(self) -> str:
        claim, esc = self.claim, html.escape
        surprise = (
            ""
            if self.as_expected
            else (
                f'<p class="icl-surprise">Not what we expected: {esc(str(claim.expected))}'
                f"{'' if self.control_passed else '; the control was not judged as it must be'}.</p>"
            )
        )
        head = (
            "<tr><th>case</th><th>statement permits</th>"
            + ("<th>corrected permits</th>" if claim.corrected_rule else "")
            + "<th>measured</th><th>interval</th><th>samples</th></tr>"
        )

        def row(c: Case, css: str = "") -> str:
            rules = [rule for rule in (claim.rule, claim.corrected_rule) if rule]
            permitted = "".join(f"<td>{interval(rule(c.parameters), None)}</td>" for rule in rules)
            return (
                f"<tr{css}><td>{prose(c.name)}</td>{permitted}"
                f"<td>{number(c.measured)}</td><td>{_spread(c)}</td>"
                f"<td>{'exact' if c.samples is None else c.samples}</td></tr>"
            )

        corrected = (
            f'<p class="icl-statement">Corrected: {prose(claim.corrected)}</p>' if claim.corrected else ""
        )
        body = "".join(row(c) for c in self.cases)
        body += "".join(row(c, ' class="icl-control"') for c in self.control)
        must = {"contradicts": "rejected", "agrees": "accepted"}[claim.control_reading]
        ok = f"{must}, as it must be" if self.control_passed else f"NOT {must}"
        return (
            f'<div class="icl-card {style_class(self.verdict)}" id="claim-{esc(claim.id)}">'
            f'<p class="icl-head">{badge(self.verdict)} '
            f"<strong>{esc(claim.id)}</strong> <span>{esc(claim.source)}</span></p>{surprise}"
            f'<p class="icl-statement">{prose(claim.statement)}</p>{corrected}'
            f'<p class="icl-quantity">Measured: {prose(claim.quantity)}.</p>'
            f'<div class="icl-scroll"><table>{head}{body}</table></div>'
            f'<p class="icl-quantity">{claim.control_kind} (shaded): {prose(claim.control)}: {ok}.</p></div>'
        )


def plain(x: float | Range) -> float | str | list:
    """Convert a number or a range to strict JSON, which has no infinity and no NaN: those become strings."""
    if isinstance(x, tuple):
        return [plain(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


def _spread(case: Case) -> str:
    """Format a case's interval: as plus-minus where it is symmetric and exact, else by its ends."""
    low, high = case.interval
    half = (high - low) / 2
    if case.samples is None and math.isfinite(half) and abs(low + half - case.measured) <= 0.01 * half:
        return f"± {number(half, '.2g')}"
    return interval(case.interval, None)
