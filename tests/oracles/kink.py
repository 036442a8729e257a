"""The pair of tokens for functions with a kink or a jump, a part of `oracles.risk`.

A ReLU function is a linear one plus a multiple of ``|q.x|``, and the mean of that over one token is not
smooth at the angle from which on q.x can change sign. The panels of this quadrature begin there. The same
panels serve ``sign(q.x)``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array
from scipy.special import betainc, betaincc, betaln


def kink_pair(law, u: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """``E_q (E[z e^-z (|q.x| - |q.x_q|)])^2`` for q uniform on the sphere.

    Given q at latitude phi (``|q.x_q| = sin phi``) and x at angle theta to the query, ``q.x`` is
    ``sin phi cos theta + c cos phi sin theta`` with c a coordinate on S^{d-2}. It changes sign only
    for theta > phi, so the inner mean is ``-sin(phi) E[z e^-z (1 - cos theta)]`` plus one over theta > phi.
    ``law`` is that of one token, from `oracles.risk`; ``linear`` is ``E[z e^-z (1 - cos theta)]`` at ``u``.
    """
    return _in_groups(law, u, linear)


def jump_pair(law, u: np.ndarray) -> np.ndarray:
    """``E_q (E[z e^-z; q.x and q.x_q differ in sign])^2`` for q uniform on the sphere.

    With phi, theta and c as in `kink_pair`, the inner mean is over ``c < -tan phi / tan theta``.
    """
    return _in_groups(law, u, None)


def _in_groups(law, u: np.ndarray, linear: np.ndarray | None) -> np.ndarray:
    out = np.empty_like(u)
    group = np.where(u <= 5, -1, np.floor(u / 4))
    for g in np.unique(group):
        some = np.flatnonzero(group == g)
        out[some] = _group(law, u[some], None if linear is None else linear[some])
    return out


def _group(law, u: np.ndarray, linear: np.ndarray | None) -> np.ndarray:
    """`kink_pair`, or without ``linear`` `jump_pair`, on one mesh: all u are close together or below 5."""
    d, w = law.dim, law.w
    low, high = (t[i] for i, t in enumerate(law.window(np.array([u.min(), u.max()]))))
    # exp(-z) turns here
    steep = np.arange(max(u.min() - 5, 0.0), max(u.max(), 0.0) + 6, 1.6)
    tail = np.linspace(0, 1, 12 + int(0.6 * math.sqrt(d))) ** 1.5
    tau = np.concatenate([steep, steep[-1] + max(high - steep[-1], 0.0) * tail])
    nearest, farthest = (2 * math.asin(math.sqrt(t / (2 * w))) for t in (low, high))
    steep = 2 * np.arcsin(np.sqrt(np.clip(tau, low, high) / (2 * w)))
    wide = np.arange(0, np.pi, min(0.5, 2.5 / math.sqrt(d)))  # sin^(d-2) turns here
    theta = np.unique(np.clip(np.concatenate([steep, wide]), nearest, farthest))

    top = min(farthest, np.pi / 2)
    inner = np.linspace(0, nearest, 3 + int(math.sqrt(d) / 2))
    edges = np.unique(np.minimum(np.concatenate([inner, theta, np.pi - theta, [np.pi / 2]]), top))
    x, weight = np.polynomial.legendre.leggauss(14)
    half = np.diff(edges)[:, None] / 2
    phi = (edges[:-1, None] + half * (1 + x)).ravel()
    log_constant = -betaln(0.5, (d - 1) / 2)
    mass = 2 * (half * weight).ravel() * np.exp(log_constant + (d - 2) * np.log(np.cos(phi)))
    phi, mass = phi[mass > 1e-22], mass[mass > 1e-22]

    # theta from phi to pi - phi, through sin(chi) = tan(phi) / tan(theta): smooth where q.x changes sign
    scale = phi[:, None] * 2.0 ** np.arange(1, 9)
    cuts = np.concatenate(
        [np.broadcast_to(theta, (phi.size, theta.size)), scale, np.pi - scale], axis=1
    )
    first, last = (np.maximum(phi, nearest), np.maximum(np.minimum(np.pi - phi, farthest), phi))
    between = np.sort(np.clip(cuts, first[:, None], last[:, None]), axis=1)
    chi = np.arcsin(np.clip(np.tan(phi)[:, None] / np.tan(between), -1, 1))
    row, chi, dchi = _panel_nodes(chi[:, ::-1])
    angle = phi[row, None]
    far = np.arctan2(np.sin(angle), np.sin(chi) * np.cos(angle))
    value = np.sin(far) ** 2 * dchi * np.cos(chi) / np.tan(angle)
    value *= (
        _below(d, chi) if linear is None else np.cos(angle) * np.sin(far) * _negative_part(d)(chi)
    )
    # theta beyond pi - phi: q.x is negative throughout
    rest, theta_rest, dtheta = _panel_nodes(np.clip(theta, np.pi - phi[:, None], None))
    value_rest = (
        dtheta if linear is None else -np.sin(phi)[rest, None] * np.cos(theta_rest) * dtheta
    )
    row = np.repeat(np.concatenate([row, rest]), x.size)
    far = np.concatenate([far, theta_rest]).ravel()
    value = np.concatenate([value, value_rest]).ravel() * np.exp(
        log_constant + (d - 2) * np.log(np.sin(far))
    )
    matrix = csr_array((value, (row, np.arange(row.size))), shape=(phi.size, row.size))
    tau = 2 * w * np.sin(far / 2) ** 2
    out = np.empty_like(u)
    for i in range(0, u.size, 16):
        z = np.exp(np.minimum(u[i : i + 16] - tau[:, None], 7.0))
        g = matrix @ (z * np.exp(-z))
        if linear is not None:
            g = 2 * g - np.sin(phi)[:, None] * linear[i : i + 16]
        out[i : i + 16] = mass @ g**2
    if linear is None:
        return out
    return out + linear**2 / d * (
        betaincc(1.5, (d - 1) / 2, math.sin(top) ** 2) if top < np.pi / 2 else 0.0
    )


def _panel_nodes(edges: np.ndarray):
    """Row, Gauss-Legendre nodes and weights of every interval with a length, rows of ``edges`` rising."""
    x, weight = np.polynomial.legendre.leggauss(14)
    row, column = np.nonzero(np.diff(edges, axis=1) > 1e-14)
    left, half = edges[row, column, None], np.diff(edges, axis=1)[row, column, None] / 2
    return row, left + half * (1 + x), half * weight


def _below(dim: int, chi: np.ndarray) -> np.ndarray:
    """``P(c < -sin(chi))`` for a coordinate c on S^{dim-2}."""
    if dim == 2:  # c = -1 or 1
        return np.full(chi.shape, 0.5)
    tail = betainc((dim - 2) / 2, 0.5, np.cos(chi) ** 2) / 2
    return np.where(chi > 0, tail, 1 - tail)


@lru_cache
def _negative_part(dim: int):
    """``E max(-(sin(chi) + c), 0)`` for a coordinate c on S^{dim-2}, as a spline in chi."""
    chi = np.linspace(-np.pi / 2, np.pi / 2, 40_001)
    x = np.abs(np.sin(chi))
    if dim == 2:  # c = -1 or 1
        value = (1 - x) / 2
    else:
        log_density = -betaln(0.5, (dim - 2) / 2)
        value = np.exp(log_density + (dim - 2) * np.log(np.cos(chi))) / (dim - 2)
        value -= x * betainc((dim - 2) / 2, 0.5, np.cos(chi) ** 2) / 2
    return CubicSpline(chi, value + np.where(chi < 0, x, 0.0))
