import numpy as np
import pytest

from icl.risk import optimal_window, population_risk, worst_case_risk
from icl.tasks import Harmonic, ReLU
from icl_book.measurements import theorem3
from icl_book.measurements.sweeps import EXACT, MANY
from icl_book.measurements.tables import each


def test_the_right_guess_costs_nothing_and_a_wrong_one_its_price():
    ratios, lengths = np.array([0.5, 1.0, 2.0]), np.array([100.0, 1e8])
    exact = {"ratios": ratios, "lengths": lengths, "lipschitz": 1.0, "noise_std": 0.5}
    found = each(theorem3.prices, kind="ReLU", d=4, **exact)
    assert (
        found.ratio.tolist() == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
        and found.n.tolist() == [100.0, 1e8] * 3
    )
    assert np.allclose(
        found.limit, [5 / 4, 5 / 4, 1, 1, 5 / 4, 5 / 4]
    )  # (rho^2 + 1) / (2 rho) in d = 4
    assert (
        np.allclose(found.price[2:4], 1, atol=1e-9)
        and (found.drop([2, 3]).price > 1.05).all()
    )
    assert np.allclose(found.price[1::2], found.limit[1::2], atol=0.01)
    # an independent route: the class at L' itself, with the window for L
    w = optimal_window(ReLU(4, 1.0), 100, 0.5).w
    risk = population_risk(ReLU(4, 2.0), w, 100, 0.5).total
    best = optimal_window(ReLU(4, 2.0), 100, 0.5).risk
    assert found.risk[4] == pytest.approx(risk) and found.price[4] == pytest.approx(
        risk / best
    )


def test_the_printed_right_sides():
    n, L, sigma = 64.0, 2.0, 0.5
    matched, larger, smaller = theorem3.printed_bound(4, [1.0, 3.0, 0.5], n, L, sigma)
    assert np.isclose(matched, L ** (2 - 2 / 6) * (sigma**2 / n) ** (1 / 6))
    assert np.isclose(larger, 6.0**2 * (sigma**2 / (n * L**2)) ** (2 / 6))
    assert np.isclose(smaller, (n * L**2 / sigma**2) ** (2 / 12) / n)


@pytest.mark.parametrize("trained", [False, True])
def test_the_exponent_in_the_test_constant_is_a_derivative(trained):
    step = 1e-3
    value = theorem3.power(3, 2.0, 100.0, 1.0, 1.0, trained=trained)["value"]
    found = theorem3.prices("ReLU", 3, 2 * np.exp([-step, step]), 100.0, 1.0, 1.0)
    risk = found["risk"] / found["price"] if trained else found["risk"]
    assert np.isclose(value, np.diff(np.log(risk.ravel()))[0] / (2 * step), rtol=1e-5)


@pytest.mark.parametrize("quantity", theorem3.QUANTITIES)
def test_exponents_in_long_contexts_are_near_their_closed_forms(quantity):
    found = theorem3.slope(quantity, 4, 1.0, 1.0, 0.5)
    assert [found["value"], found["limit"]] == pytest.approx(
        [found["truth"]] * 2, abs=0.01
    )


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_worst_bias_lies_in_its_bracket_and_is_of_the_order_of_one_over_w(dim):
    w, n = 200.0, 10**6
    known = worst_case_risk(dim, w, n, 0.0)
    lower, upper = (
        theorem3.worst_bias(side, EXACT, dim, w, n) for side in ("lower", "upper")
    )
    assert lower <= known.lower <= known.upper <= upper
    assert 0.01 < w * lower and w * upper < dim
    # linear functions are 1-Lipschitz, too
    slope_one = dim * population_risk(Harmonic(dim, degree=1), w, n, 0.0).bias / dim
    assert slope_one <= upper


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_both_sides_agree_with_infinitely_many_tokens(side):
    exact, many = (
        theorem3.worst_bias(side, route, 3, 1e3, 1e30) for route in (EXACT, MANY)
    )
    assert exact == pytest.approx(many, rel=1e-6)


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("dim", [2, 4])
def test_the_worst_test_function_has_the_printed_exponent(side, dim):
    found = theorem3.worst_slope(side, dim, 4.0, 1.0, 1.0)
    assert [found["value"], found["limit"]] == pytest.approx(
        [-2 / (dim + 2)] * 2, abs=0.01
    )
    assert found["truth"] == -2 / (dim + 2)
