"""The exact risk against closed forms, sampling and itself (see also test_accuracy.py)."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betainc, jv

from icl.risk import (
    integrals,
    mismatch_risk,
    monte_carlo_risk,
    nearest_neighbor_risk,
    optimal_window,
    population_flow,
    population_risk,
)
from icl.statistics import Z
from icl.tasks import CLASSES, Affine, Cosine, Quadratic, ReLU, make_task

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
@pytest.mark.parametrize("name, integrate_labels", [*zip(CLASSES, [True, False] * 3, strict=False)])
@pytest.mark.parametrize("dim, w, n, noise_std", [(2, 3.0, 5, 0.5), (5, 9.4, 20, 0.1)])
def test_against_sampling(name, dim, w, n, noise_std, integrate_labels):
    """That it is the risk of softmax attention on sampled functions; its digits are `oracles.risk`'s."""
    task = make_task(name, dim)
    contexts = 2_000 if integrate_labels else 20_000
    sample = monte_carlo_risk(task, w, n, noise_std, contexts, seed=4, integrate_labels=integrate_labels)
    assert abs(sample.mean - population_risk(task, w, n, noise_std).total) < Z * sample.standard_error


def test_integrating_labels_narrows_the_interval():
    plain, narrow = (
        monte_carlo_risk(Affine(5), 5.0, 20, 0.1, 5000, integrate_labels=b) for b in (False, True)
    )
    assert narrow.standard_error < plain.standard_error / 2


@pytest.mark.parametrize("task", [Affine(2, 3.0), ReLU(3), Cosine(5, 3.0), ReLU(64)], ids=str)
@pytest.mark.parametrize("w, n", [(1.0, 1), (30.0, 1), (0.0, 1), (0.0, 2), (0.0, 1000), (0.0, 10**12)])
def test_one_token_and_equal_weights(task, w, n):
    """The prediction is the label, whatever w, or the plain mean of n labels."""
    a, rest = task.spectrum(4000)
    r = population_risk(task, w, n, 0.7)
    assert r.bias == pytest.approx((1 + 1 / n) * (a.sum() + rest), rel=1e-10)
    assert r.noise == pytest.approx(0.49 / n, rel=1e-12)


@pytest.mark.parametrize("task", [Affine(2), Affine(5), ReLU(3), ReLU(8), Quadratic(3)], ids=str)
@pytest.mark.parametrize("n", [2, 4])
def test_nearest_neighbor_limit(task, n):
    """w to infinity: the nearest token's label; its angle exceeds theta with probability (1 - F)^n."""
    theta = np.linspace(0, np.pi, 200_001)
    half = (task.dim - 1) / 2
    beyond = 1 - betainc(half, half, np.sin(theta / 2) ** 2)
    limit = 2 * np.trapezoid(beyond**n, task.variogram(theta))  # by parts
    r = population_risk(task, 1e5, n, 1.0)
    assert r.bias == pytest.approx(limit, rel=2e-3)
    assert nearest_neighbor_risk(task, n, 1.0).bias == pytest.approx(limit, rel=1e-8)
    assert 1 - 2e-3 < r.noise < 1


def test_waves_finer_than_the_window():
    """On the circle, against one fine grid: the mesh must follow the function, not the kernel alone."""
    L, w, n = 300.0, 3.0, 1000
    theta, degrees = (np.arange(2048) + 0.5) * np.pi / 2048, np.arange(2, 800, 2)
    a = 2 * jv(degrees, L) ** 2
    missing = 1 - np.cos(np.outer(theta, degrees))
    bias, p = 0.0, 1 / theta.size
    for u in np.arange(-30, 8, 0.1):
        z = np.exp(u - w * (1 - np.cos(theta)))
        phi, first = np.exp(-z).mean(), p * z * np.exp(-z)
        single, pair = 2 * (first * z) @ missing @ a, a @ (first @ missing) ** 2
        bias += 0.1 * (n * single * phi ** (n - 1) + n * (n - 1) * pair * phi ** (n - 2))
    assert population_risk(Cosine(2, L), w, n, 0.5).bias == pytest.approx(bias, rel=1e-10)


@pytest.mark.parametrize("cls", [Affine, ReLU])
def test_scaling(cls):
    """The risk at (c L, c sigma) is c^2 that at (L, sigma); the noise term does not know the class."""
    one, three = population_risk(cls(4), 7.0, 50, 0.2), population_risk(cls(4, 3.0), 7.0, 50, 0.6)
    assert three.total == pytest.approx(9 * one.total, rel=1e-13)
    assert three.slope == pytest.approx(9 * one.slope, rel=1e-11)
    # affine and ReLU are integrated on the same nodes up to the degrees they need
    assert population_risk(Cosine(4), 7.0, 50, 0.2).noise == pytest.approx(one.noise, rel=1e-12)
    assert population_risk(cls(4), 7.0, 50, 0.0).noise == 0
    a, b = optimal_window(cls(5, 10.0), 100, 1.0), optimal_window(cls(5, 1.0), 100, 0.1)
    assert a.w == pytest.approx(b.w, rel=1e-9) and a.risk == pytest.approx(100 * b.risk, rel=1e-9)


