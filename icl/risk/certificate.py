r"""A certificate that no matrix beats the best multiple of the identity.

By `icl.risk.matrix` a matrix M has the risk ``E [L(kappa I) + 2 G(kappa, c)]`` over the query, where kappa is
the length of M x_q, c the cosine of M x_q and x_q, and

    G(kappa, c) = sum_l a_l m_l(kappa) (1 - P_l(c)),   m_l = E sum_i omega_i P_l(t_i),   t_i = x_i . x_q.

If G > 0 for all kappa > 0 and all c < 1 (for even classes, -1 < c < 1), then every minimizer is a multiple of
the identity, for every sigma: ``R(M) >= E L(kappa I) >= min_w L(w I)``, and equality makes every x an
eigenvector. G is bounded from below in units of its first term: with f = 1, or f = 2 for even classes, and
``r_l(c) = (1 - P_l(c)) / (1 - P_f(c))``, which lies between 0 and ``R_l = P_l'(1) / P_f'(1)``,

    H(kappa, c) = 1 + sum_{l > f} (a_l m_l(kappa)) / (a_f m_f(kappa)) r_l(c).

Derivatives of m_l are means of joint cumulants of P_l(t) and t under the weights, so that

- ``|m_l'| <= P_l'(1) m_1'`` and ``|m_l'| <= sqrt(m_1')``, because ``m_1' = E Var t``;
- ``|m_l''| <= 2 m_1'``, and m_1' changes by a factor of at most ``exp(2 delta)`` over a step delta;
- ``m_l(0) = m_l'(0) = 0`` for l >= 2, so that ``|m_l| <= 2 kappa m_1``;
- ``|m_l'''| <= 7``, and ``m_l''(0) = 0`` for l >= 3, so that ``|m_l| <= 7 kappa^3 / 6``;
- ``m_1(inf) - m_1(kappa) <= log(n) / kappa``: the entropy of the weights is at most log n.

They turn values at the ends of an interval into bounds inside, up to infinity; intervals are halved until the
bounds suffice. In c, a polynomial is bounded by its values at Chebyshev points (Ehlich and Zeller, 1964); the
degrees left out are bounded by ``|m_l| <= 1`` and the sum of their ``a_l P_l'(1)``. The values m_l are
quadratures, checked by a second rule to 1e-13 and widened by that much: the result is certified up to the
quadrature error. It is not interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from icl.checks import integer
from icl.risk.integrals import attended_gegenbauer_means, bandlimit, spectrum
from icl.tasks import Zonal, check_task
from icl.tasks.base import MOST, Array, pinned
from icl.tasks.gegenbauer import Polynomials, multiplicity

_SLACK = 1e-13  # by which every m_l is widened
_DEGREES = 128  # of a spectrum without end
_OVERSAMPLING = 16  # Chebyshev points for each degree
_SHARE = 0.5  # of the least value at the ends, which the bound inside must reach
_MOST_CELLS = 2000


@dataclass(frozen=True)
class IsotropyCertificate:
    """A lower bound on H over all kappa > 0 and all c.

    Attributes:
        margin: The bound; positive certifies that every minimizer is a multiple of the identity.
            Minus infinity where it was given up.
        least: The least value of H met at the ends of the ``cells`` (intervals in kappa): the infimum is at
            most that, and where it is negative, turning attention away lowers the risk at that ``kappa``.
            Infinite if none was met, because the part of lowest degree is too weak.
    """

    margin: float
    least: float
    kappa: float
    cells: int


def certify_isotropy(task: Zonal, n: int) -> IsotropyCertificate:
    """Bound from below the rise of the risk when a matrix turns attention away from the query.

    The class has a part of degree 1, or is even with a part of degree 2; n >= 2. The bound is in units of
    the part of lowest degree. For even classes and n = 2 it is zero: there m_l = 0 for all even l, and
    equal weights are best. `icl.rigor.form` has the same in ball arithmetic.

    >>> from icl.tasks import Affine
    >>> certify_isotropy(Affine(dim=5), n=20).margin  # only the part of degree 1
    1.0
    """
    check_task(task)
    length = float(integer(n, "n", 2, MOST))
    part = _expand(pinned(task))
    if part.first == 2 and length == 2:
        return IsotropyCertificate(0.0, 0.0, 0.0, 0)
    start, margin = _near_zero(part, length)

    @lru_cache(None)
    def values(kappa: float) -> Array:
        """Return m_1, m_2, ...; refuse values on which two rules differ by more than the slack."""
        last = int(part.degree[-1])
        fine, coarse = (attended_gegenbauer_means(part.dim, kappa, length, last, k) for k in (24, 20))
        if not np.abs(fine - coarse).max() <= _SLACK:
            raise ValueError(
                f"n={n:g}: two quadrature rules differ by more than {_SLACK:g} at kappa={kappa:g}"
            )
        return fine

    cells, least, where, count = [(64.0, math.inf), (start, 64.0)], math.inf, start, 0
    while cells:
        left, right = cells.pop()
        met = min((_value(part, values(k)), k) for k in (left, right) if k < math.inf)
        (least, where), count = min((least, where), met), count + 1
        if least <= 0 or count > _MOST_CELLS:
            lost = values(where)[part.first - 1] < 1e3 * _SLACK * (1 + part.total)  # in the quadrature error
            return IsotropyCertificate(-math.inf, math.inf if lost else least, float(where), count)
        low = _lower_bound_on(part, length, left, right, values)
        if low >= _SHARE * met[0]:
            margin = min(margin, low)
        else:
            middle = 2 * left if right == math.inf else math.sqrt(left * right)
            cells += [(middle, right), (left, middle)]
    return IsotropyCertificate(margin, least, float(where), count)


@dataclass(frozen=True)
class _Expansion:
    """A class in units of its first part."""

    dim: int
    degree: NDArray[np.intp]  # f and all l > f with a_l > 0 up to the last one considered
    ratio: Array  # a_l / a_f
    steep: Array  # P_l'(1)
    rest: float  # sum of a_l R_l / a_f over the degrees left out
    table: Array  # r_l at Chebyshev points, (degrees, points)
    stretch: float  # by how much a polynomial of the last degree can exceed its values there

    @property
    def first(self) -> int:
        """The degree f."""
        return int(self.degree[0])

    @property
    def total(self) -> float:
        """Sum of ``a_l R_l / a_f`` over all l > f."""
        return float(self.ratio[1:] @ self.steep[1:] / self.steep[0]) + self.rest


@lru_cache(maxsize=64)
def _expand(task: Zonal) -> _Expansion:
    dim, last = task.dim, int(max(2, min(bandlimit(task), _DEGREES)))
    a, rest = spectrum(task, last)
    degree = np.flatnonzero(a > 1e-18 * (a.sum() + rest)) + 1
    first = int(degree[0]) if degree.size else 0
    if first not in (1, 2) or (first == 2 and np.any(degree % 2)):
        raise ValueError(f"task={task!r}: must have a part of degree 1, or be even with a part of degree 2")
    a, steep = a[degree - 1], degree * (degree + dim - 2) / (dim - 1)
    missing = 0.0
    if rest > 1e-18 * a.sum():  # sum_l a_l P_l'(1) = k'(1), the limit of gamma / (1 - cos)
        whole = task.covariance_slope
        if whole is None:  # extrapolated, with an error that is not carried on
            theta = np.array([1e-5, 2e-5])
            near, far = task.variogram(theta) / (2 * np.sin(theta / 2) ** 2)
            whole = float(2 * near - far)
        missing = max(0.0, float(whole - a @ steep)) / (a[0] * steep[0])
    power = (int(degree[-1]) - first) // first  # r_l is a polynomial in c, or for even classes in 2 c^2 - 1
    points = _OVERSAMPLING * (power + 1)
    theta = np.pi * (np.arange(points) + 0.5) / points / first
    rows = Polynomials(dim, theta).take(int(degree[-1]) + 1)[degree]
    stretch = 1 / math.cos(power * math.pi / (2 * points))
    return _Expansion(dim, degree, a / a[0], steep, missing, rows / rows[0], stretch)


def _near_zero(part: _Expansion, n: float) -> tuple[float, float]:
    """Return a kappa and a bound on H below it, from the derivatives at zero alone."""
    if part.first == 1:  # m_1 > 0, |m_l| <= 2 kappa m_1
        kappa = min(1.0, 0.05 / max(part.total, 1e-300))
        return kappa, 1 - 2 * kappa * part.total
    # m_2'' (0) = (1 - 1/n) (1 - 2/n) E P_2 t^2, and |m_l| <= 7 kappa^3 / 6 beyond
    second = (1 - 1 / n) * (1 - 2 / n) * (1 - 1 / part.dim) / multiplicity(part.dim, 2)[2]
    kappa = 0.1 * second * 3 / 7 / (1 + part.total)
    return kappa, 1 - part.total * kappa * 7 / 3 / (second - kappa * 7 / 3)


def _value(part: _Expansion, m: Array) -> float:
    """Return the least H over the Chebyshev points at one kappa; the degrees left out are left out."""
    m = m[part.degree - 1]
    return float(np.min((part.ratio * m) @ part.table / m[0])) if m[0] > 0 else -math.inf


def _lower_bound_on(
    part: _Expansion, n: float, left: float, right: float, values: Callable[[float], Array]
) -> float:
    """Return a lower bound on H over all kappa between ``left`` and ``right`` and all c."""
    before = values(left)
    m, m_1 = before[part.degree - 1], before[0]
    if right == math.inf:
        rise = min(math.log(n) / left, 1 - m_1) + _SLACK
        low, high = m - part.steep * rise, m + part.steep * rise
        most_m_1 = m_1 + rise
    else:
        after, delta = values(right), right - left
        end, most_m_1 = after[part.degree - 1], after[0]
        rise = most_m_1 - m_1 + 2 * _SLACK
        half = np.minimum(part.steep * rise, math.sqrt(delta * rise)) / 2
        bulge = delta * rise * math.exp(min(2 * delta, 700.0)) / 4
        low = np.maximum((m + end) / 2 - half, np.minimum(m, end) - bulge)
        high = np.minimum((m + end) / 2 + half, np.maximum(m, end) + bulge)
    if part.first == 1:
        low[0], high[0] = m_1, most_m_1
    limit = min(1.0, 2 * right * most_m_1, 7 * right**3 / 6 if part.first == 2 else 1.0)
    low, high = np.maximum(low, -1.0) - _SLACK, np.minimum(high, 1.0) + _SLACK
    if low[0] <= 0:
        return -math.inf
    low[1:] = np.maximum(low[1:], -limit - _SLACK)
    ratio = part.ratio * low / np.where(low < 0, low[0], high[0])
    ratio[0] = 1.0
    curve = ratio @ part.table
    middle, spread = (curve.max() + curve.min()) / 2, (curve.max() - curve.min()) / 2
    return float(middle - part.stretch * spread - part.rest * limit / low[0])
