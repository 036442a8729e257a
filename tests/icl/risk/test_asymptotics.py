"""Laws and limits for many tokens against the exact risk, integrals, and sampled tokens."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import betaln, eval_gegenbauer, gammaln, ive

from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, Network, Quadratic, ReLU, Sign, Zonal
from icl.tasks.gegenbauer import multiplicity


@dataclass(frozen=True)
class Fractional(Zonal):
    """A class of order rho, between 0 and 4 but not 2, with constant 1.

    Its variogram is ``|x - x'|^rho``, or ``A (1 - cos theta) - |x - x'|^rho`` with A so that ``a_1 = 1``.
    """

    order: float = 0.5

    @property
    def singular_term(self):
        return self.order, 1.0

    def _power(self, degree):
        """Return the coefficients of |x - x'|^rho of degrees 0, 1, ..., each with its sign."""
        s, h = self.order / 2, (self.dim - 1) / 2
        mean = 4**s * math.exp(betaln(h + s, h) - betaln(h, h))
        j = np.arange(max(degree, 1))
        ratios = np.concatenate([[1.0], np.cumprod((j - s) / (j + s + self.dim - 1))])
        return mean * multiplicity(self.dim, max(degree, 1)) * ratios

    def spectrum(self, degree):
        power = self._power(degree)
        total = power.sum()  # the sum over all degrees is zero
        if self.order < 2:
            return -power[1 : degree + 1], float(total)
        return np.concatenate([[1.0], power[2:]])[:degree], max(float(-total), 0.0)

    def variogram(self, theta):
        power = (2 * np.sin(np.asarray(theta) / 2)) ** self.order
        if self.order < 2:
            return power
        return (1 - self._power(1)[1]) * 2 * np.sin(np.asarray(theta) / 2) ** 2 - power

    def covariance(self, cosine):
        a, rest = self.spectrum(1)
        return a.sum() + rest - self.variogram(np.arccos(np.clip(cosine, -1, 1)))


#: Smooth, kinked, jumping and rougher classes.
LAWFUL = [
    *map(Affine, (2, 3, 5, 8)),
    Cosine(2, 0.5),
    Cosine(3, 6.0),
    Cosine(8, 2.0),
    Quadratic(3),
    Linear(4),
]
LAWFUL += [*map(ReLU, (2, 3, 5, 8)), Network(3, 2.0), *(Sign(d, 0.7) for d in (2, 3, 5, 8))]
LAWFUL += [
    Fractional(4, 0.5),
    Fractional(3, 1.5),
    Fractional(5, 0.8),
    Fractional(3, 2.5),
    Fractional(4, 3.3),
]


def panels(edges, power=0):
    """Return nodes and weights of Gauss rules between edges, times ``sin^power``."""
    x, weight = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half * (1 + x)).ravel()
    return nodes, (half * weight).ravel() * np.sin(nodes) ** power


def infinite_bias(task, w):
    """Return the bias of infinitely many tokens, ``2 E gamma(x, x_q) - E gamma(x, x')``, by quadrature.

    Tokens have the density exp(w x.x_q), angles theta to the query, and their directions around it an angle
    phi, so that ``sin^2 = sin^2((theta - theta') / 2) + sin theta sin theta' sin^2(phi / 2)`` is that of half
    the angle between two of them.
    """
    near = np.geomspace(1e-3, 1, 6)
    theta, p = panels(np.concatenate([[0], near, np.arange(2, 12)]) / math.sqrt(w), task.dim - 2)
    p *= np.exp(-2 * w * np.sin(theta / 2) ** 2)
    p /= p.sum()
    phi, q = np.array([0.0, np.pi]), np.array([0.5, 0.5])
    if task.dim > 2:
        phi, q = panels(np.concatenate([[0], np.pi * near]), task.dim - 3)
        q /= q.sum()
    pair = 0.0
    for angle, share in zip(phi, q, strict=True):
        square = np.sin((theta[:, None] - theta) / 2) ** 2
        square += np.outer(np.sin(theta), np.sin(theta)) * np.sin(angle / 2) ** 2
        pair += share * p @ task.variogram(2 * np.arcsin(np.sqrt(square))) @ p
    return 2 * p @ task.variogram(theta) - pair


def off_bias(task, law):
    w = 1e4 if task.singular_term is None else 1e8
    return abs(infinite_bias(task, w) / (law.constant * w ** (-law.order / 2)) - 1)


@pytest.mark.parametrize("task", LAWFUL, ids=str)
def test_the_constant_of_the_law(task):
    """A wrong constant, a wrong order, or a law without the pair of tokens is detected."""
    law = asymptotics.window_law(task)
    assert off_bias(task, law) < 0.01
    assert off_bias(task, replace(law, constant=1.05 * law.constant)) > 0.03
    assert off_bias(task, replace(law, order=law.order + 0.1)) > 0.03
    pair = 2 ** (law.order / 2) / 2  # E |xi - xi'|^rho over 2 E |xi|^rho
    if law.order < 4:
        assert off_bias(task, replace(law, constant=law.constant / abs(1 - pair))) > 0.03


