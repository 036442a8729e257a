r"""The population risk on Gaussian tokens of any covariance, for a matrix M that commutes with it.

Setting. Tokens and query are N(0, Sigma), functions are ``f(x) = beta . x`` with ``E beta beta' = B``, and
Sigma, B and M have common eigenvectors, with eigenvalues s_j, b_j and m_j. Let ``a_j = s_j m_j`` and h_j be
standard normal. The query's coordinates are ``sqrt(s_j) h_j`` and the scores are N(0, tau^2) with
``tau^2 = sum_j a_j^2 h_j^2``. With the moments C and D of `icl.risk.gaussian_moments` at tau, Stein's
identity gives

    bias = sum_j b_j s_j E [C + h_j^2 ((a_j - 1)^2 + a_j (2 - a_j) C - 6 a_j^2 D)],   noise = sigma^2 E C.

The law of tau^2 is a mixture of chi-square laws with positive weights (Ruben 1962). To weight it with h_j^2
adds two degrees of freedom at ``a_j^2``, so one kind of mean serves all terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from icl.checks import integer, real, reals
from icl.risk.gaussian_moments import MOST_TOKENS, edges, weight_moments
from icl.tasks.base import MOST, Array

_LEAST_RATIO = 0.1  # of two scores' scales; the mixture has some thousand terms there
_MOST_SCALE = 100.0
_MOST_DIM = 100  # the first weight of the mixture is above 1e-100 then


@dataclass(frozen=True)
class CommutingRisk:
    """The population risk for one setting, split as in `icl.risk.Risk`.

    Attributes:
        bias: Mean squared error without label noise.
        noise: The label noise's part.
    """

    bias: float
    noise: float

    @property
    def total(self) -> float:
        """The risk, bias + noise."""
        return self.bias + self.noise


def commuting_risk(
    token_variances: ArrayLike, task_variances: ArrayLike, matrix: ArrayLike, n: int, noise_std: float
) -> CommutingRisk:
    """Compute the exact risk of the unit M on Gaussian tokens whose covariance commutes with M.

    Args:
        token_variances: Eigenvalues s_j > 0 of the tokens' covariance, shape (d,), d <= 100.
        task_variances: Eigenvalues b_j >= 0 of ``E beta beta'``, shape (d,).
        matrix: Eigenvalues m_j >= 0 of M, shape (d,). The products ``s_j m_j`` that are not zero may differ
            by a factor of ten, and are at most 100.
        n: Context length, 1 to 1e30.
        noise_std: Standard deviation sigma of the label noise, >= 0.

    Returns:
        The risk.

    Raises:
        ValueError: If an argument is out of range, or the shapes differ.

    >>> one = commuting_risk([1.0, 4.0], [0.5, 0.5], [0.5, 0.125], n=100, noise_std=0.3)
    >>> one.noise < commuting_risk([1.0, 4.0], [0.5, 0.5], [0.5, 0.5], n=100, noise_std=0.3).noise
    True
    """
    names = ("token_variances", "task_variances", "matrix")
    given = (token_variances, task_variances, matrix)
    variances = [reals(value, name, 0, MOST) for value, name in zip(given, names, strict=True)]
    shapes = {value.shape for value in variances}
    if len(shapes) != 1 or variances[0].ndim != 1 or not 1 <= variances[0].size <= _MOST_DIM:
        found = ", ".join(str(value.shape) for value in variances)
        raise ValueError(
            f"token_variances, task_variances, matrix of shapes {found}: must be (d,), d <= {_MOST_DIM}"
        )
    s, b, m = variances
    if not np.all(s > 0):
        raise ValueError(f"token_variances={s.tolist()}: must be > 0")
    n, variance = integer(n, "n", 1, MOST_TOKENS), real(noise_std, "noise_std", 0, MOST) ** 2
    a = s * m
    used = a[a > 0]
    if np.any(used > _MOST_SCALE) or (used.size and used.min() < _LEAST_RATIO * used.max()):
        raise ValueError(
            f"matrix={m.tolist()}: products with token_variances must be 0 or within a factor of 10, <= 100"
        )
    plain = _means(used, float(n))
    bias = float(np.sum(b * s)) * plain[0]
    for value in np.unique(a):
        c, d = plain if value == 0 else _means(np.append(used, [value, value]), float(n))
        power = float(np.sum((b * s)[a == value]))
        bias += power * ((value - 1) ** 2 + value * (2 - value) * c - 6 * value**2 * d)
    return CommutingRisk(float(bias), float(variance * plain[0]))


def _means(scales: Array, n: float) -> tuple[float, float]:
    """Return E C and E D for ``tau^2 = sum_j scales_j^2 h_j^2``."""
    if scales.size == 0:
        return 1 / n, 0.0
    least, k = float(scales.min()), scales.size
    weights = _mixture(1 - (least / scales) ** 2, math.log(n) + 36)
    orders = k + 2 * np.arange(weights.size)  # degrees of freedom
    mode, tail = math.sqrt(orders[-1]), math.sqrt(2 * (math.log(n) + 34))
    low, high = max(0.0, math.sqrt(k) - tail), mode + tail
    edge = np.unique(np.concatenate([edges(least * high) / least, np.arange(low, high), [low, high]]))
    edge = edge[(edge >= low) & (edge <= high)]
    x, gauss = np.polynomial.legendre.leggauss(18)
    half = np.diff(edge)[:, None] / 2
    r = (edge[:-1, None] + half * (1 + x)).ravel()
    p = (half * gauss).ravel()
    density = np.zeros_like(r)
    for order, weight in zip(orders, weights, strict=True):
        density += weight * np.exp((order - 1) * np.log(r) - r * r / 2 - _log_norm(float(order)))
    c, d, *_ = weight_moments(least * r, n)
    return float((p * density) @ c), float((p * density) @ d)


def _log_norm(order: float) -> float:
    """Return the logarithm of the chi law's normalization."""
    return float(math.log(2) * (order / 2 - 1) + gammaln(order / 2))


def _mixture(gaps: Array, depth: float) -> Array:
    """Return Ruben's weights for ``gaps = 1 - least^2 / scales^2``, until the rest is below exp(-depth)."""
    first = float(np.sqrt(np.prod(1 - gaps)))
    worst = float(gaps.max())
    if worst == 0:
        return np.array([1.0])
    count = math.ceil((depth + 3 * gaps.size) / -math.log(worst)) + 2
    powers = np.sum(gaps ** np.arange(1, count)[:, None], axis=1)  # g_1, g_2, ...
    weights = np.zeros(count)
    weights[0] = first
    for i in range(1, count):
        weights[i] = powers[:i][::-1] @ weights[:i] / (2 * i)
    return weights
