"""The sharp laws against the exact risk, and their constants against integrals."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
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
    exact = optimal_window(task, n, 0.5)
    assert asymptotics.many_token_window(task, n, 0.5) == pytest.approx(exact.w, rel=3e-5)
    far = asymptotics.sharp_context(task, 2e6, 0.5)
    assert asymptotics.many_token_window(task, far, 0.5) == pytest.approx(2e6, rel=1.3e-3)


def test_many_tokens_beyond_all_contexts():
    n = np.array([1e50, 1e60])
    w = asymptotics.many_token_window(ReLU(24), n, 1.0)
    assert np.diff(np.log(w)) / np.diff(np.log(n)) == pytest.approx(2 / 26, rel=0.01)
    with pytest.raises(ValueError, match="no minimum between 1e-9 and 1e7"):
        asymptotics.many_token_window(Affine(2), 1e60, 1.0)


def test_sharp_context_inverts_the_law():
    n = asymptotics.sharp_context(ReLU(8), [1e3, 1e5], 0.3)
    assert asymptotics.sharp_window(ReLU(8), n, 0.3) == pytest.approx([1e3, 1e5], rel=1e-9)
    assert np.all(n == np.round(n))
