"""How far the best w for ReLU functions is from the law.

Here d = 5, n = 1e12, L = 1, sigma = 0.5. Functions ``l1 (q.x)_+ + l2 (-q.x)_+ + b``
with l1, l2, b uniform in [-1, 1] and q uniform on the sphere.
"""

import numpy as np
from many_tokens import best, coefficients
from scipy.special import gamma

d, n, sigma = 5, 1e12, 0.5


def relu(theta):
    return (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (3 * np.pi * d)


w = best(*coefficients(relu, d), d, n, sigma)
# The law balances A w^(-3/2), which is the kink -theta^3 / (9 pi d) of the covariance,
# and B w^((d-1)/2), the noise.
# Around the query the weights are a Gaussian of variance 1/w in d - 1 dimensions.
third_moment = 2**1.5 * gamma((d + 2) / 2) / gamma((d - 1) / 2)
A = (2**1.5 - 2) * third_moment / (9 * np.pi * d)
sphere = 2 * np.pi ** (d / 2) / gamma(d / 2)
B = sigma**2 / n * sphere / (4 * np.pi) ** ((d - 1) / 2)
law = (3 * A / ((d - 1) * B)) ** (2 / (d + 2))
print(f"P1.T2.near | task='ReLU' | {abs(1 - w / law):.5f} | 0.0001")
