r"""Moments of the softmax weights of Gaussian scores, and their means over the query.

Given the query, the scores of n tokens are ``tau g_i`` with independent standard normal g_i. The weights are
``omega_i = exp(tau g_i) / S`` with ``S = sum_j exp(tau g_j)``. The risk needs two moments of the weights.
With ``p_k = sum_i omega_i^k`` they are ::

    C = E p_2,   D = E p_3 - E p_2^2.

Derivation. ``S^-k = int_0^inf s^(k-1) exp(-s S) ds / (k-1)!`` makes the tokens independent. With u = log s,
``z = exp(u + tau g)``, ``M_k(u) = E z^k exp(-z)`` and ``phi(u) = E exp(-z)``, ::

    E p_2 = n int M_2 phi^(n-1) du,   E p_3 = n int M_3 phi^(n-1) du / 2,
    E p_2^2 = n int M_4 phi^(n-1) du / 6 + n (n-1) int M_2^2 phi^(n-2) du / 6.

So n is only an exponent, and the means over one token are computed once for all n. All integrands are
analytic and decay fast, so that trapezoid rules are exact to rounding. Their nodes in u and in ``x = log z``
lie on one lattice. On panels in tau, Chebyshev polynomials interpolate ``log C`` and ``D / C``. The
polynomials of a panel are computed when they are first needed.

Means over the query. In the setting of `icl.risk.gaussian` the query has the length r, whose law is the chi
law of d dimensions. With the window parameter w the scores have ``tau = w r``.
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

# one lattice of u serves contexts up to the first length; a larger and slower one serves those up to the
# second
_REACH = (1e12, 1e30)
MAX_TOKENS = _REACH[-1]

# this step of the lattice resolves exp(-exp(x)), which falls from one to zero over a range of about one
_STEP = 0.22
# a panel in tau has this many Chebyshev nodes
_NODES = 28
# the Gauss rule on each panel of r has this many nodes
ORDER = 18


def edges(max_tau: float) -> Array:
    """Return the edges of the panels in tau, from 0 to an edge above ``max_tau``.

    Up to 10 the panels have the length one. Beyond 10 each edge is 1.1 times the edge before.

    >>> edges(11.5)[-3:].round(2)
    array([11.  , 12.1 , 13.31])
    """
    # Edge number 10 is at 10. Edge number `last - 1` is at or above `max_tau`, so that the last one is above.
    last = 11 + math.ceil(math.log(max(max_tau, 10.0) / 10) / math.log(1.1))
    return np.array([k if k < 10 else 10 * 1.1 ** (k - 10) for k in range(last + 1)])


def weight_moments(tau: Array, n: float, drop: int = 0) -> Array:
    """Compute the moments of the weights of n tokens, at most `MAX_TOKENS`, and their derivatives in tau.

    ``tau``, (k,), has standard deviations of the scores. The last ``drop`` Chebyshev coefficients are left
    out, to see what they change. The rows of the result, (4, k), are C, D, dC/dtau and dD/dtau. The relative
    error of C and the absolute error of D / C are below 1e-12.

    >>> weight_moments(np.array([0.0]), 10)[:2, 0].round(12) + 0.0  # equal weights: 1 / n and nothing
    array([0.1, 0. ])
    """
    # a single token has weight one, so that C is one and D is zero
    if n == 1:
        return np.array([[1.0], [0.0], [0.0], [0.0]]) * np.ones_like(tau)
    edge = edges(float(np.max(tau, initial=0.0)))
    panel = np.searchsorted(edge, tau, side="right") - 1
    out = np.empty((4, tau.size))
    for k in np.unique(panel):
        on_panel = panel == k
        y, slope = _position(tau[on_panel], float(edge[k]), float(edge[k + 1]))
        used = _NODES - drop
        # `ratio` is D / C, y is the position on the panel, `slope` is dy / dtau, and names that end in _y are
        # derivatives in y
        basis = np.polynomial.chebyshev.chebvander(y, used - 1)
        log_c, ratio, log_c_y, ratio_y = (basis @ _series(n, int(k))[:used]).T
        c = np.exp(log_c)
        c_slope = c * log_c_y * slope
        out[:, on_panel] = c, ratio * c, c_slope, ratio_y * slope * c + ratio * c_slope
    return out


def query_means(dim: int, w: Array, n: Array, order: int = ORDER, drop: int = 0) -> Array:
    """Compute six means over the query, for functions ``beta . x`` with ``E |beta|^2 = 1``.

    ``w`` and ``n`` have shape (k,). The rows of the result, (6, k), are the means of

    - the bias given the query, and C, which is noise / sigma^2,
    - the derivatives of the bias and of C in w,
    - ``r^2 C / d`` and ``r^2 (C - 6 D) / d``.

    Each mean is a Gauss rule with ``order`` nodes on each panel of r. ``drop`` is that of `weight_moments`.

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
    # The mode of the chi law is about sqrt(d). From there the law falls faster than a normal law of variance
    # one. So r is farther from sqrt(d) than `tail` with a probability of at most exp(-34) / n. This is
    # negligible, because the means of the bias and of C are at least about 1 / n.
    tail = math.sqrt(2 * (math.log(n) + 34))
    low, high = max(0.0, math.sqrt(dim) - tail), math.sqrt(dim) + tail
    rules, starts = [], [0]
    for value in w:
        # these are edges in tau = w r, divided by w; for a tiny w all edges except zero are above `high`
        moment_edges = edges(value * high) / value if value > 1e-150 else np.empty(0)
        # The chi law needs panels of about the length 2. For a larger w the panels of the moments are short
        # enough: at r they are as long as the larger of 1 / w and r / 10, and in 1,000 dimensions r / 10 is
        # about 3.
        law_edges = np.arange(low, high, 2.0) if value < 0.5 else np.empty(0)
        edge = np.unique(np.concatenate([[low, high], law_edges, moment_edges]))
        rules.append(gauss_panels(edge[(edge >= low) & (edge <= high)], order))
        starts.append(starts[-1] + rules[-1][0].size)
    r, weight = np.concatenate(rules, axis=1)
    log_density = (dim - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - dim / 2) - gammaln(dim / 2)
    # p has the probabilities of the nodes; from here on all arrays have the nodes of all w, one w after
    # another
    p = weight * np.exp(log_density)
    w = np.repeat(w, np.diff(starts))
    c, d, c_tau, d_tau = weight_moments(w * r, n, drop)
    # names that end in _tau and _w are derivatives in tau and in w, and tau is w r
    c_w, d_w = r * c_tau, r * d_tau
    square = r * r / dim
    # the first row is the bias of `icl.risk.gaussian`, and the third row its derivative in w
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
    """Return the position of tau on the panel from low to high, -1 to 1, and its derivative in tau."""
    # C and D are even functions of tau, so that on the first panel the position is linear in tau^2
    if low == 0:
        return 2 * (tau / high) ** 2 - 1, 4 * tau / high**2
    return (2 * tau - low - high) / (high - low), np.full_like(tau, 2 / (high - low))


