r"""Lipschitz constants of the building blocks of softmax regression: proofs, and where they are attained.

One row of the matrix problem is a single regression with a data matrix A (n x p) and unknown x: logits
s = A x, u = exp(s), alpha = sum of u, f = u / alpha. The papers of this line assume ``|A| <= R`` (spectral
norm) and ``|x| <= R`` and bound ``|g(x) - g(y)| / |x - y|`` for each of these functions g. The domain is
convex, so the best constant is the largest norm of the derivative J_g(s) A, and ::

    sup over A, x of |J_g(A x) A|  =  R * sup over |s| <= R^2 of |J_g(s)|.

"At most" is submultiplicativity; `witness` builds an A with two columns that attains it. As a function of A
with x fixed the constant is the same number. `supremum_search` looks for both.

All values are logarithms, because what grows like exp(6 R^2) overflows float64 from R = 5. A function that is
not one of `FUNCTIONS` is a ValueError.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from icl.checks import affordable, integer, real, shown, tensor

__all__ = [
    "FUNCTIONS",
    "largest_exponential",
    "log_jacobian_norm",
    "log_norm",
    "proven_constant",
]
__all__ += ["smallest_normalizer", "witness", "worst_logits"]

#: Row functions whose Lipschitz constants are printed.
FUNCTIONS = ("u", "alpha", "1/alpha", "f")

_LN10 = math.log(10)


def log_jacobian_norm(function: str, s: Tensor, w: Tensor) -> Tensor:
    """Compute the natural logarithm of ``|J_g(s) w|``, (...), for logits s and any directions w, (..., n).

    It is -infinity where the derivative vanishes. Entries are not looked at: NaN gives NaN.
    """
    tensor(s, "s", "n", finite=False)
    tensor(w, "w", s.shape[-1], finite=False)
    try:
        torch.broadcast_shapes(s.shape, w.shape)  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise ValueError(
            f"s has shape {tuple(s.shape)}, w {tuple(w.shape)}: must broadcast"
        ) from None
    top = s.amax(-1, keepdim=True).detach()
    f = torch.softmax(s, -1)
    match (
        function if isinstance(function, str) else None
    ):  # an array would be compared entry by entry
        case "u":
            return ((s - top).exp() * w).square().sum(-1).log() / 2 + top.squeeze(-1)
        case "alpha":
            return (f * w).sum(-1).abs().log() + s.logsumexp(-1)
        case "1/alpha":
            return (f * w).sum(-1).abs().log() - s.logsumexp(-1)
        case "f":
            return (f * (w - (f * w).sum(-1, keepdim=True))).square().sum(-1).log() / 2
    raise _unknown(function)


def log_norm(function: str, s: Tensor) -> Tensor:
    """Compute the natural logarithm of ``|g(s)|``, (...), for logits s (..., n); NaN gives NaN."""
    tensor(s, "s", "n", finite=False)
    log_u, log_sum = (2 * s).logsumexp(-1) / 2, s.logsumexp(-1)
    norms = {"u": log_u, "alpha": log_sum, "1/alpha": -log_sum, "f": log_u - log_sum}
    if not isinstance(function, str) or function not in norms:
        raise _unknown(function)
    return norms[function]


def _unknown(function: str) -> ValueError:
    return ValueError(f"function is {shown(function)}; allowed: {', '.join(FUNCTIONS)}")


def _checked(n: int, R: float, reach: float = 1.0) -> tuple[int, float, float]:
    bounds = real(R, "R", 0, 1e3, above=True), real(reach, "reach", 0, 10, above=True)
    return integer(n, "n", 2, 10**7), *bounds


def proven_constant(function: str, n: int, R: float, reach: float = 1.0) -> float:
    r"""Compute log10 of our upper bound on the Lipschitz constant, valid for every R > 0 and all pairs.

    u: ``R e^{R^2}``, attained. alpha: R max ``|u|``, attained, from `largest_exponential`. 1/alpha:
    ``R e^{R^2/sqrt(n)} / n``. f: R / 2, attained in the limit of long x.

    There are n tokens, 2 to 10^7. R, at most 1000, bounds the spectral norm of A, and ``reach * R`` bounds
    ``|x|``; reach is at most 10, and 1 in the printed precondition.
    """
    n, R, reach = _checked(n, R, reach)
    radius = reach * R**2
    match (
        function if isinstance(function, str) else None
    ):  # an array would be compared entry by entry
        case "u":
            return math.log10(R) + radius / _LN10
        case "alpha":
            return math.log10(R) + largest_exponential(n, 2 * radius) / 2
        case "1/alpha":
            return math.log10(R / n) + radius / math.sqrt(n) / _LN10
        case "f":
            return math.log10(R / 2)
    raise _unknown(function)


def largest_exponential(n: int, radius: float) -> float:
    """Compute log10 of the largest sum of exp(s_i) over ``|s| <= radius``, s in R^n, n >= 2.

    At a stationary point ``e^{s_i}`` is a multiple of s_i, so there are at most two different entries; at
    a maximum at most one lies on the convex side (s_i > 1). Hence the maximizer is (a, b, ..., b), and
    one angle is left to scan.
    """
    n, radius = integer(n, "n", 2, 10**9), real(radius, "radius", 0, 1e8)
    return _best_angle("alpha", n, radius)[0] / _LN10


def _best_angle(function: str, n: int, radius: float) -> tuple[float, float]:
    """Return the largest logarithm of alpha, or of the slope of 1/alpha, over logits (a, b, ..., b).

    The second number is the angle with a = radius cos, b = radius sin / sqrt(n - 1).
    """
    low, high, log_others = (
        0.0,
        np.pi / 2 if function == "alpha" else 2 * np.pi,
        math.log(n - 1),
    )
    for _ in range(6):
        angle = np.linspace(low, high, 401)
        a, b = radius * np.cos(angle), radius * np.sin(angle) / math.sqrt(n - 1)
        value = log_alpha = np.logaddexp(a, b + log_others)
        if function == "1/alpha":
            value = np.logaddexp(2 * a, 2 * b + log_others) / 2 - 2 * log_alpha
        at, step = value.argmax(), angle[1] - angle[0]
        low, high = angle[at] - step, angle[at] + step
    return float(value[at]), float(angle[at])


def smallest_normalizer(n: int, R: float, reach: float = 1.0) -> float:
    r"""Compute log10 of beta, the smallest alpha over ``|A|, |x| <= R``: ``n e^{-R^2/sqrt(n)}``, attained.

    By the inequality of the means ``alpha >= n e^{mean of s}``, and by Cauchy-Schwarz the mean is at least
    ``-|s| / sqrt(n)``. Equality: all rows of A equal.
    """
    n, R, reach = _checked(n, R, reach)
    return math.log10(n) - reach * R**2 / math.sqrt(n) / _LN10


def witness(s: Tensor, w: Tensor, R: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return A (n, 2), x (2,) and v (2,) at which the norm of a derivative is attained.

    They satisfy ``A x = s``, ``A v = R w / |w|``, ``|A| = R``, ``|x| = |s| / R`` and ``|v| = 1``.

    Here s are logits with ``|s| <= R^2``, w a direction in their space, and ``|A|`` is the spectral norm.
    ValueError for other shapes, NaN, infinity, a direction that is zero, and logits longer than R^2.
    """
    tensor(s, "s", "n")
    tensor(w, "w", "n")
    if s.ndim != 1 or s.shape != w.shape or len(s) < 2:
        raise ValueError(
            f"s has shape {tuple(s.shape)}, w {tuple(w.shape)}: both must be (n,), n >= 2"
        )
    R = real(R, "R", 0, 1e3, above=True)
    if w.norm() == 0:
        raise ValueError("w is zero: must be a direction")
    if s.norm() > R**2 * (1 + 1e-6):
        raise ValueError(
            f"s has length {float(s.norm()):g}: must be at most R^2={R**2:g}"
        )
    w = w / w.norm()
    first = s / s.norm() if s.norm() > 0 else w
    Q = torch.linalg.qr(
        torch.stack([first, w], -1)
    ).Q  # orthonormal also where the two are parallel
    Q = Q * (Q[:, 0] @ first).sign()
    return R * Q, torch.stack([s.norm() / R, s.new_zeros(())]), Q.T @ w


