"""Heads in the chapter's limits: against closed forms, against sums over degrees, and against each other."""

import math

import numpy as np
import pytest
from scipy.special import gamma, ive

from icl.risk import heads_risk, kriging_bounds, optimal_heads, optimal_window
from icl.tasks import Affine, Cosine, ReLU
from icl_book.measurements import heads


def test_binomial_values_cancel_all_powers_but_the_last():
    for many in (1, 2, 3, 5):
        h = np.arange(1, many + 1)
        moments = [float(heads.richardson(many) @ h**j) for j in range(many + 1)]
        wanted = [1.0] + [0.0] * (many - 1) + [-((-1) ** many) * math.factorial(many)]
        assert moments == pytest.approx(wanted)


@pytest.mark.parametrize("windows", [(4.0, 2.0), (1.5, -2.0), (-1.0, 0.5)])
def test_values_without_bias_leave_affine_functions_as_they_are(windows):
    values = heads.without_bias(5, windows)
    theta = np.linspace(0, np.pi, 20001)
    law = np.sin(theta) ** 3
    kernel = np.exp(np.outer(windows, np.cos(theta)))
    kernel /= (kernel * law).sum(axis=1, keepdims=True)
    factors = values @ (kernel * law) @ np.stack([np.ones_like(theta), np.cos(theta)]).T
    assert factors == pytest.approx([1.0, 1.0], abs=1e-8)


@pytest.mark.filterwarnings("error")
# in 49 dimensions the integrand grows like x^52, so that the nodes in log x leave more
@pytest.mark.parametrize(("m", "tolerance"), [(4, 1e-7), (49, 1e-6)])
def test_one_head_at_the_best_width_is_the_closed_form(m, tolerance):
    order = 3
    integral = 2 ** (-1 - order / 2) * gamma(-order / 2) * (2 ** (order / 2) - 2)
    ratio = m * gamma(m / 2) / (2 * order * integral)
    one = (1 + order / m) * integral * ratio ** (order / (m + order))
    least = np.pi / (m + order) / np.sin(np.pi * m / (m + order))
    (found, _), *_ = heads.least_limits(order, m, 1)
    assert found == pytest.approx(one / least, rel=tolerance)


@pytest.mark.parametrize(
    ("order", "m", "best"),  # an optimizer with 45 to 60 digits found these
    [
        (1, 2, [1.009546, 1.004730, 1.000353]),
        (2.5, 4, [1.408737, 1.027996, 1.002878]),
        (3, 4, [1.742500, 1.057786, 1.004750]),
    ],
)
def test_the_least_limits_are_those_of_another_search(order, m, best):
    found = [ratio for ratio, _ in heads.least_limits(order, m, 3)]
    assert found == pytest.approx(best, abs=3e-5)


def test_the_limit_with_given_values_is_a_quadratic_form_in_powers_of_the_widths():
    order, m, widths = 2.5, 4, np.array([1.0, 2.5, 4.0])
    ratio, values = heads.compute_limit(order, m, widths)
    both = widths[:, None] + widths
    power = order / 2
    bias = both**power - widths[:, None] ** power - widths**power
    bias *= 2**-power * abs(gamma(-power)) / 2
    noise = 2 ** (m / 2 - 1) * gamma(m / 2) * both ** (-m / 2)
    least = np.pi / (m + order) / np.sin(np.pi * m / (m + order))
    assert values.sum() == pytest.approx(1, abs=1e-12)
    assert values @ (bias + noise) @ values / least == pytest.approx(ratio, rel=1e-9)
    for step in ([1, -1, 0], [0, 1, -1]):
        other = values + 0.01 * np.array(step)
        assert other @ (bias + noise) @ other > values @ (bias + noise) @ values


def test_heads_that_nearly_coincide_lose_no_digits():
    apart, near = (heads.compute_limit(3, 4, 3.45 * np.exp([-gap, gap]))[0] for gap in (1e-3, 1e-6))
    assert near == pytest.approx(apart, abs=1e-6)
    assert near < 1.05779


