import numpy as np
import pytest

from icl.risk import optimal_window
from icl.tasks import Affine
from icl_book.measurements import sweeps


def test_slopes_of_a_power_law_and_their_errors():
    slope, error = sweeps.log_slopes(
        [1.0, 10.0, 1000.0], [1.0, 100.0, 1e6], [0.1, 0.1, 0.3]
    )
    assert np.allclose(slope, 2) and np.allclose(
        error, [0.2 / np.log(10), 0.4 / np.log(100)]
    )
    assert list(sweeps.with_error(2.0, 0.1, 0.3).values()) == pytest.approx([2.0, 0.8])


def test_what_is_linear_in_a_small_number_is_extrapolated_exactly():
    small = np.array([0.4, 0.2, 0.1])
    assert np.allclose(sweeps.extrapolated(3 + 2 * small, small), (3, 0))
    assert np.allclose(sweeps.extrapolated(3 + small**2, small), (3 - 0.02, 0.06))


def test_both_routes_meet_where_tokens_are_many():
    exact, many = (
        sweeps.EXACT.least(Affine(3), 1e8, 1.0),
        sweeps.MANY.least(Affine(3), 1e8, 1.0),
    )
    assert exact == pytest.approx(optimal_window(Affine(3), 1e8, 1.0).risk)
    assert many == pytest.approx(exact, rel=1e-3) and many != exact
    law = sweeps.law_constant(Affine(3), (1e3, 1e4, 1e5), 1.0, 0.5)
    assert law["value"] == pytest.approx(1, abs=0.01) and law["limit"] == pytest.approx(
        1, abs=0.01
    )
