"""The lowest minimum in w of many risks at once, on nodes that all of them share.

Risk and slope are analytic where Re w > 0: over a ratio of 1.4 in w, the slope is a polynomial of degree 10
in log w to about 1e-11. A wide interval needs fewer nodes than all its parts, but there slopes may span many
decades, so that the last coefficients have to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from icl.tasks.base import Array

ProblemIndices = NDArray[np.intp]
#: It maps windows (k,) and problems (p,) to risk, slope in w, and a part of it that never falls, (k, 3, p).
Curve = Callable[[Array, ProblemIndices], Array]
# an interval has a lower and an upper w, and the problems whose slope turns positive between them
Interval = tuple[float, float, ProblemIndices]

# the scan in w begins at the first number, and each step multiplies w by the second
FIRST, RATIO = 0.1, 1.4
# an interval with a larger ratio in w spoils the nodes of too many problems
_MAX_RATIO = 4.1
# the polynomials have a relative error of about exp(-32)
_DIGITS = 32
# the relative error of a root is at least this, more than bisection and the rounding of the slopes cause
_ROUNDING = 1e-10
# two risks whose relative difference is smaller cannot be ordered
_RISK_ROUNDING = 1e-13
# the last coefficients may move a root by at most this, about ten times its error
_MAX_MOVE = 3e-9


class Minima(NamedTuple):
    """Minimizers w, the risks there, relative errors of w, and second derivatives of the risk in w.

    The last two are zero where w is zero.
    """

    w: Array
    risk: Array
    error: Array
    curvature: Array


def lowest(
    curve: Curve, at_zero: Array, falls: bool, last: Array, active: ProblemIndices, ahead: int = 1
) -> Minima:
    """Find the lowest minimum of each risk over w >= 0.

    Risks are scanned upwards in w with a ratio of 1.4, and every minimum met is refined as a root of the
    derivative; the best one wins, and w = 0 is one of them if the risk does not fall there. The scan of a
    risk ends where its part that never falls exceeds the lowest risk so far, or where it rises at a w beyond
    ``last``. It begins at w = 0.1, to which the scale of w has to be fitted, with ``ahead`` windows at once,
    and goes on with one at a time. ``at_zero`` are the risks at w = 0, ``falls`` says whether they fall
    there, and those that are not ``active`` stay there.

    >>> def parabola(w, some):
    ...     w = w[:, None] + 0.0 * some
    ...     return np.stack([(w - 2) ** 2, 2 * (w - 2), 0 * w], axis=1)
    >>> found = lowest(parabola, np.array([4.0]), True, np.array([10.0]), np.array([0]))
    >>> found.w.round(9), found.curvature.round(6)
    (array([2.]), array([2.]))
    """
    lowest_seen, falling = at_zero.copy(), np.full(at_zero.size, falls)
    lower, crossings = 0.0, list[Interval]()
    windows = FIRST * RATIO ** np.arange(ahead, dtype=float)
    while active.size:
        scanned = active
        for w, rows in zip(windows, curve(windows, scanned), strict=True):
            # of several windows the later ones may be of no use to a risk whose scan ended before
            risk, slope, floor = rows[:, np.isin(scanned, active)]
            # the slope is zero for a class of constant functions
            rises = slope >= 0
            new = falling[active] & rises
            if np.any(new):
                crossings.append((lower, w, active[new]))
            falling[active], lowest_seen[active] = (~rises, np.minimum(lowest_seen[active], risk))
            over = floor > (1 + _RISK_ROUNDING) * lowest_seen[active]
            active = active[~(over | (rises & (w > last[active])))]
            lower = w
        windows = windows[-1:] * RATIO
    # rows are those of `Minima`
    best = np.stack([np.zeros_like(at_zero), at_zero, *np.zeros((2, at_zero.size))])
    for found, row in _roots(crossings, curve):
        # where the risk falls at zero, any minimum is below it, even by less than the rounding of the risk
        better = (row[1] < best[1, found]) | (falls & (best[0, found] == 0))
        best[:, found[better]] = row[:, better]
    return Minima(*best)


def _roots(intervals: list[Interval], curve: Curve) -> Iterator[tuple[ProblemIndices, Array]]:
    """Yield problems and the rows of `Minima` at their roots, joining intervals up to `_MAX_RATIO` wide."""
    widest, start = math.log(_MAX_RATIO), 0
    while start < len(intervals):
        lower = intervals[start][0]
        # an interval that begins at zero is refined alone
        limit = lower * math.exp(widest) if lower > 0 else 0.0
        count = max(1, sum(upper < limit for _, upper, _ in intervals[start:]))
        found = _refine(intervals[start : start + count], curve)
        # these were too wide together, and smaller groups are tried, here and later
        if found is None:
            widest /= 2
        else:
            start += count
            yield found


def _refine(group: list[Interval], curve: Curve) -> tuple[ProblemIndices, Array] | None:
    """Return what `_roots` yields for neighboring intervals, refined as one, or None if this one is too wide.

    Slopes become polynomials in log w, or in w for an interval that begins at zero, and bisection finds their
    roots. The risk is the slope's integral, corrected by the values at the nodes.
    """
    lower, upper = group[0][0], group[-1][1]
    in_log = lower > 0
    start, stop = (math.log(lower), math.log(upper)) if in_log else (lower, upper)
    half = (stop - start) / 2
    problems = np.concatenate([some for *_, some in group])
    # The slope is analytic for |Im log w| < pi / 2, which decides how fast its coefficients fall. An interval
    # that begins at zero is short, and needs no more of them.
    nodes = math.ceil(_DIGITS / math.asinh(math.pi / 2 / half))
    x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    w = start + half * (1 + x)
    w = np.exp(w) if in_log else w
    try:
        values = curve(w, problems)
    except ValueError:
        # w may be too large for problems of the first intervals, so that smaller groups are tried
        if len(group) > 1:
            return None
        raise
    # this is the derivative of the risk in x, which is -1 at `start` and 1 at `stop`
    slope = values[:, 1] * half * (w[:, None] if in_log else 1.0)
    coefficients = chebyshev.chebfit(x, slope, nodes - 1)
    integral = chebyshev.chebint(coefficients)
    # the series of the risk is `integral` plus `rest`
    rest = chebyshev.chebfit(x, values[:, 0] - chebyshev.chebval(x, integral).T, nodes - 1)
    # the lower and upper w of each problem's own interval, (2, problems), and then as x
    sizes = [some.size for _, _, some in group]
    ends = np.repeat([(low, high) for low, high, _ in group], sizes, axis=0).T
    left, right = ((np.log(ends) if in_log else ends) - start) / half - 1
    # 45 halvings leave less than 1e-13 of an interval
    for _ in range(45):
        middle = (left + right) / 2
        rising = _series(middle, coefficients) > 0
        left, right = np.where(rising, left, middle), np.where(rising, middle, right)
    steepness = np.abs(_series(middle, chebyshev.chebder(coefficients)))
    # the last coefficients move a root by this, in log w or in w
    moved = half * np.abs(coefficients[-2:]).max(0) / steepness
    if len(group) > 1 and np.any(moved > _MAX_MOVE):
        return None
    root = np.exp(start + half * (1 + middle)) if in_log else start + half * (1 + middle)
    # dw / dx is half * scale, and at a root the second derivative in w is that in x over its square
    scale = root if in_log else 1.0
    risk, error = (_series(middle, integral) + _series(middle, rest), moved * scale / root)
    return problems, np.stack(
        [root, risk, np.maximum(error, _ROUNDING), steepness / (half * scale) ** 2]
    )


def _series(x: Array, coefficients: NDArray[np.floating]) -> Array:
    """Evaluate column j of ``coefficients`` as a Chebyshev series at ``x[j]``."""
    return np.asarray(chebyshev.chebval(x, coefficients, tensor=False))
