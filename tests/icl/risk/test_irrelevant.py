"""Irrelevant directions raise the risk of Theorem 4: each step of the proofs, with planted errors."""

import numpy as np
import pytest
from scipy import special

from icl.risk import low_rank_risk
from icl.risk.low_rank import _make_angles
from oracles.ranks import Ranks, sphere_law


def settings(count, least_rank, seed=0):
    """(k, d - k, c, e, n, sigma)"""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        k, extra, n = (rng.integers(least_rank, 7), rng.integers(1, 5), np.exp(rng.uniform(0.7, 5)))
        c, e, sigma = rng.uniform(0.1, 8), rng.uniform(0.01, 5), rng.uniform(0, 2)
        yield int(k), int(extra), float(c), float(e), int(n), float(sigma)


def exact(k, extra, c, e, n, sigma):
    return low_rank_risk(k + extra, k, c, e, n, sigma)


@pytest.mark.parametrize("k, extra, c, e, n, sigma", list(settings(20, 2)))
def test_the_integral_over_ranks_is_the_exact_risk(k, extra, c, e, n, sigma):
    ranks, risk = Ranks(k, c, e, *sphere_law(extra)), exact(k, extra, c, e, n, sigma)
    bias, noise = ranks.risk(n, sigma)
    assert bias == pytest.approx(risk.bias, rel=1e-9)
    assert sigma**2 * noise == pytest.approx(risk.noise, rel=1e-9)
    # this is its derivative in e; the planted error is one token too many above
    h = 0.003 * e
    low, high = (exact(k, extra, c, e + side * h, n, sigma).total for side in (-1, 1))
    slope = ranks.slope(n, sigma)
    assert slope == pytest.approx((high - low) / (2 * h), rel=1e-3)
    assert ranks.slope(n + 1, sigma) * (n - 1) / (n + 1) != pytest.approx(slope, rel=1e-2)


#: A score that is dropped with probability 0.3: neither centered nor symmetric.
DROPPED = np.array([0.0, 1.0]), np.array([0.3, 0.7])


@pytest.mark.parametrize("k, extra, c, e, n, sigma", list(settings(8, 3, seed=1)))
@pytest.mark.parametrize("law", ["sphere", "dropped"])
def test_for_three_and_more_directions_the_integrand_falls_at_every_rank(
    k, extra, c, e, n, sigma, law
):
    ranks = Ranks(k, c, e, *(sphere_law(extra) if law == "sphere" else DROPPED))
    seen, slope = ranks.f > 1e-8, ranks.level_slope(sigma)
    size = np.abs(slope).max()
    by_parts = ranks.level_slope_by_parts(sigma)
    assert np.abs(slope - by_parts)[seen].max() < 1e-10 * size
    assert (by_parts / ranks.f)[seen].max() < 1e-12 and slope.min() < 0
    # the planted errors are k - 1 in place of k - 3, and a missing tau
    assert np.abs(slope - ranks.level_slope_by_parts(sigma, shift=1))[seen].max() > 0.01 * size
    if k > 3:
        assert (
            np.abs(slope - ranks.level_slope_by_parts(sigma, spread=0.0))[seen].max() > 0.01 * size
        )


def test_in_two_directions_it_rises_at_some_rank():
    """A proof rank by rank is therefore impossible there, but the risk rises nevertheless."""
    ranks = Ranks(2, 30.0, 5.0, *sphere_law(2), nodes=150)
    assert ranks.level_slope(2.0).max() > 1e-3
    assert ranks.slope(2, 2.0) > 0 and ranks.slope(50, 2.0) > 0


