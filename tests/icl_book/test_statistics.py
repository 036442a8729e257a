"""Intervals against SciPy."""

import numpy as np
import pytest
from scipy import stats

from icl.risk import MonteCarlo
from icl_book.statistics import FALSE_ALARM_RATE, Z, median_interval, t_interval


def test_interval_is_scipys():
    values = np.random.default_rng(0).exponential(size=(3, 12))
    mean, low, high = t_interval(values)
    ends = stats.t.interval(1 - FALSE_ALARM_RATE, 11, values.mean(-1), stats.sem(values, axis=-1))
    assert np.allclose(mean, values.mean(-1)) and np.allclose([low, high], ends, rtol=1e-9)


def test_a_sampled_risk_has_the_rate_of_the_book():
    assert MonteCarlo(0.0, 1.0, 2).interval == (-Z, Z)


@pytest.mark.parametrize("interval", [median_interval, t_interval])
@pytest.mark.parametrize("values", [1.0, [], [1.0, np.nan], [1.0, np.inf], "12"])
def test_too_few_values_and_values_that_are_not_finite_are_refused(interval, values):
    with pytest.raises(ValueError, match="values.*(at least 2|must be)"):
        interval(values)
