"""Covariances, their expansions, and sampled functions agree with each other."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import eval_gegenbauer

from icl.covariates import uniform_sphere
from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import (
    CLASSES,
    Affine,
    Cosine,
    Linear,
    Network,
    PhasedCosine,
    Quadratic,
    ReLU,
    Sign,
    Spectrum,
    Tanh,
    Zonal,
    check_class,
    make_task,
)
from icl.tasks.gegenbauer import Polynomials, angle_quadrature, multiplicity, shortfall
from icl_book.statistics import Z

DIMS = [2, 3, 8, 33]
TASKS = [cls(d, 0.3) for d in DIMS for cls in (Affine, ReLU)]
TASKS += [Sign(d, 0.3) for d in DIMS]
TASKS += [Cosine(d, L) for d in DIMS for L in (0.1, 1.0, 10.0)]
TASKS += [PhasedCosine(d, L) for d in DIMS for L in (0.1, 1.0, 10.0)]


@pytest.mark.parametrize("dim", [2, 3, 8, 200])
@pytest.mark.parametrize("even", [False, True])
def test_polynomials_in_pieces_are_those_at_once(dim, even):
    """The even ones have a separate recurrence."""
    theta = np.r_[0.0, np.geomspace(1e-8, np.pi / (2 if even else 1), 41)]
    polynomials = Polynomials(dim, theta, even)
    ours = np.concatenate([polynomials.take(many) for many in (1, 2, 40, 300)])
    once = Polynomials(dim, theta).take(2 * 343)[:: 2 if even else 1][:343]
    # rounded differently: by as much as an angle's last digit moves P_l
    assert np.all(np.abs(ours - once) <= 1e-12 * once + 1e-14)


@pytest.mark.parametrize("dim", DIMS)
def test_polynomials_are_normalized_gegenbauer_polynomials(dim):
    theta, a = np.array([1e-9, 1e-3, 0.3, 1.2, 3.0]), dim / 2 - 1
    for degree, q in enumerate(Polynomials(dim, theta).take(13)):
        if dim == 2:
            expected = 2 * np.sin(degree * theta / 2) ** 2
            assert q[0] == pytest.approx(expected[0], rel=1e-12, abs=0)
            assert np.allclose(q, expected, atol=1e-13)
        else:
            p = eval_gegenbauer(degree, a, np.cos(theta)) / eval_gegenbauer(degree, a, 1.0)
            assert np.allclose(1 - q, p, atol=1e-13)


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_the_angle_law_makes_polynomials_orthogonal(dim):
    """E P_k P_l = 1 / N_l for k = l, else 0; and a sum of them is taken apart again."""
    theta, p = angle_quadrature(dim, 80)
    P = 1 - Polynomials(dim, theta).take(13)
    assert np.allclose((P * p) @ P.T, np.diag(1 / multiplicity(dim, 12)), atol=1e-12)
    a = np.random.default_rng(0).random(12)
    gamma = shortfall(dim, a, theta[None])
    assert gamma.shape == (1, 80) and np.allclose(gamma, a @ (1 - P[1:]), rtol=1e-13)
    assert np.allclose(
        shortfall(dim, a[1::2], theta, even=True), a[1::2] @ (1 - P[2::2]), rtol=1e-12
    )


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_expansion_sums_to_the_variogram(task):
    """gamma(theta) = sum_l a_l (1 - P_l): the closed forms of a_l against the closed form of k."""
    degree = 4000
    a, rest = task.spectrum(degree)
    assert (a >= 0).all() and rest >= 0
    theta = np.array([0.05, 0.7, np.pi / 2, 2.8])
    q = Polynomials(task.dim, theta).take(degree + 1)[1:]
    expected = Zonal.variogram(task, theta)
    # the degrees left out oscillate; their sum lies within [0, 2 rest]
    assert np.all(np.abs(a @ q + rest - expected) <= rest + 1e-12)
    # the difference k(1) - k(cos theta) has itself an error of this size
    assert np.allclose(task.variogram(theta), expected, rtol=1e-9, atol=3e-13)


@pytest.mark.parametrize("kind", [ReLU, Sign])
@pytest.mark.parametrize("dim", [2, 3, 8, 64])
def test_rest_of_a_slow_spectrum(dim, kind):
    """The tail is a sum of positive terms: cutting at 40 or at 20000 must give one total."""
    short, tail = kind(dim).spectrum(40)
    long, far = kind(dim).spectrum(20_000)
    assert tail == pytest.approx(long[40:][::-1].sum() + far, rel=1e-12)


@pytest.mark.parametrize("dim", [2, 3, 8, 16])
def test_the_spectrum_of_signs(dim):
    """By Funk and Hecke with Gauss rules on the half where the function is one; k(1) is its square."""
    theta, weight = np.polynomial.legendre.leggauss(120)
    theta, weight = (theta + 1) * np.pi / 4, weight * np.pi / 4
    p = weight * np.sin(theta) ** (dim - 2)
    mean = (1 - Polynomials(dim, theta).take(26))[1:] @ p / p.sum()
    mean[1::2] = 0
    a, rest = Sign(dim, 1.3).spectrum(25)
    assert np.allclose(a, 1.69 * multiplicity(dim, 25)[1:] * mean**2, rtol=1e-9, atol=1e-14 * a[0])
    assert a.sum() + rest == pytest.approx(1.69, rel=1e-12)


def test_small_angles_keep_their_digits():
    theta = 1e-6
    assert ReLU(3).variogram(theta) == pytest.approx(
        theta**2 / 18 * (1 - 2 * theta / 3 / np.pi), rel=1e-12
    )
    assert Affine(3).variogram(theta) == pytest.approx(theta**2 / 18, rel=1e-12)


LIPSCHITZ = [name for name, kind in CLASSES.items() if kind is not Sign]
SAMPLED = [make_task(name, dim, 1.7) for name in LIPSCHITZ for dim in (2, 5)]
SAMPLED += [Sign(2, 1.7), Sign(5, 1.7)]
SAMPLED += [Tanh(2, 2.0, 0.5), Tanh(3, 2.0, 6.0), Tanh(7, 2.0, 20.0)]
SAMPLED += [Network(3, 2.0, 1), Network(3, 2.0, 8), Spectrum(3, (0.0, 0.0, 0.0, 1.0))]


@pytest.mark.parametrize("task", SAMPLED, ids=str)
def test_sampled_functions_have_the_covariance(task):
    check_class(task)


def test_flat_functions_are_linear_ones():
    flat, linear = Tanh(3, 1.5, 1e-3), Linear(3, 1.5)
    theta = np.linspace(0.01, 3.1, 7)
    assert np.allclose(flat.variogram(theta), linear.variogram(theta), rtol=1e-5)


@pytest.mark.parametrize("dim", [2, 3, 30, 1000, 10_000])
@pytest.mark.parametrize("steepness", [0.5, 20.0])
def test_the_power_of_tanh_is_its_mean_square(dim, steepness):
    """The mean square over the density of one coordinate, and every second coefficient is zero."""
    # the midpoint rule, whose error is about 1e-11 in three dimensions and far smaller in others
    angle = np.pi * ((np.arange(200_000) + 0.5) / 200_000 - 0.5)
    density = np.cos(angle) ** (dim - 2)
    power = density @ np.tanh(steepness * np.sin(angle)) ** 2 / density.sum()
    a = Tanh(dim, steepness, steepness).coefficients()
    assert a.sum() == pytest.approx(power, rel=1e-9) and a[1::2].sum() < 1e-20 * power


@pytest.mark.parametrize("name", LIPSCHITZ)
def test_functions_are_lipschitz_and_the_constant_is_reached(name):
    assert 0.7 * 2.5 < check_class(make_task(name, 3, 2.5)) <= 2.5 * (1 + 1e-12)


def test_a_phase_takes_the_mean_away_and_the_parity():
    """cos(L u.x + phase) = cos(L u.x) cos(phase) - sin(L u.x) sin(phase): half of each power."""
    wave, even = PhasedCosine(3, 2.0), Cosine(3, 2.0)
    a, rest = wave.spectrum(60)
    assert rest < 1e-15
    assert 2 * a[1::2] == pytest.approx(even.spectrum(60)[0][1::2], rel=1e-12)
    assert wave.covariance(1.0) == pytest.approx(0.5)  # it has no part of degree zero
    u = uniform_sphere(stream(2, "covariates"), 100_000, 3).numpy()
    apart = np.array([1 - np.cos(1.0), -np.sin(1.0), 0.0])
    waves = np.cos(2 * u @ apart) / 2
    error = waves.std() / len(waves) ** 0.5
    assert abs(waves.mean() - wave.covariance(np.cos(1.0))) < Z * error


def user_class(task):
    class Mine(Zonal):
        def covariance(self, cosine):
            return task.covariance(cosine)

    return Mine(task.dim)


@pytest.mark.parametrize(
    "task", [Affine(5), ReLU(5), Cosine(2, 3.0), Quadratic(5, 2.0), ReLU(256)], ids=str
)
def test_a_covariance_alone_gives_the_risk(task):
    n = np.array([1.0, 3.0, 30.0, 1e4, 1e8])
    for w in (0.0, 100.0, 1000.0):
        ours, exact = (population_risk(t, w, n, 0.0).bias for t in (user_class(task), task))
        assert np.allclose(ours, exact, rtol=1e-9, atol=0), (w, ours / exact - 1)


@dataclass(frozen=True)
class Plain(Zonal):
    """A user-defined class without a Lipschitz constant."""

    def covariance(self, cosine):
        return cosine


def test_a_class_is_found_by_its_name_whether_or_not_it_has_a_lipschitz_constant(monkeypatch):
    monkeypatch.setitem(CLASSES, "plain", Plain)
    assert make_task("ReLU", 3, 2.0) == make_task("relu", 3, 2.0) == ReLU(3, 2.0)
    assert make_task("plain", 3) == Plain(3)
    with pytest.raises(
        ValueError, match="^lipschitz=2.0: the class 'plain' has no parameter lipschitz; allow"
    ):
        make_task("plain", 3, 2.0)
    for name in ("plane", None):
        with pytest.raises(ValueError, match=f"^name={name!r}: allowed are affine, .*, plain$"):
            make_task(name, 3)
    assert optimal_window(make_task("plain", 3), n=100, noise_std=0.5).w > 1


def test_signs_jump_without_a_lipschitz_constant():
    x = uniform_sphere(stream(1, "covariates"), 400, 40, 3)
    f = Sign(3, 2.5).sample(stream(1, "tasks"), 400)(x)
    assert sorted(set(f.flatten().tolist())) == [-2.5, 2.5]
    assert check_class(Sign(3, 2.5)) > 10 * 2.5
    assert not hasattr(Sign(3), "lipschitz")