@pytest.mark.parametrize("task", LAWFUL, ids=str)
def test_bias_and_noise_of_the_exact_risk(task):
    """Corrections are of relative order 1 / w, at a kink w^-1/2, with constants growing in d."""
    w, law = 1e5, asymptotics.window_law(task)
    r = population_risk(task, w, 1e40, 1.0)
    closeness = {4.0: 1e-3, 3.0: 0.03}.get(law.order, 0.03 if law.order > 2 else 1e-3)
    assert r.bias / (law.constant * w ** (-law.order / 2)) == pytest.approx(1, abs=closeness)
    noise = math.exp(asymptotics._log_noise_constant(task.dim)) * w ** ((task.dim - 1) / 2)
    assert r.noise * 1e40 == pytest.approx(noise, rel=1e-3)


def random_settings():
    rng = np.random.default_rng(11)
    for i in range(6):
        d, scale = int(rng.integers(2, 9)), float(10 ** rng.uniform(-0.7, 0.3))
        rough, kinked = (Fractional(d, rng.uniform(0.3, 1.9)), Fractional(d, rng.uniform(2.2, 3)))
        kinds = [
            Affine(d, scale),
            Quadratic(d, scale),
            ReLU(d, scale),
            Sign(d, scale),
            rough,
            kinked,
        ]
        yield kinds[i], float(10 ** rng.uniform(0, 0.7))


def sharp_risk(task, n, noise_std):
    """Return the least risk of the law: the bias at its window, and rho / (d - 1) of it as noise."""
    law, w = asymptotics.window_law(task), asymptotics.sharp_window(task, n, noise_std)
    return law.constant * w ** (-law.order / 2) * (1 + law.noise_over_bias)


def window_price(task, factor):
    """Return the risk of the law over the least one, with ``factor`` times the best window."""
    law = asymptotics.window_law(task)
    noise = law.noise_over_bias * factor ** ((task.dim - 1) / 2)
    return (factor ** (-law.order / 2) + noise) / (1 + law.noise_over_bias)


@pytest.mark.parametrize("task, noise_std", [*random_settings()], ids=str)
def test_the_law_of_the_window(task, noise_std):
    law = asymptotics.window_law(task)
    n = asymptotics.sharp_context(task, [300.0, 3e4], noise_std)
    best = optimal_window(task, n, noise_std)
    off_risk = np.abs(np.log(best.risk / sharp_risk(task, n, noise_std)))
    window = asymptotics.sharp_window(task, n, noise_std)

    def off(window):
        return np.maximum(np.abs(np.log(best.w / window)), off_risk)

    near, far = off(window)
    assert far < 0.12 and far < 0.5 * near
    # planted: the balance of both terms, not of their derivatives
    if abs(math.log(law.noise_over_bias)) > 0.3:
        near, far = off(window / law.noise_over_bias**law.exponent)
        assert not far < 0.5 * near


@pytest.mark.parametrize("dim", [2, 3, 5, 8])
@pytest.mark.parametrize("reach", [0.4, 1.9])
def test_a_region_turned_at_random(dim, reach):
    """The indicator of a cap, H times: beta = (sqrt 2 - 1) / sqrt pi H^2 nu, nu the boundary over the sphere.

    By Funk and Hecke its coefficients are ``N_l E[f P_l]^2``, and ``E[f P_l]`` is a boundary term.
    """
    H, w, edge, degrees = 1.7, 1e5, math.cos(reach), np.arange(1, 3000)
    p0 = math.exp(gammaln(dim / 2) - gammaln((dim - 1) / 2)) / math.sqrt(math.pi)
    scaled = eval_gegenbauer(degrees - 1, dim / 2, edge) / eval_gegenbauer(
        degrees - 1, dim / 2, 1.0
    )
    mean = H * p0 * math.sin(reach) ** (dim - 1) * scaled / (dim - 1)
    nu = dim / 2 - 1
    missed = 1 - ive(nu + degrees, w) / ive(nu, w)
    bias = np.sum(multiplicity(dim, degrees[-1])[1:] * mean**2 * missed**2)
    share = p0 * math.sin(reach) ** (dim - 2)
    beta = (math.sqrt(2) - 1) / math.sqrt(math.pi) * H**2 * share
    # a_l ~ l^-2 on average, so the terms that are left out add
    bias += H**2 * share / math.pi / degrees[-1]
    assert abs(bias / (beta * w**-0.5) - 1) < 2e-3
    assert abs(bias / (1.05 * beta * w**-0.5) - 1) > 0.04
    if dim == 5:  # the hemisphere is the sign class, with H = 2
        half = math.sin(math.pi / 2) ** (dim - 2) * p0 * 4 * (math.sqrt(2) - 1) / math.sqrt(math.pi)
        assert asymptotics.window_law(Sign(dim)).constant == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("task", [Cosine(3, 4.0), Cosine(5, 0.1), Quadratic(4)])
def test_exact_windows_reach_the_law(task):
    best = optimal_window(task, [1e50, 1e70], noise_std=0.5)
    assert best.w == pytest.approx(asymptotics.sharp_window(task, [1e50, 1e70], 0.5), rel=1e-9)