def test_the_exact_risk_approaches_the_limit_and_a_wrong_parity_does_not():
    setting = {"dim": 3, "order": 3, "noise_std": 0.5, "degrees": 500, "heads": 2}
    near, far = (heads.compare_with_kriging(n=n, **setting) for n in (1e4, 1e7))
    distance = [np.abs(table.exact / table.limit - 1) for table in (near, far)]
    assert (distance[1] < 0.5 * distance[0]).all() and distance[1].max() < 0.02
    even = heads.compare_with_kriging(n=1e7, parity=0, **setting)
    # kriging sees every token twice, and these heads do not,
    # so of their risk the noise counts twice, a part of order / (m + order) at the best scale
    assert (even.exact / even.limit).to_numpy() == pytest.approx(1 + 3 / 5, rel=0.03)


def test_a_rough_class_has_the_spectrum_that_it_is_made_for():
    task = heads.make_rough_class(5, 3.0, 200)
    assert sum(task.power) == pytest.approx(1)
    # N_l = (2l + 3)(l + 1)(l + 2) / 6 in five dimensions
    ratio = task.power[100] / task.power[50]
    count = [(2 * k + 3) * (k + 1) * (k + 2) for k in (100, 50)]
    assert ratio == pytest.approx(count[0] / count[1] * (101.5 / 51.5) ** -7)
    assert not any(heads.make_rough_class(5, 3.0, 200, parity=1).power[::2])


def test_slopes_of_heads_and_of_one_head():
    lengths = {"n_values": (1e5, 1e6), "noise_std": 0.5}
    affine = heads.affine_slopes(dims=[3], windows=(3.0, -1.0), **lengths)
    assert affine.value[0] == pytest.approx(-1, abs=1e-3)
    one = heads.wave_slopes(dims=[3], heads=[1], **lengths)
    assert one.value[0] == pytest.approx(-4 / 6, abs=0.01)
    two = heads.wave_slopes(dims=[3], heads=[2], **lengths)
    averaged = heads.wave_slopes(dims=[3], heads=[2], averaged=True, **lengths)
    assert two.value[0] < -0.75 and averaged.value[0] > -0.7
    assert (two.error < 1e-4).all()


def test_kriging_lies_between_its_bounds_and_nothing_else_does():
    setting = {"n_values": [10], "noise_std": 0.5, "draws": 400}
    (row,) = heads.locate_between_bounds([ReLU(3)], **setting).itertuples()
    assert 0 < row.low < row.value < row.high < 1
    bounds = kriging_bounds(ReLU(3), 10, 0.5)
    unit = optimal_window(ReLU(3), 10, 0.5).risk
    assert bounds.lower + row.value * (bounds.upper - bounds.lower) < unit
    assert heads.locate_between_bounds([Affine(3)], more=4, **setting).high[0] < 0


def test_the_factor_of_a_head_is_that_of_the_limit():
    """The degree x sqrt(w) of a narrow head with the window w / alpha has exp(-alpha x^2 / 2)."""
    w, alpha, x, nu = 1e6, 2.5, 0.7, 1.5
    degree = round(x * w**0.5)
    factor = ive(degree + nu, w / alpha) / ive(nu, w / alpha)
    assert factor == pytest.approx(math.exp(-alpha * x**2 / 2), rel=3e-3)


