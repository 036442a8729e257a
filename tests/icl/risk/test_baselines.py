"""Linear attention, the nearest neighbor and ridge regression against sampling and other libraries."""

import numpy as np
import pytest
import torch

from icl.covariates import uniform_sphere
from icl.risk import linear_optimum, linear_risk, nearest_neighbor_risk
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU
from icl_book.statistics import Z

COUNT = 20_000  # every sampled number here is a mean over this many contexts


def contexts(task, n, noise_std, seed=3):
    tokens = uniform_sphere(stream(seed, "covariates"), COUNT, n + 1, task.dim)
    f = task.sample(stream(seed, "tasks"), COUNT)(tokens)
    y = f[:, :-1] + noise_std * torch.from_numpy(stream(seed, "noise").standard_normal((COUNT, n)))
    return tokens[:, :-1], y, tokens[:, -1], f[:, -1]


def sigmas(loss, expected):
    return abs(float(loss.mean()) - expected) / (float(loss.std()) / len(loss) ** 0.5)


@pytest.mark.parametrize(
    "task", [Affine(2), ReLU(5), Cosine(3, 2.0), Linear(4), Quadratic(3)], ids=str
)
@pytest.mark.parametrize("n, m", [(1, 0.7), (7, 2.0)])
def test_linear_risk_against_sampling(task, n, m):
    x, y, query, truth = contexts(task, n, 0.4)
    scores = m * (x @ query.unsqueeze(-1)).squeeze(-1)
    loss = ((scores * y).mean(-1) - truth) ** 2
    assert sigmas(loss, float(linear_risk(task, m, n, 0.4))) < Z


def test_linear_risk_against_the_affine_closed_form():
    d, n, m, s, L = 5, 20, 3.0, 0.3, 2.0
    slope = (m**2 * (1 / (n * d) + (n - 1) / (n * d**2)) - 2 * m / d + 1) / d
    expected = L**2 / 3 * (slope + 1 + m**2 / (n * d)) + s**2 * m**2 / (n * d)
    assert linear_risk(Affine(d, L), m, n, s) == pytest.approx(expected, rel=1e-13)


def test_linear_optimum_is_the_lowest_and_tends_to_its_floor():
    floors = {Affine(5, 2.0): 4 / 3, ReLU(5): 1 / 3 + 1 / 30, Linear(3): 0.0, Quadratic(3): 3 / 15}
    for task, floor in floors.items():
        best = linear_optimum(task, np.array([10, 1000, 10**12]), 0.1)
        assert best.floor == pytest.approx(floor, rel=1e-12, abs=1e-15)
        for i, n in enumerate((10, 1000, 10**12)):
            around = linear_risk(task, best.m[i] + np.linspace(-1, 1, 21), n, 0.1)
            assert np.argmin(around) == 10
            assert around[10] == pytest.approx(best.risk[i], rel=1e-12, abs=1e-16)
        assert np.all(np.diff(best.risk) <= 0) and best.risk[-1] == pytest.approx(floor, abs=1e-10)
    n = np.array([1e12, 1e25])  # here the risk is far below the rounding of the power
    assert np.diff(n * linear_optimum(Linear(3), n, 0.1).risk) == pytest.approx(0.0, abs=1e-9)


def test_nearest_of_one_token_and_of_many():
    bias = nearest_neighbor_risk(Affine(3), [1, 10**6], 0.0).bias
    # E[2 gamma] = 2/9 E[gap]; on S^2 a cap of mass p reaches to gap 2 p, on average 2 / (n + 1)
    assert bias == pytest.approx(2 / 9 * np.array([1, 2 / (10**6 + 1)]), rel=1e-9)
