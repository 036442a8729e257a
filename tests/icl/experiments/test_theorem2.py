import numpy as np
import pytest

from icl.experiments import theorem2
from icl.experiments.tables import each
from icl.tasks import Affine


def test_slopes_of_windows_lie_between_their_lengths():
    lengths = np.array([1e8, 1e9, 1e10])
    windows = each(
        theorem2.exact_window, kind=["affine"], d=[3], lengths=lengths, lipschitz=1.0, noise_std=1.0
    )
    assert np.allclose(windows.ratio, 1, atol=0.02)
    slopes = theorem2.local_slopes(windows)
    assert np.allclose(slopes.n, [10**8.5, 10**9.5]) and np.allclose(slopes.slope, 1 / 3, atol=0.01)


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
    assert [found["value"], found["limit"]] == pytest.approx([found["truth"]] * 2, abs=0.02)


def test_sufficient_lengths_and_the_ends_of_the_sketch():
    assert (theorem2.sufficient_lengths(5)["value"] > 0).all()
    # with w^(-1) and w^(d/2) / n in balance, w ~ n^(2/(d+2))
    assert theorem2.sketch_ends(3)["value"] == pytest.approx([1 / 5, 2 / 3 - 4 / 15], abs=1e-6)
    assert theorem2.nearest_token(3, np.array([1e8, 1e10]))["value"] == pytest.approx(1, abs=1e-6)


def test_slopes_that_move_settle_on_the_law():
    last = each(theorem2.moving_slopes, functions="affine", d=3, signal=1.0).iloc[-1]
    assert last.slope == pytest.approx(last.sharp, abs=0.01) and Affine(3).dim == 3
    assert (last.least, last.most) == (1 / 3, 2 / 3)
