import numpy as np
import pytest

from icl.risk import linear_optimum, linear_risk, population_risk
from icl.risk.asymptotics import window_law
from icl.tasks import Affine, Linear, ReLU
from icl_book.measurements import linear_attention
from icl_book.measurements.linear_attention import Tokens, floors, gain_risk


def test_a_class_without_its_constant_keeps_everything_else():
    task = linear_attention.Centered(3, ReLU(3))
    power = float(ReLU(3).covariance(1.0))
    (one,), rest = ReLU(3).spectrum(1)
    assert float(task.covariance(1.0)) == pytest.approx(one + rest)
    assert one + rest < power / 2
    assert linear_optimum(task, 10**9, 0.3).risk == pytest.approx(rest, rel=1e-6)


def test_the_gap_grows_as_softmax_attention_learns():
    setting = {"dims": [3], "lipschitz": 1.0, "noise_std": 0.3}
    found = linear_attention.growth(tasks=["ReLU"], **setting, intercept=False)
    exponent = -window_law(ReLU(3)).risk_exponent
    assert found.slope[0] == pytest.approx(exponent, abs=0.02)
    lines = linear_attention.growth(tasks=["linear"], **setting, intercept=True)
    assert lines.slope[0] < 0


def test_one_neighbor_is_no_better_than_the_best_number_of_them():
    found = linear_attention.neighbors(Affine(3), 20, 0.3)
    assert found["k"] > 1 and found["one"] > 1
    # one neighbor over the unit, and the unit over the best number of neighbors
    assert found["one"] * found["value"] > 1


def test_the_identity_with_a_gain_is_linear_attention():
    task = ReLU(3, 2.0)
    n = 15
    least = float(linear_optimum(task, n, 0.3).risk)
    assert gain_risk("linear", task, 1.0, n, 0.3) == pytest.approx(least)
    assert linear_risk(task, 0.0, n, 0.3) > gain_risk("linear", task, 7.0, n, 0.3)


def test_floors_of_affine_functions_by_hand():
    """Half a sphere shows half of the slope: (1 - 1/2)^2. tanh and the identity lose the constant."""
    found = floors(Affine(3)).set_index("activation").floor
    assert found["normalized sigmoid"] == pytest.approx(1 / 4, rel=0.01)
    # the constant over the variance, L^2 / 3 over L^2 / 9
    assert found["linear"] == pytest.approx(3)
    assert floors(Linear(3)).set_index("activation").floor["tanh"] < 1e-9
    assert found["softmax"] < 1e-3


def test_sampled_risk_agrees_with_the_exact_one_of_softmax():
    tokens = Tokens(ReLU(3, 4.0), noise_std=0.3, n=12, contexts=3000)
    w = 5.0
    found = tokens.normalized(np.exp(w * tokens.cosine))
    exact = float(population_risk(ReLU(3, 4.0), w, 12, 0.3).total)
    assert abs(found.mean() - exact) < 5 * found.std() / 3000**0.5 < exact / 5


def test_a_large_shift_turns_the_sigmoid_into_softmax():
    found = linear_attention.shifted_sigmoid(
        ReLU(3, 8.0), noise_std=0.3, n=20, contexts=200, shifts=[0.0, 60.0]
    )
    assert found.ratio[0] > 1.5
    assert found.ratio[1] == pytest.approx(1, abs=1e-3)
