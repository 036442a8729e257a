r"""How much a row of softmax regression bends, for any number of tokens.

With scores s, ``f = softmax(s)`` and a target b in the simplex, the second derivative of ``|f - b|^2 / 2``
along v is linear in b: its extremes are at corners, ``b = e_1``. With ``u = v - f.v`` and ``S = sum f u^2``
it is

    Q = -f_1 (1 - 2 f_1) u_1^2 + 2 sum_{i>1} f_i^2 u_i^2 + (f_1 - |f|^2) S.

*Three groups.* Let ``p = f_1``, q the largest other probability (of token 2) and t the rest, the *tail*, with
largest probability ``phi <= min(q, t)`` and sum of squares F, ``phi^2 <= F <= phi t``. Over the tail, let
rho^2 be the sum of ``v_i^2``, ``tau = sum f_i v_i`` and ``U = sum f_i u_i^2``; put m = f.v. Then
``U <= phi rho^2 - 2 m tau + t m^2`` and ``tau^2 <= F rho^2 <= phi t rho^2``. With
``kappa = p (1 - p) - q^2 - F`` and ``x = tau / sqrt(phi t)``, so that ``x^2 <= rho^2``,

    Q = p (kappa - 1 + 2 p) u_1^2 + q (kappa + 2 q) u_2^2 + sum_{tail} f_i (kappa + 2 f_i) u_i^2.

*From above.* Q rises with kappa, because its factor is S >= 0: take ``F = phi^2``. The last sum is at most
``c U``, ``c = max(kappa + 2 phi, 0)``. *From below*, with -Q for Q: take ``F = phi t``. Minus the last sum is
at most ``c U``, ``c = max(-kappa, 0)``. If ``lambda >= c phi``, then ``rho^2 >= x^2`` gives
``lambda |v|^2 -+ Q >= (v_1, v_2, x) A (v_1, v_2, x)'`` with a matrix A of p, t and phi alone.

That A is positive semidefinite is shown in boxes of balls, by its leading minors. Without a tail, at t = 0,
``det A = lambda^2 (lambda -+ 4 g(1 - p))``, with g of two tokens (`two_token_end`), may be zero. Next to it
det A is a polynomial in t, and ``(det A - det A(t = 0)) / t > 0`` is shown instead.

*A corner*, from below. Where q and phi are at least 0.46, all others have together r <= 0.08, and
``|f|^2 <= C = 0.5096 < 0.92``, so that two terms of -Q are negative and
``-Q <= (1 + C) sum_others f_i u_i^2 <= (1 + C) r ((1 + r) |v_others| + 0.7094 |(v_2, v_3)|)^2``, which is at
most ``0.202 |v|^2``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_poly, ctx

from icl_rigor.balls import between

Box = tuple[tuple[float, float], ...]
_SMALLEST = 2.0**-12  # boxes are not halved further
_CORNER = arb("0.46")
_STRIP = 2.0**-6  # t up to which the quotient is tried


@dataclass(frozen=True)
class CurvatureProof:
    """Whether every eigenvalue is at most (``side`` 1) or at least (-1) ``end``, and in how many boxes.

    ``where`` is a box (p, t, square root of phi / min(q, t)) in which the proof failed, None if it succeeded.
    """

    side: int
    end: float
    boxes: int
    where: Box | None

    @property
    def proved(self) -> bool:
        """Whether no box is left."""
        return self.where is None


def two_token_end(side: int) -> arb:
    """Return the largest ``side * 4 g(p)``, ``g = p^2 (1 - p) (2 - 3 p)``: p = (15 - side sqrt(33)) / 24."""
    p = (15 - side * arb(33).sqrt()) / 24
    return side * 4 * p**2 * (1 - p) * (2 - 3 * p)


def prove(side: int, scale: float = 1.0) -> CurvatureProof:
    """Prove that ``side`` times an eigenvalue of the Hessian is at most ``scale * two_token_end(side)``."""
    with ctx.workprec(80):
        end = scale * two_token_end(side)
        boxes: list[Box] = [
            ((0.0, 1.0), (0.0, _STRIP), (0.0, 1.0)),
            ((0.0, 1.0), (_STRIP, 1.0), (0.0, 1.0)),
        ]
        count, floats = 0, side * float(end)
        while boxes:
            box, count = boxes.pop(), count + 1
            if box[0][0] + box[1][0] > 1 or _holds(box, side, end, scale >= 1):
                continue
            widths = [high - low for low, high in box]
            widest = max(range(3), key=lambda i: widths[i] * (1.0, 1.0, 0.25)[i])
            if widths[widest] < _SMALLEST:
                return CurvatureProof(side, floats, count, box)
            boxes += _halves(box, widest)
        return CurvatureProof(side, floats, count, None)


def _halves(box: Box, axis: int) -> Iterator[Box]:
    low, high = box[axis]
    for half in ((low, (low + high) / 2), ((low + high) / 2, high)):
        yield (*box[:axis], half, *box[axis + 1 :])


def root(x: arb) -> arb:
    """Return the square root of a ball that encloses a number >= 0."""
    return between(max(arb(0), x.lower()).sqrt(), x.upper().sqrt())


def _holds(box: Box, side: int, end: arb, touching: bool) -> bool:
    """Return whether A is positive semidefinite in a box; ``touching``: whether it is at t = 0."""
    p, t, r = (between(*ends) for ends in box)
    q = between(max(0.0, 1 - box[0][1] - box[1][1]), 1 - box[0][0] - box[1][0])
    small = t if t <= q else between(min(q.lower(), t.lower()), min(q.upper(), t.upper()))
    spread = r * (t if t <= q else root(small * t))
    phi = r**2 * small
    if side < 0 and q > _CORNER and phi > _CORNER:
        return True
    pull = _pull(p, q, t, phi, side)
    c = between(max(arb(0), pull.lower()), max(arb(0), pull.upper()))
    one, two, det = _minors(p, q, t, phi, spread, c, side, end)
    if not (end > c * phi and one > 0 and two > 0):
        return False
    if det > 0:
        return True
    if not (touching and box[1][0] == 0 and t <= q and (pull > 0 or pull < 0)):
        return False
    x, poly = arb_poly([0, 1]), arb_poly
    rest, tail = poly([1 - p, -1]), r**2 * x
    lean = _pull(poly([p]), rest, x, tail, side) if pull > 0 else poly([0])
    _, _, D = _minors(poly([p]), rest, x, tail, r * x, lean, side, poly([end]))
    return bool(poly(D.coeffs()[1:])(t) > 0)


def _kappa(p: Any, q: Any, t: Any, phi: Any, side: int) -> Any:
    return p * (1 - p) - q * q - (phi * phi if side > 0 else phi * t)


def _pull(p: Any, q: Any, t: Any, phi: Any, side: int) -> Any:
    """Return ``side * c`` before it is cut at zero."""
    kappa = _kappa(p, q, t, phi, side)
    return kappa + 2 * phi if side > 0 else -kappa


def _minors(
    p: Any, q: Any, t: Any, phi: Any, spread: Any, c: Any, side: int, end: Any
) -> tuple[Any, Any, Any]:
    """Return the leading minors of A, in the order x, v_2, v_1; for balls, or polynomials in t of balls."""
    kappa = _kappa(p, q, t, phi, side)
    a, b = side * p * (kappa - 1 + 2 * p), side * q * (kappa + 2 * q)
    # u_1 and u_2 in (v_1, v_2, x)
    one, two = ((1 - p, -q, -spread), (-p, 1 - q, -spread))
    mean = (p, q, spread)
    A = [
        [-a * one[i] * one[j] - b * two[i] * two[j] - c * t * mean[i] * mean[j] for j in range(3)]
        for i in range(3)
    ]
    for i in range(3):
        A[i][2] += c * spread * mean[i]
        A[2][i] += c * spread * mean[i]
    A[0][0] += end
    A[1][1] += end
    A[2][2] += end - c * phi
    minor = A[2][2] * A[1][1] - A[1][2] * A[1][2]
    det = (
        A[0][0] * minor
        - A[0][1] * (A[0][1] * A[2][2] - A[1][2] * A[0][2])
        + A[0][2] * (A[0][1] * A[1][2] - A[1][1] * A[0][2])
    )
    return A[2][2], minor, det
