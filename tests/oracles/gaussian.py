"""The population risk on Gaussian tokens, computed without Stein identity and interpolation.

Moments of the weights come from ``S^-k`` integrals whose means over a token are trapezoid sums in g itself,
for each length of the query anew; those of the prediction are summed, not derived. `brute` and `two_tokens`
need no integral representation: they sum over all scores of a few tokens.
"""

import math

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, ndtri, ndtri_exp


def moments(tau, n):
    """C = E sum omega^2, b = E sum omega g, a = E (sum omega g)^2 for n >= 2 tokens of scores tau g."""
    # the largest of n scores lies between them
    high, low = (-ndtri(1e-18 / n), ndtri_exp(-41.0 / n))
    g = np.arange(-10.5, high + 1, 0.19 / max(1.0, tau))
    p = np.exp(-g * g / 2) * (g[1] - g[0]) / math.sqrt(2 * math.pi)
    largest = max(math.log(n) + tau**2 / 2 if tau**2 < 2 * math.log(n) else 0.0, tau * high)
    u = np.arange(-largest - 38, 4.6 - tau * low, 0.19 * max(1.0, tau / 8))
    z = np.exp(np.minimum(u[:, None] + tau * g, 6.0))
    alive = np.exp(-z)
    phi, first = alive @ p, z * alive
    missed = -np.expm1(-z) @ p
    log_phi = np.where(
        missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(np.maximum(phi, 1e-300))
    )
    m1g, m2, m2gg = first @ (p * g), (first * z) @ p, (first * z) @ (p * g * g)
    one = n * np.exp(np.maximum((n - 1) * log_phi, -700))
    two = n * (n - 1) * np.exp(np.maximum((n - 2) * log_phi, -700))
    return (u[1] - u[0]) * np.array([one @ m2, one @ m1g, one @ m2gg + two @ m1g**2])


def brute(tau, n, step):
    """Return the same for two or three tokens, by a sum over all scores."""
    g = np.arange(-9.0, 9.0 + step / 2, step)
    p = np.exp(-g * g / 2) * step / math.sqrt(2 * math.pi)
    grids = np.meshgrid(*[g] * n, indexing="ij")
    law = math.prod(np.meshgrid(*[p] * n, indexing="ij"))
    weights = np.exp(tau * (np.stack(grids) - np.max(grids, axis=0)))
    weights /= weights.sum(0)
    mean = sum(w * x for w, x in zip(weights, grids, strict=True))
    return np.array([(law * value).sum() for value in ((weights**2).sum(0), mean, mean**2)])


def two_tokens(tau):
    """Return C and D of two tokens, which are means over the difference of both scores."""
    step = min(0.05, 0.1 / tau)
    x = np.arange(-9.5, 9.5, step)
    product = expit(math.sqrt(2) * tau * x) * expit(-math.sqrt(2) * tau * x)
    p = np.exp(-x * x / 2) * step / math.sqrt(2 * math.pi)
    return 1 - 2 * (p @ product), p @ product - 4 * (p @ product**2)


def query_law(dim, nodes):
    """Return lengths r of the query and their weights, by a Gauss rule."""
    low, high = max(0.0, math.sqrt(dim) - 9), math.sqrt(dim) + 10.5
    x, weight = np.polynomial.legendre.leggauss(nodes)
    r = (low + high) / 2 + (high - low) / 2 * x
    p = weight * np.exp(
        (dim - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - dim / 2) - gammaln(dim / 2)
    )
    return r, p * (high - low) / 2


def population_risk(dim, w, n, at=None, nodes=120):
    """Bias for L = 1 and noise for sigma = 1; ``at(tau, n)`` gives the moments."""
    r, p = query_law(dim, nodes)
    c, b, a = np.array([(at or moments)(w * v, n) for v in r]).T
    bias = (r * r - 2 * r * b + a + (dim - 1) * c) / dim
    return np.array([p @ bias, p @ c])


