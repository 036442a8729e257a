"""The population risk of softmax attention, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent and uniform on the
unit sphere, labels are ``y_i = f(x_i) + eps_i`` with noise of variance sigma^2, and the
attention unit with ``M = w I`` predicts ``sum_i omega_i y_i`` with
``omega_i ~ exp(w x_i . x_q)``; the query is not in the denominator. The risk is the mean
squared distance to the query's label without noise (ITA slides, "(ICL)"), ::

    risk = E (sum_i omega_i y_i - f(x_q))^2 = bias + noise.

Derivation. Since the weights sum to one, the mean over f leaves only the variogram gamma of the class::

    bias = E sum_ij omega_i omega_j G_ij,   G_ij = gamma_iq + gamma_jq - gamma_ij,
    noise = sigma^2 E sum_i omega_i^2.

The weights are ``omega_i = k_i / S`` with ``k_i = exp(-w (1 - x_i . x_q))`` and ``S = sum_j k_j``. The
denominator goes away through ``S^-2 = int_0^inf s exp(-s S) ds``. Given the query, tokens are then
independent, and the n-fold integral is a product. For one token x, let k be its k_i, gamma the variogram of x
and the query, and P_l the Gegenbauer polynomial at x . x_q. With u = log s, z = s k and
``phi(u) = E exp(-z)``, ::

    noise = sigma^2 n int E[z^2 e^-z] phi^(n-1) du,
    bias = n int E[2 gamma z^2 e^-z] phi^(n-1) du
         + n (n-1) int sum_l a_l (E[z (1 - P_l) e^-z])^2 phi^(n-2) du.

The last line expands the covariance in Gegenbauer polynomials with the coefficients a_l. By the addition
theorem the mean over a pair of tokens is then, for each degree l, the square of a mean over one token. Every
term is positive, so that nothing cancels.

The bias has two parts. Given f and the query, the mean prediction over all contexts multiplies degree l of f
by ``m_l = E sum_i omega_i P_l(x_i . x_q)``. *Blur* is the error of this mean prediction. *Scatter* is how
much predictions vary around it, because the examples lie at other places in each context::

    blur = sum_l a_l (1 - m_l)^2,   m_l = n int E[P_l z e^-z] phi^(n-1) du,
    scatter = bias - blur >= 0.

`icl.risk.numerics.integrals` computes the integrals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.covariates import invert_cap_mass
from icl.risk.numerics.integrals import integrate, integrate_blur
from icl.risk.numerics.result import SplitRisk, WindowRisk
from icl.risk.numerics.search import ProblemIndices, lowest
from icl.tasks import Zonal, check_setting, check_task
from icl.tasks.base import Array, cache_by_class, coefficients, computing_once, fine_variance
from icl.tasks.own import require_arrays

# population_risk raises where two quadrature rules differ by more than this share
_TOLERANCE = 1e-7
# optimal_window raises for a larger relative error of the window
_MAX_WINDOW_ERROR = 1e-4
# a search caches integrals for at most this many context lengths
_MAX_CACHED_LENGTHS = 64


@computing_once
def population_risk(task: Zonal, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> WindowRisk:
    """Compute the exact population risk of the attention unit ``M = w I``, and its derivative in w.

    Args:
        task: A rotation-invariant class from `icl.tasks`.
        w: Window parameter, >= 0 (kernel ``exp(w x.x')``, bandwidth ``w**-0.5``).
        n: Context length, >= 1; the cost does not grow with it.
        noise_std: Standard deviation sigma of the label noise, >= 0; it, ``w`` and ``n`` broadcast.

    Raises:
        ValueError: If an argument is out of range, if the window is too narrow for a class whose spectrum
            falls slowly (ReLU in two dimensions, w beyond about 4e8), or if two quadrature rules differ by
            more than a share of 1e-7 of the bias or of the noise.

    >>> from icl.tasks import Affine
    >>> risk = population_risk(Affine(dim=5), w=0.0, n=20, noise_std=1.0)
    >>> round(float(risk.noise), 12)  # equal weights average the noise
    0.05
    """
    w, n, noise_std = check_setting(task, w, n, noise_std)
    require_arrays(task)
    # rows are bias, noise, error, and the slopes of bias and noise
    out = np.empty((5, w.size))
    variance = noise_std.ravel() ** 2
    for window, at_window, lengths, index in _group_by_window(w, n):
        bias, bias_slope, noise, noise_slope = fine = integrate(task, window, lengths)
        # the coarse rule only estimates the error, and its rows are bias and noise
        coarse = integrate(task, window, lengths, order=12, slopes=False)
        error = _compare_rules(task, window, lengths, fine[::2], coarse)
        rows = np.stack([bias, noise, error, bias_slope, noise_slope])[:, index]
        # `integrate` returns the noise for label noise of variance one
        rows[[1, 4]] *= variance[at_window]
        out[:, at_window] = rows
    return WindowRisk(*(row[()] for row in out.reshape(5, *w.shape)))


@computing_once
def split_risk(task: Zonal, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> SplitRisk:
    """Compute the exact population risk with its bias split into blur and scatter.

    *Blur* is the error of the mean prediction over all contexts, and *scatter* the variance of predictions
    without noise around it.

    Arguments and exceptions are those of `population_risk`, which is faster.

    >>> from icl.tasks import Affine
    >>> risk = split_risk(Affine(dim=5), w=0.0, n=20, noise_std=1.0)
    >>> round(float(risk.scatter / risk.blur), 12)  # equal weights average values as they average noise
    0.05
    """
    risk = population_risk(task, w, n, noise_std)
    w, n, _ = check_setting(task, w, n, noise_std)
    blur, error = np.empty((2, w.size))
    for window, at_window, lengths, index in _group_by_window(w, n):
        fine, coarse = (integrate_blur(task, window, lengths, order) for order in (16, 12))
        blur[at_window] = fine[index]
        error[at_window] = _compare_rules(task, window, lengths, fine[None], coarse[None])[index]
    blur, error = blur.reshape(w.shape)[()], error.reshape(w.shape)[()]
    return SplitRisk(risk.bias, risk.noise, np.maximum(risk.error, error), blur)


def _group_by_window(
    w: Array, n: Array
) -> Iterator[tuple[float, NDArray[np.bool_], Array, NDArray[np.int_]]]:
    """Yield each different window once, because all triples (w, n, sigma) with one window share integrals.

    Yields:
        The window, a mask of its triples, their different context lengths, and for each triple the index of
        its length.
    """
    flat_w, flat_n = w.ravel(), n.ravel()
    for window in np.unique(flat_w):
        at_window = flat_w == window
        yield float(window), at_window, *np.unique(flat_n[at_window], return_inverse=True)


def _compare_rules(task: Zonal, w: float, n: Array, fine: Array, coarse: Array) -> Array:
    """Return the relative difference of two quadrature rules, for each n; ValueError if it exceeds 1e-7.

    ``fine`` and ``coarse`` have a row for each integral and a column for each n.
    """
    # a row of zeros has the difference zero
    error = np.max(np.abs(coarse - fine) / np.maximum(fine, 1e-300), axis=0)
    if not np.all(error <= _TOLERANCE):
        raise ValueError(
            f"w={w:g}, n={n[np.argmax(error)]:g}, {task!r}: two quadrature rules "
            f"differ by {np.max(error):.1e}, more than {_TOLERANCE:g}"
        )
    return np.asarray(error)


@dataclass(frozen=True, eq=False)
class OptimalWindow:
    """The minimizer of the population risk over w.

    Attributes:
        w: Optimal window parameter, 0 where equal weights are best, in the broadcast shape of ``n`` and
            ``noise_std``.
        risk: The population risk at this w.
        error: Estimated relative error of w.
    """

    w: Array
    risk: Array
    error: Array


@computing_once
def optimal_window(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> OptimalWindow:
    """Find the window parameter w with the smallest population risk; arguments as in `population_risk`.

    The search (`icl.risk.numerics.search`) scans w upwards. It stops where the noise, which never falls in w,
    exceeds the best risk so far. With little noise it stops where the risk rises, once less than one token is
    expected inside the kernel.

    Without noise time grows with n for a class with a kink, because narrow windows need thousands of
    degrees.

    Raises:
        ValueError: For what `population_risk` refuses, if the relative error of w exceeds 1e-4, or if the
            risk still falls at the largest w that can be computed. That w is about 4e8 for a class with a
            kink or a jump.

    >>> from icl.tasks import Affine
    >>> a = optimal_window(Affine(dim=3, lipschitz=1.0), n=100, noise_std=0.1)
    >>> b = optimal_window(Affine(dim=3, lipschitz=10.0), n=100, noise_std=1.0)
    >>> bool(abs(a.w - b.w) < 1e-8)  # only L / sigma matters
    True
    """
    # 0.0 stands for a window, which is not an argument here
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    require_arrays(task)
    lengths, variance = n.ravel(), noise_std.ravel() ** 2
    fine = fine_variance(task)
    unique, back = np.unique(lengths, return_inverse=True)

    def curve(windows: Array, some: ProblemIndices) -> Array:
        """Return the risk, its derivative in w, and a part of the risk that never falls in w.

        ``some`` are indices of problems (n, noise_std). The shape is (windows, 3, problems). The part that
        never falls comes from label noise and fine variance, which are independent from token to token.
        """
        # problems with the same n share their integrals
        used, index = np.unique(back[some], return_inverse=True)
        s2, rows = variance[some], []
        for w in windows:
            try:
                bias, bias_w, noise, noise_w = _scan_window(task, float(w), unique[used])[:, index]
            except ValueError as problem:
                raise ValueError(
                    f"n={lengths[some][0]:g}, noise_std={s2[0] ** 0.5:g}: "
                    f"no minimum found up to w={w:.3g}; {problem}"
                ) from None
            rows.append([bias + s2 * noise, bias_w + s2 * noise_w, (s2 + fine) * noise])
        return np.array(rows)

    # At w = 0 the bias falls if and only if the class has a part of degree 1. A share of 1e-12 is rounding.
    a, rest = coefficients(task, 1)
    falls_at_zero = bool(a[0] > 1e-12 * (a[0] + rest))
    # `noise` is the part of the risk that never falls
    at_zero, first_slope, noise = curve(np.zeros(1), np.arange(lengths.size))[0]
    # Near zero the noise grows by a factor of about 1 + w^2 / d, so that the best w is about d |first_slope|
    # / (2 noise). Rounding hides it below 1e-9 d.
    lost = falls_at_zero & (lengths > 1) & (noise > 5e8 * np.abs(first_slope))
    if np.any(lost):
        first_lost = math.hypot(variance[lost][0] ** 0.5, fine**0.5)
        name = "noise_std" if fine == 0 else "the root of noise_std**2 + unresolved"
        raise ValueError(
            f"{name}={first_lost:g}: the best w for {task!r} is below rounding, must be smaller"
        )
    # Beyond the w at which one token is expected inside the kernel, the scan stops where the risk rises.
    # Without noise nothing else would stop it.
    last = np.array([1 / invert_cap_mass(task.dim, 1 / m) for m in lengths])
    # a single token has weight one for every w
    several = np.flatnonzero(lengths > 1)
    w, risk, error, _ = lowest(curve, at_zero, falls_at_zero, last, several)
    if np.any(error > _MAX_WINDOW_ERROR):
        raise ValueError(
            f"n={lengths[np.argmax(error)]:g}, {task!r}: the best w is known to {error.max():.0e} only"
        )
    w, risk, error = (row.reshape(n.shape) for row in (w, risk, error))
    return OptimalWindow(w[()], risk[()], error[()])


def _scan_window(task: Zonal, w: float, n: Array) -> Array:
    """Return what `integrate` does, from a cache unless ``n`` has many lengths.

    Searches begin at the same windows for every noise. `population_risk` does not use the cache, so that its
    time can be measured.
    """
    if n.size > _MAX_CACHED_LENGTHS:
        return integrate(task, w, n)
    return _integrate_cached(task, w, n.tobytes())


@cache_by_class(4096)
def _integrate_cached(task: Zonal, w: float, lengths: bytes) -> Array:
    """Return what `integrate` does for ``lengths``, the bytes of an array, which a cache can hash."""
    return integrate(task, w, np.frombuffer(lengths))


def mismatch_risk(trained: Zonal, tested: Zonal, n: ArrayLike, noise_std: ArrayLike) -> WindowRisk:
    """Compute the risk on the class ``tested`` with the best window of ``trained`` (ITA slides, Theorem 3).

    Both classes have the same dimension, and n and the noise are the same for both.
    """
    check_task(trained, "trained")
    check_task(tested, "tested")
    if trained.dim != tested.dim:
        raise ValueError(
            f"tested.dim={tested.dim}: must be that of the trained class, {trained.dim}"
        )
    return population_risk(tested, optimal_window(trained, n, noise_std).w, n, noise_std)
