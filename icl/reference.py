"""Slow, literal versions of what the package computes fast; tests and chapters compare with these."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array
from scipy.special import betainc, betaincc, betaln, hyp0f1, roots_jacobi
from torch import Tensor

from icl.contexts import Member
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal
from icl.tokens import stream

# The tensor trick, taken at its word: build A1 (x) A2 and differentiate through it.

def kron_logits(A1: Tensor, A2: Tensor, X: Tensor) -> Tensor:
    """(A1 (x) A2) vec(X), a vector of n * m logits, through the explicit n m x d e matrix."""
    return torch.kron(A1, A2) @ X.reshape(-1)


def kron_loss(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """`icl.tensor_trick.loss` as printed: a sum over the blocks A_j of single regressions.

    Args:
        A1: (n, d).
        A2: (m, e).
        X: (d, e).
        B: (n, m) targets, whose row j is b_j; None where the kind has none.
        kind: One of the five kinds.

    Returns:
        The loss, a scalar that autograd can differentiate.
    """
    A, x, m = torch.kron(A1, A2), X.reshape(-1), A2.shape[0]
    total = X.new_zeros(())
    for j in range(A1.shape[0]):
        u = torch.exp(A[j * m:(j + 1) * m] @ x)
        alpha = u.sum()
        f = u / alpha
        if kind == "normalized":
            total = total + 0.5 * ((f - B[j]) ** 2).sum()
        elif kind == "rescaled":
            total = total + 0.5 * ((u - alpha * B[j]) ** 2).sum()
        elif kind == "sparse":
            total = total + alpha
        elif kind == "cross_entropy":
            total = total - (B[j] * f.log()).sum()
        elif kind == "entropy":
            total = total - (f * f.log()).sum()
        else:
            raise ValueError(f"kind is {kind!r}")
    return total


def kron_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """The gradient of `kron_loss` in X by autograd through the explicit Kronecker product; (d, e)."""
    return torch.func.grad(lambda Y: kron_loss(A1, A2, Y, B, kind))(X)


def kron_hvp(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor,
             kind: str = "normalized") -> Tensor:
    """The Hessian of `kron_loss` in X times V, by forward over reverse autograd; (d, e)."""
    return torch.func.jvp(lambda Y: kron_gradient(A1, A2, Y, B, kind), (X,), (V,))[1]


# The population risk by other means: no Gegenbauer expansion, no graded panels, no code in common.
#
# Given the query and u = log s, everything is a mean over one token of a function of z = exp(u - tau),
# tau = w (1 - x.x_q) = 2 w r. These means are trapezoid sums in xi, where
# tau = log((1 + e^xi) / (1 + e^(xi - 2w))): in xi the integrands vanish exponentially or faster on both
# sides, and such sums converge geometrically.
# The pair of tokens is the mean over *functions* of the square of a one-token mean,
#
#     E[z z' e^-(z + z') G] = E_f (E[z e^-z (f(x) - f(x_q))])^2,
#
# with the mean over f in closed form or by quadrature over a = q.x_q. Intervals in u are halved until
# halving changes nothing.

_DROP = 45.0  # what is below exp(-_DROP) of the largest part is left out


def population_risk(task: Zonal, w: float, n, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
    """`icl.risk.population_risk` for the built-in classes, slower and by other means.

    Args:
        task: Affine, ReLU, Linear, Quadratic, or Cosine with L up to about 30 (steps do not follow waves).
        w: Window parameter, one number.
        n: Context lengths, any shape; many cost little more than one.
        noise_std: Noise standard deviation, one number.

    Returns:
        Bias and noise, each of the shape of ``n``.

    Raises:
        TypeError: If the class is not built in.
    """
    law = _Token(task.dim, max(float(w), 1e-30))  # no digit depends on so small a window
    lengths = np.asarray(n, float).ravel()
    variogram, basis, factor = _function_means(task)
    u, du = _u_nodes(law, lengths)
    diagonal = lambda r, s: (np.ones_like(r), 2 * variogram(r, s))  # noqa: E731
    log_phi, noise, single, *moments = law.means(u, diagonal, basis)
    one, two = (power * du for power in _powers(lengths, log_phi))
    pair = ((factor @ np.stack(moments)) ** 2).sum(0)
    if isinstance(task, ReLU):  # this was its linear part; moments[0] is that of 1 - x.x_q
        share = two * moments[0] ** 2
        seen = np.flatnonzero((share > 1e-17 * share.sum(1, keepdims=True)).any(0))
        pair[seen] += task.lipschitz**2 / 6 * _kink_pair(law, u[seen], moments[0][seen])
    bias = one @ single + two @ pair
    return bias.reshape(np.shape(n)), (noise_std**2 * (one @ noise)).reshape(np.shape(n))


def _powers(n: np.ndarray, log_phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``n phi^(n-1)`` and ``n (n-1) phi^(n-2)``, shape (len(n), len(u))."""
    n = n[:, None]
    return (n * np.exp(np.maximum((n - 1) * log_phi, -700)),
            n * (n - 1) * np.exp(np.maximum((n - 2) * log_phi, -700)))


