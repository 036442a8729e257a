"""Printed statements and the verdicts that computed evidence gives them.

A `Claim` is data: what a source prints, where, and the *rule* that says which values
of a measured quantity the statement permits. A notebook measures and hands over
`Case`s; `judge` compares them with the rule and returns a `Card`. Nothing here
measures anything, and no notebook decides its own verdict.

How a case is read. It carries a measured value with an interval (for exact numbers the
interval is the numerical or extrapolation error, for sampled ones a confidence
interval at the declared `FALSE_ALARM_RATE`). Against the permitted range the case

- *contradicts* the statement when interval and range are disjoint,
- *agrees* when the interval lies inside the range, or meets it and is narrower than the
  claim's resolution (a range can be a single number, which no interval lies inside),
- is *undecided* when a wide interval meets the range only in part.

One contradicting case contradicts the claim. Every claim has a negative control: cases
in which an assumption is broken, or a misprint planted, and which the same rule must
contradict, or the rule would accept anything. For a claim that fails as printed and has
no correction it is the other way round: the control is a situation in which the
statement is true, and the rule must accept it, or it would reject anything.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from scipy.stats import norm

#: Two-sided false-alarm rate of every single stochastic check in tests and chapters.
#: With at most 1000 such checks the whole suite raises a false alarm with probability
#: below 1 % (union bound).
FALSE_ALARM_RATE = 1e-5

#: Half-width, in standard errors, of an interval with that false-alarm rate.
Z = float(norm.isf(FALSE_ALARM_RATE / 2))

#: Media type under which a card travels inside an executed notebook.
CARD_MIME = "application/vnd.icl.card+json"


class Verdict(StrEnum):
    """What the evidence says of a printed statement."""

    HOLDS = "holds"
    CORRECTED = "holds corrected"
    FAILS = "fails as printed"
    INCONCLUSIVE = "inconclusive"
    NOT_TESTABLE = "not testable"


Range = tuple[float, float]
Rule = Callable[[dict], Range]


@dataclass(frozen=True)
class Claim:
    """One printed statement.

    Attributes:
        id: Short unique name, e.g. ``"P1.T2.lower"``.
        source: Where it is printed, e.g. ``"ITA slides, Theorem 2, lower bound"``.
        statement: The statement as printed, MyST markdown with ``$...$`` mathematics.
        quantity: What is measured, in words; the rule speaks about this number.
        rule: Maps a case's parameters to the range ``(low, high)`` that the printed
            statement permits, ends included.
        expected: The verdict we expect; another one fails the build.
        corrected: Our corrected statement (MyST markdown), if the printed one fails.
        corrected_rule: The range the corrected statement permits.
        resolution: Largest half-width with which an interval only partly in the range still agrees.
        control: What is broken in the negative control, in words.
        why_not: For a statement that cannot be tested: the reason.
    """

    id: str
    source: str
    statement: str
    quantity: str = ""
    rule: Rule | None = None
    expected: Verdict = Verdict.HOLDS
    corrected: str | None = None
    corrected_rule: Rule | None = None
    resolution: float = math.inf
    control: str = ""
    why_not: str = ""

    @property
    def control_reading(self) -> str:
        """How the rule must read the control; the module's docstring says why."""
        return "agrees" if self.expected is Verdict.FAILS else "contradicts"

    @property
    def control_kind(self) -> str:
        """What to call the control on a page."""
        return "Positive control" if self.control_reading == "agrees" else "Negative control"

    def __post_init__(self):
        if (self.expected is Verdict.NOT_TESTABLE) != bool(self.why_not):
            raise ValueError(f"claim {self.id}: why_not goes with 'not testable', and only with it")
        if (self.rule is None) != (self.expected is Verdict.NOT_TESTABLE):
            raise ValueError(f"claim {self.id}: a testable claim needs a rule, another has none")
        if (self.corrected is None) != (self.corrected_rule is None):
            raise ValueError(f"claim {self.id}: corrected and corrected_rule go together")
        if self.rule is not None and not self.control:
            raise ValueError(f"claim {self.id}: every testable claim needs a negative control")


