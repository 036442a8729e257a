r"""Means over the tokens in ball arithmetic (Arb, by python-flint), with a bound for every error of a rule.

As in `icl.risk.exact`, ``z = exp(u - w (1 - cos theta))`` and ``phi(u) = E exp(-z)``. Two rules are bounded:

- *Angles.* The angle has the density ``sin^{d-2} / c_d`` on (0, pi). Each of several equal panels has a Gauss
  rule of p nodes. Let an integrand be at most M on the ellipse with foci at the ends of a panel of half
  length s and half axes ``s (rho +- 1 / rho) / 2``. The rule is then wrong by at most
  ``8 s M rho^{1-2p} / (rho - 1)``: a polynomial of degree 2p - 1 comes within ``2 M rho^{1-2p} / (rho - 1)``.
  On all ellipses ``|Im theta| <= y``. With ``w sinh y <= 1.3`` the argument of z is at most 1.3 and
  ``|z| <= exp(u + w (cosh y - 1))``, so that ``|z^j exp(-z)| <= min(|z|, j / (e cos 1.3))^j``.
- *u.* The trapezoid rule of step h for f, analytic for ``|Im u| < pi / 2``, is wrong by at most
  ``(N_+ + N_-) / (exp(2 pi a / h) - 1)`` with N the integrals of ``|f|`` at ``Im u = +-a`` (Trefethen and
  Weideman, 2014, Theorem 5.1). There ``|exp(-z)| = exp(-|z| cos a)``: the means of ``z^j h exp(-z)``, h >= 0,
  are at most ``cos(a)^-j`` times their values at the real point ``u + log cos a``, and phi at most its value
  there. N is at most ``cos(a)^-j`` times the integral itself: the error is relative, and known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from flint import arb, arb_mat, ctx

Row = Callable[[arb], arb]
_ARGUMENT = 1.3  # largest argument of z on an ellipse
_STRIP = 1.45  # imaginary part a of u, below pi / 2
_RHO = 2.0
_DEAD = 4.7  # panels where z > exp(4.7) = 110 have exp(-z) < 1e-47
_ROUND = 1e-6  # by which windows in tau are wider, for rounding
_BLOCK = 24  # points in u at once


def ball(x: float | arb, radius: float | arb = 0) -> arb:
    """Return the ball around x of this radius."""
    return arb(x, arb(radius).abs_upper())


@lru_cache(maxsize=8)
def _gauss(order: int, prec: int) -> list[tuple[arb, arb]]:
    """Return Gauss-Legendre nodes and weights on (-1, 1) at this precision in bits."""
    return [arb.legendre_p_root(order, k, weight=True) for k in range(order)]


def step(digits: float) -> float:
    """Return the step in u for a relative error ``10**-digits`` of the trapezoid rule: exact in binary."""
    h = (
        2
        * math.pi
        * _STRIP
        / (math.log(2) - 2 * math.log(math.cos(_STRIP)) + digits * math.log(10))
    )
    return math.floor(1024 * h) / 1024


def widen(total: arb, h: float, power: int) -> arb:
    """Return what the trapezoid sum ``total`` of an integrand with factors ``z^power`` encloses.

    The integrand is a sum of terms >= 0, each bounded as above: the error is relative to the integral.
    """
    return total / (1 + ball(0, strip_error(h, power)))


def strip_error(h: float, power: int) -> arb:
    """Return what bounds the error of the trapezoid rule, for integrands as in `widen` of integral one."""
    return 2 / (arb(_STRIP).cos() ** power * ((2 * arb.pi() * arb(_STRIP) / arb(h)).exp() - 1))


def chebyshev_to_gegenbauer(dim: int, degree: int) -> arb_mat:
    """Return the matrix K >= 0 with ``P_l(cos t) = sum_m K_lm cos(m t)``, shape (degree + 1, degree + 1)."""
    if dim == 2:
        return arb_mat([[int(m == k) for m in range(degree + 1)] for k in range(degree + 1)])
    q, nu = [arb(1)], arb(dim) / 2 - 1
    for k in range(degree):
        q.append(q[-1] * (nu + k) / (k + 1))
    rows = []
    for k in range(degree + 1):
        products = [q[i] * q[k - i] for i in range(k + 1)]
        row, whole = [arb(0)] * (degree + 1), sum(products, arb(0))
        for i, product in enumerate(products):
            row[abs(k - 2 * i)] += product / whole
        rows.append(row)
    return arb_mat(rows)


def multiplicity(dim: int, degree: int) -> int:
    """Return the number of spherical harmonics of a degree >= 1 on ``S^{dim-1}``."""
    if dim == 2:
        return 2
    return (2 * degree + dim - 2) * math.comb(degree + dim - 3, degree - 1) // degree


@dataclass(frozen=True)
class Point:
    """Means at one u: phi, ``E[h z exp(-z)]`` and ``E[h z^2 exp(-z)]`` of each row, ``E[z^2 exp(-2 z)]``."""

    u: float
    phi: arb
    first: list[arb]
    second: list[arb]
    square: arb


@dataclass(frozen=True)
class Panel:
    """Ends in tau, rounded; probability; ``exp(-tau)`` at the nodes; rows times probability there."""

    start: float
    end: float
    mass: arb
    decay: list[arb]
    rows: list[list[arb]]


@dataclass(frozen=True)
class AngleRule:
    """Gauss rules on panels, for rows ``cos(m theta)``, m = 0..degree, and one row ``extra``.

    ``growth`` bounds ``|extra|`` on all ellipses, of half height ``height``; ``far`` is how far beyond u, in
    tau, the panels left out begin.
    """

    dim: int
    w: float
    degree: int
    extra: Row
    growth: Callable[[float], arb]
    order: int
    far: float

    @property
    def panels(self) -> int:
        """Number of panels."""
        return math.ceil(math.pi / 2 * (_RHO - 1 / _RHO) / 2 / self._max_height)

    @property
    def _max_height(self) -> float:
        """Largest height of an ellipse."""
        return min(math.asinh(_ARGUMENT / max(self.w, 1e-300)), 1.0, 6 / max(self.degree, 1)) * (
            1 - 1e-9
        )

    @property
    def height(self) -> float:
        """Height y of all ellipses, rounded up."""
        return math.pi / (2 * self.panels) * (_RHO - 1 / _RHO) / 2 * (1 + 1e-12)

    def points(self, us: Sequence[int], h: float) -> Iterator[Point]:
        """Yield the means at ``u = k h`` for every k of ``us``."""
        for start in range(0, len(us), _BLOCK):
            block = [k * h for k in us[start : start + _BLOCK]]
            yield from self._block(block)

    @cached_property
    def _tables(self) -> list[Panel]:
        half = arb.pi() / (2 * self.panels)
        density = half / beta(self.dim)
        out = []
        for i in range(self.panels):
            theta = [half * (2 * i + 1 + x) for x, _ in _gauss(self.order, ctx.prec)]
            p = [
                density * weight * t.sin() ** (self.dim - 2)
                for t, (_, weight) in zip(theta, _gauss(self.order, ctx.prec), strict=True)
            ]
            decay = [(arb(-self.w) * 2 * (t / 2).sin() ** 2).exp() for t in theta]
            rows = [
                [(m * t).cos() * q for t, q in zip(theta, p, strict=True)]
                for m in range(self.degree + 1)
            ]
            rows.append([self.extra(t) * q for t, q in zip(theta, p, strict=True)])
            start, end = (self.w * (1 - math.cos(math.pi * k / self.panels)) for k in (i, i + 1))
            out.append(Panel(start, end, sum(p, arb(0)), decay, rows))
        return out

    def _block(self, us: list[float]) -> Iterator[Point]:
        low, high = us[0], us[-1]
        first, last = (
            min(low - _DEAD - _ROUND, self._tables[-1].end),
            max(high, 0) + self.far + _ROUND,
        )
        near = sum((panel.mass for panel in self._tables if panel.end < first), arb(0))
        used = [panel for panel in self._tables if panel.end >= first and panel.start <= last]
        decay = [e for panel in used for e in panel.decay]
        rows = arb_mat(
            [[q for panel in used for q in panel.rows[k]] for k in range(self.degree + 2)]
        )
        scales = [arb(u).exp() for u in us]
        z = [[e * s for s in scales] for e in decay]
        lost = [[(-x).expm1() for x in line] for line in z]
        g = [
            [x * (1 + y) for x, y in zip(*lines, strict=True)]
            for lines in zip(z, lost, strict=True)
        ]
        second = [[x * y for x, y in zip(*lines, strict=True)] for lines in zip(z, g, strict=True)]
        square = [[x * x for x in line] for line in g]
        means, two = (
            rows * arb_mat(g),
            arb_mat([rows.table()[0], rows.table()[-1]]) * arb_mat(second),
        )
        one = arb_mat([rows.table()[0]])
        missed, squares = one * -arb_mat(lost), one * arb_mat(square)
        # what Gauss rules lose, in units of the bound on an integrand
        y, growth = self.height, self.growth(self.height)
        rule = 8 * arb(_RHO) ** (1 - 2 * self.order) / (arb(_RHO) - 1)
        rule *= arb.pi() / 2 * arb(y).cosh() ** (self.dim - 2) / beta(self.dim)
        peak = 1 / (arb(1).exp() * arb(_ARGUMENT).cos())
        for k, u in enumerate(us):
            # of z on the ellipses
            size = (arb(u) + arb(self.w) * (arb(y).cosh() - 1)).exp()
            # panels left out: z is at most that, or beyond exp(_DEAD)
            cut = (arb(min(u, 0)) - self.far).exp()
            dead = (-arb(_DEAD).exp() + 2 * _DEAD).exp() if u > _DEAD else arb(0)
            loss = [
                rule * smaller(size, peak) + cut + dead,
                rule * smaller(size, 2 * peak) ** 2 + cut**2 + dead,
            ]
            angles = [(m * arb(y)).cosh() for m in range(self.degree + 1)] + [growth]
            fall = near + missed[0, k] + ball(0, rule * smaller(size, arb(2)) + cut + dead)
            yield Point(
                u,
                clip(1 - fall),
                [means[m, k] + ball(0, loss[0] * angle) for m, angle in enumerate(angles)],
                [two[m, k] + ball(0, loss[1] * angle) for m, angle in ((0, arb(1)), (1, growth))],
                squares[0, k] + ball(0, rule * smaller(size, peak) ** 2 + cut**2 + dead),
            )


def smaller(a: arb, b: arb) -> arb:
    """Return an upper bound on the smaller of two numbers."""
    return min(a.upper(), b.upper())


def between(low: float | arb, high: float | arb) -> arb:
    """Return a ball that contains all numbers from ``low`` to ``high``."""
    return arb(low).union(arb(high))


def power(p: arb, exponent: int) -> arb:
    """Return ``p^exponent`` for a ball that encloses a number >= 0; Arb's own power is NaN around zero."""
    return between(max(arb(0), p.lower()) ** exponent, p.upper() ** exponent)


def clip(p: arb) -> arb:
    """Return the part in [0, 1] of a ball that encloses a probability."""
    return p.intersection(arb(0.5, 0.5))


def beta(dim: int) -> arb:
    """Return ``int_0^pi sin(t)^(dim - 2) dt``."""
    return arb.pi().sqrt() * (arb(dim - 1) / 2).gamma() / (arb(dim) / 2).gamma()
