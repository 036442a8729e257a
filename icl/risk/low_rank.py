"""The exact risk when only a subspace matters (ITA slides, Theorem 4).

The subspace has the dimension k. The columns of B and B_perp are orthonormal bases of the subspace and of its
complement.

- Covariates are ``x = B u + B_perp v`` with independent ``u ~ U(S^{k-1})`` and ``v ~ U(S^{d-k-1})``. The
  query has u_q and v_q.
- Functions are ``f(x) = a' B' x`` with ``a ~ U(S^{k-1})`` (class ``F_B^lin``).
- The matrix is ``M = c B B' + e B_perp B_perp'``, so that the score of a token is ``c u.u_q + e v.v_q``.

The derivation of `icl.risk.exact` holds with ``tau = c (1 - u.u_q) + |e| (1 - v.v_q)`` in the place of
``w (1 - x.x_q)``. The sign of e does not matter, because v and -v have the same law. The variogram of the
class is ``(1 - u.u_q) / k``, so that the sum over degrees has the only term a_1 = ``1 / k``. The chapter
``notebooks/theorem4_low_rank`` proves that no matrix, symmetric or not, has a smaller risk than the best of
these matrices.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import roots_gegenbauer

from icl.checks import broadcast, integer, real, reals
from icl.risk.numerics.result import Risk
from icl.tasks.base import CONTEXT_RANGE, MAX_DIM, NOISE_RANGE, Array

# smaller terms than exp(-_CUT) times the leading one are dropped
_CUT = 42.0
# more exponentials or angles take seconds
_MAX_WORK, _MAX_NODES = 1e8, 5000
# low_rank_risk raises where two quadrature rules differ by more than this share
_TOLERANCE = 1e-7


def low_rank_risk(
    dim: int, rank: int, c: float, e: float, n: ArrayLike, noise_std: ArrayLike
) -> Risk:
    """Compute the exact risk of ``M = c B B' + e B_perp B_perp'`` on the linear low-rank class.

    Args:
        dim: Dimension d of the covariates.
        rank: Dimension k of the subspace, 1 <= rank < dim.
        c: Factor inside the subspace, at least 0.
        e: Factor outside of it. Its sign does not matter. Time grows with ``c e``.
        n: Context length; several take little longer than one.
        noise_std: Standard deviation sigma of the label noise, which broadcasts with ``n``.

    Raises:
        ValueError: If an argument is out of range, if c and e, alone or together, are too large, or if two
            quadrature rules differ by more than a share of 1e-7.
    """
    dim, rank = integer(dim, "dim", 2, MAX_DIM), integer(rank, "rank", 1)
    if rank >= dim:
        raise ValueError(f"rank={rank}: must be below dim={dim}")
    c = real(c, "c", 0)
    e = abs(real(e, "e"))
    lengths = reals(n, "n", *CONTEXT_RANGE, whole=True)
    variance = reals(noise_std, "noise_std", *NOISE_RANGE) ** 2
    # this raises for shapes that do not broadcast
    broadcast(n=lengths, noise_std=variance)
    nodes = [_count_angles(rank, c), _count_angles(dim - rank, e)]
    # these are steps in u = log s, with the s of `icl.risk.exact`
    step, coarse_step = 0.25, 0.375
    # Each pair of angles is used at up to (_CUT + 14) / step points u, so that `work` is about the number of
    # exponentials. For a small c + e it is far below _MAX_WORK.
    seen = min(2 * (c + e) + 1, _CUT + 14)
    work = nodes[0] * nodes[1] * seen / step
    # S^0 needs two angles for every c, but u runs up to 2 (c + e)
    if max(nodes) > _MAX_NODES or work > _MAX_WORK or c + e > _MAX_NODES:
        raise ValueError(f"c={c:g}, e={e:g}: too large, alone or together")
    if lengths.size == 0:
        raise ValueError(f"n has shape {lengths.shape}: must not be empty")
    # the coarse rule has fewer angles, but one or two angles are exact
    fewer = [count if count <= 2 else 3 * count // 4 for count in nodes]
    fine = _integrate(dim, rank, c, e, lengths.ravel(), nodes, step)
    coarse = _integrate(dim, rank, c, e, lengths.ravel(), fewer, coarse_step)
    error = np.max(np.abs(coarse / fine - 1), axis=0)
    if not np.all(error <= _TOLERANCE):
        worst = np.argmax(error)
        raise ValueError(
            f"c={c:g}, e={e:g}, n={lengths.flat[worst]:g}: two quadrature rules differ by {error[worst]:.1e}"
        )
    rows = np.stack([*fine, error]).reshape(3, *lengths.shape)
    bias, noise, error, variance = np.broadcast_arrays(*rows, variance)
    return Risk(bias[()], variance * noise, error[()])


def _count_angles(dim: int, w: float) -> int:
    """Return how many angles on S^{dim-1} are enough for the kernel ``exp(w cos)``."""
    # without a kernel the integrands are linear in the cosine
    if w == 0:
        return 1
    # S^0 has two points. A huge w would give infinity, which is not an integer.
    return 2 if dim == 1 else 24 + math.ceil(min(4 * w, _MAX_WORK))


def _integrate(
    dim: int, rank: int, c: float, e: float, n: Array, nodes: list[int], step: float
) -> Array:
    """Return bias and noise / sigma^2, shape (2, lengths).

    ``nodes`` are the numbers of angles inside and outside the subspace, and ``step`` is that of the trapezoid
    rule in u = log s. A *token* is a pair of angles, one inside and one outside, with its tau and its
    probability p. As in `icl.risk.exact`, z is exp(u - tau), and phi is the mean of exp(-z) over tokens.
    """
    # these are 1 - u.u_q and 1 - v.v_q of the module's docstring
    inside, p_inside = _make_angles(rank, nodes[0])
    outside, p_outside = _make_angles(dim - rank, nodes[1])
    # `gap` is 1 - u.u_q of each token
    gap = np.repeat(inside, outside.size)
    tau = c * gap + e * np.tile(outside, inside.size)
    p = np.outer(p_inside, p_outside).ravel()

    # The trapezoid rule begins at this u. For small u the integrand of the noise is about n exp(2u)
    # E[exp(-2 tau)], and the integral about r = E[exp(-2 tau)] / (n E[exp(-tau)]^2), but at most one. At the
    # first u the integrand is exp(-_CUT) min(r, 1).
    log_max_n = math.log(n.max())
    by_mean = -log_max_n - math.log(p @ np.exp(-tau))
    by_one = -0.5 * (log_max_n + math.log(p @ np.exp(-2 * tau)))
    u = min(by_mean, by_one) - _CUT / 2
    # from here on tokens are sorted by tau; `below` are the probabilities of the tokens before each
    order = np.argsort(tau)
    gap, tau, p = gap[order], tau[order], p[order]
    below = np.concatenate([[0.0], np.cumsum(p)])
    # log 0 = -infinity is right here
    with np.errstate(divide="ignore"):
        logs = np.log([p, p * gap])
    # These are the logarithms of the parts of E exp(-k tau) and E gap exp(-k tau) that come from the last
    # tokens. The axes are k = 1, 2; without and with the gap; and the first of these tokens.
    log_tail = np.pad(
        [logs - tau, logs - 2 * tau], [(0, 0), (0, 0), (0, 1)], constant_values=-np.inf
    )
    log_tail = np.logaddexp.accumulate(log_tail[..., ::-1], axis=-1)[..., ::-1]
    # More points would not fit into the cache, or would compute exponentials that are known.
    steps = step * np.arange(min(32, max(1, 2**16 // tau.size)))
    total = np.zeros((2, n.size))
    # for a larger u, exp(-z) is at most exp(-148)
    while u < 2 * (c + e) + 5:
        # To machine precision, exp(-z) is zero for tokens before `begin`, and 1 - z for tokens from `end` on.
        begin, end = np.searchsorted(tau, [u - 6, u + steps[-1] + _CUT])
        p_seen, p_gap = p[begin:end], p[begin:end] * gap[begin:end]
        # z is (points, tokens), and `missed` is 1 - exp(-z)
        z = np.exp(steps)[:, None] * np.exp(u - tau[begin:end])
        missed = -np.expm1(-z)
        # `once` is z exp(-z)
        once = z * (1 - missed)
        twice = z * once
        # these are the parts of E z and E z^2 of the tokens from `end` on, without and with the gap
        linear, square = (
            np.exp(k * (u + steps[:, None]) + log_tail[k - 1, :, end]) for k in (1, 2)
        )
        one_minus_phi = below[begin] + missed @ p_seen + linear[:, 0]
        # rounding could make phi zero and log phi infinite
        log_phi = np.log1p(-np.minimum(one_minus_phi, 1 - 1e-16))[:, None]
        # n phi^(n-1) and n (n-1) phi^(n-2), (points, lengths), of the integrals in `icl.risk.exact`
        single = n * np.exp((n - 1) * log_phi)
        pair = n * (n - 1) * np.exp((n - 2) * log_phi)
        total[0] += (
            2 * (twice @ p_gap + square[:, 1]) @ single + (once @ p_gap + linear[:, 1]) ** 2 @ pair
        )
        total[1] += (twice @ p_seen + square[:, 0]) @ single
        # phi falls in u, so that all later integrands are negligible, too
        if np.all((n - 1) * log_phi[-1] < -_CUT):
            break
        u += step * steps.size
    # both terms of the bias have the factor 1 / k
    return step * total / [[rank], [1]]


@lru_cache(maxsize=256)
def _make_angles(dim: int, nodes: int) -> tuple[Array, Array]:
    """Return ``1 - cos`` at the nodes of a Gauss rule for the angle on S^{dim-1}, and their probabilities.

    On S^0 the rule has two points, whatever number above one is asked for.
    """
    # a single node is at the mean of the cosine
    if nodes == 1:
        return np.ones(1), np.ones(1)
    if dim == 1:
        return np.array([0.0, 2.0]), np.array([0.5, 0.5])
    cosine, p = roots_gegenbauer(nodes, (dim - 2) / 2)
    return 1 - cosine, p / p.sum()
