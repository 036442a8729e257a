"""The limit of the risk in the ball against quadrature of its definition, and against sampled tokens."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from icl.risk import ball_limit, least_ball_limit
from icl.statistics import Z


def tilted_mean(dim, s):
    """E x_1 exp(s x_1) / E exp(s x_1) in the ball, from the density (1 - x^2)^((d - 1) / 2) of x_1."""

    def moment(k):
        return quad(
            lambda x: x**k * (1 - x * x) ** ((dim - 1) / 2) * math.exp(s * (x - 1)), -1, 1, epsrel=1e-11
        )[0]

    return moment(1) / moment(0)


def by_quadrature(dim, w, power=10):
    """The limit by a Gauss rule in r."""
    x, weight = np.polynomial.legendre.leggauss(power)
    r = (1 + x) / 2
    p = weight / 2 * dim * r ** (dim - 1)
    miss = r - [tilted_mean(dim, w * v) for v in r]
    return p @ miss**2 / (p @ r**2)


@pytest.mark.parametrize("dim, w", [(1, 0.5), (2, 6.6), (5, 18.0), (10, 3.0)])
def test_definition(dim, w):
    assert ball_limit(dim, w) == pytest.approx(by_quadrature(dim, w, 24), rel=1e-8)


@pytest.mark.parametrize("dim, w, share", [(2, 6.6, 0.025), (5, 18.9, 0.016), (10, 59.7, 0.0064)])
def test_numbers_of_the_statement(dim, w, share):
    best = least_ball_limit(dim)
    assert best.w == pytest.approx(w, abs=0.05) and best.risk == pytest.approx(share, rel=0.035)
    assert ball_limit(dim, 1e6) > best.risk and 0 < best.error < 1e-9
    found = minimize_scalar(lambda v: by_quadrature(dim, v, 24), bounds=(0.8 * w, 1.2 * w), method="bounded")
    assert (best.w, best.risk) == pytest.approx((found.x, found.fun), rel=1e-5)


def test_sampled_tokens():
    """20,000 tokens at the limit's best window: the limit within 3 %, at the false-alarm rate of Z."""
    dim, n, rng = 2, 20_000, np.random.default_rng(3)
    best, errors = least_ball_limit(dim), []
    for _ in range(1500):
        x = rng.standard_normal((n + 1, dim))
        x *= (rng.random(n + 1) ** (1 / dim) / np.linalg.norm(x, axis=1))[:, None]
        tokens, query = x[1:], x[0]
        weights = np.exp(best.w * tokens @ query)
        errors.append(np.sum((weights @ tokens / weights.sum() - query) ** 2) * (dim + 2) / dim)
    spread = np.std(errors) / len(errors) ** 0.5
    assert abs(np.mean(errors) - best.risk) < 0.03 * best.risk + Z * spread < 0.3 * best.risk


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ball_limit(0, 1.0), "dim=0: must be an integer >= 1 and <= 64"),
        (lambda: ball_limit(3, 0.0), "w=0.0: must be a finite number >= 0.01"),
        (lambda: least_ball_limit(65), "dim=65: must be an integer"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
