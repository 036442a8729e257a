"""Finding 6: how fast a layer settles on Gaussian inputs, w = 1, d = 5.

The exponent is that between n = 1e28 and n = 1e30. With C = E sum omega_i^2 and D = E
sum omega_i^3 - E (sum omega_i^2)^2 at a query of length r, integration by parts gives E
|sum omega_i x_i - w x_q|^2 = d C + (w r)^2 (C - 6 D). Sampled contexts of ten inputs
agree with this. The exponent is read as it is, and after dividing by (log n)^(d/2), as
the theorem says.
"""

import numpy as np

d, w = 5, 1.0


def distance(r, n):
    tau = w * r
    t = np.arange(-8, 18, 0.19 / max(1, tau))  # of 1e30 tokens hardly one is beyond 12
    p = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()
    # of log S
    top = max(np.log(n) + tau**2 / 2, tau * np.sqrt(2 * np.log(n)) + 4 * tau)
    s = np.exp(np.arange(-top - 20, 25 - min(np.log(n), top), 0.2))
    z = np.minimum(np.outer(s, np.exp(tau * t)), 700)  # beyond, exp(-z) is nothing
    weights = np.exp(-z) * p
    survive = np.exp(-n * (-np.expm1(-z) @ p))  # phi^n, with n far above one
    two, three, four = (n * (weights * z**k).sum(axis=1) for k in (2, 3, 4))
    C = 0.2 * survive @ two
    D = 0.2 * survive @ (three / 2 - four / 6 - two**2 / 6)
    return d * C + tau**2 * (C - 6 * D)


def check_identity(r=2.0, n=10, contexts=200_000):
    """Compare the identity with sampled contexts, within five standard errors."""
    x = np.random.default_rng(0).standard_normal((contexts, n, d))
    omega = np.exp(w * r * x[:, :, 0])  # the first coordinate is that along the query
    omega /= omega.sum(axis=1, keepdims=True)
    two, three = (omega**2).sum(axis=1), (omega**3).sum(axis=1)
    missed = np.einsum("cn,cnd->cd", omega, x) - w * r * np.eye(d)[0]
    identity = d * two + (w * r) ** 2 * (two - 6 * (three - two**2))
    apart = (missed**2).sum(axis=1) - identity
    assert abs(apart.mean()) < 5 * apart.std() / contexts**0.5, apart.mean()


check_identity()
r = np.arange(0.2, 14, 0.2)
law = r ** (d - 1) * np.exp(-r * r / 2)
log_n = np.log([1e28, 1e30])
found = np.log([law @ [distance(one, n) for one in r] for n in np.exp(log_n)])
step = log_n[1] - log_n[0]
raw = (found[0] - found[1]) / step
divided = raw + d / 2 * np.log(log_n[1] / log_n[0]) / step
for what, exponent in (("divided", divided), ("raw", raw)):
    print(f"P1.G.distance | dim=5 w=1.0 what={what!r} | {exponent:.5f} | 0.0005")
