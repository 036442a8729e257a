r"""The certificate of `icl.risk.certificate` in balls: no matrix beats the best multiple of the identity.

The proof is the one that is told there. Here every number is a ball: the means m_l are enclosed, not
computed by two rules, and the degrees left out enter by ``sum_l a_l P_l'(1) = k'(1)`` in closed form. The
integrals ``m_l = n int E[P_l z exp(-z)] phi^(n-1) du`` have one factor z, and ``sum omega = 1``: their
trapezoid sums of step h are wrong by at most ``2 / (cos(a) (exp(2 pi a / h) - 1))``. Left of the first point
the terms are at most ``n E[z]`` and fall like ``exp(u)``; right of the last one the sum of ``z exp(-z)`` over
the points is at most ``1 / h + 1 / e``.

A class of one degree needs no means: H is 1, and its term is positive for every n. The derivative of m_1 is a
mean of variances. That of m_2 is ``d / (d - 1) E sum_{i<j} omega_i omega_j (t_i - t_j)^2 (t_i + t_j)``, for
n >= 3 positive: ``omega_i omega_j`` rises with ``t_i + t_j`` at fixed difference and other tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

from flint import arb, arb_mat, ctx

from icl.checks import integer
from icl.rigor.balls import AngleRule, ball, chebyshev_to_gegenbauer, power, step, strip_error
from icl.rigor.enclose import Spectrum, nonnegative, scan, spectrum, upto
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal
from icl.tasks.base import MOST

_DEGREES, _OVERSAMPLING, _MOST_CELLS = 128, 16, 200
_DIGITS = 13.0  # of the means, absolute
_SHARE = 0.5  # of the least value at the ends, which the bound inside must reach
Cell = tuple[arb, arb | None]  # the ends in kappa; None is infinity


@dataclass(frozen=True)
class FormProof:
    """A lower bound on H over all kappa > 0 and all c, rounded down; minus infinity where it was given up."""

    margin: float
    cells: int


def certify(task: Zonal, n: int) -> FormProof:
    """Bound from below the rise of the risk when a matrix turns attention away, in units of its first term.

    Arguments are those of `icl.risk.certify_isotropy`, for affine, linear, quadratic, ReLU and cosine
    classes. A positive margin is a proof that every minimizer is a multiple of the identity. It takes seconds
    to a minute.

    Raises:
        ValueError: For other classes, and n below 2.
    """
    length = integer(n, "n", 2, int(MOST))
    with ctx.workprec(128):
        part = _expand(task)
        if part.first == 2 and length == 2:
            return FormProof(0.0, 0)
        start, margin = _near_zero(part, length)
        values = lru_cache(None)(partial(means, task.dim, length, part.degree[-1]))
        count, cells = 0, [(arb(64), None), (start, arb(64))] if len(part.degree) > 1 else []
        while cells:
            (left, right), count = cells.pop(), count + 1
            low = _lower_bound_on(part, length, left, right, values(left), values(right) if right else None)
            if low > _SHARE:
                margin = min(margin, low)
            elif count > _MOST_CELLS:
                return FormProof(-math.inf, count)
            else:
                middle = arb(float((left * right).sqrt())) if right else 2 * left
                cells += [(middle, right), (left, middle)]
        return FormProof(math.nextafter(float(margin.lower()), -math.inf), count)


def means(dim: int, n: int, degree: int, kappa: arb) -> list[arb]:
    """Return ``m_1, ..., m_degree``, ``m_l = E sum_i omega_i P_l(t_i)`` at ``kappa I``, kappa a float."""
    w, h = float(kappa), step(_DIGITS)
    order = math.ceil((_DIGITS + 6 + 0.1 * w**0.5 + math.log10(n)) * math.log(10) / (2 * math.log(2)))
    rule = AngleRule(
        dim, w, degree, lambda t: arb(0), lambda y: arb(0), order, 2.5 * _DIGITS + 15 + math.log(n)
    )
    points = scan(rule, n, h, 10.0**-_DIGITS, 1)
    law = arb_mat([[h * n * power(p.phi, n - 1)] for p in points])
    cosines = arb_mat([[p.first[m] for p in points] for m in range(degree + 1)]) * law
    first, last = points[0], points[-1]
    left = n * h * first.first[0] * arb(first.u).exp().exp() / (arb(h).exp() - 1)
    right = n * power(last.phi, n - 1) * (1 + h / arb(1).exp())
    error = ball(0, strip_error(h, 1) + left + right)
    return [row[0] + error for row in (chebyshev_to_gegenbauer(dim, degree) * cosines).table()[1:]]


@dataclass(frozen=True)
class _Expansion:
    """A class in units of its first part, as in `icl.risk.certificate`."""

    dim: int
    degree: list[int]
    ratio: list[arb]
    steep: list[arb]
    rest: arb
    table: arb_mat
    stretch: arb

    @property
    def first(self) -> int:
        return self.degree[0]

    @property
    def total(self) -> arb:
        return (
            sum((a * s for a, s in zip(self.ratio[1:], self.steep[1:], strict=True)), arb(0)) / self.steep[0]
            + self.rest
        )


def slope(task: Zonal, known: Spectrum) -> arb:
    """Return ``k'(1) = sum_l a_l P_l'(1)``."""
    d = task.dim
    if isinstance(task, ReLU):
        return arb(task.lipschitz) ** 2 / (3 * d)
    if isinstance(task, Cosine):
        square = arb(task.lipschitz) ** 2
        return square / (2 * d) * (1 - (-square).hypgeom_0f1(arb(d) / 2 + 1))
    return sum((a * _steep(d, k) for k, a in enumerate(known.a, 1)), arb(0))


def _steep(dim: int, degree: int) -> arb:
    """Return ``P_l'(1)``."""
    return arb(degree * (degree + dim - 2)) / (dim - 1)


