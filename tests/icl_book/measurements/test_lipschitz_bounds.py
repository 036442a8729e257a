import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from icl_book.measurements import lipschitz_bounds
from icl_book.measurements.lipschitz_bounds import (
    FUNCTIONS,
    largest_exponential,
    proven_constant,
    smallest_normalizer,
)


def test_printed_bounds_are_what_their_mathematics_says():
    n, R = 9, 1.5
    e = math.exp(R**2)
    constants = [6 * R * e, 3 * e**2, 3 * R * e, 18 * R * e, 9 * e**4]
    constants += [27 * R * e**6, 27 * e**6, 27 * e**7]
    found = [10 ** bound.log10(n, R) for bound in lipschitz_bounds.LIPSCHITZ]
    assert found == pytest.approx(constants)
    found = [10 ** bound.log10(n, R) for bound in lipschitz_bounds.SIZES]
    assert found == pytest.approx([3 * e, 9 * e, e, 1])


def test_printed_constants_stand_beside_what_is_proved():
    """Computed by hand, f has the constant R / 2, and <f, v> has R^2 times that."""
    table = lipschitz_bounds.printed_constants(n_values=[5], radii=[4.0])
    assert len(table) == len(lipschitz_bounds.LIPSCHITZ)
    last = table.iloc[-1]
    assert last.slack == pytest.approx(1.5 * math.log10(5) + 7 * 16 / math.log(10) - math.log10(32))
    of_f = table[table.function == "f"]
    assert of_f.proved.to_numpy() == pytest.approx(math.log10(2))


def test_no_size_exceeds_the_largest_and_one_reaches_it():
    """Computed by hand, these are |f| of one large score, and 1 / alpha of equal scores."""
    assert lipschitz_bounds.largest_size("f", 7, 4.0) == 0
    equal = 2 / math.log(10) - math.log10(4)
    assert lipschitz_bounds.largest_size("1/alpha", 4, 2.0) == pytest.approx(equal)
    n, R = 3, 2.0
    angles = np.linspace(0, 2 * math.pi, 801)
    heights = np.linspace(-1, 1, 401)[:, None]
    ring = np.sqrt(1 - heights**2)
    flat = np.zeros_like(angles)
    scores = R**2 * np.stack([ring * np.cos(angles), ring * np.sin(angles), heights + flat])
    u = np.exp(scores)
    found = {"u": np.sqrt((u**2).sum(0)), "alpha": u.sum(0), "1/alpha": 1 / u.sum(0)}
    for function, values in found.items():
        largest = lipschitz_bounds.largest_size(function, n, R)
        assert largest - 1e-3 < np.log10(values.max()) <= largest + 1e-12
    table = lipschitz_bounds.printed_sizes(n_values=[n], radii=[R])
    assert (table.excess <= 1e-12).all()
    longer = lipschitz_bounds.printed_sizes(n_values=[n], radii=[R], reach=3.0)
    assert (longer.excess[longer.function != "f"] > 0).all()


def test_the_range_of_curvature_is_that_of_two_tokens():
    p = np.linspace(0, 1, 100_001)
    curvature = lipschitz_bounds.bend_of_two_tokens(p)
    assert curvature.max() == pytest.approx(lipschitz_bounds.SMOOTH)
    assert curvature.min() == pytest.approx(lipschitz_bounds.CONCAVE)
    # along the unit direction (1, -1) / sqrt 2 the difference of the scores is sqrt 2 times the way
    way = torch.tensor(math.log(0.3 / 0.7) / math.sqrt(2), dtype=torch.float64)
    slope = torch.func.grad(lambda way: (math.sqrt(2) * way).sigmoid() ** 2)
    twice = torch.func.grad(slope)(way).item()
    assert twice == pytest.approx(float(lipschitz_bounds.bend_of_two_tokens(0.3)))


def test_random_starts_find_the_range_of_curvature_as_well(monkeypatch):
    """The first start is at the end of the range already, so it is moved away here."""
    start = lipschitz_bounds.extreme_curvature(n_values=[9], starts=1, steps=1, seed=0)
    assert np.allclose(start.value, 1, atol=1e-12)
    monkeypatch.setattr(lipschitz_bounds, "P_LOW", 0.5)
    monkeypatch.setattr(lipschitz_bounds, "P_HIGH", 0.5)
    start = lipschitz_bounds.extreme_curvature(n_values=[9], starts=1, steps=1, seed=0)
    assert (start.value < 0.9).all()
    found = lipschitz_bounds.extreme_curvature(n_values=[2, 4], starts=8, steps=200, seed=0)
    assert np.allclose(found.value, 1, atol=0.01)
    assert (found.value <= found.most).all()


def test_dividing_the_data_out_makes_the_steps_independent_of_the_condition():
    counts = lipschitz_bounds.count_passes(
        context_length=8, dim=2, conditions=[1.0, 2.0, 4.0], seed=0
    )
    assert counts.preconditioned.nunique() == 1
    assert counts.descent.is_monotonic_increasing
    assert counts.descent.iloc[-1] > 20 * counts.preconditioned.iloc[-1]
    assert (counts.newton < counts.preconditioned).all()


def test_the_safe_step_and_newton_reach_the_goal():
    """They agree with a descent of a few lines, by autograd."""
    rng = np.random.default_rng(0)
    A1, A2 = (torch.from_numpy(rng.standard_normal((6, 2))) for _ in range(2))
    B = (A1 @ torch.from_numpy(rng.standard_normal((2, 2))) @ A2.T).softmax(-1)

    def loss(X):
        return 0.5 * ((A1 @ X @ A2.T).softmax(-1) - B).square().sum()

    norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
    step_size = float(1 / (lipschitz_bounds.SMOOTH * norms**2))
    X = torch.zeros(2, 2, dtype=torch.float64)
    values = [loss(X).item()]
    while values[-1] > lipschitz_bounds.GOAL * values[0]:
        X = X - step_size * torch.func.grad(loss)(X)
        values.append(loss(X).item())
    assert (np.diff(values) < 0).all(), "the safe step never raises the loss"
    identity = torch.eye(2, dtype=torch.float64)
    steps = lipschitz_bounds.count_steps(A1, A2, B, left=step_size * identity, right=identity)
    assert 0 <= steps - (len(values) - 1) < 10, "every tenth step is looked at"
    assert lipschitz_bounds.count_newton_passes(A1, A2, B) < steps


# --------------------------------------------------------------------------- what is proved
LN10 = math.log(10)
PLAIN = {
    "u": torch.exp,
    "alpha": lambda s: s.exp().sum(-1, keepdim=True),
    "1/alpha": lambda s: 1 / s.exp().sum(-1, keepdim=True),
    "f": lambda s: s.softmax(-1),
}


def slope(function, s, R):
    """Return the log10 of the largest quotient at scores s, R times the norm of the Jacobian."""
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
    """Random scores of the ball have few or many large entries."""
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


def test_a_function_without_a_printed_constant_is_refused():
    with pytest.raises(ValueError, match="function='g': allowed are u, alpha"):
        proven_constant("g", 5, 2.0)
