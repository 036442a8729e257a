"""Intervals and slopes against SciPy and closed forms."""

import numpy as np
from scipy import stats

from icl.statistics import FALSE_ALARM_RATE, local_slope, t_interval


def test_interval_is_scipys():
    values = np.random.default_rng(0).exponential(size=(3, 12))
    mean, low, high = t_interval(values)
    ends = stats.t.interval(
        1 - FALSE_ALARM_RATE, 11, values.mean(-1), stats.sem(values, axis=-1)
    )
    assert np.allclose(mean, values.mean(-1)) and np.allclose(
        [low, high], ends, rtol=1e-9
    )


def test_local_slope_of_a_power_law_and_of_a_sum_of_two():
    x = np.geomspace(1, 1e6, 7)
    slope, error = local_slope(x, np.stack([3 * x**-0.4, x**2]))
    assert np.allclose(slope, [-0.4, 2]) and np.all(error < 1e-12)
    slope, error = local_slope(x, x + x**2)
    assert abs(slope - 2) < error < 1e-4
