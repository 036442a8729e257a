r"""Moments of the softmax weights of Gaussian scores.

Given the query, the scores of n tokens are ``tau g_i`` with independent standard normal g_i. The risk needs
two moments of the weights ``omega_i = exp(tau g_i) / S``, ``S = sum_j exp(tau g_j)``. With
``p_k = sum_i omega_i^k`` they are ::

    C = E p_2,   D = E p_3 - E p_2^2.

Derivation. ``S^-k = int_0^inf s^(k-1) exp(-s S) ds / (k-1)!`` makes the tokens independent. With u = log s,
``z = exp(u + tau g)``, ``M_k(u) = E z^k exp(-z)`` and ``phi(u) = E exp(-z)``, ::

    E p_2 = n int M_2 phi^(n-1) du,   E p_3 = n int M_3 phi^(n-1) du / 2,
    E p_2^2 = n int M_4 phi^(n-1) du / 6 + n (n-1) int M_2^2 phi^(n-2) du / 6,

so n is only an exponent, and the means over one token are computed once for all n. All integrands are
analytic and decay fast: the trapezoidal rule on one lattice of u and ``x = log z`` is exact to rounding. In
tau, ``log C`` and ``D / C`` are Chebyshev polynomials on panels, each computed when it is first needed.

Means over the query. In the setting of `icl.risk.gaussian` the query has the length r, whose law is the chi
law of d dimensions. The window parameter is w, so that ``tau = w r``, and functions are linear with the slope
L.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import gammaln

from icl.risk.numerics.quadrature import gauss_panels
from icl.tasks.base import Array

# one lattice of u serves contexts up to the first length, and a larger, slower one those up to the second
_REACH = (1e12, 1e30)
MAX_TOKENS = _REACH[-1]

# this step of the lattice resolves exp(-exp(x)), which turns on a scale of one
_STEP = 0.22
# a panel in tau has this many Chebyshev nodes
_NODES = 28
# the Gauss rule on each panel of r has this many nodes
ORDER = 18


def edges(max_tau: float) -> Array:
    """Return the edges of the panels in tau, the last above ``max_tau``: steps of one to 10, then of 10 %.

    >>> edges(11.5)[-3:].round(2)
    array([11.  , 12.1 , 13.31])
    """
    last = 11 + math.ceil(math.log(max(max_tau, 10.0) / 10) / math.log(1.1))
    return np.array([k if k < 10 else 10 * 1.1 ** (k - 10) for k in range(last + 1)])


def weight_moments(tau: Array, n: float, drop: int = 0) -> Array:
    """Compute the moments of the weights of n tokens, at most `MAX_TOKENS`, and their derivatives in tau.

    ``tau`` are standard deviations of the scores, shape (k,); ``drop`` Chebyshev coefficients are left out,
    to see what they change. The result is C, D, dC/dtau and dD/dtau, shape (4, k); relative error of C, and
    error of D / C, below 1e-12.

    >>> weight_moments(np.array([0.0]), 10)[:2, 0].round(12) + 0.0  # equal weights: 1 / n and nothing
    array([0.1, 0. ])
    """
    # a single token has weight one
    if n == 1:
        return np.array([[1.0], [0.0], [0.0], [0.0]]) * np.ones_like(tau)
    edge = edges(float(np.max(tau, initial=0.0)))
    panel = np.searchsorted(edge, tau, side="right") - 1
    out = np.empty((4, tau.size))
    for k in np.unique(panel):
        on_panel = panel == k
        y, slope = _position(tau[on_panel], float(edge[k]), float(edge[k + 1]))
        used = _NODES - drop
        # `ratio` is D / C, and the ending _y is a derivative in the position y
        basis = np.polynomial.chebyshev.chebvander(y, used - 1)
        log_c, ratio, log_c_y, ratio_y = (basis @ _series(n, int(k))[:used]).T
        c = np.exp(log_c)
        c_slope = c * log_c_y * slope
        out[:, on_panel] = c, ratio * c, c_slope, ratio_y * slope * c + ratio * c_slope
    return out


def query_means(dim: int, w: Array, n: Array, order: int = ORDER, drop: int = 0) -> Array:
    """Compute means over the query for L = 1, by Gauss rules on the panels on which C and D are polynomials.

    ``w`` and ``n`` have shape (k,); ``order`` is the number of nodes on each panel of r, and ``drop``
    coefficients are left out, as in `weight_moments`. The result has the means of bias, of C, which is
    noise / sigma^2, of their derivatives in w, of ``r^2 C / d`` and of ``r^2 (C - 6 D) / d``, shape (6, k).

    >>> query_means(5, np.array([0.0]), np.array([10.0]))[:2, 0].round(12)  # 1 + 1 / n and 1 / n
    array([1.1, 0.1])
    """
    out = np.empty((6, w.size))
    for length in np.unique(n):
        of_length = n == length
        values, back = np.unique(w[of_length], return_inverse=True)
        out[:, of_length] = _query_means(dim, values, float(length), order, drop)[:, back]
    return out


def _query_means(dim: int, w: Array, n: float, order: int, drop: int) -> Array:
    """Return what `query_means` does, for one context length."""
    # The chi law is narrower than the normal law around its mode, about sqrt(d), so that beyond this distance
    # it leaves at most exp(-34) / n. The means are at least of order 1 / n, as C is.
    tail = math.sqrt(2 * (math.log(n) + 34))
    low, high = max(0.0, math.sqrt(dim) - tail), math.sqrt(dim) + tail
    rules, starts = [], [0]
    for value in w:
        # the edges in tau = value r, as values of r; for a tiny w none but zero is below `high`
        moment_edges = edges(value * high) / value if value > 1e-150 else np.empty(0)
        # the chi law changes on a scale of one; for a larger w the panels of the moments are short enough
        law_edges = np.arange(low, high, 2.0) if value < 0.5 else np.empty(0)
        edge = np.unique(np.concatenate([[low, high], law_edges, moment_edges]))
        rules.append(gauss_panels(edge[(edge >= low) & (edge <= high)], order))
        starts.append(starts[-1] + rules[-1][0].size)
    r, weight = np.concatenate(rules, axis=1)
    log_density = (dim - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - dim / 2) - gammaln(dim / 2)
    p = weight * np.exp(log_density)
    # from here on all arrays run over the nodes of all rules, one after the other; p are their probabilities
    w = np.repeat(w, np.diff(starts))
    c, d, c_tau, d_tau = weight_moments(w * r, n, drop)
    # the ending _tau is a derivative in tau, and _w one in w; `icl.risk.gaussian` derives the bias
    square, c_w, d_w = r * r / dim, r * c_tau, r * d_tau
    rows = np.stack(
        [
            square * ((w - 1) ** 2 + w * (2 - w) * c - 6 * w * w * d) + c,
            c,
            square * (2 * (w - 1) * (1 - c) + w * (2 - w) * c_w - 12 * w * d - 6 * w * w * d_w)
            + c_w,
            c_w,
            square * c,
            square * (c - 6 * d),
        ]
    )
    return np.add.reduceat(rows * p, starts[:-1], axis=1)


def _position(tau: Array, low: float, high: float) -> tuple[Array, Array]:
    """Return the position in the panel from low to high, -1 to 1, and its derivative in tau."""
    # C and D are even in tau, so that polynomials in tau^2 are shorter on the panel at zero
    if low == 0:
        return 2 * (tau / high) ** 2 - 1, 4 * tau / high**2
    return (2 * tau - low - high) / (high - low), np.full_like(tau, 2 / (high - low))


@lru_cache(maxsize=8192)
def _series(n: float, panel: int) -> Array:
    """Return Chebyshev coefficients on a panel, shape (_NODES, 4).

    Those of log C and of D / C come first, and then those of their derivatives in the position.
    """
    width, *means = _means(panel, next(reach for reach in _REACH if n <= reach))
    # means[0] is log phi, (_NODES, u). It falls in u, so that terms from `last` on vanish.
    last = np.count_nonzero((n - 2) * means[0].max(0) > -50)
    log_phi, m2, diagonal, pair = (mean[:, :last] for mean in means)
    # the integrals of the module's docstring as sums over u; `diagonal` and `pair` are the terms of D
    power = width * n * np.exp((n - 1) * log_phi)
    c = np.sum(power * m2, -1)
    d = np.sum(power * (diagonal - (n - 1) * pair), -1)
    # rows are coefficients of values and then of slopes, columns log C and D / C
    fitted: Array = _fit() @ np.stack([np.log(c), d / c], -1)
    return fitted.reshape(2, _NODES, 2).swapaxes(0, 1).reshape(_NODES, 4)


@lru_cache(maxsize=1)
def _fit() -> Array:
    """Return the matrix from values at `_points` to coefficients, above that to those of the derivative."""
    # the derivative has one coefficient less, here a zero
    fit = np.linalg.inv(np.polynomial.chebyshev.chebvander(_points(), _NODES - 1))
    return np.concatenate([fit, np.polynomial.chebyshev.chebder(fit), np.zeros((1, _NODES))])


def _points() -> Array:
    return -np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))


@lru_cache(maxsize=256)
def _means(panel: int, reach: float) -> tuple[float, Array, Array, Array, Array]:
    """Return the step of u, and the functions of u at the nodes of a panel in tau, of shape (_NODES, u).

    These are log phi, M_2, and the terms ``M_3 / 2 - M_4 / 6`` and ``M_2^2 / (6 phi)`` of D. They do not
    depend on n. u runs over all values that 2 to ``reach`` tokens need: from where ``s S`` is below e^-16
    for the largest sum S to where it is above e^4.5 for the smallest, but for a probability of 1e-16.
    """
    log_n = math.log(reach)
    # the first argument makes `edges` go up to the end of this panel
    low, high = edges(0.0 if panel < 10 else 10 * 1.1 ** (panel - 9))[panel : panel + 2]
    # these are the inverse of `_position` at the Chebyshev points
    taus = (
        high * np.sqrt((1 + _points()) / 2)
        if low == 0
        else (low + high + (high - low) * _points()) / 2
    )
    # consecutive u are this many steps of the lattice apart, because functions of u vary on the scale of tau
    skip = max(1, round(high / 10))
    # The largest score exceeds sqrt(2 (log n + 37)) tau with a probability of exp(-37) at most.
    # log S is at most about that, or log E S = log n + tau^2 / 2 where that is larger and tokens still share
    # S.
    largest = max(
        log_n + high**2 / 2 if high**2 < 2 * log_n else 0.0, math.sqrt(2 * (log_n + 37)) * high
    )
    # exp(-z) is one below this lattice, even to the power of n, and zero above it
    x = np.arange(-round((log_n + 32) / _STEP), round(4.4 / _STEP) + 1)
    # two scores are below -6 tau with a probability of 1e-18
    u = np.arange(
        -math.ceil((largest + 16) / _STEP), math.ceil((4.5 + 6 * high) / _STEP) + skip, skip
    )
    log_phi, m2, m3, m4 = np.stack([_smooth(u, x, float(tau), skip) for tau in taus], 1)
    return skip * _STEP, log_phi, m2, m3 / 2 - m4 / 6, m2 * m2 * np.exp(-log_phi) / 6


def _smooth(u: NDArray[np.int_], x: NDArray[np.int_], tau: float, skip: int) -> Array:
    """Return log phi, M_2, M_3 and M_4 at one tau, shape (4, u); ``u`` and ``x`` count lattice steps.

    A token has ``z = e^x`` with ``x = u + tau g`` and normal g. The mean of h(z) at u is a trapezoid rule on
    the lattice of x: the sum of ``h(e^x)`` times the density of ``tau g`` at the lag ``x - u``. Row k of
    ``windows`` is that density at the lags of u[k]. Below the lattice exp(-z) is one, so that the probability
    ``before`` it belongs to phi; above it exp(-z) is zero, and the probability ``after`` belongs to 1 - phi.
    """
    # all scores are zero, and z is at most exp(6), because the caller divides by phi
    if tau == 0:
        z = np.exp(np.minimum(u * _STEP, 6.0))
        return np.stack([-z, *(z**k * np.exp(-z) for k in (2, 3, 4))])
    # the normal density needs two nodes per standard deviation tau
    fine = max(1, math.ceil(2 * _STEP / tau))
    # the lattice of x is ``fine`` times as fine as that of u; `dead` is 1 - exp(-z) and `alive` is exp(-z)
    x = np.arange(x[0] * fine, x[-1] * fine + 1)
    z = np.exp(x * (_STEP / fine))
    dead, alive = -np.expm1(-z), np.exp(-z)
    # the density covers all lags that any u needs, and 12 standard deviations beyond on each side
    margin = math.ceil(12 * tau * fine / _STEP)
    lags = np.arange(x[0] - u[-1] * fine - margin, x[-1] - u[0] * fine + margin + 1)
    step = _STEP / fine / tau
    density = np.exp(-0.5 * (lags * step) ** 2) * (step / math.sqrt(2 * math.pi))
    # a larger u has smaller lags, so that the windows, one for each u, are reversed
    windows = sliding_window_view(density[margin : density.size - margin], x.size)[:: skip * fine][
        ::-1
    ]
    # the window of u begins at this index
    begin = margin + (u[-1] - u) * fine
    before = np.concatenate([[0.0], np.cumsum(density)])[begin]
    after = np.cumsum(density[::-1])[::-1][begin + x.size]
    rows = np.ascontiguousarray(windows) @ np.stack(
        [alive, dead, *(z**k * alive for k in (2, 3, 4))], -1
    )
    phi, missed = rows[:, 0] + before, rows[:, 1] + after
    # the smaller of phi and 1 - phi has the smaller error
    log_phi = np.where(
        missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(np.maximum(phi, 1e-300))
    )
    return np.stack([log_phi, *rows[:, 2:].T])
