"""Findings 2 and 3: how the best w grows in long contexts, and what a wrong class costs.

Here d = 5 and L = sigma = 1. No spectrum is used: the covariance of affine functions is
cos theta / 15, that of ReLU functions is this and the kink g(theta) = (sin theta -
theta cos theta) / 15 pi, both up to a constant. The weights exp(w cos theta) shrink a
linear function by a ratio of Bessel functions. Two inputs that are drawn with these
weights are sqrt(2) times as far from each other as from the query. The contexts are so
long that the law of the class gives w = 3e4 and 1e5.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gamma, ive

d, m = 5, 4
kappa = 2 * np.pi ** (d / 2) / gamma(d / 2) / (4 * np.pi) ** (m / 2)
node, weight = np.polynomial.legendre.leggauss(200)
u = 6 * (node + 1)  # the angle times the root of w; beyond 12 there is nothing
density = weight * u ** (m - 1) * np.exp(-u * u / 2)
density /= density.sum()


def kink(theta):
    theta = np.minimum(theta, 0.3)  # no wider window is looked at
    series = theta**3 / 3 - theta**5 / 30 + theta**7 / 840 - theta**9 / 45360
    return series / (15 * np.pi)


def risk(w, n, kinked):
    bias = (1 - ive(d / 2, w) / ive(d / 2 - 1, w)) ** 2 / 15
    if kinked:
        theta = u / w**0.5
        bias += density @ (kink(2**0.5 * theta) - 2 * kink(theta))
    two = ive(d / 2 - 1, 2 * w) / ive(d / 2 - 1, w) ** 2
    return bias + (w / 4) ** (d / 2 - 1) * two / gamma(d / 2) / n


def best(n, kinked):
    found = minimize_scalar(
        lambda x: risk(np.exp(x), n, kinked), bounds=(8, 14), options={"xatol": 1e-7}
    )
    return np.exp(found.x)


order = {True: 3, False: 4}
third_moment = 2**1.5 * gamma((m + 3) / 2) / gamma(m / 2)
beta = {True: (2**1.5 - 2) * third_moment / (45 * np.pi), False: m**2 / 60}
slopes, prices = {}, []
for task, kinked in (("ReLU", True), ("affine", False)):
    rho = order[kinked]
    w = []
    for at_law in (3e4, 1e5):
        n = m * kappa / (rho * beta[kinked]) * at_law ** ((m + rho) / 2)
        w.append(best(n, kinked))
        if task == "affine":
            prices.append((n, risk(w[-1], n, True) / risk(best(n, True), n, True)))
    slopes[task] = np.log(w[1] / w[0]) / np.log(1e5 / 3e4) * 2 / (m + rho)
    print(f"P1.T2.sharp | dim=5 task={task!r} | {w[1] / 1e5:.5f} | 0.0005")
assert abs(slopes["affine"] - 2 / (d + 3)) < 1e-4, slopes
print(f"P1.T2.lower | dim=5 power=1 | {slopes['ReLU']:.5f} | 0.0002")
(n, price), (longer, higher) = prices
grown = np.log(higher / price) / np.log(longer / n)
print(f"P1.T3.sufficient-rate | dim=5 | {grown:.5f} | 0.0002")