@lru_cache(maxsize=8192)
def _series(n: float, panel: int) -> Array:
    """Return Chebyshev coefficients of four functions of the position on a panel, shape (_NODES, 4).

    The functions are log C, D / C, the derivative of log C and the derivative of D / C.
    """
    width, *means = _means(panel, next(reach for reach in _REACH if n <= reach))
    # means[0] is log phi, (_NODES, u), which falls in u. So the terms of the sums over u vanish from `last`
    # on.
    last = np.count_nonzero((n - 2) * means[0].max(0) > -50)
    log_phi, m2, diagonal, pair = (mean[:, :last] for mean in means)
    # the integrals over u of the module's docstring are sums; `_means` defines `diagonal` and `pair`
    power = width * n * np.exp((n - 1) * log_phi)
    c = np.sum(power * m2, -1)
    d = np.sum(power * (diagonal - (n - 1) * pair), -1)
    # The columns are log C and D / C. The first _NODES rows are their coefficients, and the other rows are
    # the coefficients of their derivatives.
    fitted: Array = _fit() @ np.stack([np.log(c), d / c], -1)
    return fitted.reshape(2, _NODES, 2).swapaxes(0, 1).reshape(_NODES, 4)


@lru_cache(maxsize=1)
def _fit() -> Array:
    """Return the matrix that maps values at `_points` to Chebyshev coefficients, shape (2 _NODES, _NODES).

    The first _NODES rows give the coefficients of the function, and the others those of its derivative.
    """
    fit = np.linalg.inv(np.polynomial.chebyshev.chebvander(_points(), _NODES - 1))
    # the derivative has one coefficient less, so that a row of zeros is added
    return np.concatenate([fit, np.polynomial.chebyshev.chebder(fit), np.zeros((1, _NODES))])


def _points() -> Array:
    """Return the positions of the Chebyshev nodes on a panel, from -1 to 1."""
    return -np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))


