r"""The limit of the risk for many tokens that are uniform in the unit ball, for linear functions.

Tokens and query are uniform in the unit ball of R^d, ``f(x) = beta . x`` with ``E beta beta'`` a multiple of
the identity, and ``M = w I``. For n to infinity the prediction at a query of length r tends to ``beta . x``
averaged with the density ``exp(w x . x_q)``, the gradient of the logarithm of

    E exp(s u . x) = Gamma(d/2 + 1) (2 / s)^(d/2) I_{d/2}(s),   |u| = 1, s = w r:

it is ``A(s) beta . u`` with ``A = I_{d/2+1} / I_{d/2}``, the mean resultant length on the sphere in d + 2
dimensions, whose projection the ball is. In units of the variance of f the limit of the risk is

    E (r - A(w r))^2 / E r^2,   with density d r^(d-1) of r.

A is strictly concave, so that no w makes it the identity; and where w grows without end, A tends to one, the
length of the longest tokens, for queries of every length. The best w is finite, and a floor remains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from icl.checks import integer, reals
from icl.risk.asymptotics import resultant_length
from icl.tasks.base import Array

_MOST_DIM = 64
_LEAST_W, MOST_W = 0.01, 1e6
_ORDER, _COARSE = 16, 12  # Gauss nodes a panel of the two rules


@dataclass(frozen=True)
class BallLimit:
    """The least limit of the risk over all windows.

    Attributes:
        w: The window parameter that attains it.
        risk: The limit of the risk there, in units of the variance of f.
        error: Estimated relative error of both: what a coarser rule changes, and rounding.
    """

    w: float
    risk: float
    error: float


def ball_limit(dim: int, w: ArrayLike) -> Array:
    """Compute the limit of the risk for n to infinity on tokens uniform in the unit ball.

    Args:
        dim: Dimension d, 1 to 64.
        w: Window parameter, 0.01 to 1e6.

    Returns:
        The limit in units of the variance of f, of the shape of ``w``. Label noise does not enter: its part
        of the risk tends to zero.

    Raises:
        ValueError: If an argument is out of range.

    >>> ball_limit(5, [1.0, 19.0, 1e6]).round(3)  # least in between
    array([0.738, 0.016, 0.067])
    """
    dim, w = integer(dim, "dim", 1, _MOST_DIM), reals(w, "w", _LEAST_W, MOST_W)
    return np.asarray([_risk(dim, float(v), _ORDER)[0] for v in w.ravel()]).reshape(w.shape)[()]


def least_ball_limit(dim: int) -> BallLimit:
    """Find the window with the smallest limit of the risk on tokens uniform in the unit ball.

    Args:
        dim: Dimension d, 1 to 64.

    Returns:
        The minimum over 0.01 <= w <= 1e6.

    Raises:
        ValueError: If ``dim`` is out of range.

    >>> best = least_ball_limit(5)
    >>> round(best.w, 3), round(best.risk, 5)  # the window stops, and 1.6 % of the variance stays
    (18.891, 0.0155)
    """
    dim = integer(dim, "dim", 1, _MOST_DIM)
    grid = np.geomspace(_LEAST_W, MOST_W, 161)
    at = int(np.argmin(ball_limit(dim, grid)))
    around = grid[at - 1], grid[at + 1]
    w, coarse = (brentq(lambda v, k=k: _risk(dim, v, k)[1], *around, xtol=1e-13) for k in (_ORDER, _COARSE))
    risk, other = _risk(dim, w, _ORDER)[0], _risk(dim, coarse, _COARSE)[0]
    changes = abs(coarse / w - 1), abs(other / risk - 1)
    return BallLimit(w, risk, max(*changes, float(np.finfo(float).eps)))


def _risk(dim: int, w: float, order: int) -> tuple[float, float]:
    """Return the limit and its slope in w, by a Gauss rule on panels of r that double from 1 / w on."""
    x, weight = np.polynomial.legendre.leggauss(order)
    edges = np.concatenate(
        [[0.0], np.geomspace(1, max(w, 2), int(np.ceil(np.log2(max(w, 2)))) + 1) / max(w, 2)]
    )
    half = np.diff(edges)[:, None] / 2
    r = (edges[:-1, None] + half * (1 + x)).ravel()
    p = (half * weight).ravel() * dim * r ** (dim - 1)
    s = w * r
    length = resultant_length(dim + 2, s)
    turn = 1 - length**2 - (dim + 1) * length / s  # A'
    miss, power = r - length, dim / (dim + 2)
    return float(p @ miss**2) / power, float(-2 * p @ (miss * r * turn)) / power
