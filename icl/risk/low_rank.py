r"""The exact risk when only a subspace matters (ITA slides, Theorem 4).

The columns of B are an orthonormal basis of the subspace, of dimension k, and those of B_perp one of its
complement.

- Covariates are ``x = B u + B_perp v`` with independent ``u ~ U(S^{k-1})`` and ``v ~ U(S^{d-k-1})``. Those of
  the query are u_q and v_q.
- Functions are ``f(x) = a' B' x`` with ``a ~ U(S^{k-1})`` (class ``F_B^lin``).
- The matrix is ``M = c B B' + e B_perp B_perp'``, so that the score of a token is ``c u.u_q + e v.v_q``.

Tokens are again independent given the query, and the derivation of `icl.risk.exact` holds with ``tau = c (1 -
u.u_q) + |e| (1 - v.v_q)``: the sign of e does not matter, because v and -v have the same law. The variogram
``(1 - u.u_q) / k`` is linear, so the pair term is a single square. No matrix, symmetric or not, has a smaller
risk than the best of these (proved in the chapter ``notebooks/theorem4_low_rank``).
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

# terms below exp(-_CUT) of the leading one are dropped
_CUT = 42.0
# low_rank_risk raises if it needs more exponentials or angles than this, which take seconds
_MAX_WORK, _MAX_NODES = 1e8, 5000
# low_rank_risk raises where two rules differ by more than this
_TOLERANCE = 1e-7


def low_rank_risk(
    dim: int, rank: int, c: float, e: float, n: ArrayLike, noise_std: ArrayLike
) -> Risk:
    """Compute the exact risk of ``M = c B B' + e B_perp B_perp'`` on the linear low-rank class.

    The covariates have dimension ``dim`` and the subspace has dimension ``rank``, 1 <= rank < dim. c is at
    least 0, and the sign of e does not matter; cost grows with ``c e``. ``n`` and ``noise_std`` broadcast,
    and several cost little more than one.

    Raises:
        ValueError: Also if c or e exceeds about 1,000, if they are too large together, or if two rules differ
            by more than 1e-7.
    """
    dim, rank = integer(dim, "dim", 2, MAX_DIM), integer(rank, "rank", 1)
    if rank >= dim:
        raise ValueError(f"rank={rank}: must be below dim={dim}")
    c, e, lengths = (real(c, "c", 0), abs(real(e, "e")), reals(n, "n", *CONTEXT_RANGE, whole=True))
    variance = reals(noise_std, "noise_std", *NOISE_RANGE) ** 2
    # this raises for shapes that do not fit
    broadcast(n=lengths, noise_std=variance)
    nodes = [_count(rank, c), _count(dim - rank, e)]
    step, coarse_step = 0.25, 0.375
    # The steps are those of the trapezoid rule in u, and the work is a number of exponentials. The range of
    # tau is 2 (c + e). `_integrate` takes the points u to u + 8 at once, and needs the tau from u - 6 to u +
    # 8 + _CUT for them: a part `seen` of the range. As u runs over about the same range, each pair of angles
    # is needed at about seen / step points.
    seen = min(2 * (c + e) + 1, _CUT + 14)
    work = nodes[0] * nodes[1] * seen / step
    # S^0 needs two angles for every c, so that the work may be small, but u runs over 2 (c + e)
    if max(nodes) > _MAX_NODES or work > _MAX_WORK or c + e > _MAX_NODES:
        raise ValueError(f"c={c:g}, e={e:g}: too large, alone or together")
    if lengths.size == 0:
        raise ValueError(f"n has shape {lengths.shape}: must not be empty")
    # the coarser rule; one angle, and the two points of S^0, are exact
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


def _count(dim: int, w: float) -> int:
    """Return how many angles on S^{dim-1} are enough for the kernel ``exp(w cos)``.

    For w = 0 the cosine enters at most linearly, and one angle is enough; S^0 is two points. Where more than
    `_MAX_NODES` are needed, the caller raises.
    """
    if w == 0:
        return 1
    # without the minimum a huge w would give infinity, which is not an integer
    return 2 if dim == 1 else 24 + math.ceil(min(4 * w, _MAX_WORK))


def _integrate(
    dim: int, rank: int, c: float, e: float, n: Array, nodes: list[int], step: float
) -> Array:
    """Return bias and noise / sigma^2 for these numbers of angles inside and outside the subspace.

    Shape (2, lengths): all lengths share the points of the trapezoid rule in u = log s. A *token* is a pair
    of nodes, one inside and one outside, with its tau and its probability p. As in `icl.risk.exact`,
    z is exp(u - tau), and phi is the mean of exp(-z) over tokens.
    """
    # With the vectors u and v of the module's docstring, `inside` is 1 - u.u_q, `outside` is 1 - v.v_q, and
    # `gap` is 1 - u.u_q of every pair of nodes. Below, u is log s.
    inside, p_inside = _angles(rank, nodes[0])
    outside, p_outside = _angles(dim - rank, nodes[1])
    gap = np.repeat(inside, outside.size)
    tau = c * gap + e * np.tile(outside, inside.size)
    p = np.outer(p_inside, p_outside).ravel()

    # The rule begins here. Integrands rise like n exp(2u) E[exp(-2 tau)], and their integral, the sum of the
    # squared weights, is about E[exp(-2 tau)] / (n E[exp(-tau)]^2), and at most one. Up to this u the
    # integrand is below exp(-_CUT) times either.
    log_max_n = math.log(n.max())
    u = (
        min(
            -log_max_n - math.log(p @ np.exp(-tau)),
            -0.5 * (log_max_n + math.log(p @ np.exp(-2 * tau))),
        )
        - _CUT / 2
    )
    # from here on tokens are sorted by tau; `below` is the probability of those before each
    order = np.argsort(tau)
    gap, tau, p = gap[order], tau[order], p[order]
    below = np.concatenate([[0.0], np.cumsum(p)])
    # a gap may be zero
    with np.errstate(divide="ignore"):
        logs = np.log([p, p * gap])
    # Logarithms of E exp(-k tau) and E gap exp(-k tau) over the tokens from each one on, to the farthest. The
    # axes are k = 1, 2, without and with the gap, and the first token.
    log_tail = np.pad(
        [logs - tau, logs - 2 * tau], [(0, 0), (0, 0), (0, 1)], constant_values=-np.inf
    )
    log_tail = np.logaddexp.accumulate(log_tail[..., ::-1], axis=-1)[..., ::-1]
    # as many points are evaluated at once as fit into the cache
    steps = step * np.arange(min(32, max(1, 2**16 // tau.size)))
    total = np.zeros((2, n.size))
    # where u exceeds the largest tau by 5, exp(-z) is at most exp(-148)
    while u < 2 * (c + e) + 5:
        # to machine precision, exp(-z) is zero for tokens before `begin`, and 1 - z for those from `end` on
        begin, end = np.searchsorted(tau, [u - 6, u + steps[-1] + _CUT])
        p_seen, p_gap = p[begin:end], p[begin:end] * gap[begin:end]
        # z is (points, tokens), with the points u + steps; `missed` is 1 - exp(-z)
        z = np.exp(steps)[:, None] * np.exp(u - tau[begin:end])
        missed = -np.expm1(-z)
        # `once` is z exp(-z)
        once = z * (1 - missed)
        twice = z * once
        # means of z and z^2 over the tokens from `end` on, (points, 2): without and with the gap
        linear, square = (
            np.exp(k * (u + steps[:, None]) + log_tail[k - 1, :, end]) for k in (1, 2)
        )
        one_minus_phi = below[begin] + missed @ p_seen + linear[:, 0]
        # rounding may lift 1 - phi to one
        log_phi = np.log1p(-np.minimum(one_minus_phi, 1 - 1e-16))[:, None]
        # n phi^(n-1) and n (n-1) phi^(n-2), (points, lengths), of the integrals in `icl.risk.exact`
        single = n * np.exp((n - 1) * log_phi)
        pair = n * (n - 1) * np.exp((n - 2) * log_phi)
        total[0] += (
            2 * (twice @ p_gap + square[:, 1]) @ single + (once @ p_gap + linear[:, 1]) ** 2 @ pair
        )
        total[1] += (twice @ p_seen + square[:, 0]) @ single
        # phi falls in u, and phi^(n-1) has vanished at the last point
        if np.all((n - 1) * log_phi[-1] < -_CUT):
            break
        u += step * steps.size
    # the variogram, and the coefficient a_1 of a pair, have the factor 1 / k
    return step * total / [[rank], [1]]


@lru_cache(maxsize=256)
def _angles(dim: int, nodes: int) -> tuple[Array, Array]:
    """Return Gauss nodes ``1 - cos`` of the angle on S^{dim-1} and their probabilities.

    S^0 is two points, whatever the number of nodes above one.
    """
    # `_count` asks for one node where the cosine enters at most linearly, so that its mean, zero, is enough,
    # on S^0 too
    if nodes == 1:
        return np.ones(1), np.ones(1)
    if dim == 1:
        return np.array([0.0, 2.0]), np.array([0.5, 0.5])
    cosine, p = roots_gegenbauer(nodes, (dim - 2) / 2)
    return 1 - cosine, p / p.sum()
