import numpy as np
import pytest

from icl.experiments import extremes
from icl.risk import optimal_window
from icl.risk.asymptotics import window_exponent
from icl.tasks import Affine, ReLU

FAR = np.array([1e9, 1e10])


def test_windows_follow_their_law_unless_the_noise_grows_along():
    slopes = extremes.slopes_in_length([3], FAR)
    assert np.allclose(slopes.value, [window_exponent(Affine(3)), window_exponent(ReLU(3))], atol=0.02)
    bandwidths = extremes.slopes_in_length([3], FAR, power=-1 / 2)
    assert np.allclose(bandwidths.value, -slopes.value / 2) and (bandwidths.error > 0).all()
    assert np.allclose(extremes.slopes_in_length([3], FAR, np.sqrt(FAR)).value, 0, atol=1e-6)


def test_tokens_in_the_window_are_those_that_its_width_leaves():
    # a window of bandwidth w^(-1/2) holds n w^(-(d-1)/2) tokens, and w grows like n^(2/(d+3))
    affine, _ = extremes.crowds([3], FAR).value
    assert affine == pytest.approx(1 - 2 / 2 * 2 / 6, abs=1e-3)


def test_much_noise_widens_the_window_like_one_over_the_variance():
    assert np.allclose(extremes.slopes_in_noise(3, 20).value, -2, atol=1e-3)
    assert extremes.waves_in_noise([3]).value.tolist() == [0, 0]


def test_only_the_ratio_counts_and_no_noise_is_the_end_of_a_strong_signal():
    assert np.allclose(extremes.over_unit([3], 20).value, 1, atol=1e-6)
    over = extremes.windows_over_signal(3, [20])
    last = over.groupby("kind").last()
    assert np.allclose(last.w, last.silent, rtol=1e-4) and (over.w <= over.silent * (1 + 1e-9)).all()
    silent = extremes.silent_windows([3])
    assert np.allclose(1 / silent.value[silent.n == 20], over.groupby("kind", sort=False).silent.first())
    assert (extremes.slopes_in_signal([3]).value > 0.05).all()
    assert extremes.wave_slopes([3]).value.between(0.3, 0.36).all()


def test_the_nearest_neighbor_keeps_its_noise():
    # far from any limit of the window its risk is sigma^2 = 4, and the least one follows from its definition
    found = extremes.nearest_over_best([3], 1e10, 2.0)

    assert found.value[0] == pytest.approx(4 / optimal_window(Affine(3), 1e10, 2.0).risk, rel=1e-3)
