"""Best w for waves over that for linear functions as steep as they.

The waves are cos(L u.x) with L = 4, in d = 5, with n = 1e12 and sigma = 0.5. The linear
functions have the same largest slope on the sphere as the waves, or the same mean
squared gradient.
"""

import numpy as np
from many_tokens import best, coefficients
from scipy.special import gamma, jv

d, n, sigma, L = 5, 1e12, 0.5, 4.0


def mean_cosine(s):  # of s u.e for a uniform u
    s = np.maximum(s, 1e-9)
    return gamma(d / 2) * (2 / s) ** (d / 2 - 1) * jv(d / 2 - 1, s)


def wave(theta):
    return (mean_cosine(2 * L * np.sin(theta / 2)) + mean_cosine(2 * L * np.cos(theta / 2))) / 2


t = np.linspace(-1, 1, 200_001)
squared_slope = L**2 * np.sin(L * t) ** 2 * (1 - t * t)  # at u.x = t
law = (1 - t * t) ** ((d - 3) / 2)
slopes = {
    "largest slope": np.sqrt(squared_slope.max()),
    "mean squared gradient": np.sqrt(law @ squared_slope / law.sum() * d / (d - 1)),
}
w = best(*coefficients(wave, d), d, n, sigma)
for equal, slope in slopes.items():
    linear = coefficients(lambda theta: slope**2 / d * np.cos(theta), d)  # noqa: B023
    ratio = w / best(*linear, d, n, sigma)
    print(f"P1.PD.slope | dim=5 equal={equal!r} what='ratio' | {ratio:.5f} | 0.0005")
