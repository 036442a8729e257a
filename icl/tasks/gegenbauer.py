r"""Gegenbauer polynomials, and the law of the angle between two tokens.

On the unit sphere of R^d the normalized polynomials P_l, with ``P_l(1) = 1``, are what cosines are on the
circle. N_l is the number of spherical harmonics of degree l.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import integer
from icl.compiled import can_compile

Array = NDArray[np.float64]
#: Degrees that a sum takes at a time, so that memory does not grow with the last degree.
_BLOCK = 16
#: After so many numbers a process loads the compiled loop; `_taken` counts them.
_MAX_UNCOMPILED, _taken = 3 * 10**7, 0


def multiplicity(dim: int, degree: int) -> Array:
    """Return the numbers N_i of spherical harmonics on ``S^{dim-1}``, i = 0, ..., degree, capped at 1e300."""
    i = np.arange(1, degree + 1)
    # N_i is (2i+d-2)/i * binom(i+d-3, i-1), which may overflow. Degrees of more than 1e300 harmonics have
    # negligible power.
    with np.errstate(over="ignore"):
        binomial = np.concatenate([[1.0], np.cumprod((i[:-1] + dim - 2) / i[:-1])])
        return np.concatenate([[1.0], np.minimum((2 * i + dim - 2) / i * binomial, 1e300)])


def harmonics(dim: int, degree: NDArray[np.int_], cosine: Array) -> Array:
    """Return zonal harmonics ``sqrt(N_l) P_l(cosine)``, whose mean square is one.

    Row j has the degree ``degree[j]``: ``degree`` has shape (m,), and ``cosine`` and the result (m, k). As
    N_l may overflow, the recurrence is that of ``p_l = sqrt(N_l) P_l`` at the cosine t:
    ``t p_(l-1) = b_l p_l + b_(l-1) p_(l-2)``, with ``b_0 = 0`` and
    ``b_l^2 = l (l + dim - 3) / ((2 l + dim - 2) (2 l + dim - 4))``.
    """
    order = np.argsort(degree)
    ascending, cosine = degree[order], cosine[order]
    before, now = np.zeros_like(cosine), np.ones_like(cosine)
    b_before = 0.0
    for i in range(1, int(degree.max(initial=0)) + 1):
        # earlier rows have reached their degree
        rows = slice(int(np.searchsorted(ascending, i)), None)
        denominator = (2 * i + dim - 2) * (2 * i + dim - 4)
        # at i = 1 the factor dim - 2, zero on the circle, is cancelled
        b_squared = 1 / dim if i == 1 else i * (i + dim - 3) / denominator
        following = (cosine[rows] * now[rows] - b_before * before[rows]) / b_squared**0.5
        before[rows], now[rows] = now[rows], following
        b_before = b_squared**0.5
    out = np.empty_like(now)
    out[order] = now
    return out


def angle_quadrature(dim: int, nodes: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes theta in (0, pi), and their probabilities for the law of an angle.

    This is the angle between two uniform unit vectors of R^dim, whose density is proportional to
    ``sin(theta)^(dim - 2)``. ValueError unless ``dim`` is 2 to 10,000 and ``nodes`` is 1 to 2,000.
    """
    dim, nodes = integer(dim, "dim", 2, 10_000), integer(nodes, "nodes", 1, 2000)
    x, weight = np.polynomial.legendre.leggauss(nodes)
    theta = (x + 1) * np.pi / 2
    sine = np.sin(theta)
    # without the division every power might underflow
    p = weight * (sine / sine.max()) ** (dim - 2)
    return theta, p / p.sum()


class Polynomials:
    """Compute ``1 - P_l(cos theta)``, theta (m,), for l = 0, 1, 2, ..., without cancellation at small angles.

    If ``even`` is true, only the degrees 0, 2, 4, ... are computed, at half the cost.
    """

    def __init__(self, dim: int, theta: Array, even: bool = False):
        self._dim, self._even, self._next = dim, even, 0
        # this is 1 - cos(theta)^2 or 1 - cos(theta)
        self._gap = np.sin(theta) ** 2 if even else 2 * np.sin(theta / 2) ** 2
        # this is 1 - P_l of the next degree
        self._q = np.zeros_like(self._gap)
        # this is `_q` less that of the degree before, or zero at degree 0
        self._step = np.zeros_like(self._gap)

    def take(self, count: int) -> Array:
        """Return ``1 - P_l`` for the next ``count`` degrees, (count, m)."""
        rows = np.empty((count, self._q.size))
        every = 2 if self._even else 1
        _choose_loop(rows.size)(rows, self._gap, self._q, self._step, self._dim, self._next, every)
        self._next += every * count
        return rows


