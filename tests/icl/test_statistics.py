"""Intervals against SciPy."""

import numpy as np
from scipy import stats

from icl.statistics import FALSE_ALARM_RATE, t_interval


def test_interval_is_scipys():
    values = np.random.default_rng(0).exponential(size=(3, 12))
    mean, low, high = t_interval(values)
    ends = stats.t.interval(1 - FALSE_ALARM_RATE, 11, values.mean(-1), stats.sem(values, axis=-1))
    assert np.allclose(mean, values.mean(-1)) and np.allclose([low, high], ends, rtol=1e-9)
