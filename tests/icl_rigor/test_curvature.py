"""The range of the curvature of softmax regression: the matrix bounds the Hessian, wrong ends fail."""

import numpy as np
import pytest
import torch

from icl.tensor_trick.formulas import row_hvp
from icl_rigor import curvature

#: The ends of the range for two tokens, 4 g(p) at the stationary points of g.
ENDS = {
    side: 4 * p**2 * (1 - p) * (2 - 3 * p)
    for side, p in ((1, (15 - 33**0.5) / 24), (-1, (15 + 33**0.5) / 24))
}


@pytest.mark.parametrize("side", [1, -1])
def test_the_ends_are_proved_and_smaller_ones_are_not(side):
    proof = curvature.prove(side)
    assert proof.proved and proof.end == pytest.approx(ENDS[side], abs=1e-15)
    wrong = curvature.prove(side, 0.999)
    assert not wrong.proved
    p = wrong.where[0][0]  # the remaining box is at the maximum
    assert side * 4 * (1 - p) ** 2 * p * (3 * p - 1) > 0.99 * side * proof.end


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_the_matrix_bounds_the_hessian(side, n):
    """This holds at random probabilities and directions, with the Hessian of independent code."""
    rng, end = np.random.default_rng(n), float(curvature.two_token_end(side))
    for _ in range(300):
        f = rng.dirichlet(np.full(n, 10 ** rng.uniform(-1, 1)))
        v = rng.normal(size=n) * 10 ** rng.uniform(-1, 1, n)
        s, target = (torch.tensor(np.log(f + 1e-300)), torch.eye(n, dtype=torch.float64)[0])
        second = v @ row_hvp(s, torch.tensor(v), target, "normalized").numpy()
        order = np.concatenate([[0], 1 + np.argsort(-f[1:])])
        f, v = f[order], v[order]
        p, q, t, phi = f[0], f[1], f[2:].sum(), (f[2] if n > 2 else 0.0)
        if side < 0 and min(q, phi) > 0.46:
            continue
        x = f[2:] @ v[2:] / np.sqrt(phi * t) if n > 2 else 0.0
        A, c = quadratic_form(p, q, t, phi, side, end)
        w = np.array([v[0], v[1], x])
        assert end >= c * phi
        assert end * (v @ v) - side * second >= w @ A @ w - 1e-9 * (v @ v)


def quadratic_form(p, q, t, phi, side, end):
    """Return A and c as the docstring defines them, in floats."""
    F = phi**2 if side > 0 else phi * t
    kappa, spread = p * (1 - p) - q**2 - F, np.sqrt(phi * t)
    c = max(kappa + 2 * phi, 0.0) if side > 0 else max(-kappa, 0.0)
    mean, e = np.array([p, q, spread]), np.eye(3)
    form = p * (kappa - 1 + 2 * p) * np.outer(e[0] - mean, e[0] - mean)
    form += q * (kappa + 2 * q) * np.outer(e[1] - mean, e[1] - mean)
    mixed = np.outer(mean, e[2])
    pull = t * np.outer(mean, mean) - spread * (mixed + mixed.T) + phi * np.outer(e[2], e[2])
    return end * e - side * form - c * pull, c


@pytest.mark.parametrize("side", [1, -1])
def test_the_minors_are_those_of_the_matrix(side):
    rng, end = np.random.default_rng(0), float(curvature.two_token_end(side))
    for _ in range(20):
        p, q, t = rng.dirichlet([1, 1, 1])
        phi = min(q, t) * rng.random()
        A, c = quadratic_form(p, q, t, phi, side, end)
        minors = curvature._minors(p, q, t, phi, np.sqrt(phi * t), c, side, end)
        assert np.allclose(
            minors, [A[2, 2], np.linalg.det(A[1:, 1:]), np.linalg.det(A)], atol=1e-13
        )
        # without a tail this is the case t = 0 of the proof
        g = (1 - p) ** 2 * p * (3 * p - 1)
        det = curvature._minors(p, 1 - p, 0.0, 0.0, 0.0, 0.3, side, end)[2]
        assert det == pytest.approx(end**2 * (end - side * 4 * g), abs=1e-13)


def test_the_corner():
    """The bound of the docstring holds at its least favorable probabilities."""
    r, C = 0.08, 0.54**2 + 0.46**2 + 0.08**2
    assert C <= 0.5096 < 2 * 0.46 and 0.54**2 + 0.46**2 <= 0.7094**2
    assert (1 + C) * r * ((1 + r) ** 2 + 0.7094**2) < 0.202 < -ENDS[-1]
