"""The Adam loop against the formula of the paper that introduced it, and against closed forms."""

import numpy as np
import pytest
import torch

from icl_book.adam import minimize


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
        mean, square = (0.9 * mean + 0.1 * 2 * miss, 0.999 * square + 0.001 * (2 * miss) ** 2)
        size = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
        x = x - 0.3 * (1 - step / 7) * mean / (1 - 0.9 ** (step + 1)) / size
    assert np.allclose(found, x, rtol=1e-13) and np.allclose(values, losses, rtol=1e-13)


def square(step, x):
    return x**2


ONE = [torch.ones(1).double()]
REFUSED = [
    (("square", ONE, 5, 0.5), "objective='square': must be a function"),
    ((square, ONE[0], 5, 0.5), r"start=tensor.*: must be a list of tensors"),
    ((square, [], 5, 0.5), r"start=\[\]: must be a list of tensors"),
    ((square, [1.0], 5, 0.5), r"start\[0\]=1.0: must be a dense tensor"),
    ((square, ONE, 0, 0.5), "steps=0: must be an integer >= 1"),
    ((square, ONE, 5, np.nan), "learning_rate=nan: must be a finite number > 0"),
    ((lambda step, x: 1.0, ONE, 5, 0.5), r"objective\(step=0\)=1.0: must be a dense"),
    ((square, ONE, 5, 1e300), r"objective\(step=1\) has a NaN or infinite entry"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_invalid_settings_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        minimize(*given)
