"""Asymptotic laws of the optimal window for long contexts: those that the slides print, and sharp ones.

The kernel is ``exp(w x.x')`` on the unit sphere of R^d. (The paper's appendix writes it as
``exp(-w_app |x - x'|^2)``, so that ``w_app = w / 2``.) Symbols:

- n is the number of tokens, sigma is ``noise_std``, and L is the Lipschitz constant of the class.
- t is the inner product of the query ``x_q`` and a token. The token is uniform on the sphere.
- a_l is the coefficient of degree l of the class (`icl.tasks.base`).
- I_nu is the modified Bessel function, with ``nu = d/2 - 1``.

``w``, ``n`` and ``noise_std`` broadcast. Every function raises ValueError for arguments out of range, and
TypeError for a task that is not rotation invariant or lacks a `window_law`.

For n -> infinity at fixed w, the softmax weights tend to a von Mises-Fisher law around the query. Its mean
resultant length is ``A_d(w)``, and ``n / R_d(w)`` tokens effectively share the weight. The limits of bias and
noise are::

    bias -> sum_l a_l (1 - I_{nu+l}(w) / I_nu(w))^2,    n noise -> sigma^2 R_d(w).

For large w they become powers of w::

    bias ~ beta w^(-rho/2),    noise ~ sigma^2 kappa w^((d-1)/2) / n.

Here rho is the order of the class (`icl.tasks.Zonal.singular_term`): 4 for smooth functions, 3 for functions
with a kink, and 1 for functions with a jump. Kappa depends on d alone. `sharp_window` minimizes the sum of
both powers. The chapter ``notebooks/theorem2_scaling`` proves that every minimizer of the risk follows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ive, logsumexp

from icl.checks import broadcast, integer, real, reals
from icl.tasks import Zonal, check_task
from icl.tasks.base import (
    CONTEXT_RANGE,
    MAX_DIM,
    MAX_MAGNITUDE,
    POSITIVE_NOISE_RANGE,
    WINDOW_RANGE,
    Array,
    coefficients,
    fine_variance,
)

__all__ = [
    "WindowLaw",
    "effective_fraction",
    "mismatch_penalty",
    "printed_exponents",
    "resultant_length",
    "sharp_context",
    "sharp_window",
    "window_law",
    "window_penalty",
]

_MAX_LOG = 700.0


def resultant_length(dim: int, w: ArrayLike) -> Array:
    """Return ``A_d(w) = I_{d/2}(w) / I_{d/2-1}(w)``, the mean of ``x.x_q`` under the weights, for w >= 0."""
    dim, w = integer(dim, "dim", 2, MAX_DIM), np.asarray(reals(w, "w", *WINDOW_RANGE))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        numerator, denominator = ive(dim / 2, w), ive(dim / 2 - 1, w)
        # SciPy fails for w beyond 1e9, where this expansion is exact to rounding
        expansion = 1 - (dim - 1) / (2 * w) * (1 - (dim - 3) / (4 * w))
        ratio = np.asarray(np.where(w > 1e9, expansion, numerator / denominator))
    # Bessel functions underflow at w = 0 and where w is far below dim
    underflow = (w <= 1e9) & ~((numerator > 1e-290) & (denominator > 1e-290))
    ratio[underflow] = _small_ratio(dim, w[underflow])
    return ratio[()]


def _small_ratio(dim: int, w: Array) -> Array:
    """Return ``A_d(w)`` by its continued fraction, ``w / (d + w^2 / (d + 2 + w^2 / (d + 4 + ...)))``."""
    # The 201 terms are far more than are needed where w is far below d. The fraction is computed from its
    # end.
    tail = np.zeros_like(w)
    for k in range(200, -1, -1):
        tail = w / (dim + 2 * k + w * tail)
    return tail


def effective_fraction(dim: int, w: float) -> float:
    """Return ``R_d(w) = E e^{2wt} / (E e^{wt})^2``; ``n / R_d`` tokens effectively share the weight.

    R_d is 1 at w = 0, and grows like ``w^((d-1)/2)``. ValueError if it is larger than exp(700).
    """
    dim, w = integer(dim, "dim", 2, MAX_DIM), real(w, "w", *WINDOW_RANGE)
    log = _log_fraction(dim, w)
    if log > _MAX_LOG:
        raise ValueError(f"w={w:g}: too large for dim={dim}, the fraction is exp({log:.4g})")
    return math.exp(log)


def _log_fraction(dim: int, w: float) -> float:
    """Return the logarithm of `effective_fraction`."""
    # the logarithm, about w^2 / d, is negligible, and w^2 may underflow
    if w < 1e-100:
        return 0.0
    nu = dim / 2 - 1
    scaled = [float(ive(nu, k * w)) for k in (1, 2)]
    # the Bessel functions underflow where w is far below dim
    if w <= 1e8 and min(scaled) < 1e-290:
        return _log_series(dim / 2, w * w) - 2 * _log_series(dim / 2, w * w / 4)
    # These are the logarithms of e^{-w} I_nu(w) and e^{-2w} I_nu(2w). SciPy fails beyond 1e9.
    log_mean, log_square = (
        math.log(value) if w <= 1e8 else _log_bessel(nu, k * w)
        for k, value in zip((1, 2), scaled, strict=True)
    )
    # E e^{wt} is Gamma(d/2) (2/w)^nu I_nu(w), and the factors e^{-2w} of R_d cancel
    return (
        log_square
        - 2 * log_mean
        - float(gammaln(dim / 2))
        - nu * math.log(2 / w)
        + nu * math.log(0.5)
    )


def _log_series(b: float, z: float) -> float:
    """Return the logarithm of ``0F1(b; z) = sum_k z^k / (k! b (b+1) ... (b+k-1))``.

    E e^{wt} is 0F1(d/2; w^2 / 4).
    """
    # the terms fall beyond `peak` like a normal law of standard deviation sqrt(peak)
    peak = min(z / b, math.sqrt(z))
    k = np.arange(1.0, 60 + math.ceil(peak + 12 * math.sqrt(peak)))
    # these are logarithms
    terms = np.cumsum(np.log(z) - np.log(k) - np.log(b + k - 1))
    # the term k = 0 is one
    return float(np.logaddexp(0, logsumexp(terms)))


def _log_bessel(nu: float, w: float) -> float:
    """Return the logarithm of ``e^{-w} I_nu(w)`` for w beyond 1e8, by Debye's expansion."""
    r = math.hypot(nu, w)
    return (
        -0.5 * math.log(2 * math.pi * r) + nu * nu / (r + w) - nu * math.asinh(nu / w) + 1 / (8 * r)
    )