def long_moments(log_n, tau):
    """Logarithm of C, and D / C, if n is so large that ``phi^n`` is ``exp(-n (1 - phi))`` up to 1 / n.

    For ``tau^2`` up to about ``1.95 log n`` and any log n: everything is relative to the power of n that the
    bound ``E sum omega^2 <= 64 n^-c`` of the proof has. Means over a token are sums over ``x = log z``; below
    ``x = -37``, where ``exp(-z) = 1``, they are moments of a log-normal variable.
    """
    ratio = tau**2 / log_n
    shift = -log_n * (1 - ratio if ratio < 2 / 3 else (2 - ratio) ** 2 / (8 * ratio))
    step = 0.2
    x, u = np.arange(-37, 5, step), -log_n - tau**2 / 2 + np.arange(-45, 25, step)
    away = (
        -((x - u[:, None]) ** 2) / (2 * tau**2)
        + log_n
        - math.log(tau * math.sqrt(2 * math.pi) / step)
    )
    start = x[0] - step / 2
    far = [
        np.exp(
            k * u
            + (k * tau) ** 2 / 2
            + log_n
            - shift * (k > 1)
            + log_ndtr((start - u - k * tau**2) / tau)
        )
        for k in range(1, 5)
    ]
    z, law = np.exp(x), np.exp(away - shift)
    m2, m3, m4 = (law @ (z**k * np.exp(-z)) + far[k - 1] for k in (2, 3, 4))
    missed = (
        np.exp(away) @ -np.expm1(-z)
        + far[0]
        + np.exp(log_n + log_ndtr((u - x[-1] - step / 2) / tau))
    )
    alive = step * np.exp(-missed)
    c = alive @ m2
    pairs = math.exp(shift) * (alive @ m2**2) / 6
    return math.log(c) + shift, (alive @ (m3 / 2 - m4 / 6) - pairs) / c


def long_queries(dim, w, log_n):
    """Lengths r of the queries that count, log of C times their law, and D / C, for very large n."""
    r = np.arange(0.025, math.sqrt(1.95 * log_n) / w, 0.05)
    ratio = (w * r) ** 2 / log_n
    bound = np.where(ratio < 2 / 3, 1 - ratio, (2 - ratio) ** 2 / (8 * ratio))
    log_p = (dim - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - dim / 2) - gammaln(dim / 2)
    height = log_p - log_n * bound
    counts = height > height.max() - 45
    log_c, ratio_d = np.array([long_moments(log_n, w * one) for one in r[counts]]).T
    return r[counts], log_c + log_p[counts] + math.log(0.05), ratio_d


def long_means(dim, w, log_n):
    """Logarithms of ``E sum omega^2`` and ``E |sum omega x - w x_q|^2`` for very large n."""
    r, log_c, ratio_d = long_queries(dim, w, log_n)
    distance = dim + (w * r) ** 2 * (1 - 6 * ratio_d)  # the unit is C
    p = np.exp(log_c - log_c.max())
    return np.log([p.sum(), p @ distance]) + log_c.max()


def long_gap(dim, log_n, noise_std):
    """Logarithm of half the slope of the risk at one for L = 1: a mean of C and Q, weighted by r alone."""
    r, log_c, ratio_d = long_queries(dim, 1.0, log_n)
    distance = dim + r**2 * (1 - 6 * ratio_d)
    slope = ((r**2 - dim) * distance - 2 * r**2) / dim + noise_std**2 * (r**2 - dim)
    return math.log(np.exp(log_c - log_c.max()) @ slope / 2) + log_c.max()


def noise_and_distance(dim, w, n, r):
    """C and ``E |sum omega x - w x_q|^2`` at queries of length r, from moments of the prediction."""
    c, b, a = np.array([moments(w * one, n) for one in r]).T
    return c, a - 2 * w * r * b + (w * r) ** 2 + (dim - 1) * c
