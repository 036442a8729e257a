r"""Nodes for the integrals of the exact risk.

Two variables: ``u = log s`` and the angle theta between token and query, whose law on the
sphere is ``sin(theta)^(d-2)``. With ``tau = w (1 - cos theta)`` everything the risk needs is
a mean over theta of a function of ``z = exp(u - tau)`` that vanishes like ``z`` for small z
and like ``exp(-z)`` for large z: seen from u, only tau between ``u - 4`` and ``u + 42``
matters. While u is below `_DEEP` one set of angles serves all u and means are matrix products.
Above it (few tokens within the window: the nearest-neighbor regime) the angles follow u, so
that the cost grows with the logarithm of w and not with its square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincc, gammaln, logsumexp

from icl.tokens import cap_quantile

_STEP = 4.0  # trapezoid in u with step _STEP / order: error about exp(-pi^2 / step), both ends decayed
_CUT = 42.0  # everything below exp(-_CUT) of the leading term is dropped
_DEEP = 10.0  # above this u the angles follow u
_GAUSS = lru_cache(np.polynomial.legendre.leggauss)


@dataclass(frozen=True)
class Mesh:
    """Nodes and weights in u, and angles with their probabilities.

    Attributes:
        u: Nodes, shape (k,).
        weight: Their weights, shape (k,).
        theta: Angles, shape (m,) if all u share them, else (k, m).
        p: Probabilities of the angles, shaped as ``theta``.
        below: Probability of the nearer angles left out, where z is infinite; () or (k,).
        above: Probability of the farther angles left out, where z is zero; () or (k,).
    """

    u: np.ndarray
    weight: np.ndarray
    theta: np.ndarray
    p: np.ndarray
    below: np.ndarray
    above: np.ndarray

    def mean(self, table: np.ndarray, h: np.ndarray) -> np.ndarray:
        """``sum_theta table(u, theta) h(theta)``; h contains the probabilities. Shape (k,)."""
        return table @ h if self.theta.ndim == 1 else np.einsum("uk,uk->u", table, h)


def meshes(dim: int, w: float, n: np.ndarray, order: int = 16) -> list[Mesh]:
    """The meshes on which the integrals for all context lengths ``n`` are sums.

    Args:
        dim: Dimension d.
        w: Window parameter.
        n: Context lengths, shape (j,).
        order: Gauss-Legendre nodes a panel; the panels are made for 16.

    Returns:
        One mesh, or a shallow and a deep one.
    """
    least, most = float(n.min()), float(n.max())
    # No token falls nearer than this, up to a probability that no digit of the risk can see.
    nearest = w * cap_quantile(dim, 1e-17 / most**2)
    # The mass of exp(-w (1 - t)) (1 - t^2)^((d-3)/2) peaks where w (1 - t^2) = (d - 3) t.
    ratio = max(dim - 3, 0) / max(w, 1e-300)
    peak = 0.0 if ratio == 0 else w * (1 - 2 / (ratio + math.hypot(ratio, 2)))
    # ... and has decayed by exp(-_CUT) here: its law is at most as wide as a gamma law's
    reach = max(peak, nearest) + math.sqrt(2 * _CUT * peak) + _CUT
    theta, p = _shared_angles(dim, w, 0.0, nearest, reach, 16)
    tau = 2 * w * np.sin(theta / 2) ** 2
    log_mean, log_square = (float(logsumexp(-k * tau, b=p)) for k in (1, 2))  # of exp(-w (1 - t))

    # Integrands rise like n exp(2u) E[exp(-2 tau)]; the integral is of order min(1, E[..]^2 / n E[..^2]).
    low = min(-math.log(most) - log_mean, -0.5 * (math.log(most) + log_square)) - _CUT / 2
    # Integrands end where phi^(n-1) has vanished, or, for few tokens, past the last weight.
    high = 2 * w + 5.0
    if least > 1:
        needed = _CUT / (least - 1)  # -log phi
        high = min(high, w * cap_quantile(dim, -math.expm1(-needed)) + 2.5)
        linear = math.log(needed / 0.63) - log_mean  # phi <= 1 - .63 s E[exp(..)] while s <= 1
        if linear <= 0:
            high = min(high, linear)
    if high <= _DEEP + 15:
        step = _STEP / order
        u = low + step * np.arange(math.ceil((high - low) / step) + 1)
        theta, p = _shared_angles(dim, w, high, nearest, reach + max(high, 0.0), order)
        return [Mesh(u, np.full(u.size, step), theta, p, np.array(0.0), np.array(1 - p.sum()))]
    if low >= _DEEP:
        return [_deep(dim, w, low, high, nearest, reach, order)]
    theta, p = _shared_angles(dim, w, _DEEP, nearest, reach + _DEEP, order)
    u, weight = _composite(np.linspace(low, _DEEP, math.ceil((_DEEP - low) / 2.0) + 1), order)
    shallow = Mesh(u, weight, theta, p, np.array(0.0), np.array(1 - p.sum()))
    return [shallow, _deep(dim, w, _DEEP, high, nearest, reach, order)]


def _deep(dim: int, w: float, low: float, high: float, nearest: float, reach: float, order: int) -> Mesh:
    # Integrands grow at most like exp(2u) until u has passed the bulk of the weights. From there on they
    # change on the scale of u / d (powers of phi) and of the density's width w / sqrt(d), smoothed by the
    # kernel to no less than 1; the end at tau = 2w is felt within a few units.
    edges = [low]
    while edges[-1] < high:
        u = edges[-1]
        step = min(0.35 * u, 5 * u / dim, 2 * w / math.sqrt(dim), 0.3 * (2 * w - u)) if u > reach else 3.0
        edges.append(u + max(2.0, step))
    u, weight = _composite(np.array(edges), order)
    # panels in y = tau - u: short where exp(-exp(-y)) turns, so that they also resolve the degrees that
    # matter there; longer in the tail exp(-y)
    widest, y = 3 * w / math.sqrt(dim), [-4.0]
    while y[-1] < max(_CUT, reach - low):
        y.append(y[-1] + min(widest, 1.2 + 0.3 * max(y[-1] - 4, 0.0), 12.0))
    tau = np.clip(u[:, None] + np.array(y), nearest, 2 * w)
    edge = 2 * np.arcsin(np.sqrt(tau / (2 * w)))
    theta, p = _panels(dim, edge, order)
    half = (dim - 1) / 2
    return Mesh(u, weight, theta, p,
                betainc(half, half, tau[:, 0] / (2 * w)), betaincc(half, half, tau[:, -1] / (2 * w)))


def _shared_angles(dim: int, w: float, u_high: float, tau_low: float, tau_high: float, order: int):
    """Panels short in tau and in theta, up to the angle beyond which z is negligible for all u."""
    ends = [0.0, math.pi]
    if w > 0:
        ends = [2 * math.asin(math.sqrt(min(tau / (2 * w), 1.0))) for tau in (tau_low, tau_high)]
    fine = np.linspace(*ends, 4001)
    # ... and short enough for the highest degree that the window, about (w u)^(-1/2) wide, resolves
    degree = math.sqrt(w) * (9 + 4.5 * math.sqrt(max(u_high, 0.0))) + 20
    need = 2 * w * np.sin(fine / 2) ** 2 / 3.0 + fine * ((1 + math.sqrt(dim)) / 2 + degree / 14)
    count = math.ceil(need[-1] - need[0]) + 1
    return _panels(dim, np.interp(np.linspace(need[0], need[-1], count), need, fine), order)


def _panels(dim: int, edges: np.ndarray, order: int):
    """Gauss-Legendre angles between neighboring edges (last axis) with their probabilities."""
    x, weight = _GAUSS(order)
    half = np.diff(edges)[..., None] / 2
    theta = edges[..., :-1, None] + half * (1 + x)
    constant = gammaln(dim / 2) - gammaln((dim - 1) / 2) - math.log(math.pi) / 2
    p = half * weight * np.exp(constant + (dim - 2) * np.log(np.maximum(np.sin(theta), 1e-300)))
    return theta.reshape(*edges.shape[:-1], -1), p.reshape(*edges.shape[:-1], -1)


def _composite(edges: np.ndarray, order: int):
    x, weight = _GAUSS(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * weight).ravel()


def sphere_angles(dim: int, w: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles on the whole sphere S^{dim-1}, fine enough for functions of ``w (1 - cos theta)``.

    Args:
        dim: Dimension, >= 2.
        w: Scale, >= 0.

    Returns:
        Angles and probabilities, shape (m,), m growing like w.
    """
    return _shared_angles(dim, w, 0.0, 0.0, math.inf, 16)