@pytest.mark.parametrize("task", [Affine(3), ReLU(2), ReLU(8), Cosine(5, 4.0)], ids=str)
@pytest.mark.parametrize("w, n", [(0.3, 10), (12.0, 1000), (60.0, 30), (400.0, 10**9)])
def test_slope_against_differences(task, w, n):
    h = 1e-4 * w
    r = population_risk(task, w, n, 0.5)
    near = population_risk(task, np.array([w - h, w + h]), n, 0.5)
    for ours, values in ((r.bias_slope, near.bias), (r.noise_slope, near.noise)):
        # differences lose what the two values share
        noise_floor = 1e-12 * values.max() / h
        assert ours == pytest.approx((values[1] - values[0]) / (2 * h), rel=1e-6, abs=noise_floor)


def test_many_at_once_equal_one_by_one():
    w, n, s = np.array([[0.0], [3.0], [40.0]]), np.array([1, 20, 10**6]), np.array([0.1, 1.0, 5.0])
    whole, best = population_risk(ReLU(3), w, n, 0.3), optimal_window(ReLU(3), n[1:, None], s)
    assert whole.total.shape == (3, 3) and best.w.shape == (2, 3)
    for i, j in np.ndindex(3, 3):
        one = population_risk(ReLU(3), float(w[i, 0]), int(n[j]), 0.3)
        assert whole.total[i, j] == pytest.approx(one.total, rel=1e-12)
        assert whole.slope[i, j] == pytest.approx(one.slope, rel=1e-9, abs=1e-13)
        if i:
            alone = optimal_window(ReLU(3), int(n[i]), float(s[j]))
            assert best.w[i - 1, j] == pytest.approx(alone.w, rel=1e-8)


def test_cosine_at_zero_and_with_two_minima():
    """Undersampled cosines are best predicted by the plain mean (w* = 0)."""
    assert not optimal_window(Cosine(5, 8.0), 20, 0.1).interior
    assert optimal_window(Cosine(5, 8.0), 20, 0.1).w == 0
    assert optimal_window(Cosine(5, 3.0), 20, 0.1).w == pytest.approx(7, rel=0.1)
    # two local minima: w = 0, where the risk begins to rise, and one near 12.5; the better one wins
    task, w = Cosine(5, 7.0), np.geomspace(0.01, 60, 300)
    curve = population_risk(task, w, 100, 0.1)
    assert curve.slope[0] > 0 and (np.diff(np.sign(curve.slope)) > 0).sum() == 1
    best = optimal_window(task, 100, 0.1)
    assert best.risk <= min(curve.total.min(), population_risk(task, 0.0, 100, 0.1).total) * (1 + 1e-12)


def test_refuses_what_it_cannot_vouch_for(monkeypatch):
    original = integrals.meshes
    monkeypatch.setattr(integrals, "meshes", lambda *a: original(*a[:-1], a[-1] // 4))
    with pytest.raises(ValueError, match="w=40, n=20, ReLU.*two quadrature rules differ"):
        population_risk(ReLU(3), 40.0, 20, 0.1)


@pytest.mark.parametrize(
    "task, n, noise_std",
    [
        (Affine(5), 100, 0.1),
        (Affine(2), 20, 0.1),
        (ReLU(5), 10**8, 0.5),
        (ReLU(5), 400, 1.0),
        (Cosine(5, 3.0), 20, 0.1),
        (Cosine(3, 2.0), 400, 1.0),
        (ReLU(8), 20, 0.0),
        (ReLU(5), 10, 30.0),  # 3e-4, where the slope must not cancel
    ],
    ids=str,
)
def test_optimum_is_lowest_and_that_of_a_root_finder(task, n, noise_std):
    best = optimal_window(task, n, noise_std)
    slope = lambda w: population_risk(task, w, n, noise_std).slope  # noqa: E731
    root = brentq(slope, 0.9 * best.w, 1.1 * best.w, rtol=1e-13)
    assert best.interior and slope(0.99 * best.w) < 0 < slope(1.01 * best.w)
    assert best.w == pytest.approx(root, rel=1e-8)
    assert best.risk == pytest.approx(population_risk(task, root, n, noise_std).total, rel=1e-11)
    grid = population_risk(task, best.w * np.geomspace(0.01, 10, 40), n, noise_std).total
    assert best.risk <= grid.min() * (1 + 1e-12)


def test_mismatch():
    best = optimal_window(ReLU(5), 100, 0.3)
    same, other = (mismatch_risk(ReLU(5, L), ReLU(5), 100, 0.3).total for L in (1.0, 0.3))
    assert same == pytest.approx(best.risk, rel=1e-10)
    w = optimal_window(ReLU(5, 0.3), 100, 0.3).w
    assert other == population_risk(ReLU(5), w, 100, 0.3).total > 1.5 * same


def test_population_flow_descends_to_the_optimum():
    times = np.array([0.0, 1.0, 10.0, 100.0, 1e6])
    w = population_flow(ReLU(5), 20, 0.1, times)
    assert w[0] == 0 and np.all(np.diff(w) > 0)
    assert w[-1] == pytest.approx(optimal_window(ReLU(5), 20, 0.1).w, rel=1e-6)
    # by hand: one short step of dw/dt = -risk'(w) / d
    h = 1e-4
    (_, step) = population_flow(ReLU(5), 20, 0.1, [0.0, h])
    assert step == pytest.approx(-h * population_risk(ReLU(5), 0.0, 20, 0.1).slope / 5, rel=1e-4)
