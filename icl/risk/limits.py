r"""Limits of softmax attention for many tokens that do not lie on a sphere: Gaussian, and uniform in a ball.

*Gaussian.* Given the query, the weights ``exp(w x . x_q)`` tilt the law N(0, I) of a token to N(w x_q, I).
For n to infinity the prediction tends to the mean of f under it, ::

    h(x_q) = E f(g + w x_q),   g ~ N(0, I):

f smoothed over a fixed width of one, whatever w is. For linear functions the limit is ``w f(x_q)``. The mean
squared distance of n tokens from it is a power of n that depends on w, `distance_exponent`, which the chapter
on Gaussian tokens proves.

*Ball.* Tokens and query are uniform in the unit ball of R^d, ``f(x) = beta . x`` with ``E beta beta'`` a
multiple of the identity. The prediction at a query of length r tends to ``beta . x`` averaged with the
density ``exp(w x . x_q)``, the gradient of the logarithm of ::

    E exp(s u . x) = Gamma(d/2 + 1) (2 / s)^(d/2) I_{d/2}(s),   |u| = 1, s = w r:

it is ``A(s) beta . u`` with ``A = I_{d/2+1} / I_{d/2}``, the mean resultant length on the sphere in d + 2
dimensions, whose projection the ball is. In units of the variance of f the limit of the risk is ::

    E (r - A(w r))^2 / E r^2,   with density d r^(d-1) of r.

A is strictly concave, so that no w makes it the identity; and where w grows without end, A tends to one, the
length of the longest tokens, for queries of every length. The best w is finite, and a floor remains.

Label noise enters none of these limits: its part of the risk tends to zero. Arguments out of range are a
ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from icl.checks import integer, reals
from icl.risk.asymptotics import resultant_length
from icl.risk.quadrature import gauss_panels
from icl.tasks.base import Array

_LEAST_W, _MOST_W = 1e-3, 1e3  # windows of the laws for Gaussian tokens
_BALL_W = 0.01, 1e6  # windows between which the ball's best one is looked for
_ORDER, _COARSE = 16, 12  # Gauss nodes a panel of the two rules for the ball


@dataclass(frozen=True)
class BallLimit:
    """The least limit of the risk over all windows, on tokens in the ball, in units of the variance of f.

    ``error`` is the estimated relative error of both: what a coarser rule changes, and rounding.
    """

    w: float
    risk: float
    error: float


def distance_exponent(w: ArrayLike) -> Array:
    r"""Return the exponent r(w) of the mean squared distance of n Gaussian tokens from the limit, w > 0.

    The chapter on Gaussian tokens proves that, for tokens and query N(0, I_d) in every dimension d, ::

        E |sum_i omega_i x_i - w x_q|^2 = n^(-r(w) + o(1)),   r(w) = min(1, (sqrt(1 + 4 / w^2) - 1) / 2),

    and the same of ``E sum_i omega_i^2``. At w = 1 it is one over the golden ratio.

    >>> distance_exponent([0.5, 1.0, 4.0]).round(4)
    array([1.   , 0.618, 0.059])
    """
    w = reals(w, "w", _LEAST_W, _MOST_W)
    # (sqrt(1 + v) - 1) / 2 with v = 4 / w^2, without cancellation for large w
    v = 4 / w**2
    return np.asarray(np.minimum(1.0, v / (2 * (1 + np.sqrt(1 + v)))))[()]


def least_ball_limit(dim: int) -> BallLimit:
    """Find the window with the smallest limit of the risk on tokens uniform in the unit ball, d <= 64.

    >>> best = least_ball_limit(5)
    >>> round(best.w, 3), round(best.risk, 5)  # the window stops, and 1.6 % of the variance stays
    (18.891, 0.0155)
    """
    dim = integer(dim, "dim", 1, 64)
    grid = np.geomspace(*_BALL_W, 161)
    at = int(np.argmin([_ball_limit(dim, float(w), _ORDER)[0] for w in grid]))
    around = grid[at - 1], grid[at + 1]
    rules = _ORDER, _COARSE
    w, coarse = (
        brentq(lambda v, k=k: _ball_limit(dim, v, k)[1], *around, xtol=1e-13) for k in rules
    )
    risk, other = _ball_limit(dim, w, _ORDER)[0], _ball_limit(dim, coarse, _COARSE)[0]
    changes = abs(coarse / w - 1), abs(other / risk - 1)
    return BallLimit(w, risk, max(*changes, float(np.finfo(float).eps)))


def _ball_limit(dim: int, w: float, order: int) -> tuple[float, float]:
    """Return the limit and its slope in w, by a Gauss rule on panels of r that double from 1 / w on."""
    most = max(w, 2)
    edges = np.concatenate([[0.0], np.geomspace(1, most, int(np.ceil(np.log2(most))) + 1) / most])
    r, weight = gauss_panels(edges, order)
    p, s = weight * dim * r ** (dim - 1), w * r
    length = resultant_length(dim + 2, s)
    turn = 1 - length**2 - (dim + 1) * length / s  # A'
    miss, power = r - length, dim / (dim + 2)
    return float(p @ miss**2) / power, float(-2 * p @ (miss * r * turn)) / power
