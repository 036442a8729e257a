r"""Nodes for the integrals of the exact risk.

The integrals that `icl.risk.exact` derives have two variables: u, and the angle theta between token and
query, whose density on the sphere is proportional to ``sin(theta)^(d-2)``. The symbols are:

- w is the window parameter, ``tau = w (1 - cos theta)``, ``s = exp(u)`` and ``z = s exp(-tau)``.
- E is the mean over theta, and ``phi = E exp(-z)``.

For n tokens the integrands are powers of phi, times means over theta of functions of z. These functions
vanish like z for small z and like exp(-z) for large z, so that only tau between ``u - 4`` and ``u + 42``
matters. As functions of u the means are analytic for ``|Im u| < pi / 2``. Therefore:

- One panel in s leads from ``s = 0`` to where powers of phi begin to fall. There the integrands are entire
  functions of s.
- Panels in u follow. They are short at first, and wider for larger u, because there the means follow the
  density of tau, which is smooth on the scale of tau itself.
- The nodes of one panel in u share their angles, so that means are products of matrices. Very wide panels,
  which narrow windows and few tokens need, have other angles for each node. So the cost grows with the
  logarithm of w only.
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
# 1 - exp(-z) is at least this times z, for z up to one
_CHORD = 0.63
# in panels wider than this in u, each node has its own angles
_MAX_SHARED_WIDTH = 30.0
# A table of exp(-z) has 16 x 16 numbers for each panel in u and each panel of angles in it. It has at most
# this many such pairs of panels, because larger tables are not faster.
_MAX_TABLE = 2**8
# if `jumps` of `meshes` is a smaller angle than this, the covariance needs edges of angles of its own
_SHORT = 0.1
# the density of panels of angles is sampled at these places between the first angle, 0, and the last one, 1
_FINE = np.linspace(0, 1, 160)
# nodes and weights on [-1, 1]
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
    # Nearer and farther angles than those of the panel are left out. These are their probabilities, of shape
    # (panels, 1). In phi a nearer angle counts as infinite z, and a farther one as z = 0.
    below: Array
    above: Array


@dataclass(frozen=True, eq=False)
class Scales:
    """The values of tau that matter."""

    # a token has a smaller tau with a probability that is too small to change the risk
    nearest: float
    # the mode of the law of tau that is weighted with exp(-tau)
    peak: float
    # at this distance above its mode, the weighted law is below exp(-_CUT) of its value at the mode
    width: float

    @property
    def reach(self) -> float:
        """The tau beyond which the weighted law of tau is negligible."""
        return max(self.peak, self.nearest) + self.width


class Group(NamedTuple):
    """Neighboring panels in u that have equally many angles. The nodes of each panel share its angles."""

    # edges in u, of shape (panels,)
    left: Array
    right: Array
    # edges of the panels of angles, of shape (panels, m + 1)
    angles: Array
    # probabilities of the angles nearer and farther than these edges, of shape (panels, 1)
    below: Array
    above: Array


class Panels(NamedTuple):
    """All panels in u of one window: groups of panels whose nodes share angles, and wide panels."""

    groups: list[Group]
    # left and right edges in u of the wide panels, in which each node has its own angles
    wide: tuple[Array, Array]
    scales: Scales


def meshes(
    dim: int, w: float, n: Array, degree: float = math.inf, order: int = 16, jumps: float = math.inf
) -> list[Mesh]:
    """Return meshes that together serve every context length in ``n``, an array of shape (j,).

    An integral is the sum over all meshes.

    ``degree`` is the highest Gegenbauer degree of the class, or infinity. ``order`` is the number of
    Gauss-Legendre nodes of a panel, and panels are so short that 16 nodes are enough. For functions rougher
    than Lipschitz functions ``jumps`` is finite, and is the angle beyond which their values are hardly
    correlated. Their spectrum falls slowly, so that they need more panels.

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
    groups, wide, scales = _lay_panels(dim, float(w), float(n.min()), float(n.max()), degree, jumps)
    out = [
        Mesh(
            *_lay_nodes(group.left, group.right, order),
            *angle_probabilities(dim, group.angles, order),
            group.below,
            group.above,
        )
        for group in groups
    ]
    if wide[0].size:
        # each node of a wide panel becomes a panel with one node
        u, weight = (x.reshape(-1, 1) for x in _lay_nodes(*wide, order))
        angles = _lay_angles_per_node(w, u, scales)
        law = angle_probabilities(dim, angles, order)
        out.append(Mesh(u, weight, *law, *_compute_tails(dim, angles)))
    return out


