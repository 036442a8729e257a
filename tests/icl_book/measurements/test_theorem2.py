import numpy as np
import pytest

from icl_book.measurements import theorem2
from icl_book.measurements.tables import each


def test_slopes_of_windows_lie_between_their_lengths():
    lengths = np.array([1e8, 1e9, 1e10])
    classes, exact = (
        {"kind": ["affine"], "d": [3]},
        {"lipschitz": 1.0, "noise_std": 1.0},
    )
    windows = each(theorem2.exact_window, **classes, lengths=lengths, **exact)
    assert np.allclose(windows.ratio, 1, atol=0.02)
    slopes = theorem2.local_slopes(windows)
    assert np.allclose(slopes.n, [10**8.5, 10**9.5]) and np.allclose(
        slopes.slope, 1 / 3, atol=0.01
    )


@pytest.mark.parametrize(
    "found",
    [
        theorem2.slope_in_length(3, 1.0, 1.0),
        theorem2.slope_in_signal(3, 1.0, 1.0),
        theorem2.sharp_constant("ReLU", 3, 1.0, 1.0),
        theorem2.noise_exponent(3, more=1),
        theorem2.bias_exponent("ReLU", 3),
        theorem2.bias_growth("affine", 3, 1.0),
        theorem2.bias_growth("ReLU", 3, 1.0),
        theorem2.narrow_bias_growth(5),
    ],
)
def test_limits_are_near_their_closed_forms(found):
    assert [found["value"], found["limit"]] == pytest.approx(
        [found["truth"]] * 2, abs=0.02
    )


def test_slopes_that_move_settle_on_the_law():
    last = each(theorem2.moving_slopes, functions="affine", d=3, signal=1.0).iloc[-1]
    assert last.slope == pytest.approx(last.sharp, abs=0.01)
    assert (last.least, last.most) == (1 / 3, 2 / 3)
