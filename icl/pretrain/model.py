r"""Many attention units at once: parameters, prediction, and the gradient written by hand.

Layout. Everything is stored coordinate by coordinate ("structure of arrays"): the tokens of B
contexts are ``x[s, 0, i, j, b]``, coordinate i of token j in context b, so that every operation runs
along contiguous contexts. The first two axes are S token sets and K units that share each of them;
per unit, labels are (S, K, n + 1, B). The query is the last token.

Gradient. With scores ``s_i = z_i' A z_q``, weights ``omega_i`` and prediction p, the loss of a context has
``dL/d omega_i = h_i``; sampled labels give ``h_i = 2 (p - y_q) v_i`` with ``v_i`` the value of token i, and
labels integrated out (Rao-Blackwell) give ``h = 2 (K omega - k_q + sigma^2 omega)`` with the class
covariance K. For normalized activations, ``omega = phi(s) / sum phi``,

    dL/ds_i = phi'(s_i) / sum phi * (h_i - sum_j omega_j h_j),

else ``omega = phi(s) / n`` and ``dL/ds_i = phi'(s_i) h_i / n``; and ``dL/dA = sum_i dL/ds_i z_i z_q'``. For
softmax and sampled labels this is ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``. `icl.pretrain.reference`
is the slow autograd version of the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from icl.attention import ACTIVATIONS, weights
from icl.checks import integer


@dataclass(frozen=True)
class Shape:
    """What a unit's parameters are, packed into one vector (so that an optimizer sees one array).

    Attributes:
        dim: d.
        width: None for the reduced unit, M of shape (d, d); otherwise rows of ``W_K`` and ``W_Q``.
    """

    dim: int
    width: int | None

    @property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of each parameter."""
        d = self.dim
        if self.width is None:
            return {"M": (d, d)}
        return {"W_V": (d + 1,), "W_K": (self.width, d + 1), "W_Q": (self.width, d + 1)}

    @property
    def size(self) -> int:
        """Numbers in the vector."""
        return sum(torch.Size(shape).numel() for shape in self.parts.values())

    def unpack(self, theta):
        """The parameters as views of ``theta``, (..., size); a dictionary of (..., *shape)."""
        out, start = {}, 0
        for name, shape in self.parts.items():
            stop = start + torch.Size(shape).numel()
            out[name] = theta[..., start:stop].reshape(*theta.shape[:-1], *shape)
            start = stop
        return out

    def pack(self, parts) -> np.ndarray:
        """The vector of NumPy parameters, the inverse of `unpack`."""
        return np.concatenate([np.ravel(parts[name]) for name in self.parts])

    def key_query(self, theta):
        """``A``: M itself, or the first d columns of ``W_K' W_Q``, whose last row acts on the labels."""
        parts = self.unpack(theta)
        if self.width is None:
            return parts["M"]
        return parts["W_K"].swapaxes(-1, -2) @ parts["W_Q"][..., : self.dim]


def predict(
    shape: Shape, theta: torch.Tensor, activation: str, x: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    """Predictions of the query's label; arguments as in `gradient`, result (S, K, B)."""
    logits, values = _scores(shape, theta, x, y)
    return (weights(logits, activation, -2)[0] * values).sum(-2)


def _scores(shape, theta, x, y):
    """Scores and values of the context's tokens, (S, K, n, B)."""
    d, (context, query) = shape.dim, (x[..., :-1, :], x[..., -1, :])
    u = shape.key_query(theta) @ query  # (S, K, d or d + 1, B)
    logits = (context * u[..., :d, None, :]).sum(2)
    values = None if y is None else y[..., :-1, :]
    if shape.width is not None:  # the label is one more coordinate of a token
        logits = logits + values * u[..., d:, :]
        v = shape.unpack(theta)["W_V"][..., None, None]
        values = (context * v[..., :d, :, :]).sum(2) + v[..., d, :, :] * values
    return logits, values


def gradient(
    shape: Shape, theta: torch.Tensor, activation: str, x: torch.Tensor, y: torch.Tensor | None, kernel=None
) -> torch.Tensor:
    """Gradient of the mean loss of S x K units on one batch.

    Args:
        shape: What the parameters are.
        theta: Packed parameters, (S, K, P).
        activation: Key of `ACTIVATIONS`.
        x: Tokens, (S, 1, d, n + 1, B).
        y: Labels, (S, K, n + 1, B); None with a kernel.
        kernel: For reduced units, labels integrated out: the function that takes weights
            (S, K, n, B) to ``K omega - k_q + sigma^2 omega``.

    Returns:
        (S, K, P).
    """
    context, query, scale = x[..., :-1, :], x[..., -1, :], 2 / x.shape[-1]
    normalized = ACTIVATIONS[activation][2]
    logits, values = _scores(shape, theta, x, y)
    omega, slope = weights(logits, activation, -2)
    if kernel is None:
        share = omega * values
        prediction = share.sum(-2, keepdim=True)
        error = scale * (prediction - y[..., -1:, :])  # dL/dp, a factor of every dL/ds_i
        pull = share if slope is omega else slope * values
    else:
        h = kernel(omega)
        error, prediction, pull = scale, (omega * h).sum(-2, keepdim=True), slope * h
    if normalized:
        pull.addcmul_(prediction, slope, value=-1)
    reach = (context * pull.unsqueeze(2)).sum(-2) * error  # sum_i dL/ds_i x_i: (S, K, d, B)
    if shape.width is None:
        return (reach @ query.mT).flatten(-2)
    labels, parts, weighted = y[..., :-1, :], shape.unpack(theta), omega * error
    reach = torch.cat([reach, (labels * pull).sum(-2, keepdim=True) * error], 2)
    dA = torch.nn.functional.pad(reach @ query.mT, (0, 1))  # (S, K, d + 1, d + 1): the query's label is 0
    dV = torch.cat(
        [(context * weighted.unsqueeze(2)).sum((-1, -2)), (labels * weighted).sum((-1, -2)).unsqueeze(-1)], -1
    )
    return torch.cat([dV, (parts["W_Q"] @ dA.mT).flatten(-2), (parts["W_K"] @ dA).flatten(-2)], -1)


def check_unit(activation: str, width: int | None, initial_std: float) -> None:
    """Refuse units that do not exist or cannot learn.

    Args:
        activation: Key of `ACTIVATIONS`.
        width: None or an integer >= 1.
        initial_std: Standard deviation of the initial parameters.

    Raises:
        ValueError: Naming the parameter that is wrong.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation={activation!r}: allowed are {', '.join(ACTIVATIONS)}")
    if width is not None:
        integer(width, "width", 1)
    if not (isinstance(initial_std, (int, float)) and 0 <= initial_std < float("inf")):
        raise ValueError(f"initial_std={initial_std!r}: must be a finite number >= 0")
    if initial_std == 0 and (width is not None or "relu" in activation):
        raise ValueError(
            "initial_std=0: must be > 0 for full units and for ReLU attention, which get no gradient at zero"
        )
