import math

import numpy as np
import pytest

from icl.experiments import target_shift
from icl.streams import stream

ONE = target_shift.problems(5, 2, stream(3, "monte carlo"))
PATHS = {kind: target_shift.descend(ONE, kind, 4) for kind in target_shift.KINDS}


@pytest.mark.parametrize("kind", target_shift.KINDS)
def test_moves_of_the_target_keep_the_loss_and_not_its_gradient(kind):
    path = PATHS[kind]
    assert path.step.tolist() == [0, 1, 2, 3] and path.gradient.min() > 1e-4
    assert path[["value", "data"]].to_numpy().max() < 1e-12


def test_only_the_normalized_shifts_add_up():
    path = PATHS["normalized"]
    assert (path["shift"] > 0).all() and (path["shift"] <= 1).all() and path["sum"].max() < 1e-12
    assert PATHS["rescaled"]["sum"].iloc[-1] > 1e-3


def test_a_linear_layer_that_is_told_the_residual_makes_the_step():
    path = PATHS["normalized"]
    assert path.linear.max() < 1e-10 and path.scores.max() < 1e-12 and path.softmax.min() > 0.1


def test_layers_are_compared_while_steps_are_large():
    """Where the target nearly fits, steps are too small from the first on."""
    A1, A2, X, B = ONE
    path = target_shift.descend((A1, A2, X, (A1 @ X @ A2.mT).softmax(-1) + 1e-9 * B), "normalized", 2)
    assert "linear" not in path and path.value.max() < 1e-6


def test_from_the_worst_data_the_shift_is_half_of_R():
    found = target_shift.worst_moves([4], [1.0, 4.0])
    assert found.moving.tolist() == ["weights", "data"] and (found.R == 4).all()
    assert np.allclose(found.value, found.bound, atol=1e-3) and (found.value <= found.bound).all()


def test_searches_find_the_known_ends():
    apart = target_shift.separation([2.0], 8, stream(0, "monte carlo")).set_index("kind")
    assert 0.4 < apart.value["normalized"] <= apart.bound["normalized"]
    assert apart.found["rescaled"] > apart.found["normalized"]
    found = target_shift.rescaled_ratios(8, stream(0, "monte carlo"), 4, 4.0).set_index("delta")
    assert 0.9 < found.value[0.01] <= 1 + 1e-9
    assert found.without[1.0] == pytest.approx(found.value[1.0] * math.e)


def test_a_long_move_breaks_the_rescaled_bound_alone():
    found = target_shift.stretched().set_index("kind")
    assert found["shift"]["rescaled"] > 0 > found["shift"]["normalized"]
    assert (found.value < 0).all()


def test_layers_imitate_as_the_cards_say_and_a_matrix_on_each_token_exactly():
    table = target_shift.imitations(6, 2, 60, 2, seed=0)
    middle = table.groupby(["card", "control", "title"]).value.median()
    ours = middle["imitates", False]
    own, shared = ours["fitted to one problem"], ours["one layer for all problems"]
    assert ours["fitted to one problem, no attention"] == pytest.approx(1) and own > shared > 0.3
    assert middle["", False].shape == (2,) and (middle["imitates", True] < 0.3).all()
    assert (middle["shrinks", False] > 0.8).all() and middle["shrinks", True].item() < -0.8


def test_moves_as_long_as_a_step_can_go_anywhere():
    found = target_shift.turned(ONE, stream(0, "monte carlo"))
    assert np.allclose(found.value[:2], found.cosine[:2], atol=1e-12)
    assert found.value[2] == pytest.approx(1)
