r"""The population risk of softmax attention, computed exactly.

Setting. Tokens ``x_1, ..., x_n`` and the query ``x_q`` are independent and uniform on the
unit sphere, labels are ``y_i = f(x_i) + eps_i`` with noise of variance sigma^2, and the
attention unit with ``M = w I`` predicts ``sum_i omega_i y_i`` with
``omega_i ~ exp(w x_i . x_q)``; the query is not in the denominator. The risk is the mean
squared distance to the clean query label (ITA slides, "(ICL)"),

    risk = E (sum_i omega_i y_i - f(x_q))^2 = bias + noise.

Derivation. With ``E_i = exp(-w (1 - x_i . x_q))`` and the weights' sum equal to one,
the mean over f leaves only the variogram gamma of the class:

    bias = E sum_ij omega_i omega_j G_ij,   G_ij = gamma_iq + gamma_jq - gamma_ij,
    noise = sigma^2 E sum_i omega_i^2.

The denominator goes away through ``S^-2 = int_0^inf s exp(-s S) ds``, S = sum_j E_j: given
the query, tokens are then independent and the n-fold integral factors. With u = log s,
z = s E and ``phi(u) = E exp(-z)``,

    noise = sigma^2 n int E[z^2 e^-z] phi^(n-1) du,
    bias = n int E[2 gamma z^2 e^-z] phi^(n-1) du
         + n (n-1) int sum_l a_l (E[z (1 - P_l) e^-z])^2 phi^(n-2) du,

where the expansion of the covariance in Gegenbauer polynomials turns the pair of tokens
into squares of one-token integrals (addition theorem): every term is positive, nothing
cancels, and n is only an exponent. What is left are integrals over one angle and over u,
done with the nodes of `icl.quadrature`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
import torch
from scipy.optimize import brentq

from icl.attention import softmax_weights
from icl.claims import Z
from icl.quadrature import Mesh, meshes
from icl.tasks import Zonal, one_minus_gegenbauer
from icl.tokens import cap_quantile, integer, stream, uniform_sphere

_DEGREES = 200_000  # more Gegenbauer degrees than this are refused


@dataclass(frozen=True)
class Risk:
    """Population risk, split as on the slides.

    Attributes:
        bias: ``E (sum omega_i f(x_i) - f(x_q))^2``; contains the sampling variance of f.
        noise: ``sigma^2 E sum omega_i^2``.
        bias_slope: Derivative of ``bias`` in w.
        noise_slope: Derivative of ``noise`` in w.

    All are float64 arrays of the broadcast shape of the arguments (scalars if all were).
    """

    bias: np.ndarray
    noise: np.ndarray
    bias_slope: np.ndarray
    noise_slope: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The risk, bias + noise."""
        return self.bias + self.noise

    @property
    def slope(self) -> np.ndarray:
        """Derivative of the risk in w."""
        return self.bias_slope + self.noise_slope


def population_risk(task: Zonal, w, n, noise_std) -> Risk:
    """Exact population risk of the attention unit ``M = w I``.

    Args:
        task: A rotation-invariant class from `icl.tasks`.
        w: Window parameter, >= 0 (kernel ``exp(w x.x')``, bandwidth ``w**-0.5``).
        n: Context length, >= 1; the cost does not grow with it.
        noise_std: Standard deviation sigma of the label noise, >= 0.

    Returns:
        The risk and its derivative in w; ``w``, ``n`` and ``noise_std`` broadcast.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range, or the window is too narrow for a class
            whose spectrum falls slowly (ReLU in two dimensions, w beyond about 1e5).

    >>> from icl.tasks import Affine
    >>> risk = population_risk(Affine(dim=5), w=0.0, n=20, noise_std=1.0)
    >>> round(float(risk.noise), 12)  # equal weights average the noise
    0.05
    """
    _check(task, w, n, noise_std)
    w, n, noise_std = np.broadcast_arrays(
        np.asarray(w, float), np.asarray(n, float), np.asarray(noise_std, float))
    out = np.empty((4, w.size))
    flat_w, flat_n, variance = w.ravel(), n.ravel(), noise_std.ravel() ** 2
    for value in np.unique(flat_w):  # one table serves every n and sigma
        here = flat_w == value
        lengths, back = np.unique(flat_n[here], return_inverse=True)
        bias, bias_slope, noise, noise_slope = _integrate(task, float(value), lengths)[:, back]
        out[:, here] = bias, variance[here] * noise, bias_slope, variance[here] * noise_slope
    bias, noise, bias_slope, noise_slope = out.reshape(4, *w.shape)
    return Risk(bias[()], noise[()], bias_slope[()], noise_slope[()])


