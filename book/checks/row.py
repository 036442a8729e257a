"""How fast a softmax row moves at most, and how far above a bound is.

The numbers are those of n = 32 and R = 4. The row is f(x) = softmax(A x), and the
matrix A has norm R at most. Its derivative is ``(diag(f) - f f') A``. An ascent over A
and x looks for the largest derivative; none passes R/2, which two opposite rows attain.
The bound is n^1.5 R exp(6 R^2).
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

n, dim, R = 32, 3, 4.0


def steepest(parameters):
    A, x = parameters[: n * dim].reshape(n, dim), parameters[n * dim :]
    A = R * A / np.linalg.norm(A, 2)
    f = softmax(A @ x)
    return -np.linalg.norm((np.diag(f) - np.outer(f, f)) @ A, 2)


rng = np.random.default_rng(0)
found = []
for _ in range(3):
    start = rng.standard_normal(n * dim + dim)
    found.append(-minimize(steepest, start, options={"maxiter": 40}).fun)
assert max(found) <= R / 2 + 1e-9, found
# Two opposite rows share the weight, and all others are zero and have next to none.
pair = np.zeros((n, dim))
pair[:2] = [[1, 0, 1e-9], [-1, 0, 1e-9]]
attained = -steepest(np.r_[pair.ravel(), 0, 0, 1e11])
assert abs(attained - R / 2) < 1e-9, attained
powers = np.log10(n**1.5 * R) + 6 * R**2 / np.log(10) - np.log10(attained)
print(f"P2.lip.f | n=32 R=4.0 | {powers:.5f} | 0.0001")
