"""The population risk on Gaussian tokens by other means: no Stein identity, no interpolation.

Moments of the weights come from ``S^-k`` integrals whose means over a token are trapezoid sums in g itself,
for each length of the query anew; those of the prediction are summed, not derived. `brute` and `two_tokens`
need no integral representation at all: they sum over all scores of a few tokens.
"""

import math

import numpy as np
from scipy.special import expit, gammaln, ndtri, ndtri_exp


def moments(tau, n):
    """C = E sum omega^2, b = E sum omega g, a = E (sum omega g)^2 for n >= 2 tokens of scores tau g."""
    high, low = -ndtri(1e-18 / n), ndtri_exp(-41.0 / n)  # the largest of n scores lies between them
    g = np.arange(-10.5, high + 1, 0.19 / max(1.0, tau))
    p = np.exp(-g * g / 2) * (g[1] - g[0]) / math.sqrt(2 * math.pi)
    largest = max(math.log(n) + tau**2 / 2 if tau**2 < 2 * math.log(n) else 0.0, tau * high)
    u = np.arange(-largest - 38, 4.6 - tau * low, 0.19 * max(1.0, tau / 8))
    z = np.exp(np.minimum(u[:, None] + tau * g, 6.0))
    alive = np.exp(-z)
    phi, first = alive @ p, z * alive
    missed = -np.expm1(-z) @ p
    log_phi = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(np.maximum(phi, 1e-300)))
    m1g, m2, m2gg = first @ (p * g), (first * z) @ p, (first * z) @ (p * g * g)
    one = n * np.exp(np.maximum((n - 1) * log_phi, -700))
    two = n * (n - 1) * np.exp(np.maximum((n - 2) * log_phi, -700))
    return (u[1] - u[0]) * np.array([one @ m2, one @ m1g, one @ m2gg + two @ m1g**2])


def brute(tau, n, step):
    """The same for two or three tokens, by a sum over all scores."""
    g = np.arange(-9.0, 9.0 + step / 2, step)
    p = np.exp(-g * g / 2) * step / math.sqrt(2 * math.pi)
    grids = np.meshgrid(*[g] * n, indexing="ij")
    law = math.prod(np.meshgrid(*[p] * n, indexing="ij"))
    weights = np.exp(tau * (np.stack(grids) - np.max(grids, axis=0)))
    weights /= weights.sum(0)
    mean = sum(w * x for w, x in zip(weights, grids, strict=True))
    return np.array([(law * value).sum() for value in ((weights**2).sum(0), mean, mean**2)])


def two_tokens(tau):
    """C and D of two tokens: means over the difference of both scores."""
    step = min(0.05, 0.1 / tau)
    x = np.arange(-9.5, 9.5, step)
    product = expit(math.sqrt(2) * tau * x) * expit(-math.sqrt(2) * tau * x)
    p = np.exp(-x * x / 2) * step / math.sqrt(2 * math.pi)
    return 1 - 2 * (p @ product), p @ product - 4 * (p @ product**2)


def population_risk(dim, w, n, at=None, nodes=120):
    """Bias for L = 1 and noise for sigma = 1; ``at(tau, n)`` gives the moments."""
    low, high = max(0.0, math.sqrt(dim) - 9), math.sqrt(dim) + 10.5
    x, weight = np.polynomial.legendre.leggauss(nodes)
    r = (low + high) / 2 + (high - low) / 2 * x
    p = weight * np.exp((dim - 1) * np.log(r) - r * r / 2 + math.log(2) * (1 - dim / 2) - gammaln(dim / 2))
    c, b, a = np.array([(at or moments)(w * v, n) for v in r]).T
    bias = (r * r - 2 * r * b + a + (dim - 1) * c) / dim
    return np.array([p @ bias, p @ c]) * (high - low) / 2