def _check(task, w, n, noise_std):
    if not isinstance(task, Zonal):
        raise TypeError(f"task={task!r}: must be a rotation-invariant class from icl.tasks")
    arguments = (("w", w, 0, False), ("n", n, 1, True), ("noise_std", noise_std, 0, False))
    for name, value, least, whole in arguments:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)) or np.any(array < least) or (
                whole and np.any(array != np.floor(array))):
            kind = "an integer" if whole else "a finite number"
            raise ValueError(f"{name}={value!r}: must be {kind} >= {least}")


def _integrate(task: Zonal, w: float, n: np.ndarray) -> np.ndarray:
    """(bias, d bias/dw, noise / sigma^2, its derivative) for every n; shape (4, len(n))."""
    pieces = [_piece(task, w, n, mesh) for mesh in meshes(task.dim, w, n)]
    return sum(pieces[1:], pieces[0])


def _piece(task: Zonal, w: float, n: np.ndarray, mesh: Mesh) -> np.ndarray:
    mean, p = mesh.mean, mesh.p
    gap = 2 * np.sin(mesh.theta / 2) ** 2  # 1 - x.x_q
    z = np.exp(np.minimum(mesh.u[:, None] - w * gap, 6.0))  # exp(-exp(6)) is zero
    decay = np.exp(-z)
    first, second = z * decay, z * z * decay
    first_w, second_w = first * (z - 1), second * (z - 2)  # d/dw g(z) = -z g'(z), times gap

    missed = mesh.below + mean(-np.expm1(-z), p)  # 1 - phi
    phi = np.maximum(mesh.above + mean(decay, p), 1e-300)
    log_phi = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(phi))
    log_phi_w = mean(first, gap * p) / phi
    # powers of phi for all n at once, with the weights in u: (len(n), len(u))
    count = n[:, None]
    one = mesh.weight * count * np.exp(np.maximum((count - 1) * log_phi, -700))
    two = mesh.weight * count * (count - 1) * np.exp(np.maximum((count - 2) * log_phi, -700))

    variogram = 2 * task.variogram(mesh.theta) * p
    single, noise = mean(second, variogram), mean(second, p)
    single_w, noise_w = mean(second_w, gap * variogram), mean(second_w, gap * p)
    pair, pair_w = _pairs(task, mesh, gap, first, first_w, two, one @ single)
    return np.stack([
        one @ single + two @ pair,
        one @ single_w + (one * (count - 1)) @ (single * log_phi_w)
        + two @ pair_w + (two * (count - 2)) @ (pair * log_phi_w),
        one @ noise,
        one @ noise_w + (one * (count - 1)) @ (noise * log_phi_w),
    ])


