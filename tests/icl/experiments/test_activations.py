import numpy as np
import pytest

from icl.experiments import activations
from icl.experiments.activations import GRID, Tokens, floors, gain_risk, moments
from icl.experiments.tables import Training
from icl.risk import linear_optimum, linear_risk, optimal_window, population_risk
from icl.tasks import Affine, Linear, ReLU


def test_moments_of_the_identity():
    """E t P_1(t) = 1 / d, and E (w t)^2 = w^2 / d."""
    m, square = moments("linear", 2.0, 4)
    assert m[1] == pytest.approx(2 / 4) and square == pytest.approx(4 / 4)
    assert np.abs(np.delete(m, 1)).max() < 1e-12


def test_the_identity_with_a_gain_is_linear_attention():
    task, n = ReLU(3, 2.0), 15
    assert gain_risk("linear", task, 1.0, n, 0.3) == pytest.approx(float(linear_optimum(task, n, 0.3).risk))
    assert linear_risk(task, 0.0, n, 0.3) > gain_risk("linear", task, 7.0, n, 0.3)


def test_floors_of_affine_functions_by_hand():
    """Half a sphere shows half of the slope: (1 - 1/2)^2. tanh and the identity lose the constant."""
    found = floors(Affine(3)).set_index("activation").floor
    assert found["normalized sigmoid"] == pytest.approx(1 / 4, rel=0.01)
    assert found["linear"] == pytest.approx(3)  # the constant over the variance, L^2 / 3 over L^2 / 9
    assert floors(Linear(3)).set_index("activation").floor["tanh"] < 1e-9
    assert found["softmax"] < 1e-3


def test_sampled_risk_agrees_with_the_exact_one_of_softmax():
    tokens, w = Tokens(ReLU(3, 4.0), 0.3, 12, 3000), 5.0
    found = tokens.normalized(np.exp(w * tokens.cosine))
    exact = float(population_risk(ReLU(3, 4.0), w, 12, 0.3).total)
    assert abs(found.mean() - exact) < 5 * found.std() / 3000**0.5 < exact / 5


def test_softmax_adapts_and_the_plain_exponential_does_not():
    curves = activations.risk_curves(3, [1.0, 8.0], 0.3, 20, 100)
    step = GRID[2] / GRID[0]
    for L, curve in curves[curves.activation == "softmax"].groupby("L"):
        exact = float(optimal_window(ReLU(3, L), 20, 0.3).w)
        assert exact / step < curve.w[curve.risk.idxmin()] < exact * step
    adapted = activations.adaptation(curves).set_index("activation")
    assert adapted.price["softmax"] > 1.2 and adapted.price["exp"] == 1
    assert adapted.over_softmax["softmax"] == 1 and adapted.over_softmax["exp"] > 2


def test_a_large_shift_turns_the_sigmoid_into_softmax():
    found = activations.shifted(ReLU(3, 8.0), 0.3, 20, 200, [0.0, 60.0]).ratio
    assert found[0] > 1.5 and found[1] == pytest.approx(1, abs=1e-3)


def test_trained_units_are_compared_seed_by_seed():
    found = activations.train_activations(ReLU(2, 4.0), 0.3, 8, Training(2, 3, 16, 0.1))
    softmax = found[found.activation == "softmax"]
    assert (softmax.ratio == 1).all() and found.activation.nunique() == 7
    linear = found[found.activation == "linear"]
    assert np.allclose(linear.ratio, linear.error.to_numpy() / softmax.error.to_numpy())
