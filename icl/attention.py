r"""One unit of attention, as on the ITA slides, eqs. (1) and (2), and its rivals.

Conventions. Tokens are rows here: a context is ``x`` of shape (..., n, d) with labels ``y``
(..., n) and a query ``x_q`` (..., d). The query attends to the n context tokens only, not
to itself; there is no 1/sqrt(d), no position, no residual.
"""

from __future__ import annotations

import torch


def softmax_weights(x: torch.Tensor, x_q: torch.Tensor, M: torch.Tensor) -> torch.Tensor:
    """``omega_i = exp(x_i' M x_q) / sum_j exp(x_j' M x_q)`` (ITA slides, eq. (2)).

    Args:
        x: Context, shape (..., n, d).
        x_q: Query, shape (..., d).
        M: Key-query matrix ``W_K' W_Q``, shape (..., d, d).

    Returns:
        Weights of shape (..., n) that sum to one.
    """
    return torch.softmax(_logits(x, x_q, M), dim=-1)


def softmax_attention(x, y, x_q, M):
    """Prediction ``sum_i omega_i y_i`` of the reduced unit; shapes as in `softmax_weights`."""
    return (softmax_weights(x, x_q, M) * y).sum(-1)


def linear_attention(x, y, x_q, M):
    """Prediction ``(1/n) sum_i y_i x_i' M x_q`` of linear attention; shapes as above."""
    return (_logits(x, x_q, M) * y).mean(-1)


def full_unit(tokens: torch.Tensor, W_V: torch.Tensor, W_K: torch.Tensor, W_Q: torch.Tensor) -> torch.Tensor:
    """The whole output token of the query, ITA slides eq. (1).

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
    logits = torch.einsum("...nk,...k->...n", context @ W_K.mT, query @ W_Q.mT)
    return torch.einsum("...n,...nd->...d", torch.softmax(logits, -1), context @ W_V.mT)


def _logits(x, x_q, M):
    return torch.einsum("...nd,...d->...n", x, (M @ x_q.unsqueeze(-1)).squeeze(-1))


#: phi, its derivative as a function of (s, phi(s)), and whether the weights are normalized.
ACTIVATIONS = {
    "softmax": (None, None, True),
    "linear": (lambda s: s, lambda s, phi: torch.ones_like(s), False),
    "sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), False),
    "tanh": (torch.tanh, lambda s, phi: 1 - phi * phi, False),
    "relu": (torch.relu, lambda s, phi: (s > 0).to(s), False),
    "normalized sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), True),
    "normalized relu": (torch.relu, lambda s, phi: (s > 0).to(s), True),
}


def weights(logits: torch.Tensor, activation: str, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention weights of the context's tokens and the slopes ``phi'(s) / Z``.

    Args:
        logits: Scores s.
        activation: Key of `ACTIVATIONS`. Normalized ReLU weights are zero where no score is positive.
        axis: The axis of the n tokens; Z is n, or the sum of phi over it.

    Returns:
        Two tensors of the shape of the scores.
    """
    if activation == "softmax":
        omega = torch.softmax(logits, axis)
        return omega, omega
    function, derivative, normalized = ACTIVATIONS[activation]
    phi = function(logits)
    total = phi.sum(axis, keepdim=True) if normalized else logits.shape[axis]
    if normalized:
        total = torch.where(total == 0, 1.0, total)
    return phi / total, derivative(logits, phi) / total
