"""The error that remains in the unit ball of d = 5, by quadrature.

There are infinitely many inputs, and the error is in units of the variance of the
labels. At a query of length r the layer answers with the mean of t under the weights
``exp(w r t)``, where t is the coordinate along the query of a uniform point of the
ball, with the density ``(1 - t^2)^2``. The label is r.
"""

import numpy as np
from scipy.optimize import minimize_scalar

t, weight = np.polynomial.legendre.leggauss(200)
law = weight * (1 - t * t) ** 2
r, query = (t + 1) / 2, weight * ((t + 1) / 2) ** 4


def remains(w):
    weights = law * np.exp(w * np.outer(r, t - 1))
    answer = weights @ t / weights.sum(axis=1)
    return query @ (answer - r) ** 2 / (query @ r**2)


best = minimize_scalar(remains, bounds=(1, 100), method="bounded")
print(f"P1.G.ball | dim=5 what='floor' | {best.fun:.6f} | 0.00001")
