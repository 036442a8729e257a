"""The risk on Gaussian tokens against sums over all scores, an independent reference and sampling."""

import numpy as np
import pytest

from icl.risk import gaussian
from icl.risk.gaussian import gaussian_risk, gaussian_window
from icl.risk.numerics import gaussian_moments
from icl_book.statistics import Z
from oracles import gaussian as oracle


@pytest.mark.parametrize(
    "dim, w, n, step", [(1, 0.6, 2, 0.09), (5, 0.4, 2, 0.12), (2, 0.25, 3, 0.3)]
)
def test_sums_over_all_scores(dim, w, n, step):
    expected = oracle.population_risk(
        dim, w, n, lambda tau, n: oracle.brute(tau, n, step), nodes=60
    )
    r = gaussian_risk(dim, w, n, 1.0)
    assert np.allclose([r.bias, r.noise], expected, rtol=1e-10, atol=0)


FAR = [(1, 2.7, 5), (1, 0.03, 10**12), (16, 0.9, 10**5), (16, 0.2, 3), (256, 0.5, 10**9)]


@pytest.mark.parametrize(
    "dim, w, n", [(2, 0.7, 3), *(pytest.param(*far, marks=pytest.mark.slow) for far in FAR)]
)
def test_reference_over_the_whole_range(dim, w, n):
    """Settings reach d = 256, n = 1e12 and w = 10; the cost of the reference grows with w sqrt(d)."""
    r = gaussian_risk(dim, w, n, 1.0)
    assert np.allclose([r.bias, r.noise], oracle.population_risk(dim, w, n), rtol=1e-10, atol=0)


@pytest.mark.parametrize("tau", [0.01, 0.7, 3.0, 9.99, 10.01, 40.0, 300.0])
def test_two_tokens(tau):
    c, d, *_ = gaussian_moments.weight_moments(np.array([tau]), 2)[:, 0]
    assert (c, d) == pytest.approx(oracle.two_tokens(tau), rel=1e-12, abs=1e-12)


def test_both_tables_agree(monkeypatch):
    tau = np.linspace(0, 14, 50)
    short = gaussian_moments.weight_moments(tau, 1e12)
    monkeypatch.setattr(gaussian_moments, "_REACH", (1e30,))
    monkeypatch.setattr(gaussian_moments, "_series", gaussian_moments._series.__wrapped__)
    assert np.allclose(gaussian_moments.weight_moments(tau, 1e12), short, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("w, n", [(0.0, 1), (10.0, 1), (0.0, 2), (0.0, 10**12)])
def test_one_token_and_equal_weights(w, n):
    r = gaussian_risk(7, w, n, 0.5)
    assert r.bias == pytest.approx(1 + 1 / n, rel=1e-12)
    assert r.noise == pytest.approx(0.25 / n, rel=1e-12) and (n > 1 or abs(r.slope) < 1e-9)


SLOPES = [
    (1, 1.2, 3),
    (5, 0.7, 10**4),
    (64, 0.2, 50),
    (256, 0.4, 10**12),
    (2, 4.0, 9),
    (3, 0.01, 40),
]
SLOPES += [(2, 1.0, 10**13), (5, 0.9, 10**25), (1, 90.0, 2), (3, 20.0, 10**7)]


@pytest.mark.parametrize("dim, w, n", SLOPES)
def test_slopes_and_error(dim, w, n):
    h = 1e-3 * w
    r = gaussian_risk(dim, w + h * np.array([-2.0, -1, 0, 1, 2]), n, 1.0)
    stencil = np.array([1, -8, 0, 8, -1]) / (12 * h)
    for value, slope in ((r.bias, r.bias_slope), (r.noise, r.noise_slope)):
        assert slope[2] == pytest.approx(value @ stencil, rel=1e-6, abs=1e-9 * value[2] / w)
    assert np.all(r.error < 1e-10)


def contexts(dim, n, noise_std, count=40_000):
    rng = np.random.default_rng(5)
    x, query = rng.standard_normal((count, n, dim)), rng.standard_normal((count, dim))
    beta = rng.standard_normal((count, dim)) / dim**0.5
    y = np.einsum("cnd,cd->cn", x, beta) + noise_std * rng.standard_normal((count, n))
    return x, y, query, (beta * query).sum(1)


def sigmas(values, expected):
    return abs(values.mean() - expected) / (values.std() / len(values) ** 0.5)


@pytest.mark.parametrize("dim, w, n", [(1, 1.5, 4), (3, 0.8, 12)])
def test_sampling(dim, w, n):
    x, y, query, truth = contexts(dim, n, 0.4)
    scores = w * np.einsum("cnd,cd->cn", x, query)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    h = (weights * y).sum(1) / weights.sum(1)
    assert sigmas((h - truth) ** 2, gaussian_risk(dim, w, n, 0.4).total) < Z


@pytest.mark.parametrize(
    "dim, n, noise_std",
    [(1, 2, 0.0), (1, 30, 3.0), (2, 2, 0.1), (5, 10**9, 0.5), (64, 300, 1.0), (256, 10**12, 0.1)],
)
def test_window_is_the_least_of_a_fine_grid(dim, n, noise_std):
    best = gaussian_window(dim, n, noise_std)
    here = gaussian_risk(dim, best.w, n, noise_std)
    grid = gaussian_risk(dim, np.geomspace(1e-3, 10, 400), n, noise_std).total
    assert best.risk <= grid.min() * (1 + 1e-12)
    assert best.risk == pytest.approx(here.total, rel=1e-10)
    assert abs(here.slope) * best.w < 1e-8 * here.total


def test_window_of_large_noise_is_that_of_linear_attention():
    """Where the scores are small, softmax is linear in them; w* then solves the same parabola."""
    for noise_std in (30.0, 1e4, 1e60):
        expected = 50 / (50 + 3 * (1 + noise_std**2))
        assert gaussian_window(3, 50, noise_std).w == pytest.approx(expected, rel=0.1)


def test_gap_has_its_own_digits():
    n = np.array([10, 1e6, 1e14, 1e30])
    best = gaussian_window(2, n, 0.5)
    assert best.gap[:2] == pytest.approx(1 - best.w[:2], rel=1e-9)
    assert best.gap[2:] == pytest.approx(gaussian_risk(2, 1.0, n[2:], 0.5).slope / 2, rel=1e-4)
    assert np.all(best.gap_error < 1e-9) and best.gap[-1] < 1e-16 < best.gap_error[-1]


@pytest.mark.parametrize("dim, n, noise_std", [(2, 2, 0.0), (5, 30, 0.5), (5, 10**9, 0.5)])
def test_errors_cover_what_a_poor_rule_does(monkeypatch, dim, n, noise_std):
    best = gaussian_window(dim, n, noise_std)
    monkeypatch.setattr(gaussian.query_means, "__defaults__", (4, 0))
    poor = gaussian_window(dim, n, noise_std)
    assert abs(poor.w / best.w - 1) <= 1.1 * poor.error and poor.error > 2 * best.error
    assert abs(poor.gap / best.gap - 1) <= 1.1 * poor.gap_error
