"""How fast the least risk of one head falls in long contexts, and linear beside softmax attention.

All in five dimensions. ReLU functions with L = sigma = 1, where the law gives w = 3e4 and 1e5.
Waves cos(L u.x + phase) with L = 2 and sigma = 0.5, for n = 1e8 and 1e10. Linear functions
with slope one and sigma = 0.3, for n = 1e5, where linear attention has a closed form.
"""

import numpy as np
from azimuth import relu, risk_of_heads
from scipy.optimize import minimize_scalar
from scipy.special import gamma, jv

d = 5


def least(risk, n, low, high):
    bounds = np.log([low, high])
    found = minimize_scalar(lambda x: risk(np.exp([x]), n), bounds=bounds, method="bounded")
    return found.fun


def slope(risk, n, ends):
    first, last = (least(risk, one, *ends) for one in n)
    return np.log(last / first) / np.log(n[1] / n[0])


def waves(c):
    s = np.maximum(2 * np.sqrt(np.maximum(2 - 2 * c, 0)), 1e-9)
    return gamma(d / 2) * (2 / s) ** (d / 2 - 1) * jv(d / 2 - 1, s) / 2


def linear(c):
    return c / d


# Where the law gives w: the kink is theta^3 / (9 pi d), w^2 / n times this is the noise.
third_moment = 2**1.5 * gamma((d + 2) / 2) / gamma((d - 1) / 2)
bias = (2**1.5 - 2) * third_moment / (9 * np.pi * d)
sphere = 2 * np.pi ** (d / 2) / gamma(d / 2) / (4 * np.pi) ** ((d - 1) / 2)
n = [(d - 1) * sphere / (3 * bias) * w ** ((d + 2) / 2) for w in (3e4, 1e5)]
found = slope(risk_of_heads(relu, d, 1.0, finest=0.002), n, (1e4, 3e5))
print(f"P1.T3.matched | dim=5 ratio=1.0 | {found:.5f} | 0.0002")
found = slope(risk_of_heads(waves, d, 0.5, finest=0.02), (1e8, 1e10), (20, 5000))
print(f"P1.H.rate | task='waves' dim=5 heads=1 | {found:.5f} | 0.0005")

n, sigma = 1e5, 0.3
softmax = least(risk_of_heads(linear, d, sigma), n, 5, 200)
# S, the mean of x x', has the mean square s times the identity, and the mean of S is I / d.
s = 1 / (n * d) + (1 - 1 / n) / d**2
ratio = (1 - 1 / d**2 / (s + sigma**2 / n)) / d / softmax
print(f"P1.LA.wins | dim=5 | {ratio:.6f} | {0.003 * ratio:.6f}")