# the cache lets rules of several orders share the panels
@lru_cache(maxsize=64)
def _lay_panels(
    dim: int, w: float, min_n: float, max_n: float, degree: float, jumps: float
) -> Panels:
    """Lay the panels for ``min_n`` to ``max_n`` tokens; ``degree`` and ``jumps`` are those of `meshes`."""
    scales = _find_scales(dim, w, max_n)
    low, high = _find_range(dim, w, min_n, max_n, scales)
    edges = [low]
    # a panel in s is needed unless the integrands vanish for all u < 0
    if low < 0:
        # The panel in s begins at 0 and ends where n E z, which is n s E[exp(-tau)], is `_FIRST`. Up to there
        # phi^n is at least exp(-_FIRST), because phi is at least exp(-E z). The panel ends at s = 1 at the
        # latest. Up to there z is at most one, and the functions of z are smooth in s.
        first_end = math.log(_FIRST / max_n) - log_mean_weight(dim, w)
        edges = [-math.inf, min(0.0, first_end, high)]
    while edges[-1] < high:
        step = _choose_width(dim, w, edges[-1], scales.reach, degree, math.isfinite(jumps))
        edges.append(min(edges[-1] + step, high))
    left, right = np.array(edges[:-1]), np.array(edges[1:])
    # The panel in s begins at u = -infinity. Here it counts as a panel of width zero, which is not wide. Its
    # angles are then those of its right edge. This edge is at most u = 0, so that no tau near zero is left
    # out.
    start = np.where(np.isinf(left), right, left)
    wide = right - start > _MAX_SHARED_WIDTH
    groups = []
    if not wide.all():
        # `turn` is the width in tau of panels of angles near tau = u, where exp(-z) rises from 0 to 1.
        # Functions that jump need shorter panels, see `meshes`.
        turn = 1.5 if math.isfinite(jumps) else 3.0
        left_shared, right_shared = left[~wide], right[~wide]
        for rows, angles in _lay_shared_panels(
            dim, w, start[~wide], right_shared, scales, degree, turn
        ):
            if jumps < _SHORT:
                # The window may be much wider than the covariance. So further edges are laid for the
                # covariance: at the angle `jumps`, at twice this angle, and so on.
                near = jumps * 2.0 ** np.arange(math.log2(math.pi / jumps))
                # all rows need equally many edges, so that an edge outside of a row is moved to its first or
                # last edge
                near = np.clip(near, angles[:, :1], angles[:, -1:])
                angles = np.sort(np.concatenate([angles, near], axis=1), axis=1)
            tails = _compute_tails(dim, angles)
            groups.append(Group(left_shared[rows], right_shared[rows], angles, *tails))
    return Panels(groups, (left[wide], right[wide]), scales)


def _find_scales(dim: int, w: float, max_n: float) -> Scales:
    """Return the values of tau that matter to at most ``max_n`` tokens."""
    # One of max_n tokens is below this tau with a probability of at most 1e-17 / max_n. This is negligible
    # even beside a risk of order 1 / max_n.
    nearest = w * invert_cap_mass(dim, 1e-17 / max_n**2)
    # With t = cos theta, the weighted density exp(-w (1 - t)) (1 - t^2)^((d-3)/2) has its mode where
    # w (1 - t^2) = (d - 3) t, or at t = 1 if d is at most 3.
    ratio = max(dim - 3, 0) / max(w, 1e-300)
    peak = w * (1 - 2 / (ratio + math.hypot(ratio, 2)))
    # The weighted law is at most as wide as a gamma law with this mode. At this distance above the mode, the
    # gamma law is below exp(-_CUT) of its value at the mode.
    return Scales(nearest, peak, math.sqrt(2 * _CUT * peak) + _CUT)


