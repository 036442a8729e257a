import numpy as np
import pytest

from icl.risk import optimal_window, population_risk
from icl.statistics import Z
from icl.tasks import ReLU
from icl_book.measurements import pretraining
from icl_book.measurements.pretraining import Excess, Setting

SETTING = Setting(3, 20, 0.3, [1.0, 2.0], batch_size=2000)


def test_first_plain_step_is_the_one_by_hand():
    """w_1 = rate L^2 / (3 d^3) (1 - 1 / n); the exact risk has that slope, too."""
    units = pretraining.grow(SETTING, "ReLU", "isotropic", 8, (0, 1), 1.0)
    for L in SETTING.lipschitz_values:
        by_hand = L**2 / 81 * (1 - 1 / 20)
        assert -population_risk(ReLU(3, L), 0.0, 20, 0.3).slope / 3 == pytest.approx(
            by_hand, rel=1e-9
        )
        first = units[(units.L == L) & (units.step == 1)].diagonal
        assert abs(first.mean() - by_hand) < Z * first.std() / 8**0.5 < by_hand / 3
    assert (units[units.step == 0].norm == 0).all()


def test_excess_is_zero_at_the_best_window_and_exact_elsewhere():
    excess = Excess(ReLU(3, 2.0), 0.3, 10, 4000)
    best = optimal_window(ReLU(3, 2.0), 10, 0.3)
    assert excess(float(best.w) * np.eye(3)) == 0
    exact = float(population_risk(ReLU(3, 2.0), 8.0, 10, 0.3).total / best.risk) - 1
    assert excess(8.0 * np.eye(3)) == pytest.approx(exact, abs=0.05)


def test_more_contexts_lose_less_and_theory_says_how_much():
    problem = (ReLU(2, 2.0), 0.3, 5)
    lost = pretraining.finite_contexts(*problem, [100, 1600], 12, 500)
    mean = lost.groupby(["unit", "T"]).excess.mean()
    constant = pretraining.score_constant(*problem)
    assert 0.2 < mean["one number w", 1600] * 1600 / constant < 5
    for unit in ("one number w", "full matrix M"):
        assert mean[unit, 1600] < mean[unit, 100]
