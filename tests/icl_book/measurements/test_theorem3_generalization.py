import numpy as np
import pytest
from scipy.special import ive

from icl.risk import optimal_window, population_risk
from icl.tasks import ReLU, Spectrum
from icl_book.measurements import theorem3_generalization

EXACT = {"lipschitz": 1.0, "noise_std": 1.0}


def test_the_right_guess_costs_nothing_and_a_wrong_one_its_price():
    found = theorem3_generalization.prices(
        tasks=["ReLU"],
        dims=[4],
        ratios=[0.5, 1.0, 2.0],
        lengths=[100.0, 1e8],
        lipschitz=1.0,
        noise_std=0.5,
    )
    assert found.ratio.tolist() == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
    assert found.n.tolist() == [100.0, 1e8] * 3
    # (rho^2 + 1) / (2 rho) in d = 4
    assert np.allclose(found.limit, [5 / 4, 5 / 4, 1, 1, 5 / 4, 5 / 4])
    assert np.allclose(found.price[2:4], 1, atol=1e-9)
    assert (found.drop([2, 3]).price > 1.05).all()
    assert np.allclose(found.price[1::2], found.limit[1::2], atol=0.01)
    # independently, take the class at L' itself, with the window for L
    w = optimal_window(ReLU(4, 1.0), 100, 0.5).w
    risk = population_risk(ReLU(4, 2.0), w, 100, 0.5).total
    best = optimal_window(ReLU(4, 2.0), 100, 0.5).risk
    assert found.risk[4] == pytest.approx(risk)
    assert found.price[4] == pytest.approx(risk / best)
    printed = theorem3_generalization.printed_bound(4, 2.0, 100.0, 1.0, 0.5)
    assert found.bound[4] == pytest.approx(risk / printed)


def test_the_printed_right_sides():
    n, L, sigma = 64.0, 2.0, 0.5
    matched, larger, smaller = (
        theorem3_generalization.printed_bound(4, ratio, n, L, sigma) for ratio in (1.0, 3.0, 0.5)
    )
    assert np.isclose(matched, L ** (2 - 2 / 6) * (sigma**2 / n) ** (1 / 6))
    assert np.isclose(larger, 6.0**2 * (sigma**2 / (n * L**2)) ** (2 / 6))
    assert np.isclose(smaller, (n * L**2 / sigma**2) ** (2 / 12) / n)


def test_the_exponent_in_the_test_constant_is_a_derivative():
    step = 1e-3
    ratios = (2 * np.exp([-step, step])).tolist()
    powers = theorem3_generalization.powers(dims=[3], ratios=[2.0], n=100.0, **EXACT)
    found = theorem3_generalization.prices(
        tasks=["ReLU"], dims=[3], ratios=ratios, lengths=[100.0], **EXACT
    )
    for risk, value in ((found.risk, powers.kept[0]), (found.risk / found.price, powers.best[0])):
        derivative = np.diff(np.log(risk))[0] / (2 * step)
        assert np.isclose(value, derivative, rtol=1e-5)


def test_exponents_in_long_contexts_are_near_their_closed_forms():
    at = {"dims": [4], **EXACT}
    found = theorem3_generalization.risk_slopes(ratios=[0.25, 1.0, 4.0], **at)
    assert np.allclose(found.slope, -3 / 6, atol=0.005)
    growing = theorem3_generalization.growing_slopes(**at)
    assert growing.slope[0] == pytest.approx(-3 / 6, abs=0.005)
    affine = theorem3_generalization.affine_bias_slopes(**at)
    assert affine.slope[0] == pytest.approx(-4 / 6, abs=0.005)
    price = theorem3_generalization.class_slopes(**at)
    assert price.slope[0] == pytest.approx(3 / (6 * 7), abs=0.01)
    every = [found, growing, affine, price]
    assert all(table.error.between(0, 1e-6, inclusive="right").all() for table in every)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_the_worst_bias_lies_in_its_bracket_and_is_of_the_order_of_one_over_w(dim):
    w, n = 200.0, 10**6
    lower, upper = theorem3_generalization.bound_worst_bias(dim, w, n)
    assert 0.01 < w * lower < w * upper < dim
    # of many tokens, the mean cosine of angles with a density e^(w cos) sin^(d - 2)
    mean_cosine = ive(dim / 2, w) / ive(dim / 2 - 1, w)
    assert upper == pytest.approx(2 * (1 - mean_cosine), rel=0.01)
    # a function of one degree l alone, scaled so that its gradient is at most one in the mean, is in between
    degree = int(w**0.5 / 2)
    bias = population_risk(Spectrum(dim, (0.0,) * degree + (1.0,)), w, n, 0.0).bias
    assert bias / (degree * (degree + dim - 2)) <= upper


@pytest.mark.parametrize("dim", [2, 4])
def test_the_worst_test_function_has_the_printed_exponent(dim):
    found = theorem3_generalization.worst_slopes(dims=[dim], ratios=[4.0], **EXACT)
    assert found.side.tolist() == ["lower", "upper"]
    assert np.allclose(found.slope, -2 / (dim + 2), atol=0.01)


def test_a_class_costs_nothing_on_itself_and_something_elsewhere():
    found = theorem3_generalization.class_prices(
        tasks=["affine", "cosine", "cosine with phase"], dim=8, n=20, noise_std=0.1
    )
    assert len(found) == 6 and (found.price > 1).all()
    on_cosine = theorem3_generalization.prices_on_cosines(
        cosine="cosine", dim=8, n=20, noise_std=0.1
    )
    same = found[(found.trained == "affine") & (found.tested == "cosine")]
    assert on_cosine.same.tolist() == [True, False, False]
    assert on_cosine.price[0] == pytest.approx(same.price.iloc[0])


def test_the_displayed_bound_is_compared_at_the_settings_that_it_says():
    worst = theorem3_generalization.over_printed(dims=[3], signals=[1.0])
    n = np.array([10, 32, 100, 320, 1000, 10000])
    risk = optimal_window(ReLU(3), n, 1.0).risk
    assert worst.worst[0] == pytest.approx(np.max(risk / n ** (-1 / 5)))


def test_units_are_compared_with_the_unit_of_the_class_and_seed():
    units = theorem3_generalization.trained_units(
        dim=3,
        context_length=5,
        noise_std=0.1,
        seeds=2,
        steps=5,
        batch_size=8,
        learning_rate=0.3,
        contexts=50,
    )
    assert len(units) == 3 * 5 * 2
    own = units[units.trained == units.tested]
    assert np.allclose(own.ratio, 1) and len(own) == 6
    for _, group in units.groupby(["tested", "seed"]):
        at_home = group.error[group.trained == group.tested].iloc[0]
        assert np.allclose(group.ratio, group.error / at_home)
