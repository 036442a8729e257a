"""The best w on Gaussian inputs and on a sphere, without an identity.

Here d = 5 and sigma = 0.5, and both laws have the same mean squared length. The labels
are beta.x with E beta beta' = I / 5. Along a query the inputs have coordinates t with
weights ``exp(tau t)``. With S the sum of the weights, S^-1 and S^-2 are integrals of
exp(-s S), so that means over n independent inputs become powers of one mean, phi(s). No
identity for Gaussian variables is used.
"""

import numpy as np
from scipy.optimize import minimize_scalar

d, sigma = 5, 0.5


def risk(tau, r, n, t, p, across):
    """Return the risk at queries of length r; ``across`` is what other coordinates add."""
    s = np.exp(np.arange(-tau * t.max() - np.log(n) - 20, 5, 0.2))
    z = np.exp(tau * t)
    log_phi = np.log1p(np.expm1(-np.outer(s, z)) @ p * (1 - 1e-15))
    others, two_less = 0.2 * n * np.exp((n - 1) * log_phi), np.exp((n - 2) * log_phi)
    alive = np.exp(-np.outer(s, z)) * z * p
    first = s * (alive @ t)
    squares = [s * s * (alive @ (z * y)) @ others for y in (t**0, t * t, across)]
    mean = first @ others
    square = squares[1] + squares[2] + 0.2 * n * (n - 1) * first**2 @ two_less
    return (r * r - 2 * r * mean + square) / d + sigma**2 * squares[0]


t = np.arange(-9, 9, 0.03)
gauss = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()
node, weight = np.polynomial.legendre.leggauss(30)
length = 3.5 * (node + 1)
law = weight * length ** (d - 1) * np.exp(-length * length / 2)
u, v = np.polynomial.legendre.leggauss(400)
R = d**0.5  # the length on the sphere
cap = v * (1 - u * u) ** ((d - 3) / 2)


def gaussian(w, n):
    return law @ [risk(w * r, r, n, t, gauss, t**0 * (d - 1)) for r in length]


def sphere(w, n):
    return risk(w * R, R, n, R * u, cap / cap.sum(), d * (1 - u * u))


for tokens, f, n, ends in (
    ("Gaussian", gaussian, 100, (0.5, 1.2)),
    ("Gaussian", gaussian, 10**6, (0.95, 1.05)),
    ("sphere", sphere, 10**6, (10, 40)),
):
    least = minimize_scalar(f, bounds=ends, args=(n,), method="bounded")
    label = f"dim=5 n={n} noise_std=0.5 tokens={tokens!r}"
    print(f"P1.G.stops | {label} | {least.x:.5f} | {1e-4 * least.x:.5f}")