def test_exponents():
    """Jumps have 2/d, the printed upper end; smooth functions the textbook's, in d - 1 dimensions."""
    for task, order in ((Affine(4), 4), (ReLU(4), 3), (Sign(4), 1), (Fractional(4, 0.5), 0.5)):
        law = asymptotics.window_law(task)
        assert law.order == order
        assert law.exponent == pytest.approx(2 / (3 + order))
    assert asymptotics.window_law(Sign(4)).exponent == asymptotics.printed_exponents(4)[1] == 0.5
    assert asymptotics.window_law(Fractional(4, 0.5)).exponent > 0.5
    assert asymptotics.window_law(Affine(5, 2.0)).constant == pytest.approx(4 * 16 / 60, rel=1e-12)
    assert asymptotics.printed_exponents(4) == (0.25, 0.5)


@pytest.mark.parametrize(
    "term", [None, (2.0, 1.0), (4.5, 1.0), (0.0, 1.0), (1.0, -0.1), (3.0, math.nan)]
)
def test_classes_without_a_law(term):
    class Undeclared(Zonal):
        """ReLU under another name, whose spectrum falls too slowly for a smooth law."""

        singular_term = term

        def covariance(self, cosine):
            return ReLU(self.dim).covariance(cosine)

    error = (
        (TypeError, "declares no singular_term") if term is None else (ValueError, "singular_term=")
    )
    with pytest.raises(error[0], match=error[1]):
        asymptotics.window_law(Undeclared(3))


def test_constants_have_no_window():
    nothing = Linear(3, 1e-100, offset=1.0)
    assert asymptotics.sharp_window(nothing, 1e4, 1.0) < 1e-50


PENALTIES = [(2, ReLU, 0.25), (3, ReLU, 4.0), (5, Affine, 4.0), (3, Affine, 0.1), (5, Sign, 0.3)]


@pytest.mark.parametrize("dim, cls, ratio", PENALTIES)
def test_mismatch_penalty(dim, cls, ratio):
    task = cls(dim)
    n = asymptotics.sharp_context(task, 1e4, 1.0)
    best = optimal_window(cls(dim, ratio), float(n), 1.0).risk
    loss = mismatch_risk(cls(dim), cls(dim, ratio), float(n), 1.0).total / best
    assert loss == pytest.approx(asymptotics.mismatch_penalty(cls(dim), ratio), rel=0.02)
    factor = ratio ** (-2 * asymptotics.window_law(task).exponent)
    price, planted = (window_price(task, f) for f in (factor, factor**0.5))
    assert price == pytest.approx(asymptotics.mismatch_penalty(task, ratio), rel=1e-12)
    assert abs(loss / planted - 1) > 0.03  # the best w as a power of L instead of L^2


@pytest.mark.parametrize("task", [ReLU(2), ReLU(5), Affine(3), Affine(8), Sign(5)], ids=str)
def test_window_penalty(task):
    factor = np.array([0.3, 0.6, 1.7, 3.0])
    found = asymptotics.window_penalty(task, factor)
    assert found == pytest.approx(window_price(task, factor), rel=1e-12)
    n = float(asymptotics.sharp_context(task, 1e4, 1.0))
    best = optimal_window(task, n, 1.0)
    assert population_risk(task, factor * best.w, n, 1.0).total / best.risk == pytest.approx(
        found, rel=0.03
    )


def test_one_price_for_a_wrong_slope_noise_and_length():
    """The three mistakes of the factor four in n L^2 / sigma^2 are windows of one ratio."""
    law = asymptotics.window_law(ReLU(5))
    n = float(asymptotics.sharp_context(ReLU(5), 1e4, 1.0))
    right, *wrong = (
        float(optimal_window(task, length, sigma).w)
        for task, length, sigma in (
            (ReLU(5), n, 1.0),
            (ReLU(5, 2.0), n, 1.0),
            (ReLU(5), n, 0.5),
            (ReLU(5), 4 * n, 1.0),
        )
    )
    assert np.array(wrong) / right == pytest.approx(4**law.exponent, rel=0.01)
    price = asymptotics.mismatch_penalty(ReLU(5), 0.5)
    assert price == pytest.approx(asymptotics.window_penalty(ReLU(5), 4**law.exponent), rel=1e-12)


@pytest.mark.parametrize(
    "task, other", [(ReLU(3), Affine(3)), (Sign(3), ReLU(3)), (Affine(3), ReLU(3))]
)
def test_the_window_of_a_class_of_another_order_costs_a_power(task, other):
    """On order rho the window of order rho' costs a power of n: a smoother one as bias, else as noise."""
    own, foreign = asymptotics.window_law(task), asymptotics.window_law(other)
    m, n = task.dim - 1, asymptotics.sharp_context(task, [1e4, 1e5], 1.0)
    price = (
        population_risk(task, optimal_window(other, n, 1.0).w, n, 1.0).total
        / optimal_window(task, n, 1.0).risk
    )
    gap = foreign.exponent - own.exponent
    power = max(-own.order / 2 * gap, m / 2 * gap)
    assert np.diff(np.log(price)) / np.diff(np.log(n)) == pytest.approx(power, abs=0.02)
