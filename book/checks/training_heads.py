"""Layers of two heads trained by sampling, with the gradient written by hand.

Affine functions, L = 1, n = 200, d = 5, sigma = 0.5. Eight layers have two full 5 x 5 matrices,
which start near the identity and its opposite, and two free values, which start at a half.
The number and size of Adam's steps are those of the chapter. The risk of a layer is that on
sampled tokens, averaged over functions and noise by hand, over the least risk of two heads with
matrices w I on the same tokens.
"""

import numpy as np
from scipy.optimize import minimize

d, n, sigma = 5, 200, 0.5
rng = np.random.default_rng(0)


def tokens(count):
    x = rng.standard_normal((count, n + 1, d))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    return x[:, :n], x[:, n]


def attend(x, query, M):
    """The weights of both heads, (2, contexts, n)."""
    scores = np.einsum("cnd,hcd->hcn", x, np.einsum("hde,ce->hcd", M, query))
    omega = np.exp(scores - scores.max(axis=2, keepdims=True))
    return omega / omega.sum(axis=2, keepdims=True)


def risk(omega, v, x, query):
    weights = np.tensordot(v, omega, 1)
    along = np.einsum("cn,cnd->cd", weights, x) - query
    missed = (along**2).sum(axis=1) / d + (weights.sum(axis=1) - 1) ** 2
    return np.mean(missed / 3 + sigma**2 * (weights**2).sum(axis=1))


def trained(steps=700, batch=32):
    M = np.array([np.eye(d), -np.eye(d)]) + 0.3 * rng.standard_normal((2, d, d))
    both = np.append(M.ravel(), [0.5, 0.5])
    mean, square = np.zeros_like(both), np.zeros_like(both)
    for step in range(1, steps + 1):
        x, query = tokens(batch)
        slope, b = rng.uniform(-1, 1, (2, batch, 1))
        u = rng.standard_normal((batch, d, 1))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        y = slope * (x @ u)[..., 0] + b + sigma * rng.standard_normal((batch, n))
        label = slope[:, 0] * (query * u[..., 0]).sum(axis=1) + b[:, 0]
        M, v = both[:-2].reshape(2, d, d), both[-2:]
        omega = attend(x, query, M)
        answers = (omega * y).sum(axis=2)
        missed = 2 * (v @ answers - label) / batch
        pull = v[:, None, None] * missed[:, None] * omega * (y - answers[..., None])
        toward = np.einsum("hcd,ce->hde", np.einsum("hcn,cnd->hcd", pull, x), query)
        gradient = np.append(toward.ravel(), answers @ missed)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.1 * (1 - (step - 1) / steps)
        size = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        both = both - rate * mean / (1 - 0.9**step) / size
    return both[:-2].reshape(2, d, d), both[-2:]


x, query = tokens(1000)


def of_two(parameters):
    w, v = parameters[:2], parameters[2:]
    return risk(attend(x, query, w[:, None, None] * np.eye(d)), v, x, query)


options = {"xatol": 1e-3, "fatol": 1e-9, "maxiter": 600}
least = minimize(of_two, [2, -2, 1, -0.5], method="Nelder-Mead", options=options).fun
ratios = []
for _ in range(8):
    M, v = trained()
    ratios.append(risk(attend(x, query, M), v, x, query) / least)
# Both this and the card have a median of eight layers.
error = 4 * np.std(ratios, ddof=1) * (np.pi / 8) ** 0.5
print(f"P1.H.trained | dim=5 n=200 start='apart' | {np.median(ratios):.4f} | {error:.3f}")