def _expand(task: Zonal) -> _Expansion:
    dim, last = task.dim, _DEGREES
    if isinstance(task, Affine | Linear | Quadratic):
        last = 2
    elif isinstance(task, Cosine):
        last = 2 * math.ceil(task.lipschitz) + 20
    known = spectrum(task, last)
    degree = [k for k, a in enumerate(known.a, 1) if a > 0]
    a, steep = [known.a[k - 1] for k in degree], [_steep(dim, k) for k in degree]
    missing = nonnegative(slope(task, known) - sum((x * y for x, y in zip(a, steep, strict=True)), arb(0)))
    power = (degree[-1] - degree[0]) // degree[0]
    points = _OVERSAMPLING * (power + 1)
    theta = [arb.pi() * (2 * j + 1) / (2 * points * degree[0]) for j in range(points)]
    cosines = arb_mat([[(m * t).cos() for t in theta] for m in range(degree[-1] + 1)])
    polynomials = (chebyshev_to_gegenbauer(dim, degree[-1]) * cosines).table()
    missed = [[1 - x for x in polynomials[k]] for k in degree]
    table = arb_mat([[x / y for x, y in zip(row, missed[0], strict=True)] for row in missed])
    stretch = 1 / (power * arb.pi() / (2 * points)).cos()
    ratio = [x / a[0] for x in a]
    return _Expansion(dim, degree, ratio, steep, missing / (a[0] * steep[0]), table, stretch)


def _near_zero(part: _Expansion, n: int) -> tuple[arb, arb]:
    """Return a kappa and a bound on H below it."""
    if part.first == 1:
        kappa = arb(min(1.0, 0.05 / float(part.total + arb("1e-9"))))
        return kappa, 1 - 2 * kappa * part.total
    d = part.dim
    second = (1 - arb(1) / n) * (1 - arb(2) / n) * (1 - arb(1) / d) * 2 / ((d + 2) * (d - 1))
    kappa = arb(float(second * 3 / 70 / (1 + part.total)))
    return kappa, 1 - part.total * kappa * 7 / 3 / (second - kappa * 7 / 3)


def _lower_bound_on(
    part: _Expansion, n: int, left: arb, right: arb | None, before: list[arb], after: list[arb] | None
) -> arb:
    """Return a lower bound on H over all kappa between ``left`` and ``right`` and all c."""
    m, m_1, one = [before[k - 1] for k in part.degree], before[0], arb(1)
    if right is None or after is None:
        most, limit = min(m_1.upper() + (arb(n).log() / left).upper(), one), one
        rise = upto(most - m_1).upper()
        low, high = ([x + side * s * rise for x, s in zip(m, part.steep, strict=True)] for side in (-1, 1))
    else:
        delta, most = right - left, after[0].upper()
        rise = upto(most - m_1).upper()
        limit = min(one, (2 * right * most).upper(), (7 * right**3 / 6).upper() if part.first == 2 else one)
        half = [min((s * rise).upper(), (delta * rise).sqrt().upper()) / 2 for s in part.steep]
        bulge = (delta * rise * (2 * delta).exp() / 4).upper()
        ends = [after[k - 1] for k in part.degree]
        low = [
            max(((x + y) / 2 - r).lower(), min(x.lower(), y.lower()) - bulge)
            for x, y, r in zip(m, ends, half, strict=True)
        ]
        high = [
            min(((x + y) / 2 + r).upper(), max(x.upper(), y.upper()) + bulge)
            for x, y, r in zip(m, ends, half, strict=True)
        ]
    if part.first == 1:
        low[0], high[0] = m_1, most
    bottom, top = low[0].lower(), min(high[0].upper(), one)
    if not bottom > 0:
        return arb("-inf")
    low = [max(x.lower(), -limit, -one) for x in low]
    ratio = [(a * x / (bottom if x < 0 else top)).lower() for a, x in zip(part.ratio, low, strict=True)]
    curve = (arb_mat([[one, *ratio[1:]]]) * part.table).table()[0]
    least, largest = min(x.lower() for x in curve), max(x.upper() for x in curve)
    bound = (largest + least) / 2 - part.stretch * (largest - least) / 2 - part.rest * limit / bottom
    return bound.lower()
