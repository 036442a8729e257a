r"""Many attention units at once: parameters, prediction, and the gradient in closed form.

Layout. Everything is stored coordinate by coordinate ("structure of arrays"): the tokens of B
contexts are ``x[s, 0, i, j, b]``, coordinate i of token j in context b, so that every operation runs
along contiguous contexts. The first two axes are S token sets and K units that share each of them;
per unit, labels are (S, K, n + 1, B). A context has n labeled tokens, and the query is the last one.

Parameters of a unit are one matrix ``theta``, so that an optimizer sees one array. That of a reduced unit,
whose width is None, is M, (d, d). That of a full unit has d + 1 columns, and one below the other the row of
``W_V`` that reaches the prediction, ``W_K``, and ``W_Q``, of ``width`` rows each.

Gradient. A reduced unit has scores ``s_i = x_i' M x_q``, weights omega and the prediction
``p = sum_i omega_i y_i``. The loss of a context is ``(p - y_q)^2``, and ::

    dL/ds_i = 2 (p - y_q) phi'(s_i) / sum phi * (y_i - p)     for omega = phi(s) / sum phi,
    dL/ds_i = 2 (p - y_q) phi'(s_i) / n * y_i                 for omega = phi(s) / n,

and ``dL/dM = sum_i dL/ds_i x_i x_q'``. For softmax this is ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``.
That of a full unit is left to autograd.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icl.attention import ACTIVATIONS, weights
from icl.pytorch import Tensor, torch

Array = NDArray[np.float64]
ArrayOrTensor = TypeVar("ArrayOrTensor", Array, Tensor)


def by_name(theta: ArrayOrTensor, width: int | None) -> dict[str, ArrayOrTensor]:
    """Return the parameters of units, (..., rows, columns), by name, as views; width None: a reduced unit."""
    if width is None:
        return {"M": theta}
    return {
        "W_V": theta[..., 0, :],
        "W_K": theta[..., 1 : width + 1, :],
        "W_Q": theta[..., width + 1 :, :],
    }


def predict(theta: Tensor, x: Tensor, y: Tensor, width: int | None, activation: str) -> Tensor:
    """Predict the query's label; arguments as in `gradient`, result (S, K, B)."""
    scores, values = _scores(theta, x, y, width)
    return (weights(scores, activation, -2)[0] * values).sum(-2)


def _scores(theta: Tensor, x: Tensor, y: Tensor, width: int | None) -> tuple[Tensor, Tensor]:
    """Return scores and values of the context's tokens, (S, K, n, B).

    The values are what the weights average: for a reduced unit labels, for a full one products with ``W_V``.
    """
    tokens, query, labels = x[..., :-1, :], _query(x), y[..., :-1, :]
    if width is None:
        return _inner(_image(theta, query), tokens), labels
    own = by_name(theta, width)
    # A token z has its label as one more coordinate. That of the query is 0, which the last column of W_Q
    # multiplies, so that this column is left out.
    u = own["W_K"].mT @ own["W_Q"][..., :-1] @ query
    z = torch.cat([tokens.expand(-1, y.shape[1], -1, -1, -1), labels.unsqueeze(2)], 2)
    return _inner(u, z), _inner(own["W_V"].unsqueeze(-1), z)


def _query(x: Tensor) -> Tensor:
    """Return the coordinates of the query, (S, 1, d, B).

    Without this copy, which is small, a compiler would store all tokens, since its matrix products read from
    memory.
    """
    return x[..., -1, :].contiguous()


#: A compiler multiplies matrices of at most this many rows itself, since a GPU's library is slow for them.
_MAX_SMALL_ROWS = 8
#: It adds at most this many coordinates without a loop.
_MAX_UNROLLED = 32


def _image(theta: Tensor, query: Tensor) -> Tensor:
    """Return ``M x_q``, (S, K, d, B)."""
    if torch.compiler.is_compiling() and theta.shape[-1] <= _MAX_SMALL_ROWS:
        return (theta.unsqueeze(-1) * query.unsqueeze(2)).sum(3)
    return theta @ query


