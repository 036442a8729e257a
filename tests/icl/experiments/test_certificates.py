import numpy as np
import pytest

from icl.experiments import certificates
from icl.risk import mismatch_risk, optimal_window, population_risk
from icl.tasks import Linear, ReLU


def test_margins_say_why_one_is_missing():
    found = certificates.margins([5], [2, 3]).set_index(["kind", "n"]).loc[:, ["margin", "found"]]
    assert found.loc[("affine", 3)].tolist() == [1.0, "certified"]  # only the part of degree one
    assert found.loc[("quadratic", 2), "found"] == "zero"  # even, two examples: every rotation is as good
    assert found.loc[("cosine, L = 8", 3), "found"] == "negative"
    assert (found.margin > 0).eq(found.found == "certified").all()


def test_the_second_derivative_among_multiples_is_that_of_the_risk():
    found = certificates.forms([3], [20], 1.0, 1.0)
    row = found[(found.kind == "ReLU") & (found.what == "multiples of I")].iloc[0]
    best, step = optimal_window(ReLU(3), 20, 1.0), 1e-3
    low, mid, high = population_risk(ReLU(3), best.w * np.exp(step * np.array([-1.0, 0, 1])), 20, 1.0).total
    assert row.value == pytest.approx((low - 2 * mid + high) / step**2 / best.risk, rel=1e-4)
    assert (found.value > found.error).all()


def test_a_kink_does_not_make_a_function_steeper_than_its_steeper_side():
    found = certificates.steepest([(1.0, 0.3), (0.2, -0.9)])
    assert np.allclose(found.value, 1, atol=1e-9) and (found.value <= found.bound).all()


def test_the_bound_over_lipschitz_functions_is_above_every_one_tried_and_falls():
    waves = certificates.bracket(3, 10**5, 2.0, 1.0)
    assert (waves.bias <= waves.bound).all() and (waves.affine <= waves.bound).all()
    assert waves.bias.max() > waves.bound[0] / 4  # 2 d / (d - 1) = 3
    own = mismatch_risk(ReLU(3, 2.0), Linear(3, 2.0), 10**5, 1.0)
    assert waves.affine[0] == pytest.approx(float(own.bias))
    found = certificates.worst_slopes([3], 1.0, 1.0).set_index("functions").value
    assert found["Lipschitz"] < -1 / 5 and abs(found["rougher"]) < 0.02
