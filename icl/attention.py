r"""One unit of attention, as on the ITA slides, eqs. (1) and (2), and other activations.

Conventions. Tokens are rows here: a context is ``x`` of shape (..., n, d) with labels ``y``
(..., n) and a query ``x_q`` (..., d). The query attends to the n context tokens only, not
to itself; there is no 1/sqrt(d), no position, no residual.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def scores(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return ``s_i = x_i' M x_q``: x (..., n, d), x_q (..., d) and M (..., d, d) give (..., n)."""
    return torch.einsum("...nd,...d->...n", x, (M @ x_q.unsqueeze(-1)).squeeze(-1))


def softmax_weights(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return ``omega_i = exp(x_i' M x_q) / sum_j exp(x_j' M x_q)`` (ITA slides, eq. (2)).

    Args:
        x: Context, shape (..., n, d).
        x_q: Query, shape (..., d).
        M: Key-query matrix ``W_K' W_Q``, shape (..., d, d).

    Returns:
        Weights of shape (..., n) that sum to one.
    """
    return weights(scores(x, x_q, M), "softmax", -1)[0]


def softmax_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``sum_i omega_i y_i`` by the reduced unit; shapes as in `softmax_weights`, result (...)."""
    return (softmax_weights(x, x_q, M) * y).sum(-1)


def linear_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``(1/n) sum_i y_i x_i' M x_q`` by linear attention; shapes as in `softmax_attention`."""
    return (scores(x, x_q, M) * y).mean(-1)


def full_unit(tokens: Tensor, W_V: Tensor, W_K: Tensor, W_Q: Tensor) -> Tensor:
    """Return the whole output token of the query, ITA slides eq. (1).

    Args:
        tokens: The paper's ``Z`` with its columns as rows, shape (..., n + 1, d + 1): the
            last entry of a row is the label, the last row the query with label 0.
        W_V: Value matrix, (d + 1, d + 1).
        W_K: Key matrix, (k, d + 1) for any k.
        W_Q: Query matrix, (k, d + 1).

    Returns:
        Shape (..., d + 1); the last entry is the prediction.
    """
    context, query = tokens[..., :-1, :], tokens[..., -1, :]
    omega = softmax_weights(context, query, W_K.mT @ W_Q)
    return torch.einsum("...n,...nd->...d", omega, context @ W_V.mT)


#: phi, its derivative as a function of (s, phi(s)), and whether the weights are normalized.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor], bool]] = {
    "softmax": (torch.exp, lambda s, phi: phi, True),
    "linear": (lambda s: s, lambda s, phi: torch.ones_like(s), False),
    "sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), False),
    "tanh": (torch.tanh, lambda s, phi: 1 - phi * phi, False),
    "relu": (torch.relu, lambda s, phi: (s > 0).to(s), False),
    "normalized sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), True),
    "normalized relu": (torch.relu, lambda s, phi: (s > 0).to(s), True),
}


def weights(scores: Tensor, activation: str, axis: int) -> tuple[Tensor, Tensor]:
    """Return the attention weights of the context's tokens and the slopes ``phi'(s) / Z``.

    Args:
        scores: s, any shape.
        activation: Key of `ACTIVATIONS`. Normalized ReLU weights are zero where no score is positive.
        axis: The axis of the n tokens; Z is n, or the sum of phi over it.

    Returns:
        Two tensors of the shape of the scores; they are the same object for softmax.
    """
    if activation == "softmax":  # without overflow
        omega = torch.softmax(scores, axis)
        return omega, omega
    function, derivative, normalized = ACTIVATIONS[activation]
    phi = function(scores)
    if not normalized:
        return phi / scores.shape[axis], derivative(scores, phi) / scores.shape[axis]
    total = phi.sum(axis, keepdim=True)
    total = torch.where(total == 0, 1.0, total)
    return phi / total, derivative(scores, phi) / total
