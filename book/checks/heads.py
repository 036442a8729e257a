"""What a second head buys, for smooth functions and for functions with kinks.

Affine functions in d = 5 with slope and intercept uniform in [-1, 1], sigma = 0.5, and
n = 20,000 tokens: the risk to first order in 1/n, for one head and for two. Then the
limit of long contexts for kinks: heads multiply harmonics of degree x by a sum of
Gaussians of widths alpha and values v, with the sum of v equal to one. The integrals
of what this costs are powers of sums of widths.
"""

import numpy as np
from many_tokens import best, coefficients, risk
from scipy.optimize import minimize
from scipy.special import gamma

d, sigma, n = 5, 0.5, 20_000
a_1 = 1 / (3 * d)
a, rest = coefficients(lambda theta: a_1 * np.cos(theta), d)
one = risk(best(a, rest, d, n, sigma), a, rest, d, n, sigma)

t, p = np.polynomial.legendre.leggauss(60)
p = p * (1 - t**2)  # of the cosine between two random points in five dimensions
p /= p.sum()


def two_heads(windows):
    e = np.exp(np.outer(windows, t))
    e /= (e @ p)[:, None]
    A = e @ (p * t)
    v = np.array([1 - A[1], A[0] - 1]) / (A[0] - A[1])  # no bias is left
    total, shrunk = v @ e, (v * A) @ e
    spread = a_1 * (total**2 - 2 * t * total * shrunk + shrunk**2)
    return p @ (spread + sigma**2 * total**2) / n


two = minimize(lambda w: 1e4 * two_heads(w), [2.0, -1.0], method="Nelder-Mead").x
gain = one / two_heads(two)
case = "task='affine' dim=5 n=20000 heads='2 heads'"
print(f"P1.H.gain | {case} | {gain:.3f} | {0.01 * gain:.3f}")

rho, m = 3, 4


def over_kriging(steps):
    """Widths grow by a factor of 1.5 or more; the best values solve a linear system."""
    alpha = np.exp(np.cumsum([steps[0], *(np.log(1.5) + np.abs(steps[1:]))]))
    both = np.add.outer(alpha, alpha)
    power = both ** (rho / 2) - np.add.outer(alpha ** (rho / 2), alpha ** (rho / 2))
    form = power * 2 ** (-rho / 2 - 1) * gamma(-rho / 2)  # integral of (1 - phi)^2
    form += 2 ** (m / 2 - 1) * gamma(m / 2) * both ** (-m / 2)  # integral of phi^2
    least = 1 / np.linalg.inv(form).sum()
    return least / (np.pi / (m + rho) / np.sin(np.pi * m / (m + rho)))


for heads in (1, 2, 3):
    starts = [np.append(first, np.zeros(heads - 1)) for first in (0.0, 1.0, 1.5)]
    options = {"xatol": 1e-6, "fatol": 1e-10}
    found = [minimize(over_kriging, x, method="Nelder-Mead", options=options) for x in starts]
    limit = min(one.fun for one in found)
    print(f"P1.H.kriging | dim=5 order=3 heads={heads} | {limit:.5f} | 0.0002")
