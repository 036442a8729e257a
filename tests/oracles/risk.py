"""The population risk without Gegenbauer expansion and graded panels, sharing no code with `icl`.

Given the query and u = log s, everything is a mean over one token of a function of z = exp(u - tau),
tau = w (1 - x.x_q) = 2 w r. These means are trapezoid sums in xi, where
tau = log((1 + e^xi) / (1 + e^(xi - 2w))): in xi the integrands vanish exponentially or faster on both
sides, and such sums converge geometrically.
The pair of tokens is the mean over *functions* of the square of a one-token mean,

    E[z z' e^-(z + z') G] = E_f (E[z e^-z (f(x) - f(x_q))])^2,

with the mean over f in closed form or by quadrature over a = q.x_q; functions with a kink or a jump have
`oracles.kink`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, roots_jacobi

from icl.tasks import Affine, Cosine, Linear, PhasedCosine, Quadratic, ReLU, Sign, Zonal
from oracles.kink import jump_pair, kink_pair

_DROP = 45.0  # parts below exp(-_DROP) of the largest one are left out


def population_risk(task: Zonal, w: float, n, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
    """Bias and noise of `icl.risk.population_risk`, of the shape of ``n``, slower and by other means.

    For affine, ReLU, linear, quadratic and sign classes, and cosines with L up to about 30 (steps do not
    follow waves). Many n cost little more than one.
    """
    # a window this small changes no digit
    law = _Token(task.dim, max(float(w), 1e-30))
    length = np.asarray(n, float).ravel()[:, None]
    variogram, basis, factor = _function_means(task)
    u, du = _u_nodes(law, length.max(), isinstance(task, Sign))
    diagonal = lambda r, s: (np.ones_like(r), 2 * variogram(r, s))  # noqa: E731
    log_phi, noise, single, *moments = law.means(u, diagonal, basis)
    one, two = (np.exp(np.maximum((length - k) * log_phi, -700)) * length * du for k in (1, 2))
    two *= length - 1
    pair = ((factor @ np.stack(moments)) ** 2).sum(0)
    # this is its linear part; moments[0] is that of 1 - x.x_q
    if isinstance(task, ReLU):
        share = two * moments[0] ** 2
        seen = np.flatnonzero((share > 1e-17 * share.sum(1, keepdims=True)).any(0))
        pair[seen] += task.lipschitz**2 / 6 * kink_pair(law, u[seen], moments[0][seen])
    if isinstance(task, Sign):  # moments[0] is the mean of z e^-z
        share = two * moments[0] ** 2
        seen = np.flatnonzero((share > 1e-17 * share.sum(1, keepdims=True)).any(0))
        pair = np.zeros_like(u)
        pair[seen] = 4 * task.scale**2 * jump_pair(law, u[seen])
    bias = one @ single + two @ pair
    return bias.reshape(np.shape(n)), (noise_std**2 * (one @ noise)).reshape(np.shape(n))


def _u_nodes(law: _Token, max_n: float, jumps: bool) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in u: Gauss-Legendre on intervals, short at both ends and in many dimensions.

    Also at the equator, u = w, for functions that jump on great circles.
    """
    tau, _, _, mass, _ = law.nodes(np.zeros(1))
    log_mean, log_square = (math.log(max(np.sum(mass * np.exp(-k * tau)), 1e-300)) for k in (1, 2))
    # the integrand rises like n exp(2u) E[exp(-2 tau)], and its integral is at least about min(1, ..)
    edges = [min(0.0, -math.log(max_n) - max(log_mean, log_square / 2)) - _DROP / 2]
    share = min(0.15, 6 / law.dim)
    while edges[-1] < 2 * law.w + 6:
        room = min(edges[-1], 2 * law.w - edges[-1])
        room = min(room, abs(law.w - edges[-1])) if jumps else room
        edges.append(edges[-1] + max(1.0, share * room))
    x, weight = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1] + half.T * (1 + x[:, None])).T.ravel(), (half * weight).ravel()


