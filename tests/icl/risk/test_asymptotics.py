"""Laws and limits for many tokens against the exact risk, integrals, and sampled tokens."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import roots_gegenbauer, roots_hermitenorm
from scipy.stats import norm

from icl.risk import asymptotics, gaussian_window, limits, mismatch_risk, optimal_window, population_risk
from icl.risk.limits import least_ball_limit, least_hermite_floor, log_window_gap, one_token_gap
from icl.statistics import Z
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal


def test_kink_constant_is_its_integral():
    value, _ = quad(lambda u: (norm.pdf(u) - u * norm.sf(u)) ** 2, 0, np.inf, epsabs=1e-14)
    assert pytest.approx(8 * value, rel=1e-10) == asymptotics.KINK


SMOOTH = [*map(Affine, (2, 3, 5, 8)), Cosine(2, 0.5), Cosine(3, 6.0), Cosine(8, 2.0), Quadratic(3), Linear(4)]


@pytest.mark.parametrize("task", [*SMOOTH, *map(ReLU, (2, 3, 5, 8))], ids=str)
def test_bias_and_noise_laws(task):
    """Corrections are of relative order 1 / w, at a kink w^-1/2, with constants growing in d."""
    w, rough = 1e5, task.kink > 0
    constant, exponent = asymptotics.bias_law(task)
    r = population_risk(task, w, 1e40, 1.0)
    assert exponent == (-1.5 if rough else -2)
    assert r.bias / (constant * w**exponent) == pytest.approx(1, abs=0.03 if rough else 1e-3)
    noise = math.exp(asymptotics._log_noise_constant(task.dim)) * w ** ((task.dim - 1) / 2)
    assert r.noise * 1e40 == pytest.approx(noise, rel=1e-3)


@pytest.mark.parametrize("task", [Cosine(3, 4.0), Cosine(5, 0.1), Quadratic(4)])
def test_exact_windows_reach_the_law(task):
    """Where contexts are so long that only the law is left, no digit is lost."""
    best = optimal_window(task, [1e50, 1e70], noise_std=0.5)
    assert best.w == pytest.approx(asymptotics.sharp_window(task, [1e50, 1e70], 0.5), rel=1e-9)


def test_exponents():
    assert asymptotics.window_exponent(Affine(3)) == pytest.approx(2 / 6)
    assert asymptotics.window_exponent(ReLU(3)) == pytest.approx(2 / 5)
    assert asymptotics.risk_exponent(Affine(5)) == pytest.approx(-4 / 8)
    assert asymptotics.risk_exponent(ReLU(5)) == pytest.approx(-3 / 7)
    assert asymptotics.bias_law(Affine(5, 2.0))[0] == pytest.approx(4 * 16 / 60, rel=1e-12)
    assert asymptotics.printed_exponents(4) == (0.25, 0.5)
    with pytest.raises(TypeError, match="smooth classes only"):
        asymptotics.bias_law(Kinked(3))


class Kinked(Zonal):
    """ReLU by another name: its spectrum falls too slowly for a smooth law."""

    def covariance(self, cosine):
        return ReLU(self.dim).covariance(cosine)


PENALTIES = [(2, ReLU, 0.25), (3, ReLU, 4.0), (5, Affine, 4.0), (3, Affine, 0.1)]


@pytest.mark.parametrize("dim, cls, ratio", PENALTIES)
def test_mismatch_penalty(dim, cls, ratio):
    task = cls(dim)
    n = round((1e4 / asymptotics.sharp_window(task, 1.0, 1.0)) ** (1 / asymptotics.window_exponent(task)))
    best = optimal_window(cls(dim, ratio), float(n), 1.0).risk
    loss = mismatch_risk(cls(dim), cls(dim, ratio), float(n), 1.0).total / best
    assert loss == pytest.approx(asymptotics.mismatch_penalty(cls(dim), ratio), rel=0.02)


MANY = [Affine(2), ReLU(2), ReLU(5), Cosine(3, 4.0), Quadratic(5), Affine(16), ReLU(16)]


@pytest.mark.parametrize("task", MANY, ids=str)
@pytest.mark.parametrize("w", [0.3, 30.0, 1e5])
def test_many_tokens_against_the_exact_risk(task, w):
    """With 1e12 tokens in the window; what is left is the variance of f in it, of relative order w / 1e12."""
    n = np.round(1e12 * asymptotics.effective_fraction(task.dim, w))
    exact = population_risk(task, w, n, 0.5)
    bias, noise = asymptotics.many_token_risk(task, w, n, 0.5)
    assert bias == pytest.approx(exact.bias, rel=1e-11 * (1 + w))
    assert noise == pytest.approx(exact.noise, rel=1e-10)


@pytest.mark.parametrize("task", MANY, ids=str)
def test_the_window_of_many_tokens(task):
    """Against the exact window, and against the law at windows that the exact risk does not reach."""
    n = asymptotics.sharp_context(task, [1e4, 1e5], 0.5)
    assert asymptotics.sharp_window(task, n, 0.5) == pytest.approx([1e4, 1e5], rel=1e-9)
    assert np.all(n == np.round(n))
    exact = optimal_window(task, n, 0.5)
    assert asymptotics.many_token_window(task, n, 0.5) == pytest.approx(exact.w, rel=3e-5)
    far = asymptotics.sharp_context(task, 2e6, 0.5)
    assert asymptotics.many_token_window(task, far, 0.5) == pytest.approx(2e6, rel=1.3e-3)


def test_many_tokens_beyond_all_contexts():
    n = np.array([1e50, 1e60])
    w = asymptotics.many_token_window(ReLU(24), n, 1.0)
    assert np.diff(np.log(w)) / np.diff(np.log(n)) == pytest.approx(2 / 26, rel=0.01)


# ------------------------------------------------------------------------ not on the sphere
@pytest.mark.parametrize("dim, noise_std", [(1, 0.0), (5, 2.0), (16, 0.5)])
def test_law_of_the_window(dim, noise_std):
    """Exact over one heavy token tends to one with n, and that over the law with log n."""
    n = np.array([1e10, 1e20, 1e30])
    exact = gaussian_window(dim, n, noise_std).gap
    ratio = exact / np.exp(one_token_gap(dim, np.log(n), noise_std).log_gap)
    assert np.all(np.diff(np.abs(ratio - 1)) < 0) and ratio[-1] == pytest.approx(1, abs=1e-3)
    log_n = np.array([1e4, 1e5, 1e6])
    late = one_token_gap(dim, log_n, noise_std)
    off = np.abs(late.log_gap - log_window_gap(dim, log_n))
    assert np.allclose(off[1:] / off[:-1], 0.1, rtol=0.1) and off[-1] < 1e-3  # like 1 / log n
    assert np.all(late.error < 1e-5)


@pytest.mark.parametrize("dim, noise_std", [(2, 2.0), (5, 0.0)])
def test_one_heavy_token_by_differences(dim, noise_std):
    """C and D by sums over the token's score, the slope by central differences."""
    log_n, h = 25.0, 1e-4
    x, weight = np.polynomial.legendre.leggauss(300)
    r = 12 * (1 + x)
    p = 12 * weight * r ** (dim - 1) * np.exp(-r * r / 2)
    g = np.arange(-9.0, 40, 0.01)
    law = 0.01 * np.exp(log_n - g * g / 2) / math.sqrt(2 * math.pi)

    def excess(w):
        tau = w * r[:, None]
        omega = 1 / (1 + np.exp(log_n + tau**2 / 2 - tau * g))
        c, d = omega**2 @ law, (omega**3 - omega**4) @ law
        return p @ (r * r / dim * (w * (2 - w) * c - 6 * w * w * d) + (1 + noise_std**2) * c) / p.sum()

    expected = (excess(1 + h) - excess(1 - h)) / (4 * h)
    assert math.exp(one_token_gap(dim, log_n, noise_std).log_gap) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("coefficients", [[2.0], [0, 0, 1.0], [1, 2, -0.5, 0.3], [0, 1, 0, 0, 0.2]])
