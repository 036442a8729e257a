r"""Many attention units at once: parameters, prediction, and the gradient in closed form.

Layout. Everything is stored coordinate by coordinate ("structure of arrays"): the tokens of B
contexts are ``x[s, 0, i, j, b]``, coordinate i of token j in context b, so that every operation runs
along contiguous contexts. The first two axes are S token sets and K units that share each of them;
per unit, labels are (S, K, n + 1, B). The query is the last token.

Gradient. With scores ``s_i = z_i' A z_q``, weights ``omega_i`` and prediction p, the loss of a context has
``dL/d omega_i = h_i``; sampled labels give ``h_i = 2 (p - y_q) v_i`` with ``v_i`` the value of token i, and
labels integrated out (Rao-Blackwell) give ``h = 2 (K omega - k_q + sigma^2 omega)`` with the class
covariance K. For normalized activations, ``omega = phi(s) / sum phi``, ::

    dL/ds_i = phi'(s_i) / sum phi * (h_i - sum_j omega_j h_j),

else ``omega = phi(s) / n`` and ``dL/ds_i = phi'(s_i) h_i / n``; and ``dL/dA = sum_i dL/ds_i z_i z_q'``. For
softmax and sampled labels this is ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icl.attention import ACTIVATIONS, weights

Array = NDArray[np.float64]
ArrayOrTensor = TypeVar("ArrayOrTensor", Array, Tensor)


@dataclass(frozen=True)
class ParameterLayout:
    """The parameters of a unit, packed into one vector so that an optimizer sees one array.

    The width is None for the reduced unit, M of shape (d, d), else the number of rows of ``W_K`` and ``W_Q``.
    """

    dim: int
    width: int | None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter."""
        d = self.dim
        if self.width is None:
            return {"M": (d, d)}
        return {"W_V": (d + 1,), "W_K": (self.width, d + 1), "W_Q": (self.width, d + 1)}

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(map(math.prod, self.shapes.values()))

    def unpack(self, theta: ArrayOrTensor) -> dict[str, ArrayOrTensor]:
        """Return the parameters by name, ``(..., *shape)``, as views of ``theta``, (..., size)."""
        out = {}
        start = 0
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            out[name] = theta[..., start:stop].reshape(*theta.shape[:-1], *shape)
            start = stop
        return out

    def pack(self, parameters: dict[str, Array]) -> Array:
        """Return the vector, (size,); the inverse of `unpack`."""
        return np.concatenate([np.ravel(parameters[name]) for name in self.shapes])

    def key_query(self, theta: Tensor) -> Tensor:
        """Return ``A``: M, or the first d columns of ``W_K' W_Q``, whose last row acts on the labels."""
        parts = self.unpack(theta)
        if self.width is None:
            return parts["M"]
        return parts["W_K"].mT @ parts["W_Q"][..., : self.dim]


def predict(
    layout: ParameterLayout, theta: Tensor, activation: str, x: Tensor, y: Tensor
) -> Tensor:
    """Predict the query's label; arguments as in `gradient`, result (S, K, B)."""
    scores, values = _scores(layout, theta, x, y)
    assert values is not None
    return (weights(scores, activation, -2)[0] * values).sum(-2)


def _scores(
    layout: ParameterLayout, theta: Tensor, x: Tensor, y: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return scores and values of the context's tokens, (S, K, n, B); no values without labels."""
    d = layout.dim
    context = x[..., :-1, :]
    query = x[..., -1, :]
    u = layout.key_query(theta) @ query  # (S, K, d or d + 1, B)
    scores = _inner(u, context)
    values = None if y is None else y[..., :-1, :]
    # the label is one more coordinate of a token
    if layout.width is not None and values is not None:
        scores = scores + values * u[..., d:, :]
        v = layout.unpack(theta)["W_V"].unsqueeze(-1)  # (S, K, d + 1, 1)
        values = _inner(v, context) + v[..., d:, :] * values
    return scores, values


def _inner(u: Tensor, x: Tensor) -> Tensor:
    """Return ``sum_a u_a x_a`` over coordinates, (S, K, n, B), of u (S, K, >= d, B) and x (S, 1, d, n, B).

    One coordinate after the other, here and in `_pull`: the product of all would not fit into the cache.
    """
    total = u[:, :, 0, None] * x[:, :, 0]
    for a in range(1, x.shape[2]):
        total.addcmul_(u[:, :, a, None], x[:, :, a])
    return total


def _pull(x: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum_i weights_i x_i`` over tokens, (S, K, d, B), with weights (S, K, n, B)."""
    pulls = [(x[:, :, a] * weights).sum(-2) for a in range(x.shape[2])]
    return torch.stack(pulls, 2)


def gradient(
    layout: ParameterLayout,
    theta: Tensor,
    activation: str,
    x: Tensor,
    y: Tensor | None,
    risk_gradient: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Return the gradient of the mean loss of S x K units on one batch, (S, K, P).

    Packed parameters are (S, K, P), tokens (S, 1, d, n + 1, B), labels (S, K, n + 1, B). Where those are
    None, integrated out, ``risk_gradient`` takes the weights of reduced units, (S, K, n, B), to ``K omega -
    k_q + sigma^2 omega``, see `icl.pretrain.batches`.
    """
    context = x[..., :-1, :]
    query = x[..., -1, :]
    scale = 2 / x.shape[-1]
    scores, values = _scores(layout, theta, x, y)
    omega, slope = weights(scores, activation, -2)
    error: Tensor | float
    if y is not None and values is not None:
        mean = (omega * values).sum(-2, keepdim=True)  # the prediction
        error = scale * (mean - y[..., -1:, :])  # dL/dp, a factor of every dL/ds_i
        adjoint = slope * values
    else:
        assert risk_gradient is not None
        h = risk_gradient(omega)
        error = scale
        mean = (omega * h).sum(-2, keepdim=True)
        adjoint = slope * h
    _, _, normalized = ACTIVATIONS[activation]
    if normalized:
        adjoint.addcmul_(mean, slope, value=-1)
    dz = _pull(context, adjoint) * error  # sum_i dL/ds_i x_i: (S, K, d, B)
    if layout.width is None:
        return (dz @ query.mT).flatten(-2)
    assert y is not None
    labels = y[..., :-1, :]
    parts = layout.unpack(theta)
    weighted = omega * error
    dz = torch.cat([dz, (labels * adjoint).sum(-2, keepdim=True) * error], 2)
    # (S, K, d + 1, d + 1): the query's label is 0
    dA = torch.nn.functional.pad(dz @ query.mT, (0, 1))
    dV = torch.cat(
        [_pull(context, weighted).sum(-1), (labels * weighted).sum((-1, -2)).unsqueeze(-1)], -1
    )
    return torch.cat([dV, (parts["W_Q"] @ dA.mT).flatten(-2), (parts["W_K"] @ dA).flatten(-2)], -1)
