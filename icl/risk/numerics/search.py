"""The lowest minimum in w of many risks at once, on nodes in w that all of them share.

A *problem* is one risk as a function of the window w, and its *slope* is the derivative in w. Both are
analytic where Re w > 0. So on an interval whose ends have the ratio 1.4, a polynomial of degree 10 in log w
gives the slope with an error below 1e-11 of the largest slope there. One wide interval needs fewer nodes than
the short ones that it consists of. But slopes may span many decades on it, and then the last coefficients of
the polynomial are too large.
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
#: It maps windows (k,) and problems (p,) to (k, 3, p): risk, slope, and a part of the risk that never falls.
Curve = Callable[[Array, ProblemIndices], Array]
# a lower and an upper w, and the problems whose slope becomes positive between the two
Interval = tuple[float, float, ProblemIndices]

# the scan in w begins at `FIRST`, and each further window is `RATIO` times the one before
FIRST, RATIO = 0.1, 1.4
# Intervals are joined up to this ratio of their ends. Beyond it, problems are computed at too many nodes that
# are far from their own interval.
_MAX_RATIO = 4.1
# polynomials have so many nodes that their last coefficients are expected to be about exp(-32) of the first
_DIGITS = 32
# Reported relative errors of roots are at least this. Bisection and the rounding of slopes cause less.
_ROUNDING = 1e-10
# two risks whose relative difference is smaller cannot be ordered
_RISK_ROUNDING = 1e-13
# Joined intervals are refined apart if the last coefficients of a slope move a root by more than this, in
# log w.
_MAX_MOVE = 3e-9


class Minima(NamedTuple):
    """Minimizers w, the risks there, relative errors of w, and second derivatives of the risk in w.

    Where w is zero, so are its error and the second derivative.
    """

    w: Array
    risk: Array
    error: Array
    curvature: Array


def lowest(
    curve: Curve, at_zero: Array, falls: bool, last: Array, active: ProblemIndices, ahead: int = 1
) -> Minima:
    """Find the lowest minimum of each risk over w >= 0.

    A scan computes the risks at w = 0.1, 0.14, 0.196 and so on, and the caller chooses the scale of w
    accordingly. Where the slope of a risk becomes positive between two windows, a minimum lies between them,
    and is refined as a root of the slope. If risks do not fall at w = 0, this w is a minimum, too. The scan
    of a risk ends where its part that never falls exceeds the lowest risk so far, or where the risk rises at
    a w beyond ``last``.

    Args:
        curve: The risks as functions of w, see `Curve`.
        at_zero: The risks at w = 0.
        falls: Whether the risks fall at w = 0.
        last: For each risk, the w beyond which its scan ends once the risk rises.
        active: The risks to scan. The minimizer of the others is w = 0.
        ahead: How many windows the first call of ``curve`` has. Each later call has one window. A
            larger number saves time if ``curve`` computes many windows together.

    >>> def parabola(w, some):
    ...     w = w[:, None] + 0.0 * some
    ...     return np.stack([(w - 2) ** 2, 2 * (w - 2), 0 * w], axis=1)
    >>> found = lowest(parabola, np.array([4.0]), True, np.array([10.0]), np.array([0]))
    >>> found.w.round(9), found.curvature.round(6)
    (array([2.]), array([2.]))
    """
    lowest_seen = at_zero.copy()
    falling = np.full(at_zero.size, falls)
    lower = 0.0
    crossings: list[Interval] = []
    windows = FIRST * RATIO ** np.arange(ahead, dtype=float)
    while active.size:
        scanned = active
        for w, rows in zip(windows, curve(windows, scanned), strict=True):
            # the scan of a risk may end at one of these windows, and then it ignores the later ones
            risk, slope, floor = rows[:, np.isin(scanned, active)]
            # a slope of zero counts as a rise: it is zero for all w if the functions are constant
            rises = slope >= 0
            new = falling[active] & rises
            if np.any(new):
                crossings.append((lower, w, active[new]))
            falling[active] = ~rises
            lowest_seen[active] = np.minimum(lowest_seen[active], risk)
            over = floor > (1 + _RISK_ROUNDING) * lowest_seen[active]
            active = active[~(over | (rises & (w > last[active])))]
            lower = w
        windows = windows[-1:] * RATIO
    # rows are those of `Minima`
    best = np.stack([np.zeros_like(at_zero), at_zero, *np.zeros((2, at_zero.size))])
    for found, row in _find_roots(crossings, curve):
        # If risks fall at zero, every minimum is below the risk at zero, perhaps by less than rounding. So
        # any minimum replaces w = 0.
        better = (row[1] < best[1, found]) | (falls & (best[0, found] == 0))
        best[:, found[better]] = row[:, better]
    return Minima(*best)


def _find_roots(intervals: list[Interval], curve: Curve) -> Iterator[tuple[ProblemIndices, Array]]:
    """Yield problems, (p,), and their rows of `Minima`, (4, p), at the roots of slopes.

    Neighboring intervals are joined.
    """
    # the ends of a joined interval differ by at most `widest` in log w
    widest, start = math.log(_MAX_RATIO), 0
    while start < len(intervals):
        lower = intervals[start][0]
        # an interval that begins at zero is refined alone, because its ends have an infinite ratio
        limit = lower * math.exp(widest) if lower > 0 else 0.0
        count = max(1, sum(upper < limit for _, upper, _ in intervals[start:]))
        found = _refine_together(intervals[start : start + count], curve)
        # if the group was too wide, all groups from here on are narrower
        if found is None:
            widest /= 2
        else:
            start += count
            yield found


def _refine_together(group: list[Interval], curve: Curve) -> tuple[ProblemIndices, Array] | None:
    """Return the problems and rows that `_find_roots` yields for neighboring intervals, or None.

    None says that the intervals together are too wide for one polynomial.

    The slopes are fitted by polynomials in log w, or in w if the first interval begins at zero, and bisection
    finds their roots. The polynomials of the risks have the computed values at the nodes.
    """
    lower, upper = group[0][0], group[-1][1]
    in_log = lower > 0
    start, stop = (math.log(lower), math.log(upper)) if in_log else (lower, upper)
    half = (stop - start) / 2
    problems = np.concatenate([some for *_, some in group])
    # As a function of log w the slope is analytic for |Im log w| < pi / 2. So its k-th Chebyshev coefficient
    # falls like exp(-k asinh(pi / 2 / half)). An interval that begins at zero is so short that this number of
    # nodes is enough.
    nodes = math.ceil(_DIGITS / math.asinh(math.pi / 2 / half))
    x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    w = start + half * (1 + x)
    w = np.exp(w) if in_log else w
    try:
        values = curve(w, problems)
    except ValueError:
        # the largest w may be too large for problems of the first intervals, so that smaller groups are tried
        if len(group) > 1:
            return None
        raise
    # this is the derivative of the risk in x, where x is -1 at `start` and 1 at `stop`
    slope = values[:, 1] * half * (w[:, None] if in_log else 1.0)
    coefficients = chebyshev.chebfit(x, slope, nodes - 1)
    integral = chebyshev.chebint(coefficients)
    # The series of the risk is `integral` plus `rest`, and has the computed values at the nodes. These
    # values do not determine the last coefficient of the series, which is that of `integral`.
    rest = chebyshev.chebfit(x, values[:, 0] - chebyshev.chebval(x, integral).T, nodes - 1)
    # these are the lower and the upper w of each problem's own interval, (2, problems)
    sizes = [some.size for _, _, some in group]
    ends = np.repeat([(low, high) for low, high, _ in group], sizes, axis=0).T
    # these are the same ends as x
    left, right = ((np.log(ends) if in_log else ends) - start) / half - 1
    # 45 halvings leave less than 1e-13 of an interval
    for _ in range(45):
        middle = (left + right) / 2
        rising = _evaluate_series(middle, coefficients) > 0
        left, right = np.where(rising, left, middle), np.where(rising, middle, right)
    steepness = np.abs(_evaluate_series(middle, chebyshev.chebder(coefficients)))
    # If the error of the slope is the larger of the last two coefficients, the root moves by this, in log w,
    # or in w unless `in_log`.
    moved = half * np.abs(coefficients[-2:]).max(0) / steepness
    if len(group) > 1 and np.any(moved > _MAX_MOVE):
        return None
    root = start + half * (1 + middle)
    root = np.exp(root) if in_log else root
    # dw / dx is half * scale
    scale = root if in_log else 1.0
    risk = _evaluate_series(middle, integral) + _evaluate_series(middle, rest)
    error = np.maximum(moved * scale / root, _ROUNDING)
    # where the slope is zero, the second derivative in w is that in x, divided by (dw / dx)^2
    curvature = steepness / (half * scale) ** 2
    return problems, np.stack([root, risk, error, curvature])


def _evaluate_series(x: Array, coefficients: NDArray[np.floating]) -> Array:
    """Evaluate column j of ``coefficients`` as a Chebyshev series at ``x[j]``."""
    return np.asarray(chebyshev.chebval(x, coefficients, tensor=False))