@dataclass(frozen=True)
class _Token:
    """The law of one token seen from the query, through tau = w (1 - x.x_q) = 2 w r."""

    dim: int
    w: float

    def tau(self, xi):
        """``log((1 + e^xi) / (1 + e^(xi - 2w)))``, all digits kept."""
        if self.w < 1:
            return np.log1p(-np.expm1(-2 * self.w) / (np.exp(-xi) + math.exp(-2 * self.w)))
        return np.logaddexp(0, xi) - np.logaddexp(0, xi - 2 * self.w)

    def window(self, u):
        """Between which tau the functions of z matter, for each u."""
        k = (self.dim - 3) / 2  # the density rises like tau^k
        center = np.maximum(np.maximum(u, k), 1.0)
        width = np.full_like(center, _DROP)
        for _ in range(60):
            width = _DROP + max(k, 0) * np.log1p(width / center)
        return np.clip(u - 5, 0, 2 * self.w), np.clip(center + width, 0, 2 * self.w)

    def nodes(self, u):
        """tau, r, 1 - r, probabilities, and the weights of dtau; each (1 or len(u), nodes)."""
        w, half = self.w, (self.dim - 1) / 2
        far = max(42 / half, 42)
        low, high = self.window(u)
        with np.errstate(divide="ignore"):  # this inverts tau(xi)
            first, last = (
                t + np.log(-np.expm1(-t)) - np.log(-np.expm1(t - 2 * w)) for t in (low, high)
            )
        first, last = np.clip([first, last], -far, 2 * w + far)
        step = min(0.2, 1.2 * max(1.0, w / 4) / math.sqrt(self.dim))
        if first.max() == -far:  # one set of nodes serves all
            first, last = first[:1], last.max(keepdims=True)
        xi = first[:, None] + step * np.arange(math.ceil(np.max(last - first) / step) + 1)
        tau, rest = self.tau(xi), self.tau(2 * w - xi)
        r, s = (np.minimum(t / (2 * w), 1.0) for t in (tau, rest))
        log_slope = -np.logaddexp(0, -xi) - np.logaddexp(0, xi - 2 * w)
        log_slope += math.log(-math.expm1(-2 * w) / (2 * w))
        slope = step * np.exp(log_slope)  # dr
        mass = step * np.exp(log_slope + (half - 1) * (np.log(r) + np.log(s)) - betaln(half, half))
        return tau, r, s, mass, 2 * w * slope

    def means(self, u, twice, once):
        """Log phi, ``E[h z^2 e^-z]`` for every h of ``twice(r, 1 - r)``, ``E[h z e^-z]`` for ``once``.

        ``u`` rises; up to 5 one set of nodes serves all.
        """
        half, w, first_deep = (self.dim - 1) / 2, self.w, np.searchsorted(u, 5)
        out = []
        for some in np.split(u, range(first_deep, u.size, 64)):
            tau, r, s, mass, dtau = self.nodes(some)
            z = np.exp(np.minimum(some[:, None] - tau, 7.0))
            first = z * np.exp(-z)
            # by parts: phi and 1 - phi are integrals of z e^-z against the distribution function
            ends = np.exp(np.minimum([some - 2 * w, some], 7.0))
            missed = -np.expm1(-ends[0]) + (first * (betainc(half, half, r) * dtau)).sum(1)
            kept = np.exp(-ends[1]) + (first * (betainc(half, half, s) * dtau)).sum(1)
            log_phi = np.where(
                missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(np.maximum(kept, 1e-300))
            )
            second, first = first * z * mass, first * mass
            squares = [(second * h).sum(1) for h in twice(r, s)]
            lines = [(first * h).sum(1) for h in once(r, s)]
            out.append(np.stack([log_phi, *squares, *lines]))
        return np.concatenate(out, axis=1)