def _inner(u: Tensor, x: Tensor) -> Tensor:
    """Return ``sum_a u_a x_a`` over coordinates, (S, K, n, B), of u (S, K, d, B) and x (S, 1, d, n, B).

    Coordinates are added one after the other, here and in `_pull`, because the array of all products would
    not fit into the cache. A compiler stores no such array. It would write out these additions one by one, so
    that it gets the sum over many coordinates whole, to be one loop.
    """
    if torch.compiler.is_compiling() and x.shape[2] > _MAX_UNROLLED:
        return (u.unsqueeze(3) * x).sum(2)
    total = u[:, :, 0, None] * x[:, :, 0]
    for a in range(1, x.shape[2]):
        total.addcmul_(u[:, :, a, None], x[:, :, a])
    return total


def _pull(x: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum_i weights_i x_i`` over tokens, (S, K, d, B), with weights (S, K, n, B)."""
    if torch.compiler.is_compiling():
        return (x * weights[:, :, None]).sum(3)
    return torch.stack([(x[:, :, a] * weights).sum(-2) for a in range(x.shape[2])], 2)


def _outer(u: Tensor, query: Tensor) -> Tensor:
    """Return ``sum_b u_b x_qb'`` over contexts, (S, K, d, d)."""
    if torch.compiler.is_compiling() and u.shape[2] <= _MAX_SMALL_ROWS:
        return (u.unsqueeze(3) * query.unsqueeze(2)).sum(-1)
    return u @ query.mT


def gradient(theta: Tensor, x: Tensor, y: Tensor, width: int | None, activation: str) -> Tensor:
    """Return the gradient of the mean loss of S x K units on one batch, in the shape of theta.

    The matrices theta are (S, K, d, d) or (S, K, 2 width + 1, d + 1), tokens (S, 1, d, n + 1, B), labels
    (S, K, n + 1, B).
    """
    if width is not None:
        theta = theta.detach().requires_grad_()
        loss = (predict(theta, x, y, width, activation) - y[..., -1, :]) ** 2
        # units do not touch each other, so the gradient of their sum is that of each
        (found,) = torch.autograd.grad(loss.mean(-1).sum(), theta)
        return found
    scores, values = _scores(theta, x, y, width)
    # the slope is phi'(s) over the denominator of the weights
    omega, slope = weights(scores, activation, -2)
    p = (omega * values).sum(-2, keepdim=True)
    _, _, normalized = ACTIVATIONS[activation]
    adjoint = slope * (values - p) if normalized else slope * values
    error = 2 / x.shape[-1] * (p - y[..., -1:, :])
    # this is sum_i dL/ds_i x_i over B, because the loss is the mean over B contexts: (S, K, d, B)
    dz = error * _pull(x[..., :-1, :], adjoint)
    return _outer(dz, _query(x))


def take_step(
    state: Tensor,
    rates: Tensor,
    x: Tensor,
    y: Tensor,
    factors: Tensor,
    *,
    width: int | None,
    activation: str,
    adam: bool,
) -> Tensor:
    """Return matrices theta and both moments of Adam, (3, S, K, ...), after a step on one batch.

    The ``state`` has these three before the step, and the other arguments are those of `gradient`. Adam works
    entry by entry, so that units do not touch each other. ``rates``, the initial step sizes, are
    (S, K, 1, 1). ``factors`` are the three numbers of this step in `icl.pretrain.sweep`: the share of the
    initial step size, and what both moments are divided by. Without ``adam`` the step is the plain one, and
    the moments stay as they are.
    """
    theta, mean, square = state
    step = gradient(theta, x, y, width, activation)
    share, mean_weight, square_weight = factors.unbind()
    if adam:
        # the new entries of both means have the weights 1 - 0.9 and 1 - 0.999
        mean = mean + 0.1 * (step - mean)
        square = square + 0.001 * (step * step - square)
        step = mean / mean_weight / ((square / square_weight).sqrt() + 1e-8)
    return torch.stack([theta - rates * share * step, mean, square])
