r"""Nodes for the integrals of the exact risk.

Two variables: ``s = e^u`` and the angle theta between token and query, whose law on the
sphere is ``sin(theta)^(d-2)``. With the window w, ``tau = w (1 - cos theta)`` and ``z = exp(u - tau)``,
everything the risk of n tokens needs is a power of ``phi = E exp(-z)``, where E is the mean over theta, or
a mean over theta of a function of z that vanishes like ``z`` for small z
and like ``exp(-z)`` for large z: seen from u, only tau between ``u - 4`` and ``u + 42``
matters, and all such means are analytic in u for ``|Im u| < pi / 2``. So

- s from 0 to where powers of phi begin to fall is one panel in s: everything is entire there;
- from there on panels in u, at first short, then growing with u, because for u >> 1 the means
  follow the density of tau, which is smooth on the scale of tau itself;
- the nodes of one panel in u share their angles, laid where one of them needs them, so that means
  are matrix products; very wide panels (narrow kernels, few tokens: the nearest-neighbor regime)
  have angles for each node, so that the cost grows with the logarithm of w.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, gammaln, ive

from icl.covariates import invert_cap_mass
from icl.tasks.base import Array

# terms below exp(-_CUT) of the leading one are dropped
_CUT = 42.0
# exp(-36) is below the rounding of a number of order one
_VANISHED = 36.0
# one panel integrates exp(-8 s) over 0 < s < 1 to machine precision
_FIRST = 8.0
# 1 - exp(-x) is at least this times x, for x up to one
_CHORD = 0.63
# panels in u wider than this have angles for each node
_MAX_SHARED_WIDTH = 30.0
# one table has at most this many panels (16 x 16), because larger tables only take memory
_MAX_TABLE = 2**8
# functions that are correlated over smaller angles need panels of angles for their covariance
_SHORT = 0.1
# the density of panels is sampled at these points
_FINE = np.linspace(0, 1, 160)
_GAUSS = lru_cache(np.polynomial.legendre.leggauss)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Panels of k nodes in u, each panel with m angles and their probabilities."""

    # u and weight have shape (panels, k)
    u: Array
    weight: Array
    # theta and p have shape (panels, m)
    theta: Array
    p: Array
    # `below` is the probability of the nearer angles left out, where z is infinite, of shape (panels, 1)
    below: Array
    # `above` is the probability of the farther angles left out, where z is zero, of shape (panels, 1)
    above: Array


@dataclass(frozen=True, eq=False)
class Scales:
    """The values of tau that matter: those of the tokens, and of their weights."""

    # tokens fall below this with a probability that is too small to change the risk
    nearest: float
    # the law of tau, weighted with exp(-tau), has its mode here
    peak: float
    # that law has fallen by exp(-_CUT) at this distance from its mode
    width: float

    @property
    def reach(self) -> float:
        """The tau beyond which only the tail of the kernel is left."""
        return max(self.peak, self.nearest) + self.width


class Group(NamedTuple):
    """Neighboring panels in u that share their angles."""

    # these are edges in u, of shape (panels,)
    left: Array
    right: Array
    # these are edges of the panels of angles, of shape (panels, m + 1)
    angles: Array
    # these are probabilities of the angles nearer and farther than the edges, of shape (panels, 1)
    below: Array
    above: Array


class Panels(NamedTuple):
    """All panels in u of one window: groups that share angles, and wide ones with angles for each node."""

    groups: list[Group]
    # these are the left and right edges in u
    wide: tuple[Array, Array]
    scales: Scales


def meshes(
    dim: int, w: float, n: Array, degree: float = math.inf, order: int = 16, jumps: float = math.inf
) -> list[Mesh]:
    """Return meshes on which the integrals for all context lengths ``n``, shape (j,), are sums that add up.

    ``degree`` is the highest Gegenbauer degree of the class, or infinity; ``order`` is the number of
    Gauss-Legendre nodes of a panel, and panels are so wide that 16 are enough. A finite ``jumps`` makes more
    panels, for classes rougher than Lipschitz functions, whose spectrum falls so slowly that finer waves
    count. It is the angle at which their values are hardly correlated.

    >>> one = 0.0  # the mean weights of ten tokens sum to one: n int E[z exp(-z)] phi^(n-1) du
    >>> for mesh in meshes(dim=3, w=2.0, n=np.array([10.0])):
    ...     tau = 2.0 * (1 - np.cos(mesh.theta))
    ...     z = np.exp(mesh.u[..., None] - tau[:, None])
    ...     phi = mesh.above + (np.exp(-z) @ mesh.p[..., None])[..., 0]
    ...     share = ((z * np.exp(-z)) @ mesh.p[..., None])[..., 0]
    ...     one += 10 * float(np.sum(mesh.weight * share * phi**9))
    >>> round(one, 12)
    1.0
    """
    groups, wide, scales = _panels_of(dim, float(w), float(n.min()), float(n.max()), degree, jumps)
    out = [
        Mesh(
            *_nodes_in_u(group.left, group.right, order),
            *angle_probabilities(dim, group.angles, order),
            group.below,
            group.above,
        )
        for group in groups
    ]
    if wide[0].size:
        # each node of a wide panel is a panel of its own, with one node
        u, weight = (x.reshape(-1, 1) for x in _nodes_in_u(*wide, order))
        angles = _panels_per_node(w, u, scales)
        law = angle_probabilities(dim, angles, order)
        out.append(Mesh(u, weight, *law, *_tail_masses(dim, angles)))
    return out


