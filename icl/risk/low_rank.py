r"""The exact risk when only a subspace matters (ITA slides, Theorem 4).

Covariates are ``x = B u + B_perp v`` with independent ``u ~ U(S^{k-1})``, ``v ~ U(S^{d-k-1})`` and
functions ``f(x) = a' B' x`` with ``a ~ U(S^{k-1})`` (class ``F_B^lin``). For
``M = c B B' + e B_perp B_perp'`` the score of a token is ``c u.u_q + e v.v_q``, so tokens are
again independent given the query and the derivation of `icl.risk.exact` holds with
``tau = c (1 - u.u_q) + |e| (1 - v.v_q)``; the variogram ``(1 - u.u_q) / k`` is linear, so the
pair term is a single square. Proved: this risk, for every n and sigma. That the optimum over
all symmetric M has this two-parameter form is Theorem 4's symmetry argument and is measured,
not proved, beyond its assumptions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import roots_gegenbauer

from icl.checks import integer, real
from icl.tasks.base import MOST, MOST_DIM, Array

_CUT = 42.0  # everything below exp(-_CUT) of the leading term is dropped
_WORK = 2e9  # more exponentials than this (half a minute) are refused
_TOLERANCE = 1e-7  # values on which two rules differ by more are refused


@dataclass(frozen=True)
class LowRankRisk:
    """Risk of ``M = c B B' + e B_perp B_perp'``, split as in `icl.risk.Risk`.

    Attributes:
        bias: Mean squared distance of the noiseless prediction to ``f(x_q)``.
        noise: ``sigma^2 E sum omega_i^2``.
        error: Estimated relative error of both: what a coarser rule changes.
    """

    bias: float
    noise: float
    error: float

    @property
    def total(self) -> float:
        """The risk, bias + noise."""
        return self.bias + self.noise


def low_rank_risk(dim: int, rank: int, c: float, e: float, n: int, noise_std: float) -> LowRankRisk:
    """Compute the exact risk on the linear low-rank class.

    Args:
        dim: Dimension d of the covariates.
        rank: Dimension k of the subspace, 1 <= k < d.
        c: Coefficient on ``B B'``, >= 0.
        e: Coefficient on ``B_perp B_perp'``; its sign does not matter.
        n: Context length, >= 1.
        noise_std: Noise standard deviation, >= 0.

    Returns:
        The risk; its cost grows with ``c e (c + e)``.

    Raises:
        ValueError: If an argument is out of range, if c and e are too large together, or if two rules
            differ by more than 1e-7.
    """
    dim, rank = integer(dim, "dim", 2, MOST_DIM), integer(rank, "rank", 1)
    if rank >= dim:
        raise ValueError(f"rank={rank}: must be below dim={dim}")
    c, e, length = real(c, "c", 0), abs(real(e, "e")), float(integer(n, "n", 1, MOST))
    variance = real(noise_std, "noise_std", 0, MOST) ** 2
    nodes = [2 if k == 1 else 24 + math.ceil(min(4 * w, _WORK)) for k, w in ((rank, c), (dim - rank, e))]
    if nodes[0] * nodes[1] * 8 * (c + e + 1) > _WORK:
        raise ValueError(f"c={c:g}, e={e:g}: too large together, {nodes[0]} x {nodes[1]} angles are needed")
    fewer = [2 if many == 2 else 3 * many // 4 for many in nodes]
    bias, noise = _integrate(dim, rank, c, e, length, nodes, 0.25)
    coarse = _integrate(dim, rank, c, e, length, fewer, 0.375)
    error = max(abs(coarse[0] / bias - 1), abs(coarse[1] / noise - 1))
    if not error <= _TOLERANCE:
        raise ValueError(f"c={c:g}, e={e:g}, n={n:g}: two quadrature rules differ by {error:.1e}")
    return LowRankRisk(bias, variance * noise, error)


def _integrate(
    dim: int, rank: int, c: float, e: float, n: float, nodes: list[int], step: float
) -> tuple[float, float]:
    """Return bias and noise / sigma^2 for these numbers of angles inside and outside the subspace."""
    near, p_near = _angles(rank, nodes[0])
    far, p_far = _angles(dim - rank, nodes[1])
    gap = np.repeat(near, far.size)  # 1 - u.u_q of every pair of nodes
    tau = c * gap + e * np.tile(far, near.size)
    p = np.outer(p_near, p_far).ravel()

    u = -math.log(n) - math.log(p @ np.exp(-tau)) - _CUT / 2
    u = min(u, -0.5 * (math.log(n) + math.log(p @ np.exp(-2 * tau))) - _CUT / 2)
    bias = noise = 0.0
    while u < 2 * (c + e) + 5:  # until phi^(n-1) has vanished
        z = np.exp(np.minimum(u - tau, 6.0))
        decay = np.exp(-z)
        missed = float(p @ -np.expm1(-z))
        log_phi = math.log1p(-missed) if missed < 0.5 else math.log(max(float(p @ decay), 1e-300))
        if (n - 1) * log_phi < -_CUT:
            break
        single = n * math.exp((n - 1) * log_phi)
        weight = p * z * z * decay
        bias += single * 2 * float(weight @ gap) / rank
        noise += single * float(weight.sum())
        if n > 1:
            bias += n * (n - 1) * math.exp((n - 2) * log_phi) * float((p * z * decay) @ gap) ** 2 / rank
        u += step
    return step * bias, step * noise


def _angles(dim: int, nodes: int) -> tuple[Array, Array]:
    """Return Gauss nodes ``1 - cos`` of the angle on S^{dim-1} and their probabilities; S^0 is two points.

    ``24 + 4 w`` nodes are enough for the kernel ``exp(w cos)``.
    """
    if dim == 1:
        return np.array([0.0, 2.0]), np.array([0.5, 0.5])
    if dim == 2:
        return 1 - np.cos((np.arange(nodes) + 0.5) * np.pi / nodes), np.full(nodes, 1 / nodes)
    cosine, p = roots_gegenbauer(nodes, (dim - 2) / 2)
    return 1 - cosine, p / p.sum()
