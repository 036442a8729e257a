"""Blur and scatter, the two parts of the bias: by direct integration, by sampling, and in known cases."""

import numpy as np
import pytest

from icl.risk import optimal_window, population_risk, split_risk
from icl.risk.numerics import integrals
from icl.tasks import Affine, Cosine, Quadratic, ReLU, Sign, Spectrum, angle_quadrature, make_task
from icl_book.measurements.exact_risk import _average_variogram

pytestmark = pytest.mark.filterwarnings("error")

# of a stochastic comparison, in standard errors: false alarm 6e-7
MAX_SIGMAS = 5


def blur_of_few(task, w, n, nodes=120):
    """The blur of two or three tokens, from the variogram alone, and by rules over all their angles.

    Given f and the query, two independent contexts have the same mean prediction, so that the blur is a mean
    over one token of each, drawn with its weight.
    """
    theta, p = angle_quadrature(task.dim, nodes)
    kernel = np.exp(-w * (1 - np.cos(theta)))
    total = kernel[:, None] + kernel
    if n == 2:
        weight = (kernel[:, None] / total) @ p
    else:
        weight = (kernel[:, None, None] / (total[:, :, None] + kernel)) @ p @ p
    law = n * p * weight
    assert law.sum() == pytest.approx(1, rel=1e-12)
    return 2 * law @ task.variogram(theta) - law @ _average_variogram(task, nodes) @ law


@pytest.mark.parametrize(
    "task", [Affine(2), Quadratic(5), Cosine(3, 2.0), ReLU(3), ReLU(8)], ids=str
)
@pytest.mark.parametrize("w, n", [(1.0, 2), (6.0, 2), (6.0, 3)])
def test_two_and_three_tokens_by_direct_integration(task, w, n):
    few, more = blur_of_few(task, w, n, 80), blur_of_few(task, w, n, 160)
    found = split_risk(task, w, n, 0.5)
    assert found.blur == pytest.approx(more, rel=1e-9 + 2 * abs(few / more - 1))
    assert found.error < 1e-9
    whole = population_risk(task, w, n, 0.5)
    assert (found.bias, found.noise) == (whole.bias, whole.noise)


@pytest.mark.parametrize("task", [Affine(2, 3.0), ReLU(3), Cosine(5, 3.0), Sign(3)], ids=str)
def test_one_token_and_equal_weights(task):
    """The mean prediction knows nothing of the query, and scatter is the variance of a mean."""
    a, rest = task.spectrum(4000)
    for w, n in ((3.0, 1), (0.0, 1), (0.0, 2), (0.0, 1000)):
        found = split_risk(task, w, n, 0.7)
        assert found.blur == pytest.approx(a.sum() + rest, rel=1e-10)
        assert found.scatter == pytest.approx((a.sum() + rest) / n, rel=1e-7)


@pytest.mark.parametrize(
    "name, n, w, blur, scatter",
    [
        ("affine", 200, 5.182, 0.007928, 0.000752),
        ("ReLU", 200, 4.860, 0.009170, 0.000564),
        ("ReLU", 20, 1.647, 0.025668, 0.002767),
    ],
)
def test_against_sampling(name, n, w, blur, scatter):
    """Predictions from two contexts with one function and one query: no formula, no spectrum.

    The mean product of their errors is the blur, and half their mean squared difference is the scatter.
    """
    task, rng, pairs = make_task(name, 5), np.random.default_rng(0), 12_000
    samples = []
    for _ in range(0, pairs, 4000):
        x = rng.standard_normal((4000, 2 * n + 1, 5))
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        f = np.asarray(task.sample(rng, 4000)(as_tensor(x)))
        omega = np.exp(w * np.einsum("cnd,cd->cn", x[:, :-1], x[:, -1])).reshape(4000, 2, n)
        omega /= omega.sum(axis=2, keepdims=True)
        one, two = ((omega * f[:, :-1].reshape(omega.shape)).sum(axis=2) - f[:, -1:]).T
        samples.append([one * two, (one - two) ** 2 / 2])
    samples = np.concatenate(samples, axis=1)
    found = split_risk(task, w, n, 0.5)
    away = samples.mean(axis=1) - [found.blur, found.scatter]
    assert np.all(np.abs(away) < MAX_SIGMAS * samples.std(axis=1) / pairs**0.5)
    # another program has sampled these
    assert found.blur == pytest.approx(blur, rel=0.002)
    assert found.scatter == pytest.approx(scatter, rel=0.005)


def as_tensor(x):
    return pytest.importorskip("torch").from_numpy(x)


@pytest.mark.parametrize(
    "task, noise, rows",
    [
        (
            Affine(5),
            0.5,
            {200: (1.0370, 0.09834), 1e4: (1.0036, 0.03449), 1e8: (1.0001, 0.00336)},
        ),
        (ReLU(3), 0.5, {200: (0.6556, 0.06671), 1e6: (0.6308, 0.00284), 1e8: (0.6481, 0.00048)}),
    ],
    ids=str,
)
def test_the_shares_at_the_best_window_are_those_of_another_program(task, noise, rows):
    for n, wanted in rows.items():
        found = split_risk(task, optimal_window(task, n, noise).w, n, noise)
        shares = [found.blur / found.noise, found.scatter / found.noise]
        assert shares == pytest.approx(wanted, abs=6e-5)


@pytest.mark.parametrize("w, n", [(0.0, 20), (40.0, 20), (300.0, 1e6)])
def test_fine_variance_is_blur_and_scatters_like_noise(w, n):
    power, fine = (0.0, 1.0, 0.5), 0.3
    smooth, rough = (split_risk(Spectrum(3, power, rest=u), w, n, 0.5) for u in (0.0, fine))
    assert rough.blur == pytest.approx(smooth.blur + fine, rel=1e-12)
    more = fine * rough.noise / 0.25
    assert rough.scatter == pytest.approx(smooth.scatter + more, rel=1e-9)


def test_all_shapes_broadcast():
    task, w, n = ReLU(3), np.array([0.0, 2.0, 30.0]), np.array([[1], [7], [10**6]])
    found = split_risk(task, w, n, 0.5)
    assert found.blur.shape == found.error.shape == found.scatter.shape == (3, 3)
    for i, j in np.ndindex(3, 3):
        alone = split_risk(task, w[j], n[i, 0], 0.5)
        assert found.blur[i, j] == pytest.approx(alone.blur, rel=1e-9)
    assert np.all(found.scatter > 0) and np.shape(alone.blur) == ()


@pytest.mark.parametrize("task", [Sign(3), ReLU(2), ReLU(5), Cosine(3, 3.0)], ids=str)
def test_error_covers_what_the_neglected_degrees_would_change(task, monkeypatch):
    """Thousands of degrees in place of the sum that stands for those beyond."""
    for w, n in ((3.0, 5.0), (400.0, 1e4)):
        found = split_risk(task, w, n, 0.5)
        degree = 4000
        a, rest = task.spectrum(degree)
        m = integrals.attended_gegenbauer_means(task.dim, w, n, degree)
        assert found.blur == pytest.approx(a @ (1 - m) ** 2 + rest, rel=1e-7)
