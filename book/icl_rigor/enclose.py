r"""The population risk in balls.

As in `icl.risk.numerics.integrals`, with ``g = z exp(-z)``, ``e_l = E[P_l g]`` and ``m_l = e_0 - e_l``. A
class is known by its coefficients a_l up to a degree L, their whole sum A and its variogram
``sum_l a_l (1 - P_l)``. The degrees beyond L have together the weight
``rest = A - sum_{l<=L} a_l`` and contribute exactly

    sum_{l>L} a_l m_l^2 = 2 e_0 (E[gamma g] - sum_{l<=L} a_l m_l) - rest e_0^2 + sum_{l>L} a_l e_l^2,

of which only the last sum is not computed. By Bessel's inequality ``sum_l N_l e_l^2 <= E g^2``, with the
numbers N_l of harmonics, which do not fall, it lies between 0 and
``rest / N_{L+1} (E g^2 - sum_{l<=L} N_l e_l^2)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, arb_mat, ctx

from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal
from icl_rigor import EnclosedRisk, Interval
from icl_rigor.balls import (
    AngleRule,
    Point,
    Row,
    chebyshev_to_gegenbauer,
    multiplicity,
    power,
    smaller,
    step,
    widen,
)

_PRECISION = 128  # bits
_ATTEMPTS = 4  # each with twice as many degrees of a spectrum without end


@dataclass(frozen=True)
class Spectrum:
    """Coefficients ``a_1, ..., a_L``, the sum of all, and the variogram with its bound on an ellipse."""

    a: list[arb]
    whole: arb
    variogram: Row
    growth: Callable[[float], arb]

    @property
    def rest(self) -> arb:
        """Weight of the degrees beyond L, at least 0."""
        return nonnegative(self.whole - sum(self.a, arb(0)))


def nonnegative(x: arb) -> arb:
    """Return the part of a ball that is not negative, for a number that is known to be so."""
    high = x.upper()
    return arb(high / 2, high / 2) if x.lower() < 0 else x


def spectrum(task: Zonal, degree: int) -> Spectrum:
    """Return a class up to a degree; ValueError for classes without closed forms here."""
    d = task.dim
    if type(task) not in (Affine, Linear, Quadratic, ReLU, Cosine):
        raise ValueError(f"task={task!r}: allowed are Affine, Linear, Quadratic, ReLU and Cosine")
    scale, a = arb(task.lipschitz) ** 2, [arb(0)] * degree  # type: ignore[attr-defined]
    if isinstance(task, ReLU):
        return _relu(d, scale, a)
    if isinstance(task, Cosine):
        return _cosine(d, arb(task.lipschitz), a)
    if isinstance(task, Quadratic):
        a[1] = scale * 2 * (d - 1) / arb(d * d * (d + 2))
        return Spectrum(
            a,
            a[1],
            lambda t: scale * 2 * t.sin() ** 2 / (d * (d + 2)),
            lambda y: scale * cosh(y) ** 2,
        )
    a[0] = scale / d if isinstance(task, Linear) else scale / (3 * d)
    return Spectrum(
        a, a[0], lambda t: a[0] * 2 * (t / 2).sin() ** 2, lambda y: a[0] * (1 + cosh(y))
    )


def cosh(y: float) -> arb:
    """Return the hyperbolic cosine: ``|cos|`` and ``|sin|`` are at most that where ``|Im| <= y``."""
    return arb(y).cosh()


def _relu(d: int, scale: arb, a: list[arb]) -> Spectrum:
    # f = (l1 - l2)/2 q.x + (l1 + l2)/2 |q.x| + b, and E[|t| P_{l+2}] / E[|t| P_l] = -(l - 1) / (l + d + 1)
    a[0] = scale / (6 * d)
    mean = (arb(d) / 2).gamma() / (arb(d + 1) / 2).gamma() / arb.pi().sqrt()
    moment = mean
    for degree in range(2, len(a) + 1, 2):
        moment *= arb(3 - degree) / (degree + d - 1)
        a[degree - 1] = scale / 6 * multiplicity(d, degree) * moment**2
    size = scale / (3 * d)

    def variogram(t: arb) -> arb:
        return size * (2 * (t / 2).sin() ** 2 - (t.sin() - t * t.cos()) / arb.pi())

    return Spectrum(
        a,
        size / 2 + scale / 6 * (arb(1) / d - mean**2),
        variogram,
        lambda y: size * (1 + 4 * cosh(y)),
    )


def _cosine(d: int, b: arb, a: list[arb]) -> Spectrum:
    nu = arb(d) / 2 - 1
    front = (nu + 1).gamma() * (2 / b) ** nu
    for degree in range(2, len(a) + 1, 2):
        a[degree - 1] = multiplicity(d, degree) * (front * b.bessel_j(nu + degree)) ** 2
    once, twice = (front * b.bessel_j(nu), (nu + 1).gamma() / b**nu * (2 * b).bessel_j(nu))
    whole, half = (1 + twice) / 2 - once**2, arb(1) / 2

    # k(1) - k(cos t), with |x - x'| = 2 sin(t/2), |x + x'| = 2 cos(t/2)
    def variogram(t: arb) -> arb:
        near, far = (_wave(d, 2 * b * x) for x in ((t / 2).sin(), (t / 2).cos()))
        return half * (1 + twice - near - far)

    def growth(y: float) -> arb:
        # |cos(b u.v)| <= cosh(b |Im v|), and the imaginary parts of sin(t/2), cos(t/2) are at most sinh(y/2);
        # or gamma = E (cos(b u.x) - cos(b u.x'))^2 / 2, with |b u.x| <= size and |sin s| <= |s| cosh |s|
        size = b * cosh(y).sqrt()
        return smaller(1 + (2 * b * (arb(y) / 2).sinh()).cosh(), 2 * (size * size.cosh()) ** 4)

    return Spectrum(a, whole, variogram, growth)


def _wave(d: int, r: arb) -> arb:
    """Return ``E cos(u . v)`` for ``|v| = r`` and u uniform on the sphere."""
    return (-(r**2) / 4).hypgeom_0f1(arb(d) / 2)


def risk(task: Zonal, w: float, n: int, noise_std: float, rtol: float) -> EnclosedRisk:
    """Return `icl_rigor.enclose_risk` of checked arguments."""
    with ctx.workprec(_PRECISION):
        degree = int(
            32 + 4 * math.sqrt(w) + 2 * getattr(task, "lipschitz", 0) * isinstance(task, Cosine)
        )
        if isinstance(task, Affine | Linear | Quadratic):
            degree = 2
        variance = arb(noise_std) ** 2
        for _ in range(_ATTEMPTS):
            bias, noise = _sums(task, w, n, degree, rtol)
            if wide(bias) <= rtol or not isinstance(task, ReLU):
                break
            degree *= 2
        noise *= variance
        out = EnclosedRisk(interval(bias), interval(noise), interval(bias + noise))
    for name, (low, high) in (("bias", out.bias), ("noise", out.noise)):
        if not high - low <= rtol * high:
            raise ValueError(
                f"{task!r}, w={w:g}, n={n}: {name} enclosed in ({low}, {high}), wider than rtol={rtol:g}"
            )
    return out


def wide(x: arb) -> float:
    """Return the relative width of a ball, infinite around zero."""
    return float(x.rad() * 2 / x.lower()) if x > 0 else math.inf


def interval(x: arb) -> Interval:
    """Return the ends of a ball, rounded outwards; those of zero are zero."""
    low, high = (float(end) for end in (x.lower(), x.upper()))
    return (math.nextafter(low, -math.inf) if low else 0.0), (
        math.nextafter(high, math.inf) if high else 0.0
    )


def _sums(task: Zonal, w: float, n: int, degree: int, rtol: float) -> tuple[arb, arb]:
    """Return bias and noise / sigma^2."""
    known = spectrum(task, degree)
    if n == 1:  # the weight of one token is one
        return 2 * known.whole, arb(1)
    digits = 0.45 - math.log10(rtol)
    h = step(digits)
    order = math.ceil(
        (digits + 6 + 0.1 * w**0.5 + math.log10(n)) * math.log(10) / (2 * math.log(2))
    )
    rule = AngleRule(
        task.dim, w, degree, known.variogram, known.growth, order, 2.5 * digits + 15 + math.log(n)
    )
    points = scan(rule, n, h, 10.0**-digits, 2)
    gegenbauer = chebyshev_to_gegenbauer(task.dim, degree)
    pair = _pairs(task.dim, known, gegenbauer, points)
    bias, noise = arb(0), arb(0)
    for p, two in zip(points, pair, strict=True):
        one = n * power(p.phi, n - 1)
        noise += one * p.second[0]
        bias += one * 2 * p.second[1] + n * (n - 1) * power(p.phi, n - 2) * two
    # left of all points: phi <= 1, z falls by exp(-h) a point, and there exp(-z) >= exp(-exp(u))
    first, last = points[0], points[-1]
    left = (2 * arb(first.u).exp()).exp() / ((2 * arb(h)).exp() - 1)
    # right of them phi falls; the sum of z^2 exp(-z) over points is at most 1 / h + 4 / e^2, its maximum.
    # gamma <= 2 A, and the pair term is at most 4 A (E[z exp(-z)])^2 <= 4 A E[z^2 exp(-z)] phi
    right = n * power(last.phi, n - 1) * (1 / arb(h) + 4 / arb(2).exp())
    noise += upto(left * n * first.second[0] + right)
    bias += upto(
        left * (2 * n * first.second[1] + n * (n - 1) * pair[0]) + 4 * n * known.whole * right
    )
    return widen(h * bias, h, 2), widen(h * noise, h, 2)


def upto(x: arb) -> arb:
    """Return the ball between 0 and the upper end of x."""
    high = abs(x).upper()
    return arb(high / 2, high / 2)


def scan(rule: AngleRule, n: int, h: float, tolerance: float, power: int) -> list[Point]:
    """Return the points ``u = k h`` until what is left out on both sides is about ``tolerance``."""
    left: list[Point] = []
    low = math.floor((-math.log(n) + min(0.0, math.log(tolerance) / power)) / h)
    high, points = low, left
    while not points or not n**3 * points[-1].phi.upper() ** (n - 1) < tolerance:
        points += list(rule.points(range(high, high + 48), h))
        high += 48
    return points


def _pairs(dim: int, known: Spectrum, gegenbauer: arb_mat, points: list[Point]) -> list[arb]:
    """Return ``sum_l a_l m_l^2`` at the points."""
    a, rest = known.a, known.rest
    cosines = arb_mat([[p.first[m] for p in points] for m in range(len(a) + 1)])
    table = (gegenbauer * cosines).table()
    count = [multiplicity(dim, k + 1) for k in range(len(a) + 1)]
    out = []
    for k, p in enumerate(points):
        e = [row[k] for row in table]
        m = [e[0] - x for x in e[1:]]
        inside = sum((c * x for c, x in zip(a, m, strict=True)), arb(0))
        energy = (
            p.square
            - e[0] * e[0]
            - sum((c * x * x for c, x in zip(count, e[1:], strict=False)), arb(0))
        )
        total = sum((c * x * x for c, x in zip(a, m, strict=True)), arb(0))
        total += 2 * e[0] * (p.first[-1] - inside) - rest * e[0] * e[0]
        out.append(total + upto(rest / count[-1] * nonnegative(energy)))
    return out
