r"""The population risk of softmax attention, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent and uniform on the
unit sphere, labels are ``y_i = f(x_i) + eps_i`` with noise of variance sigma^2, and the
attention unit with ``M = w I`` predicts ``sum_i omega_i y_i`` with
``omega_i ~ exp(w x_i . x_q)``; the query is not in the denominator. The risk is the mean
squared distance to the clean query label (ITA slides, "(ICL)"), ::

    risk = E (sum_i omega_i y_i - f(x_q))^2 = bias + noise.

Derivation. With ``E_i = exp(-w (1 - x_i . x_q))`` and the weights' sum equal to one,
the mean over f leaves only the variogram gamma of the class::

    bias = E sum_ij omega_i omega_j G_ij,   G_ij = gamma_iq + gamma_jq - gamma_ij,
    noise = sigma^2 E sum_i omega_i^2.

The denominator goes away through ``S^-2 = int_0^inf s exp(-s S) ds``, S = sum_j E_j: given
the query, tokens are then independent and the n-fold integral factors. With u = log s,
z = s E and ``phi(u) = E exp(-z)``, ::

    noise = sigma^2 n int E[z^2 e^-z] phi^(n-1) du,
    bias = n int E[2 gamma z^2 e^-z] phi^(n-1) du
         + n (n-1) int sum_l a_l (E[z (1 - P_l) e^-z])^2 phi^(n-2) du,

where the expansion of the covariance in Gegenbauer polynomials turns the pair of tokens
into squares of one-token integrals (addition theorem): every term is positive, nothing
cancels, and n is only an exponent. The mean prediction over contexts, given f and the query, multiplies
degree l by ``m_l = E sum_i omega_i P_l(x_i . x_q)``, so that the bias has two parts, ::

    blur = sum_l a_l (1 - m_l)^2,   m_l = n int E[P_l z e^-z] phi^(n-1) du,
    scatter = bias - blur >= 0,

the error of this mean, and how much predictions vary around it with the places of the examples. What is left
are integrals over one angle and over u, done in `icl.risk.numerics.integrals` with the nodes of
`icl.risk.numerics.quadrature`.
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

# population_risk raises where two rules differ by more than this
_TOLERANCE = 1e-7
# optimal_window raises where the relative error of the best window is larger
_MAX_WINDOW_ERROR = 1e-4
# a search caches integrals for at most this many context lengths, so that 4096 windows take 10 MB
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
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range, if the window is too narrow for a class
            whose spectrum falls slowly (ReLU in two dimensions, w beyond about 1e8), or if
            two rules differ by more than a share of 1e-7, so that bias and noise are always checked.

    >>> from icl.tasks import Affine
    >>> risk = population_risk(Affine(dim=5), w=0.0, n=20, noise_std=1.0)
    >>> round(float(risk.noise), 12)  # equal weights average the noise
    0.05
    """
    w, n, noise_std = check_setting(task, w, n, noise_std)
    require_arrays(task)
    # the rows are bias, noise, error, and the slopes of bias and noise
    out = np.empty((5, w.size))
    variance = noise_std.ravel() ** 2
    for window, at_window, lengths, index in _group_by_window(w, n):
        bias, bias_slope, noise, noise_slope = fine = integrate(task, window, lengths)
        # The coarse rule takes a third of the time. Windows of a grid cannot share it: the panels change with
        # w, and the difference of the rules is up to eight times that at the windows before and after.
        # Without slopes the rows are bias and noise.
        coarse = integrate(task, window, lengths, order=12, slopes=False)
        error = _compare_rules(task, window, lengths, fine[::2], coarse)
        rows = np.stack([bias, noise, error, bias_slope, noise_slope])[:, index]
        # the noise and its slope are so far those of labels with variance one
        rows[[1, 4]] *= variance[at_window]
        out[:, at_window] = rows
    return WindowRisk(*(row[()] for row in out.reshape(5, *w.shape)))


