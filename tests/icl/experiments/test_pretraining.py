import numpy as np
import pandas as pd
import pytest
import torch

from icl.experiments import pretraining
from icl.experiments.pretraining import Excess, Setting, Wave
from icl.risk import optimal_window, population_risk
from icl.statistics import Z
from icl.streams import stream
from icl.tasks import Cosine, ReLU

SETTING = Setting(3, 20, 0.3, [1.0, 2.0], batch_size=2000)


def test_first_plain_step_is_the_one_by_hand():
    """w_1 = rate L^2 / (3 d^3) (1 - 1 / n); the exact risk has that slope, too."""
    units = pretraining.grow(SETTING, "ReLU", "isotropic", 8, (0, 1), 1.0)
    for L in SETTING.lipschitz_values:
        by_hand = L**2 / 81 * (1 - 1 / 20)
        assert -population_risk(ReLU(3, L), 0.0, 20, 0.3).slope / 3 == pytest.approx(by_hand, rel=1e-9)
        first = units[(units.L == L) & (units.step == 1)].diagonal
        assert abs(first.mean() - by_hand) < Z * first.std() / 8**0.5 < by_hand / 3
    assert (units[units.step == 0].norm == 0).all()


def test_non_isotropic_readings_differ_in_their_functions_only():
    """Whitened, the same contexts give M = root^-1 M_sphere root^-1 after one step from zero."""
    setting = Setting(2, 5, 0.0, [1.0, 2.0], batch_size=50)
    sphere, whitened, same = (
        pretraining.grow(setting, "ReLU", law, 2, (0, 1), 1.0).query("step == 1").norm.to_numpy()
        for law in pretraining.LAWS
    )
    assert (whitened != same).all()
    # at M = 0 weights are equal, and the gradient is root G root with G that of the sphere
    assert (whitened <= sphere * 1.5**2 * (1 + 1e-6)).all() and (whitened >= sphere * 0.5**2).all()


def test_over_flow_averages_the_last_three_quarters():
    units = pd.DataFrame({"step": [0, 1, 2, 4], "L": 1.0, "seed": 0, "diagonal": [0.0, 2.0, 3.0, 4.0]})
    exact = pd.DataFrame({"step": [0, 1, 2, 4], "L": 1.0, "w": [0.0, 1.0, 1.0, 2.0]})
    (ratio,) = pretraining.over_flow(units, exact).ratio
    assert ratio == pytest.approx((2 + 3 + 2) / 3)


def test_ratios_take_the_least_favorable_step():
    rows = [
        (step, L, seed, L * (1 if step == 1 else 1.5) ** L)
        for step in (0, 1, 2)
        for L in (1, 2)
        for seed in (0, 1)
    ]
    units = pd.DataFrame(rows, columns=["step", "L", "seed", "norm"])
    units.loc[units.step == 0, "norm"] = 0.0  # M = 0 has no logarithm, and is not asked for
    found = pretraining.ratios(units, [1, 2])
    assert found.ratio.tolist() == pytest.approx([2, 2]) and np.allclose(found["log"], np.log(2))
    assert (found.L == 2).all() and (found.other == 1).all()


def test_only_growing_windows_are_resolved():
    windows = Setting(3, 20, 0.3, [1.0, 2.0, 8.0], 1).windows()
    compared = pd.DataFrame({"L": [2.0, 8.0], "other": [1.0, 2.0]})
    assert pretraining.resolved(windows, "cosine", compared).L.tolist() == [2.0]


def test_a_wave_has_the_covariance_of_its_samples():
    """A uniform phase leaves the part of the cosine's covariance that depends on the distance."""
    t = np.linspace(-1, 1, 5)
    even = Cosine(3, 2.0).covariance(t)
    wave = Wave(3, 2.0)
    assert np.allclose((wave.covariance(t) + wave.covariance(-t)), even)
    x = torch.tensor([[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]]], dtype=torch.float64).expand(20000, -1, -1)
    f = wave.sample(stream(0, "tasks"), 20000)(x)
    product = (f[:, 0] * f[:, 1]).numpy()
    assert abs(product.mean() - float(wave.covariance(0.6))) < Z * product.std() / 20000**0.5


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


def test_a_pool_of_one_function_costs_more_than_fresh_functions():
    pool = pretraining.finite_functions(Setting(2, 8, 0.3, [2.0, 4.0], 64), 2.0, [1], 4, 150, 0.1, 500)
    median = pool.groupby("T").excess.median()
    assert list(median.index) == [1, np.inf] and median[1] > 3 * median[np.inf]
