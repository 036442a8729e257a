import numpy as np
import pytest

from icl.experiments import certificates
from icl.risk import mismatch_risk, optimal_window, population_risk
from icl.tasks import Linear, ReLU


@pytest.mark.parametrize(
    ("kind", "n", "found"),
    [
        ("affine", 3, "certified"),  # only the part of degree one
        ("quadratic", 2, "zero"),  # even, two examples: every rotation is as good
        ("cosine, L = 8", 3, "negative"),
    ],
)
def test_margins_say_why_one_is_missing(kind, n, found):
    margin = certificates.margin(kind, n, 5)
    assert margin["found"] == found and (margin["margin"] > 0) == (found == "certified")


def test_the_second_derivative_among_multiples_is_that_of_the_risk():
    found = certificates.forms("ReLU", 3, 20, 1.0, 1.0)
    best, step = optimal_window(ReLU(3), 20, 1.0), 1e-3
    low, mid, high = population_risk(ReLU(3), best.w * np.exp(step * np.array([-1.0, 0, 1])), 20, 1.0).total
    assert found["what"][1] == "multiples of I"
    assert found["value"][1] == pytest.approx((low - 2 * mid + high) / step**2 / best.risk, rel=1e-4)
    assert ((found["error"] >= 0) & (found["value"] > found["error"])).all()


@pytest.mark.parametrize("slopes", [(1.0, 0.3), (0.2, -0.9)])
def test_a_kink_does_not_make_a_function_steeper_than_its_steeper_side(slopes):
    found = certificates.steepest(*slopes)
    assert found["value"] == pytest.approx(1, abs=1e-9) and found["value"] <= found["bound"]


def test_the_bound_over_lipschitz_functions_is_above_every_one_tried():
    waves = certificates.bracket(3, 10**5, 2.0, 1.0)
    assert (waves["bias"] <= waves["bound"]).all() and waves["affine"] <= waves["bound"]
    assert waves["bias"].max() > waves["bound"] / 4  # 2 d / (d - 1) = 3
    own = mismatch_risk(ReLU(3, 2.0), Linear(3, 2.0), 10**5, 1.0)
    assert waves["affine"] == pytest.approx(float(own.bias))
