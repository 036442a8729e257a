"""The strip plot of a card: each measured number against what the statement permits, at a glance."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from statistics import median

from icl_book.claims.case import Case, Range

WIDTH, HEIGHT, MARGIN = 300, 22, 8


def strip(
    cases: Sequence[Case], outcomes: Sequence[str], control: Sequence[Case], rule: Callable[..., Range]
) -> str:
    """Draw a strip plot as SVG: a band for the permitted range, dots with intervals, hollow for controls.

    Each number is placed relative to its own range: the ends of a range lie at a quarter and at three
    quarters of the width, and numbers far outside move towards the margins. The strip has no scale; the
    table has.

    Args:
        cases: The evidence.
        outcomes: The outcome of each case.
        control: The control's cases.
        rule: From a case's labels to the permitted range.
    """
    every = [*cases, *control]
    ranges = [rule(c.parameters) for c in every]
    unit = _unit(every, ranges)

    def place(x: float, ends: Range) -> float:
        low, high = ends
        if math.isinf(low) and math.isinf(high):
            t = 0.0
        elif math.isinf(low):
            t = 1 + (x - high) / unit
        elif math.isinf(high):
            t = -1 + (x - low) / unit
        else:
            t = (x - (low + high) / 2) / ((high - low) / 2 or unit)
        t = t / (1 + abs(t)) if math.isfinite(t) else math.copysign(1, t)
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (0.5 + 0.5 * t), 1)

    lows, highs = zip(*ranges, strict=True)
    left = 0 if all(map(math.isinf, lows)) else MARGIN + (WIDTH - 2 * MARGIN) / 4
    right = WIDTH if all(map(math.isinf, highs)) else MARGIN + 3 * (WIDTH - 2 * MARGIN) / 4
    middle, marks = HEIGHT / 2, []
    for i, (c, ends) in enumerate(zip(every, ranges, strict=True)):
        x, (a, b) = place(c.measured, ends), (place(v, ends) for v in c.interval)
        css = ' class="icl-hollow"' if i >= len(cases) else ""
        marks.append(f'<path d="M{a} {middle}H{b}"/><circle{css} cx="{x}" cy="{middle}" r="3.5"/>')
    text = f"{outcomes.count('agrees')} of {len(cases)} measured numbers lie in the permitted range"
    text += f", {unclear} undecided" if (unclear := outcomes.count("undecided")) else ""
    if control:
        kept = sum(_inside(c, r) for c, r in zip(control, ranges[len(cases) :], strict=True))
        text += f"; controls, hollow: {kept} of {len(control)}"
    return (
        f'<svg class="icl-strip" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{html.escape(text)}">'
        f'<title>{html.escape(text)}</title><rect x="{left:g}" width="{right - left:g}" height="{HEIGHT}"/>'
        f"{''.join(marks)}</svg>"
    )


def _unit(cases: Sequence[Case], ranges: Sequence[Range]) -> float:
    """Return the unit of length beside a single end: the median distance of the numbers from it."""
    gaps = [abs(c.measured - end) for c, ends in zip(cases, ranges, strict=True) for end in ends]
    return median([g for g in gaps if 0 < g < math.inf] or [1.0])


def _inside(case: Case, ends: Range) -> bool:
    return ends[0] <= case.interval[0] and case.interval[1] <= ends[1]