def test_dropped_scores_by_sampling():
    """Any independent noise in the scores hurts, by the formula and by sampled contexts."""
    k, c, e, n, sigma = 3, 4.0, 3.0, 6, 0.7
    rng, count = np.random.default_rng(0), 200_000
    u = rng.standard_normal((count, n + 1, k))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)
    tokens, query = u[:, :-1], u[:, -1]
    score = c * np.einsum("bnk,bk->bn", tokens, query) + e * (rng.random((count, n)) > 0.3)
    omega = np.exp(score - score.max(1, keepdims=True))
    omega /= omega.sum(1, keepdims=True)
    loss = ((np.einsum("bn,bnk->bk", omega, tokens) - query) ** 2).sum(1) / k
    loss += sigma**2 * (omega**2).sum(1)
    bias, noise = Ranks(k, c, e, *DROPPED).risk(n, sigma)
    total = bias + sigma**2 * noise
    assert abs(loss.mean() - total) < 4 * loss.std() / count**0.5
    clean = sum(Ranks(k, c, 0.0, *DROPPED).risk(n, sigma) * np.array([1, sigma**2]))
    assert total > clean + 0.05  # the sample distinguishes the planted error
    assert abs(loss.mean() - clean) > 20 * loss.std() / count**0.5


def test_no_polynomial_in_the_proof_has_a_root():
    """psi' > 0: the quadratic form m' T^2 + 2 m T + 1 is positive; planted, without the one it is not."""
    t, T = np.meshgrid(np.linspace(-0.999, 0.999, 401), np.linspace(-2, 2, 401))
    m, slope = t / (1 - t**2), (1 + t**2) / (1 - t**2) ** 2
    assert (slope * T**2 + 2 * m * T + 1).min() > 0
    assert (slope * T**2 + 2 * m * T).min() < 0


@pytest.mark.parametrize("extra", [1, 2, 5])
@pytest.mark.parametrize("k, n", [(2, 2), (2, 7), (3, 30)])
def test_at_equal_weights_both_parts_rise_in_the_square_of_e(k, n, extra):
    """Large noise: the derivatives in e^2 at c = e = 0 are (n-1) / (n^2 (d-k)), and that over k."""
    flat, e = exact(k, extra, 0.0, 0.0, n, 1.0), 0.01
    near = exact(k, extra, 0.0, e, n, 1.0)
    slope = (n - 1) / (n**2 * extra)
    assert (near.noise - flat.noise) / e**2 == pytest.approx(slope, rel=1e-3)
    assert (near.bias - flat.bias) / e**2 == pytest.approx(slope / k, rel=1e-3)


def test_the_noise_rises_along_rays():
    for k, extra, c, e, n, _ in settings(10, 2, seed=2):
        noise = [exact(k, extra, r * c, r * e, n, 1.0).noise for r in (0.0, 0.2, 0.5, 1.0, 1.3)]
        assert np.all(np.diff(noise) > 0)


def test_the_lower_bounds_of_long_contexts():
    """The mean cosine is at most that without bound on n, and the noise at least what Jensen gives."""
    broken = 0
    for k, extra, c, e, n, _ in settings(30, 2, seed=3):
        (t, p), (s, weight) = sphere_law(k), sphere_law(extra)
        q = np.exp(-c * (1 - t))
        first, second, limit = p @ q, p @ q**2, p @ (t * q) / (p @ q)
        M = n * first * (weight @ np.exp(-e * (1 - s)))
        spread, too_much = (
            (weight @ np.exp(2 * a * s)) / (weight @ np.exp(a * s)) ** 2 for a in (e, 2 * e)
        )
        without = second / first**2 / n * (M / (1 + M)) ** 2
        risk = exact(k, extra, c, e, n, 1.0)
        assert k * risk.bias >= (1 - limit) ** 2
        assert risk.noise >= without * spread
        # the planted error is the spread of twice the e
        broken += bool(risk.noise < without * too_much)
    assert broken


@pytest.mark.parametrize("k, extra, n", [(2, 1, 10**4), (2, 3, 10**5), (3, 2, 10**5)])
def test_in_long_contexts_the_risk_rises_from_the_axis(k, extra, n):
    for c in np.array([0.5, 1.0, 2.0]) * n ** (2 / (k + 3)):
        risk = [exact(k, extra, float(c), e, n, 1.0).total for e in (0.0, 0.1, 0.5, 1.0, 3.0, 8.0)]
        assert np.all(np.diff(risk) > 0)


