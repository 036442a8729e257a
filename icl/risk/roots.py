"""Roots of many slopes in w at once, on nodes that all settings share.

Risk and slope are analytic where Re w > 0: over a ratio of 1.4 in w, the slope is a polynomial of degree 10
in log w to about 1e-11. A wide interval needs fewer nodes than all its parts, but there slopes may span many
decades, so that the last coefficients have to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from icl.tasks.base import Array

Settings = NDArray[np.intp]
Interval = tuple[float, float, Settings]  # from which to which w, and the settings whose slope turns positive
Curve = Callable[[float, Settings], Array]
Roots = tuple[Settings, Array, Array, Array]

_WIDEST = 4.1  # a wider ratio in w spoils the nodes of too many settings
_DIGITS = 32  # natural logarithm of what is asked of the polynomials
_ROUNDING = 1e-10  # of a root, relative: what bisection and the rounding of the slopes may do, and more
_LAST = 3e-9  # most that the last coefficients may move a root: about ten times its error


def roots(intervals: list[Interval], curve: Curve) -> Iterator[Roots]:
    """Find the roots of the slopes, and the risks there.

    Args:
        intervals: Upwards; one that begins at zero is short enough for a polynomial in w.
        curve: Maps w and settings to (risk, slope, ...), shape (rows, settings).

    Yields:
        Settings, roots, risks and estimated relative errors of the roots, of many intervals at once, each of
        shape (settings,).
    """
    widest, start = math.log(_WIDEST), 0
    while start < len(intervals):
        lower = intervals[start][0]
        limit = lower * math.exp(widest) if lower > 0 else 0.0
        count = max(1, sum(upper < limit for _, upper, _ in intervals[start:]))
        found = _refine(intervals[start : start + count], curve)
        if found is None:
            widest /= 2
        else:
            start += count
            yield found


def _refine(group: list[Interval], curve: Curve) -> Roots | None:
    """Refine neighboring intervals as one; None if that is too wide.

    Bisection on polynomials costs little. The risk is the slope's integral, corrected by the values at the
    nodes.
    """
    lower, upper = group[0][0], group[-1][1]
    grow = lower > 0
    start, stop = (math.log(lower), math.log(upper)) if grow else (lower, upper)
    half = (stop - start) / 2
    settings = np.concatenate([some for *_, some in group])
    nodes = math.ceil(_DIGITS / math.asinh(math.pi / 2 / half))
    x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    w = start + half * (1 + x)
    w = np.exp(w) if grow else w
    try:
        values = np.stack([curve(float(v), settings)[:2] for v in w])  # (node, (risk, slope), setting)
    except ValueError:  # w is too large for settings of the first intervals
        if len(group) > 1:
            return None
        raise
    slope = values[:, 1] * half * (w[:, None] if grow else 1.0)
    coefficients = chebyshev.chebfit(x, slope, nodes - 1)
    integral = chebyshev.chebint(coefficients)
    rest = chebyshev.chebfit(x, values[:, 0] - chebyshev.chebval(x, integral).T, nodes - 1)
    ends = np.repeat([ends for *ends, _ in group], [some.size for *_, some in group], axis=0).T
    left, right = ((np.log(ends) if grow else ends) - start) / half - 1
    for _ in range(45):
        middle = (left + right) / 2
        rising = _series(middle, coefficients) > 0
        left, right = np.where(rising, left, middle), np.where(rising, middle, right)
    steepness = np.abs(_series(middle, chebyshev.chebder(coefficients)))
    moved = half * np.abs(coefficients[-2:]).max(0) / steepness  # by the last coefficients, in log w or in w
    if len(group) > 1 and np.any(moved > _LAST):
        return None
    root = start + half * (1 + middle)
    error = np.maximum(moved if grow else moved / root, _ROUNDING)
    return settings, np.exp(root) if grow else root, _series(middle, integral) + _series(middle, rest), error


def _series(x: Array, coefficients: NDArray[np.floating]) -> Array:
    """Evaluate column j of ``coefficients`` as a Chebyshev series at ``x[j]``."""
    return np.asarray(chebyshev.chebval(x, coefficients, tensor=False))
