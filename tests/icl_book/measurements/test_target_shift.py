import numpy as np
import pytest

from icl.streams import stream
from icl_book.measurements import target_shift

ONE = target_shift.problems(5, 2, stream(3, "monte carlo"))
PATHS = {kind: target_shift.descend(ONE, kind, 4) for kind in target_shift.KINDS}


def test_only_the_normalized_shifts_add_up_and_a_linear_layer_told_the_residual_makes_the_step():
    path = PATHS["normalized"]
    assert (
        (path["shift"] > 0).all()
        and (path["shift"] <= 1).all()
        and path["sum"].max() < 1e-12
    )
    assert PATHS["rescaled"]["sum"].iloc[-1] > 1e-3
    assert (
        path.linear.max() < 1e-10
        and path.scores.max() < 1e-12
        and path.softmax.min() > 0.1
    )


def test_from_the_worst_data_the_shift_is_half_of_R():
    found = target_shift.worst_moves([4], [1.0, 4.0])
    assert found.moving.tolist() == ["weights", "data"] and (found.R == 4).all()
    assert (
        np.allclose(found.value, found.bound, atol=1e-3)
        and (found.value <= found.bound).all()
    )


def test_moves_as_long_as_a_step_can_go_anywhere():
    found = target_shift.turned(ONE, stream(0, "monte carlo"))
    assert np.allclose(found.value[:2], found.cosine[:2], atol=1e-12)
    assert found.value[2] == pytest.approx(1)
