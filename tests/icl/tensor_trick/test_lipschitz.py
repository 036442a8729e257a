"""Lipschitz constants and the search for them against Jacobians by autograd, brute force and closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from icl.streams import stream
from icl.tensor_trick.formulas import row_gradient, row_loss
from icl.tensor_trick.lipschitz import (
    FUNCTIONS,
    largest_exponential,
    log_jacobian_norm,
    log_norm,
    proven_constant,
    smallest_normalizer,
    witness,
    worst_logits,
)
from icl.tensor_trick.supremum_search import (
    ascend,
    ball,
    directional,
    search,
    search_loss,
)

LN10 = math.log(10)
PLAIN = {
    "u": torch.exp,
    "alpha": lambda s: s.exp().sum(-1, keepdim=True),
    "1/alpha": lambda s: 1 / s.exp().sum(-1, keepdim=True),
    "f": lambda s: s.softmax(-1),
}


def normal(*shape, seed=0):
    return torch.from_numpy(stream(seed, "initialization").standard_normal(shape))


def along(kind):
    return lambda s, w, b: (row_gradient(s, b, kind) * w).sum(-1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gain_and_size_are_those_of_the_function(function):
    s, w = normal(2, 7)
    J = torch.func.jacrev(PLAIN[function])(s)
    assert log_jacobian_norm(function, s, w).exp() == pytest.approx(
        (J @ w).norm().item(), rel=1e-12
    )
    assert log_norm(function, s).exp() == pytest.approx(
        PLAIN[function](s).norm().item(), rel=1e-12
    )
    far = log_jacobian_norm(function, 200 * s, w)  # no overflow where exp would
    assert torch.isfinite(far)


@pytest.mark.parametrize(
    "n, radius", [(2, 0.3), (5, 1.0), (5, 4.0), (40, 2.0), (40, 7.0)]
)
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
    found = ascend(lambda z: -ball(z, R**2).logsumexp(-1), [normal(1, 20, n)], 400)
    assert -found.best.item() == pytest.approx(smallest_normalizer(n, R), abs=1e-4)
    assert -found.best.item() >= smallest_normalizer(n, R) - 1e-12


@pytest.mark.parametrize("parallel", [False, True])
def test_witness_realizes_logits_and_direction(parallel):
    s, w = normal(2, 6, seed=1)
    w = -2 * s if parallel else w
    A, x, v = witness(s, w, 3.0)
    assert torch.linalg.matrix_norm(A, 2).item() == pytest.approx(3.0)
    assert torch.allclose(A @ x, s) and torch.allclose(A @ v, 3 * w / w.norm())
    assert v.norm() == pytest.approx(1) and x.norm() == pytest.approx(
        (s.norm() / 3).item()
    )
    A, x, v = witness(torch.zeros(6, dtype=torch.float64), w, 3.0)
    assert (A @ x).norm() == 0 and torch.allclose(A @ v, 3 * w / w.norm())


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n, R", [(2, 0.5), (3, 2.0), (16, 1.0), (16, 3.0), (100, 4.0)])
def test_constructions_respect_the_ball_and_the_sharp_bound(function, n, R):
    s, w = worst_logits(function, n, R)
    assert s.norm() <= R**2 * (1 + 1e-12) and w.norm() == pytest.approx(1)
    value = log_jacobian_norm(function, s, w).item() / LN10 + math.log10(R)
    assert value <= proven_constant(function, n, R) + 1e-9
    J = torch.func.jacrev(PLAIN[function])(s)
    assert 10**value == pytest.approx(
        R * torch.linalg.matrix_norm(J, 2).item(), rel=1e-6
    )
    if function in ("u", "alpha"):
        assert value == pytest.approx(proven_constant(function, n, R), abs=1e-9)
    if function == "f" and n > 2:  # the closed form printed in the chapter
        closed = R / (2 + (n - 2) * math.exp(-(R**2) * math.sqrt(n / (2 * n - 4))))
        assert 10**value >= closed * (1 - 1e-4)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("moving", ["x", "A"])
def test_search_reaches_the_construction_and_does_not_pass_it(function, moving):
    Rs = [1.0, 3.0]
    found = search(function, 8, Rs, 24, 200, stream(2, "initialization"), moving=moving)
    for value, R in zip(found.best.tolist(), Rs, strict=True):
        built = log_jacobian_norm(
            function, *worst_logits(function, 8, R)
        ).item() / LN10 + math.log10(R)
        assert math.log10(0.95) < value - built < math.log10(1.01)
        assert value <= proven_constant(function, 8, R) + 1e-9
    assert len(found.history) == 201  # the start and what 200 steps reach
    assert (found.history[0] < found.best).all() and (
        found.history.diff(dim=0) >= 0
    ).all()


@pytest.mark.parametrize(
    "kind", ["normalized", "rescaled", "sparse", "cross_entropy", "entropy"]
)
def test_directional_derivatives_against_nested_differences(kind):
    s, w, t = normal(3, 5, seed=4)
    b, h = t.softmax(-1), 1e-3
    value = [row_loss(s + k * h * w, b, kind).item() for k in (-2, -1, 0, 1, 2)]
    differences = [
        (value[3] - value[1]) / (2 * h),
        (value[3] - 2 * value[2] + value[1]) / h**2,
        (value[4] - 2 * value[3] + 2 * value[1] - value[0]) / (2 * h**3),
    ]
    for order, wanted in enumerate(differences, 1):
        ours = directional(lambda z: along(kind)(z, w, b), order, s, w).item()
        assert ours == pytest.approx(wanted, rel=1e-3, abs=1e-4)


def test_loss_search_finds_the_two_token_optimum():
    p = [(15 - math.sqrt(33)) / 24, (15 + math.sqrt(33)) / 24]
    high, low = (4 * q * q * (1 - q) * (2 - 3 * q) for q in p)
    how = {"radius": 36.0, "starts": 24, "steps": 200}
    for n, sign, wanted in ((2, 1.0, high), (6, -1.0, -low)):
        found = search_loss(
            along("normalized"), 2, n, rng=stream(5, "initialization"), sign=sign, **how
        )
        assert 10 ** found.best.item() == pytest.approx(wanted, rel=1e-2)
    slope = (
        10
        ** search_loss(
            along("normalized"), 1, 6, rng=stream(5, "initialization"), **how
        ).best.item()
    )
    assert (
        slope == pytest.approx(8 * math.sqrt(2) / 27, rel=1e-2)
        and slope <= 8 * math.sqrt(2) / 27 + 1e-9
    )