@lru_cache(maxsize=256)
def _means(panel: int, reach: float) -> tuple[float, Array, Array, Array, Array]:
    """Return the step of u, and four functions of u at the nodes of a panel in tau, each (_NODES, u).

    The functions are log phi, M_2, ``diagonal = M_3 / 2 - M_4 / 6`` and ``pair = M_2^2 / (6 phi)``. They do
    not depend on n. D is ``n int phi^(n-1) (diagonal - (n-1) pair) du``.

    The range of u is enough for 2 to ``reach`` tokens. With s = exp(u), the product ``s S`` is below e^-16 at
    the lower end for the largest S, and above e^4.5 at the upper end for the smallest S. There the
    integrands are negligible, because they fall like ``(s S)^2`` for small s S, and like ``exp(-s S)`` for
    large s S. Still larger or smaller S have a probability of about 1e-16.
    """
    log_n = math.log(reach)
    # `edges` gets a tau of this panel, so that its result includes both ends of the panel
    low, high = edges(0.0 if panel < 10 else 10 * 1.1 ** (panel - 9))[panel : panel + 2]
    # these are the tau whose `_position` are the Chebyshev nodes
    taus = (
        high * np.sqrt((1 + _points()) / 2)
        if low == 0
        else (low + high + (high - low) * _points()) / 2
    )
    # neighboring u are this many steps of the lattice apart: for a large tau the functions of u vary slowly
    skip = max(1, round(high / 10))
    # `largest` is about the largest log S. If a single token dominates S, log S is about the largest score,
    # which exceeds sqrt(2 (log n + 37)) tau with a probability of at most exp(-37).
    largest = math.sqrt(2 * (log_n + 37)) * high
    # if tau^2 < 2 log n, many tokens share S, and log S is about log E S
    if high**2 < 2 * log_n:
        largest = max(log_n + high**2 / 2, largest)
    # below this range of x the power exp(-z)^n is one, and above it exp(-z) is zero
    x = np.arange(-round((log_n + 32) / _STEP), round(4.4 / _STEP) + 1)
    # the larger of two scores is below -6 tau with a probability of 1e-18
    u = np.arange(
        -math.ceil((largest + 16) / _STEP), math.ceil((4.5 + 6 * high) / _STEP) + skip, skip
    )
    log_phi, m2, m3, m4 = np.stack([_smooth(u, x, float(tau), skip) for tau in taus], 1)
    return skip * _STEP, log_phi, m2, m3 / 2 - m4 / 6, m2 * m2 * np.exp(-log_phi) / 6


def _smooth(u: NDArray[np.int_], x: NDArray[np.int_], tau: float, skip: int) -> Array:
    """Return log phi, M_2, M_3 and M_4 at one tau, shape (4, u).

    ``u`` and ``x`` are numbers of lattice steps. A token has ``z = e^x`` with ``x = u + tau g`` and normal g.
    The mean of h(z) at u is a trapezoid rule: the sum over x of ``h(e^x)`` times the density of ``tau g`` at
    the *lag* ``x - u``.

    For smaller x than those of the lattice exp(-z) is one, and their probability ``before`` is added to phi.
    For larger x exp(-z) is zero, and their probability ``after`` is added to 1 - phi.
    """
    # At tau = 0 all scores are zero. The minimum keeps phi above zero, because the caller divides by phi.
    if tau == 0:
        z = np.exp(np.minimum(u * _STEP, 6.0))
        return np.stack([-z, *(z**k * np.exp(-z) for k in (2, 3, 4))])
    # the lattice of x is made `fine` times finer, because the density needs two nodes per standard deviation
    # tau
    fine = max(1, math.ceil(2 * _STEP / tau))
    x = np.arange(x[0] * fine, x[-1] * fine + 1)
    z = np.exp(x * (_STEP / fine))
    # these are exp(-z) and 1 - exp(-z)
    decay, lost = np.exp(-z), -np.expm1(-z)
    # the density covers all lags that any u needs, and 12 standard deviations beyond on each side
    margin = math.ceil(12 * tau * fine / _STEP)
    lags = np.arange(x[0] - u[-1] * fine - margin, x[-1] - u[0] * fine + margin + 1)
    step = _STEP / fine / tau
    density = np.exp(-0.5 * (lags * step) ** 2) * (step / math.sqrt(2 * math.pi))
    # each row of `windows` is the density at the lags x - u for one u
    windows = sliding_window_view(density[margin : density.size - margin], x.size)[:: skip * fine]
    # a larger u has smaller lags, so that the order of the rows is reversed
    windows = windows[::-1]
    # the row of u begins at this index of the density
    begin = margin + (u[-1] - u) * fine
    before = np.concatenate([[0.0], np.cumsum(density)])[begin]
    after = np.cumsum(density[::-1])[::-1][begin + x.size]
    rows = np.ascontiguousarray(windows) @ np.stack(
        [decay, lost, *(z**k * decay for k in (2, 3, 4))], -1
    )
    phi, missed = rows[:, 0] + before, rows[:, 1] + after
    # log phi is computed from the smaller of phi and 1 - phi, which has the smaller rounding error
    log_phi = np.where(
        missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(np.maximum(phi, 1e-300))
    )
    return np.stack([log_phi, *rows[:, 2:].T])