# the cache lets rules of several orders share the panels
@lru_cache(maxsize=64)
def _panels_of(
    dim: int, w: float, min_n: float, max_n: float, degree: float, jumps: float
) -> Panels:
    """Return the panels for ``min_n`` to ``max_n`` tokens; ``degree`` and ``jumps`` are those of `meshes`."""
    scales = _scales(dim, w, max_n)
    low, high = _range_in_u(dim, w, min_n, max_n, scales)
    edges = [low]
    # integrands that vanish below some u >= 0 need no panel in s
    if low < 0:
        # The first panel is in s, begins at 0, and ends where n s E[exp(-tau)] is `_FIRST`: up to there phi^n
        # is at least exp(-_FIRST), because phi is at least exp(-E z).
        first_end = math.log(_FIRST / max_n) - log_mean_weight(dim, w)
        edges = [-math.inf, min(0.0, first_end, high)]
    while edges[-1] < high:
        step = _step(dim, w, edges[-1], scales.reach, degree, math.isfinite(jumps))
        edges.append(min(edges[-1] + step, high))
    left, right = np.array(edges[:-1]), np.array(edges[1:])
    # a panel in s is not wide: its only edge in u is the right one
    start = np.where(np.isinf(left), right, left)
    wide = right - start > _MAX_SHARED_WIDTH
    groups = []
    if not wide.all():
        # This is the width in tau of panels of angles where exp(-z) turns. The spectrum of a class that jumps
        # falls so slowly that finer waves count.
        turn = 1.5 if math.isfinite(jumps) else 3.0
        left_shared, right_shared = left[~wide], right[~wide]
        for rows, angles in _lay_shared_panels(
            dim, w, start[~wide], right_shared, scales, degree, turn
        ):
            if jumps < _SHORT:
                # A window may be much wider than the covariance, which needs panels of its own: edges at the
                # angle `jumps`, at twice this angle, and so on.
                near = jumps * 2.0 ** np.arange(math.log2(math.pi / jumps))
                near = np.clip(near, angles[:, :1], angles[:, -1:])
                angles = np.sort(np.concatenate([angles, near], axis=1), axis=1)
            tails = _tail_masses(dim, angles)
            groups.append(Group(left_shared[rows], right_shared[rows], angles, *tails))
    return Panels(groups, (left[wide], right[wide]), scales)


def _scales(dim: int, w: float, max_n: float) -> Scales:
    """Return the values of tau that matter to at most ``max_n`` tokens."""
    # of n tokens fewer than 1e-17 / n are expected below this tau
    nearest = w * invert_cap_mass(dim, 1e-17 / max_n**2)
    # With t = cos theta, the mass of exp(-w (1 - t)) (1 - t^2)^((d-3)/2) peaks where w (1 - t^2) = (d - 3) t,
    # or at t = 1 if d is at most 3.
    ratio = max(dim - 3, 0) / max(w, 1e-300)
    peak = w * (1 - 2 / (ratio + math.hypot(ratio, 2)))
    # The law of tau is at most as wide as a gamma law with that mode.
    return Scales(nearest, peak, math.sqrt(2 * _CUT * peak) + _CUT)


def _range_in_u(
    dim: int, w: float, min_n: float, max_n: float, scales: Scales
) -> tuple[float, float]:
    """Return the u between which integrands are above rounding, for ``min_n`` to ``max_n`` tokens."""
    log_mean, log_square = (log_mean_weight(dim, k * w) for k in (1, 2))
    # Integrands rise like n exp(2u) E[exp(-2 tau)], and what they integrate to, the sum of the squared
    # weights, is of order E[exp(-2 tau)] / (n E[exp(-tau)]^2), and at most one.
    low = min(-math.log(max_n) - log_mean, -0.5 * (math.log(max_n) + log_square)) - _CUT / 2
    # For smaller u even the nearest token has a z that is negligible.
    low = max(low, scales.nearest - math.log(max_n) - _CUT / 2)
    # Where u exceeds the farthest token, tau = 2w, by 5, exp(-z) is at most exp(-148), and phi vanishes.
    high = 2 * w + 5.0
    if min_n > 1:
        # Integrands end where phi^(n-1) is exp(-36). That is reached where all tokens but a share of
        # exp(-needed) have a z above needed + 4 ...
        needed = _VANISHED / (min_n - 1)
        high = min(high, w * invert_cap_mass(dim, -math.expm1(-needed)) + math.log(needed + 4))
        # ... or earlier, where the bound 1 - phi >= 0.63 s E[exp(-tau)] implies it. It holds for s <= 1, that
        # is for u <= 0, because z is at most s.
        linear = math.log(needed / _CHORD) - log_mean
        if linear <= 0:
            high = min(high, linear)
    return low, high


