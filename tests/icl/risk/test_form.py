"""Each step of the proof on the form of the minimizer, with planted errors that must be noticed."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import roots_hermitenorm, roots_jacobi

from icl.risk import matrix_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Spectrum, Tanh, Zonal
from oracles.reflection import circle, circle_means, mean_weight, turning


def rotation(dim, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.kron(np.eye(dim // 2), [[c, -s], [s, c]])


def settings(count):
    rng = np.random.default_rng(0)
    kinds = [ReLU, Affine, Tanh, Quadratic, lambda dim: Cosine(dim, 3.0)]
    for i in range(count):
        task = kinds[i % 5]((2, 4)[i % 2])
        n, w = (int(np.exp(rng.uniform(np.log(3), np.log(200)))), float(rng.uniform(0.3, 12)))
        yield task, w, float(rng.uniform(0.1, 3.0)), n, float(rng.uniform(0, 1))


@pytest.mark.parametrize("task, w, angle, n, sigma", list(settings(20)))
def test_the_reflection_is_what_turning_adds_to_the_exact_risk(task, w, angle, n, sigma):
    turned = matrix_risk(task, w * rotation(task.dim, angle), n, sigma).total
    added = turned - population_risk(task, w, n, sigma).total
    assert 2 * turning(task.covariance, task.dim, w, angle, n) == pytest.approx(added, rel=1e-5)
    assert added > 0
    # planted: without the half, and a covariance of the wrong sign
    assert 2 * turning(task.covariance, task.dim, w, angle, n, 1.0) == pytest.approx(
        2 * added, rel=1e-5
    )
    assert turning(lambda t: -task.covariance(t), task.dim, w, angle, n) < 0


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("rho", [0.1, 2.0, 20.0])
@pytest.mark.parametrize("n", [2, 3, 20])
def test_attention_rises_with_the_score_and_for_three_tokens_both_ends_together_do(dim, rho, n):
    t = np.linspace(0, 1, 60)
    mu, opposite = mean_weight(t, dim, rho, n), mean_weight(-t, dim, rho, n)
    assert np.all(np.diff(mu) > 0) and np.all(np.diff(opposite) < 0)
    rise = np.diff(mu + opposite)
    if n == 2:  # even classes show nothing
        assert np.abs(rise).max() < 1e-12
    else:
        assert np.all(rise > 0)


def test_turning_costs_even_classes_with_two_examples_nothing():
    assert abs(turning(Quadratic(3).covariance, 3, 2.0, 1.0, 2)) < 1e-12
    assert turning(Quadratic(3).covariance, 3, 2.0, 1.0, 3) > 1e-6
    assert turning(ReLU(3).covariance, 3, 2.0, 1.0, 2) > 1e-6


@pytest.mark.parametrize("sign", [1, -1])
def test_the_inequality_on_pairs_of_tokens(sign):
    """Psi(m, b) + Psi(b, m) >= 0 for the middle m and half the difference b of t > 0 and t_2."""
    rng = np.random.default_rng(3)
    rho, Y = 10 ** rng.uniform(-2, 1.5, 20_000), 10 ** rng.uniform(-3, 3, 20_000)
    t, other = rng.uniform(0, 1, 20_000), rng.uniform(-1, 1, 20_000)
    m, b = (t + other) / 2, (t - other) / 2

    def psi(m, b):
        return (2 * np.cosh(rho * b) + np.exp(-rho * m) * Y) ** -2.0 - (
            2 * np.cosh(rho * b) + np.exp(rho * m) * Y
        ) ** -2.0

    least = (psi(m, b) + sign * psi(b, m)).min()
    assert least >= -1e-15 if sign > 0 else least < -0.01  # planted: the difference


def ridge_covariance(g, dim, theta):
    """Return E g(q.x) g(q.x') at these angles, q uniform, by averages over a circle and a radius."""
    square, p = np.ones(1), np.ones(1)
    if dim > 2:
        y, p = roots_jacobi(30, (dim - 4) / 2, 0)
        square, p = (1 + y) / 2, p / p.sum()
    phi = 2 * np.pi * (np.arange(400) + 0.5) / 400
    near = g(np.sqrt(square)[:, None] * np.cos(phi))
    return np.array(
        [p @ (near * g(np.sqrt(square)[:, None] * np.cos(phi - a))).mean(1) for a in theta]
    )


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_a_monotone_function_of_one_direction_has_a_monotone_covariance(dim):
    rng, theta = np.random.default_rng(dim), np.linspace(0, np.pi, 25)
    for _ in range(3):
        jumps, heights = rng.uniform(-1, 1, 4), rng.uniform(0, 1, 4)
        slope = rng.uniform(0, 2)

        def step(t, jumps=jumps, heights=heights, slope=slope):
            return slope * t + (heights * np.tanh(8 * (t[..., None] - jumps))).sum(-1)

        assert np.all(np.diff(ridge_covariance(step, dim, theta)) < 1e-9)
    # planted: odd is not enough where weights lie on the sphere
    harmonic = ridge_covariance(lambda t: (dim + 2) * t**3 - 3 * t, dim, theta)
    assert np.diff(harmonic).max() > 1e-3 * harmonic.max()


def test_odd_functions_of_gaussian_weights_have_a_monotone_covariance():
    x, p = roots_hermitenorm(60)
    p = p / p.sum()
    t = np.linspace(-1, 1, 41)
    both = t[:, None, None] * x[:, None] + np.sqrt(1 - t**2)[:, None, None] * x
    cubic = lambda x: x**3 - 4 * x  # noqa: E731
    k = np.einsum("tij,i,i,j->t", cubic(both), cubic(x), p, p)
    assert np.all(np.diff(k) > 0)


@dataclass(frozen=True)
class TwoWaves(Zonal):
    """Waves of four and of eighteen periods on the circle, with random phases."""

    share: float = 0.1

    def covariance(self, cosine):
        theta = np.arccos(np.clip(cosine, -1, 1))
        return (1 - self.share) * np.cos(4 * theta) + self.share * np.cos(18 * theta)


def test_on_the_circle_a_layer_at_right_angles_can_be_better():
    """Two codes find a quarter turn that is better than the best multiple of I."""
    task, right = TwoWaves(2), np.pi / 2
    best = optimal_window(task, 20, 0.0)
    assert (best.w, best.risk) == (
        pytest.approx(41.118, abs=1e-3),
        pytest.approx(0.5903354, abs=1e-7),
    )
    spectrum = {4: 0.9, 18: 0.1}
    assert circle(spectrum, best.w, 0.0, 20, 0.0) == pytest.approx(best.risk, abs=1e-9)
    for sigma, multiple, turned in ((0.0, 0.5903354, 0.5870764), (0.1, 0.5959769, 0.5928338)):
        assert optimal_window(task, 20, sigma).risk == pytest.approx(multiple, abs=1e-7)
        found = min(circle(spectrum, w, right, 20, sigma) for w in (43.0, 43.2, 43.4, 43.6, 43.726))
        assert found == pytest.approx(turned, abs=1e-6)
        exact = [matrix_risk(task, w * rotation(2, right), 20, sigma).total for w in (43.0, 43.726)]
        assert min(exact) < multiple - 0.003
    # no other multiple is better: the sign, and equal weights
    assert min(circle(spectrum, w, np.pi, 20, 0.0) for w in np.linspace(38, 45, 29)) > best.risk
    # planted: an eighth of a turn loses, and without the second wave nothing is gained
    assert circle(spectrum, 43.726, np.pi / 4, 20, 0.0) > 2
    one = {4: 1.0}
    assert circle(one, 43.0, right, 20, 0.0) == pytest.approx(
        circle(one, 43.0, 0.0, 20, 0.0), abs=1e-12
    )


def test_a_turn_of_no_agreement_loses_to_equal_weights():
    """Where sum a_l m_l cos(l alpha) <= 0, the risk is at least that of equal weights: q_l >= N >= 1/n."""
    rng = np.random.default_rng(5)
    tried = 0
    for _ in range(60):
        degrees = rng.choice(np.arange(1, 20), 2, replace=False)
        w, angle, n = (rng.uniform(0.5, 60), rng.uniform(0, np.pi), int(rng.integers(2, 40)))
        noise, m, q = circle_means(degrees, w, n)
        assert np.all(q >= noise - 1e-12) and noise >= 1 / n - 1e-12
        if m @ np.cos(degrees * angle) <= 0:
            tried += 1
            spectrum = dict.fromkeys(degrees.tolist(), 0.5)
            assert circle(spectrum, w, angle, n, 0.3) >= 1 + 1.09 / n - 1e-12
    assert tried > 10


@pytest.mark.parametrize("task", [Spectrum(3, (0.0,) * 8 + (1.0,)), Cosine(5, 8.0)], ids=str)
def test_short_waves_are_not_covered_and_fail_at_a_fixed_length(task):
    """For short waves and three tokens, turning away lowers the risk at some length of M x."""
    theta = np.linspace(0, np.pi / 2, 1001)
    assert np.diff(task.covariance(np.cos(theta))).max() > 0
    gains = [
        turning(task.covariance, task.dim, rho, a, 3)
        for rho in (10.0, 40.0, 90.0)
        for a in (0.4, 1.2)
    ]
    assert min(gains) < 0
