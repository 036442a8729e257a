"""Exact risks of linear attention and of the nearest neighbor, which are compared with softmax attention.

The setting is that of `icl.risk.exact`. Tokens and query are uniform on the unit sphere of R^d. The class is
rotation invariant, with the covariance ``k = sum_l a_l P_l``, and the noise has the variance sigma^2.
Arguments broadcast.

Linear attention predicts ``h = (1/n) sum_i y_i x_i' M x_q``. Its risk is a convex quadratic in M, and
rotations of M do not change the risk. So the mean of M over all rotations, a multiple of the identity, has
at most the risk of M, and some ``M = m I`` is best. By the addition theorem only degree 1 of the class
correlates with ``x_i . x_q``, and ::

    risk(m) = p - 2 m a_1 / d + m^2 [(p + sigma^2) / (n d) + (1 - 1/n) a_1 / d^2].

Here ``p = E f(x)^2`` is k(1) plus the fine variance of the class. The risk is above ``p - a_1`` for every n
and m. For affine functions this floor is L^2/3, and for ReLU functions it is L^2/3 + L^2/(6 d). A constant
part of the functions does not count if k leaves it out (`Zonal.left_out_level`).

The chapter on Gaussian tokens uses another risk of linear attention. There tokens are Gaussian and functions
are linear, ``f(x) = beta . x`` with ``E beta beta' = (L^2 / d) I``. The fourth moment
``E (beta . x)^2 (x . x_q)^2 = |beta|^2 |x_q|^2 + 2 (beta . x_q)^2`` gives ::

    risk(m) = L^2 - 2 m L^2 + m^2 [L^2 + ((d + 1) L^2 + d sigma^2) / n].
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
    """The best linear attention, ``M = m I``.

    Attributes:
        m: The best factor m, in the broadcast shape.
        risk: The population risk at this m.
        floor: ``E f(x)^2 - a_1``, a lower bound for every n and every M.
    """

    m: Array
    risk: Array
    floor: float


def linear_risk(task: Zonal, m: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Array:
    """Compute the population risk of linear attention with ``M = m I``, where ``|m|`` is at most 1e100."""
    # 0.0 stands for a window, which linear attention does not have
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    m, n, noise_std = broadcast(
        m=reals(m, "m", -MAX_MAGNITUDE, MAX_MAGNITUDE), n=n, noise_std=noise_std
    )
    power, degree_one, square = _compute_moments(task, n, noise_std)
    return power - 2 * m * degree_one / task.dim + m**2 * square


def linear_optimum(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> LinearOptimum:
    """Compute the best linear attention in closed form.

    >>> from icl.tasks import Affine
    >>> round(float(linear_optimum(Affine(dim=5), n=10, noise_std=0.0).risk), 3)
    0.383
    """
    # 0.0 stands for a window, which linear attention does not have
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    power, degree_one, square = _compute_moments(task, n, noise_std)
    # the risk is power - 2 m gain + m^2 square
    gain = degree_one / task.dim
    m = gain / square
    # The least risk is power - m gain, or floor + m (d square - gain). The formula of the bracket, `excess`,
    # does not cancel.
    floor = power - degree_one
    excess = (power + noise_std**2 - gain) / n
    return LinearOptimum(m, floor + m * excess, floor)


def _compute_moments(task: Zonal, n: Array, noise_std: Array) -> tuple[float, float, Array]:
    """Return ``E f(x)^2``, ``a_1 = d E f(x_q) h`` and ``E h^2``, for the prediction h at M = I."""
    d = task.dim
    degree_one = float(coefficients(task, 1)[0][0])
    power = task.second_moment
    square = (power + noise_std**2) / (n * d) + (1 - 1 / n) * degree_one / d**2
    return power, degree_one, square


def nearest_neighbor_risk(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of predicting with the label of the context token nearest to the query.

    This is softmax attention at ``w = infinity``. Let v be the share of the sphere that is nearer to the
    query than the nearest token is, and ``n log(1 - v) = -e^u``. Then u has the density ``exp(u - exp(u))``,
    and a trapezoid rule computes the mean over u.

    Fine variance counts twice in the bias: at the token and at the query.
    """
    # 0.0 stands for a window, which is not used here
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    half = (task.dim - 1) / 2

    def compute_bias(step: float) -> Array:
        # outside the density of u is below rounding
        u = np.arange(-75.0, 4.5, step)
        # this is v, for each n and u
        mass = -np.expm1(-np.exp(u) / n[..., None])
        # sin(theta / 2)^2 of a token has the law Beta(half, half)
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, mass)))
        # the mean square of f(x) - f(x_q) is twice the variogram
        return np.asarray(step * (2 * variogram_of(task, theta)) @ np.exp(u - np.exp(u)))

    resolved = compute_bias(0.0625)
    change = np.abs(compute_bias(0.125) - resolved)
    total = resolved + 2 * fine_variance(task)
    error = change / np.maximum(total, 1e-300)
    return Risk(*(np.asarray(value)[()] for value in (total, noise_std**2, error)))
