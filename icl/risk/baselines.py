"""Exact risks of the predictors compared with softmax attention: linear attention, the nearest neighbor.

The setting is that of `icl.risk`: tokens and query uniform on the unit sphere of R^d, a
rotation-invariant class with covariance ``k = sum_l a_l P_l``, noise of variance sigma^2. ``n``,
``noise_std`` and the predictor's parameter broadcast.

Linear attention predicts ``h = (1/n) sum_i y_i x_i' M x_q``. Its risk is a convex quadratic in M
that no rotation of M changes, so averaging M over rotations cannot hurt and some ``M = m I`` is
best. By the addition theorem only degree 1 of the class correlates with the linear score, ::

    risk(m) = p - 2 m a_1 / d + m^2 [(p + sigma^2) / (n d) + (1 - 1/n) a_1 / d^2],

with ``p = E f(x)^2 = k(1) + u``, u the fine variance of the class, usually zero. So the risk stays above the
power of all degrees but the first, for every n: ``p - a_1`` (affine: L^2/3, ReLU: L^2/3 + L^2/(6 d)).

On Gaussian tokens and linear functions, ``f(x) = beta . x`` with ``E beta beta' = (L^2 / d) I``, the fourth
moment ``E (beta . x)^2 (x . x_q)^2 = |beta|^2 |x_q|^2 + 2 (beta . x_q)^2`` gives ::

    risk(m) = L^2 - 2 m L^2 + m^2 [L^2 + ((d + 1) L^2 + d sigma^2) / n].

The chapter on Gaussian tokens compares softmax attention with its minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from icl.checks import broadcast, reals
from icl.risk.numerics.result import Risk
from icl.tasks import Zonal, check_setting
from icl.tasks.base import MAX_MAGNITUDE, Array, coefficients, fine_variance, variogram_of


@dataclass(frozen=True, eq=False)
class LinearOptimum:
    """Best linear attention, ``M = m I``.

    Attributes:
        m: The best factor, of the broadcast shape of the arguments.
        risk: Its risk, of the same shape.
        floor: A lower bound on the risk of linear attention, for every n and every M.
    """

    m: Array
    risk: Array
    floor: float


def linear_risk(task: Zonal, m: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Array:
    """Compute the population risk of linear attention with ``M = m I``, m of any sign and at most 1e100."""
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    m, n, noise_std = broadcast(
        m=reals(m, "m", -MAX_MAGNITUDE, MAX_MAGNITUDE), n=n, noise_std=noise_std
    )
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
    gain, floor = degree_one / task.dim, power - degree_one
    m = gain / square
    # The risk is p - gain m = floor + d gain - gain m = floor + m (d square - gain). The bracket, `excess`,
    # is written without cancellation.
    excess = (power + noise_std**2 - gain) / n
    return LinearOptimum(m, floor + m * excess, floor)


def _moments(task: Zonal, n: Array, noise_std: Array) -> tuple[float, float, Array]:
    """Return ``E f(x)^2``, ``a_1 = d E f(x_q) h`` and ``E h^2`` of linear attention with M = I."""
    # `h` is the prediction of linear attention, see the top of this module
    d, degree_one, power = (task.dim, float(coefficients(task, 1)[0][0]), task.second_moment)
    return (power, degree_one, (power + noise_std**2) / (n * d) + (1 - 1 / n) * degree_one / d**2)


def nearest_neighbor_risk(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of predicting with the label of the context token nearest to the query.

    This is softmax attention at ``w = infinity``. The cap around the query that reaches to the nearest token
    has a mass above p with probability ``(1 - p)^n``; with ``n log(1 - p) = -e^u`` the mean over the nearest
    token is a trapezoid rule in u, and a rule with twice the step estimates its error. The fine variance
    counts twice, because its values at the token and at the query are uncorrelated.
    """
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    half = (task.dim - 1) / 2

    def bias(step: float) -> Array:
        # the density of u, exp(u - exp(u)), is below rounding elsewhere
        u = np.arange(-75.0, 4.5, step)
        mass = -np.expm1(-np.exp(u) / n[..., None])
        # sin(theta / 2)^2 has a beta law, with both parameters equal to `half`
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, mass)))
        # the mean square of f(x) - f(x_q) is twice the variogram
        return np.asarray(step * (2 * variogram_of(task, theta)) @ np.exp(u - np.exp(u)))

    resolved = bias(0.0625)
    change = np.abs(bias(0.125) - resolved)
    total = resolved + 2 * fine_variance(task)
    error = change / np.maximum(total, 1e-300)
    return Risk(*(np.asarray(value)[()] for value in (total, noise_std**2, error)))
