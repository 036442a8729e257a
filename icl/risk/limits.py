r"""Limits of softmax attention for many tokens that do not lie on a sphere: Gaussian, and uniform in a ball.

*Gaussian.* Given the query, the weights ``exp(w x . x_q)`` tilt the law N(0, I) of a token to N(w x_q, I).
For n to infinity the prediction tends to the mean of f under it, ::

    h(x_q) = E f(g + w x_q),   g ~ N(0, I):

f smoothed over a fixed width of one, whatever w is. On functions of one projection,
``f(x) = sum_k c_k He_k(u . x)`` with Hermite polynomials (``E He_k(g)^2 = k!``), h is a polynomial because
``E He_k(g + t) = t^k``, and the remaining risk is ::

    floor(w) = sum_k k! (c_k - h_k(w))^2,   sum_k h_k(w) He_k(t) = sum_k c_k (w t)^k.

For linear functions the limit is ``w f(x_q)``. The mean squared distance of n tokens from it is a power of n
that depends on w (`distance_exponent`, `gaussian_law`), and from the power at ``w = 1`` follows the distance
of the best window from 1 (`log_window_gap`). The chapter on Gaussian tokens proves these laws.

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

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import poly2herme
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, gammaln

from icl.checks import broadcast, integer, real, reals
from icl.risk.asymptotics import resultant_length
from icl.risk.quadrature import gauss_panels
from icl.tasks.base import LEAST, MOST, Array

GOLDEN = (1 + math.sqrt(5)) / 2
PEAK = 2 / math.sqrt(5)  # r^2 over log n of the queries that decide
_MOST_LOG = 1e8
_LEAST_W, _MOST_W = 1e-3, 1e3  # windows of the laws for Gaussian tokens
_MOST_DEGREE, _MOST_COEFFICIENT = 30, 1e30
_BALL_W = 0.01, 1e6  # windows between which the ball's best one is looked for
_ORDER, _COARSE = 16, 12  # Gauss nodes a panel of the two rules for the ball


@dataclass(frozen=True)
class HermiteFloor:
    """The least limit of the risk over all w >= 0, on Gaussian tokens; ``power`` is ``E (f - E f)^2``."""

    w: float
    risk: float
    power: float


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """Leading orders for many Gaussian tokens, at the broadcast shape of ``w`` and ``log_n``.

    Attributes:
        log_noise: Logarithm of that of ``E sum_i omega_i^2``, the noise term in units of sigma^2.
        log_distance: Logarithm of that of ``E |sum_i omega_i x_i - w x_q|^2``.
    """

    log_noise: Array
    log_distance: Array


@dataclass(frozen=True, eq=False)
class OneToken:
    """The logarithm of ``1 - w*`` with one heavy token; error: what a coarser rule changes, and rounding."""

    log_gap: Array
    error: Array


@dataclass(frozen=True)
class BallLimit:
    """The least limit of the risk over all windows, on tokens in the ball, in units of the variance of f.

    ``error`` is the estimated relative error of both: what a coarser rule changes, and rounding.
    """

    w: float
    risk: float
    error: float


def least_hermite_floor(coefficients: ArrayLike) -> HermiteFloor:
    """Find the window with the smallest limit of the risk for a function of one projection.

    The function is ``f(x) = sum_k c_k He_k(u . x)``, u a unit vector, with coefficients c_0, ..., c_K,
    K <= 30. The limit is a polynomial in w, and its stationary points are roots of its derivative.

    >>> round(least_hermite_floor([0.0, 0.0, 1.0]).risk, 12)  # a third of the power 2
    0.666666666667
    """
    c, parts = _missed(coefficients)
    curve = sum((k * p**2 for k, p in parts), Polynomial([0.0]))
    roots = np.roots(np.trim_zeros(curve.deriv().coef, "b")[::-1])
    stationary = roots.real[(np.abs(roots.imag) < 1e-6) & (roots.real > 0)]
    candidates = np.concatenate([[0.0], stationary])
    values = np.sum([k * p(candidates) ** 2 for k, p in parts], axis=0)
    power = sum(math.factorial(k) * float(c[k]) ** 2 for k in range(1, c.size))
    best = int(np.argmin(values))
    return HermiteFloor(float(candidates[best]), float(values[best]), power)


def _missed(coefficients: ArrayLike) -> tuple[Array, list[tuple[float, Polynomial]]]:
    """Return the checked coefficients, and k! and the polynomial ``c_k - h_k`` in w for every degree k."""
    c = reals(coefficients, "coefficients", -_MOST_COEFFICIENT, _MOST_COEFFICIENT)
    if c.ndim != 1 or not 1 <= c.size <= _MOST_DEGREE + 1:
        raise ValueError(
            f"coefficients of shape {c.shape}: must be a sequence of 1 to {_MOST_DEGREE + 1} numbers"
        )
    # column j: the coefficients of t^j in the basis of Hermite polynomials
    columns = [poly2herme(row[: j + 1]) for j, row in enumerate(np.eye(c.size))]
    powers = np.stack(
        [np.pad(column, (0, c.size - column.size)) for column in columns], 1
    )
    return c, [
        (float(math.factorial(k)), Polynomial(-powers[k] * c) + c[k])
        for k in range(c.size)
    ]


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


def gaussian_law(dim: int, w: ArrayLike, log_n: ArrayLike) -> GaussianLaw:
    r"""Return what the noise and the squared distance from the limit tend to, for tokens N(0, I_d).

    With ``l = log n``, ``s = (1 + sqrt(1 + 4 / w^2)) / 2``, the positive root of ``s (s - 1) = 1 / w^2``, and
    ``c = Gamma(s) Gamma(2 - s) / (Gamma(d/2) (w^2 (w^2 + 4))^(d/4))``, they are asymptotically equal to ::

        w^2 < 1/2:   (1 - 2 w^2)^(-d/2) / n              d (1 - w^2) (1 - 2 w^2)^(-d/2 - 1) / n,
        w^2 = 1/2:   (2 l / 3)^(d/2) / (n Gamma(d/2+1))   (d / 2) (2 l / 3)^(d/2 + 1) / (n Gamma(d/2 + 2)),
        w^2 > 1/2:   c l^(d/2 - 1) n^-(s - 1)            c 2 w (s-1)^2 / sqrt(w^2 + 4) l^(d/2) n^-(s - 1).

    The approach is not uniform in w: near ``w^2 = 1/2`` it needs very long contexts. A w whose square is one
    half up to rounding is taken as the root of one half. The chapter on Gaussian tokens has the proof.

    Args:
        dim: Dimension d, 1 to 1000.
        w: Window parameter, 1e-3 to 1e3.
        log_n: Logarithm of the context length, 1e-3 to 1e8; ``w`` and ``log_n`` broadcast.

    Raises:
        ValueError: For arguments out of range or shapes that do not broadcast.

    >>> law = gaussian_law(2, w=0.5, log_n=np.log(1000))  # 1000 noise = 2, 1000 distance = 6
    >>> np.exp([law.log_noise, law.log_distance]).round(6)
    array([0.002, 0.006])
    """
    d = integer(dim, "dim", 1, 1000)
    w, log_n = reals(w, "w", _LEAST_W, _MOST_W), reals(log_n, "log_n", 1e-3, _MOST_LOG)
    w, log_n = broadcast(w=w, log_n=log_n)
    rows = [
        _gaussian_law(d, float(one), float(length))
        for one, length in zip(w.flat, log_n.flat, strict=True)
    ]
    log_noise, log_distance = np.array(rows).reshape(w.size, 2).T
    return GaussianLaw(
        log_noise.reshape(w.shape)[()], log_distance.reshape(w.shape)[()]
    )


def _gaussian_law(d: int, w: float, log_n: float) -> tuple[float, float]:
    """Return both logarithms of `gaussian_law` for one w and one context length."""
    half, square = d / 2, w * w
    if math.isclose(square, 0.5, rel_tol=1e-12):
        reach = math.log(2 * log_n / 3)
        noise = half * reach - gammaln(half + 1) - log_n
        distance = math.log(half) + (half + 1) * reach - gammaln(half + 2) - log_n
    elif square < 0.5:
        noise = -half * math.log(1 - 2 * square) - log_n
        distance = (
            math.log(d * (1 - square)) - (half + 1) * math.log(1 - 2 * square) - log_n
        )
    else:
        power = float(distance_exponent(w))  # s - 1
        constant = gammaln(1 + power) + gammaln(1 - power) - gammaln(half)
        constant -= half / 2 * math.log(square * (square + 4))
        noise = constant + (half - 1) * math.log(log_n) - power * log_n
        heavy = 2 * w * power**2 / math.sqrt(square + 4)
        distance = constant + math.log(heavy) + half * math.log(log_n) - power * log_n
    return float(noise), float(distance)


def log_window_gap(dim: int, log_n: ArrayLike) -> Array:
    r"""Compute the logarithm of the leading order of ``1 - w*`` for linear functions, for every L and sigma.

    With ``l = log n`` and the golden ratio ``a = (1 + sqrt 5) / 2``, ::

        1 - w* ~ K_d l^(d/2 + 1) n^(-1/a),   K_d = pi / (5^(1 + d/4) a^3 Gamma(d/2 + 1) sin(pi / a)).

    Half the slope of the risk at ``w = 1`` is the gap, and queries with ``r^2`` near ``2 l / sqrt 5`` decide.
    The chapter on Gaussian tokens has the proof.
    """
    d, log_n = integer(dim, "dim", 1, 1000), reals(log_n, "log_n", 1e-3, _MOST_LOG)
    log_constant = math.log(math.pi) - (1 + d / 4) * math.log(5) - 3 * math.log(GOLDEN)
    log_constant -= gammaln(d / 2 + 1) + math.log(math.sin(math.pi / GOLDEN))
    return np.asarray(log_constant + (d / 2 + 1) * np.log(log_n) - log_n / GOLDEN)[()]


def one_token_gap(
    dim: int, log_n: ArrayLike, noise_std: ArrayLike, lipschitz: float = 1.0
) -> OneToken:
    r"""Compute ``1 - w*`` for linear functions from one heavy token, by quadrature.

    The sum of all weights but one is replaced by its mean ``n exp(r^2 / 2)``, as in the random energy model
    above its freezing temperature: rare tokens then are the only ones with a finite weight omega, and ::

        C = n E omega^2,   D = n E (omega^3 - omega^4),   omega = z / (z + n exp(r^2 / 2)),   z = exp(r g).

    Half the slope of the risk at ``w = 1`` is the gap. The exact gap over this integral tends to one with n,
    and this integral over `log_window_gap`, much more slowly, with log n.

    d is at most 1000 and log n between 10 and 1e8; ``log_n`` and ``noise_std`` broadcast, ``lipschitz`` is
    the root mean square of the slope.

    >>> l = 1e6  # a context no table of tokens could hold
    >>> bool(abs(one_token_gap(5, l, 0.5).log_gap - log_window_gap(5, l)) < 1e-4)
    True
    """
    d, scale = integer(dim, "dim", 1, 1000), real(lipschitz, "lipschitz", LEAST, MOST)
    log_n, noise_std = (
        reals(log_n, "log_n", 10, _MOST_LOG),
        reals(noise_std, "noise_std", 0, MOST),
    )
    log_n, noise_std = broadcast(log_n=log_n, noise_std=noise_std)
    out = np.empty((2, log_n.size))
    for k, (length, sigma) in enumerate(
        zip(log_n.ravel(), noise_std.ravel(), strict=True)
    ):
        spread = 1 + (sigma / scale) ** 2
        fine, coarse = (
            _one_token(d, float(length), spread, *rule)
            for rule in ((0.2, 400), (0.25, 300))
        )
        out[:, k] = fine, abs(fine - coarse) + np.finfo(float).eps * length
    return OneToken(*(row.reshape(log_n.shape)[()] for row in out))


def _one_token(d: int, log_n: float, spread: float, step: float, order: int) -> float:
    """Return the logarithm of `one_token_gap` with that step in log z and that many nodes in r."""
    peak, reach = math.sqrt(PEAK * log_n), 14 + math.sqrt(d) / 2
    r, weight = gauss_panels(np.array([max(0.0, peak - reach), peak + reach]), order)
    y = np.arange(
        -260.0, 60.0, step
    )  # log z over the others' sum: falls like exp(0.38 y) and exp(-1.6 y)
    g = (y + (log_n + r * r / 2)[:, None]) / r[:, None]
    log_chi = (
        (d - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - d / 2) - gammaln(d / 2)
    )
    log_p = (log_chi + log_n - 0.5 * math.log(2 * math.pi) - np.log(r))[
        :, None
    ] - g * g / 2
    shift = float(log_window_gap(d, log_n))
    p = np.exp(log_p - shift) * weight[:, None] * step
    omega, turn = (
        expit(y),
        expit(y) * expit(-y) * (g - r[:, None]),
    )  # and its derivative in r w
    c_tau, third = 2 * omega * turn, omega**3 - omega**4
    third_tau = (3 * omega**2 - 4 * omega**3) * turn
    square, r = (r * r / d)[:, None], r[:, None]
    slope = square * (r * c_tau - 12 * third - 6 * r * third_tau) + spread * r * c_tau
    total = float(np.sum(p * slope))
    if total <= 0:
        raise ValueError(
            f"log_n={log_n:g}: too short for one heavy token to decide, must be larger at dim={d}"
        )
    return shift + math.log(0.5 * total)


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
        brentq(lambda v, k=k: _ball_limit(dim, v, k)[1], *around, xtol=1e-13)
        for k in rules
    )
    risk, other = _ball_limit(dim, w, _ORDER)[0], _ball_limit(dim, coarse, _COARSE)[0]
    changes = abs(coarse / w - 1), abs(other / risk - 1)
    return BallLimit(w, risk, max(*changes, float(np.finfo(float).eps)))


def _ball_limit(dim: int, w: float, order: int) -> tuple[float, float]:
    """Return the limit and its slope in w, by a Gauss rule on panels of r that double from 1 / w on."""
    most = max(w, 2)
    edges = np.concatenate(
        [[0.0], np.geomspace(1, most, int(np.ceil(np.log2(most))) + 1) / most]
    )
    r, weight = gauss_panels(edges, order)
    p, s = weight * dim * r ** (dim - 1), w * r
    length = resultant_length(dim + 2, s)
    turn = 1 - length**2 - (dim + 1) * length / s  # A'
    miss, power = r - length, dim / (dim + 2)
    return float(p @ miss**2) / power, float(-2 * p @ (miss * r * turn)) / power