def worst_logits(function: str, n: int, R: float) -> tuple[Tensor, Tensor]:
    """Return logits s (n,), ``|s| <= R^2``, and a unit w (n,) at which the derivative is (nearly) largest.

    u: one large logit. alpha: the maximizer of ``|u|``. 1/alpha: the best logits (a, b, ..., b), f: the best
    logits (a, b, c, ..., c), on grids of the sphere that are refined around the best.
    """
    n, R, _ = _checked(n, R)
    radius, one = R**2, torch.ones(n, dtype=torch.float64)
    unit = torch.zeros_like(one)
    unit[0] = 1.0
    match (
        function if isinstance(function, str) else None
    ):  # an array would be compared entry by entry
        case "u":
            return radius * unit, unit
        case (
            "alpha" | "1/alpha"
        ):  # |u| is the square root of an alpha at twice the logits
            best = _best_angle(
                function, n, 2 * radius if function == "alpha" else radius
            )[1]
            s = radius * (
                math.cos(best) * unit + math.sin(best) / math.sqrt(n - 1) * (one - unit)
            )
            f = torch.softmax(s, -1)
            return s, f / f.norm()
        case "f":
            affordable(n * n, 1e8, "n", n, "entries of a matrix")
            s = _best_levels(n, radius)
            f = torch.softmax(s, -1)
            return s, torch.linalg.eigh(torch.diag(f) - torch.outer(f, f)).eigenvectors[
                :, -1
            ]
    raise _unknown(function)


def _best_levels(n: int, radius: float) -> Tensor:
    """Return the logits (a, b, c, ..., c) of length ``radius`` with the largest norm of diag f - f f'."""
    others = n - 2
    counts = torch.tensor([1, 1, others], dtype=torch.float64)
    center, width = (
        (math.pi / 2, math.pi),
        torch.tensor([math.pi / 2, math.pi], dtype=torch.float64),
    )
    for _ in range(5):  # a grid of angles, refined around the best
        polar, azimuth = (
            torch.linspace(c - w, c + w, 241, dtype=torch.float64)
            for c, w in zip(center, width.tolist(), strict=True)
        )
        polar, azimuth = (
            t.flatten() for t in torch.meshgrid(polar, azimuth, indexing="ij")
        )
        point = torch.stack(
            [polar.cos(), polar.sin() * azimuth.cos(), polar.sin() * azimuth.sin()], -1
        )
        levels = radius * point / counts.clamp(min=1).sqrt()
        f = (
            levels - (levels + counts.log()).logsumexp(-1, keepdim=True)
        ).exp()  # of a single entry
        # On vectors (a, b, c, ..., c) it is C = diag(h) - root root', with one eigenvalue 0. The other two
        # follow from their sum, the trace, and from the sum of their squares, |C|^2.
        h, square = f * (counts > 0), counts * f**2
        trace = (h - square).sum(-1)
        norm = (h**2 - 2 * h * square).sum(-1) + square.sum(-1) ** 2
        best = (trace + (2 * norm - trace**2).clamp(min=0).sqrt()).argmax()
        center, width = (polar[best].item(), azimuth[best].item()), width / 20
    a, b, c = levels[best]
    return torch.cat([a[None], b[None], c.expand(others)])