def _pairs(task, mesh, gap, first, first_w, weight, scale):
    """``sum_l a_l m_l^2`` and its w-derivative on the u grid, ``m_l = E[z (1 - P_l) e^-z]``.

    Beyond the degrees that the window resolves, P_l averages out and m_l = E[z e^-z]: from
    there on the whole rest of the spectrum acts as one number. Degrees are added until the
    part of m_l that this neglects is below rounding in every integral it enters.
    """
    p, shared = mesh.p, mesh.theta.ndim == 1
    flat, flat_w = mesh.mean(first, p), mesh.mean(first_w, gap * p)
    value, slope = np.zeros_like(flat), np.zeros_like(flat)
    polynomials = islice(one_minus_gegenbauer(task.dim, mesh.theta, 10**9), 1, None)
    table = None if shared else np.stack([first * p, first_w * gap * p])
    start, block = 0, 32
    while True:
        a, rest = _spectrum(task, start + block)
        a = np.trim_zeros(a[start:], "b")
        used = np.flatnonzero(a)
        if used.size:
            if shared:
                h = np.stack(list(islice(polynomials, a.size)), axis=1)[:, used] * p[:, None]
                m, m_w = first @ h, first_w @ (gap[:, None] * h)
            else:
                m, m_w = np.stack([np.einsum("suk,uk->su", table, q) for q, weighs in
                                   zip(islice(polynomials, a.size), a > 0, strict=True) if weighs], axis=-1)
            value += m**2 @ a[used]
            slope += 2 * (m * m_w) @ a[used]
        if rest <= 0:
            return value, slope
        neglected = 2 * rest * flat * np.abs(m[:, -4:] - flat[:, None]).max(axis=1)
        if np.all(weight @ neglected <= 1e-14 * (weight @ value + scale)):
            return value + rest * flat**2, slope + 2 * rest * flat * flat_w
        start, block = start + a.size, min(2 * block, 2048)
        if start > _DEGREES:
            raise ValueError(f"w is too large for {task!r}: its spectrum falls too slowly for this window")


@lru_cache(maxsize=256)
def _spectrum(task: Zonal, degree: int):
    return task.spectrum(degree)


@dataclass(frozen=True)
class OptimalWindow:
    """The minimizer of the population risk over w.

    Attributes:
        w: Optimal window parameter, relative error about 1e-9.
        risk: The risk there.
        interior: Whether the minimum lies at w > 0 (False: equal weights are best).

    All are arrays of the broadcast shape of ``n`` and ``noise_std`` (scalars if both were).
    """

    w: np.ndarray
    risk: np.ndarray
    interior: np.ndarray


def optimal_window(task: Zonal, n, noise_std) -> OptimalWindow:
    """The window with the smallest population risk.

    The risk is scanned upwards in w with a ratio of 1.4 and every minimum met is refined
    as a root of its exact derivative; the best one, or w = 0, wins. The scan may stop where
    the noise term alone exceeds the best risk so far, because that term never falls in w
    (its logarithmic derivative is ``2 (E_{2w} t - E_w t) >= 0`` for every set of tokens); with
    little noise it stops where the query's nearest token has taken over.

    Args:
        task: A rotation-invariant class.
        n: Context length, >= 1.
        noise_std: Noise standard deviation, >= 0.

    Returns:
        The optimal window; ``n`` and ``noise_std`` broadcast.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range, or the risk still falls at the
            largest w that can be computed.

    >>> from icl.tasks import Affine
    >>> a = optimal_window(Affine(dim=3, lipschitz=1.0), n=100, noise_std=0.1)
    >>> b = optimal_window(Affine(dim=3, lipschitz=10.0), n=100, noise_std=1.0)
    >>> bool(abs(a.w - b.w) < 1e-8)  # only L / sigma matters
    True
    """
    _check(task, 0.0, n, noise_std)
    n, noise_std = np.broadcast_arrays(np.asarray(n, float), np.asarray(noise_std, float))
    lengths, variance = n.ravel(), noise_std.ravel() ** 2

    def at(w, some):
        """Risk, its derivative and its noise part for the settings ``some``."""
        unique, back = np.unique(lengths[some], return_inverse=True)
        bias, bias_w, noise, noise_w = _integrate(task, float(w), unique)[:, back]
        return bias + variance[some] * noise, bias_w + variance[some] * noise_w, variance[some] * noise

    # At w = 0 the noise is stationary and the bias falls exactly if the class has a degree-1 part;
    # then zero is no minimum, even where the gain is below the rounding of the risk.
    a, rest = _spectrum(task, 1)
    falls_at_zero = a[0] > 1e-12 * (a[0] + rest)
    everything = np.arange(lengths.size)
    best_risk = at(0.0, everything)[0]
    best_w = np.zeros_like(best_risk)
    lowest = best_risk.copy()
    # the scan's end without noise: on average less than one token is left within the kernel's reach
    last_w = np.array([1 / cap_quantile(task.dim, 1 / m) for m in lengths])
    falling = np.full(lengths.size, falls_at_zero)
    active = np.flatnonzero(lengths > 1)  # a single token has weight one whatever w is
    lower, w = 0.0, 1e-3
    while active.size:
        try:
            risk, slope, noise = at(w, active)
        except ValueError as problem:
            raise ValueError(f"n={lengths[active][0]:g}, noise_std={variance[active][0] ** 0.5:g}: "
                             f"no minimum found up to w={lower:.3g}; {problem}") from None
        rises = slope > 0
        for i in active[falling[active] & rises]:
            root = brentq(lambda x, i=i: at(x, [i])[1][0], lower, w, xtol=1e-18, rtol=1e-12)
            value = at(root, [i])[0][0]
            if value < best_risk[i] or (lower == 0 and falls_at_zero):
                best_w[i], best_risk[i] = root, value
        falling[active] = ~rises
        lowest[active] = np.minimum(lowest[active], risk)
        active = active[~((noise > lowest[active]) | (rises & (w > last_w[active])))]
        lower, w = w, w * 1.4
    shape = n.shape
    return OptimalWindow(*(v.reshape(shape)[()] for v in (best_w, best_risk, best_w > 0)))