@dataclass(frozen=True)
class Case:
    """One measurement offered as evidence.

    Attributes:
        name: What was measured where, e.g. ``"ReLU, d = 3"``.
        measured: The number.
        interval: ``(low, high)`` around it; for exact numbers the numerical error.
        parameters: What the claim's rule needs, e.g. ``{"dim": 3}``.
        samples: Independent samples behind a Monte Carlo interval; None if exact.
    """

    name: str
    measured: float
    interval: Range
    parameters: dict = field(default_factory=dict)
    samples: int | None = None

    def __post_init__(self):
        low, high = self.interval
        if not low <= self.measured <= high:
            raise ValueError(f"case {self.name!r}: measured {self.measured} outside interval {self.interval}")


def exact(name: str, measured: float, error: float = 0.0, **parameters) -> Case:
    """A case whose number is computed, not sampled, good to ``error`` (absolute)."""
    measured, error = float(measured), float(error)
    return Case(name, measured, (measured - error, measured + error), parameters)


def sampled(name: str, values: Sequence[float], **parameters) -> Case:
    """The mean of independent ``values`` with its Student-t interval at `FALSE_ALARM_RATE`.

    Raises:
        ValueError: If there are fewer than two values.
    """
    from scipy.stats import t

    n = len(values)
    if n < 2:
        raise ValueError(f"values has {n} entries; at least 2 are needed for an interval")
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = float(t.isf(FALSE_ALARM_RATE / 2, n - 1)) * spread
    return Case(name, mean, (mean - half, mean + half), parameters, samples=n)


def _reading(case: Case, permitted: Range, resolution: float) -> str:
    low, high = case.interval
    if high < permitted[0] or low > permitted[1] or math.isnan(case.measured):
        return "contradicts"
    inside = permitted[0] <= low and high <= permitted[1]
    return "agrees" if inside or (high - low) / 2 <= resolution else "undecided"


def _together(readings: Sequence[str]) -> str:
    if "contradicts" in readings:
        return "contradicts"
    return "undecided" if "undecided" in readings or not readings else "agrees"


@dataclass(frozen=True)
class Card:
    """A claim with its evidence and verdict; shows itself on a page.

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
        """Whether verdict and control came out as the claim says they should."""
        testable = self.claim.rule is not None
        return self.verdict is self.claim.expected and (self.control_passed or not testable)

    def record(self) -> dict:
        """The card as plain data, for result files and the audit page."""
        claim = self.claim

        def rows(cases):
            return [
                asdict(c) | {"measured": _json(c.measured), "interval": _json(c.interval),
                             "permitted": _json(claim.rule(c.parameters)),
                             "permitted_corrected": _json(claim.corrected_rule(c.parameters))
                             if claim.corrected_rule else None}
                for c in cases
            ]

        return {
            "id": claim.id, "source": claim.source, "statement": claim.statement,
            "corrected": claim.corrected, "quantity": claim.quantity,
            "verdict": str(self.verdict), "expected": str(claim.expected),
            "as_expected": self.as_expected, "why_not": claim.why_not,
            "control": claim.control, "control_passed": self.control_passed,
            "cases": rows(self.cases), "control_cases": rows(self.control),
        }

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._html(), "text/plain": self._text(), CARD_MIME: self.record()}

    def _text(self) -> str:
        lines = [f"{self.claim.id}: {self.verdict}"]
        lines += [f"  {c.name}: {c.measured:.6g} in {_range(c.interval)}" for c in self.cases]
        return "\n".join(lines)

    def _html(self) -> str:
        claim, esc = self.claim, html.escape
        kind = str(self.verdict).replace(" ", "-")
        surprise = "" if self.as_expected else (
            f'<p class="icl-surprise">Not what we expected: {esc(str(claim.expected))}'
            f'{"" if self.control_passed else "; the control was not judged as it must be"}.</p>')
        head = ("<tr><th>case</th><th>statement permits</th>"
                + ("<th>corrected permits</th>" if claim.corrected_rule else "")
                + "<th>measured</th><th>interval</th><th>samples</th></tr>")

        def row(c: Case, css: str = "") -> str:
            rules = [rule for rule in (claim.rule, claim.corrected_rule) if rule]
            permitted = "".join(f"<td>{_range(rule(c.parameters))}</td>" for rule in rules)
            return (f"<tr{css}><td>{_prose(c.name)}</td>{permitted}"
                    f"<td>{c.measured:.5g}</td><td>{_spread(c)}</td>"
                    f'<td>{"exact" if c.samples is None else c.samples}</td></tr>')

        corrected = (f'<p class="icl-statement">Corrected: {_prose(claim.corrected)}</p>'
                     if claim.corrected else "")
        body = "".join(row(c) for c in self.cases)
        body += "".join(row(c, ' class="icl-control"') for c in self.control)
        must = {"contradicts": "rejected", "agrees": "accepted"}[claim.control_reading]
        ok = f"{must}, as it must be" if self.control_passed else f"NOT {must}"
        return (
            f'<div class="icl-card icl-{kind}" id="claim-{esc(claim.id)}">'
            f'<p class="icl-head"><span class="icl-badge">{esc(str(self.verdict))}</span> '
            f"<strong>{esc(claim.id)}</strong> <span>{esc(claim.source)}</span></p>{surprise}"
            f'<p class="icl-statement">{_prose(claim.statement)}</p>{corrected}'
            f'<p class="icl-quantity">Measured: {_prose(claim.quantity)}.</p>'
            f'<div class="icl-scroll"><table>{head}{body}</table></div>'
            f'<p class="icl-quantity">{claim.control_kind} (shaded): {_prose(claim.control)}: {ok}.</p></div>'
        )


def _json(x: float | Range) -> float | str | list:
    """A number or range in strict JSON, which has no infinity and no NaN: those become strings."""
    if isinstance(x, tuple):
        return [_json(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


def _prose(markdown: str) -> str:
    """Text with ``$...$`` mathematics as HTML that MathJax renders, in the book and in Jupyter."""
    parts = html.escape(" ".join(markdown.split()), quote=False).split("$")
    return "".join(rf'<span class="math notranslate nohighlight">\({p}\)</span>' if i % 2 else p
                   for i, p in enumerate(parts))


def _spread(case: Case) -> str:
    """A case's interval: as plus-minus where it is symmetric and exact, else by its ends."""
    low, high = case.interval
    half = (high - low) / 2
    if case.samples is None and math.isfinite(half) and abs(low + half - case.measured) <= 0.01 * half:
        return f"&plusmn; {half:.2g}"
    return _range(case.interval)


