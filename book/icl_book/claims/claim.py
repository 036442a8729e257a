"""Printed statements, and the cases offered as evidence for or against them.

A `Claim` is data: what a source prints, where, and the *rule* that says which values
of a measured quantity the statement permits. A notebook measures and hands over
`Case`s; `judge` compares them with the rule and returns a `Card`. A notebook does not
decide its own verdict.

Reading of a case. It carries a measured value with an interval (for exact numbers the
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from icl.statistics import FALSE_ALARM_RATE


class Verdict(StrEnum):
    """The verdict on a printed statement."""

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
        """Return how the rule must read the control; the module's docstring says why."""
        return "agrees" if self.expected is Verdict.FAILS else "contradicts"

    @property
    def control_kind(self) -> str:
        """Return the name of the control on a page."""
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


def exact(name: str, measured: ArrayLike, error: ArrayLike = 0.0, **labels) -> Case | list[Case]:
    """Make cases of numbers that are computed, not sampled.

    Args:
        name: What was measured where. For an array it is a template with a field for each label that tells
            the cases apart, e.g. ``"d = {d}, n = {n:g}"``; write a brace of mathematics twice there.
        measured: A number, or an array of them.
        error: Largest absolute error; a number, or one for each measured number.
        **labels: What the claim's rule and the template need: numbers, or arrays that broadcast with
            ``measured``, e.g. ``d=dims[:, None], n=n_values``.

    Returns:
        One case, or a list of them in the order of the array's entries.
    """
    if np.ndim(measured) == 0:
        value, radius = float(measured), float(error)
        return Case(name, value, (value - radius, value + radius), labels)
    measured = np.asarray(measured, dtype=float)
    radii = np.broadcast_to(np.asarray(error, dtype=float), measured.shape)
    return [
        exact(name.format(**own), measured[at], radii[at], **own) for at, own in _each(measured.shape, labels)
    ]


def sampled(name: str, values: ArrayLike, **labels) -> Case | list[Case]:
    """Make cases of the means of independent values, with Student-t intervals at `FALSE_ALARM_RATE`.

    Args:
        name: As in `exact`.
        values: Independent values, shape (samples,) for one case, or (..., samples) for an array of cases.
        **labels: As in `exact`, broadcasting with all axes of ``values`` but the last.

    Returns:
        One case, or a list of them.

    Raises:
        ValueError: If there are fewer than two values.
    """
    if np.ndim(values) > 1:
        values = np.asarray(values, dtype=float)
        cells = _each(values.shape[:-1], labels)
        return [sampled(name.format(**own), values[at], **own) for at, own in cells]
    n = len(values)
    if n < 2:
        raise ValueError(f"values has {n} entries; at least 2 are needed for an interval")
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    half = float(t.isf(FALSE_ALARM_RATE / 2, n - 1)) * spread
    return Case(name, mean, (mean - half, mean + half), labels, samples=n)


def _each(shape: tuple[int, ...], labels: dict) -> Iterator[tuple[tuple[int, ...], dict]]:
    """Yield every index of an array and the labels there, as plain Python values."""
    arrays = {key: np.broadcast_to(np.asarray(value), shape) for key, value in labels.items()}
    for at in np.ndindex(shape):
        yield at, {key: array[at].item() for key, array in arrays.items()}
