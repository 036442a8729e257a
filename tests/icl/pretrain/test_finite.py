"""Fits to finitely many contexts against grids and gradients; pools against the functions they hold."""

import numpy as np
import pytest
import torch

from icl.covariates import uniform_sphere
from icl.pretrain.finite import ReLUPool, context_losses, fit_matrix, fit_window
from icl.streams import stream
from icl.tasks import ReLU


@pytest.fixture(scope="module")
def contexts():
    x = uniform_sphere(stream(0, "covariates"), 400, 11, 3)
    y = ReLU(3, 3.0).sample(stream(0, "tasks"), 400)(x)
    return x, y + 0.1 * torch.from_numpy(stream(0, "noise").standard_normal((400, 11)))


def test_window_is_the_best_of_a_grid(contexts):
    w = fit_window(*contexts)
    grid = w * np.array([0.5, 0.9, 0.99, 1, 1.01, 1.1, 2])
    losses = [
        float(context_losses(v * torch.eye(3).double(), *contexts).mean()) for v in grid
    ]
    assert int(np.argmin(losses)) == 3 and 1 < w < 100


def test_matrix_has_no_gradient_left_and_is_better_than_the_window(contexts):
    start = fit_window(*contexts) * torch.eye(3).double()
    M = fit_matrix(*contexts, start)
    left, right = (float(context_losses(m, *contexts).mean()) for m in (M, start))
    assert left < right
    M.requires_grad_()
    (slope,) = torch.autograd.grad(context_losses(M, *contexts).mean(), M)
    assert slope.abs().max() < 1e-5 and not start.requires_grad


def test_a_pool_holds_so_many_functions_and_no_others():
    pool, x = ReLUPool(3, 2.0, 4, 5), uniform_sphere(stream(0, "covariates"), 1, 6, 3)
    values = pool.sample(stream(1, "tasks"), 200)(x.expand(200, 6, 3))
    distinct, counts = values.round(decimals=10).unique(dim=0, return_counts=True)
    assert len(distinct) == 4 and counts.min() > 20
    again = (
        pool.sample(stream(2, "tasks"), 200)(x.expand(200, 6, 3))
        .round(decimals=10)
        .unique(dim=0)
    )
    assert torch.equal(
        again, distinct
    )  # the pool does not depend on the stream that picks from it
    other = ReLUPool(3, 2.0, 4, 6).sample(stream(1, "tasks"), 200)(x.expand(200, 6, 3))
    assert not torch.isin(other, distinct).any()


def test_the_pool_has_the_covariance_of_its_class():
    pool, cosine = ReLUPool(3, 2.0, 20_000, 0), 0.4
    x = torch.tensor(
        [[[1.0, 0.0, 0.0], [cosine, (1 - cosine**2) ** 0.5, 0.0]]]
    ).double()
    f = pool.sample(stream(0, "tasks"), 20_000)(x.expand(20_000, 2, 3))
    product = (f[:, 0] * f[:, 1]).numpy()
    error = (
        5 * product.std() / len(product) ** 0.5 * 2**0.5
    )  # the pool is random, and so are the picks
    assert abs(product.mean() - ReLU(3, 2.0).covariance(np.array(cosine))) < error