def _range(r: Range) -> str:
    low, high = r
    if low == high:
        return f"{low:.5g}"
    if math.isinf(low):
        return f"&le; {high:.5g}"
    if math.isinf(high):
        return f"&ge; {low:.5g}"
    digits = 5
    if high != low and low * high > 0:  # enough digits to tell the ends apart
        digits = min(12, max(5, 2 - math.floor(math.log10((high - low) / max(abs(low), abs(high))))))
    return f"[{low:.{digits}g}, {high:.{digits}g}]"


def judge(claim: Claim | str, cases: Sequence[Case], control: Sequence[Case]) -> Card:
    """Let evidence decide a claim.

    Args:
        claim: A claim, or its id in the `registry`.
        cases: The evidence, at least one case.
        control: The negative control's cases, at least one.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If evidence or control is missing, or the claim is not testable.
        KeyError: If the id is unknown.
    """
    if isinstance(claim, str):
        claim = registry()[claim]
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is not testable: {claim.why_not}")
    if not cases or not control:
        raise ValueError(f"claim {claim.id}: needs at least one case and one control case")
    printed = _together([_reading(c, claim.rule(c.parameters), claim.resolution) for c in cases])
    if printed == "agrees":
        verdict = Verdict.HOLDS
    elif printed == "undecided":
        verdict = Verdict.INCONCLUSIVE
    elif claim.corrected_rule is None:
        verdict = Verdict.FAILS
    else:
        corrected = _together(
            [_reading(c, claim.corrected_rule(c.parameters), claim.resolution) for c in cases])
        verdict = {"agrees": Verdict.CORRECTED, "contradicts": Verdict.FAILS,
                   "undecided": Verdict.INCONCLUSIVE}[corrected]
    # The control speaks about the statement we stand by: the corrected one if there is one.
    stand_by = claim.corrected_rule or claim.rule
    readings = {_reading(c, stand_by(c.parameters), claim.resolution) for c in control}
    return Card(claim, verdict, tuple(cases), tuple(control), readings == {claim.control_reading})


def registry() -> dict[str, Claim]:
    """All claims of both papers by id, in the order of the sources."""
    from icl import claims_p1, claims_p2

    both = [*claims_p1.CLAIMS, *claims_p2.CLAIMS]
    found = {c.id: c for c in both}
    if len(found) != len(both):
        raise ValueError("two claims share an id")
    return found
