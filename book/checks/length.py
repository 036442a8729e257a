"""What rules for the window cost, carried from a length to 128 times that length.

Settings: ReLU and affine functions with L = 1, sigma = 0.1, 0.5, 1, 2, from 2,048, 8,192 or
32,768 inputs, in 4, 16 and 48 dimensions. Each price is the median over the 24 settings.

The risk is exact for any number of inputs on the sphere, without harmonics. With E = exp(-w (1 -
t)) and S the sum of all E, 1 / S^2 is an integral of s exp(-s S), so that the mean over n
independent inputs becomes a power of one mean. The variogram g of the class between two inputs at
the cosines t and t' to the query is averaged over the angle between their directions, and nothing
is expanded.
"""

import numpy as np
from scipy.optimize import minimize_scalar

node, weight = np.polynomial.legendre.leggauss(12)
edges = np.append(0, np.geomspace(0.02, np.pi, 9))[:, None]
theta = (edges[:-1] + np.diff(edges, axis=0) * (node + 1) / 2).ravel()
step = (np.diff(edges, axis=0) * weight / 2).ravel()
psi, turn = np.polynomial.legendre.leggauss(120)
psi, turn = np.pi * (psi + 1) / 2, turn * np.pi / 2


def affine(c, d):
    return (1 - c) / (3 * d)


def relu(c, d):
    angle = np.arccos(np.clip(c, -1, 1))
    return (1 - (np.sin(angle) + (np.pi - angle) * c) / np.pi) / (3 * d)


def pairs(g, d):
    """What two inputs contribute together: g(t) + g(t') - g(between them)."""
    across = turn * np.sin(psi) ** (d - 3)
    across /= across.sum()
    t, s = np.cos(theta), np.sin(theta)
    between = np.outer(t, t)[..., None] + np.outer(s, s)[..., None] * np.cos(psi)
    return g(t, d)[:, None] + g(t, d) - g(between, d) @ across


def parts(w, n, d, g, both):
    """Bias, and noise in units of the variance of the noise."""
    p = step * np.sin(theta) ** (d - 2)
    p /= p.sum()
    u = np.arange(-np.log(n) - 12, 2 * w + 12, 0.2)
    z = np.exp(np.minimum(u[:, None] - w * 2 * np.sin(theta / 2) ** 2, 300))
    phi = np.log1p(np.expm1(-z) @ p * (1 - 1e-15))
    alive = phi > -700 / n
    z, phi = z[alive], phi[alive]
    once = z * np.exp(-z) * p
    others = 0.2 * n * np.exp((n - 1) * phi)
    own = others @ ((once * z) @ np.stack([np.ones_like(theta), 2 * g(np.cos(theta), d)], axis=1))
    two = 0.2 * n * (n - 1) * np.exp((n - 2) * phi)
    return own[1] + two @ ((once @ both) * once).sum(axis=1), own[0]


def risk(log_w, n, sigma, *about):
    bias, noise = parts(np.exp(log_w), n, *about)
    return bias + sigma**2 * noise


def least(n, sigma, low, high, *about):
    """The best log w between two ends, and its risk: a scan, then a search beside its best."""
    scan = np.linspace(low, high, 9)
    best = scan[np.argmin([risk(log_w, n, sigma, *about) for log_w in scan])]
    step = scan[1] - scan[0]
    found = minimize_scalar(
        risk, bounds=(best - step, best + step), args=(n, sigma, *about), method="bounded"
    )
    return found.x, found.fun


shown = {4: ("kept", "power"), 16: ("kept", "YaRN", "(log n)^2"), 48: ("kept", "log n")}
for d, rules in shown.items():
    prices = {rule: [] for rule in rules}
    for g in (affine, relu):
        about = d, g, pairs(g, d)
        for sigma in (0.1, 0.5, 1.0, 2.0):
            for n in (2048, 8192, 32768):
                first, _ = least(n, sigma, -2, 7, *about)
                _, best = least(128 * n, sigma, first, first + 3, *about)
                log_n = np.log(128 * n) / np.log(n)
                yarn = (1 + 0.1 * np.log(128)) ** 2
                factors = {"kept": 1, "log n": log_n, "(log n)^2": log_n**2, "YaRN": yarn}
                factors["power"] = 128 ** (2 / (d + 2))
                for rule in rules:
                    carried = risk(first + np.log(factors[rule]), 128 * n, sigma, *about)
                    prices[rule].append(carried / best)
    for rule, found in prices.items():
        price = np.median(found)
        print(f"P1.N.dimension | dim={d} rule={rule!r} | {price:.4f} | {0.003 * price:.4f}")
