"""Minimization by Adam with a step size that falls linearly to zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from icl import checks
from icl.checks import integer, real, shown


def minimize(
    objective: Callable[..., Tensor],
    start: Sequence[Tensor],
    steps: int,
    learning_rate: float,
) -> tuple[list[Tensor], Tensor]:
    """Minimize the sum of an objective's values with the step sizes ``learning_rate * (1 - step / steps)``.

    Adam works entry by entry, so independent problems can be stacked in the variables.

    Args:
        objective: A function of ``(step, *variables)``, with ``step = 0, ..., steps - 1``, that returns a
            tensor with one value for each problem.
        start: The variables at the start, which are not changed.
        steps: Number of steps.
        learning_rate: Step size of the first step.

    Returns:
        The variables after the last step. The values of the objective before each step, with the steps along
        the first axis.

    Raises:
        ValueError: If an argument is out of range, or if the objective returns anything but a finite tensor.
    """
    if not callable(objective):
        raise ValueError(f"objective={shown(objective)}: must be a function")
    if not isinstance(start, list | tuple) or not start:
        raise ValueError(f"start={shown(start)}: must be a list of tensors")
    for at, tensor in enumerate(start):
        checks.tensor(tensor, f"start[{at}]")
    steps = integer(steps, "steps", 1)
    learning_rate = real(learning_rate, "learning_rate", 0, exclusive_min=True)
    variables = [tensor.clone().requires_grad_() for tensor in start]
    descent = torch.optim.Adam(variables, lr=learning_rate)
    values = []
    for step in range(steps):
        for group in descent.param_groups:
            group["lr"] = learning_rate * (1 - step / steps)
        value = objective(step, *variables)
        checks.tensor(value, f"objective(step={step})")
        values.append(value.detach())
        descent.zero_grad()
        torch.autograd.backward(value.sum())
        descent.step()
    return [tensor.detach() for tensor in variables], torch.stack(values)
