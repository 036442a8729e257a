"""What an irrelevant direction adds to second order: against the risk in two variables."""

import numpy as np
import pytest
from scipy import special

from icl.rigor import plane
from icl.risk import low_rank_risk, optimal_window
from icl.risk.low_rank import _angles
from icl.tasks import Linear


def second_difference(d, k, c, n, s):
    """Second derivative of the fast risk in e, times d - k, by differences without the term of order e^2."""
    middle, near, far = (low_rank_risk(d, k, c, e, n, s).total for e in (0.0, 0.05, 0.1))
    return (4 * (near - middle) / 0.05**2 - (far - middle) / 0.1**2) * 2 * (d - k) / 3


@pytest.mark.parametrize(
    "d, k, c, n, s", [(5, 2, 3.0, 2, 0.0), (6, 3, 7.3, 20, 0.1), (3, 2, 0.0, 3, 1.0), (4, 2, 1.0, 5, 2.0)]
)
def test_it_is_the_second_derivative_of_the_risk(d, k, c, n, s):
    low, high = plane.blur(k, c, n, s)
    assert high - low <= 1e-7 * abs(high)
    assert second_difference(d, k, c, n, s) == pytest.approx(high, rel=1e-5)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("s", [0.0, 0.1, 1.0])
def test_the_risk_rises_in_e_at_the_best_c(k, n, s):
    assert plane.blur(k, float(optimal_window(Linear(k), n, s).w), n, s)[0] > 0


def two_examples(k, c, b, s, count=120):
    """F of the theorem on two examples, and 2 F' by its definition and by its last formula."""
    t, w = _angles(k, count)
    gap, mean = t[:, None] - t, 1 - (1 - t)[:, None] * (1 - t)
    p, A = np.outer(w, w), 2 * mean / k + 2 * s**2
    T = np.tanh((c * gap + b) / 2)
    return (p * (A / 4 * T**2 - gap / k * T)).sum(), (p * (1 - T**2) * (A / 2 * T - gap / k)).sum()


@pytest.mark.parametrize(
    "d, k, c, e, s", [(5, 2, 3.0, 2.0, 0.1), (6, 3, 5.0, 0.7, 0.5), (7, 5, 0.3, 1.0, 1.0)]
)
def test_the_risk_of_two_examples_is_a_mean_over_one_number(d, k, c, e, s):
    t, w = _angles(d - k, 40)
    pairs = np.outer(w, w).ravel()
    F = [two_examples(k, c, e * b, s, 60)[0] for b in (t[:, None] - t).ravel()]
    assert 1.5 / k + s**2 / 2 + pairs @ F == pytest.approx(low_rank_risk(d, k, c, e, 2, s).total, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
@pytest.mark.parametrize("s", [0.0, 0.1, 3.0])
def test_irrelevant_directions_always_harm_two_examples(k, s):
    for c in (0.0, 0.1, 0.4, 0.6, 2.0, 10.0):
        for b in (0.01, 0.3, 1.0, 3.0, 8.0):
            assert two_examples(k, c, b, s)[1] > 0, (c, b)
            h = 1e-4
            slope = (two_examples(k, c, b + h, s)[0] - two_examples(k, c, b - h, s)[0]) / (2 * h)
            assert 2 * slope == pytest.approx(two_examples(k, c, b, s)[1], rel=1e-5, abs=1e-9)


def law_of_the_gap(s, gap):
    """The densities p and A p of the theorem in closed form for k = 2, 0 < gap < 2."""
    K, E = special.ellipkm1(gap**2 / 4) / np.pi**2, special.ellipe(1 - gap**2 / 4) / np.pi**2
    return K, 2 * E + 2 * s**2 * K


@pytest.mark.parametrize("c, b", [(0.3, 2.0), (4.0, 1.0)])
def test_the_integral_by_parts_of_two_examples(c, b):
    x, weight = np.polynomial.legendre.leggauss(400)
    k, s, gap, weight = 2, 0.7, (1 + x) ** 2 / 2, weight * (1 + x)
    (p, _), (_, up), (_, low) = (law_of_the_gap(s, gap * (1 + h)) for h in (0, 1e-6, -1e-6))
    slope, end = (up - low) / (2e-6 * gap), law_of_the_gap(s, 2.0)[1]

    def h(gap):
        return np.tanh((c * gap + b) / 2) ** 2 - np.tanh((c * gap - b) / 2) ** 2

    by_parts = weight @ (gap * p / k * h(gap)) + (end * h(2.0) - weight @ (slope * h(gap))) / (2 * c)
    assert by_parts == pytest.approx(two_examples(k, c, b, s, 400)[1], rel=1e-4)
