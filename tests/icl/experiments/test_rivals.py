import numpy as np
import pytest

from icl.experiments import rivals
from icl.risk import linear_optimum, linear_risk, neighbors_risk, optimal_window
from icl.tasks import Affine, Cosine, Linear, ReLU


def test_each_rival_has_its_own_risk():
    found = rivals.exact_risks({"ReLU": ReLU(3)}, [5, 50], 0.3).set_index(["rival", "n"]).risk
    assert found["softmax attention", 50] == pytest.approx(float(optimal_window(ReLU(3), 50, 0.3).risk))
    assert found["linear attention", 5] == pytest.approx(float(linear_optimum(ReLU(3), 5, 0.3).risk))
    assert found["nearest neighbor", 5] == pytest.approx(float(neighbors_risk(ReLU(3), 1, 5, 0.3).total))


def test_bayes_linear_passes_below_all_rivals():
    tasks = {"affine": Affine(3), "cosine": Cosine(3, 2.0)}
    found = rivals.sampled_risks(tasks, [10], 0.3, 400)
    assert found.rival.tolist() == ["Bayes-linear", "ridge regression", "Bayes-linear"]  # no slope, no ridge
    low = found[found.rival == "Bayes-linear"].set_index("label").low
    for label, task in tasks.items():
        assert low[label] < float(optimal_window(task, 10, 0.3).risk)


def test_growth_has_the_known_exponents():
    """Softmax attention falls like n^(-3/(d+2)) on ReLU functions, n^(-4/(d+3)) on lines; linear like 1/n."""
    found = rivals.growth(["ReLU", "linear"], [2], 1.0, 0.3).set_index("label")
    assert found.value["ReLU"] == pytest.approx(3 / 4, abs=0.01) == found.truth["ReLU"]
    assert found.value["linear"] == pytest.approx(4 / 5 - 1, abs=0.01)
    whole = rivals.growth(["ReLU"], [2], 1.0, 0.3, whole=True)
    assert whole.value[0] == pytest.approx(3 / 4, abs=0.01)


def test_a_class_without_its_constant_keeps_everything_else():
    task = rivals.Centered(3, ReLU(3))
    power = float(ReLU(3).covariance(1.0))
    (one,), rest = ReLU(3).spectrum(1)
    assert float(task.covariance(1.0)) == pytest.approx(one + rest) and one + rest < power / 2
    assert linear_optimum(task, 10**9, 0.3).risk == pytest.approx(rest, rel=1e-6)


def test_boundary_is_where_both_risks_are_equal():
    found = rivals.boundary([3], 1.0, 0.3, longest=100)
    row = found.iloc[7]
    task = rivals.Intercept(3, 1.0, row.beta)
    both = linear_optimum(task, row.n, 0.3).risk, optimal_window(Affine(3), row.n, 0.3).risk
    assert both[0] == pytest.approx(float(both[1]), rel=1e-9) and 0 < row.beta < 1


def test_trained_linear_units_reach_the_optimum():
    found = rivals.trained_linear({"linear": Linear(3)}, 20, 0.3, 3, 20000)
    assert (found.m / found.best_m).to_numpy() == pytest.approx(1, abs=0.05)
    assert found.error.to_numpy() == pytest.approx(
        float(linear_risk(Linear(3), found.best_m[0], 20, 0.3)), rel=0.1
    )


def test_units_are_tested_on_fresh_contexts():
    """On the contexts that it was fitted to, a unit of nine numbers would seem better than the best one."""
    found = rivals.trained_linear({"linear": Linear(3)}, 20, 0.0, 30, 20)
    best = float(linear_optimum(Linear(3), 20, 0.0).risk)
    assert found.error.median() > 1.2 * best


def test_the_best_number_of_neighbors_is_the_best_of_all():
    found = rivals.neighbors({"ReLU": ReLU(3)}, [30], 0.3).iloc[0]
    every = neighbors_risk(ReLU(3), np.arange(1, 31), 30, 0.3).total
    assert found.k == every.argmin() + 1 and 0 < found.error < 1e-6
    assert found.value == pytest.approx(float(optimal_window(ReLU(3), 30, 0.3).risk) / every.min())
    assert found.one == pytest.approx(every[0] / every.min() / found.value)


def test_linear_over_softmax_is_the_ratio_of_least_risks():
    found = rivals.linear_over_softmax("linear", [3], 1.0, 0.3, n=100)
    both = linear_optimum(Linear(3), 100, 0.3).risk / optimal_window(Linear(3), 100, 0.3).risk
    assert found.value[0] == pytest.approx(float(both)) and 0 < found.error[0] < 1e-9
