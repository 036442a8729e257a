"""The exact low-rank risk against sampling and against the full-rank instrument."""

import math

import pytest
import torch

from icl.attention import softmax_attention
from icl.risk import low_rank_risk, population_risk
from icl.statistics import Z
from icl.streams import stream
from icl.tasks import Linear


def sphere(rng, *shape):
    x = torch.from_numpy(rng.standard_normal(shape))
    return x / x.norm(dim=-1, keepdim=True)


SAMPLED = [(5, 2, 3.0, 0.0, 2, 0.0), (5, 2, 7.5, 0.5, 20, 0.1), (5, 1, 4.0, -1.0, 10, 0.3)]
SAMPLED += [(4, 3, 20.0, 2.0, 50, 0.5)]


@pytest.mark.parametrize("dim, rank, c, e, n, noise_std", SAMPLED)
def test_against_sampling(dim, rank, c, e, n, noise_std):
    count = 20_000
    Q = torch.linalg.qr(torch.from_numpy(stream(0, "tasks").standard_normal((dim, dim)))).Q
    B, rest = Q[:, :rank], Q[:, rank:]
    rng = stream(1, "covariates")
    x = sphere(rng, count, n + 1, rank) @ B.T + sphere(rng, count, n + 1, dim - rank) @ rest.T
    f = torch.einsum("bnk,bk->bn", x @ B, sphere(rng, count, rank))
    y = f[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal((count, n)))
    M = c * B @ B.T + e * rest @ rest.T
    loss = (softmax_attention(x[:, :-1], y, x[:, -1], M) - f[:, -1]) ** 2
    error = float(loss.std()) / math.sqrt(count)
    assert abs(float(loss.mean()) - low_rank_risk(dim, rank, c, e, n, noise_std).total) < Z * error


@pytest.mark.parametrize("rank, c, n", [(2, 0.0, 3), (3, 9.0, 40), (2, 90.0, 20), (4, 25.0, 10**6)])
def test_without_the_complement_it_is_the_linear_class(rank, c, n):
    ours, full = low_rank_risk(6, rank, c, 0.0, n, 0.2), population_risk(Linear(rank), c, n, 0.2)
    assert ours.bias == pytest.approx(full.bias, rel=1e-10)
    assert ours.noise == pytest.approx(full.noise, rel=1e-10)


def test_far_outside_the_subspace():
    """With a large e the nearest token outside it is copied; inside it, that token is any."""
    many = low_rank_risk(4, 2, 3.0, 1000.0, [1, 20], 0.5)
    assert many.total[0] == pytest.approx(1.25)
    value = low_rank_risk(4, 2, 0.0, 1000.0, 20, 0.5)
    assert value.bias == pytest.approx((1 + value.noise / 0.25) / 2, rel=1e-9)  # k = 2: 1/k + sum omega^2 / k
