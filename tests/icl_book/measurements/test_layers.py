import numpy as np
import pytest

from icl_book.measurements import layers
from icl_book.measurements.tables import Training


def test_one_layer_is_a_kernel_and_sees_half_of_what_does_not_matter():
    problem = layers.LowRankProblem(lipschitz=3.0, noise_std=0.3)
    trained = layers.two_layers(problem, Training(2, 3, 8, 0.1), redrawn=200).set_index(
        "kind"
    )
    one = trained.loc["one layer"]
    assert one.share.to_numpy() == pytest.approx(0.5, abs=0.03)
    assert (one.others == 0).all()
    assert (trained.drop("one layer").others > 0).all()


def test_gains_of_a_set_minimize_the_quadratic_form():
    product = np.array([[2.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 1]])
    chosen, c = layers._best_set(product @ [3.0, -1.0, 0], product, 2)
    assert chosen == [0, 1] and c == pytest.approx([3, -1])


def test_equal_weights_collapse_in_one_layer_and_no_layer_beats_its_bound():
    spread = layers.spreads(3, [0.0, 30.0], np.array([1, 2]), contexts=3, tokens=5)
    alone = spread[spread.kind == "attention alone"].set_index("w").spread
    assert (alone[0.0] < 1e-12).all() and (alone[30.0] > 0.1).all()
    found = layers.contractions(3, [0.0, 1.0, 4.0], 50)
    assert found.bound.tolist() == pytest.approx([0, 1 - np.exp(-2), 1 - np.exp(-8)])
    assert (
        found.factor < found.bound + 1e-9
    ).all() and found.factor.is_monotonic_increasing
