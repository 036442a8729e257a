import numpy as np
import pytest

from icl.risk import optimal_window
from icl.tasks import ReLU
from icl_book.measurements import learned
from icl_book.measurements.tables import Training


def test_measures_of_trained_units_are_read_off_their_matrices():
    units = learned.settings([2, 3], 0.3, [])[:3].assign(width=[3, 3, 5])
    found = learned.train_full(units, 1.0, 6, Training(2, 5, 8, 0.03))
    assert found.kind.tolist() == ["ReLU"] * 2 + ["leaning"] * 2 + ["ReLU"] * 2
    assert found["last"].to_numpy() == pytest.approx(1, abs=1e-6)  # no gradient
    assert (abs(found["first"] - 1) > 1e-4).all()
    row = found.iloc[4]
    A = row.scores.copy()
    assert A.shape == (4, 4) and row.window == pytest.approx(np.trace(A[:3, :3]) / 3)
    # the label row is all that is left outside the block if the last column starts at zero
    assert row.outside == pytest.approx(
        np.linalg.norm(A[3, :3]) / np.linalg.norm(A[:3, :3])
    )
    assert row.leak == pytest.approx(
        np.linalg.norm(row["values"][:3]) / abs(row["values"][3])
    )


def test_best_corner_of_one_token_by_hand():
    """One token has weight one: c* = a_0 / (k(1) + sigma^2), whatever w is."""
    found = learned.corner_optimum(["affine"], 2, 1.0, 1, [0.0, 1.0], 40000).set_index(
        "sigma"
    )
    for sigma in (0.0, 1.0):
        by_hand = (1 / 3) / ((1 + 1 / 2) / 3 + sigma**2)
        assert found.c[sigma] == pytest.approx(by_hand, rel=0.01)
    assert (found.risk < found.risk_one).all()


def test_window_at_corner_one_is_that_of_the_exact_risk():
    found = learned.corner_optimum(["ReLU"], 3, 1.0, 10, [0.3, 1.0], 4000)
    exact = [float(optimal_window(ReLU(3), 10, sigma).w) for sigma in (0.3, 1.0)]
    assert found.w_one.to_numpy() == pytest.approx(exact, rel=0.05)
