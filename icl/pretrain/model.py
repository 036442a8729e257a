r"""Many attention units at once: parameters, prediction, and the gradient in closed form.

Layout. Everything is stored coordinate by coordinate ("structure of arrays"): the tokens of B
contexts are ``x[s, 0, i, j, b]``, coordinate i of token j in context b, so that every operation runs
along contiguous contexts. The first two axes are S token sets and K units that share each of them;
per unit, labels are (S, K, n + 1, B). The query is the last token.

Gradient. A reduced unit has scores ``s_i = x_i' M x_q``, weights omega and the prediction
``p = sum_i omega_i y_i``. The loss of a context is ``(p - y_q)^2``, and ::

    dL/ds_i = 2 (p - y_q) phi'(s_i) / sum phi * (y_i - p)     for omega = phi(s) / sum phi,
    dL/ds_i = 2 (p - y_q) phi'(s_i) / n * y_i                 for omega = phi(s) / n,

and ``dL/dM = sum_i dL/ds_i x_i x_q'``. For softmax this is ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``.
That of a full unit is left to autograd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icl.attention import ACTIVATIONS, weights
from icl.pytorch import Tensor, torch

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
    return (weights(scores, activation, -2)[0] * values).sum(-2)


def _scores(layout: ParameterLayout, theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return scores and values of the context's tokens, (S, K, n, B)."""
    context = x[..., :-1, :]
    labels = y[..., :-1, :]
    u = layout.key_query(theta) @ x[..., -1, :]  # (S, K, d or d + 1, B)
    if layout.width is None:
        return _inner(u, context), labels
    # the label is one more coordinate of a token
    own = context.expand(-1, labels.shape[1], -1, -1, -1)
    z = torch.cat([own, labels.unsqueeze(2)], 2)
    return _inner(u, z), _inner(layout.unpack(theta)["W_V"].unsqueeze(-1), z)


def _inner(u: Tensor, x: Tensor) -> Tensor:
    """Return ``sum_a u_a x_a`` over coordinates, (S, K, n, B), of u (S, K, d, B) and x (S, 1, d, n, B).

    One coordinate after the other, here and in `_pull`: the product of all would not fit into the cache. A
    compiler makes one loop of product and sum, and never stores the product.
    """
    if torch.compiler.is_compiling():
        return (u.unsqueeze(3) * x).sum(2)
    total = u[:, :, 0, None] * x[:, :, 0]
    for a in range(1, x.shape[2]):
        total.addcmul_(u[:, :, a, None], x[:, :, a])
    return total


def _pull(x: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum_i weights_i x_i`` over tokens, (S, K, d, B), with weights (S, K, n, B)."""
    if torch.compiler.is_compiling():
        return (x * weights[:, :, None]).sum(3)
    pulls = [(x[:, :, a] * weights).sum(-2) for a in range(x.shape[2])]
    return torch.stack(pulls, 2)


def gradient(
    layout: ParameterLayout, theta: Tensor, activation: str, x: Tensor, y: Tensor
) -> Tensor:
    """Return the gradient of the mean loss of S x K units on one batch, (S, K, P).

    Packed parameters are (S, K, P), tokens (S, 1, d, n + 1, B), labels (S, K, n + 1, B).
    """
    if layout.width is not None:
        theta = theta.detach().requires_grad_()
        loss = (predict(layout, theta, activation, x, y) - y[..., -1, :]) ** 2
        (found,) = torch.autograd.grad(loss.mean(-1).sum(), theta)
        return found
    scores, values = _scores(layout, theta, x, y)
    omega, slope = weights(scores, activation, -2)
    p = (omega * values).sum(-2, keepdim=True)
    _, _, normalized = ACTIVATIONS[activation]
    adjoint = slope * (values - p) if normalized else slope * values
    error = 2 / x.shape[-1] * (p - y[..., -1:, :])
    dz = error * _pull(x[..., :-1, :], adjoint)  # sum_i dL/ds_i x_i: (S, K, d, B)
    return (dz @ x[..., -1, :].mT).flatten(-2)


def take_step(
    layout: ParameterLayout,
    activation: str,
    adam: bool,
    state: Tensor,
    rates: Tensor,
    x: Tensor,
    y: Tensor,
    factors: Tensor,
) -> Tensor:
    """Return parameters and both moments of Adam, (3, S, K, P), after a step on one batch.

    Adam works entry by entry, so that units do not touch each other. Initial step sizes are (S, K, 1), and
    ``factors`` a row of those of `icl.pretrain.sweep`; without ``adam`` the step is the plain one.
    """
    theta, mean, square = state
    slope = gradient(layout, theta, activation, x, y)
    share, first, second = factors.unbind()
    if not adam:
        return torch.stack([theta - rates * share * slope, mean, square])
    mean = mean + 0.1 * (slope - mean)
    square = square + 0.001 * (slope * slope - square)
    size = (square / second).sqrt() + 1e-8
    theta = theta - rates * share * (mean / first / size)
    return torch.stack([theta, mean, square])
