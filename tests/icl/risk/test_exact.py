"""The exact risk against an independent reference, closed forms, sampling and itself."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betainc, eval_legendre, jv

from icl import checks, risk
from icl.risk import (
    asymptotics,
    exact,
    monte_carlo_risk,
    optimal_window,
    population_flow,
    population_risk,
)
from icl.risk.numerics import integrals
from icl.tasks import (
    CLASSES,
    Affine,
    Cosine,
    Quadratic,
    ReLU,
    Sign,
    Spectrum,
    Zonal,
    make_task,
)
from oracles import risk as oracle

pytestmark = pytest.mark.filterwarnings("error")


DIMS = (2, 3, 4, 5, 8, 32, 256)
NARROW = [(Affine(3), 1e5), (Quadratic(256), 1e5), (Cosine(2, 3.0), 1e4)]


def settings(w_max, seed):
    """Return (task, w, 40 context lengths, noise_std): each class in each dimension, w stratified or zero.

    One call of the oracle serves all context lengths, and its cost is that of the test.
    """
    rng = np.random.default_rng(seed)
    # a spectrum that is fitted to the covariance has other digits, and separate tests
    closed = [name for name, kind in CLASSES.items() if kind.spectrum is not Zonal.spectrum]
    pairs = [(name, dim) for name in closed for dim in DIMS]
    strata = (rng.permutation(len(pairs)) + rng.uniform(0, 1, len(pairs))) / len(pairs)
    for i, ((name, dim), stratum) in enumerate(zip(pairs, strata, strict=True)):
        w = 0.0 if i % 25 == 0 else float(10 ** (-2 + stratum * (math.log10(w_max) + 2)))
        scale = float(10 ** rng.uniform(-1, 1))
        task = Sign(dim, scale) if name == "sign" else make_task(name, dim, scale)
        yield (task, w, np.floor(10 ** rng.uniform(0, 12, 40)), float(10 ** rng.uniform(-2, 1)))


@pytest.mark.parametrize(
    "w_max, tolerance, seed, chosen",
    [
        (1e2, 1e-10, 2, slice(0, None, 5)),
        pytest.param(1e3, 1e-10, 0, slice(2, None, 5), marks=pytest.mark.slow),
        pytest.param(1e5, 1e-8, 1, slice(0, None, 14), marks=pytest.mark.slow),
    ],
)
def test_many_settings(w_max, tolerance, seed, chosen):
    """The 984 settings reach d = 256 and n = 1e12; the reported error has to cover the difference, too."""
    chosen = [*settings(w_max, seed)][chosen]
    chosen += [(*narrow, np.arange(1.0, 9.0), 1.0) for narrow in NARROW if w_max == 1e5]
    for task, w, n, noise_std in chosen:
        bias, noise = oracle.population_risk(task, w, n, noise_std)
        r = population_risk(task, w, n, noise_std)
        worst = np.maximum(np.abs(r.bias / bias - 1), np.abs(r.noise / noise - 1))
        assert np.all(worst <= (1e-10 if w <= 1e3 else tolerance)), (task, w, n, worst)
        assert np.all(worst <= np.maximum(r.error, 3e-11)), (task, w, n, worst, r.error)


@pytest.mark.parametrize("dim, w", [(2, 100.0), (3, 60.0), (5, 100.0)])
def test_few_tokens_and_functions_that_jump(dim, w):
    """The nearest token is near the equator of the query, where such a function jumps again."""
    n = np.array([2.0, 3.0, 5.0, 30.0, 1e6])
    bias, noise = oracle.population_risk(Sign(dim, 1.7), w, n, 0.5)
    r = population_risk(Sign(dim, 1.7), w, n, 0.5)
    assert r.bias == pytest.approx(bias, rel=1e-10) and r.noise == pytest.approx(noise, rel=1e-10)


def expected_losses(task, w, n, noise_std, contexts):
    """Return the risk given the tokens by NumPy, from the covariance alone, without spectrum and sampler."""
    rng = np.random.default_rng(3)
    query = np.eye(task.dim)[0]
    tokens = rng.standard_normal((contexts, n, task.dim))
    tokens /= np.linalg.norm(tokens, axis=2, keepdims=True)
    omega = np.exp(w * (tokens @ query - 1))
    omega /= omega.sum(axis=1, keepdims=True)
    pairs = np.arccos(np.clip(tokens @ tokens.transpose(0, 2, 1), -1, 1))
    to_query = np.arccos(np.clip(tokens @ query, -1, 1))
    k = lambda theta: task.scale**2 * np.exp(-theta / task.length)  # noqa: E731
    # set the diagonal, since rounding would make an angle that is not zero
    between = k(pairs)
    between[:, np.arange(n), np.arange(n)] = task.scale**2
    bias = np.einsum("ci,cij,cj->c", omega, between, omega)
    bias += task.scale**2 - 2 * np.sum(omega * k(to_query), axis=1)
    return bias + noise_std**2 * np.sum(omega**2, axis=1)


@dataclass(frozen=True)
class Rough(Zonal):
    """The covariance exp(-theta / length) on the circle, a user-defined class with its spectrum."""

    length: float = 1.0

    @property
    def singular_term(self):
        return 1.0, 1 / self.length

    def covariance(self, cosine):
        return np.exp(-np.arccos(np.clip(cosine, -1, 1)) / self.length)

    def variogram(self, theta):
        return -np.expm1(-np.asarray(theta) / self.length)

    def spectrum(self, degree):
        c, l = 1 / self.length, np.arange(1, degree + 1)  # noqa: E741
        a = 2 * c / np.pi * (1 - (-1.0) ** l * np.exp(-c * np.pi)) / (c**2 + l**2)
        return a, 1 + np.expm1(-c * np.pi) / (c * np.pi) - a.sum()


def two_tokens_on_the_circle(length, w):
    """Return bias and sum of squared weights of two tokens, by integrals over both angles between kinks."""
    x, weight = np.polynomial.legendre.leggauss(14)

    def rule(kinks, low):
        near = length * 2.0 ** np.arange(-1, 13)
        edges = [low, np.pi, *np.arange(low, np.pi, 0.4)]
        edges += [kink + side * step for kink in kinks for step in (0, *near) for side in (-1, 1)]
        edges = np.unique(np.clip(edges, low, np.pi))
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + x)).ravel(), (half * weight).ravel()

    def variogram(angle):
        return -np.expm1(-np.abs((angle + np.pi) % (2 * np.pi) - np.pi) / length)

    sums = np.zeros(2)
    for first, p in zip(*rule([0.0, np.pi], 0.0), strict=True):
        second, q = rule([0.0, first, first - np.pi, first - 2 * np.pi], -np.pi)
        share = 1 / (1 + np.exp(w * (np.cos(second) - np.cos(first))))
        one, other = variogram(first), variogram(second)
        bias = 2 * share**2 * one + 2 * (1 - share) ** 2 * other
        bias += 2 * share * (1 - share) * (one + other - variogram(first - second))
        sums += 2 * p * np.array([q @ bias, q @ (share**2 + (1 - share) ** 2)])
    return sums / (2 * np.pi) ** 2


@pytest.mark.parametrize("length", [1e-3, 3e-3, 0.05])
def test_windows_much_wider_than_the_correlation(length):
    """Two tokens are integrated over both angles; at the best window the risk is stationary."""
    task = Rough(2, length)
    for w in (0.3, 10.0):
        found = population_risk(task, w, 2, 1.0)
        wanted = two_tokens_on_the_circle(length, w)
        np.testing.assert_allclose([found.bias, found.noise], wanted, rtol=1e-9)
    best = optimal_window(task, 2, 0.1)
    below, at, above = (
        two_tokens_on_the_circle(length, best.w * factor) @ [1, 0.01] for factor in (0.7, 1, 1.3)
    )
    assert best.risk == pytest.approx(at, rel=1e-9)
    # the lowest point of the parabola through three risks, as a share of w, and three percent for its cubic
    assert 0.3 * (below - above) / (2 * (below - 2 * at + above)) == pytest.approx(0, abs=0.03)


def test_the_best_window_of_functions_finer_than_the_distance_of_tokens():
    """Fifty tokens on the circle are 0.13 apart; a hundredth of it is the length of correlation."""
    task = Rough(2, 1e-3)
    best = optimal_window(task, 50, 0.1)
    w = best.w * np.array([0.5, 0.99, 1.0, 1.01, 2.0])
    total = population_risk(task, w, 50, 0.1).total
    assert total.argmin() == 2
    assert best.risk == pytest.approx(total[2], rel=1e-12)
    assert 1.0 < best.risk < population_risk(task, 0.0, 50, 0.1).total


@pytest.mark.parametrize("dim, n", [(2, 1e6), (3, 1e8), (5, 1e12)])
def test_windows_of_functions_that_jump(dim, n):
    """The law is the limit: w is of the order n^(2/d), and its distance from the law falls like 1/sqrt(w)."""
    task = Sign(dim)
    far, near = (
        optimal_window(task, length, 1.0).w / asymptotics.sharp_window(task, length, 1.0) - 1
        for length in (n / 100, n)
    )
    shrinks = 100 ** (1 / dim)
    assert 0.9 < far / near / shrinks < 1.1
    assert abs(shrinks * near - far) / (shrinks - 1) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("dim, w, n, noise_std", [(2, 3.0, 5, 0.5), (5, 9.4, 20, 0.1)])
def test_against_sampling(name, dim, w, n, noise_std):
    """The digits are tested by `oracles.risk`."""
    task = make_task(name, dim)
    low, high = monte_carlo_risk(task, w, n, noise_std, 20_000, seed=4).interval
    assert low < population_risk(task, w, n, noise_std).total < high


@pytest.mark.parametrize("task", [Affine(2, 3.0), ReLU(3), Cosine(5, 3.0), ReLU(64)], ids=str)
@pytest.mark.parametrize(
    "w, n", [(1.0, 1), (30.0, 1), (0.0, 1), (0.0, 2), (0.0, 1000), (0.0, 10**12)]
)
def test_one_token_and_equal_weights(task, w, n):
    a, rest = task.spectrum(4000)
    r = population_risk(task, w, n, 0.7)
    assert r.bias == pytest.approx((1 + 1 / n) * (a.sum() + rest), rel=1e-10)
    assert r.noise == pytest.approx(0.49 / n, rel=1e-12)


@pytest.mark.parametrize("task", [Affine(2), Affine(5), ReLU(3), ReLU(8), Quadratic(3)], ids=str)
@pytest.mark.parametrize("n", [2, 4])
def test_nearest_neighbor_limit(task, n):
    """As w grows, the nearest label is predicted; its angle exceeds theta with probability (1 - F)^n."""
    theta = np.linspace(0, np.pi, 200_001)
    half = (task.dim - 1) / 2
    beyond = 1 - betainc(half, half, np.sin(theta / 2) ** 2)
    # integration by parts gives this form
    limit = 2 * np.trapezoid(beyond**n, task.variogram(theta))
    r = population_risk(task, 1e5, n, 1.0)
    assert r.bias == pytest.approx(limit, rel=2e-3)
    assert risk.nearest_neighbor_risk(task, n, 1.0).bias == pytest.approx(limit, rel=1e-8)
    assert 1 - 2e-3 < r.noise < 1


def test_waves_finer_than_the_window():
    """One fine grid on the circle shows that the mesh must follow the function, not only the kernel."""
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


@pytest.mark.parametrize("degree", [3, 63, 64, 65, 101])
def test_a_class_of_one_degree(degree):
    """Two tokens in three dimensions, whose cosines are uniform, are integrated over both of them."""
    w, (t, weight) = 50.0, np.polynomial.legendre.leggauss(600)
    P, p = eval_legendre(degree, t), weight / 2
    omega = 1 / (1 + np.exp(-w * (t[:, None] - t)))
    # by the addition theorem P_l(x . x') averages to P_l(t) P_l(t') around the query
    error = 1 + omega**2 + omega.T**2 + 2 * omega * omega.T * np.outer(P, P)
    error -= 2 * (omega * P[:, None] + omega.T * P)
    task = Spectrum(3, (0.0,) * degree + (1.0,))
    assert population_risk(task, w, 2, 0.0).bias == pytest.approx(p @ error @ p, rel=1e-9)


@pytest.mark.parametrize("task", [Affine(3), ReLU(2), ReLU(8), Cosine(5, 4.0)], ids=str)
@pytest.mark.parametrize("w, n", [(0.3, 10), (12.0, 1000), (60.0, 30), (400.0, 10**9)])
def test_slope_against_differences(task, w, n):
    h = 1e-4 * w
    r = population_risk(task, w, n, 0.5)
    near = population_risk(task, np.array([w - h, w + h]), n, 0.5)
    for ours, values in ((r.bias_slope, near.bias), (r.noise_slope, near.noise)):
        noise_floor = 1e-12 * values.max() / h
        assert ours == pytest.approx((values[1] - values[0]) / (2 * h), rel=1e-6, abs=noise_floor)


#: Functions of numbers that broadcast.
BROADCAST = [
    (partial(population_risk, ReLU(3)), [[0.0], [3.0], [40.0]], [1, 20, 10**6], 0.3),
    (partial(optimal_window, ReLU(3)), [[20], [10**6]], [0.1, 1.0, 5.0]),
    (partial(risk.nearest_neighbor_risk, Affine(3)), [[1], [10**6]], [0.0, 1.0]),
    (partial(risk.low_rank_risk, 5, 2, 6.0, 1.5), [[1], [20], [10**8]], [0.0, 0.5]),
    (partial(risk.gaussian_risk, 3), [[0.1], [0.5]], [5, 10, 20], 0.3),
    (partial(risk.gaussian_window, 3), [[5], [10]], [0.1, 0.2, 0.3]),
    (partial(risk.gaussian_distance, 3), [[0.1], [0.5]], [5, 10, 20]),
]


@pytest.mark.parametrize("call, given", [(call, given) for call, *given in BROADCAST])
def test_many_at_once_equal_one_by_one(call, given):
    given, whole = np.broadcast_arrays(*given), vars(call(*given))
    for index in np.ndindex(given[0].shape):
        for name, one in vars(call(*(numbers[index].item() for numbers in given))).items():
            if "error" not in name:
                assert whole[name][index] == pytest.approx(one, rel=1e-8, abs=1e-13), name


def test_cosine_at_zero_and_with_two_minima():
    """Undersampled cosines are best predicted by the plain mean (w* = 0)."""
    assert optimal_window(Cosine(5, 8.0), 20, 0.1).w == 0
    assert optimal_window(Cosine(5, 3.0), 20, 0.1).w == pytest.approx(7, rel=0.1)
    # two local minima: w = 0, where the risk begins to rise, and one near 12.5; the better one wins
    task, w = Cosine(5, 7.0), np.geomspace(0.01, 60, 300)
    curve = population_risk(task, w, 100, 0.1)
    assert curve.slope[0] > 0 and (np.diff(np.sign(curve.slope)) > 0).sum() == 1
    best = optimal_window(task, 100, 0.1)
    assert best.risk <= min(curve.total.min(), population_risk(task, 0.0, 100, 0.1).total) * (
        1 + 1e-12
    )


def test_results_that_cannot_be_guaranteed_are_refused(monkeypatch):
    original = integrals.meshes
    monkeypatch.setattr(integrals, "meshes", lambda *a, **k: original(*a[:-1], a[-1] // 4, **k))
    with pytest.raises(ValueError, match="w=40, n=20, ReLU.*two quadrature rules differ"):
        population_risk(ReLU(3), 40.0, 20, 0.1)


OPTIMA = [
    (Affine(5), 100, 0.1),
    (Affine(2), 20, 0.1),
    (ReLU(5), 10**8, 0.5),
    (ReLU(5, 10.0), 100, 1.0),
]
OPTIMA += [(Cosine(5, 3.0), 20, 0.1), (Cosine(3, 2.0), 400, 1.0), (ReLU(8), 20, 0.0)]
OPTIMA += [(ReLU(5), 10, 30.0)]  # 3e-4, where the slope must not cancel


@pytest.mark.parametrize("task, n, noise_std", OPTIMA, ids=str)
def test_optimum_is_lowest_and_that_of_a_root_finder(task, n, noise_std):
    best = optimal_window(task, n, noise_std)
    slope = lambda w: population_risk(task, w, n, noise_std).slope  # noqa: E731
    root = brentq(slope, 0.9 * best.w, 1.1 * best.w, rtol=1e-13)
    assert slope(0.99 * best.w) < 0 < slope(1.01 * best.w)
    assert best.w == pytest.approx(root, rel=1e-8)
    assert best.risk == pytest.approx(population_risk(task, root, n, noise_std).total, rel=1e-11)
    grid = population_risk(task, best.w * np.geomspace(0.01, 10, 40), n, noise_std).total
    assert best.risk <= grid.min() * (1 + 1e-12)


def test_caches_of_searches_change_no_bit_and_stay_small():
    alone = {}
    for noise_std in (0.3, 0.5):
        exact._integrate_cached.__wrapped__.cache_clear()
        alone[noise_std] = optimal_window(ReLU(4), [20, 200], noise_std)
    exact._integrate_cached.__wrapped__.cache_clear()
    for noise_std, found in alone.items():
        again = optimal_window(ReLU(4), [20, 200], noise_std)
        assert np.array_equal([again.w, again.risk], [found.w, found.risk])
    before = exact._integrate_cached.__wrapped__.cache_info()
    assert before.hits > 10
    # tables of many lengths are not cached
    exact._scan_window(Affine(4), 1.0, np.arange(2.0, 200.0))
    assert exact._integrate_cached.__wrapped__.cache_info().currsize == before.currsize


def test_mismatch():
    same, other = (risk.mismatch_risk(ReLU(5, L), ReLU(5), 100, 0.3).total for L in (1.0, 0.3))
    assert same == pytest.approx(optimal_window(ReLU(5), 100, 0.3).risk, rel=1e-10)
    w = optimal_window(ReLU(5, 0.3), 100, 0.3).w
    assert other == population_risk(ReLU(5), w, 100, 0.3).total > 1.5 * same


def test_population_flow_descends_to_the_optimum():
    w = population_flow(ReLU(5), 20, 0.1, [0.0, 1.0, 10.0, 100.0, 1e6])
    assert w[0] == 0 and np.all(np.diff(w) > 0)
    assert w[-1] == pytest.approx(optimal_window(ReLU(5), 20, 0.1).w, rel=1e-6)
    # by hand: one short step of dw/dt = -risk'(w) / d
    h = 1e-4
    (_, step) = population_flow(ReLU(5), 20, 0.1, [0.0, h])
    assert step == pytest.approx(-h * population_risk(ReLU(5), 0.0, 20, 0.1).slope / 5, rel=1e-4)


# ------------------------------------------------------------------------ the worst Lipschitz function
@pytest.mark.parametrize("task", [Affine(3), ReLU(3), Cosine(5, 3.0)], ids=str)
def test_the_bias_is_a_sum_over_degrees(task):
    """Schur: bias = sum_l a_l c_l, c_l the bias of degree l alone."""
    w, n, last = 6.0, 12, 60
    a, rest = task.spectrum(last)
    kept = np.flatnonzero(a > 1e-13)
    parts = [
        population_risk(Spectrum(task.dim, (0.0,) * (k + 1) + (1.0,)), w, n, 0.0).bias for k in kept
    ]
    whole = population_risk(task, w, n, 0.0).bias
    assert abs(a[kept] @ parts - whole) <= 4 * rest + 1e-10  # no c_l exceeds 4


def test_a_search_does_not_check_the_angles_of_the_package(monkeypatch):
    """A search evaluates many risks, each of which would check the same angles."""
    taken, reals = [], checks.reals

    def count(value, name, *limits, **options):
        taken.append(name)
        return reals(value, name, *limits, **options)

    monkeypatch.setattr("icl.tasks.base.reals", count)
    optimal_window(ReLU(3), 101, 0.51)
    # the covariance is tried once, with an array of two cosines
    assert sorted(taken) == ["cosine", "n", "noise_std", "w"]
