import numpy as np
import pytest

from icl.risk import linear_optimum, linear_risk, population_risk
from icl.tasks import Affine, Linear, ReLU
from icl_book.measurements import activations
from icl_book.measurements.activations import Tokens, floors, gain_risk


def test_the_identity_with_a_gain_is_linear_attention():
    task, n = ReLU(3, 2.0), 15
    assert gain_risk("linear", task, 1.0, n, 0.3) == pytest.approx(
        float(linear_optimum(task, n, 0.3).risk)
    )
    assert linear_risk(task, 0.0, n, 0.3) > gain_risk("linear", task, 7.0, n, 0.3)


def test_floors_of_affine_functions_by_hand():
    """Half a sphere shows half of the slope: (1 - 1/2)^2. tanh and the identity lose the constant."""
    found = floors(Affine(3)).set_index("activation").floor
    assert found["normalized sigmoid"] == pytest.approx(1 / 4, rel=0.01)
    assert found["linear"] == pytest.approx(
        3
    )  # the constant over the variance, L^2 / 3 over L^2 / 9
    assert floors(Linear(3)).set_index("activation").floor["tanh"] < 1e-9
    assert found["softmax"] < 1e-3


def test_sampled_risk_agrees_with_the_exact_one_of_softmax():
    tokens, w = Tokens(ReLU(3, 4.0), 0.3, 12, 3000), 5.0
    found = tokens.normalized(np.exp(w * tokens.cosine))
    exact = float(population_risk(ReLU(3, 4.0), w, 12, 0.3).total)
    assert abs(found.mean() - exact) < 5 * found.std() / 3000**0.5 < exact / 5


def test_a_large_shift_turns_the_sigmoid_into_softmax():
    found = activations.shifted(ReLU(3, 8.0), 0.3, 20, 200, [0.0, 60.0]).ratio
    assert found[0] > 1.5 and found[1] == pytest.approx(1, abs=1e-3)
