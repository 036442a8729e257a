import numpy as np
import pytest

from icl.experiments import extremes
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


def test_tokens_in_the_window_are_those_that_its_width_leaves():
    # a window of bandwidth w^(-1/2) holds n w^(-(d-1)/2) tokens, and w grows like n^(2/(d+3))
    assert extremes.crowd("affine", 3, FAR)["value"] == pytest.approx(1 - 2 / 2 * 2 / 6, abs=1e-3)


def test_the_nearest_neighbor_keeps_its_noise():
    # far from any limit of the window its risk is sigma^2 = 4, and the least one follows from its definition
    found = extremes.nearest_over_best("affine", 3, 1e10, 2.0)
    assert found["value"] == pytest.approx(4 / optimal_window(Affine(3), 1e10, 2.0).risk, rel=1e-3)
