import numpy as np
import pytest

from icl.experiments import phases as extremes
from icl.experiments.tables import each
from icl.risk import optimal_window
from icl.risk.asymptotics import window_exponent
from icl.tasks import Affine

FAR = np.array([1e9, 1e10])


def test_windows_follow_their_law_unless_the_noise_grows_along():
    slope = extremes.least_slope("affine", 3, FAR)["value"]
    assert slope == pytest.approx(window_exponent(Affine(3)), abs=0.02)
    bandwidth = extremes.least_slope("affine", 3, FAR, power=-1 / 2)
    assert bandwidth["value"] == pytest.approx(-slope / 2) and bandwidth["error"] > 0
    assert extremes.least_slope("affine", 3, FAR, np.sqrt(FAR))["value"] == pytest.approx(0, abs=1e-6)
    assert 0.3 < extremes.least_slope("cosine", 3, FAR, L=4.0)["value"] < 0.36
    assert extremes.slope_in_signal("ReLU", 3)["value"] > 0.05


def test_tokens_in_the_window_are_those_that_its_width_leaves():
    # a window of bandwidth w^(-1/2) holds n w^(-(d-1)/2) tokens, and w grows like n^(2/(d+3))
    assert extremes.crowd("affine", 3, FAR)["value"] == pytest.approx(1 - 2 / 2 * 2 / 6, abs=1e-3)


def test_much_noise_widens_the_window_like_one_over_the_variance():
    assert extremes.slopes_in_noise("ReLU", 3, 20)["value"] == pytest.approx(-2, abs=1e-3)
    assert extremes.best_window("cosine", 3, 100, 100.0, L=4.0)["value"] == 0


def test_only_the_ratio_counts_and_no_noise_is_the_end_of_a_strong_signal():
    assert extremes.over_unit("affine", 3, 20)["value"] == pytest.approx(1, abs=1e-6)
    over = each(extremes.windows_over_signal, kind="ReLU", d=3, n=20)
    assert over.w.iloc[-1] == pytest.approx(over.silent[0], rel=1e-4)
    assert (over.w <= over.silent * (1 + 1e-9)).all()
    assert 1 / extremes.silent_window("ReLU", 3, 20)["value"] == pytest.approx(over.silent[0])


def test_the_nearest_neighbor_keeps_its_noise():
    # far from any limit of the window its risk is sigma^2 = 4, and the least one follows from its definition
    found = extremes.nearest_over_best("affine", 3, 1e10, 2.0)
    assert found["value"] == pytest.approx(4 / optimal_window(Affine(3), 1e10, 2.0).risk, rel=1e-3)
