"""The quadratic form of the risk: against sampled labels, the exact risk, and its floor."""

import numpy as np
import pytest
import torch

from icl.covariates import uniform_sphere
from icl.risk import bayes_linear_risk, monte_carlo_risk, population_risk
from icl.streams import stream
from icl.tasks import CLASSES, Affine, QuadraticRisk, ReLU
from icl_book.statistics import t_interval

CONTEXTS, N, D, SIGMA = 4000, 8, 3, 0.4


def tokens(step=0, seed=7):
    return uniform_sphere(stream(seed, "monte carlo", step), CONTEXTS, N + 1, D)


def test_labels_are_integrated_out_for_weights_of_any_sign_and_sum():
    x, task = tokens()[:1].expand(60_000, -1, -1), ReLU(D)
    weights = torch.tensor([0.9, -0.4, 0.3, 0.3, 0.0, 0.2, 0.1, -0.1], dtype=torch.float64)
    f = task.sample(stream(1, "tasks"), len(x))(x)
    y = f[:, :-1] + SIGMA * torch.from_numpy(stream(1, "noise").standard_normal((len(x), N)))
    _, low, high = t_interval((y @ weights - f[:, -1]) ** 2)
    form = QuadraticRisk.of(task, x[:1], SIGMA)
    assert low <= float(form.risk(weights[None])) <= high
    both = torch.stack([weights, 2 * weights])[:, None]
    assert torch.allclose(form.product(both[0], both[1]), 2 * form.product(both[0], both[0]))


@pytest.mark.parametrize("name", CLASSES)
def test_its_mean_over_tokens_is_the_exact_risk(name):
    """The form averages labels in closed form, so that its interval is narrower than a sampled one."""
    x, task, w = tokens(), CLASSES[name](D), 3.0
    weights = torch.softmax(w * (x[:, :-1] @ x[:, -1:].mT).squeeze(-1), 1)
    found = QuadraticRisk.of(task, x, SIGMA).risk(weights)
    _, low, high = t_interval(found)
    assert low < population_risk(task, w, N, SIGMA).total < high
    sampled = monte_carlo_risk(task, w, N, SIGMA, CONTEXTS)
    assert high - low < sampled.interval[1] - sampled.interval[0]


def test_kriging_is_the_floor():
    x, task = tokens(seed=0), ReLU(D)
    form = QuadraticRisk.of(task, x, SIGMA)
    best = form.kriging()
    floor = form.risk(best)
    # the first context by NumPy
    k = task.covariance(np.clip(x[0].numpy() @ x[0].numpy().T, -1, 1))
    by_hand = k[-1, -1] - k[-1, :-1] @ np.linalg.solve(
        k[:-1, :-1] + SIGMA**2 * np.eye(N), k[:-1, -1]
    )
    assert np.isclose(floor[0], by_hand, rtol=1e-12)
    assert np.isclose(floor.mean(), bayes_linear_risk(task, N, SIGMA, CONTEXTS).mean, rtol=1e-12)


def test_kriging_without_noise_of_a_class_with_few_dimensions():
    """Affine functions in d dimensions are known from d + 1 tokens: the risk is zero."""
    form = QuadraticRisk.of(Affine(D), tokens()[:200], 0.0)
    assert form.risk(form.kriging()).abs().max() < 1e-8 < form.prior
