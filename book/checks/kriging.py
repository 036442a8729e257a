"""One, two and three heads beside the best linear predictor, for functions with kinks.

In the limit of long contexts heads multiply harmonics of degree x by a sum of Gaussians of
widths alpha and values v, with the sum of v equal to one. The integrals of what this
costs are powers of sums of widths.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import gamma

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
