"""What further heads buy at d = 5 and sigma = 0.5, on affine and on ReLU functions with L = 1.

Heads have windows of either sign, which are searched, and free values. For n = 20,000 tokens the
risk is computed to first order in 1/n. For n = 20 and 200 random cosines between tokens and
query are drawn, and the directions across the query are averaged by hand. The windows that are
found on one half of the draws are judged on the other.
"""

import numpy as np
from azimuth import affine, relu, risk_of_heads
from scipy.optimize import minimize

d, sigma = 5, 0.5


def search(risk, *starts):
    options = {"xatol": 1e-4, "fatol": 1e-12, "maxiter": 600}
    found = [minimize(risk, start, method="Nelder-Mead", options=options) for start in starts]
    return min(found, key=lambda one: one.fun)


def sampled(t):
    """The least risk on affine functions for cosines of tokens, (contexts, n)."""

    def risk(windows):
        omega = np.exp(windows[:, None, None] * t)
        omega /= omega.sum(axis=2, keepdims=True)
        along = (omega * t).sum(axis=2)
        # Of the parts across the query only squares stay.
        square = np.einsum("acn,bcn,cn->ab", omega, omega, sigma**2 + (1 - t * t) / (3 * d))
        form = 1 / 3 + (along @ along.T / (3 * d) + square) / len(t)
        shift = 1 / 3 + along.mean(axis=1) / (3 * d)
        v = np.linalg.solve(form, shift) if len(shift) > 1 else np.ones(1)
        return v @ form @ v - 2 * v @ shift + affine(1.0)

    return risk


for task, K in (("affine", affine), ("ReLU", relu)):
    exact = risk_of_heads(K, d, sigma)

    def risk(windows):
        return exact(windows, 20_000)  # noqa: B023

    one = search(risk, [3]).fun
    for heads, starts in ((2, ([6, -2], [6, 3])), (3, ([6, -2, 3], [8, 7, -3]))):
        gain = one / search(risk, *starts).fun
        case = f"task={task!r} dim=5 n=20000 heads='{heads} heads'"
        print(f"P1.H.gain | {case} | {gain:.4f} | {0.004 * gain:.4f}")
for n, count in ((20, 4000), (200, 2000)):
    draws = np.random.default_rng(0).beta((d - 1) / 2, (d - 1) / 2, (2, 20, count // 20, n))
    first, second = 2 * draws - 1
    found = sampled(first.reshape(count, n))
    one, two = search(found, [3]).x, search(found, [3, -2]).x
    gains = [sampled(part)(one) / sampled(part)(two) for part in second]
    gain, error = np.mean(gains), 4 * np.std(gains, ddof=1) / 20**0.5
    print(f"P1.H.gain | task='affine' dim=5 n={n} heads='2 heads' | {gain:.4f} | {error:.4f}")
