r"""The population risk of softmax attention on Gaussian tokens, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent N(0, I_d), functions are linear,
``f(x) = beta . x`` with ``E beta beta' = (L^2 / d) I_d``, label noise has variance sigma^2, and ``M = w I``.
The query is not in the denominator. Given the query, of length r, the scores are N(0, tau^2) with
``tau = w r``, and the tokens' components orthogonal to the query do not depend on them.

Derivation. Let omega_i be the weights, s_i the scores, and ``C = E sum omega_i^2``,
``D = E sum omega_i^3 - E (sum omega_i^2)^2``. Stein's identity, used once and three times, gives
``E sum omega_i s_i = tau^2 (1 - C)`` and ``E (sum omega_i s_i)^2 = tau^4 (1 - C - 6 D) + tau^2 C``. Given r,

    bias = (L^2 / d) (r^2 ((w - 1)^2 + w (2 - w) C - 6 w^2 D) + d C),   noise = sigma^2 C,

and both are averaged over the chi law of r by `icl.risk.gaussian_moments.query_means`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebder, chebval
from numpy.typing import ArrayLike

from icl.checks import broadcast, integer, real, reals
from icl.risk.exact import Risk
from icl.risk.gaussian_moments import MOST_TOKENS, ORDER, query_means
from icl.tasks.base import LEAST, MOST, Array

MOST_W = 100.0  # beyond, the parts of the bias cancel to fewer than ten digits
_MOST_DIM = 1000
_COARSE = {"order": 12, "drop": 2}  # the second rule, which says how large errors are
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class GaussianWindow:
    """The minimizer of the population risk over w on Gaussian tokens.

    Attributes:
        w: Optimal window parameter; 0 for a single token, for which none matters.
        risk: The risk there.
        gap: ``1 - w``, with its own digits where it is far below the rounding of w.
        error: Estimated relative error of w: what a coarser rule for the slope changes, and rounding.
        gap_error: Estimated relative error of ``gap``, the same way.

    All are arrays of the broadcast shape of ``n`` and ``noise_std`` (scalars if both were).
    """

    w: Array
    risk: Array
    gap: Array
    error: Array
    gap_error: Array


@dataclass(frozen=True)
class GaussianValue:
    """The best multiple of the prediction, the corner of W_V, at a given window.

    Attributes:
        scale: The best factor v of ``sum_i omega_i y_i``.
        risk: The risk there.
        error: Estimated relative error of both: what a coarser rule changes, and rounding.
    """

    scale: Array
    risk: Array
    error: Array


def gaussian_risk(dim: int, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike, lipschitz: float = 1.0) -> Risk:
    """Compute the exact population risk of the attention unit ``M = w I`` on Gaussian tokens.

    Tokens and query are N(0, I_d), functions are ``f(x) = beta . x`` with ``E |beta|^2 = lipschitz^2``.

    Args:
        dim: Dimension d, 1 to 1000.
        w: Window parameter, 0 to 100; weights are proportional to ``exp(w x_i . x_q)``.
        n: Context length, 1 to 1e30; the cost does not grow with it.
        noise_std: Standard deviation sigma of the label noise, >= 0.
        lipschitz: Root mean square L of the slope ``|beta|``, > 0.

    Returns:
        The risk and its derivative in w; ``w``, ``n`` and ``noise_std`` broadcast.

    Raises:
        ValueError: If an argument is out of range, or shapes do not broadcast.

    >>> risk = gaussian_risk(5, w=3.0, n=1, noise_std=0.5)
    >>> round(float(risk.bias), 12)  # one token has all weight: E (beta . (x - x_q))^2 = 2 L^2
    2.0
    """
    dim, square, (w, n, noise_std) = check_gaussian(dim, lipschitz, w, n, noise_std)
    flat_w, flat_n = w.ravel(), n.ravel()
    out = np.empty((5, w.size))
    for length in np.unique(flat_n):
        here = flat_n == length
        values, back = np.unique(flat_w[here], return_inverse=True)
        fine = query_means(dim, values, float(length))[:4]
        coarse = query_means(dim, values, float(length), **_COARSE)[:2]
        error = np.max(np.abs(coarse / fine[:2] - 1), axis=0, initial=_EPS)
        out[:, here] = np.concatenate([fine, error[None]])[:, back]
    bias, noise, bias_w, noise_w, error = out.reshape(5, *w.shape)
    variance = noise_std**2
    rows = (square * bias, variance * noise, square * bias_w, variance * noise_w, error)
    return Risk(*(row[()] for row in rows))


def gaussian_window(dim: int, n: ArrayLike, noise_std: ArrayLike, lipschitz: float = 1.0) -> GaussianWindow:
    """Find the window parameter w with the smallest population risk on Gaussian tokens.

    The exact derivative is scanned upwards in w with a ratio of at most 1.3, every minimum met is refined and
    the best one wins. The scan stops where ``(sigma^2 + L^2 (d - 1) / d) E C`` exceeds the best risk: the
    risk is at least that, and C never falls in w. In one dimension with hardly any noise it stops at w = 10.

    Args:
        dim: Dimension d, 1 to 1000.
        n: Context length, 1 to 1e30.
        noise_std: Standard deviation sigma of the label noise, >= 0.
        lipschitz: Root mean square L of the slope, > 0.

    Returns:
        The optimal window and its risk; ``n`` and ``noise_std`` broadcast.

    Raises:
        ValueError: If an argument is out of range, shapes do not broadcast, or the risk falls up to w = 10.

    >>> d, sigma, n = 5, 0.5, [100, 10**6]
    >>> best = gaussian_window(d, n, sigma)
    >>> best.w.round(3)  # it does not grow without end
    array([0.8  , 0.991])
    >>> gaussian_risk(d, best.w, n, sigma).slope.round(9) + 0.0
    array([0., 0.])
    >>> gaussian_value(d, (d + 2) ** -0.5, n, sigma).risk < best.risk  # a value scale helps
    array([ True,  True])
    """
    dim, square, (n, noise_std) = check_gaussian(dim, lipschitz, n=n, noise_std=noise_std)
    settings = zip(n.ravel(), noise_std.ravel() ** 2 / square, strict=True)
    found = np.array([_minimum(dim, float(length), float(ratio)) for length, ratio in settings])
    w, risk, *rest = np.moveaxis(found.reshape(*n.shape, 5), -1, 0)
    return GaussianWindow(w[()], (square * risk)[()], *(row[()] for row in rest))


def gaussian_value(
    dim: int, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike, lipschitz: float = 1.0
) -> GaussianValue:
    """Compute the best factor v of the prediction ``v sum_i omega_i y_i`` on Gaussian tokens, in closed form.

    The risk is a parabola in v. Its minimum is at ``E f(x_q) h / E h^2`` with h the prediction for v = 1. For
    ``w^2 = 1 / (d + 2)`` and large n it is ``(1 + 2 / d)^(d / 2 + 1)`` times the risk of linear attention.

    Args:
        dim: Dimension d, 1 to 1000.
        w: Window parameter, 0 to 100.
        n: Context length, 1 to 1e30.
        noise_std: Standard deviation sigma of the label noise, >= 0.
        lipschitz: Root mean square L of the slope, > 0.

    Returns:
        The factor and its risk; ``w``, ``n`` and ``noise_std`` broadcast.

    Raises:
        ValueError: If an argument is out of range, or shapes do not broadcast.
    """
    dim, square, (w, n, noise_std) = check_gaussian(dim, lipschitz, w, n, noise_std)
    flat_w, flat_n, variance = w.ravel(), n.ravel(), noise_std.ravel() ** 2 / square
    scale, risk, error = np.empty((3, w.size))
    for length in np.unique(flat_n):
        here = flat_n == length
        fine, coarse = (
            _best_scale(flat_w[here], variance[here], query_means(dim, flat_w[here], float(length), **rule))
            for rule in ({}, _COARSE)
        )
        scale[here], risk[here] = fine
        changes = np.abs(coarse - fine) / np.maximum(fine, np.finfo(float).tiny)
        error[here] = np.max(changes, axis=0, initial=_EPS)
    return GaussianValue(*(row.reshape(w.shape)[()] for row in (scale, square * risk, error)))


def _best_scale(w: Array, variance: Array, rows: Array) -> Array:
    """Return the best factor and its risk for L = 1, shape (2, w), from `query_means`."""
    c, shrunk, spread = rows[[1, 4, 5]]
    signal = w * (1 - shrunk)  # E f(x_q) h
    # E h^2 - (E f(x_q) h)^2, written so that nothing cancels
    excess = w**2 * (spread - shrunk**2) + (1 + variance) * c
    power = signal**2 + excess
    return np.stack([signal / power, excess / power])


def check_gaussian(
    dim: int, lipschitz: float, w: ArrayLike | None = None, n: ArrayLike = 1, noise_std: ArrayLike = 0
) -> tuple[int, float, tuple[Array, ...]]:
    """Check the arguments of a risk on Gaussian tokens and broadcast them.

    Args:
        dim: Dimension d, 1 to 1000.
        lipschitz: Root mean square L of the slope, > 0.
        w: Window parameter, 0 to 100; None where there is none.
        n: Context length, whole, 1 to 1e30.
        noise_std: Noise standard deviation, >= 0.

    Returns:
        dim, L^2, and w (where given), n and noise_std as float64 arrays of one shape.

    Raises:
        ValueError: For the first number out of range, and for shapes that do not broadcast.
    """
    dim, scale = integer(dim, "dim", 1, _MOST_DIM), real(lipschitz, "lipschitz", LEAST, MOST)
    arrays = {} if w is None else {"w": reals(w, "w", 0, MOST_W)}
    arrays |= {
        "n": reals(n, "n", 1, MOST_TOKENS, whole=True),
        "noise_std": reals(noise_std, "noise_std", 0, MOST),
    }
    return dim, scale**2, broadcast(**arrays)


def _minimum(dim: int, n: float, variance: float) -> tuple[float, ...]:
    """Return the fields of `GaussianWindow` for L = 1."""
    if n == 1:
        return 0.0, 2.0 + variance, 1.0, _EPS, _EPS

    def curve(w: Array, order: int = ORDER) -> tuple[Array, Array, Array]:
        """Return risk, slope and the part of the risk that never falls."""
        bias, c, bias_w, c_w = query_means(dim, w, n, order)[:4]
        return bias + variance * c, bias_w + variance * c_w, (variance + 1 - 1 / dim) * c

    # Where tau is small the risk is that of linear attention, a parabola with its minimum at ``first``.
    first = n / (n + dim * (1 + variance))
    lower, upper = 0.2 * first / max(1.0, 0.3 * math.sqrt(dim) * first), 1.25
    best_w, best_risk, steepness = 0.0, math.inf, 1.0
    while True:
        grid = np.geomspace(lower, upper, math.ceil(math.log(upper / lower) / math.log(1.3)) + 1)
        _, slope, floor = curve(grid, 8)  # signs need no more nodes
        if slope[0] >= 0 and best_w == 0:  # the search begins below every minimum
            lower, upper = lower / 10, lower
            continue
        for i in np.flatnonzero((slope[:-1] < 0) & (slope[1:] >= 0)):
            w, steep = _root(grid[i], grid[i + 1], curve)
            value = float(curve(np.array([w]))[0][0])
            if value < best_risk:
                best_w, best_risk, steepness = w, value, steep
        if floor[-1] > best_risk or upper >= 10:
            if best_w == 0:
                raise ValueError(f"n={n:g}, dim={dim}: no minimum of the risk found up to w=10")
            w, gap, moved = _polish(dim, n, variance, best_w, steepness)
            return w, best_risk, gap, moved / w + _EPS, moved / max(abs(gap), moved) + _EPS
        lower, upper = upper, min(2 * upper, 10.0)


def _polish(dim: int, n: float, variance: float, w: float, steepness: float) -> tuple[float, float, float]:
    """Return w and ``1 - w`` after Newton steps, and what the last step and a coarser rule move them."""
    gap = 1 - w

    def step(**rule: int) -> float:
        rows = query_means(dim, np.array([w]), n, **rule)[:, 0]
        kept = 1 - rows[4]
        rest = rows[2] + variance * rows[3] - 2 * (w - 1) * kept
        return float(
            (rest - 2 * gap * kept) / steepness
        )  # in the parabola (1 - w)^2 the gap has its own digits

    for _ in range(4):
        move = step()
        gap, w = (gap + move, 1 - (gap + move)) if w > 0.5 else (1 - (w - move), w - move)
    last = step()
    return w, gap, abs(last) + abs(step(**_COARSE) - last)


def _root(
    lower: float, upper: float, curve: Callable[[Array], tuple[Array, Array, Array]]
) -> tuple[float, float]:
    """Return the root of the slope between a falling and a rising end, and the slope's derivative there.

    The slope is a polynomial to 1e-12 there.
    """
    angle = np.pi * (np.arange(14) + 0.5) / 14
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    slope = curve(middle + half * np.cos(angle))[1]
    coefficients = slope @ np.cos(np.outer(angle, np.arange(14))) / 7
    coefficients[0] /= 2
    left, right = -1.0, 1.0
    for _ in range(50):
        between = (left + right) / 2
        left, right = (left, between) if chebval(between, coefficients) > 0 else (between, right)
    return middle + half * between, float(chebval(between, chebder(coefficients))) / half
