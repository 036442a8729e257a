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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from icl.statistics import FALSE_ALARM_RATE


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