def _u_nodes(law: _Token, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights in u: Gauss-Legendre on intervals that are halved until nothing changes."""
    tau, _, _, mass, _ = law.nodes(np.zeros(1))
    log_mean, log_square = (math.log(max(np.sum(mass * np.exp(-k * tau)), 1e-300)) for k in (1, 2))
    # the integrand rises like n exp(2u) E[exp(-2 tau)], its integral is at least about min(1, ..)
    edges = [min(0.0, -math.log(n.max()) - max(log_mean, log_square / 2)) - _DROP / 2]
    while edges[-1] < 2 * law.w + 6:
        edges.append(edges[-1] + max(3.0, 0.15 * min(edges[-1], 2 * law.w - edges[-1])))
    x, weight = np.polynomial.legendre.leggauss(12)

    def integrate(left, right):
        u = (left + right)[:, None] / 2 + (right - left)[:, None] / 2 * x
        du = (right - left)[:, None] / 2 * weight
        log_phi, noise, first = law.means(u.ravel(), lambda r, s: (np.ones_like(r),), lambda r, s: (r,))
        one, two = _powers(n, log_phi)
        terms = np.stack([one * noise, two * first**2]) * du.ravel()
        return u, du, terms.reshape(2, n.size, *u.shape).sum(-1)

    left, right = np.array(edges[:-1]), np.array(edges[1:])
    coarse, done, nodes = integrate(left, right)[2], 0.0, []
    while left.size:
        middle = (left + right) / 2
        left, right = np.stack([left, middle], 1).ravel(), np.stack([middle, right], 1).ravel()
        u, du, parts = integrate(left, right)
        fine = parts[..., ::2] + parts[..., 1::2]
        size = done + fine.sum(-1, keepdims=True)
        settled = (np.abs(fine - coarse) <= 1e-11 * size).all((0, 1))
        seen = np.repeat(settled, 2) & (parts > 1e-18 * size).any((0, 1))
        nodes.append((u[seen].ravel(), du[seen].ravel()))
        done = done + fine[..., settled].sum(-1, keepdims=True)
        again = np.repeat(~settled, 2)
        left, right, coarse = left[again], right[again], parts[..., again]
    return tuple(np.concatenate(column) for column in zip(*nodes, strict=True))


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
        with np.errstate(divide="ignore"):  # the inverse of tau(xi)
            first, last = (t + np.log(-np.expm1(-t)) - np.log(-np.expm1(t - 2 * w)) for t in (low, high))
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
        """Log phi, ``E[h z^2 e^-z]`` for every h of ``twice(r, 1 - r)``, ``E[h z e^-z]`` for ``once``."""
        half, w = (self.dim - 1) / 2, self.w
        deep = np.flatnonzero(u > 5)
        batches = [np.flatnonzero(u <= 5), *np.array_split(deep, math.ceil(deep.size / 64) or 1)]
        out = []
        for some in (b for b in batches if b.size):
            tau, r, s, mass, dtau = self.nodes(u[some])
            z = np.exp(np.minimum(u[some, None] - tau, 7.0))
            first = z * np.exp(-z)
            # by parts: phi and 1 - phi are integrals of z e^-z against the distribution function
            ends = np.exp(np.minimum([u[some] - 2 * w, u[some]], 7.0))
            missed = -np.expm1(-ends[0]) + (first * (betainc(half, half, r) * dtau)).sum(1)
            kept = np.exp(-ends[1]) + (first * (betainc(half, half, s) * dtau)).sum(1)
            log_phi = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)),
                               np.log(np.maximum(kept, 1e-300)))
            second, first = first * z * mass, first * mass
            out.append(np.stack([log_phi, *(self._sum(second, h) for h in twice(r, s)),
                                 *(self._sum(first, h) for h in once(r, s))]))
        order = np.argsort(np.concatenate(batches))
        return np.concatenate(out, axis=1)[:, order]

    @staticmethod
    def _sum(table, h):
        return table @ h[0] if len(h) == 1 else np.einsum("uk,uk->u", table, h)


def _function_means(task: Zonal):
    """Variogram gamma(r, s), functions h_k(r, s) of one token, and the matrix F of the pair term.

    ``E_f (E[z e^-z (f(x) - f(x_q))])^2 = |F m|^2`` with ``m_k = E[z e^-z h_k]``; r = (1 - x.x_q) / 2,
    s = 1 - r. For ReLU this is the linear part only (see `_kink_pair`).
    """
    d, L = task.dim, getattr(task, "lipschitz", None)
    if isinstance(task, Affine | Linear | ReLU):
        c = L**2 / d / (1 if isinstance(task, Linear) else 3)
        if isinstance(task, ReLU):
            def variogram(r, s):  # c / 2 (1 - cos) from l q.x, and as much less an arc from |q.x|
                return c * (2 * r - _arc(r, s) / np.pi)
            return variogram, lambda r, s: (2 * r,), np.array([[math.sqrt(c / 2)]])
        return lambda r, s: c * 2 * r, lambda r, s: (2 * r,), np.array([[math.sqrt(c)]])
    if isinstance(task, Quadratic):  # 1 - t^2 = 4 r s; averaged over the angle between, G factors
        c = 2 * L**2 / (d * (d + 2))
        factor = np.array([[math.sqrt(c * d / (d - 1))]])
        return (lambda r, s: c * 4 * r * s), (lambda r, s: (4 * r * s,)), factor
    if not isinstance(task, Cosine):
        raise TypeError(f"task={task!r}: must be one of the built-in classes")

    def variogram(r, s):
        # k = (B(|x - x'|) + B(|x + x'|)) / 2 with B(q) = 0F1(; d/2; -L^2 q / 4), q = 4 r and 4 s
        delta = L**2 * r
        term, taylor = np.ones_like(r), np.zeros_like(r)
        for k in range(1, 20):  # B(4) - B(4 s)
            term = term * np.minimum(delta, 0.25) / (k * (d / 2 + k - 1))
            taylor -= term * (1 - _bessel_gap(d + 2 * k, L**2))
        far = _bessel_gap(d, L**2 * s) - _bessel_gap(d, np.array(L**2))
        return (_bessel_gap(d, delta) + np.where(delta < 0.25, taylor, far)) / 2

    # given a = u.x_q: E[cos(L u.x) | t] = cos(L a t) B_(d-1)(..), and its difference to cos(L a) is
    # 1 - t times an entire function of t, expanded in Chebyshev polynomials
    order = int(1.3 * L) + 25
    a, p = roots_jacobi(order, (d - 3) / 2, (d - 3) / 2)
    t = np.cos(np.pi * (np.arange(order) + 0.5) / order)
    A, T = a[:, None], t[None]
    gap = 1 - T
    difference = (2 * np.sin(L * A * (1 + T) / 2) * np.sin(L * A * gap / 2) / gap
                  - np.cos(L * A * T) * _bessel_gap(d - 1, L**2 * (1 - A**2) * (1 - T**2) / 4) / gap)
    chebyshev = np.polynomial.chebyshev.chebvander(t, order - 1)
    factor = np.sqrt(p / p.sum())[:, None] * np.linalg.solve(chebyshev, difference.T).T

    def basis(r, s):
        t, before, last = s - r, 2 * r * (s - r), 2 * r
        yield last
        for _ in range(order - 1):
            yield before
            before, last = 2 * t * before - last, before

    return variogram, basis, factor


def _bessel_gap(dim: int, x):
    """``1 - 0F1(; dim/2; -x)``, by its series where that is short."""
    x = np.asarray(x, float)
    small = np.minimum(x, dim / 2)
    term, total = np.ones_like(x), np.zeros_like(x)
    for k in range(1, 30):
        term = -term * small / (k * (dim / 2 + k - 1))
        total -= term
    return np.where(x <= dim / 2, total, 1 - hyp0f1(dim / 2, -x))


def _arc(r, s):
    """``sin(theta) - theta cos(theta)`` for r = sin(theta/2)^2."""
    theta = np.where(r < 0.5, 2 * np.arcsin(np.sqrt(np.minimum(r, 0.5))),
                     np.pi - 2 * np.arcsin(np.sqrt(np.minimum(s, 0.5))))
    small, total = np.minimum(theta, 0.5), np.zeros_like(theta)
    for k in range(1, 12):
        total += (-1) ** (k + 1) * 2 * k * small ** (2 * k + 1) / math.factorial(2 * k + 1)
    return np.where(theta < 0.5, total, np.sin(theta) - theta * np.cos(theta))


def _kink_pair(law: _Token, u: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """``E_q (E[z e^-z (|q.x| - |q.x_q|)])^2`` for q uniform on the sphere.

    Given q at latitude phi (``|q.x_q| = sin phi``) and x at angle theta to the query, ``q.x`` is
    ``sin phi cos theta + c cos phi sin theta`` with c a coordinate on S^{d-2}. It changes sign only
    for theta > phi, so the inner mean is ``-sin(phi) E[z e^-z (1 - cos theta)]`` plus one over theta > phi.
    ``linear`` is ``E[z e^-z (1 - cos theta)]``.
    """
    out = np.empty_like(u)
    group = np.where(u <= 5, -1, np.floor(u / 4))
    for g in np.unique(group):
        some = np.flatnonzero(group == g)
        out[some] = _kink_group(law, u[some], linear[some])
    return out


def _kink_group(law: _Token, u: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """`_kink_pair` where one mesh serves all u: they are close together or below 5."""
    d, w = law.dim, law.w
    low, high = (t[i] for i, t in enumerate(law.window(np.array([u.min(), u.max()]))))
    steep = np.arange(max(u.min() - 5, 0.0), max(u.max(), 0.0) + 6, 1.6)  # exp(-z) turns here
    tail = np.linspace(0, 1, 12 + int(0.6 * math.sqrt(d))) ** 1.5
    tau = np.concatenate([steep, steep[-1] + max(high - steep[-1], 0.0) * tail])
    nearest, farthest = (2 * math.asin(math.sqrt(t / (2 * w))) for t in (low, high))
    theta = np.concatenate([2 * np.arcsin(np.sqrt(np.clip(tau, low, high) / (2 * w))),
                            np.arange(0, np.pi, min(0.5, 2.5 / math.sqrt(d)))])  # sin^(d-2) turns here
    theta = np.unique(np.clip(theta, nearest, farthest))

    top = min(farthest, np.pi / 2)
    inner = np.linspace(0, nearest, 3 + int(math.sqrt(d) / 2))
    edges = np.unique(np.minimum(np.concatenate([inner, theta, np.pi - theta, [np.pi / 2]]), top))
    x, weight = np.polynomial.legendre.leggauss(14)
    half = np.diff(edges)[:, None] / 2
    phi = (edges[:-1, None] + half * (1 + x)).ravel()
    log_constant = -betaln(0.5, (d - 1) / 2)
    mass = 2 * (half * weight).ravel() * np.exp(log_constant + (d - 2) * np.log(np.cos(phi)))
    phi, mass = phi[mass > 1e-22], mass[mass > 1e-22]

    # theta from phi to pi - phi, through sin(chi) = tan(phi) / tan(theta): smooth where q.x changes sign
    scale = phi[:, None] * 2.0 ** np.arange(1, 9)
    cuts = np.concatenate([np.broadcast_to(theta, (phi.size, theta.size)), scale, np.pi - scale], axis=1)
    between = np.sort(np.clip(cuts, np.clip(phi, nearest, None)[:, None],
                              np.maximum(np.minimum(np.pi - phi, farthest), phi)[:, None]), axis=1)
    chi = np.arcsin(np.clip(np.tan(phi)[:, None] / np.tan(between), -1, 1))
    row, chi, dchi = _panel_nodes(chi[:, ::-1])
    angle = phi[row, None]
    far = np.arctan2(np.sin(angle), np.sin(chi) * np.cos(angle))
    value = np.cos(angle) * np.sin(far) ** 3 * dchi * np.cos(chi) / np.tan(angle) * _negative_part(d)(chi)
    # theta beyond pi - phi: q.x is negative throughout
    rest, theta_rest, dtheta = _panel_nodes(np.clip(theta, np.pi - phi[:, None], None))
    value_rest = -np.sin(phi)[rest, None] * np.cos(theta_rest) * dtheta
    row = np.repeat(np.concatenate([row, rest]), x.size)
    far = np.concatenate([far, theta_rest]).ravel()
    value = np.concatenate([value, value_rest]).ravel() * np.exp(log_constant + (d - 2) * np.log(np.sin(far)))
    matrix = csr_array((value, (row, np.arange(row.size))), shape=(phi.size, row.size))
    tau = 2 * w * np.sin(far / 2) ** 2
    out = np.empty_like(u)
    for i in range(0, u.size, 16):
        z = np.exp(np.minimum(u[i : i + 16] - tau[:, None], 7.0))
        g = 2 * (matrix @ (z * np.exp(-z))) - np.sin(phi)[:, None] * linear[i : i + 16]
        out[i : i + 16] = mass @ g**2
    return out + linear**2 / d * (betaincc(1.5, (d - 1) / 2, math.sin(top) ** 2) if top < np.pi / 2 else 0.0)


def _panel_nodes(edges: np.ndarray):
    """Row, Gauss-Legendre nodes and weights of every interval with a length, rows of ``edges`` rising."""
    x, weight = np.polynomial.legendre.leggauss(14)
    row, column = np.nonzero(np.diff(edges, axis=1) > 1e-14)
    left, half = edges[row, column, None], np.diff(edges, axis=1)[row, column, None] / 2
    return row, left + half * (1 + x), half * weight


@lru_cache
def _negative_part(dim: int):
    """``E max(-(sin(chi) + c), 0)`` for a coordinate c on S^{dim-2}, as a spline in chi."""
    chi = np.linspace(-np.pi / 2, np.pi / 2, 40_001)
    x = np.abs(np.sin(chi))
    if dim == 2:  # c = -1 or 1
        value = (1 - x) / 2
    else:
        log_density = -betaln(0.5, (dim - 2) / 2)
        value = (np.exp(log_density + (dim - 2) * np.log(np.cos(chi))) / (dim - 2)
                 - x * betainc((dim - 2) / 2, 0.5, np.cos(chi) ** 2) / 2)
    return CubicSpline(chi, value + np.where(chi < 0, x, 0.0))



# Pretraining, the way anybody would write it: one unit, autograd, torch.optim, double precision.

def contexts(member: Member, step: int, batch_size: int) -> tuple[Tensor, Tensor]:
    """The portable batch of ``step``: tokens (B, n + 1, d), the query last, and labels (B, n + 1)."""
    shape = (batch_size, member.context_length + 1)
    x = member.law.tokens(torch.from_numpy(
        stream(member.seed, "covariates", step).standard_normal((*shape, member.task.dim))))
    noise = torch.from_numpy(stream(member.seed, "noise", step).standard_normal(shape))
    f = member.task.sample(stream(member.seed, "tasks", step), batch_size)
    return x, f(x) + member.noise_std * noise


def prediction(parameters: dict[str, Tensor], activation: str, x: Tensor, y: Tensor) -> Tensor:
    """What a unit predicts for the query's label: ITA slides, eqs. (1) and (2), for any activation."""
    tokens = torch.cat([x, y.unsqueeze(-1)], -1)
    tokens[:, -1, -1] = 0  # the query's label is not shown
    context, query = tokens[:, :-1], tokens[:, -1]
    if "M" in parameters:
        scores = (context[..., :-1] * (query[:, :-1] @ parameters["M"].T).unsqueeze(1)).sum(-1)
        values = context[..., -1]
    else:
        scores = ((context @ parameters["W_K"].T) * (query @ parameters["W_Q"].T).unsqueeze(1)).sum(-1)
        values = context @ parameters["W_V"]
    if activation == "softmax":
        return (torch.softmax(scores, -1) * values).sum(-1)
    phi = {"linear": lambda s: s, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}[
        activation.removeprefix("normalized ")](scores)
    if activation.startswith("normalized"):
        total = phi.sum(-1, keepdim=True)
        return (phi / torch.where(total == 0, 1.0, total) * values).sum(-1)
    return (phi * values).mean(-1)


def pretrain(member: Member, steps: int, batch_size: int, learning_rate: float, optimizer: str = "adam",
             draw=contexts) -> dict[str, np.ndarray]:
    """`icl.pretrain.pretrain` for one unit and the linear schedule, slowly.

    Args:
        member: The unit.
        steps: Optimizer steps.
        batch_size: Contexts a step.
        learning_rate: Initial step size.
        optimizer: "adam" or "sgd".
        draw: From (member, step, batch size) to a batch; the portable one if not given.

    Returns:
        Trained parameters by name.
    """
    start = torch.from_numpy(member.initial())
    parameters = {name: value.clone().requires_grad_() for name, value in member.shape.unpack(start).items()}
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    descent = kind(parameters.values(), lr=member.learning_rate or learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(descent, lambda step: 1 - step / steps)
    for step in range(steps):
        x, y = draw(member, step, batch_size)
        descent.zero_grad()
        ((prediction(parameters, member.activation, x, y) - y[:, -1]) ** 2).mean().backward()
        descent.step()
        schedule.step()
    return {name: value.detach().numpy() for name, value in parameters.items()}
