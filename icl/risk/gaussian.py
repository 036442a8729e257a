r"""The population risk of softmax attention on Gaussian tokens, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent N(0, I_d), functions are linear,
``f(x) = beta . x`` with ``E beta beta' = I_d / d``, label noise has variance sigma^2, and ``M = w I``.
The query is not in the denominator. Given the query, of length r, the scores are N(0, tau^2) with
``tau = w r``, and the tokens' components orthogonal to the query do not depend on them.

Derivation. Let omega_i be the weights, s_i the scores, and ``C = E sum omega_i^2``,
``D = E sum omega_i^3 - E (sum omega_i^2)^2``. Stein's identity, used once and three times, gives
``E sum omega_i s_i = tau^2 (1 - C)`` and ``E (sum omega_i s_i)^2 = tau^4 (1 - C - 6 D) + tau^2 C``. Given
r, ::

    bias = (1 / d) (r^2 ((w - 1)^2 + w (2 - w) C - 6 w^2 D) + d C),   noise = sigma^2 C,

and the squared distance of ``sum omega_i x_i`` from its limit ``w x_q`` for many tokens has the mean
``d C + tau^2 (C - 6 D)``. All are averaged over the chi law of r by
`icl.risk.numerics.gaussian_moments.query_means`.

Limit. Given the query, the weights ``exp(w x . x_q)`` tilt the law N(0, I) of a token to N(w x_q, I). For n
to infinity the prediction tends to ``E f(g + w x_q)`` with ``g ~ N(0, I)``: f smoothed over a fixed width of
one, whatever w is. For linear functions it is ``w f(x_q)``. The mean squared distance of n tokens from it is
a power of n that depends on w, `distance_exponent`. Label noise does not enter the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import broadcast, integer, reals
from icl.risk.numerics.gaussian_moments import MAX_TOKENS, query_means
from icl.risk.numerics.result import WindowRisk
from icl.risk.numerics.search import FIRST, RATIO, ProblemIndices, lowest
from icl.tasks.base import NOISE_RANGE, Array

# beyond this window, the parts of the bias cancel and leave fewer than ten digits
MAX_W = 100.0
# distance_exponent accepts windows between these two
_MIN_LAW_W, _MAX_LAW_W = 1e-3, 1e3
# gaussian_window stops beyond this window if the risk rises there, and raises beyond twice this window
_MAX_SEARCH_W = 10.0
_MAX_DIM = 1000
# the difference to this second, coarser rule estimates the error
_COARSE = {"order": 12, "drop": 2}
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class GaussianWindow:
    """The minimizer of the population risk over w on Gaussian tokens.

    Attributes:
        w: Optimal window parameter, 0 for a single token, whose risk does not depend on w. All attributes
            have the broadcast shape of ``n`` and ``noise_std``.
        risk: The risk there.
        gap: ``1 - w``, accurate also where it is far below the rounding of w.
        error: Estimated relative error of w: what a coarser rule for the slope changes, and rounding.
        gap_error: Relative error of ``gap``, estimated in the same way.
    """

    w: Array
    risk: Array
    gap: Array
    error: Array
    gap_error: Array


def gaussian_risk(dim: int, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> WindowRisk:
    """Compute the exact population risk of the attention unit ``M = w I`` on Gaussian tokens.

    Tokens and query are N(0, I_d), functions are ``f(x) = beta . x`` with ``E |beta|^2 = 1``. With the slope
    L and noise sigma the risk is L^2 times that with noise ``sigma / L``. ``w``, ``n`` and ``noise_std``
    broadcast.

    Args:
        dim: Dimension d, 1 to 1000.
        w: Window parameter, 0 to 100; weights are proportional to ``exp(w x_i . x_q)``.
        n: Context length, 1 to 1e30; the cost does not grow with it.
        noise_std: Standard deviation sigma of the label noise, >= 0.

    >>> risk = gaussian_risk(5, w=3.0, n=1, noise_std=0.5)
    >>> round(float(risk.bias), 12)  # one token has all weight: E (beta . (x - x_q))^2 = 2
    2.0
    """
    dim, (w, n, noise_std) = check_gaussian(dim, w, n, noise_std)
    fine = query_means(dim, w.ravel(), n.ravel())[:4]
    coarse = query_means(dim, w.ravel(), n.ravel(), **_COARSE)[:2]
    error = np.max(np.abs(coarse / fine[:2] - 1), axis=0, initial=_EPS).reshape(w.shape)
    bias, noise, bias_w, noise_w = fine.reshape(4, *w.shape)
    variance = noise_std**2
    rows = (bias, variance * noise, error, bias_w, variance * noise_w)
    return WindowRisk(*(row[()] for row in rows))


@dataclass(frozen=True)
class GaussianDistance:
    """How far the weighted mean of n Gaussian tokens is from its limit for many tokens.

    Attributes:
        distance: ``E |sum_i omega_i x_i - w x_q|^2`` over tokens and query.
        error: Estimated relative error: what a coarser rule changes, and rounding.
    """

    distance: Array
    error: Array


def gaussian_distance(dim: int, w: ArrayLike, n: ArrayLike) -> GaussianDistance:
    """Compute the mean squared distance of the layer's output from its limit for infinitely many tokens.

    Tokens and query are N(0, I_d), the output is ``sum_i omega_i x_i`` with weights proportional to
    ``exp(w x_i . x_q)``, and its limit is ``w x_q``. `icl.risk.distance_exponent` is the power of n with
    which the distance falls.

    Args:
        dim: Dimension d, 1 to 1000.
        w: Window parameter, 0 to 100.
        n: Context length, 1 to 1e30; ``w`` and ``n`` broadcast.

    Raises:
        ValueError: For arguments out of range or shapes that do not broadcast.

    >>> round(float(gaussian_distance(5, w=0.0, n=100).distance), 12)  # d / n: equal weights
    0.05
    """
    dim, (w, n, _) = check_gaussian(dim, w, n, 0.0)
    flat_w, flat_n = w.ravel(), n.ravel()
    rules = (query_means(dim, flat_w, flat_n), query_means(dim, flat_w, flat_n, **_COARSE))
    # rows 1 and 5 are the means of C and r^2 (C - 6 D) / d
    fine, coarse = (dim * (rows[1] + flat_w**2 * rows[5]) for rows in rules)
    error = np.maximum(np.abs(coarse / fine - 1), _EPS)
    return GaussianDistance(fine.reshape(w.shape)[()], error.reshape(w.shape)[()])


def distance_exponent(w: ArrayLike) -> Array:
    r"""Return the exponent r(w) of the mean squared distance of n Gaussian tokens from the limit, w > 0.

    The chapter on Gaussian tokens proves that, for tokens and query N(0, I_d) in every dimension d, ::

        E |sum_i omega_i x_i - w x_q|^2 = n^(-r(w) + o(1)),   r(w) = min(1, (sqrt(1 + 4 / w^2) - 1) / 2),

    and the same of ``E sum_i omega_i^2``. At w = 1 it is one over the golden ratio.

    >>> distance_exponent([0.5, 1.0, 4.0]).round(4)
    array([1.   , 0.618, 0.059])
    """
    w = reals(w, "w", _MIN_LAW_W, _MAX_LAW_W)
    # this form of (sqrt(1 + v) - 1) / 2 with v = 4 / w^2 does not cancel for large w
    v = 4 / w**2
    return np.asarray(np.minimum(1.0, v / (2 * (1 + np.sqrt(1 + v)))))[()]


def gaussian_window(dim: int, n: ArrayLike, noise_std: ArrayLike) -> GaussianWindow:
    """Find the window parameter w with the smallest population risk on Gaussian tokens.

    Arguments as in `gaussian_risk`; ``n`` and ``noise_std`` broadcast. The scan of
    `icl.risk.numerics.search` stops where ``(sigma^2 + (d - 1) / d) E C`` exceeds the best risk: the
    risk is at least that, and C never falls in w. In one dimension with hardly any noise it stops at the
    first window beyond w = 10 where the risk rises.

    Raises:
        ValueError: Also if the risk still falls at the last window of the scan below w = 20, about 18.

    >>> d, sigma, n = 5, 0.5, [100, 10**6]
    >>> best = gaussian_window(d, n, sigma)
    >>> best.w.round(3)  # it does not grow without end
    array([0.8  , 0.991])
    >>> gaussian_risk(d, best.w, n, sigma).slope.round(9) + 0.0
    array([0., 0.])
    """
    dim, (_, n, noise_std) = check_gaussian(dim, 0.0, n, noise_std)
    shape, n, variance = n.shape, n.ravel(), noise_std.ravel() ** 2
    # Where tau is small the risk is that of linear attention, a parabola with its minimum
    # near `linear_w`. The scan begins at a fifth of it, or for many dimensions where tau is about 0.7.
    linear_w = n / (n + dim * (1 + variance))
    begin = 0.2 * linear_w / np.maximum(1.0, 0.3 * math.sqrt(dim) * linear_w)
    steps = np.ceil(np.log(1.25 / begin) / math.log(RATIO))
    # Scans begin at FIRST times their unit. These units are powers of RATIO apart, so that all scans visit
    # w = 1.25, and problems with the same n share their windows.
    unit = 1.25 / FIRST * RATIO**-steps

    def curve(windows: Array, some: ProblemIndices) -> Array:
        """Return risk, its derivative, and a part that never falls, (windows, 3, problems).

        Windows are in the ``unit`` of each of the problems, whose indices are ``some``.
        """
        w = windows[:, None] * unit[some]
        if np.any(w > 2 * _MAX_SEARCH_W):
            worst = some[np.argmax(w.max(0))]
            # the window before this one was the last that was searched
            searched = w.max() / RATIO
            raise ValueError(
                f"n={n[worst]:g}, dim={dim}: no minimum of the risk found up to w={searched:.3g}"
            )
        rows = query_means(dim, w.ravel(), np.tile(n[some], windows.size))
        bias, c, bias_w, c_w = rows[:4].reshape(4, *w.shape)
        s2 = variance[some]
        floor = (s2 + 1 - 1 / dim) * c
        return np.stack([bias + s2 * c, (bias_w + s2 * c_w) * unit[some], floor], axis=1)

    # the risk of a single token does not depend on w
    several = np.flatnonzero(n > 1)
    # with equal weights the bias is 1 + 1 / n and the noise sigma^2 / n
    at_zero = 1 + (1 + variance) / n
    # The first windows are taken at once: so many that no problem passes w = 1.25 with them, and at most 51.
    ahead = 1 + int(steps.min(initial=50))
    found = lowest(curve, at_zero, True, _MAX_SEARCH_W / unit, several, ahead)
    # these rows are those of a single token, with w = 0
    w, risk, gap, error, gap_error = np.stack(
        [0 * n, at_zero, 1 + 0 * n, *np.full((2, n.size), _EPS)]
    )
    w[several], risk[several], gap[several], moved = _polish(
        dim,
        n[several],
        variance[several],
        (found.w * unit)[several],
        (found.curvature / unit / unit)[several],
    )
    error[several] += moved / w[several]
    gap_error[several] += moved / np.maximum(np.abs(gap[several]), moved)
    rows = (w, risk, gap, error, gap_error)
    return GaussianWindow(*(row.reshape(shape)[()] for row in rows))


def check_gaussian(
    dim: int, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike
) -> tuple[int, tuple[Array, ...]]:
    """Check the arguments of a risk on Gaussian tokens; return dim, and w, n, noise_std in one shape."""
    dim = integer(dim, "dim", 1, _MAX_DIM)
    w, n = reals(w, "w", 0, MAX_W), reals(n, "n", 1, MAX_TOKENS, whole=True)
    return dim, broadcast(w=w, n=n, noise_std=reals(noise_std, "noise_std", *NOISE_RANGE))


def _polish(
    dim: int, n: Array, variance: Array, w: Array, curvature: Array
) -> tuple[Array, Array, Array, Array]:
    """Return w, the risk and ``1 - w`` after Newton steps from ``w``, and the absolute error of w.

    The error is the size of one more step, plus what a coarser rule changes in that step. ``curvature`` is
    the second derivative of the risk in w.
    """
    gap = 1 - w

    def step(**rule: int) -> tuple[Array, Array]:
        """Return the slope over the curvature, by which the gap moves, and the risk."""
        bias, c, bias_w, c_w, shrunk, _ = query_means(dim, w, n, **rule)
        kept = 1 - shrunk
        # `kept` is E r^2 (1 - C) / d. The part 2 (w - 1) kept of the slope is taken out, and added again
        # below with the gap, which is free of the rounding of w, in place of 1 - w.
        rest = bias_w + variance * c_w - 2 * (w - 1) * kept
        return (rest - 2 * gap * kept) / curvature, bias + variance * c

    # the curvature stays that of the search, so that each step gains about as many digits as this curvature
    # has
    for _ in range(3):
        move, _ = step()
        # the smaller of gap and w has more digits, and gives the other
        near, gap, w = w > 0.5, gap + move, w - move
        gap, w = np.where(near, gap, 1 - w), np.where(near, 1 - gap, w)
    (move, risk), (coarse_move, _) = step(), step(**_COARSE)
    return w, risk, gap, np.abs(move) + np.abs(coarse_move - move)