def _find_range(
    dim: int, w: float, min_n: float, max_n: float, scales: Scales
) -> tuple[float, float]:
    """Return the lowest and the highest u that matter for ``min_n`` to ``max_n`` tokens."""
    log_mean, log_square = (log_mean_weight(dim, k * w) for k in (1, 2))
    # At small u integrands rise like n exp(2u) E[exp(-2 tau)]. Their integral is the mean sum of the squared
    # weights. It is of order r = E[exp(-2 tau)] / (n E[exp(-tau)]^2), but at most one. At `low` the
    # integrands are exp(-_CUT) min(r, 1).
    low = min(-math.log(max_n) - log_mean, -0.5 * (math.log(max_n) + log_square)) - _CUT / 2
    # for smaller u even the nearest token has a negligible z
    low = max(low, scales.nearest - math.log(max_n) - _CUT / 2)
    # The largest tau is 2w. For u above 2w + 5, every exp(-z) is below exp(-148), and so is phi.
    high = 2 * w + 5.0
    if min_n > 1:
        # Integrands are negligible once phi^(n-1) is about exp(-36). Then phi is about exp(-needed). This is
        # the case if a token has a z above needed + 4 with a probability of 1 - exp(-needed).
        needed = _VANISHED / (min_n - 1)
        high = min(high, w * invert_cap_mass(dim, -math.expm1(-needed)) + math.log(needed + 4))
        # It is also the case if 1 - phi is `needed`, because phi is at most exp(-(1 - phi)). By the bound
        # 1 - phi >= 0.63 s E[exp(-tau)] this may happen at a smaller u. The bound holds for s <= 1, that is
        # for u <= 0, because z is at most s.
        linear = math.log(needed / _CHORD) - log_mean
        if linear <= 0:
            high = min(high, linear)
    return low, high


def log_mean_weight(dim: int, w: float) -> float:
    """Return the logarithm of ``E exp(-w (1 - t))``, where t is cos theta. A few digits are enough.

    >>> round(log_mean_weight(3, 2.0), 4)  # t is uniform: log of (1 - exp(-4)) / 4
    -1.4048
    """
    # The mean is exp(-w) I_nu(w), with a modified Bessel function, times gamma(nu + 1) (2 / w)^nu.
    nu = dim / 2 - 1
    # SciPy's `ive` is exp(-w) I_nu(w), and gives NaN for w above 1e9. The leading term for large w is enough
    # there: for w above 1e8 its logarithm is wrong by at most 0.13, even in 10,000 dimensions.
    bessel = float(ive(nu, w)) if w < 1e8 else (2 * math.pi * w) ** -0.5
    if bessel > 1e-280 and w > 0:
        return float(math.log(bessel) + gammaln(nu + 1) + nu * math.log(2 / w))
    # where w is far below the dimension, the Bessel function underflows, and t is nearly normal with the
    # variance 1 / d
    return -w + w * w / (2 * dim)


