r"""Lipschitz constants of the building blocks of softmax regression, proved.

One row of the matrix problem is a single regression with a data matrix A (n x p) and unknown x: logits
s = A x, u = exp(s), alpha = sum of u, f = u / alpha. The papers of this line assume ``|A| <= R`` (spectral
norm) and ``|x| <= R`` and bound ``|g(x) - g(y)| / |x - y|`` for each of these functions g. The domain is
convex, so the best constant is the largest norm of the derivative J_g(s) A, and ::

    sup over A, x of |J_g(A x) A|  =  R * sup over |s| <= R^2 of |J_g(s)|.

"At most" is submultiplicativity, and an A with two columns attains it (chapter *Lipschitz bounds and step
sizes*). As a function of A with x fixed the constant is the same number.

All values are logarithms, because what grows like exp(6 R^2) overflows float64 from R = 5.
"""

from __future__ import annotations

import math

import numpy as np

from icl.checks import choice, integer, real

__all__ = ["largest_exponential", "proven_constant", "smallest_normalizer"]

#: Row functions whose Lipschitz constants are printed.
FUNCTIONS = ("u", "alpha", "1/alpha", "f")


def proven_constant(function: str, n: int, R: float, reach: float = 1.0) -> float:
    r"""Compute log10 of our upper bound on the Lipschitz constant, valid for every R > 0 and all pairs.

    u: ``R e^{R^2}``, attained. alpha: R max ``|u|``, attained, from `largest_exponential`. 1/alpha:
    ``R e^{R^2/sqrt(n)} / n``. f: R / 2, attained in the limit of long x.

    There are n tokens, 2 to 10^7. R, at most 1000, bounds the spectral norm of A, and ``reach * R`` bounds
    ``|x|``; reach is at most 10, and 1 in the printed precondition. ValueError for a function that is not
    one of `FUNCTIONS`.
    """
    choice(function, "function", FUNCTIONS)
    n, R, reach = _checked(n, R, reach)
    longest = reach * R**2
    if function == "u":
        return math.log10(R) + longest / math.log(10)
    if function == "alpha":
        # |u| is the square root of the sum of exponentials of twice the logits
        return math.log10(R) + largest_exponential(n, 2 * longest) / 2
    if function == "1/alpha":
        return math.log10(R / n) + longest / math.sqrt(n) / math.log(10)
    return math.log10(R / 2)


def largest_exponential(n: int, radius: float) -> float:
    """Compute log10 of the largest sum of exp(s_i) over ``|s| <= radius``, s in R^n, n >= 2.

    At a stationary point ``e^{s_i}`` is a multiple of s_i, so there are at most two different entries; at
    a maximum at most one lies on the convex side (s_i > 1). Hence the maximizer is (a, b, ..., b), and
    one angle is left to scan.
    """
    n = integer(n, "n", 2, 10**9)
    radius = real(radius, "radius", 0, 1e8)
    low = 0.0
    high = np.pi / 2
    for _ in range(6):  # a grid of angles, refined around the best
        angle = np.linspace(low, high, 401)
        a = radius * np.cos(angle)
        b = radius * np.sin(angle) / math.sqrt(n - 1)
        log_sum = np.logaddexp(a, b + math.log(n - 1))
        best = int(log_sum.argmax())
        step = angle[1] - angle[0]
        low = angle[best] - step
        high = angle[best] + step
    return float(log_sum[best]) / math.log(10)


def smallest_normalizer(n: int, R: float, reach: float = 1.0) -> float:
    r"""Compute log10 of beta, the smallest alpha: ``n e^{-reach R^2/sqrt(n)}``.

    It is the smallest over ``|A| <= R`` and ``|x| <= reach R``.

    By the inequality of the means ``alpha >= n e^{mean of s}``, and by Cauchy-Schwarz the mean is at least
    ``-|s| / sqrt(n)``. Equality: all rows of A equal.
    """
    n, R, reach = _checked(n, R, reach)
    return math.log10(n) - reach * R**2 / math.sqrt(n) / math.log(10)


def _checked(n: int, R: float, reach: float) -> tuple[int, float, float]:
    return (
        integer(n, "n", 2, 10**7),
        real(R, "R", 0, 1e3, above=True),
        real(reach, "reach", 0, 10, above=True),
    )
