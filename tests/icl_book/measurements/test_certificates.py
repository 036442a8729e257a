from dataclasses import dataclass

import numpy as np
import pytest

from icl.risk import mismatch_risk, optimal_window
from icl.risk.integrals import attended_gegenbauer_means
from icl.tasks import Affine, Linear, ReLU, Zonal
from icl_book.measurements import certificates


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("kind", ["affine", "ReLU"])
def test_no_other_matrix_is_better_and_a_narrow_direction_costs_least(kind, d):
    found = certificates.other_matrices(kind, d, 20, 1.0, 1.0)
    excess = dict(zip(found["matrix"], found["value"], strict=True))
    assert (found["value"] > found["error"]).all() and (found["error"] >= 0).all()
    assert min(excess, key=excess.get) == "a direction narrower by 10 %"
    if (
        kind == "affine"
    ):  # by hand: turned round adds 4 a_1 m_1, and m_1 is what is left of the function
        best = optimal_window(Affine(d), 20, 1.0)
        m = attended_gegenbauer_means(d, float(best.w), 20, 1)[0]
        assert excess["turned round"] == pytest.approx(
            4 * m / (3 * d) / best.risk, rel=1e-9
        )


def test_waves_on_the_circle_can_gain_by_a_quarter_turn():
    @dataclass(frozen=True)
    class Waves(Zonal):
        def covariance(self, cosine):
            theta = np.arccos(np.clip(cosine, -1, 1))
            return 0.9 * np.cos(4 * theta) + 0.1 * np.cos(18 * theta)

    found = certificates.quarter_turn(Waves(2), 20, 0.0)
    assert found["value"] == pytest.approx(0.5870764 / 0.5903354 - 1, abs=1e-6)
    assert found["w"] == pytest.approx(43.726, abs=0.01)
    assert certificates.quarter_turn(ReLU(2), 20, 0.0)["value"] > 0.1


@pytest.mark.parametrize("slopes", [(1.0, 0.3), (0.2, -0.9)])
def test_a_kink_does_not_make_a_function_steeper_than_its_steeper_side(slopes):
    found = certificates.steepest(*slopes)
    assert (
        found["value"] == pytest.approx(1, abs=1e-9)
        and found["value"] <= found["bound"]
    )


def test_the_bound_over_lipschitz_functions_is_above_every_one_tried():
    waves = certificates.bracket(3, 10**5, 2.0, 1.0)
    assert (waves["bias"] <= waves["bound"]).all() and waves["affine"] <= waves["bound"]
    assert waves["bias"].max() > waves["bound"] / 4  # 2 d / (d - 1) = 3
    own = mismatch_risk(ReLU(3, 2.0), Linear(3, 2.0), 10**5, 1.0)
    assert waves["affine"] == pytest.approx(float(own.bias))
