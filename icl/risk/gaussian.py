"""The population risk of softmax attention on Gaussian tokens, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent N(0, I_d), functions are linear,
``f(x) = beta . x`` with ``E beta beta' = I_d / d``, label noise has variance sigma^2, and ``M = w I``.
The query is not in the denominator. Given the query, of length r, the scores are N(0, tau^2) with
``tau = w r``, and the tokens' components orthogonal to the query do not depend on them.

Derivation. Let omega_i be the weights and s_i the scores. Define ``C = E sum omega_i^2`` and
``D = E sum omega_i^3 - E (sum omega_i^2)^2``. Stein's identity gives two means. Used once it gives
``E sum omega_i s_i = tau^2 (1 - C)``, and used three times it gives
``E (sum omega_i s_i)^2 = tau^4 (1 - C - 6 D) + tau^2 C``. Hence, given r, ::

    bias = (1 / d) (r^2 ((w - 1)^2 + w (2 - w) C - 6 w^2 D) + d C),   noise = sigma^2 C.

For many tokens the weighted mean ``sum omega_i x_i`` tends to ``w x_q``. Its mean squared distance from this
limit is ``d C + tau^2 (C - 6 D)``. `icl.risk.numerics.gaussian_moments.query_means` averages these numbers
over r, which has the chi law. The mean distance falls like a power of n (`distance_exponent`).
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

# beyond this w the parts of the bias cancel
MAX_W = 100.0
_MIN_LAW_W, _MAX_LAW_W = 1e-3, 1e3
# gaussian_window stops beyond this w where the risk rises, and raises beyond twice this w
_MAX_SEARCH_W = 10.0
_MAX_DIM = 1000
# these arguments of query_means give a coarser rule, whose difference estimates the error
_COARSE = {"order": 12, "drop": 2}
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class GaussianWindow:
    """The minimizer of the population risk over w on Gaussian tokens.

    Attributes:
        w: Optimal window parameter, in the broadcast shape of ``n`` and ``noise_std``; 0 for n = 1, where the
            risk does not depend on w.
        risk: The population risk at this w.
        gap: ``1 - w``, accurate also where it is far below the rounding of w.
        error: Estimated relative error of w.
        gap_error: Estimated relative error of ``gap``.
    """

    w: Array
    risk: Array
    gap: Array
    error: Array
    gap_error: Array


def gaussian_risk(dim: int, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> WindowRisk:
    """Compute the exact population risk of the attention unit ``M = w I`` on Gaussian tokens.

    Tokens and query are N(0, I_d), and functions are ``f(x) = beta . x`` with ``E |beta|^2 = 1``. For
    functions ``L beta . x`` the risk is L^2 times the risk with ``noise_std = sigma / L``. ``w``, ``n`` and
    ``noise_std`` broadcast.

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
    # rows are the bias, C, and their derivatives in w
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
        distance: ``E |sum_i omega_i x_i - w x_q|^2``, the mean over tokens and query.
        error: Estimated relative error of ``distance``.
    """

    distance: Array
    error: Array


def gaussian_distance(dim: int, w: ArrayLike, n: ArrayLike) -> GaussianDistance:
    """Compute the mean squared distance of the weighted mean of n tokens from its limit for many tokens.

    The weighted mean is ``sum_i omega_i x_i`` with weights proportional to ``exp(w x_i . x_q)``, and its
    limit is ``w x_q``. The distance falls like ``n^(-r)``, where r is `icl.risk.distance_exponent`. Arguments
    are those of `gaussian_risk`.

    >>> round(float(gaussian_distance(5, w=0.0, n=100).distance), 12)  # d / n: equal weights
    0.05
    """
    # 0.0 stands for the noise, which does not enter the distance
    dim, (w, n, _) = check_gaussian(dim, w, n, 0.0)
    flat_w, flat_n = w.ravel(), n.ravel()
    rules = (query_means(dim, flat_w, flat_n), query_means(dim, flat_w, flat_n, **_COARSE))
    # rows 1 and 5 are the means of C and r^2 (C - 6 D) / d
    fine, coarse = (dim * (rows[1] + flat_w**2 * rows[5]) for rows in rules)
    error = np.maximum(np.abs(coarse / fine - 1), _EPS)
    return GaussianDistance(fine.reshape(w.shape)[()], error.reshape(w.shape)[()])


def distance_exponent(w: ArrayLike) -> Array:
    """Return the exponent r(w) with which `gaussian_distance` falls for long contexts, for w > 0.

    The chapter on Gaussian tokens proves that, for tokens and query N(0, I_d) in every dimension d, ::

        E |sum_i omega_i x_i - w x_q|^2 = n^(-r(w) + o(1)),   r(w) = min(1, (sqrt(1 + 4 / w^2) - 1) / 2).

    ``E sum_i omega_i^2`` falls with the same exponent.

    >>> distance_exponent([0.5, 1.0, 4.0]).round(4)
    array([1.   , 0.618, 0.059])
    """
    w = reals(w, "w", _MIN_LAW_W, _MAX_LAW_W)
    # this form does not cancel for large w
    v = 4 / w**2
    return np.asarray(np.minimum(1.0, v / (2 * (1 + np.sqrt(1 + v)))))[()]


def gaussian_window(dim: int, n: ArrayLike, noise_std: ArrayLike) -> GaussianWindow:
    """Find the window parameter w with the smallest population risk on Gaussian tokens.

    Arguments are those of `gaussian_risk`; ``n`` and ``noise_std`` broadcast. The search
    (`icl.risk.numerics.search`) scans w upwards. It stops where ``(sigma^2 + (d - 1) / d) E C``, a lower
    bound of the risk that never falls in w, exceeds the best risk so far, or beyond w = 10 where the risk
    rises.

    Raises:
        ValueError: If an argument is out of range, or if the risk still falls at the last w of the scan,
            which is about 18.

    >>> d, sigma, n = 5, 0.5, [100, 10**6]
    >>> best = gaussian_window(d, n, sigma)
    >>> best.w.round(3)  # it does not grow without end
    array([0.8  , 0.991])
    >>> gaussian_risk(d, best.w, n, sigma).slope.round(9) + 0.0
    array([0., 0.])
    """
    # 0.0 stands for a window, which is not an argument here
    dim, (_, n, noise_std) = check_gaussian(dim, 0.0, n, noise_std)
    shape, n, variance = n.shape, n.ravel(), noise_std.ravel() ** 2
    # Where tau = w r is small, with r about sqrt(d), the risk is about that of linear attention, which is
    # least near `linear_w`. The scan begins at a fifth of it, or where tau is about 0.7.
    linear_w = n / (n + dim * (1 + variance))
    begin = 0.2 * linear_w / np.maximum(1.0, 0.3 * math.sqrt(dim) * linear_w)
    steps = np.ceil(np.log(1.25 / begin) / math.log(RATIO))
    # `lowest` searches w / unit, from FIRST by factors RATIO. These units let every scan visit w = 1.25, so
    # that problems with the same n share their values of w.
    unit = 1.25 / FIRST * RATIO**-steps

    def curve(windows: Array, some: ProblemIndices) -> Array:
        """Return the risk, its derivative in ``windows``, and a part of the risk that never falls in w.

        ``some`` are indices of problems (n, noise_std), with ``w = windows * unit``. The shape is
        (windows, 3, problems).
        """
        w = windows[:, None] * unit[some]
        if np.any(w > 2 * _MAX_SEARCH_W):
            worst = some[np.argmax(w.max(0))]
            # the scan has searched up to the w before this one
            searched = w.max() / RATIO
            raise ValueError(
                f"n={n[worst]:g}, dim={dim}: no minimum of the risk found up to w={searched:.3g}"
            )
        rows = query_means(dim, w.ravel(), np.tile(n[some], windows.size))
        bias, c, bias_w, c_w = rows[:4].reshape(4, *w.shape)
        s2 = variance[some]
        never_falls = (s2 + 1 - 1 / dim) * c
        return np.stack([bias + s2 * c, (bias_w + s2 * c_w) * unit[some], never_falls], axis=1)

    # the risk for n = 1 does not depend on w
    several = np.flatnonzero(n > 1)
    # with equal weights the bias is 1 + 1 / n and the noise sigma^2 / n
    at_zero = 1 + (1 + variance) / n
    # The scan computes its first windows, at most 51 and up to w = 1.25, in one call.
    ahead = 1 + int(steps.min(initial=50))
    # the risks fall at w = 0
    found = lowest(curve, at_zero, True, _MAX_SEARCH_W / unit, several, ahead)
    # these rows are right for n = 1
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
    # a gap smaller than its error has the relative error 1
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
    """Improve w by Newton steps; return w, the risk, the gap ``1 - w``, and the absolute error of w.

    The error is the size of one more step, plus its difference from the step of a coarser rule.
    """
    gap = 1 - w

    def compute_step(**rule: int) -> tuple[Array, Array]:
        """Return the Newton step and the risk."""
        bias, c, bias_w, c_w, shrunk, _ = query_means(dim, w, n, **rule)
        # `shrunk` is E r^2 C / d. The slope has the term 2 (w - 1) kept, which `bias_w` has with the rounding
        # of w. So it is taken out, and put back with the gap.
        kept = 1 - shrunk
        rest = bias_w + variance * c_w - 2 * (w - 1) * kept
        return (rest - 2 * gap * kept) / curvature, bias + variance * c

    # with k right digits of the curvature, each step adds about k digits to w
    for _ in range(3):
        move, _ = compute_step()
        near_one = w > 0.5
        gap, w = gap + move, w - move
        # above 1/2 the gap has the smaller rounding error, and w is computed from it
        gap, w = np.where(near_one, gap, 1 - w), np.where(near_one, 1 - gap, w)
    move, risk = compute_step()
    coarse_move, _ = compute_step(**_COARSE)
    return w, risk, gap, np.abs(move) + np.abs(coarse_move - move)
