r"""Gegenbauer polynomials, and the expansion of a covariance that is given only as a function.

On the unit sphere of R^d the normalized polynomials P_l, ``P_l(1) = 1``, are what cosines are on the circle.
Classes with closed forms (`icl.tasks`) give their coefficients themselves; `expansion` finds those of all
others. A *task* is here anything with ``dim``, ``covariance(cosine)`` and ``variogram(theta)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from icl.tasks.base import Zonal

Array = NDArray[np.float64]
_MISFIT = 1e-9  # of a fitted variogram, relative to its largest value


def multiplicity(dim: int, degree: int) -> Array:
    """Return the numbers of spherical harmonics of degree 0..degree on ``S^{dim-1}``, at most 1e300."""
    i = np.arange(1, degree + 1)
    if dim == 2:
        return np.concatenate([[1.0], np.full(degree, 2.0)])
    # N_l = (2l+d-2)/l * binom(l+d-3, l-1)
    with np.errstate(over="ignore"):  # coefficients that such numbers multiply are negligible
        binomial = np.concatenate([[1.0], np.cumprod((i[:-1] + dim - 2) / i[:-1])])
        return np.concatenate([[1.0], np.minimum((2 * i + dim - 2) / i * binomial, 1e300)])


def one_minus_gegenbauer(dim: int, theta: Array, even: bool = False) -> Iterator[Array]:
    """Yield ``1 - P_l(cos theta)`` for l = 0, 1, 2, ..., one array at a time, free of cancellation.

    The three-term recurrence is run on the differences of successive polynomials, which are
    small together with theta, so narrow windows lose no digits.

    Args:
        dim: Dimension d >= 2.
        theta: Angles, shape (m,).
        even: Only the degrees 0, 2, 4, ..., at half the cost.

    Yields:
        Arrays of shape (m,), without end.
    """

    def up(i: int) -> float:  # cos(theta) P_i = up(i) P_{i+1} + (1 - up(i)) P_{i-1}
        return (i + dim - 2) / (2 * i + dim - 2) if i > 0 else 1.0

    gap, q, step = _start(theta, even)
    for i in count(0, 2 if even else 1):
        yield q
        ahead, behind = (up(i) * up(i + 1), (1 - up(i)) * (1 - up(i - 1))) if even else (up(i), 1 - up(i))
        step = behind / ahead * step + 1 / ahead * (gap * (1 - q))
        q = q + step


class Polynomials:
    """Compute `one_minus_gegenbauer`, many degrees at a time, in a compiled loop.

    numba, which takes long to import, is loaded by the first call of `take`.

    Args:
        dim: Dimension d >= 2.
        theta: Angles, shape (m,).
        even: Only the degrees 0, 2, 4, ..., at half the cost.
    """

    def __init__(self, dim: int, theta: Array, even: bool = False):
        self._gap, self._q, self._step = _start(theta, even)
        self._dim, self._even, self._next = dim, even, 0

    def take(self, many: int) -> Array:
        """Return the next polynomials, shape (many, m)."""
        from icl.compiled import recurrence

        rows = np.empty((many, self._q.size))
        recurrence.recur(rows, self._q, self._step, self._gap, self._dim, self._next, self._even)
        self._next += many * (2 if self._even else 1)
        return rows


def _start(theta: Array, even: bool) -> tuple[Array, Array, Array]:
    gap = np.sin(theta) ** 2 if even else 2 * np.sin(theta / 2) ** 2  # 1 - cos^2, or 1 - cos
    return gap, np.zeros_like(gap), np.zeros_like(gap)


def expansion(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return the coefficients of the covariance, from its values alone.

    Args:
        task: The class, hashable.
        degree: Highest degree wanted, >= 1.

    Returns:
        ``(a_1, ..., a_degree)`` and the sum of all later coefficients.

    Raises:
        ValueError: If there is no expansion with coefficients >= 0.
    """
    if task.dim == 2:  # P_l oscillates too much to be fitted, and projections lose few digits
        return _projected(task, degree)
    degrees, a, rest = _fitted(task)
    out, wanted = np.zeros(degree), degrees <= degree
    out[degrees[wanted] - 1] = a[wanted]
    return out, float(a[~wanted].sum() + rest)


def _projected(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return `expansion` on the circle, a Fourier series."""
    nodes = 4 * degree + 200
    theta = (2 * np.arange(nodes) + 1) * np.pi / (2 * nodes)
    k = _finite(task, task.covariance(np.cos(theta)), theta)
    a = 2 / nodes * np.array([k @ np.cos(i * theta) for i in range(degree + 1)])
    a[0] /= 2
    size = np.abs(k).max()
    if np.any(a < -1e-9 * size):
        raise ValueError(f"{task!r}: covariance is not positive definite, a_{np.argmin(a)}={a.min():.2g}")
    a = np.where(a > 1e-15 * size, a, 0.0)  # below is rounding; Schoenberg: none is negative
    rest = float(task.covariance(np.array(1.0)) - a.sum())
    return a[1:], rest if rest > 1e-14 * size else 0.0


def _finite(task: Zonal, values: Array, theta: Array) -> Array:
    """Return values of a covariance or variogram at angles; refuse others than finite numbers."""
    if np.shape(values) != theta.shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{task!r}: covariance(cosine) must be finite, and of the shape of cosine")
    return values


@lru_cache(maxsize=64)
def _fitted(task: Zonal) -> tuple[Array, Array, float]:
    """Return degrees, coefficients and the sum of all later ones, fitted to the variogram.

    On a sphere of many dimensions the projections ``a_l = N_l E[k P_l]`` are useless: k is known to
    rounding, and N_l multiplies that. But ``gamma = sum_l a_l (1 - P_l)`` on a grid of angles, with
    a_l >= 0 by Schoenberg's theorem, is a well-posed least-squares problem, and the risk depends on
    the fitted gamma only. Beyond 300 degrees P_l changes slowly with l; some stand for all.
    """
    sparse = np.round(300 * 1.04 ** np.arange(1, 100)).astype(int)
    degrees = np.unique(np.concatenate([np.arange(1, 301), sparse, sparse + 1]))  # of both parities
    near = np.geomspace(2 / degrees[-1], 0.3, 225)
    theta = np.concatenate([near, np.linspace(0.3, np.pi - 0.3, 900)[1:-1], np.pi - near[::-1]])
    gamma = _finite(task, task.variogram(theta), theta)
    if not np.abs(gamma).max() > 1e-14 * abs(float(task.covariance(np.array(1.0)))):
        return degrees, np.zeros(degrees.size), 0.0  # constants
    kept = set(degrees.tolist())
    rows = [
        q for i, q in enumerate(islice(one_minus_gegenbauer(task.dim, theta), degrees[-1] + 1)) if i in kept
    ]
    table = np.stack([*rows, np.ones_like(theta)], axis=1)  # the last: degrees that no window resolves
    from scipy.optimize import nnls  # takes long to import, and only classes of the user need it

    weight = 1 / (np.abs(gamma) + 1e-5 * np.abs(gamma).max())  # small angles matter in narrow windows
    a, _ = nnls(table * weight[:, None], gamma * weight, maxiter=20_000)
    misfit = np.max(np.abs(table @ a - gamma)) / np.abs(gamma).max()
    if not misfit <= _MISFIT:
        raise ValueError(
            f"{task!r}: no Gegenbauer coefficients >= 0 give the covariance (misfit "
            f"{misfit:.1e}, allowed {_MISFIT:g}): not positive definite, or too rough"
        )
    return degrees, a[:-1], float(a[-1])
