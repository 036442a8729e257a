import pytest

from icl.risk import linear_optimum, linear_risk, optimal_window
from icl.tasks import Affine, Linear, ReLU
from icl_book.measurements import rivals


def test_a_class_without_its_constant_keeps_everything_else():
    task = rivals.Centered(3, ReLU(3))
    power = float(ReLU(3).covariance(1.0))
    (one,), rest = ReLU(3).spectrum(1)
    assert (
        float(task.covariance(1.0)) == pytest.approx(one + rest)
        and one + rest < power / 2
    )
    assert linear_optimum(task, 10**9, 0.3).risk == pytest.approx(rest, rel=1e-6)


def test_boundary_is_where_both_risks_are_equal():
    found = rivals.boundary([3], 1.0, 0.3, longest=100)
    row = found.iloc[7]
    task = rivals.Intercept(3, 1.0, row.beta)
    both = (
        linear_optimum(task, row.n, 0.3).risk,
        optimal_window(Affine(3), row.n, 0.3).risk,
    )
    assert both[0] == pytest.approx(float(both[1]), rel=1e-9) and 0 < row.beta < 1
    assert rivals.Intercept(3, 1.0, 0.5).covariance(0.0) == pytest.approx(
        0.5**2 * Affine(3).covariance(0.0)
    )


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