def _choose_width(dim: int, w: float, u: float, reach: float, degree: float, jumps: bool) -> float:
    """Return the width of the panel in u that begins at u.

    ``reach`` is that of `Scales`, ``degree`` that of `meshes`, and ``jumps`` says whether the class jumps.

    The numbers are by trial. To double 0.6, 8 or 0.4 in the first ``smooth`` moves the risk by less than 1e-8
    of itself.
    """
    # Means are analytic for |Im u| < pi / 2. So 16 nodes leave an error of 2.5^-32 on a panel of width 3.
    if u < 8:
        return 3.0
    # For larger u, means change on the scale of u, and powers of phi on that of u / d. As the density of tau
    # ends at 2w, panels get shorter towards u = 2w.
    smooth = min(0.6 * u, 8 * u / dim, 0.4 * (2 * w - u))
    # While u is below `reach`, integrands may grow like exp(2u), so that panels must not be very wide. The
    # 200 is a margin beyond a small `reach`.
    if u < max(reach, 200.0):
        smooth = min(smooth, _MAX_SHARED_WIDTH)
    # The covariance of functions that jump may be singular for opposite tokens, too. Two tokens at the same
    # angle to the query can be opposite only on the equator, where tau = w.
    if jumps:
        smooth = min(smooth, 0.4 * abs(u - w))
    # P_l changes its sign once while theta grows by pi / l, and a panel resolves 13 / l of theta. In tau that
    # is sqrt(tau (2w - tau)) times as much, because tau is w (1 - cos theta).
    if math.isfinite(degree):
        smooth = min(smooth, 13 / degree * math.sqrt(max(u * (2 * w - u), 0.0)))
    # exp(-z) smooths all means on the scale of one in u, so that shorter panels are not needed
    return max(3.0 if u < reach else 2.5, smooth)


def _lay_nodes(left: Array, right: Array, order: int) -> tuple[Array, Array]:
    """Return the nodes in u of panels, and their weights, both of shape (panels, order)."""
    x, weight = _GAUSS(order)
    # the panel that begins at u = -infinity is a panel in s = exp(u), from s = 0
    in_s = np.isinf(left)[:, None]
    # the half-width in u is zero for a panel in s
    half = (right - np.where(in_s[:, 0], right, left))[:, None] / 2
    u = right[:, None] + np.where(in_s, np.log((1 + x) / 2), half * (x - 1))
    # in the panel in s, du = ds / s is dx / (1 + x)
    return u, np.where(in_s, weight / (1 + x), half * weight)


def _compute_tails(dim: int, edges: Array) -> tuple[Array, Array]:
    """Return the probabilities of angles below the first edge and above the last one, each (panels, 1)."""
    # the law of sin(theta / 2)^2 is a beta law, with both parameters equal to `half`
    half = (dim - 1) / 2
    first, last = edges[:, :1], edges[:, -1:]
    near, far = np.sin(first / 2) ** 2, np.sin(last / 2) ** 2
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
    """Yield groups of panels in u: the slice of their rows, and their edges of angles, (rows, m + 1).

    Row i is the panel in u from ``left[i]`` to ``right[i]``, and its angles serve all u in it. All rows of a
    group have equally many angles. Panels of angles are ``turn`` wide in tau where exp(-z) rises from 0 to 1.
    ``degree`` is the highest of the class, or infinity.
    """
    # for u below 0, z is below one at every tau, and the panels for u = 0 are fine enough
    right = np.maximum(right, 0.0)
    # These are the least and the largest tau that matter. For tau below u - 4, exp(-z) is below 1e-23. For
    # tau above `farthest`, both z and the weighted law are negligible.
    farthest = np.maximum(right, max(scales.peak, scales.nearest)) + scales.width
    ends = np.stack([np.maximum(left - 4, scales.nearest), farthest], axis=1)
    # from here on `ends` are angles
    if w > 0:
        # the smallest floating-point w gives infinity, which is clipped
        with np.errstate(over="ignore"):
            ends = 2 * np.arcsin(np.sqrt(np.clip(ends / (2 * w), 0, 1)))
    else:
        ends = np.tile([0.0, math.pi], (left.size, 1))
    # sampled angles, (rows, samples)
    fine = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * _FINE
    # `past` is by how much tau exceeds u + 4 at the right edge; where it is positive, z is at most
    # exp(-past - 4) in the whole panel in u
    past = np.maximum(2 * w * np.sin(fine / 2) ** 2 - right[:, None] - 4, 0.0)
    # The density is in panels per radian. Panels are `turn` wide in tau, and wider where `past` is large. To
    # double 0.3 or 16 moves the risk by less than 1e-9 of itself.
    density = w * np.sin(fine) / np.minimum(turn + 0.3 * past, 16.0)
    # Panels must be short enough for P_l of the highest degree. If degrees do not end, the highest one that
    # counts is several times w^(1/2) and (w u)^(1/2): exp(-z) rises within an angle of about the inverse of
    # these, and P_l of a higher degree averages out over this angle.
    if math.isinf(degree):
        finest = math.sqrt(w) * (6 + 3 * np.sqrt(right)) + 20
    else:
        finest = np.full_like(right, degree)
    # A panel resolves 13 / l of theta. The second divisor saves panels where z is small, and is by trial:
    # without it the risk moves by less than 1e-9 of itself.
    density = np.maximum(density, finest[:, None] / 13 / (1 + past / 10))
    # panels must also be short enough for the density of theta
    density = np.maximum(density, (1 + math.sqrt(dim)) / 2)
    # `need` is the number of panels up to each sampled angle, by the trapezoidal rule
    need = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1) * (fine[:, 1:2] - fine[:, :1])
    need = np.concatenate([np.zeros_like(need[:, :1]), need], axis=1)
    start = 0
    # All rows of a group get the largest number of panels that one of them needs. A group has as many rows as
    # one table may have.
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


