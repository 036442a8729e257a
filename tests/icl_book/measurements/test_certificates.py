from dataclasses import dataclass

import numpy as np
import pytest

from icl.risk import mismatch_risk, optimal_window
from icl.risk.numerics.integrals import attended_gegenbauer_means
from icl.tasks import Affine, Linear, ReLU, Zonal
from icl_book.measurements import certificates


def test_other_matrices_are_worse_and_a_narrow_direction_costs_least():
    found = certificates.other_matrices(dims=[2, 3, 6], n_values=[20], lipschitz=1.0, noise_std=1.0)
    assert (found.value > found.error).all() and (found.error >= 0).all()
    for (task, dim), group in found.groupby(["task", "dim"]):
        excess = group.set_index("matrix").value
        assert excess.idxmin() == "a direction narrower by 10 %"
        if task == "affine":
            # by hand: turning round adds 4 a_1 m_1, where m_1 is the remaining part of the function
            best = optimal_window(Affine(dim), 20, 1.0)
            m = attended_gegenbauer_means(dim, float(best.w), 20, 1)[0]
            turned = 4 * m / (3 * dim) / best.risk
            assert excess["turned round"] == pytest.approx(turned, rel=1e-9)


def test_a_kink_does_not_make_a_function_steeper_than_its_steeper_side():
    found = certificates.search_steepest([(1.0, 0.3), (0.2, -0.9)])
    assert found.value.to_numpy() == pytest.approx(1, abs=1e-9)
    assert (found.value <= found.bound).all()


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_bound_over_lipschitz_functions_is_above_every_one_tried(dim):
    waves = certificates.wave_biases(dim=dim, n=10**5, lipschitz=2.0, noise_std=1.0)
    assert (waves.bias <= waves.bound).all() and (waves.affine <= waves.bound).all()
    assert waves.bias.max() > waves.bound.iloc[0] / 100
    own = mismatch_risk(ReLU(dim, 2.0), Linear(dim, 2.0), 10**5, 1.0)
    assert waves.affine.iloc[0] == pytest.approx(float(own.bias))
    bound, error = certificates.largest_bias(dim=dim, w=30.0, n=1e12, lipschitz=1.0)
    # many tokens: the mean cosine of a von Mises-Fisher law is about 1 - (d - 1) / (2 w)
    assert bound == pytest.approx((dim - 1) / 30, rel=0.05) and error < 1e-9


def test_functions_that_are_not_lipschitz_do_not_get_easier():
    found = certificates.worst_slopes(
        dims=[3], n_values=(1e7, 1e8), lipschitz=1.0, noise_std=1.0
    ).set_index("functions")
    assert found.value["Lipschitz"] == pytest.approx(-2 / 5, abs=0.02)
    assert abs(found.value["rougher"]) < 0.02 and (found.error < 1e-6).all()


def test_waves_on_the_circle_can_gain_by_a_quarter_turn():
    @dataclass(frozen=True)
    class Waves(Zonal):
        def covariance(self, cosine):
            theta = np.arccos(np.clip(cosine, -1, 1))
            return 0.9 * np.cos(4 * theta) + 0.1 * np.cos(18 * theta)

    found = certificates.compare_rotation(Waves(2), n=20)
    assert found["value"] == pytest.approx(0.5870764 / 0.5903354 - 1, abs=1e-6)
    assert certificates.compare_rotation(ReLU(2), n=20)["value"] > 0.1
