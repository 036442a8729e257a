r"""One unit of attention, as on the ITA slides, eqs. (1) and (2), and other activations.

Conventions. Tokens are rows here: a context is ``x`` of shape (..., n, d) with labels ``y``
(..., n) and a query ``x_q`` (..., d). The query attends to the n context tokens only, not
to itself; there is no 1/sqrt(d), no position, no residual.
"""

from __future__ import annotations

from collections.abc import Callable

from icl.checks import choice, integer, shown, tensor
from icl.pytorch import Tensor, torch

__all__ = [
    "ACTIVATIONS",
    "full_unit",
    "linear_attention",
    "scores",
    "softmax_attention",
    "softmax_weights",
    "weights",
]


def _check(x: Tensor, x_q: Tensor, M: Tensor, y: Tensor | None = None) -> None:
    """Refuse what is no tensor of one floating type and device, or has another shape than `scores` says."""
    given = {"x": x, "x_q": x_q, "M": M}
    if y is not None:
        given["y"] = y
    for name, value in given.items():
        if (
            not isinstance(value, Tensor)
            or not value.is_floating_point()
            or value.layout != torch.strided
        ):
            raise ValueError(
                f"{name}={shown(value)}: must be a dense tensor of PyTorch with a floating type"
            )
        if (value.dtype, value.device) != (x.dtype, x.device):
            raise ValueError(
                f"{name} is {value.dtype} on {value.device}: must be that of x, {x.dtype} on {x.device}"
            )
    n, d = x.shape[-2:] if x.ndim > 1 else (0, 0)
    if n == 0 or d == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}: must be (..., n, d), n and d at least 1")
    wanted = {"x_q": (d,), "M": (d, d), "y": (n,)}
    batch = [x.shape[:-2]]
    for name in list(given)[1:]:
        shape, own = given[name].shape, wanted[name]
        if shape[max(0, len(shape) - len(own)) :] != own:
            text = ", ".join(map(str, own))
            raise ValueError(
                f"{name} has shape {tuple(shape)}: must be (..., {text}), as x is (..., {n}, {d})"
            )
        batch.append(shape[: len(shape) - len(own)])
    try:
        torch.broadcast_shapes(*batch)  # type: ignore[no-untyped-call]
    except RuntimeError:
        shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in given.items())
        raise ValueError(
            f"leading dimensions must broadcast: {shapes}; for many queries of each context give "
            "x[..., None, :, :] and y[..., None, :]"
        ) from None


def scores(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return ``s_i = x_i' M x_q``: x (..., n, d), x_q (..., d), ``M = W_K' W_Q`` (..., d, d); (..., n).

    This and the functions below raise ValueError for what is no tensor of one floating type and device, and
    for other shapes. Leading dimensions broadcast. Entries are not looked at: NaN gives NaN.
    """
    _check(x, x_q, M)
    return torch.einsum("...nd,...d->...n", x, (M @ x_q.unsqueeze(-1)).squeeze(-1))


def softmax_weights(x: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Return ``omega_i = exp(x_i' M x_q) / sum_j exp(x_j' M x_q)`` (ITA slides, eq. (2)), shapes as there."""
    return weights(scores(x, x_q, M), "softmax", -1)[0]


def softmax_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``sum_i omega_i y_i`` by the reduced unit; shapes as in `softmax_weights`, result (...).

    Leading dimensions broadcast: x[..., None, :, :] and y[..., None, :] take queries (..., m, d), many of
    each context.
    """
    _check(x, x_q, M, y)
    return (softmax_weights(x, x_q, M) * y).sum(-1)


def linear_attention(x: Tensor, y: Tensor, x_q: Tensor, M: Tensor) -> Tensor:
    """Predict ``(1/n) sum_i y_i x_i' M x_q`` by linear attention; shapes as in `softmax_attention`."""
    _check(x, x_q, M, y)
    return (scores(x, x_q, M) * y).mean(-1)


def full_unit(tokens: Tensor, W_V: Tensor, W_K: Tensor, W_Q: Tensor) -> Tensor:
    """Return the whole output token of the query, (..., d + 1), ITA slides eq. (1); its last entry predicts.

    The tokens are the paper's ``Z`` with its columns as rows, (..., n + 1, d + 1): the last entry of a row is
    the label, the last row the query with label 0. W_V is (d + 1, d + 1), W_K and W_Q are (k, d + 1).
    Errors as in `scores`.
    """
    tensor(tokens, "tokens", "n + 1", "d + 1", finite=False)
    size = tokens.shape[-1]
    tensor(W_K, "W_K", "k", size, finite=False)
    tensor(W_Q, "W_Q", W_K.shape[-2], size, finite=False)
    tensor(W_V, "W_V", size, size, finite=False)
    for name, value in {"W_V": W_V, "W_K": W_K, "W_Q": W_Q}.items():
        if (value.dtype, value.device) != (tokens.dtype, tokens.device):
            raise ValueError(
                f"{name} is {value.dtype} on {value.device}: must be that of tokens, {tokens.dtype} on "
                f"{tokens.device}"
            )
    if tokens.shape[-2] < 2:
        raise ValueError(
            f"tokens has shape {tuple(tokens.shape)}: must be (..., n + 1, d + 1), n at least 1"
        )
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
    """Return the attention weights and the slopes ``phi'(s) / Z``, which are equal for softmax.

    Z is the number of tokens, or for normalized activations the sum of phi, along ``axis``. Normalized ReLU
    weights are zero where no score is positive.
    """
    choice(activation, "activation", ACTIVATIONS)
    tensor(scores, "scores", "n", finite=False)
    axis = integer(axis, "axis", -scores.ndim, scores.ndim - 1)
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
