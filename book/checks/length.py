"""What rules for the window cost, carried from a length to a hundred times that length.

Settings: ReLU and affine functions with L = 1, d = 3, 5, 8, 16, sigma = 0.1, 0.5, 2, from
30, 100 or 1000 inputs.
"""

import numpy as np
from any_length import affine, pairs, relu, risk
from scipy.optimize import minimize_scalar


def least(n, sigma, low, high, *about):
    """The best log w between two ends, and its risk: a scan, then a search beside its best."""
    scan = np.linspace(low, high, 9)
    best = scan[np.argmin([risk(log_w, n, sigma, *about) for log_w in scan])]
    step = scan[1] - scan[0]
    found = minimize_scalar(
        risk, bounds=(best - step, best + step), args=(n, sigma, *about), method="bounded"
    )
    return found.x, found.fun


prices = {"window kept": [], "log n": [], "n^(2/(d+2))": [], "n^(2/(d-1))": []}
for d in (3, 5, 8, 16):
    growth = (1, 0, 100 ** (2 / (d + 2)), 100 ** (2 / (d - 1)))
    for g in (affine, relu):
        about = d, g, pairs(g, d)
        for sigma in (0.1, 0.5, 2.0):
            first = -5.0
            for n in (30, 100, 1000):
                first, _ = least(n, sigma, first, max(first, 0) + 3, *about)
                _, best = least(100 * n, sigma, first, first + 5, *about)
                for rule, factor in zip(prices, growth, strict=True):
                    factor = factor or np.log(100 * n) / np.log(n)
                    kept = risk(first + np.log(factor), 100 * n, sigma, *about)
                    prices[rule].append(kept / best)
for rule, found in prices.items():
    for of, price in (("median", np.median(found)), ("largest", max(found))):
        claim = "P1.N.law" if rule == "n^(2/(d+2))" else "P1.N.rules"
        print(f"{claim} | rule={rule!r} ratio=100 of={of!r} | {price:.4f} | {0.003 * price:.4f}")
