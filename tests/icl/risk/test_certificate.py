"""The certificate of the form of the minimizer: its inequalities, its bounds, and where it must give up."""

import numpy as np
import pytest

from icl.risk import certificate, certify_isotropy
from icl.risk.integrals import attended_gegenbauer_means as means
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Tanh
from icl.tasks.gegenbauer import Polynomials

CLASSES = [ReLU(2), ReLU(5), Quadratic(3), Cosine(3, 4.0), Cosine(5, 6.0), Tanh(3, 2.0), Affine(4)]


@pytest.mark.parametrize("dim", [2, 3, 8])
@pytest.mark.parametrize("n", [2, 3, 20, 10**6])
def test_inequalities_of_the_docstring(dim, n):
    """On a grid of kappa: what the certificate takes as proved."""
    kappa = np.concatenate([[1e-3], np.geomspace(0.01, 300, 60)])
    m = np.array([means(dim, k, n, 24, 24) for k in kappa])
    degree, step, rise = np.arange(1, 25), np.diff(kappa)[:, None], np.diff(m[:, :1], axis=0)
    steep = degree * (degree + dim - 2) / (dim - 1)
    change, slack = np.abs(np.diff(m, axis=0)), 1e-12
    assert np.all(rise > 0)
    second_rise = np.diff(m[:, 1])  # of one sign, and zero for two tokens: `icl.rigor.form`
    assert np.all(second_rise[kappa[1:] < 30] > 0 if n > 2 else np.abs(second_rise) < slack)
    assert np.all(second_rise >= -slack)
    assert np.all(change <= np.minimum(steep * rise, np.sqrt(step * rise)) + slack)
    assert np.all(np.abs(m[:, 1:]) <= 2 * kappa[:, None] * m[:, :1] + slack)
    assert np.all(np.abs(m[:, 2:]) <= 7 / 6 * kappa[:, None] ** 3 + slack)
    assert np.all(m[-1, 0] - m[:, 0] <= np.log(n) / kappa + slack)
    # where intervals are narrow, the bound from second derivatives
    for k in (0.5, 3.0, 40.0):
        left, middle, right = (means(dim, v, n, 24, 24) for v in (k, k + 0.05, k + 0.1))
        bulge = 0.1 * np.exp(0.2) * (right[0] - left[0]) / 4
        assert np.all(middle >= np.minimum(left, right) - bulge - slack)
    # the first term near zero, for even classes
    second = (1 - 1 / n) * (1 - 2 / n) * (1 - 1 / dim) * 2 / ((dim + 2) * (dim - 1))
    assert m[1, 1] / (0.01**2 / 2) == pytest.approx(second, abs=1e-4)


@pytest.mark.parametrize("task, n", [*zip(CLASSES, [3, 20, 3, 20, 3, 3, 20], strict=True)], ids=str)
def test_bounds_hold_inside_intervals(task, n):
    """Random intervals, and inside them random kappa and c, with all degrees up to 600 of the spectrum."""
    part, rng = certificate._expand(task), np.random.default_rng(n)
    values = lambda kappa: means(task.dim, kappa, n, int(part.degree[-1]), 24)  # noqa: E731
    a, _ = task.spectrum(600)
    for _ in range(6):
        left = 10 ** rng.uniform(-1.5, 1.5)
        right = left * (1 + 10 ** rng.uniform(-2, 0)) if rng.random() < 0.8 else np.inf
        low = certificate._lower_bound_on(part, n, left, right, values)
        for kappa in rng.uniform(left, min(right, 8 * left), 3):
            m = means(task.dim, kappa, n, 600, 24)
            theta = np.concatenate([rng.uniform(0.01, np.pi - 0.01, 200), [0.01, np.pi - 0.01]])
            missed = Polynomials(task.dim, theta).take(601)[1:]
            turned = (a * m) @ missed / (a[part.first - 1] * m[part.first - 1] * missed[part.first - 1])
            assert turned.min() >= low - 1e-9


@pytest.mark.parametrize("task", CLASSES, ids=str)
@pytest.mark.parametrize("n", [3, 20, 10**6])
def test_certificates(task, n):
    proof = certify_isotropy(task, n)
    fails = (task, n) == (Cosine(5, 6.0), 3)  # turning away lowers the risk at large kappa
    assert proof.margin == -np.inf if fails else 0 < proof.margin <= proof.least < 1.1


def test_the_failure_is_real():
    """Where it gives up for a negative value, its value at that kappa, by all degrees on a fine grid."""
    task = Cosine(5, 6.0)
    proof = certify_isotropy(task, 3)
    a, m = task.spectrum(60)[0], means(5, proof.kappa, 3, 60)
    missed = Polynomials(5, np.linspace(0.001, np.pi / 2, 2000)).take(61)[1:]
    turned = (a * m) @ missed / (a[1] * m[1] * missed[1])
    assert -1 < turned.min() <= proof.least < 0 and proof.least == pytest.approx(turned.min(), abs=1e-3)


def test_two_tokens():
    """n = 2: all even m_l vanish; even classes do not feel the direction, ReLU has its linear part."""
    assert np.abs(means(5, 7.0, 2, 12)[1::2]).max() < 1e-13
    # high degrees, where the mesh in u must follow them
    assert np.abs(means(2, 256.0, 2, 128)[1::2]).max() < 1e-12
    assert certify_isotropy(Quadratic(5), 2).margin == 0
    assert certify_isotropy(ReLU(5), 2).margin > 0.4


def test_polynomials_between_chebyshev_points():
    part = certificate._expand(ReLU(3))
    rng = np.random.default_rng(0)
    theta = np.linspace(0.001, np.pi - 0.001, 20_000)
    rows = Polynomials(3, theta).take(int(part.degree[-1]) + 1)[part.degree]
    for _ in range(20):
        b = rng.standard_normal(part.degree.size)
        seen, all_values = b @ part.table, b @ (rows / rows[0])
        middle, half = (seen.max() + seen.min()) / 2, (seen.max() - seen.min()) / 2
        assert np.abs(all_values - middle).max() <= part.stretch * half * (1 + 1e-9)
