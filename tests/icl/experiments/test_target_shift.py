import math

import numpy as np
import pytest
import torch

from icl.experiments import target_shift
from icl.streams import stream

ONE = [t[0] for t in target_shift.problems(5, 2, 1, stream(3, "monte carlo"))]
PATHS = {kind: target_shift.descend(ONE, kind, 4) for kind in target_shift.KINDS}


def test_moves_of_the_target_keep_the_loss_and_not_its_gradient():
    found = target_shift.gaps(list(PATHS.values()))
    assert len(found) == 8
    assert found[["value", "data"]].to_numpy().max() < 1e-12 and found.gradient.min() > 1e-4


def test_steps_of_the_path_lower_the_loss():
    for path in PATHS.values():
        values = [float(target_shift.loss(path.A1, path.A2, X, path.B, path.kind)) for X in path.X]
        assert np.all(np.diff(values) < 0) and len(path.eta) == len(path.steps) == 4


def test_only_the_normalized_shifts_add_up():
    largest, together = target_shift.shift_sizes(PATHS["normalized"])
    assert 0 < largest <= 1 and together < 1e-12
    assert target_shift.shift_sizes(PATHS["rescaled"])[1] > 1e-3


def test_a_linear_layer_that_is_told_the_residual_makes_the_step():
    path = PATHS["normalized"]
    assert max(target_shift.layer_gaps(path, "linear")) < 1e-10
    moves = min(target_shift.layer_gaps(path, "softmax"))
    assert moves > 0.1 > 0.05 > max(target_shift.layer_gaps(path, "softmax", whole=True))
    assert max(target_shift.layer_gaps(path, "linear", whole=True)) < 1e-12


def test_from_the_worst_data_the_shift_is_half_of_R():
    found = target_shift.worst_moves([4], [1.0, 4.0])
    assert found.moving.tolist() == ["weights", "data"] and (found.R == 4).all()
    assert np.allclose(found.value, found.bound, atol=1e-3) and (found.value <= found.bound).all()


def test_searches_find_the_known_ends():
    apart = target_shift.separation([2.0], 8, stream(0, "monte carlo")).set_index("kind")
    assert 0.4 < apart.value["normalized"] <= apart.bound["normalized"]
    assert apart.found["rescaled"] > apart.found["normalized"]
    ours, without = target_shift.rescaled_ratios(8, stream(0, "monte carlo"), 4, 4.0, (0.01, 1.0))
    assert 0.9 < ours.value[0] <= 1 + 1e-9
    assert without.value.item() == pytest.approx(ours.value[1] * math.e)


def test_a_long_move_breaks_the_rescaled_bound_alone():
    shift = {kind: target_shift.stretched(kind).iloc[0] for kind in target_shift.KINDS}
    assert shift["rescaled"]["shift"] > 0 > shift["normalized"]["shift"]
    assert all(row.value < 0 for row in shift.values())


def test_layers_imitate_as_the_cards_say_and_a_matrix_on_each_token_exactly():
    table = target_shift.imitations(6, 2, 60, 2, seed=0)
    ours, control = map(dict, target_shift.judged(table, "imitates"))
    assert list(ours)[:2] == ["fitted to one problem", "one layer for all problems"]
    own, shared, exact, _ = (rows.value.median() for rows in ours.values())
    assert exact == pytest.approx(1) and own > shared > 0.3
    assert all(rows.value.median() < 0.3 for rows in control.values())
    ours, control = map(dict, target_shift.judged(table, "shrinks"))
    assert all(rows.value.min() > 0.8 for rows in ours.values())
    assert control["targets of 2X"].value.max() < -0.8
    assert [rows.layer.unique().tolist() for rows in ours.values()] == [["1"], ["none"]]


def test_moves_as_long_as_a_step_can_go_anywhere():
    ours, control = target_shift.turned(ONE, stream(0, "monte carlo"))
    assert np.allclose(ours.value, ours.cosine, atol=1e-12)
    assert control.value.item() == pytest.approx(1)
    assert torch.isfinite(torch.tensor(ours.value.to_numpy())).all()
