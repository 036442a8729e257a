"""Intervals of means and medians with a declared false-alarm rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# Importing scipy.stats would take a second.
from scipy.special import bdtr, ndtri, stdtrit

from icl.checks import reals

__all__ = ["FALSE_ALARM_RATE", "MAX_MISS", "median_interval", "t_interval"]

#: Values up to this size have a finite square.
MAX_ABS_VALUE = 1e150

#: An interval misses with this probability, and that of a median of 18 or more values at most so often.
FALSE_ALARM_RATE = 1e-5

#: With fewer values an interval of a median misses with at most this probability.
MAX_MISS = 1e-2

#: A normal number is beyond this many standard deviations with the probability `FALSE_ALARM_RATE`.
Z = float(-ndtri(FALSE_ALARM_RATE / 2))


def t_interval(values: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means of independent values (..., samples), with Student-t intervals at `FALSE_ALARM_RATE`.

    Returns:
        Mean, lower end and upper end, each of shape (...).

    Raises:
        ValueError: For fewer than two samples, and for NaN and values above `MAX_ABS_VALUE` in size.
    """
    values = np.atleast_1d(reals(values, "values", -MAX_ABS_VALUE, MAX_ABS_VALUE))
    n = values.shape[-1]
    if n < 2:
        raise ValueError(f"values has {n} entries; at least 2 are needed for an interval")
    mean = values.mean(-1)
    half = -stdtrit(n - 1, FALSE_ALARM_RATE / 2) * values.std(-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def median_interval(values: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return medians of independent values (..., samples), with intervals for any continuous distribution.

    The interval is ``[v_(k), v_(m + 1 - k)]``, where ``v_(k)`` is the k-th smallest of m values. It misses
    the median of the distribution with probability ``2 P(Binomial(m, 1/2) < k)``. k is the largest number,
    and at least 1, for which this probability is at most `FALSE_ALARM_RATE`. If even the range misses more
    often than `MAX_MISS`, as with fewer than 8 values, the interval is the whole line.

    Returns:
        Median, lower end and upper end, each of shape (...), and the probability that the interval misses.

    Raises:
        ValueError: For values that `t_interval` refuses.
    """
    ordered = np.sort(
        np.atleast_1d(reals(values, "values", -MAX_ABS_VALUE, MAX_ABS_VALUE)), axis=-1
    )
    m = ordered.shape[-1]
    if m < 2:
        raise ValueError(f"values has {m} entries; at least 2 are needed for an interval")
    # Entry i is the probability that the interval of k = i + 1 misses.
    misses = 2 * bdtr(np.arange(m // 2), m, 0.5)
    middle = np.median(ordered, -1)
    if misses[0] > MAX_MISS:
        return middle, np.full_like(middle, -np.inf), np.full_like(middle, np.inf), 0.0
    k = max(1, int(np.sum(misses <= FALSE_ALARM_RATE)))
    return middle, ordered[..., k - 1], ordered[..., m - k], float(misses[k - 1])
