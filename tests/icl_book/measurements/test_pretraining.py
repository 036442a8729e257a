import numpy as np
import pandas as pd
import pytest

from icl.risk import optimal_window
from icl.tasks import Affine, ReLU
from icl_book.measurements import medians, pretraining, tabulate_record
from icl_book.measurements.pretraining import Leaning


def test_medians_keep_the_order_of_the_settings():
    table = pd.DataFrame(
        {"n": [20, 20, 20, 3, 3, 3], "seed": [0, 1, 2] * 2, "w": [5, 1, 3, 2, 9, 4]}
    )
    found = medians(table, "w", by=["n"])
    assert found.n.tolist() == [20, 3] and found["median"].tolist() == [3, 4]
    assert (found.low <= found["median"]).all() and (found["median"] <= found.high).all()


def test_recorded_numbers_stand_beside_their_step_and_seed():
    norm = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = tabulate_record([0, 50], norm=norm, sine=10 * norm)
    assert found.step.tolist() == [0] * 3 + [50] * 3
    assert found.seed.tolist() == [0, 1, 2] * 2
    assert found.norm.tolist() == [1, 2, 3, 4, 5, 6]
    assert (found.sine == 10 * found.norm).all()


def test_first_plain_step_is_the_one_by_hand():
    """By hand, w_1 = rate L^2 / (3 d^3) (1 - 1 / n), for every L, up to the noise of the batch."""
    units = pretraining.trained_norms(
        {L: ReLU(3, lipschitz=L) for L in (1.0, 2.0)},
        covariates=None,
        noise_std=0.3,
        context_length=20,
        seeds=8,
        record=[0, 1],
        batch_size=4000,
        learning_rate=1.0,
        optimizer="sgd",
        device="cpu",
    )
    assert (units[units.step == 0].norm == 0).all()
    first = units[units.step == 1].groupby("lipschitz").norm.median()
    by_hand = 1 / 81 * (1 - 1 / 20)
    assert first[1.0] == pytest.approx(by_hand, rel=0.15)
    assert first[2.0] == pytest.approx(4 * by_hand, rel=0.15)


def test_norms_are_compared_at_the_least_favorable_step():
    rows = [
        {"lipschitz": L, "step": step, "seed": seed, "norm": norm * (1 + seed)}
        for L, step, norm in ((1.0, 10, 1.0), (1.0, 20, 1.0), (2.0, 10, 3.0), (2.0, 20, 2.0))
        for seed in range(3)
    ]
    found = pretraining.norm_ratios(pd.DataFrame(rows), steps=[10, 20])
    assert found.log_ratio.to_numpy() == pytest.approx(np.log(2.0))
    assert (found.lipschitz == 2.0).all() and (found.smaller == 1.0).all()


def test_measures_of_full_units_are_read_off_their_matrices():
    found = pretraining.train_full_units(
        {"ReLU": ReLU(3), "leaning": Leaning(3)},
        dim=3,
        noise_std=0.3,
        context_length=6,
        width=5,
        seeds=2,
        steps=5,
        batch_size=8,
        learning_rate=0.03,
        device="cpu",
    )
    assert found.task.tolist() == ["ReLU"] * 2 + ["leaning"] * 2
    # the last column of W_Q has no gradient
    assert found.last_column.to_numpy() == pytest.approx(1, abs=1e-6)
    row = found.iloc[2]
    A = row.scores
    assert A.shape == (4, 4) and row.window == pytest.approx(np.trace(A[:3, :3]) / 3)
    # the label's row is all that is left outside the block if the last column starts at zero
    label_row = np.linalg.norm(A[3, :3])
    assert row.outside == pytest.approx(label_row / np.linalg.norm(A[:3, :3]))
    assert row.corner == abs(row["values"][3])


def test_parts_of_the_value_matrix_change_the_prediction_or_do_not():
    changes = pretraining.changed_predictions(dim=3, context_length=8)
    assert changes["rows"] == 0 < 0.1 < changes["columns"]


def test_a_random_v_adds_its_own_square_and_nothing_else():
    for task in (Affine(3), ReLU(3)):
        added = pretraining.added_error(task, noise_std=0.3, context_length=8)
        assert added == pytest.approx(1, abs=1e-12)


def test_best_corner_of_one_token_by_hand():
    """A single token has weight one, so c* = a_0 / (k(1) + sigma^2) for every w."""
    found = pretraining.corner_optimum(
        Affine(2), context_length=1, noise_stds=[0.0, 1.0], contexts=40000
    ).set_index("noise_std")
    for noise_std in (0.0, 1.0):
        by_hand = (1 / 3) / ((1 + 1 / 2) / 3 + noise_std**2)
        assert found.c[noise_std] == pytest.approx(by_hand, rel=0.01)
    assert (found.risk < found.risk_one).all()


def test_window_at_corner_one_is_that_of_the_exact_risk():
    found = pretraining.corner_optimum(
        ReLU(3), context_length=10, noise_stds=[0.3, 1.0], contexts=4000
    )
    exact = [float(optimal_window(ReLU(3), 10, sigma).w) for sigma in (0.3, 1.0)]
    assert found.w_one.to_numpy() == pytest.approx(exact, rel=0.05)


def test_windows_rise_in_time_to_the_minimizer_and_longer_contexts_arrive_later():
    found = pretraining.windows_in_time(
        ReLU(3, lipschitz=2.0), noise_std=0.3, lengths=[10, 1000], times=[10.0, 1e4]
    )
    w = found.pivot(index="n", columns="time", values="w")
    assert (w[10.0] < w[1e4]).all() and (w[1e4] <= w[np.inf] * (1 + 1e-6)).all()
    share = w[1e4] / w[np.inf]
    assert share[1000] < share[10]