@dataclass(frozen=True)
class MonteCarlo:
    """A sampled risk.

    Attributes:
        mean: Average over the contexts.
        standard_error: Its standard error.
        contexts: Number of independent contexts.
    """

    mean: float
    standard_error: float
    contexts: int

    @property
    def interval(self) -> tuple[float, float]:
        """Normal interval with false-alarm rate `icl.claims.FALSE_ALARM_RATE`."""
        half = Z * self.standard_error
        return self.mean - half, self.mean + half


def monte_carlo_risk(task: Zonal, w: float, n: int, noise_std: float, contexts: int = 100_000, seed: int = 0,
                     integrate_labels: bool = False) -> MonteCarlo:
    """The population risk by sampling: what everybody does, and the check of the exact value.

    Args:
        task: A rotation-invariant class.
        w: Window parameter, >= 0.
        n: Context length.
        noise_std: Noise standard deviation.
        contexts: Number of sampled contexts, >= 2, fixed in advance.
        seed: Seed of the streams.
        integrate_labels: Rao-Blackwell: sample tokens only and take the mean over f and
            the noise in closed form (fewer contexts for the same error).

    Returns:
        Mean, standard error, interval.

    Raises:
        ValueError: If an argument is out of range.
    """
    _check(task, w, n, noise_std)
    contexts = integer(contexts, "contexts", 2)
    chunk = max(1, min(contexts, 2_000_000 // (n * (n if integrate_labels else task.dim))))
    losses = []
    for step, start in enumerate(range(0, contexts, chunk)):
        size = min(chunk, contexts - start)
        x = uniform_sphere(stream(seed, "monte carlo", step), size, n + 1, task.dim)
        context, query = x[:, :-1], x[:, -1]
        weights = softmax_weights(context, query, w * torch.eye(task.dim, dtype=x.dtype))
        if integrate_labels:
            def gamma(a, b):
                cosine = torch.einsum("bid,bjd->bij", a, b).clamp(-1, 1)
                return torch.from_numpy(task.variogram(np.arccos(cosine.numpy())))

            near = gamma(context, query[:, None]).squeeze(-1)
            among = gamma(context, context)
            loss = (2 * (weights * near).sum(-1) - torch.einsum("bi,bij,bj->b", weights, among, weights)
                    + noise_std**2 * (weights**2).sum(-1))
        else:
            values = task.sample(stream(seed, "tasks", step), size)(x)
            noise = noise_std * torch.from_numpy(stream(seed, "noise", step).standard_normal((size, n)))
            loss = ((weights * (values[:, :-1] + noise)).sum(-1) - values[:, -1]) ** 2
        losses.append(loss.numpy())
    losses = np.concatenate(losses)
    return MonteCarlo(float(losses.mean()), float(losses.std(ddof=1) / math.sqrt(contexts)), contexts)
