"""The sharp laws against the exact risk, and their constants against integrals."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal


def test_kink_constant_is_its_integral():
    value, _ = quad(lambda u: (norm.pdf(u) - u * norm.sf(u)) ** 2, 0, np.inf, epsabs=1e-14)
    assert pytest.approx(8 * value, rel=1e-10) == asymptotics.KINK


@pytest.mark.parametrize("dim", [2, 3, 5, 8])
@pytest.mark.parametrize("cls", [Affine, ReLU])
def test_bias_and_noise_laws(dim, cls):
    w = 1e5
    constant, exponent = asymptotics.bias_law(cls(dim))
    r = population_risk(cls(dim), w, 1e40, 1.0)
    # corrections are of relative order w^-1 (affine) and w^-1/2 (ReLU), with constants growing in d
    assert r.bias / (constant * w**exponent) == pytest.approx(1, abs=1e-3 if cls is Affine else 0.03)
    assert r.noise * 1e40 / w ** ((dim - 1) / 2) == pytest.approx(asymptotics.noise_constant(dim), rel=1e-3)


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("cls, wrong", [(Affine, ReLU), (ReLU, Affine)])
def test_sharp_window(dim, cls, wrong):
    n = 1e16
    w = optimal_window(cls(dim), n, 1.0).w
    assert w / asymptotics.sharp_window(cls(dim), n, 1.0) == pytest.approx(1, abs=0.02)
    assert w / asymptotics.sharp_window(wrong(dim), n, 1.0) != pytest.approx(1, abs=0.2)


def test_exponents():
    assert asymptotics.window_exponent(Affine(3)) == pytest.approx(2 / 6)
    assert asymptotics.window_exponent(ReLU(3)) == pytest.approx(2 / 5)
    assert asymptotics.printed_exponents(4) == (0.25, 0.5)
    assert asymptotics.sketch_exponents(4) == (1 / 6, 1 / 3)
    with pytest.raises(TypeError, match="smooth classes only"):
        asymptotics.bias_law(Kinked(3))


@pytest.mark.parametrize(
    "task", [Cosine(2, 0.5), Cosine(3, 6.0), Cosine(8, 2.0), Quadratic(3), Linear(4)], ids=str
)
def test_smooth_classes_follow_their_laplacian(task):
    constant, exponent = asymptotics.bias_law(task)
    w = 1e6
    bias = population_risk(task, w, 1e40, 0.0).bias
    assert exponent == -2 and bias / (constant * w**-2.0) == pytest.approx(1, rel=1e-3)


def test_the_affine_law_is_the_closed_form():
    assert asymptotics.bias_law(Affine(5, 2.0))[0] == pytest.approx(4 * 16 / 60, rel=1e-12)


class Kinked(Zonal):
    """ReLU by another name: its spectrum falls too slowly for a smooth law."""

    def covariance(self, cosine):
        return ReLU(self.dim).covariance(cosine)


@pytest.mark.parametrize(
    "dim, cls, ratio", [(2, ReLU, 0.25), (3, ReLU, 4.0), (5, Affine, 4.0), (3, Affine, 0.1)]
)
def test_mismatch_penalty(dim, cls, ratio):
    task = cls(dim)
    n = round((1e4 / asymptotics.sharp_window(task, 1.0, 1.0)) ** (1 / asymptotics.window_exponent(task)))
    best = optimal_window(cls(dim, ratio), float(n), 1.0).risk
    loss = mismatch_risk(cls(dim), cls(dim, ratio), float(n), 1.0).total / best
    assert loss == pytest.approx(asymptotics.mismatch_penalty(cls(dim), ratio), rel=0.02)


def test_mismatch_penalty_is_a_price():
    ratio = np.geomspace(0.01, 100, 41)
    for cls in (Affine, ReLU):
        price = asymptotics.mismatch_penalty(cls(3), ratio)
        assert price[20] == pytest.approx(1.0) and np.all(np.delete(price, 20) > 1)


def test_risk_exponents():
    assert asymptotics.risk_exponent(Affine(5)) == pytest.approx(-4 / 8)
    assert asymptotics.risk_exponent(ReLU(5)) == pytest.approx(-3 / 7)
