"""Intervals with a declared false-alarm rate, and slopes on logarithmic axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# scipy.stats would take a second to import
from scipy.special import bdtr, ndtri, stdtrit

from icl.checks import reals

__all__ = ["FALSE_ALARM_RATE", "LARGEST_MISS", "median_interval", "t_interval"]

#: Largest size of a number of a sample, whose square is still one.
MOST = 1e150

#: Two-sided false-alarm rate of a single check of a mean by `t_interval`, in tests and chapters, and what
#: `median_interval` aims at; with fewer than 18 samples its intervals miss more often, and it says how often.
FALSE_ALARM_RATE = 1e-5

#: Largest probability with which an interval of a median may miss; few seeds allow no better.
LARGEST_MISS = 1e-2

#: Half-width, in standard errors, of an interval with that false-alarm rate.
Z = float(-ndtri(FALSE_ALARM_RATE / 2))


def t_interval(values: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, lower and upper end, (...), of Student-t intervals at `FALSE_ALARM_RATE`.

    Values are independent, (..., samples); fewer than two samples, NaN and infinity are a ValueError.
    """
    values = np.atleast_1d(reals(values, "values", -MOST, MOST))
    n = values.shape[-1]
    if n < 2:
        raise ValueError(f"values has {n} entries; at least 2 are needed for an interval")
    mean = values.mean(-1)
    half = -stdtrit(n - 1, FALSE_ALARM_RATE / 2) * values.std(-1, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def median_interval(values: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return medians of independent values (..., samples) with distribution-free intervals.

    The interval is ``[v_(k), v_(m + 1 - k)]`` of the m sorted values. It misses the median with probability
    ``2 P(Binomial(m, 1/2) < k)`` for every continuous law, however skew. The largest k is taken for which
    that is at most `FALSE_ALARM_RATE`; with fewer than 18 values there is none, and k = 1, the range. With
    fewer than 8 even the range misses more often than `LARGEST_MISS`, and the interval is the whole line.
    Fewer than two samples, NaN and infinity are a ValueError.

    Returns:
        Median, lower end and upper end, each of shape (...), and the probability that the interval misses.
    """
    ordered = np.sort(np.atleast_1d(reals(values, "values", -MOST, MOST)), axis=-1)
    m = ordered.shape[-1]
    if m < 2:
        raise ValueError(f"values has {m} entries; at least 2 are needed for an interval")
    misses = 2 * bdtr(np.arange(m // 2), m, 0.5)  # of k = 1, 2, ...
    middle = np.median(ordered, -1)
    if misses[0] > LARGEST_MISS:
        return middle, np.full_like(middle, -np.inf), np.full_like(middle, np.inf), 0.0
    k = max(1, int(np.sum(misses <= FALSE_ALARM_RATE)))
    return middle, ordered[..., k - 1], ordered[..., m - k], float(misses[k - 1])
