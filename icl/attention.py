"""One unit of attention, as on the ITA slides, eqs. (1) and (2), and other activations.

Tokens are rows here. A context is ``x``, (..., n, d), with labels ``y``, (..., n), and a query ``x_q``,
(..., d). The query does not attend to itself. Scores are not divided by sqrt(d), tokens do not have
positions, and the unit does not have a residual connection.
"""

from __future__ import annotations

from collections.abc import Callable

from icl.checks import choice
from icl.pytorch import Tensor, torch

__all__ = [
    "ACTIVATIONS",
    "full_unit",
    "scores",
    "softmax_attention",
    "softmax_weights",
    "weights",
]


def scores(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return the scores ``s_i = x_i' M x_q``, (..., n), of tokens x (..., n, d) for queries x_q (..., d).

    The key-query matrix ``M = W_K' W_Q`` is (..., d, d). Leading dimensions broadcast. NaN gives NaN.

    Raises:
        ValueError: For other shapes.
    """
    d = x.shape[-1]
    if x_q.shape[-1:] != (d,) or M.shape[-2:] != (d, d):
        shapes = ", ".join(str(tuple(part.shape)) for part in (x, x_q, M))
        raise ValueError(
            f"x, x_q, M have shapes {shapes}: must be (..., n, d), (..., d), (..., d, d)"
        )
    return torch.einsum("...nd,...d->...n", x, (M @ x_q.unsqueeze(-1)).squeeze(-1))


def softmax_weights(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return the weights ``omega_i = exp(x_i' M x_q) / sum_j exp(x_j' M x_q)`` (ITA slides, eq. (2)).

    Shapes are those of `scores`.
    """
    return weights(scores(x, x_q, M), "softmax", -1)[0]


def softmax_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``sum_i omega_i y_i`` by the weights omega of `softmax_weights`.

    x is (..., n, d), y (..., n), x_q (..., d), ``M = W_K' W_Q`` (..., d, d), and the result (...). Leading
    dimensions broadcast. For m queries x_q in each context, (..., m, d), pass ``x[..., None, :, :]`` and
    ``y[..., None, :]``.

    Raises:
        ValueError: For other shapes.
    """
    # a single label would be broadcast to all tokens
    if y.shape[-1:] != x.shape[-2:-1]:
        raise ValueError(
            f"x, y have shapes {tuple(x.shape)}, {tuple(y.shape)}: must be (..., n, d), (..., n)"
        )
    return (softmax_weights(x, x_q, M) * y).sum(-1)


def full_unit(tokens: Tensor, W_V: Tensor, W_K: Tensor, W_Q: Tensor) -> Tensor:
    """Return the output token of the query, (..., d + 1), as in ITA slides, eq. (1).

    The output is ``sum_i omega_i W_V z_i`` over the context tokens z_i, and its last entry is the prediction.
    ``tokens``, (..., n + 1, d + 1), is the transpose of the paper's ``Z``: rows end with their labels, and
    the last row is the query, whose label is 0. W_V is (d + 1, d + 1), W_K and W_Q are (k, d + 1).
    """
    context, query = tokens[..., :-1, :], tokens[..., -1, :]
    omega = softmax_weights(context, query, W_K.mT @ W_Q)
    return torch.einsum("...n,...nd->...d", omega, context @ W_V.mT)


#: phi, its derivative as a function of (s, phi(s)), and whether the weights are divided by their sum.
ACTIVATIONS: dict[
    str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor], bool]
] = {
    "softmax": (torch.exp, lambda s, phi: phi, True),
    "linear": (lambda s: s, lambda s, phi: torch.ones_like(s), False),
    "sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), False),
    "tanh": (torch.tanh, lambda s, phi: 1 - phi * phi, False),
    "relu": (torch.relu, lambda s, phi: (s > 0).to(s), False),
    "normalized sigmoid": (torch.sigmoid, lambda s, phi: phi * (1 - phi), True),
    "normalized relu": (torch.relu, lambda s, phi: (s > 0).to(s), True),
}


def weights(scores: Tensor, activation: str, axis: int) -> tuple[Tensor, Tensor]:
    """Return the attention weights ``phi(s) / Z`` of scores s, and the slopes ``phi'(s) / Z``.

    phi is the activation, ``axis`` is that of tokens, and Z is the sum of phi over tokens for normalized
    activations, and the number of tokens for the others. A slope is the derivative of a weight with Z held
    fixed. For softmax it is the weight.
    """
    choice(activation, "activation", ACTIVATIONS)
    # torch.softmax does not overflow
    if activation == "softmax":
        omega = torch.softmax(scores, axis)
        return omega, omega
    function, derivative, normalized = ACTIVATIONS[activation]
    phi = function(scores)
    if not normalized:
        return phi / scores.shape[axis], derivative(scores, phi) / scores.shape[axis]
    total = phi.sum(axis, keepdim=True)
    # a normalized ReLU without a positive score has zero weights
    total = torch.where(total == 0, 1.0, total)
    return phi / total, derivative(scores, phi) / total
