r"""One unit of attention, as on the ITA slides, eqs. (1) and (2), and other activations.

Conventions. Tokens are rows here: a context is ``x`` of shape (..., n, d) with labels ``y``
(..., n) and a query ``x_q`` (..., d). The query attends to the n context tokens only, not
to itself; there is no 1/sqrt(d), no position, no residual.
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
    """Return ``s_i = x_i' M x_q``, (..., n): x is (..., n, d), x_q (..., d), ``M = W_K' W_Q`` (..., d, d).

    Leading dimensions broadcast. Entries are not checked: NaN gives NaN.

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
    """Return ``omega_i = exp(x_i' M x_q) / sum_j exp(x_j' M x_q)`` (ITA slides, eq. (2)).

    Shapes are those of `scores`.
    """
    return weights(scores(x, x_q, M), "softmax", -1)[0]


def softmax_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``sum_i omega_i y_i`` by the weights omega of `softmax_weights`.

    x is (..., n, d), y (..., n), x_q (..., d), ``M = W_K' W_Q`` (..., d, d), and the result (...). Leading
    dimensions broadcast: with x[..., None, :, :] and y[..., None, :] each context has m queries, and x_q is
    (..., m, d).

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
    """Return the whole output token of the query, (..., d + 1), ITA slides eq. (1); its last entry predicts.

    The tokens are the paper's ``Z`` with its columns as rows, (..., n + 1, d + 1): the last entry of a row is
    the label, the last row the query with label 0. W_V is (d + 1, d + 1), W_K and W_Q are (k, d + 1).
    """
    context, query = tokens[..., :-1, :], tokens[..., -1, :]
    omega = softmax_weights(context, query, W_K.mT @ W_Q)
    return torch.einsum("...n,...nd->...d", omega, context @ W_V.mT)


#: phi, its derivative as a function of (s, phi(s)), and whether the weights are normalized.
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
    """Return the attention weights ``phi(s) / Z`` of scores s and the slopes ``phi'(s) / Z``.

    phi is the activation, and for softmax, where it is exp, both are equal. Z is the number of tokens, or for
    normalized activations the sum of phi, along ``axis``. Slopes are derivatives with Z held fixed.
    Normalized ReLU weights are zero where no score is positive.
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
    total = torch.where(total == 0, 1.0, total)
    return phi / total, derivative(scores, phi) / total