def log_mean_weight(dim: int, w: float) -> float:
    """Return ``log E exp(-w (1 - t))``, t = cos theta, a modified Bessel function; a few digits are enough.

    >>> round(log_mean_weight(3, 2.0), 4)  # t is uniform: log of (1 - exp(-4)) / 4
    -1.4048
    """
    nu = dim / 2 - 1
    # for a larger w the leading term of the Bessel function is enough
    bessel = float(ive(nu, w)) if w < 1e8 else (2 * math.pi * w) ** -0.5
    if bessel > 1e-280 and w > 0:
        return float(math.log(bessel) + gammaln(nu + 1) + nu * math.log(2 / w))
    # The Bessel function underflows where w is far below the dimension. There t is nearly normal with the
    # variance 1 / d.
    return -w + w * w / (2 * dim)


def _step(dim: int, w: float, u: float, reach: float, degree: float, jumps: bool) -> float:
    """Return the width of the panel in u that begins at u.

    ``reach`` is that of `Scales`, ``degree`` that of `meshes`, and ``jumps`` says whether the class jumps.

    The numbers are by trial. Of those below, 0.6, 8 and 0.4 are not critical: each, twice as large, moves the
    risk by less than 1e-8 of itself.
    """
    # The strip of analyticity is pi / 2 wide on each side, so that 16 nodes leave an error of 2.5^-32.
    if u < 8:
        return 3.0
    # From here on means change on the scale of u, and powers of phi on that of u / d. The density ends at
    # tau = 2w, which matters within a few units.
    smooth = min(0.6 * u, 8 * u / dim, 0.4 * (2 * w - u))
    # integrands grow up to like exp(2u) until u has passed the bulk of the weights
    if u < max(reach, 200.0):
        smooth = min(smooth, _MAX_SHARED_WIDTH)
    # a function that jumps at the query does so again on the equator, where tau = w
    if jumps:
        smooth = min(smooth, 0.4 * abs(u - w))
    # P_l turns once while theta moves by pi / l, and a panel resolves 13 / l of theta. As tau is
    # w (1 - cos theta), d tau / d theta is sqrt(tau (2w - tau)).
    if math.isfinite(degree):
        smooth = min(smooth, 13 / degree * math.sqrt(max(u * (2 * w - u), 0.0)))
    # the kernel smooths all means to a scale of one, so that shorter panels are not needed
    return max(3.0 if u < reach else 2.5, smooth)


def _nodes_in_u(left: Array, right: Array, order: int) -> tuple[Array, Array]:
    """Return nodes in u and their weights, of shape (panels, order)."""
    x, weight = _GAUSS(order)
    # a panel that begins at u = -infinity is a panel in s = exp(u) from 0
    in_s = np.isinf(left)[:, None]
    # the half-width in u is zero for a panel in s
    half = (right - np.where(in_s[:, 0], right, left))[:, None] / 2
    u = right[:, None] + np.where(in_s, np.log((1 + x) / 2), half * (x - 1))
    # in such a panel du = ds / s is dx / (1 + x)
    return u, np.where(in_s, weight / (1 + x), half * weight)


def _tail_masses(dim: int, edges: Array) -> tuple[Array, Array]:
    """Return the probabilities of the angles below and above all edges (last axis)."""
    # the law of sin(theta / 2)^2 is a beta law, with both parameters equal to `half`
    half, near, far = (dim - 1) / 2, *np.sin(edges[:, [0, -1]].T[..., None] / 2) ** 2
    return betainc(half, half, near), betaincc(half, half, far)