def _log_noise_constant(dim: int) -> float:
    """Return log kappa, where the noise is about ``sigma^2 kappa w^((d-1)/2) / n``."""
    return float(0.5 * math.log(math.pi) - gammaln(dim / 2) - (dim / 2 - 1) * math.log(4))


@dataclass(frozen=True)
class WindowLaw:
    """The law of the best window of a class, for n -> infinity at fixed noise.

    Attributes:
        dim: The dimension d.
        order: The order rho of the class.
        constant: beta. With infinitely many tokens the bias at large w is ``beta w^(-rho/2)``, plus fine
            variance.
    """

    dim: int
    order: float
    constant: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", integer(self.dim, "dim", 2, MAX_DIM))
        object.__setattr__(self, "order", real(self.order, "order", 0, 100, exclusive_min=True))
        object.__setattr__(self, "constant", real(self.constant, "constant", 0, exclusive_min=True))

    @property
    def exponent(self) -> float:
        """The exponent of ``w*`` in n, ``2 / (d - 1 + rho)``."""
        return 2 / (self.dim - 1 + self.order)

    @property
    def noise_over_bias(self) -> float:
        """The noise over the bias at the best window, ``rho / (d - 1)``."""
        return self.order / (self.dim - 1)


def window_law(task: Zonal) -> WindowLaw:
    """Return the law of the best window of a class: its order rho and constant beta.

    For tokens x and x' drawn with the weights of attention, the bias for infinitely many tokens is
    ``2 E gamma(x, x_q) - E gamma(x, x')``. For large w ``w^(1/2) (x - x_q)`` tends to a standard normal xi in
    d - 1 dimensions, and ``w^(1/2) (x - x')`` to ``sqrt(2) xi``. With the order rho and the constant c of
    `Zonal.singular_term`, ::

        beta = c |2^(rho/2) - 2| E |xi|^rho,  E |xi|^rho = 2^(rho/2) Gamma((d-1+rho)/2) / Gamma((d-1)/2).

    A class without a singular term is smooth. It has the order 4, and ::

        beta = E (Laplacian f)^2 / 4 = sum_l a_l (l (l + d - 2))^2 / 4.

    Fine variance (`Zonal.unresolved`) is left out. At the query it is a part of the bias that windows do not
    change. At the tokens it is noise, which `sharp_window` adds to sigma^2.

    Raises:
        TypeError: If the task is not rotation invariant, or if it is neither smooth nor declares a singular
            term.
        ValueError: If the declared order is 2, where beta would be zero, or is not between 0 and 4, or if the
            constant is not positive.
    """
    check_task(task)
    d = task.dim
    if task.singular_term is not None:
        order, c = task.singular_term
        if not (0 < order < 4 and order != 2 and 0 < c < math.inf):
            raise ValueError(
                f"{task!r}: singular_term={task.singular_term}: must be an order between 0 and 4, not 2, "
                "and a constant above zero"
            )
        moment = math.exp(
            order / 2 * math.log(2) + gammaln((d - 1 + order) / 2) - gammaln((d - 1) / 2)
        )
        return WindowLaw(d, order, c * abs(2 ** (order / 2) - 2) * moment)
    # A class counts as smooth if two parts of the sum are negligible: its second half, and later terms.
    for last in (50, 200, 800):
        a, rest = coefficients(task, last)
        eigenvalue = np.arange(1.0, last + 1) * (np.arange(1.0, last + 1) + d - 2)
        terms = a * eigenvalue**2
        if rest * eigenvalue[-1] ** 2 + terms[last // 2 :].sum() <= 1e-9 * terms.sum():
            return WindowLaw(d, 4.0, float(terms.sum()) / 4)
    raise TypeError(f"task={task!r}: has no law: it is not smooth, and declares no singular_term")


def sharp_window(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> Array:
    """Return the leading order of the best window ``w*`` for n -> infinity at fixed noise > 0.

    The result minimizes ``beta w^(-rho/2) + sigma^2 kappa w^((d-1)/2) / n``, with rho and beta of
    `window_law`::

        w* ~ [rho beta n / ((d - 1) kappa sigma^2)]^(2 / (d - 1 + rho)).

    Fine variance counts in sigma^2.
    """
    n, noise_std = broadcast(
        n=reals(n, "n", *CONTEXT_RANGE),
        noise_std=reals(noise_std, "noise_std", *POSITIVE_NOISE_RANGE),
    )
    law = window_law(task)
    log = math.log(law.noise_over_bias * law.constant) - _log_noise_constant(task.dim)
    spread = np.hypot(noise_std, math.sqrt(fine_variance(task)))
    return np.asarray(np.exp((log + np.log(n) - 2 * np.log(spread)) * law.exponent))[()]


def sharp_context(task: Zonal, w: ArrayLike, noise_std: ArrayLike) -> Array:
    """Return the context length at which `sharp_window` is w, for w > 0, rounded to a whole number."""
    w, noise_std = broadcast(
        w=reals(w, "w", 1e-9, MAX_MAGNITUDE),
        noise_std=reals(noise_std, "noise_std", *POSITIVE_NOISE_RANGE),
    )
    return np.asarray(
        np.round((w / sharp_window(task, 1.0, noise_std)) ** (1 / window_law(task).exponent))
    )[()]


def window_penalty(task: Zonal, ratio: ArrayLike) -> Array:
    """Return the price of a window that is ``ratio`` times the best one, for n -> infinity.

    The *price* is the risk at this window over the risk at the best window. With the order rho of the class
    and s = rho / (d - 1), the limit of the price for every sigma and L is ::

        (ratio^(-rho / 2) + s ratio^((d - 1) / 2)) / (1 + s) >= 1.

    Such ratios arise where a window is the best one for a wrong L, sigma or n. If functions are proportional
    to L, the best window is a power of ``n L^2 / sigma^2``, with the exponent of `window_law`.

    ValueError for a class with fine variance, to which both risks would tend.

    >>> from icl.tasks import ReLU
    >>> window_penalty(ReLU(5), [0.5, 1.0, 2.0]).round(3)
    array([1.723, 1.   , 1.916])
    """
    check_task(task)
    if fine_variance(task) > 0:
        raise ValueError(
            f"{task!r}: unresolved={task.unresolved:g} must be 0, else both risks tend to it"
        )
    law, ratio = window_law(task), reals(ratio, "ratio", 1e-100, 1e100)
    s, half = law.noise_over_bias, (law.dim - 1) / 2
    with np.errstate(over="ignore"):
        price = (ratio ** (-law.order / 2) + s * ratio**half) / (1 + s)
    if not np.all(np.isfinite(price)):
        raise ValueError(f"ratio={np.max(ratio):g}: too large for {task!r}, the price is infinite")
    return np.asarray(price)[()]


def mismatch_penalty(task: Zonal, ratio: ArrayLike) -> Array:
    """Return the price of a window that is the best one for another L, for n -> infinity.

    The unit is pretrained at L and tested at ``L' = ratio * L``, for functions proportional to L. The *price*
    is the risk of the unit at L' over the least risk at L'. With the exponent e of `window_law`, it is
    `window_penalty` at ``ratio^(-2 e)``. With the order rho of the class and s = rho / (d - 1), the price for
    every sigma and L is ::

        (ratio^2 + s) / ((1 + s) ratio^(2 - rho e)) >= 1.

    ValueError for a class with fine variance.
    """
    check_task(task)
    ratio = reals(ratio, "ratio", 1e-50, 1e50)
    return window_penalty(task, ratio ** (-2 * window_law(task).exponent))


def printed_exponents(dim: int) -> tuple[float, float]:
    """Return the exponents of the lower and upper bound on w* in ITA slides, Theorem 2: ``1/d, 2/d``."""
    dim = integer(dim, "dim", 1, MAX_DIM)
    return 1 / dim, 2 / dim
