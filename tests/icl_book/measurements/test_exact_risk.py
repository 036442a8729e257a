import numpy as np
import pytest

from icl.risk import optimal_window
from icl.tasks import Affine, ReLU
from icl_book.measurements import exact_risk


@pytest.mark.parametrize(("name", "dim", "n"), [("affine", 2, 2), ("cosine", 3, 2), ("ReLU", 3, 3)])
def test_direct_rules_agree_unless_the_query_counts(name, dim, n):
    found = exact_risk.direct_over_exact(
        tasks=[name], dims=[dim], n_values=[n], w_values=[1.0, 6.0], lipschitz=1.0, noise_std=0.3
    )
    off = (found.value - 1).abs()
    assert (off <= found.error + 1e-9)[~found["query"]].all()
    assert (off[found["query"]] > 1e-3).all()


def test_the_loss_splits_unless_the_noise_has_a_mean():
    setting = {"tasks": ["ReLU"], "dims": [3], "lipschitz": 1.0, "noise_std": 0.3}
    centered = exact_risk.loss_against_parts(**setting, seed=0, shift=0.0)
    shifted = exact_risk.loss_against_parts(**setting, seed=0, shift=3.0)
    assert centered.value[0] < 1e-12 and shifted.value[0] > 0.01


def test_the_figure_to_move_has_the_best_window_of_each_setting(monkeypatch):
    monkeypatch.setattr(exact_risk, "CLASSES_TO_MOVE", [("affine", 3), ("ReLU", 5)])
    monkeypatch.setattr(exact_risk, "LENGTHS", np.array([10.0, 100.0]))
    parts, lowest = exact_risk.risks_to_move(), exact_risk.best_windows_to_move()
    assert len(lowest) == 2 * 2 * 7 * 10
    assert not lowest.duplicated(["task", "dim", "n", "L", "sigma"]).any()
    chosen = lowest.query("task == 'ReLU' and dim == 5 and n == 100")
    row = chosen.query("L == 2 and sigma == 0.5").iloc[0]
    best = optimal_window(ReLU(5, 2.0), 100, 0.5)
    assert row.w == pytest.approx(float(best.w), rel=1e-6)
    assert row.risk == pytest.approx(float(best.risk), rel=1e-9)
    here = parts.query("task == 'ReLU' and dim == 5 and n == 100")
    total = 4 * (here.blur + here.scatter) + 0.25 * here.noise
    assert row.risk <= total.min() < 1.01 * row.risk


def test_the_rule_of_scatter_is_the_mean_square_in_the_window_of_twice_the_w():
    """For affine functions it is a_1 times the gap between one and the mean cosine, coth w - 1 / w."""
    found = exact_risk.shares_at_best(
        tasks=["affine"], dims=[3], n_values=[1e4, 1e10], noise_std=0.5
    )
    for row in found.itertuples():
        w = optimal_window(Affine(3), row.n, 0.5).w
        for value, x in ((row.rule, 2 * w), (found["other rule"][row.Index], w)):
            gap = 1 - 1 / np.tanh(x) + 1 / x
            assert value == pytest.approx(2 * gap / 9 / 0.25, rel=1e-9)
        assert row.scatter == pytest.approx(row.rule, rel=20 / row.n**0.5)
    assert found.limit.tolist() == [1 / 3] * 2 and found["other limit"].tolist() == [2 / 5] * 2