def _function_means(task: Zonal):
    """Variogram gamma(r, s), functions h_k(r, s) of one token, and the matrix F of the pair term.

    ``E_f (E[z e^-z (f(x) - f(x_q))])^2 = |F m|^2`` with ``m_k = E[z e^-z h_k]``; r = (1 - x.x_q) / 2,
    s = 1 - r. For ReLU this is the linear part only (see `oracles.kink`).
    """
    d, L = task.dim, getattr(task, "lipschitz", None)
    if isinstance(task, Sign):  # 2 / pi times the angle

        def angle(r, s):
            return task.scale**2 * 4 / np.pi * np.arctan2(np.sqrt(r), np.sqrt(s))

        return angle, lambda r, s: (np.ones_like(r),), np.zeros((1, 1))
    if isinstance(task, Affine | Linear | ReLU):
        c = L**2 / d / (1 if isinstance(task, Linear) else 3)
        if isinstance(task, ReLU):
            # l q.x gives c / 2 (1 - cos), and |q.x| gives the same minus an arc
            def variogram(r, s):
                return c * (2 * r - _arc(r, s) / np.pi)

            return variogram, lambda r, s: (2 * r,), np.array([[math.sqrt(c / 2)]])
        return lambda r, s: c * 2 * r, lambda r, s: (2 * r,), np.array([[math.sqrt(c)]])
    # 1 - t^2 = 4 r s; averaged over the angle between, G factors
    if isinstance(task, Quadratic):
        c = 2 * L**2 / (d * (d + 2))
        factor = np.array([[math.sqrt(c * d / (d - 1))]])
        return (lambda r, s: c * 4 * r * s), (lambda r, s: (4 * r * s,)), factor
    assert isinstance(task, Cosine)
    phased = isinstance(task, PhasedCosine)
    order = int(1.3 * L) + 25
    a, p = _coordinate(d, order)

    # (B(0) - B(2 sqrt r) + B(2) - B(2 sqrt s)) / 2, B(x) = E cos(L a x), as products
    def variogram(r, s):
        near, far = np.sqrt(r)[..., None], 1 + np.sqrt(s)[..., None]
        even = np.sin(L * a * far) * np.sin(L * a * r[..., None] / far)
        return (np.sin(L * a * near) ** 2 - (not phased) * even) @ p

    # given a = u.x_q: E[cos(L u.x) | t] = cos(L a t) B_(d-1)(..), and its difference to cos(L a) is
    # 1 - t times an entire function of t, expanded in Chebyshev polynomials
    t = np.cos(np.pi * (np.arange(order) + 0.5) / order)
    A, T = a[:, None], t[None]
    gap = 1 - T
    b, q = _coordinate(d - 1, order)
    # 1 - B_(d-1)
    missed = 2 * np.sin(L / 2 * np.sqrt((1 - A**2) * (1 - T**2))[..., None] * b) ** 2 @ q
    half = L * A * gap / 2
    cosine = 2 * np.sin(L * A * (1 + T) / 2) * np.sin(half) - np.cos(L * A * T) * missed
    sine = -2 * np.cos(L * A * (1 + T) / 2) * np.sin(half) - np.sin(L * A * T) * missed
    # a uniform phase mixes the two: the mean of each product is half of either
    differences = [cosine / 2**0.5, sine / 2**0.5] if phased else [cosine]
    chebyshev = np.polynomial.chebyshev.chebvander(t, order - 1)
    factor = np.concatenate(
        [
            np.sqrt(p)[:, None] * np.linalg.solve(chebyshev, (difference / gap).T).T
            for difference in differences
        ]
    )

    def basis(r, s):
        t, before, last = s - r, 2 * r * (s - r), 2 * r
        yield last
        for _ in range(order - 1):
            yield before
            before, last = 2 * t * before - last, before

    return variogram, basis, factor


def _coordinate(dim: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and probabilities of one coordinate on S^{dim-1}."""
    if dim == 1:
        return np.ones(1), np.ones(1)  # the Beta law is that of its square
    a, p = roots_jacobi(order, (dim - 3) / 2, (dim - 3) / 2)
    return a, p / p.sum()


def _arc(r, s):
    """``sin(theta) - theta cos(theta)``, the integral of t sin(t), for r = sin(theta/2)^2."""
    theta = 2 * np.arctan2(np.sqrt(r), np.sqrt(s))
    x, weight = np.polynomial.legendre.leggauss(14)
    t = theta[..., None] * (1 + x) / 2
    return theta / 2 * ((t * np.sin(t)) @ weight)