def test_one_direction_is_different():
    """For k = 1 the risk does not rise with every e, though e = 0 stays best."""
    base = low_rank_risk(2, 1, 11.66, 0.0, 4, 10.0).total
    near, far = (low_rank_risk(2, 1, 11.66, e, 4, 10.0).total / base for e in (6.0, 11.66))
    assert near == pytest.approx(1.378, abs=1e-3) and far == pytest.approx(1.235, abs=1e-3)


def two_examples(k, c, b, s, count=120):
    """Return F of the theorem on two examples, and 2 F' by its definition and by its last formula."""
    t, w = _make_angles(k, count)
    gap, mean = t[:, None] - t, 1 - (1 - t)[:, None] * (1 - t)
    p, A = np.outer(w, w), 2 * mean / k + 2 * s**2
    T = np.tanh((c * gap + b) / 2)
    return (p * (A / 4 * T**2 - gap / k * T)).sum(), (p * (1 - T**2) * (A / 2 * T - gap / k)).sum()


@pytest.mark.parametrize(
    "d, k, c, e, s", [(5, 2, 3.0, 2.0, 0.1), (6, 3, 5.0, 0.7, 0.5), (7, 5, 0.3, 1.0, 1.0)]
)
def test_the_risk_of_two_examples_is_a_mean_over_one_number(d, k, c, e, s):
    t, w = _make_angles(d - k, 40)
    pairs = np.outer(w, w).ravel()
    F = [two_examples(k, c, e * b, s, 60)[0] for b in (t[:, None] - t).ravel()]
    assert 1.5 / k + s**2 / 2 + pairs @ F == pytest.approx(
        low_rank_risk(d, k, c, e, 2, s).total, rel=1e-9
    )


@pytest.mark.parametrize("k", [2, 3, 4, 8])
@pytest.mark.parametrize("s", [0.0, 0.1, 3.0])
def test_irrelevant_directions_always_harm_two_examples(k, s):
    for c in (0.0, 0.1, 0.4, 0.6, 2.0, 10.0):
        for b in (0.01, 0.3, 1.0, 3.0, 8.0):
            assert two_examples(k, c, b, s)[1] > 0, (c, b)
            h = 1e-4
            slope = (two_examples(k, c, b + h, s)[0] - two_examples(k, c, b - h, s)[0]) / (2 * h)
            assert 2 * slope == pytest.approx(two_examples(k, c, b, s)[1], rel=1e-5, abs=1e-9)


def law_of_the_gap(s, gap):
    """Return the densities p and A p of the theorem in closed form for k = 2, 0 < gap < 2."""
    K, E = (special.ellipkm1(gap**2 / 4) / np.pi**2, special.ellipe(1 - gap**2 / 4) / np.pi**2)
    return K, 2 * E + 2 * s**2 * K


@pytest.mark.parametrize("c, b", [(0.3, 2.0), (4.0, 1.0)])
def test_the_integral_by_parts_of_two_examples(c, b):
    x, weight = np.polynomial.legendre.leggauss(400)
    k, s, gap, weight = 2, 0.7, (1 + x) ** 2 / 2, weight * (1 + x)
    (p, _), (_, up), (_, low) = (law_of_the_gap(s, gap * (1 + h)) for h in (0, 1e-6, -1e-6))
    slope, end = (up - low) / (2e-6 * gap), law_of_the_gap(s, 2.0)[1]

    def h(gap):
        return np.tanh((c * gap + b) / 2) ** 2 - np.tanh((c * gap - b) / 2) ** 2

    by_parts = weight @ (gap * p / k * h(gap)) + (end * h(2.0) - weight @ (slope * h(gap))) / (
        2 * c
    )
    assert by_parts == pytest.approx(two_examples(k, c, b, s, 400)[1], rel=1e-4)
