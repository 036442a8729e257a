"""Exact risks of the predictors compared with softmax attention: linear attention, nearest neighbors.

The setting is that of `icl.risk`: tokens and query uniform on the unit sphere of R^d, a
rotation-invariant class with covariance ``k = sum_l a_l P_l``, noise of variance sigma^2. ``n``,
``noise_std`` and the predictor's parameter broadcast.

Linear attention predicts ``h = (1/n) sum_i y_i x_i' M x_q``. Its risk is a convex quadratic in M
that no rotation of M changes, so averaging M over rotations cannot hurt and some ``M = m I`` is
best. By the addition theorem only degree 1 of the class meets the linear score, ::

    risk(m) = p - 2 m a_1 / d + m^2 [(p + sigma^2) / (n d) + (1 - 1/n) a_1 / d^2],

with ``p = E f(x)^2 = k(1) + u``, u the fine variance of the class, usually zero. So the risk stays above the
power of all degrees but the first, for every n: ``p - a_1`` (affine: L^2/3, ReLU: L^2/3 + L^2/(6 d)).

On Gaussian tokens and linear functions, ``f(x) = beta . x`` with ``E beta beta' = (L^2 / d) I``, the fourth
moment ``E (beta . x)^2 (x . x_q)^2 = |beta|^2 |x_q|^2 + 2 (beta . x_q)^2`` gives ::

    risk(m) = L^2 - 2 m L^2 + m^2 [L^2 + ((d + 1) L^2 + d sigma^2) / n].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, expit

from icl.checks import broadcast, reals
from icl.risk.numerics.result import Risk
from icl.tasks import Zonal, check_setting
from icl.tasks.base import MOST, Array, fine_variance
from icl.tasks.gegenbauer import Polynomials

_DEGREES = 400  # of a covariance whose mean over a cap is computed; later ones are averaged away
_ROUNDED = 1e12  # neighbors; with more, rounding decides how likely masses of the cap are


@dataclass(frozen=True, eq=False)
class LinearOptimum:
    """Best linear attention, ``M = m I``, its risk, and a floor: no n and no M goes below it."""

    m: Array
    risk: Array
    floor: float


def linear_risk(task: Zonal, m: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Array:
    """Compute the population risk of linear attention with ``M = m I``, m of any sign."""
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    m, n, noise_std = broadcast(m=reals(m, "m", -MOST, MOST), n=n, noise_std=noise_std)
    power, degree_one, square = _moments(task, n, noise_std)
    return power - 2 * m * degree_one / task.dim + m**2 * square


def linear_optimum(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> LinearOptimum:
    """Compute the best linear attention in closed form.

    >>> from icl.tasks import Affine
    >>> round(float(linear_optimum(Affine(dim=5), n=10, noise_std=0.0).risk), 3)
    0.383
    """
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    power, degree_one, square = _moments(task, n, noise_std)
    first, floor = degree_one / task.dim, power - degree_one
    # d E h^2 - E f(x_q) h, free of cancellation
    above = (power + noise_std**2 - first) / n
    return LinearOptimum(first / square, floor + first / square * above, floor)


def _moments(task: Zonal, n: Array, noise_std: Array) -> tuple[float, float, Array]:
    """Return ``E f(x)^2``, ``a_1 = d E f(x_q) h`` and ``E h^2`` of linear attention with M = I."""
    d, degree_one, power = (task.dim, float(task.spectrum(1)[0][0]), task.second_moment)
    return (power, degree_one, (power + noise_std**2) / (n * d) + (1 - 1 / n) * degree_one / d**2)


def nearest_neighbor_risk(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of predicting with the label of the context token nearest to the query.

    This is softmax attention at ``w = infinity``. The probability that no token comes nearer
    than a cap of mass p is ``(1 - p)^n``; with ``n log(1 - p) = -e^u`` the mean over the
    nearest token is a trapezoid rule in u. The token's fine variance and the query's differ.
    """
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    half = (task.dim - 1) / 2

    def bias(step: float) -> Array:
        u = np.arange(-75.0, 4.5, step)
        mass = -np.expm1(-np.exp(u) / n[..., None])
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, mass)))
        return np.asarray(step * (2 * task.variogram(theta)) @ np.exp(u - np.exp(u)))

    resolved = bias(0.0625)
    change = np.abs(bias(0.125) - resolved)
    total = resolved + 2 * fine_variance(task)
    error = change / np.maximum(total, 1e-300)
    return Risk(*(np.asarray(value)[()] for value in (total, noise_std**2, error)))


def neighbors_risk(task: Zonal, k: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of predicting with the mean label of the k context tokens nearest to the query.

    Given the distance of the next token, the k nearest are independent and uniform in the cap that it
    bounds. With ``m_l`` the mean of P_l over that cap, ::

        bias = E sum_l a_l [(1 - m_l)^2 + (1 - m_l^2) / k],

    where the mass of the cap has the law Beta(k + 1, n - k); for k = n the cap is the whole sphere. The mean
    of fine functions over a cap is zero.

    >>> from icl.tasks import Affine
    >>> round(float(neighbors_risk(Affine(dim=3), k=2, n=10, noise_std=0.5).noise), 6)
    0.125
    """
    k = reals(k, "k", 1, MOST, whole=True)
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    k, n, noise_std = broadcast(k=k, n=n, noise_std=noise_std)
    if np.any(k > n):
        raise ValueError(f"k={k.max():g}: must be at most n")
    a, rest = task.spectrum(_DEGREES)
    # what the mean over a cap averages away
    beyond = rest + fine_variance(task)
    a = a[: 1 + int(np.flatnonzero(a).max(initial=0))]
    half = (task.dim - 1) / 2

    def bias(k: float, n: float) -> tuple[float, float]:
        """Return the bias and its relative error."""
        if k == n:
            return (a.sum() + beyond) * (1 + 1 / k), 0.0
        mode, spread = np.log((k + 1) / (n - k)), 9 * np.sqrt(1 / (k + 1) + 1 / (n - k))
        # log of the odds
        y = np.linspace(mode - spread - 40 / (k + 1), mode + spread + 40 / (n - k), 241)
        # the mass then varies by less than a millionth, and how exactly does not matter
        few = min(1.0, _ROUNDED / k)
        density = -few * (k + 1) * np.logaddexp(0, -y)
        density -= few * (n - k) * np.logaddexp(0, y)
        density = np.exp(density - density.max())
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, expit(y))))
        ring = (
            2 * half * np.log(np.sin(theta))
            + np.logaddexp(0, -y)
            - betaln(half, 0.5)
            - np.log(2 * half)
        )
        mean = np.exp(ring) * (1 - Polynomials(task.dim + 2, theta).take(a.size))
        terms = a @ ((1 - mean) ** 2 + (1 - mean**2) / k) + beyond * (1 + 1 / k)
        fine, coarse = (float(terms[::s] @ density[::s] / density[::s].sum()) for s in (1, 2))
        tail = 3 * rest * float(np.abs(mean[-2:]).max(0) @ density / density.sum())
        return fine, (abs(fine - coarse) + tail) / max(fine, 1e-300)

    rows = np.array([bias(*pair) for pair in zip(k.flat, n.flat, strict=True)])
    value, error = rows.T.reshape(2, *k.shape)
    return Risk(*(v[()] for v in (value, noise_std**2 / k, error)))
