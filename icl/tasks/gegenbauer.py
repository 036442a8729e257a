r"""Gegenbauer polynomials, and the law of the angle between two tokens.

On the unit sphere of R^d the normalized polynomials P_l, ``P_l(1) = 1``, are what cosines are on the circle.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import integer
from icl.compiled import can_compile

Array = NDArray[np.float64]
#: Sums over degrees take this many degrees at a time, so that memory does not grow with the last degree.
_BLOCK = 16
#: A process loads the compiled loop after this many numbers; the second counts those that were computed.
_MAX_UNCOMPILED, _taken = 3 * 10**7, 0


def multiplicity(dim: int, degree: int) -> Array:
    """Return the numbers N_i of spherical harmonics of degrees 0..degree on ``S^{dim-1}``, at most 1e300."""
    i = np.arange(1, degree + 1)
    # N_i = (2i+d-2)/i * binom(i+d-3, i-1); degrees with more than 1e300 harmonics have negligible power
    with np.errstate(over="ignore"):
        binomial = np.concatenate([[1.0], np.cumprod((i[:-1] + dim - 2) / i[:-1])])
        return np.concatenate([[1.0], np.minimum((2 * i + dim - 2) / i * binomial, 1e300)])


def harmonics(dim: int, degree: NDArray[np.int_], cosine: Array) -> Array:
    """Return ``sqrt(N_l) P_l(cosine)``, zonal harmonics of mean square one, in row i of degree ``degree[i]``.

    N_l, the number of harmonics of degree l, grows beyond all floats, and P_l is as small where most of the
    sphere is. So the recurrence is that of the product p_l at the cosine t, ``t p_(l-1) = b_l p_l + b_(l-1)
    p_(l-2)``, with ``b_l^2 = l (l + dim - 3) / ((2 l + dim - 2) (2 l + dim - 4))`` and ``b_0 = 0``. Degrees
    are (m,), cosines and the result (m, k).
    """
    order = np.argsort(degree)
    ascending, cosine = degree[order], cosine[order]
    before, now = np.zeros_like(cosine), np.ones_like(cosine)
    b_before = 0.0
    for i in range(1, int(degree.max(initial=0)) + 1):
        # rows are sorted by degree, and those before have reached theirs
        rows = slice(int(np.searchsorted(ascending, i)), None)
        denominator = (2 * i + dim - 2) * (2 * i + dim - 4)
        # at i = 1 the factor dim - 2 cancels, which is zero on the circle
        b_squared = 1 / dim if i == 1 else i * (i + dim - 3) / denominator
        following = (cosine[rows] * now[rows] - b_before * before[rows]) / b_squared**0.5
        before[rows], now[rows] = now[rows], following
        b_before = b_squared**0.5
    out = np.empty_like(now)
    out[order] = now
    return out


def angle_quadrature(dim: int, nodes: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre angles between two uniform unit vectors of R^dim, and their probabilities.

    The density is proportional to ``sin(theta)^(dim - 2)`` on (0, pi). ValueError unless dim is 2 to 10,000
    and there are 1 to 2,000 nodes.
    """
    dim, nodes = integer(dim, "dim", 2, 10_000), integer(nodes, "nodes", 1, 2000)
    x, weight = np.polynomial.legendre.leggauss(nodes)
    theta = (x + 1) * np.pi / 2
    sine = np.sin(theta)
    # the division by the maximum keeps the power from underflowing everywhere
    p = weight * (sine / sine.max()) ** (dim - 2)
    return theta, p / p.sum()


class Polynomials:
    """Compute ``1 - P_l(cos theta)`` for l = 0, 1, 2, ..., free of cancellation.

    The three-term recurrence is run on the differences of successive polynomials, which are
    small together with theta, so narrow windows lose no digits. Angles have shape (m,); with ``even`` only
    the degrees 0, 2, 4, ... are computed, at half the cost.
    """

    def __init__(self, dim: int, theta: Array, even: bool = False):
        # The gap is 1 - cos^2 if only even degrees are computed, else 1 - cos. `_q` is 1 - P_l of the next
        # degree, and `_step` its difference from that of the degree before.
        gap = np.sin(theta) ** 2 if even else 2 * np.sin(theta / 2) ** 2
        self._gap, self._q, self._step = gap, np.zeros_like(gap), np.zeros_like(gap)
        self._dim, self._even, self._next = dim, even, 0

    def take(self, count: int) -> Array:
        """Return ``1 - P_l`` of the next ``count`` degrees, (count, m)."""
        rows = np.empty((count, self._q.size))
        every = 2 if self._even else 1
        _loop(rows.size)(rows, self._gap, self._q, self._step, self._dim, self._next, every)
        self._next += every * count
        return rows


