r"""The exact risk when only a subspace matters (ITA slides, Theorem 4).

Tokens are ``x = B u + B_perp v`` with independent ``u ~ U(S^{k-1})``, ``v ~ U(S^{d-k-1})`` and
functions ``f(x) = a' B' x`` with ``a ~ U(S^{k-1})`` (class ``F_B^lin``). For
``M = c B B' + e B_perp B_perp'`` the score of a token is ``c u.u_q + e v.v_q``, so tokens are
again independent given the query and the derivation of `icl.risk` goes through with
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

from icl.checks import integer

_CUT = 42.0


@dataclass(frozen=True)
class LowRankRisk:
    """Risk of ``M = c B B' + e B_perp B_perp'``, split as in `icl.risk.Risk`.

    Attributes:
        bias: Mean squared distance of the noiseless prediction to ``f(x_q)``.
        noise: ``sigma^2 E sum omega_i^2``.
    """

    bias: float
    noise: float

    @property
    def total(self) -> float:
        """The risk, bias + noise."""
        return self.bias + self.noise


def low_rank_risk(dim: int, rank: int, c: float, e: float, n: int, noise_std: float) -> LowRankRisk:
    """Exact risk on the linear low-rank class.

    Args:
        dim: Dimension d of the tokens.
        rank: Dimension k of the subspace, 1 <= k < d.
        c: Coefficient on ``B B'``, >= 0.
        e: Coefficient on ``B_perp B_perp'``; its sign does not matter.
        n: Context length, >= 1.
        noise_std: Noise standard deviation, >= 0.

    Returns:
        The risk, relative error about 1e-10 for c and e up to about 100.

    Raises:
        ValueError: If an argument is out of range.
    """
    dim, rank, n = integer(dim, "dim", 2), integer(rank, "rank", 1), integer(n, "n", 1)
    if rank >= dim:
        raise ValueError(f"rank={rank}: must be below dim={dim}")
    for name, value, least in (("c", c, 0), ("e", e, -math.inf), ("noise_std", noise_std, 0)):
        if not (math.isfinite(value) and value >= least):
            raise ValueError(f"{name}={value!r}: must be a finite number >= {least}")
    near, p_near = _factor(rank, c)
    far, p_far = _factor(dim - rank, abs(e))
    gap = np.repeat(near, far.size)  # 1 - u.u_q of every pair of nodes
    tau = c * gap + abs(e) * np.tile(far, near.size)
    p = np.outer(p_near, p_far).ravel()

    step = 0.25
    u = -math.log(n) - math.log(p @ np.exp(-tau)) - _CUT / 2
    u = min(u, -0.5 * (math.log(n) + math.log(p @ np.exp(-2 * tau))) - _CUT / 2)
    bias = noise = 0.0
    while u < 2 * (c + abs(e)) + 5:  # trapezoid, until phi^(n-1) has vanished
        z = np.exp(np.minimum(u - tau, 6.0))
        decay = np.exp(-z)
        missed = p @ -np.expm1(-z)
        log_phi = math.log1p(-missed) if missed < 0.5 else math.log(max(p @ decay, 1e-300))
        if (n - 1) * log_phi < -_CUT:
            break
        single = n * math.exp((n - 1) * log_phi)
        weight = p * z * z * decay
        bias += single * 2 * (weight @ gap) / rank
        noise += single * weight.sum()
        if n > 1:
            bias += n * (n - 1) * math.exp((n - 2) * log_phi) * ((p * z * decay) @ gap) ** 2 / rank
        u += step
    return LowRankRisk(step * bias, noise_std**2 * step * noise)


def _factor(dim: int, w: float):
    """``1 - cos`` of the angle and its probabilities on S^{dim-1}, exact for the kernel ``exp(w cos)``.

    Gauss quadrature with the law of the cosine as its weight; S^0 is two points.
    """
    if dim == 1:
        return np.array([0.0, 2.0]), np.array([0.5, 0.5])
    nodes = 24 + math.ceil(4 * w)
    if dim == 2:
        return 1 - np.cos((np.arange(nodes) + 0.5) * np.pi / nodes), np.full(nodes, 1 / nodes)
    cosine, p = roots_gegenbauer(nodes, (dim - 2) / 2)
    return 1 - cosine, p / p.sum()
