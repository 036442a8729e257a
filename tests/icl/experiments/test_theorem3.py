import numpy as np
import pytest

from icl.experiments import theorem3
from icl.experiments.functions import Waves
from icl.risk import optimal_window, population_risk
from icl.tasks import Affine, ReLU


def test_the_right_guess_costs_nothing_and_a_wrong_one_its_price():
    found = theorem3.prices(["ReLU"], [4], [0.5, 1.0, 2.0], [100.0, 1e8], 1.0, 0.5)
    assert found.ratio.tolist() == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0] and found.n.tolist() == [100.0, 1e8] * 3
    assert np.allclose(found.limit, [5 / 4, 5 / 4, 1, 1, 5 / 4, 5 / 4])  # (rho^2 + 1) / (2 rho) in d = 4
    assert np.allclose(found.price[2:4], 1, atol=1e-9) and (found.drop([2, 3]).price > 1.05).all()
    assert np.allclose(found.price[1::2], found.limit[1::2], atol=0.01)
    # an independent route: the class at L' itself, with the window for L
    w = optimal_window(ReLU(4, 1.0), 100, 0.5).w
    risk = population_risk(ReLU(4, 2.0), w, 100, 0.5).total
    assert np.isclose(found.risk[4], risk) and np.isclose(
        found.price[4], risk / optimal_window(ReLU(4, 2.0), 100, 0.5).risk
    )


def test_the_printed_right_sides():
    n, L, sigma = 64.0, 2.0, 0.5
    matched, larger, smaller = theorem3.printed_bound(4, [1.0, 3.0, 0.5], n, L, sigma)
    assert np.isclose(matched, L ** (2 - 2 / 6) * (sigma**2 / n) ** (1 / 6))
    assert np.isclose(larger, 6.0**2 * (sigma**2 / (n * L**2)) ** (2 / 6))
    assert np.isclose(smaller, (n * L**2 / sigma**2) ** (2 / 12) / n)


def test_the_exponent_in_the_test_constant_is_a_derivative():
    step = 1e-3
    for trained in (False, True):
        value = theorem3.powers([3], [2.0], 100.0, 1.0, 1.0, trained=trained).value[0]
        near = np.array([2 * np.exp(-step), 2 * np.exp(step)])
        found = theorem3.prices(["ReLU"], [3], near, [100.0], 1.0, 1.0)
        risk = found.risk / found.price if trained else found.risk
        assert np.isclose(value, np.diff(np.log(risk))[0] / (2 * step), rtol=1e-5)


def test_limits_for_long_contexts_are_near_their_closed_forms():
    for quantity in theorem3.QUANTITIES:
        found = theorem3.slopes(quantity, [4], 1.0, 1.0, [0.5])
        assert np.allclose(found[["value", "limit"]], found[["truth"]], atol=0.01), quantity
    exact, _ = theorem3._far("ReLU", 4, 1.0, 1.0)
    growing = theorem3.QUANTITIES["risk over L'^2, L' / L the root of n"][0](exact, 1.0)
    assert np.allclose(growing, exact.risk(exact.n**0.5) / exact.n, rtol=1e-12)
    assert theorem3.slopes("risk", [3], 1.0, 1.0, more=1).truth[0] == pytest.approx(-3 / 6)
    for found in (
        theorem3.noise_shares([4], 1.0, 1.0),
        theorem3.price_limits([4], [0.5, 2.0], 1.0, 1.0),
        theorem3.class_slopes([4], 1.0, 1.0),
    ):
        assert np.allclose(found[["value", "limit"]], found[["truth"]], rtol=0.02, atol=0.005)


def test_waves_are_cosines_with_a_uniform_phase():
    rng = np.random.default_rng(0)
    u, phase = rng.standard_normal((3, 400_000)), rng.uniform(0, 2 * np.pi, 400_000)
    u /= np.linalg.norm(u, axis=0)
    x, y = np.array([1.0, 0, 0]), np.array([0.6, 0.8, 0])
    sampled = np.mean(np.cos(2 * x @ u + phase) * np.cos(2 * y @ u + phase))
    assert abs(Waves(3, 2.0).covariance(0.6) - sampled) < 0.005


def test_a_class_loses_nothing_with_its_own_window():
    found = theorem3.losses(20, 0.1, {"affine": Affine(3), "ReLU": ReLU(3)}, {"ReLU": ReLU(3)})
    assert found.trained.tolist() == ["affine", "ReLU"] and (found.d == 3).all()
    assert found.price[1] == pytest.approx(1, abs=1e-9) and found.price[0] > 1 + 1e-6


def test_a_unit_of_the_class_tested_is_what_the_others_are_compared_with():
    units = theorem3.trained_units(3, 8, 0.1, 2, 20, 8, 0.3, 50)
    assert len(units) == 3 * 5 * 2 and (units[units.trained == units.tested].ratio == 1).all()
    again = units.error / units.groupby(["tested", "seed"]).error.transform(
        lambda e: e[units.loc[e.index, "trained"] == units.loc[e.index, "tested"]].item()
    )
    assert np.allclose(units.ratio, again) and not np.allclose(units.ratio, units.opposite)