def take(rows: Array, gap: Array, q: Array, step: Array, dim: int, degree: int, every: int) -> None:
    """Set rows, (count, m), to ``1 - P_l`` for l = ``degree`` and on, in steps of ``every``, which is 1 or 2.

    Row by row, q is ``1 - P_l`` and ``step`` its difference from the row before. The recurrence is ``ahead
    (next q - q) = behind step + (1 - q) gap``. If every degree is computed, gap is 1 - cos theta, and ahead
    and behind are the factors of ``P_(l+1)`` and ``P_(l-1)`` in ``cos(theta) P_l``. If every second is, gap
    is 1 - cos^2 theta, and they are the factors of ``P_(l+2)`` and ``P_(l-2)`` in ``cos(theta)^2 P_l``.
    Afterwards q and step are those of the next degree. `icl.compiled.polynomials`, whose reference this is,
    gives the same bits.
    """
    # Over is 1 / ahead and ratio behind / ahead, lists by i = degree / every. Their length is a power of two,
    # so that few lengths are cached.
    over, ratio = _factors(dim, every, max(6, (degree // every + len(rows)).bit_length()))
    for i, row in enumerate(rows, degree // every):
        row[:] = q
        # updates are in place, because there are many degrees, and each would allocate short arrays
        change = 1 - q
        change *= gap
        change *= over[i]
        step *= ratio[i]
        step += change
        q += step


@functools.lru_cache(64)
def _factors(dim: int, every: int, bits: int) -> tuple[list[float], list[float]]:
    """Return ``1 / ahead`` and ``behind / ahead`` of `take` at degrees ``every * i``, i below ``2**bits``."""
    degree = every * np.arange(2**bits)
    ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
    # the formula of `_up`, used twice, gives x^2 P_l, in which these are the factors of P_(l+2) and P_(l-2)
    if every == 2:
        ahead *= _up(degree + 1, dim)
        behind *= 1 - _up(degree - 1, dim)
    return (1 / ahead).tolist(), (behind / ahead).tolist()


def _up(degree: NDArray[np.int_], dim: int) -> Array:
    """Return c in ``x P_l = c P_(l+1) + (1 - c) P_(l-1)`` for the degrees l."""
    return np.where(degree > 0, (degree + dim - 2) / np.maximum(2 * degree + dim - 2, 1), 1.0)


def _loop(numbers: int) -> Any:
    """Return the compiled loop if numba is installed and many numbers were computed, else `take`.

    Loading the loop takes half a second, longer than `take` needs for few numbers.
    """
    global _taken
    _taken += numbers
    return (_compiled() if _taken > _MAX_UNCOMPILED else None) or take


@functools.cache
def _compiled() -> Any:
    """Return the compiled loop, or None without numba."""
    if not can_compile():
        return None
    from icl.compiled import polynomials

    return polynomials.take


def shortfall(dim: int, a: Array, theta: ArrayLike, even: bool = False) -> Array:
    """Return ``sum_l a_l (1 - P_l(cos theta))`` over the degrees 1, 2, ..., or 2, 4, ... for ``even``.

    ``a`` has the coefficients of these degrees only. The result has the shape of theta.
    """
    theta = np.asarray(theta, dtype=float)
    polynomials, total = Polynomials(dim, theta.ravel(), even), np.zeros(theta.size)
    # degree 0 is skipped
    polynomials.take(1)
    for start in range(0, a.size, _BLOCK):
        block = a[start : start + _BLOCK]
        total += block @ polynomials.take(block.size)
    return total.reshape(theta.shape)
