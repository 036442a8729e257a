"""Models beyond one unit: several heads, two layers, and a loss at every position.

All functions take stacks of S models, each with B contexts of its own: covariates ``x``, (S, B, n + 1, d),
and labels ``y``, (S, B, n + 1). The query is last. `icl.adam.minimize` trains by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icl.attention import softmax_weights
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
    y = f + noise_std * NativeStream(seed, "noise", step).standard_normal(tuple(f.shape))
    x, f, y = (values.reshape(models, batch_size, *values.shape[1:]) for values in (x, f, y))
    return x, f, y


def head_weights(M: Tensor, x: Tensor) -> Tensor:
    """Return the weights of H softmax heads, (..., B, H, n); M (..., H, d, d), x (..., B, n + 1, d)."""
    x = x.unsqueeze(-3)
    return softmax_weights(x[..., :-1, :], x[..., -1, :], M.unsqueeze(-4))


def predict_heads(M: Tensor, gains: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Predict the query's label, (S, B): ``sum_h c_h sum_i omega_i^(h) y_i``; M (S, H, d, d), c (S, H)."""
    return (torch.einsum("sbhn,sbn->sbh", head_weights(M, x), y[..., :-1]) * gains.unsqueeze(1)).sum(-1)


def mix_tokens(M: Tensor, V: Tensor, x: Tensor) -> Tensor:
    """Replace every token by ``sum_j omega_ij V x_j``, ``omega_ij`` proportional to ``exp(x_j' M x_i)``.

    M and V are (S, d, d), the result has the shape of x: no residual connection. The query attends as well,
    and is attended to by none: j runs over the n others.
    """
    context = x[..., :-1, :]
    scores = (x @ M.mT.unsqueeze(-3)) @ context.mT
    return torch.softmax(scores, -1) @ context @ V.mT.unsqueeze(-3)


def predict_every_label(M: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Predict each label from those before it, (S, B, n), by a unit M (S, d, d) with a causal mask."""
    scores = (x @ M.mT.unsqueeze(1)) @ x.mT  # [..., q, i] = x_i' M x_q
    before = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    omega = torch.softmax(scores.masked_fill(~before, -1e9)[..., 1:, :], -1)
    return (omega @ y.unsqueeze(-1)).squeeze(-1)