def take(rows: Array, gap: Array, q: Array, step: Array, dim: int, degree: int, every: int) -> None:
    """Set ``rows``, (count, m), to ``1 - P_l`` for l = degree, degree + every, and so on.

    In each row q is ``1 - P_l``, and ``step`` is q less the q of the row before. The recurrence is ::

        ahead (next q - q) = behind step + (1 - q) gap

    - If ``every`` is 1, gap is 1 - cos(theta). ``ahead`` and ``behind`` are the factors of P_(l+1) and
      P_(l-1) in ``cos(theta) P_l``.
    - If ``every`` is 2, gap is 1 - cos(theta)^2. ``ahead`` and ``behind`` are the factors of P_(l+2) and
      P_(l-2) in ``cos(theta)^2 P_l``.

    Afterwards q and ``step`` are those of the next degree. `icl.compiled.polynomials` gives the same bits.
    """
    # The length of both lists is a power of two, so that `_compute_factors` caches few lists.
    over, ratio = _compute_factors(dim, every, max(6, (degree // every + len(rows)).bit_length()))
    for i, row in enumerate(rows, degree // every):
        row[:] = q
        change = 1 - q
        # allocating arrays for every degree takes long
        change *= gap
        change *= over[i]
        step *= ratio[i]
        step += change
        q += step


@functools.lru_cache(64)
def _compute_factors(dim: int, every: int, bits: int) -> tuple[list[float], list[float]]:
    """Return ``1 / ahead`` and ``behind / ahead`` of `take` at degrees ``every * i``, i below ``2**bits``."""
    degree = every * np.arange(2**bits)
    ahead = _compute_ahead(degree, dim)
    behind = 1 - ahead
    # the formula of `_compute_ahead`, used twice
    if every == 2:
        ahead *= _compute_ahead(degree + 1, dim)
        behind *= 1 - _compute_ahead(degree - 1, dim)
    return (1 / ahead).tolist(), (behind / ahead).tolist()


def _compute_ahead(degree: NDArray[np.int_], dim: int) -> Array:
    """Return the c in ``x P_l = c P_(l+1) + (1 - c) P_(l-1)`` for these degrees l."""
    return np.where(degree > 0, (degree + dim - 2) / np.maximum(2 * degree + dim - 2, 1), 1.0)


def _choose_loop(numbers: int) -> Any:
    """Return the function that computes the next ``numbers`` numbers: the compiled loop or `take`.

    In the half second that the compiled loop takes to load, `take` computes about `_MAX_UNCOMPILED` numbers.
    """
    global _taken
    _taken += numbers
    return (_find_compiled() if _taken > _MAX_UNCOMPILED else None) or take


@functools.cache
def _find_compiled() -> Any:
    """Return the compiled loop, or None without numba."""
    if not can_compile():
        return None
    from icl.compiled import polynomials

    return polynomials.take


def shortfall(dim: int, a: Array, theta: ArrayLike, even: bool = False) -> Array:
    """Return ``sum_l a_l (1 - P_l(cos theta))``, in the shape of ``theta``.

    The degrees l are 1, 2, 3, ..., or 2, 4, 6, ... if ``even`` is true. ``a`` has a coefficient for each.
    """
    theta = np.asarray(theta, dtype=float)
    polynomials = Polynomials(dim, theta.ravel(), even)
    total = np.zeros(theta.size)
    # degree 0 is skipped
    polynomials.take(1)
    for start in range(0, a.size, _BLOCK):
        block = a[start : start + _BLOCK]
        total += block @ polynomials.take(block.size)
    return total.reshape(theta.shape)
