"""Finding 6: how fast a layer settles on Gaussian inputs, w = 1, d = 5.

The exponent is that between n = 1e28 and n = 1e30. With C = E sum omega_i^2 and D = E
sum omega_i^3 - E (sum omega_i^2)^2 at a query of length r, integration by parts gives E
|sum omega_i x_i - w x_q|^2 = d C + (w r)^2 (C - 6 D). The exponent is read after
dividing by (log n)^(d/2), as the theorem says.
"""

import numpy as np

d, w = 5, 1.0


def distance(r, n):
    tau = w * r
    t = np.arange(-8, 18, 0.19 / max(1, tau))  # of 1e30 tokens hardly one is beyond 12
    p = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()
    top = max(
        np.log(n) + tau**2 / 2, tau * np.sqrt(2 * np.log(n)) + 4 * tau
    )  # of log S
    s = np.exp(np.arange(-top - 20, 25 - min(np.log(n), top), 0.2))
    z = np.minimum(np.outer(s, np.exp(tau * t)), 700)  # beyond, exp(-z) is nothing
    weights = np.exp(-z) * p
    survive = np.exp(-n * (-np.expm1(-z) @ p))  # phi^n, with n far above one
    two, three, four = (n * (weights * z**k).sum(axis=1) for k in (2, 3, 4))
    C = 0.2 * survive @ two
    D = 0.2 * survive @ (three / 2 - four / 6 - two**2 / 6)
    return d * C + tau**2 * (C - 6 * D)


r = np.arange(0.2, 14, 0.2)
law = r ** (d - 1) * np.exp(-r * r / 2)
log_n = np.log([1e28, 1e30])
found = np.log([law @ [distance(one, n) for one in r] for n in np.exp(log_n)])
corrected = found - d / 2 * np.log(log_n)
exponent = (corrected[0] - corrected[1]) / (log_n[1] - log_n[0])
print(f"P1.G.distance | dim=5 w=1.0 | {exponent:.5f} | 0.0005")