@computing_once
def split_risk(task: Zonal, w: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> SplitRisk:
    """Compute the exact population risk with its bias split into blur and scatter.

    *Blur* is the error of the mean prediction over all contexts. *Scatter* is how much predictions vary
    around this mean without label noise, because the examples lie at other places in each context. Arguments
    and errors are those of `population_risk`, which is faster.

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
    """Yield each window once, because its integrals serve all settings (w, n, sigma) that have it.

    With it come a mask of the settings that have it, their different context lengths, and for each of these
    settings the index of its length.
    """
    flat_w, flat_n = w.ravel(), n.ravel()
    for window in np.unique(flat_w):
        at_window = flat_w == window
        yield float(window), at_window, *np.unique(flat_n[at_window], return_inverse=True)


def _compare_rules(task: Zonal, w: float, n: Array, fine: Array, coarse: Array) -> Array:
    """Return the largest relative difference of two rules for each n; ValueError if it exceeds 1e-7.

    ``fine`` and ``coarse`` have a row for each quantity and a column for each n.
    """
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
        w: Optimal window parameter, 0 where equal weights are best; it and the others have the broadcast
            shape of ``n`` and ``noise_std``.
        risk: The risk there.
        error: Estimated relative error of w: what the last coefficients of the slope's expansion may move.
    """

    w: Array
    risk: Array
    error: Array


@computing_once
def optimal_window(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> OptimalWindow:
    """Find the window parameter w with the smallest population risk; arguments as in `population_risk`.

    The scan of `icl.risk.numerics.search` may stop where the noise term alone exceeds the best risk so far,
    because that term never falls in w: its logarithmic derivative is ``2 (E_{2w} t - E_w t) >= 0`` for every
    set of tokens, E_w the mean of ``t = x_i . x_q`` with the weights of w. With little noise it stops where
    the query's nearest token has taken over. The best window is then so narrow that a class with a kink needs
    thousands of Gegenbauer degrees, and the time grows with n (ReLU in three dimensions without noise: 1.5 s
    of one core at n = 1e6, 9 s at 1e8).

    Raises:
        ValueError: Also if the risk still falls at the largest w that can be computed, which for a class with
            a kink or a jump is about 4e8 (in three dimensions and with noise of the functions' size, for n
            beyond about 1e19 for ReLU and 1e12 for sign), or if the relative error of w exceeds 1e-4.

    >>> from icl.tasks import Affine
    >>> a = optimal_window(Affine(dim=3, lipschitz=1.0), n=100, noise_std=0.1)
    >>> b = optimal_window(Affine(dim=3, lipschitz=10.0), n=100, noise_std=1.0)
    >>> bool(abs(a.w - b.w) < 1e-8)  # only L / sigma matters
    True
    """
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    require_arrays(task)
    lengths, variance = n.ravel(), noise_std.ravel() ** 2
    fine = fine_variance(task)
    unique, back = np.unique(lengths, return_inverse=True)

    def curve(windows: Array, some: ProblemIndices) -> Array:
        """Return risk, its derivative, and the part of noise and fine variance, which never falls.

        The shape is (windows, 3, problems); ``some`` are indices of the problems.
        """
        # problems of the same length share their integrals
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

    # At w = 0 the noise is stationary, and the bias falls if and only if the class has a degree-1 part.
    # Then zero is not a minimum, even where the gain is below the rounding of the risk.
    a, rest = coefficients(task, 1)
    falls_at_zero = bool(a[0] > 1e-12 * (a[0] + rest))
    # `noise` has the fine variance in it
    at_zero, first_slope, noise = curve(np.zeros(1), np.arange(lengths.size))[0]
    # Near zero the noise grows by a factor of about 1 + w^2 / d, so that the best w is about
    # d |first_slope| / (2 noise), here below 1e-9 d.
    lost = falls_at_zero & (lengths > 1) & (noise > 5e8 * np.abs(first_slope))
    if np.any(lost):
        first_lost = math.hypot(variance[lost][0] ** 0.5, fine**0.5)
        name = "noise_std" if fine == 0 else "the root of noise_std**2 + unresolved"
        raise ValueError(
            f"{name}={first_lost:g}: the best w for {task!r} is below rounding, must be smaller"
        )
    # Beyond this w fewer than one token is expected inside the kernel. There a scan stops once the risk
    # rises, since without noise nothing else would stop it.
    last = np.array([1 / invert_cap_mass(task.dim, 1 / m) for m in lengths])
    # a single token has weight one for every w, so that its risk need not be searched
    several = np.flatnonzero(lengths > 1)
    w, risk, error, _ = lowest(curve, at_zero, falls_at_zero, last, several)
    if np.any(error > _MAX_WINDOW_ERROR):
        raise ValueError(
            f"n={lengths[np.argmax(error)]:g}, {task!r}: the best w is known to {error.max():.0e} only"
        )
    w, risk, error = (row.reshape(n.shape) for row in (w, risk, error))
    return OptimalWindow(w[()], risk[()], error[()])


def _scan_window(task: Zonal, w: float, n: Array) -> Array:
    """Return bias and noise with slopes, as `integrate` does, from a cache unless ``n`` has many lengths.

    Searches begin at the same windows for every noise, so that a third of the calls of a chapter repeat
    earlier ones. `population_risk` does not cache, so that the time of one value can be measured.
    """
    return (
        _integrate_cached(task, w, n.tobytes())
        if n.size <= _MAX_CACHED_LENGTHS
        else integrate(task, w, n)
    )


@cache_by_class(4096)
def _integrate_cached(task: Zonal, w: float, lengths: bytes) -> Array:
    """Return what `integrate` does; the lengths are the bytes of an array, since a cache needs a hash."""
    return integrate(task, w, np.frombuffer(lengths))


def mismatch_risk(trained: Zonal, tested: Zonal, n: ArrayLike, noise_std: ArrayLike) -> WindowRisk:
    """Compute the risk on one class with the window that is optimal for another (ITA slides, Theorem 3).

    The window is that of the class ``trained``, the risk that of ``tested``, of the same dimension, with the
    same n and noise.
    """
    check_task(trained, "trained")
    check_task(tested, "tested")
    if trained.dim != tested.dim:
        raise ValueError(
            f"tested.dim={tested.dim}: must be that of the trained class, {trained.dim}"
        )
    return population_risk(tested, optimal_window(trained, n, noise_std).w, n, noise_std)