def test_a_head_and_its_derivative_are_the_covariance_of_label_and_score():
    """The exact risk is that of its formula on drawn tokens, within five standard errors."""
    task, n, sigma = ReLU(3), 30, 0.5
    found = heads.search_with_derivative(task, n, sigma)
    x = np.random.default_rng(0).standard_normal((4000, n + 1, 3))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    score = np.einsum("cnd,cd->cn", x[:, :-1], x[:, -1])
    omega = np.exp(found.w * score)
    omega /= omega.sum(axis=1, keepdims=True)
    centered = score - (omega * score).sum(axis=1, keepdims=True)

    def risks(value, coefficient):
        weights = np.append(
            omega * (value + coefficient * centered), np.full((len(x), 1), -1), axis=1
        )
        covariances = task.covariance(np.clip(x @ x.transpose(0, 2, 1), -1, 1))
        bias = np.einsum("ci,cij,cj->c", weights, covariances, weights)
        return bias + sigma**2 * (weights[:, :-1] ** 2).sum(axis=1)

    best = risks(found.value, found.coefficient)
    assert abs(best.mean() - found.risk) < 5 * best.std() / len(x) ** 0.5
    # the factors are the best ones, and without the derivative the risk is that of the head
    for value, coefficient in ((0.9, 1.0), (1.0, 0.9), (1.0, 0.0)):
        other = risks(value * found.value, coefficient * found.coefficient)
        assert other.mean() > best.mean()
    assert found.error < 1e-3 and found.risk < optimal_heads(task, n, sigma, heads=1).risk


def test_added_heads_gain_nothing_on_affine_functions_and_double_the_labels_of_even_ones():
    single = optimal_heads(Affine(3), 500, 0.5, heads=1).risk
    assert heads.search_added_heads(Affine(3), 500, 0.5)[0] == pytest.approx(single, rel=0.01)
    even = Cosine(3, 3.0)
    added, error = heads.search_added_heads(even, 500, 0.5)
    best = optimal_heads(even, 500, 0.5)
    assert best.values.min() > 0 and added == pytest.approx(best.risk, rel=0.01) and error < 1e-3


def test_the_best_values_and_the_best_factor_are_the_best_of_a_grid():
    task, n, sigma, windows = Affine(5), 1000, 0.5, np.array([1.5, -2.0])
    values, least = heads.best_values(task, windows, n, sigma)
    assert heads_risk(task, windows, values, n, sigma).total == pytest.approx(least, rel=1e-9)
    for change in ([1e-3, 0], [0, 1e-3], [-1e-3, 1e-3]):
        assert heads_risk(task, windows, values + change, n, sigma).total > least
    old = np.array([1.8, -0.8])
    factor, risk = heads.best_factor(task, windows, old, n, sigma)
    scaled = heads_risk(task, factor * windows, old, n, sigma).total
    assert scaled == pytest.approx(risk, rel=1e-6)
    grid = [heads_risk(task, c * windows, old, n, sigma).total for c in (0.7, 0.9, 1.0, 1.5, 3.0)]
    assert risk < min(grid)


def test_the_best_values_on_affine_functions_tend_to_their_limits_as_the_appendix_says():
    """Equation (eq-heads-values): the next term is of the order 1 / n^2."""
    d, sigma, w = 5, 0.5, np.array([1.5, -2.0])
    a_0, a_1 = 1 / 3, 1 / 3 / d
    theta, weight = np.polynomial.legendre.leggauss(200)
    theta = np.pi / 2 * (theta + 1)
    t, p = np.cos(theta), weight * np.sin(theta) ** (d - 2)
    p = p / p.sum()

    def normalizer(w):
        return np.exp(np.multiply.outer(w, t)) @ p

    def A_1(w):
        return np.exp(np.multiply.outer(w, t)) @ (p * t) / normalizer(w)

    A, both = A_1(w), w[:, None] + w
    kappa = normalizer(both) / np.outer(normalizer(w), normalizer(w))
    limit = np.linalg.solve([[1, 1], A], [1, 1])
    alpha = kappa.diagonal() * (A - A_1(2 * w))
    K = kappa * (sigma**2 + a_1 * (1 - A_1(both) * (A[:, None] + A) + np.outer(A, A)))
    G = a_0 + a_1 * np.outer(A, A)
    first = -np.linalg.solve(G, K @ limit + a_1 * (alpha @ limit) * A)
    assert limit == pytest.approx(heads.without_bias(d, w))
    missed = []
    for n in (400, 1600):
        values, risk = heads.best_values(Affine(d), w, n, sigma)
        missed.append(np.abs(values - limit - first / n).max())
        assert n * risk == pytest.approx(limit @ K @ limit, rel=60 / n)
    assert missed[0] < 0.02 and 14 < missed[0] / missed[1] < 18
