"""Proved Lipschitz constants against Jacobians by autograd, brute force and closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from icl.tensor_trick.lipschitz import (
    FUNCTIONS,
    largest_exponential,
    proven_constant,
    smallest_normalizer,
)

LN10 = math.log(10)
PLAIN = {
    "u": torch.exp,
    "alpha": lambda s: s.exp().sum(-1, keepdim=True),
    "1/alpha": lambda s: 1 / s.exp().sum(-1, keepdim=True),
    "f": lambda s: s.softmax(-1),
}


def slope(function, s, R):
    """The largest quotient at scores s: R times the norm of the Jacobian, as log10."""
    jacobian = torch.func.jacrev(PLAIN[function])(s)
    return math.log10(R * torch.linalg.matrix_norm(jacobian, 2).item())


@pytest.mark.parametrize("n, radius", [(2, 0.3), (5, 1.0), (5, 4.0), (40, 2.0), (40, 7.0)])
def test_largest_exponential_against_a_general_optimizer(n, radius):
    rng, best = np.random.default_rng(0), -math.inf

    def value_and_slope(z):
        direction = z / np.linalg.norm(z)
        weights = np.exp(radius * direction)
        slope = (
            radius
            * (weights - direction * (weights @ direction))
            / np.linalg.norm(z)
            / weights.sum()
        )
        return -np.log(weights.sum()), -slope

    for i in range(30):
        start = rng.standard_normal(n) ** (1 if i % 2 else 5)
        best = max(best, -minimize(value_and_slope, start, jac=True).fun)
    assert largest_exponential(n, radius) == pytest.approx(best / LN10, abs=1e-7)


def test_smallest_normalizer_is_attained_and_never_beaten():
    R, n = 1.7, 9
    equal = torch.full((n,), -(R**2) / 3, dtype=torch.float64)
    assert equal.norm() == pytest.approx(R**2)
    assert smallest_normalizer(n, R) == pytest.approx(equal.logsumexp(0).item() / LN10)
    rng = np.random.default_rng(0)
    others = equal + torch.from_numpy(rng.standard_normal((1000, n)))
    others = R**2 * others / others.norm(dim=-1, keepdim=True)
    assert (others.logsumexp(-1) / LN10 > smallest_normalizer(n, R)).all()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n, R", [(2, 0.5), (3, 2.0), (16, 1.0), (16, 3.0), (40, 4.0)])
def test_no_scores_pass_the_proved_constant(function, n, R):
    """Random scores of the ball, of few and of many large entries."""
    rng = np.random.default_rng(0)
    for power in (1, 1, 3, 3, 7, 7):
        s = torch.from_numpy(rng.standard_normal(n) ** power)
        s = R**2 * s / s.norm()
        assert slope(function, s, R) <= proven_constant(function, n, R) + 1e-9


@pytest.mark.parametrize("n, R", [(2, 0.5), (3, 2.0), (16, 1.0), (16, 3.0), (40, 4.0)])
def test_explicit_scores_reach_the_proved_constants(n, R):
    """One large score for u; equal ones for 1/alpha, up to the root of n; two for f, by its closed form."""
    one = torch.zeros(n, dtype=torch.float64)
    one[0] = R**2
    assert slope("u", one, R) == pytest.approx(proven_constant("u", n, R))
    # the gradient of alpha is u, whose largest norm is a largest sum of exponentials
    largest = math.log10(R) + largest_exponential(n, 2 * R**2) / 2
    assert proven_constant("alpha", n, R) == pytest.approx(largest)
    equal = torch.full((n,), -(R**2) / math.sqrt(n), dtype=torch.float64)
    short = proven_constant("1/alpha", n, R) - slope("1/alpha", equal, R)
    assert short == pytest.approx(math.log10(n) / 2)
    if n > 2:  # the closed form printed in the chapter
        two = torch.full((n,), -(R**2) * math.sqrt(2 / (n * (n - 2))), dtype=torch.float64)
        two[:2] = R**2 * math.sqrt((n - 2) / (2 * n))
        assert two.norm() == pytest.approx(R**2)
        rest = (n - 2) * math.exp(-(R**2) * math.sqrt(n / (2 * n - 4)))
        assert 10 ** slope("f", two, R) == pytest.approx(R / (2 + rest))


def test_longer_weights_count_through_the_scores_alone():
    for function in ("u", "alpha", "1/alpha"):
        longer = proven_constant(function, 5, 2.0, reach=4.0) - math.log10(2.0)
        assert longer == pytest.approx(proven_constant(function, 5, 4.0) - math.log10(4))
    assert proven_constant("f", 5, 2.0, reach=4.0) == proven_constant("f", 5, 2.0) == 0
    with pytest.raises(ValueError, match="function='g': allowed are u, alpha"):
        proven_constant("g", 5, 2.0)