def _lay_angles_per_node(w: float, u: Array, scales: Scales) -> Array:
    """Return edges of panels of angles, (nodes, m + 1), for each u. The u, (nodes, 1), ascend.

    In ``y = tau - u`` the panels are the same for each u, and ``z = exp(-y)``. Their widths are by trial: to
    double those beyond y = 4, or the shortest ones, moves the risk by less than 1e-8 of itself.
    """
    # exp(-z) is below 1e-23 for y below -4
    y = [-4.0]
    # the smallest u needs the largest y
    while y[-1] < max(_CUT, scales.reach - float(u[0, 0])):
        # panels are short where exp(-z) rises from 0 to 1, and wider beyond y = 4, where z is small
        y.append(y[-1] + min(1.2 + 0.3 * max(y[-1] - 4, 0.0), 12.0))
    tau = np.clip(u + np.array(y), scales.nearest, 2 * w)
    return np.asarray(2 * np.arcsin(np.sqrt(tau / (2 * w))))


def angle_probabilities(dim: int, edges: Array, order: int) -> tuple[Array, Array]:
    """Return angles between neighboring edges, and their probabilities.

    ``edges`` has shape (..., m + 1), and both results have shape (..., m order). ``order`` is the number of
    angles between two neighboring edges.

    >>> theta, p = angle_probabilities(5, np.array([0.0, 1.0, np.pi]), 16)
    >>> round(float(p @ np.cos(theta) ** 2), 12)  # E (x . x_q)^2 = 1 / d
    0.2
    """
    theta, weight = gauss_panels(edges, order)
    # The density of theta is exp(constant) sin(theta)^(d-2). With 1e-300 its logarithm is finite at zero.
    constant = gammaln(dim / 2) - gammaln((dim - 1) / 2) - math.log(math.pi) / 2
    return theta, weight * np.exp(constant + (dim - 2) * np.log(np.maximum(np.sin(theta), 1e-300)))


def gauss_panels(edges: Array, order: int) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss-Legendre rules between neighboring edges.

    ``edges`` has shape (..., m + 1), and both results have shape (..., m order). ``order`` is the number of
    nodes between two neighboring edges.

    >>> x, weight = gauss_panels(np.array([0.0, 1.0, 3.0]), 2)
    >>> round(float(weight @ x**3), 12)  # 3^4 / 4
    20.25
    """
    x, weight = _GAUSS(order)
    # the nodes of all panels share the last axis
    half, shape = np.diff(edges)[..., None] / 2, (*edges.shape[:-1], -1)
    return (edges[..., :-1, None] + half * (1 + x)).reshape(shape), (half * weight).reshape(shape)
