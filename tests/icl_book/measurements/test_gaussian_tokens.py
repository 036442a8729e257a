import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import roots_gegenbauer

from icl.risk import distance_exponent, gaussian_risk
from icl_book.measurements import gaussian_tokens
from icl_book.statistics import Z


def test_exponents_of_the_distance_are_those_of_the_theorem():
    table = gaussian_tokens.distance_exponents(dims=[1, 4], w_values=[0.5, 0.8, 1.0, 1.25])
    assert np.allclose(table.value, distance_exponent(table.w), atol=0.005)
    assert (table.error < 1e-9).all()
    # (log n)^(d/2) grows from n = 1e28 to 1e30
    power = np.where(table.w**2 > 0.5, table.dim / 2, 0) * np.log(30 / 28)
    assert np.allclose(table.value - table.raw, power / np.log(100))
    assert np.allclose(table.one_length, 1, atol=1e-3)


def test_a_floor_stays_in_the_ball_and_none_on_the_sphere():
    ball = gaussian_tokens.ball_limits(dims=[2, 5]).set_index(["what", "dim"]).value
    assert (ball["floor"] > 0.005).all() and (ball["window"] < 100).all()
    sphere = gaussian_tokens.sphere_limits(dims=[2, 5])
    # 1 - A(w) is about (d - 1) / 2 w
    expected = ((sphere.dim - 1) / 2e6) ** 2
    assert sphere.value.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-3)


def test_sampled_risks_are_those_of_the_exact_formula():
    risks = gaussian_tokens.sampled_risks(names=["linear", "He_2"], n_values=[50], seeds=60)
    means = gaussian_tokens.mean_risks(risks).set_index("function")
    exact = gaussian_risk(1, 1.0, 50, 0.0).total
    assert means.low["linear"] < exact < means.high["linear"]
    square = risks[risks.function == "He_2"]
    assert np.allclose(square.risk - square.excess, 1 / 3)


@pytest.mark.parametrize("name", ["He_2", "He_3", "ReLU"])
def test_the_best_window_is_a_minimum_of_the_limit(name):
    known = gaussian_tokens.functions()[name]
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    t = np.linspace(-6, 6, 1201)
    law = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()

    def limit(w):
        shifted = (w * t[:, None] + node).reshape(-1, 1)
        smooth = known.f(shifted).reshape(t.size, -1) @ weight / weight.sum()
        return law @ (known.f(t[:, None]) - smooth) ** 2

    assert limit(known.w) == pytest.approx(known.limit, abs=2e-3)
    assert limit(known.w) < min(limit(0.8 * known.w), limit(1.2 * known.w))


def by_quadrature(dim, w, order):
    """Return the limit by Gauss rules in r, and in x_1 for E x_1 exp(s x_1) / E exp(s x_1), s = w r."""
    (x, p), (r, weight) = (roots_gegenbauer(60, dim / 2), np.polynomial.legendre.leggauss(order))
    r, weight = (1 + r) / 2, weight * dim * ((1 + r) / 2) ** (dim - 1)
    # the density of x_1 in the ball: (1 - x^2)^((d - 1) / 2)
    tilted = p * np.exp(w * r[:, None] * (x - 1))
    return weight @ (r - tilted @ x / tilted.sum(1)) ** 2 / (weight @ r**2)


@pytest.mark.parametrize("dim, w, share", [(2, 6.6, 0.025), (5, 18.9, 0.016), (10, 59.7, 0.0064)])
def test_best_window_in_the_ball(dim, w, share):
    best = gaussian_tokens.least_ball_limit(dim)
    assert best.w == pytest.approx(w, abs=0.05) and best.risk == pytest.approx(share, rel=0.035)
    assert (
        gaussian_tokens._evaluate_ball_limit(dim, 1e6, 16)[0] > best.risk and 0 < best.error < 1e-9
    )
    found = minimize_scalar(
        lambda v: by_quadrature(dim, v, 24), bounds=(0.8 * w, 1.2 * w), method="bounded"
    )
    assert (best.w, best.risk) == pytest.approx((found.x, found.fun), rel=1e-5)


def test_sampled_tokens_in_the_ball():
    """At the best window of the limit 20,000 tokens have the limit within 3 %, at the rate of Z."""
    dim, n, rng = 2, 20_000, np.random.default_rng(3)
    best, errors = gaussian_tokens.least_ball_limit(dim), []
    for _ in range(500):
        x = rng.standard_normal((n + 1, dim))
        x *= (rng.random(n + 1) ** (1 / dim) / np.linalg.norm(x, axis=1))[:, None]
        tokens, query = x[1:], x[0]
        weights = np.exp(best.w * tokens @ query)
        errors.append(np.sum((weights @ tokens / weights.sum() - query) ** 2) * (dim + 2) / dim)
    spread = np.std(errors) / len(errors) ** 0.5
    assert abs(np.mean(errors) - best.risk) < 0.03 * best.risk + Z * spread < 0.3 * best.risk
