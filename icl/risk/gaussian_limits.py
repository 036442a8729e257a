r"""Limits of softmax attention on Gaussian tokens for many tokens.

Given the query, the weights ``exp(w x . x_q)`` tilt the law N(0, I) of a token to N(w x_q, I). For n to
infinity the prediction tends to the mean of f under it,

    h(x_q) = E f(g + w x_q),   g ~ N(0, I):

f smoothed over a fixed width of one, whatever w is. On functions of one projection,
``f(x) = sum_k c_k He_k(u . x)`` with Hermite polynomials (``E He_k(g)^2 = k!``), h is a polynomial because
``E He_k(g + t) = t^k``, and the remaining risk is

    floor(w) = sum_k k! (c_k - h_k(w))^2,   sum_k h_k(w) He_k(t) = sum_k c_k (w t)^k.

For linear functions the distance of the best window from 1 is known to leading order (`window_gap`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import poly2herme
from numpy.typing import ArrayLike
from scipy.special import gamma, gammaln

from icl.checks import integer, reals
from icl.risk.gaussian import MOST_W
from icl.risk.gaussian_moments import MOST_TOKENS
from icl.tasks.base import Array

GOLDEN = (1 + math.sqrt(5)) / 2
_MOST_DEGREE, _MOST_COEFFICIENT = 30, 1e30


@dataclass(frozen=True)
class HermiteFloor:
    """The least limit of the risk over all windows.

    Attributes:
        w: The window parameter that attains it, >= 0.
        risk: The limit of the risk for n to infinity there.
        power: ``E (f - E f)^2``, the risk of the best constant.
    """

    w: float
    risk: float
    power: float


def hermite_floor(coefficients: ArrayLike, w: ArrayLike) -> Array:
    """Compute the limit of the risk for n to infinity of a function of one projection.

    Args:
        coefficients: c_0, ..., c_K of ``f(x) = sum_k c_k He_k(u . x)``, u a unit vector, K <= 30.
        w: Window parameter, 0 to 100.

    Returns:
        The limit, of the shape of ``w``. Label noise does not enter: its part of the risk tends to zero.

    Raises:
        ValueError: If an argument is out of range.

    >>> float(hermite_floor([1.0, 2.0], 1.0))  # affine functions are recovered
    0.0
    """
    w = reals(w, "w", 0, MOST_W)
    return np.asarray(sum(k * p(w) ** 2 for k, p in _missed(coefficients)))[()]


def least_hermite_floor(coefficients: ArrayLike) -> HermiteFloor:
    """Find the window with the smallest limit of the risk for a function of one projection.

    The limit is a polynomial in w, and its stationary points are roots of its derivative.

    Args:
        coefficients: c_0, ..., c_K of ``f(x) = sum_k c_k He_k(u . x)``, K <= 30.

    Returns:
        The minimum over w >= 0.

    Raises:
        ValueError: If an argument is out of range.

    >>> round(least_hermite_floor([0.0, 0.0, 1.0]).risk, 12)  # a third of the power 2
    0.666666666667
    """
    parts = _missed(coefficients)
    curve = sum((k * p**2 for k, p in parts), Polynomial([0.0]))
    roots = np.roots(np.trim_zeros(curve.deriv().coef, "b")[::-1])
    stationary = roots.real[(np.abs(roots.imag) < 1e-6) & (roots.real > 0)]
    candidates = np.concatenate([[0.0], stationary])
    values = np.sum([k * p(candidates) ** 2 for k, p in parts], axis=0)
    c = reals(coefficients, "coefficients", -_MOST_COEFFICIENT, _MOST_COEFFICIENT)
    power = sum(math.factorial(k) * float(c[k]) ** 2 for k in range(1, c.size))
    best = int(np.argmin(values))
    return HermiteFloor(float(candidates[best]), float(values[best]), power)


def _missed(coefficients: ArrayLike) -> list[tuple[float, Polynomial]]:
    """Return k! and the polynomial ``c_k - h_k`` in w for every degree k."""
    c = reals(coefficients, "coefficients", -_MOST_COEFFICIENT, _MOST_COEFFICIENT)
    if c.ndim != 1 or not 1 <= c.size <= _MOST_DEGREE + 1:
        raise ValueError(
            f"coefficients of shape {c.shape}: must be a sequence of 1 to {_MOST_DEGREE + 1} numbers"
        )
    # column j: the coefficients of t^j in the basis of Hermite polynomials
    powers = np.stack(
        [np.pad(poly2herme(row[: j + 1]), (0, c.size - j - 1)) for j, row in enumerate(np.eye(c.size))], 1
    )
    return [(float(math.factorial(k)), Polynomial(-powers[k] * c) + c[k]) for k in range(c.size)]


def window_gap(dim: int, n: ArrayLike) -> Array:
    r"""Compute the leading order of ``1 - w*`` for linear functions, whatever L and sigma are.

    With ``l = log n`` and the golden ratio ``a = (1 + sqrt 5) / 2``,

        1 - w* ~ K_d l^(d/2 + 1) n^(-1/a),

    up to a factor that tends to one. Queries with ``r^2`` near ``2 l / sqrt 5`` dominate. For them one token
    sometimes takes a finite part of the weight: the sum ``S`` is about ``n exp(r^2 / 2)``, and with
    probability ``n exp(-(l / r + r / 2)^2 / 2)``, up to powers of l, one score exceeds its logarithm.

    Args:
        dim: Dimension d, >= 1.
        n: Context length, 2 to 1e30.

    Returns:
        The leading order, of the shape of ``n``.

    Raises:
        ValueError: If an argument is out of range.
    """
    d, log_n = integer(dim, "dim", 1, 1000), np.log(reals(n, "n", 2, MOST_TOKENS, whole=True))
    r2 = 2 / math.sqrt(5)  # in units of log n
    a = GOLDEN
    # E r^2 (C - 6 D) / d over the query, by Laplace's method in r^2
    log_chi = (d / 2) * math.log(r2 / 2) - math.log(2) - gammaln(d / 2 + 1)
    curvature = (math.sqrt(5) / 2) ** 3  # of the exponent in r^2 / log n, in units of log n
    condensed = (a - 1) ** 2 * gamma(a) * gamma(2 - a) / math.sqrt(2 * math.pi * r2)
    constant = math.exp(log_chi) * condensed * math.sqrt(2 * math.pi / curvature)
    slope = 2 / math.sqrt(5)  # of the exponent in w at w = 1, in units of log n
    return np.asarray(0.5 * slope * constant * log_n ** (d / 2 + 1) * np.exp(-log_n / a))[()]
