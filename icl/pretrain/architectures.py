"""Parts of models with two layers.

All functions take stacks of S models, each with B contexts of its own: covariates ``x``, (S, B, n + 1, d),
and labels ``y``, (S, B, n + 1). The query is last. `icl.adam.minimize` trains by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icl.streams import NativeStream
from icl.tasks import Task


def sample_contexts(
    task: Task,
    covariates: Callable[[NativeStream, int], Tensor],
    noise_std: float,
    models: int,
    batch_size: int,
    seed: int,
    step: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw contexts for S models, B each, from native streams: x, function values f and noisy labels y.

    ``covariates`` maps a stream and a number of contexts to covariates (count, n + 1, d).
    """
    count = models * batch_size
    x = covariates(NativeStream(seed, "covariates", step), count).float()
    f = task.sample(NativeStream(seed, "tasks", step), count)(x)
    y = f + noise_std * NativeStream(seed, "noise", step).standard_normal(
        tuple(f.shape)
    )
    x, f, y = (
        values.reshape(models, batch_size, *values.shape[1:]) for values in (x, f, y)
    )
    return x, f, y


def mix_tokens(M: Tensor, V: Tensor, x: Tensor) -> Tensor:
    """Replace every token by ``sum_j omega_ij V x_j``, ``omega_ij`` proportional to ``exp(x_j' M x_i)``.

    M and V are (S, d, d), the result has the shape of x: no residual connection. The query attends as well,
    and is attended to by none: j runs over the n others.
    """
    context = x[..., :-1, :]
    scores = (x @ M.mT.unsqueeze(-3)) @ context.mT
    return torch.softmax(scores, -1) @ context @ V.mT.unsqueeze(-3)
