import numpy as np
import pytest

from icl.experiments import extremes
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
