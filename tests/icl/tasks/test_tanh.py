"""The smooth class: its covariance against sampled functions, its limits, its risk."""

import numpy as np
import pytest
import torch

from icl.risk import monte_carlo_risk, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Linear, Tanh


@pytest.mark.parametrize("dim", [2, 3, 7])
@pytest.mark.parametrize("steepness", [0.5, 6.0, 20.0])
def test_covariance_against_sampled_functions(dim, steepness):
    task, x = Tanh(dim, 2.0, steepness), torch.zeros(40_000, 2, dim, dtype=torch.float64)
    x[:, :, 0] = torch.tensor([1.0, 0.3])
    x[:, 1, 1] = np.sqrt(1 - 0.3**2)
    f = task.sample(stream(3, "tasks"), len(x))(x).numpy()
    for cosine, values in ((0.3, f[:, 0] * f[:, 1]), (1.0, f[:, 0] ** 2)):
        _, low, high = t_interval(values)
        assert low <= float(task.covariance(np.array(cosine))) <= high
    assert np.isclose(
        task.variogram(np.array([np.arccos(0.3)]))[0],
        float(task.covariance(np.array(1.0)) - task.covariance(np.array(0.3))),
        rtol=1e-9,
    )


def test_flat_functions_are_linear_ones():
    flat, linear = Tanh(3, 1.5, 1e-3), Linear(3, 1.5)
    theta = np.linspace(0.01, 3.1, 7)
    assert np.allclose(flat.variogram(theta), linear.variogram(theta), rtol=1e-5)


def test_exact_risk_against_samples():
    task = Tanh(3, 4.0, 4.0)
    low, high = monte_carlo_risk(task, 6.0, 10, 0.3, 40_000).interval
    assert low <= float(population_risk(task, 6.0, 10, 0.3).total) <= high
