"""The risk for many tokens on the sphere, to first order in 1/n.

The covariance of the labels of two tokens at the angle theta is ``K(theta)``, with
Legendre coefficients a_l in d dimensions. Under weights proportional to ``exp(w
x.x_q)`` a harmonic of degree l shrinks by the ratio of Bessel functions ``r_l(w) =
I_{l+d/2-1}(w) / I_{d/2-1}(w)``, and n tokens are worth ``n Z(w)^2 / Z(2w)`` equal ones,
where Z(w) is the mean of ``exp(w t)`` over the sphere. A term of the order of the bias
over n is left out, because it is small beside the noise.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gamma, gammaln, ive

NODE, WEIGHT = np.polynomial.legendre.leggauss(2000)
THETA = np.pi / 2 * (NODE + 1)
LAST = 600  # degree; what is beyond is kept as one number


def coefficients(K, d):
    law = WEIGHT * np.sin(THETA) ** (d - 2)
    law /= law.sum()
    P = [np.ones_like(THETA), np.cos(THETA)]
    for k in range(1, LAST):
        P.append(((2 * k + d - 2) * P[1] * P[k] - k * P[k - 1]) / (k + d - 2))
    k = np.arange(1, LAST + 1)
    log_count = gammaln(k + d - 2) - gammaln(k + 1) - gammaln(d - 1)
    harmonics = (2 * k + d - 2) * np.exp(log_count)  # how many have the degree k
    a = harmonics * (np.array(P[1:]) @ (law * K(THETA)))
    return a, K(0.0) - law @ K(THETA) - a.sum()


def risk(w, a, rest, d, n, sigma):
    half = d / 2 - 1
    r, r2 = (ive(np.arange(1, LAST + 1) + half, v) / ive(half, v) for v in (w, 2 * w))
    tokens = n * gamma(d / 2) * (4 / w) ** half * ive(half, w) ** 2 / ive(half, 2 * w)
    spread = a @ (1 - 2 * r * r2 + r * r) + rest  # of the labels that count
    return a @ (1 - r) ** 2 + rest + (sigma**2 + spread) / tokens


def best(*problem):
    return np.exp(minimize_scalar(lambda x: risk(np.exp(x), *problem), (5, 8)).x)
