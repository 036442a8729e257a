"""The worst Lipschitz function: the decomposition, the bracket."""

import pytest
import torch

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import population_risk, worst_case_risk
from icl.statistics import Z
from icl.streams import stream
from icl.tasks import Affine, Cosine, Harmonic, Linear, ReLU


@pytest.mark.parametrize("task", [Affine(3), ReLU(3), Cosine(5, 3.0)], ids=str)
def test_the_bias_is_a_sum_over_degrees(task):
    """Schur: bias = sum_l a_l c_l, c_l the bias of degree l alone."""
    w, n, last = 6.0, 12, 60
    a, rest = task.spectrum(last)
    parts = [
        float(population_risk(Harmonic(task.dim, degree=k + 1), w, n, 0.0).bias) if a[k] > 1e-13 else 0.0
        for k in range(last)
    ]
    whole = float(population_risk(task, w, n, 0.0).bias)
    assert abs(a @ parts - whole) <= 4 * rest + 1e-10  # no c_l exceeds 4


@pytest.mark.parametrize("dim, w, n", [(2, 5.0, 10), (3, 30.0, 200), (5, 8.0, 20)])
def test_no_lipschitz_function_exceeds_the_upper_end(dim, w, n):
    worst = worst_case_risk(dim, w, n, 0.2, lipschitz=2.0)
    assert 0 < worst.lower < worst.upper < 8 * worst.lower
    for task in (Linear(dim, 2.0), ReLU(dim, 2.0), Affine(dim, 2.0)):
        assert population_risk(task, w, n, 0.2).total < worst.upper
    for b in (0.5, 2.0, 7.0, 20.0):
        r = population_risk(Cosine(dim, b), w, n, 0.2)
        assert r.bias * (2 / b) ** 2 + r.noise < worst.upper


def test_a_function_without_symmetry_stays_below():
    """A fixed 1-Lipschitz maximum of distances, sampled; and the bound is not idle: 10 L would exceed it."""
    dim, w, n, count = 3, 10.0, 30, 20_000
    centers = uniform_sphere(stream(3, "tasks"), 12, dim)
    x = uniform_sphere(stream(3, "covariates"), count, n + 1, dim)
    f = (x[:, :, None] - centers).norm(dim=-1).amin(-1)
    omega = softmax_weights(x[:, :-1], x[:, -1], w * torch.eye(dim).double())
    loss = ((omega * f[:, :-1]).sum(-1) - f[:, -1]) ** 2
    half = Z * float(loss.std()) / count**0.5
    bound = worst_case_risk(dim, w, n, 0.0).upper
    assert float(loss.mean()) + half < bound < 100 * (float(loss.mean()) - half)
