"""Many attention units at once: parameters, prediction, and the gradient in closed form.

Layout. There are S token sets, and K units see each of them. A batch has B contexts of n labeled tokens and
the query, the last token. Tokens x are (S, 1, d, n + 1, B), and labels y are (S, K, n + 1, B). Contexts are
the last axis, so that every operation runs along contiguous numbers.

Parameters. The parameters of a unit are one matrix ``theta``. A *reduced* unit has the width None, and its
theta is M, (d, d). A *full* unit has a theta of d + 1 columns and 2 width + 1 rows: the row of ``W_V`` that
reaches the prediction, then ``W_K``, then ``W_Q``.

Gradient. A reduced unit has scores ``s_i = x_i' M x_q``, weights omega and the prediction
``p = sum_i omega_i y_i``. The loss of a context is ``(p - y_q)^2``, and ::

    dL/ds_i = 2 (p - y_q) phi'(s_i) / sum phi * (y_i - p)     for omega = phi(s) / sum phi,
    dL/ds_i = 2 (p - y_q) phi'(s_i) / n * y_i                 for omega = phi(s) / n,

and ``dL/dM = sum_i dL/ds_i x_i x_q'``. For softmax this is ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``.
The gradient of a full unit is left to autograd.
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
    """Return the parameters of units by name, as views of theta, (..., rows, columns)."""
    if width is None:
        return {"M": theta}
    return {
        "W_V": theta[..., 0, :],
        "W_K": theta[..., 1 : width + 1, :],
        "W_Q": theta[..., width + 1 :, :],
    }


def predict(theta: Tensor, x: Tensor, y: Tensor, width: int | None, activation: str) -> Tensor:
    """Predict the label of the query in each context, (S, K, B); arguments are those of `gradient`."""
    scores, values = _scores(theta, x, y, width)
    return (weights(scores, activation, -2)[0] * values).sum(-2)


def _scores(theta: Tensor, x: Tensor, y: Tensor, width: int | None) -> tuple[Tensor, Tensor]:
    """Return the scores and the values of the labeled tokens, both (S, K, n, B).

    The value of a token is its label in a reduced unit, and its product with the trained row of ``W_V`` in a
    full one.
    """
    tokens, query, labels = x[..., :-1, :], _copy_query(x), y[..., :-1, :]
    if width is None:
        return _inner(_image(theta, query), tokens), labels
    own = by_name(theta, width)
    # a token z ends with its label, and the query with 0, so that the last column of W_Q is left out
    u = own["W_K"].mT @ own["W_Q"][..., :-1] @ query
    z = torch.cat([tokens.expand(-1, y.shape[1], -1, -1, -1), labels.unsqueeze(2)], 2)
    return _inner(u, z), _inner(own["W_V"].unsqueeze(-1), z)


def _copy_query(x: Tensor) -> Tensor:
    """Return a copy of the coordinates of the query, (S, 1, d, B).

    If the query were a view of the tokens, the compiler would store all tokens.
    """
    return x[..., -1, :].contiguous()


#: Most rows of a matrix that compiled code multiplies, since a GPU's library is slow for these.
_MAX_SMALL_ROWS = 8
#: Most coordinates that compiled code adds one by one.
_MAX_UNROLLED = 32


def _image(theta: Tensor, query: Tensor) -> Tensor:
    """Return ``M x_q``, (S, K, d, B)."""
    if torch.compiler.is_compiling() and theta.shape[-1] <= _MAX_SMALL_ROWS:
        return (theta.unsqueeze(-1) * query.unsqueeze(2)).sum(3)
    return theta @ query


def _inner(u: Tensor, x: Tensor) -> Tensor:
    """Return ``sum_a u_a x_a`` over coordinates, (S, K, n, B), of u (S, K, d, B) and x (S, 1, d, n, B).

    Coordinates are added one by one, because the array of all products would not fit into the cache. For many
    coordinates the compiler gets a single sum, of which it makes a loop.
    """
    if torch.compiler.is_compiling() and x.shape[2] > _MAX_UNROLLED:
        return (u.unsqueeze(3) * x).sum(2)
    total = u[:, :, 0, None] * x[:, :, 0]
    for a in range(1, x.shape[2]):
        total.addcmul_(u[:, :, a, None], x[:, :, a])
    return total


def _sum_tokens(x: Tensor, weights: Tensor) -> Tensor:
    """Return ``sum_i weights_i x_i`` over tokens, (S, K, d, B), with weights (S, K, n, B)."""
    # compiled code does not store the array of all products, see `_inner`
    if torch.compiler.is_compiling():
        return (x * weights[:, :, None]).sum(3)
    return torch.stack([(x[:, :, a] * weights).sum(-2) for a in range(x.shape[2])], 2)


def _outer(u: Tensor, query: Tensor) -> Tensor:
    """Return ``sum_b u_b x_qb'`` over contexts, (S, K, d, d)."""
    if torch.compiler.is_compiling() and u.shape[2] <= _MAX_SMALL_ROWS:
        return (u.unsqueeze(3) * query.unsqueeze(2)).sum(-1)
    return u @ query.mT


def gradient(theta: Tensor, x: Tensor, y: Tensor, width: int | None, activation: str) -> Tensor:
    """Return the gradient of each unit's mean loss over the contexts of a batch, in the shape of theta.

    The parameters theta of S x K units are (S, K, d, d), or (S, K, 2 width + 1, d + 1) for full units. Tokens
    x are (S, 1, d, n + 1, B), and labels y are (S, K, n + 1, B). ``activation`` is a key of
    `icl.attention.ACTIVATIONS`.
    """
    if width is not None:
        theta = theta.detach().requires_grad_()
        loss = (predict(theta, x, y, width, activation) - y[..., -1, :]) ** 2
        # the loss of a unit depends on its own theta only
        (found,) = torch.autograd.grad(loss.mean(-1).sum(), theta)
        return found
    scores, values = _scores(theta, x, y, width)
    omega, slope = weights(scores, activation, -2)
    p = (omega * values).sum(-2, keepdim=True)
    _, _, normalized = ACTIVATIONS[activation]
    adjoint = slope * (values - p) if normalized else slope * values
    error = 2 / x.shape[-1] * (p - y[..., -1:, :])
    # this is sum_i dL/ds_i x_i, (S, K, d, B), over B
    dz = error * _sum_tokens(x[..., :-1, :], adjoint)
    return _outer(dz, _copy_query(x))


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
    """Return the state of S x K units, (3, S, K, ...), after a step on one batch.

    The state has three parts: the matrices theta, Adam's means of the gradients, and Adam's means of the
    squared gradients. ``rates``, (S, K, 1, 1), are the initial step sizes. ``factors`` are three numbers: the
    step size as a share of the initial one, and the numbers by which Adam divides its two means, because they
    begin at zero. Unless ``adam``, the step is plain gradient descent. The other arguments are those of
    `gradient`.
    """
    theta, mean, square = state
    step = gradient(theta, x, y, width, activation)
    share, mean_weight, square_weight = factors.unbind()
    if adam:
        # a new gradient enters the means with the weights 1 - 0.9 and 1 - 0.999
        mean = mean + 0.1 * (step - mean)
        square = square + 0.001 * (step * step - square)
        step = mean / mean_weight / ((square / square_weight).sqrt() + 1e-8)
    return torch.stack([theta - rates * share * step, mean, square])
