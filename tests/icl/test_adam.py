"""The Adam loop against the formula of the paper that introduced it, and against closed forms."""

import numpy as np
import torch

from icl.adam import minimize


def test_steps_are_those_of_the_formula():
    """Kingma and Ba (2015), Algorithm 1, in NumPy, with the step size falling to zero."""
    target = torch.tensor([[1.0, -2.0], [0.5, 30.0]], dtype=torch.float64)
    start = torch.zeros_like(target)
    (found,), values = minimize(
        lambda step, x: ((x - target * (1 + step / 7)) ** 2).sum(-1), [start], 7, 0.3
    )
    assert not start.any() and not found.requires_grad
    x, mean, square, losses = np.zeros((2, 2)), 0.0, 0.0, []
    for step in range(7):
        miss = x - target.numpy() * (1 + step / 7)
        losses.append((miss**2).sum(-1))
        mean, square = (
            0.9 * mean + 0.1 * 2 * miss,
            0.999 * square + 0.001 * (2 * miss) ** 2,
        )
        size = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
        x = x - 0.3 * (1 - step / 7) * mean / (1 - 0.9 ** (step + 1)) / size
    assert np.allclose(found, x, rtol=1e-13) and np.allclose(values, losses, rtol=1e-13)


def test_plain_gradient_steps_have_the_closed_form():
    (found,), _ = minimize(
        lambda step, x: x**2 / 2, [torch.ones(1).double()], 5, 0.5, torch.optim.SGD
    )
    assert np.allclose(found, np.prod(1 - 0.5 * (1 - np.arange(5) / 5)), rtol=1e-14)
