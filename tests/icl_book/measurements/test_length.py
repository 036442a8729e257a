"""Rules for the window agree with closed forms, limits, sampled contexts and another search."""

import math

import numpy as np
import pytest

from icl.risk import asymptotics, length_price, population_risk
from icl.risk.gaussian import gaussian_window
from icl.risk.length import RULES
from icl.tasks import Affine, ReLU, make_task
from icl_book.measurements import length

BOTH = ["ReLU", "affine"]


def test_prices_to_move_are_those_of_the_package():
    given = {
        "dims": [4, 24],
        "starts": [128, 8192],
        "noise_stds": [0.1, 2.0],
        "stretches": [1, 128],
    }
    table = length.prices_to_move(**given)
    assert len(table) == 2 * 2 * 2 * 2 * 2 * 4
    assert set(table.rule) | {"kept", "log n"} == set(RULES)
    for row in table.sample(25, random_state=0).itertuples():
        task = make_task(row.task, row.dim)
        for rule, price in ((row.rule, row.price), ("kept", row.kept), ("log n", row.log)):
            exact = length_price(task, row.n0, row.n0 * row.stretch, row.noise_std, rule)
            assert price == pytest.approx(exact, rel=1e-3), row


def test_median_prices_are_medians_of_the_package():
    tasks, rules = (ReLU(4), Affine(4)), ["kept", "YaRN", "power"]
    n0, noise_stds = np.array([128, 8192])[:, None], [0.1, 2.0]
    table = length.median_prices(tasks, n0, 128 * n0, noise_stds, rules)
    assert table.rule.tolist() == rules
    for row in table.itertuples():
        exact = [length_price(task, n0, 128 * n0, noise_stds, row.rule) for task in tasks]
        assert row.median == pytest.approx(np.median(exact), rel=1e-12)
        assert 0 < row.error < 1e-5 * row.median


def test_splines_of_the_risk_are_off_by_less_than_they_say():
    n = np.array([20.0, 200.0])
    w = np.array([0.013, 0.77, 4.4, 31.0])
    for task in (ReLU(5), Affine(16)):
        bias, noise = (np.exp(part(np.log(w))) for part in length.fit_splines(task, n))
        exact = population_risk(task, w[:, None], n, 1.0)
        assert bias == pytest.approx(exact.bias, rel=1e-4)
        assert noise == pytest.approx(exact.noise, rel=1e-4)


@pytest.mark.parametrize("dim", [3, 5])
def test_three_mistakes_have_one_price(dim):
    table = length.price_mistakes(
        tasks=["affine"], dims=[dim], factors=[0.25, 4.0], n=1e12, noise_std=0.5
    )
    for factor, part in table.groupby("factor"):
        ratio = factor ** asymptotics.window_law(Affine(dim)).exponent
        assert part.ratio.to_numpy() == pytest.approx(ratio, rel=1e-3)
        limit = asymptotics.window_penalty(Affine(dim), ratio)
        assert part.price.to_numpy() == pytest.approx(limit, rel=1e-3)
        assert np.ptp(part.price) < 1e-3


def test_gaussian_prices_are_those_of_the_trial():
    table = length.gaussian_prices(settings=[(3, 10**4), (5, 10**4)], n0=100, noise_std=0.5)
    assert table.price.to_numpy() == pytest.approx([31.6, 9.1], abs=0.05)
    assert table.kept.to_numpy() == pytest.approx([1.41, 1.79], abs=0.005)


def test_normalized_keys_have_the_risk_of_sampled_contexts():
    """With four standard errors and 20,000 contexts, one run in 16,000 is a false alarm."""
    dim, n, sigma = 4, 12, 0.5
    rng = np.random.default_rng(5)
    least, floor = length.normalized_risk(dim, n, sigma)
    x = rng.standard_normal((20_000, n + 1, dim))
    u = x / np.linalg.norm(x, axis=-1, keepdims=True)
    beta = rng.standard_normal((20_000, dim)) / math.sqrt(dim)
    f = np.einsum("cnd,cd->cn", x, beta)
    y = f[:, :-1] + sigma * rng.standard_normal((20_000, n))
    scores = np.einsum("cnd,cd->cn", u[:, :-1], u[:, -1])
    risks = []
    for w in (0.5, 1.5, 2.5, 4.0):
        weights = np.exp(w * scores)
        guess = (weights * y).sum(axis=1) / weights.sum(axis=1)
        error = (guess - f[:, -1]) ** 2
        risks.append((error.mean(), error.std() / 20_000**0.5))
    mean, spread = min(risks)
    assert mean > least - 4 * spread
    assert mean < 1.03 * least + 4 * spread
    assert floor == pytest.approx(1 - 9 * math.pi / 32)  # (E |x|)^2 / 4 in four dimensions
    assert least > floor


def test_normalizing_is_worse_than_w_near_one_in_long_contexts():
    least, floor = length.normalized_risk(5, 1e8, 0.5)
    assert least == pytest.approx(floor, rel=0.01)
    assert gaussian_window(5, 1e8, 0.5).risk < 0.01 * floor


def test_the_context_chooses_a_window_for_its_own_function():
    both = {"dim": 5, "n": 300, "n0": 10, "noise_stds": [0.5], "contexts": 12}
    found = length.price_chosen_windows(tasks=BOTH, **both)
    assert (found[["of_class", "of_function", "best_rule", "log_rule"]] >= 1 - 1e-4).all(axis=None)
    lost = length.price_chosen_windows(tasks=BOTH, permuted=True, **both)
    for task in BOTH:
        own, permuted = (t[t.task == task].of_function.median() for t in (found, lost))
        assert own < 1.2 < permuted


def test_the_price_for_a_function_is_a_mean_over_contexts_of_this_function():
    """Sampled tokens give the bias of one function, with four standard errors and 40,000 contexts."""
    dim, n, w = 3, 15, 4.0
    odd, even, _ = length.split_by_parts(dim, n)(math.log(w))
    right, left = 0.9, 0.3
    rng = np.random.default_rng(8)
    x = rng.standard_normal((40_000, n + 1, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    f = right * np.maximum(x[..., 0], 0) + left * np.maximum(-x[..., 0], 0)
    weights = np.exp(w * np.einsum("cnd,cd->cn", x[:, :-1], x[:, -1]))
    guess = (weights * f[:, :-1]).sum(axis=1) / weights.sum(axis=1)
    error = (guess - f[:, -1]) ** 2
    bias = odd * ((right - left) / 2) ** 2 + even * ((right + left) / 2) ** 2
    assert abs(error.mean() - bias) < 4 * error.std() / 200
    assert error.std() / 200 < 0.02 * bias