def _lay_shared_panels(
    dim: int,
    w: float,
    left: Array,
    right: Array,
    scales: Scales,
    degree: float,
    turn: float,
) -> Iterator[tuple[slice, Array]]:
    """Yield groups of panels in u that have equally many angles: their rows, and their edges of angles.

    Row i is the panel in u from ``left[i]`` to ``right[i]``, and its angles serve all u in it. Panels of
    angles are ``turn`` wide in tau where exp(-z) turns. ``degree`` is the highest of the class, or infinity.
    """
    # for negative u, z falls from the nearest token on, as it does at u = 0
    right = np.maximum(right, 0.0)
    farthest = np.maximum(right, max(scales.peak, scales.nearest)) + scales.width
    # these are the least and the largest tau, and then as angles; for tau below u - 4, exp(-z) is below 1e-23
    ends = np.stack([np.maximum(left - 4, scales.nearest), farthest], axis=1)
    if w > 0:
        # the smallest floating-point w gives infinity, which is clipped
        with np.errstate(over="ignore"):
            ends = 2 * np.arcsin(np.sqrt(np.clip(ends / (2 * w), 0, 1)))
    else:
        ends = np.tile([0.0, math.pi], (left.size, 1))
    # sampled angles, (rows, samples), and below the density of panels at these, panels per radian
    fine = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * _FINE
    # Panels must be short where exp(-z) turns, and may be wider in the tail exp(-tau).
    past = np.maximum(2 * w * np.sin(fine / 2) ** 2 - right[:, None] - 4, 0.0)
    density = w * np.sin(fine) / np.minimum(turn + 0.3 * past, 16.0)
    # They must be short enough for the variogram's highest degree, or, if its degrees do not end, for the
    # highest one that the window resolves: several times the inverse of its width, about (w u)^(-1/2), where
    # P_l averages out. P_l needs a panel for each 13 / l, and fewer where the tail exp(-tau) is small.
    if math.isinf(degree):
        finest = math.sqrt(w) * (6 + 3 * np.sqrt(right)) + 20
    else:
        finest = np.full_like(right, degree)
    density = np.maximum(density, finest[:, None] / 13 / (1 + past / 10))
    # They must also be short enough for the density of theta.
    density = np.maximum(density, (1 + math.sqrt(dim)) / 2)
    # this is how many panels are needed up to each angle
    need = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1) * (fine[:, 1:2] - fine[:, :1])
    need = np.concatenate([np.zeros_like(need[:, :1]), need], axis=1)
    start = 0
    # a group has as many rows as fit, each with the largest number of angles that any of them needs
    while start < len(need):
        counts = np.ceil(np.maximum.accumulate(need[start:, -1])).astype(int)
        fit = np.arange(1, len(counts) + 1) * counts <= _MAX_TABLE
        rows = slice(start, start + max(1, int(fit.sum())))
        # row i is moved to between 2 i and 2 i + 1, so that one call interpolates all rows
        move = 2 * np.arange(rows.stop - start)[:, None]
        share = np.linspace(0, 1, counts[rows.stop - start - 1] + 1) + move
        yield (
            rows,
            np.interp(share, (need[rows] / need[rows, -1:] + move).ravel(), fine[rows].ravel()),
        )
        start = rows.stop


def _panels_per_node(w: float, u: Array, scales: Scales) -> Array:
    """Return edges of the panels of angles, (nodes, m + 1), for each u, (nodes, 1), in ascending order.

    The panels are those in ``y = tau - u``, so that ``z = exp(-y)``. Their widths are by trial: twice those
    beyond y = 4, or twice the shortest, move the risk by less than 1e-8.
    """
    # exp(-z) is below 1e-23 for y below -4
    y = [-4.0]
    # the smallest u needs the largest y
    while y[-1] < max(_CUT, scales.reach - float(u[0, 0])):
        # panels are short where exp(-z) turns, and longer in the tail z = exp(-y)
        y.append(y[-1] + min(1.2 + 0.3 * max(y[-1] - 4, 0.0), 12.0))
    tau = np.clip(u + np.array(y), scales.nearest, 2 * w)
    return np.asarray(2 * np.arcsin(np.sqrt(tau / (2 * w))))


def angle_probabilities(dim: int, edges: Array, order: int) -> tuple[Array, Array]:
    """Return angles between neighboring edges (last axis) with their probabilities.

    >>> theta, p = angle_probabilities(5, np.array([0.0, 1.0, np.pi]), 16)
    >>> round(float(p @ np.cos(theta) ** 2), 12)  # E (x . x_q)^2 = 1 / d
    0.2
    """
    theta, weight = gauss_panels(edges, order)
    constant = gammaln(dim / 2) - gammaln((dim - 1) / 2) - math.log(math.pi) / 2
    return theta, weight * np.exp(constant + (dim - 2) * np.log(np.maximum(np.sin(theta), 1e-300)))


def gauss_panels(edges: Array, order: int) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss-Legendre rules between neighboring edges (last axis).

    >>> x, weight = gauss_panels(np.array([0.0, 1.0, 3.0]), 2)
    >>> round(float(weight @ x**3), 12)  # 3^4 / 4
    20.25
    """
    x, weight = _GAUSS(order)
    # the nodes of all panels share the last axis
    half, shape = np.diff(edges)[..., None] / 2, (*edges.shape[:-1], -1)
    return (edges[..., :-1, None] + half * (1 + x)).reshape(shape), (half * weight).reshape(shape)