def test_hermite_floor_against_quadrature(coefficients):
    t, p = roots_hermitenorm(40)
    p = p / p.sum()
    w = np.array([0.0, 0.4, 1.0, 1.7])
    f = np.polynomial.hermite_e.HermiteE(coefficients)
    smoothed = f(t[:, None, None] + w * t[:, None]).transpose(1, 2, 0) @ p
    expected = p @ (f(t)[:, None] - smoothed) ** 2
    curve = lambda w: sum(k * p(w) ** 2 for k, p in limits._missed(coefficients)[1])  # noqa: E731
    assert curve(w) == pytest.approx(expected, rel=1e-12)
    best = least_hermite_floor(coefficients)
    assert best.risk == pytest.approx(curve(best.w), rel=1e-12)
    assert best.risk <= curve(np.linspace(0, 3, 3001)).min() * (1 + 1e-12)
    assert best.power == pytest.approx(p @ f(t) ** 2 - (p @ f(t)) ** 2, rel=1e-12)


def by_quadrature(dim, w, order):
    """The limit by Gauss rules, in r and for E x_1 exp(s x_1) / E exp(s x_1) in x_1, s = w r."""
    (x, p), (r, weight) = roots_gegenbauer(60, dim / 2), np.polynomial.legendre.leggauss(order)
    r, weight = (1 + r) / 2, weight * dim * ((1 + r) / 2) ** (dim - 1)
    tilted = p * np.exp(w * r[:, None] * (x - 1))  # the density of x_1 in the ball: (1 - x^2)^((d - 1) / 2)
    return weight @ (r - tilted @ x / tilted.sum(1)) ** 2 / (weight @ r**2)


@pytest.mark.parametrize("dim, w, share", [(2, 6.6, 0.025), (5, 18.9, 0.016), (10, 59.7, 0.0064)])
def test_best_window_in_the_ball(dim, w, share):
    best = least_ball_limit(dim)
    assert best.w == pytest.approx(w, abs=0.05) and best.risk == pytest.approx(share, rel=0.035)
    assert limits._ball_limit(dim, 1e6, 16)[0] > best.risk and 0 < best.error < 1e-9
    found = minimize_scalar(lambda v: by_quadrature(dim, v, 24), bounds=(0.8 * w, 1.2 * w), method="bounded")
    assert (best.w, best.risk) == pytest.approx((found.x, found.fun), rel=1e-5)


def test_sampled_tokens_in_the_ball():
    """20,000 tokens at the limit's best window: the limit within 3 %, at the false-alarm rate of Z."""
    dim, n, rng = 2, 20_000, np.random.default_rng(3)
    best, errors = least_ball_limit(dim), []
    for _ in range(500):
        x = rng.standard_normal((n + 1, dim))
        x *= (rng.random(n + 1) ** (1 / dim) / np.linalg.norm(x, axis=1))[:, None]
        tokens, query = x[1:], x[0]
        weights = np.exp(best.w * tokens @ query)
        errors.append(np.sum((weights @ tokens / weights.sum() - query) ** 2) * (dim + 2) / dim)
    spread = np.std(errors) / len(errors) ** 0.5
    assert abs(np.mean(errors) - best.risk) < 0.03 * best.risk + Z * spread < 0.3 * best.risk
