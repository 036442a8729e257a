"""Pretraining of one unit with autograd and torch.optim: the slow reference of `icl.pretrain.pretrain`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from icl.attention import weights
from icl.pretrain.config import UnitConfig
from icl.pretrain.model import by_name
from icl.streams import stream


def contexts(unit: UnitConfig, step: int, batch_size: int) -> tuple[Tensor, Tensor]:
    """Return the portable batch of ``step``: tokens (B, n + 1, d), the query last, and labels (B, n + 1)."""
    shape = (batch_size, unit.context_length + 1)
    x = unit.covariate_law.from_normal(
        torch.from_numpy(
            stream(unit.seed, "covariates", step).standard_normal((*shape, unit.task.dim))
        )
    )
    noise = torch.from_numpy(stream(unit.seed, "noise", step).standard_normal(shape))
    f = unit.task.sample(stream(unit.seed, "tasks", step), batch_size)
    return x, f(x) + unit.noise_std * noise


def prediction(parameters: dict[str, Tensor], activation: str, x: Tensor, y: Tensor) -> Tensor:
    """Return the prediction of the query's label: ITA slides, eqs. (1) and (2), for any activation."""
    tokens = torch.cat([x, y.unsqueeze(-1)], -1)
    tokens[:, -1, -1] = 0  # the unit does not see the query's label
    context, query = tokens[:, :-1], tokens[:, -1]
    if "M" in parameters:
        scores = (context[..., :-1] * (query[:, :-1] @ parameters["M"].T).unsqueeze(1)).sum(-1)
        values = context[..., -1]
    else:
        scores = ((context @ parameters["W_K"].T) * (query @ parameters["W_Q"].T).unsqueeze(1)).sum(
            -1
        )
        values = context @ parameters["W_V"]
    return (weights(scores, activation, -1)[0] * values).sum(-1)


def pretrain(
    unit: UnitConfig,
    steps: int,
    batch_size: int,
    rate: float,
    optimizer: str = "adam",
    draw=contexts,
) -> dict[str, np.ndarray]:
    """Return the parameters of `icl.pretrain.pretrain` for one unit and the linear schedule, slowly.

    ``draw`` maps (unit, step, batch size) to a batch.
    """
    theta = torch.from_numpy(unit.initial()).requires_grad_()
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    descent = kind([theta], lr=unit.learning_rate or rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(descent, lambda step: 1 - step / steps)
    for step in range(steps):
        x, y = draw(unit, step, batch_size)
        error = prediction(by_name(theta, unit.width), unit.activation, x, y) - y[:, -1]
        descent.zero_grad()
        (error**2).mean().backward()
        descent.step()
        schedule.step()
    return by_name(theta.detach().numpy(), unit.width)
