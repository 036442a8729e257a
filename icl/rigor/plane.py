r"""What a small irrelevant part ``e B_perp B_perp'`` adds to the risk of ``c B B'`` (Theorem 4), in balls.

With tokens ``x = B u + B_perp v`` as in `icl.risk.low_rank`, the score of a token is ``c u.u_q + e s``. Here
``s = v.v_q`` is independent of the token's u, of mean zero and variance ``1 / (d - k)``. From here on, u is
the variable of `icl.risk.integrals`. Every mean F(u) over one token becomes the mean of ``F(u + e s)``:
an irrelevant direction blurs u. To second order in e, F becomes ``F + e^2 F'' / (2 (d - k))``. Let gamma be
the variogram ``(1 - cos) / k``, ``A = E[(2 gamma + sigma^2) z^2 exp(-z)]`` and ``m = E[gamma z exp(-z)]``.
The risk is ``int n A phi^(n-1) + n (n-1) k m^2 phi^(n-2) du``, and integration by parts in u gives

    risk(c, e) = risk(c, 0) + e^2 D(c) / (2 (d - k)) + O(e^4),
    D = int n A ((n-1) phi^{n-2} 2 phi'' + (n-1)(n-2) phi^{n-3} phi'^2)
        + n (n-1) k ((n-2) phi^{n-3} (m^2 phi'' - 2 m m' phi') - 2 m'^2 phi^{n-2}) du.

D depends on k, n, sigma and c, not on d. The trapezoid rule is bounded by the same integral with absolute
values, in which z has at most the power four.
"""

from __future__ import annotations

import math

from flint import arb, ctx

from icl.checks import integer, real
from icl.rigor import Interval
from icl.rigor.balls import AngleRule, Point, ball, power, step, strip_error
from icl.rigor.enclose import interval, spectrum, upto
from icl.tasks import Linear
from icl.tasks.base import MOST

_DIGITS = 12.0
_END = 4.2  # the points end at u = 2 c + 4.2, beyond which z > 66


def blur(rank: int, c: float, n: int, noise_std: float) -> Interval:
    """Enclose D: positive where a small e raises the risk of ``c B B'``, in units of ``e^2 / (2 (d - k))``.

    The subspace has dimension ``rank``, 2 to 100; c is at most 300 and n is 2 to 1000.
    """
    k, c, n = integer(rank, "rank", 2, 100), real(c, "c", 0, 300), integer(n, "n", 2, 1000)
    noise_std = real(noise_std, "noise_std", 0, MOST)
    with ctx.workprec(128):
        variance, h, known = arb(noise_std) ** 2, step(_DIGITS), spectrum(Linear(k), 1)
        order = math.ceil((_DIGITS + 8 + 0.1 * c**0.5) * math.log(10) / (2 * math.log(2)))
        rule = AngleRule(k, c, 1, known.variogram, known.growth, order, 3 * _DIGITS + 10)
        low, high = math.floor((-math.log(n) - 1.2 * _DIGITS) / h), math.ceil((2 * c + _END) / h)
        points = list(rule.points(range(low, high + 1), h))
        whole = sum((_terms(p, p.phi, k, n, variance, 1) for p in points), arb(0))
        most = sum((_terms(p, p.phi, k, n, variance, -1) for p in points), arb(0))
        # left: at least two factors z, no more than four means, each without its exp(-z); right: exp(-66)
        left = (
            _terms(points[0], arb(1), k, n, variance, -1)
            * (4 * arb(points[0].u).exp()).exp()
            / ((2 * arb(h)).exp() - 1)
        )
        right = 20 * n**3 * k * (4 + variance) * arb(66) ** 4 * arb(-66).exp()
        error = strip_error(h, 4)
        total = h * (whole + ball(0, upto(left + right))) + ball(
            0, error * h * (most + left + right) / (1 - error)
        )
        return interval(total)


def _terms(p: Point, phi: arb, k: int, n: int, variance: arb, sign: int) -> arb:
    """Return the integrand of D; with ``sign`` -1 every term is taken by its absolute value."""
    one, two, m, m_2 = p.first[0], p.second[0], p.first[-1], p.second[-1]
    A = 2 * m_2 + variance * two
    bend, fall, rise = two - sign * one, -sign * one, m - sign * m_2  # phi'', phi', m'
    powers = [power(phi, max(n - j, 0)) for j in (2, 3)]
    out = A * (n - 1) * (2 * powers[0] * bend + (n - 2) * powers[1] * one * one)
    out += (
        (n - 1)
        * k
        * (
            (n - 2) * powers[1] * (m * m * bend - sign * 2 * m * rise * fall)
            - sign * 2 * rise * rise * powers[0]
        )
    )
    return n * out
