"""What it costs if the labels of a context choose its window.

A context has 1,000 examples of one function in d = 5, with sigma = 0.5 and L = 1. Each label is
predicted from the others, and the window with the least error is taken. Its risk for this
function, turned at random, over the least one is the price. The card has the median of 60
contexts; how much such a median varies is estimated by drawing 60 of the prices again.
"""

import numpy as np
from azimuth import risk_of_heads
from scipy.interpolate import CubicSpline

d, n, sigma = 5, 1000, 0.5
w = np.geomspace(0.1, 80, 16)
x = np.linspace(np.log(w[0]), np.log(w[-1]), 2001)


def product(c):
    """The mean of (q.x)(q.x') over directions q."""
    return c / d


def size(c):
    """The mean of |q.x||q.x'|."""
    return 2 / np.pi / d * (np.sqrt(np.maximum(1 - c * c, 0)) + c * np.arcsin(np.clip(c, -1, 1)))


def curve(K, sigma):
    risk = risk_of_heads(K, d, sigma)
    return np.exp(CubicSpline(np.log(w), [np.log(risk([one], n)) for one in w])(x))


noise = curve(product, 1.0) - curve(product, 0.0)
odd, even = curve(product, 0.0), curve(size, 0.0)
rng = np.random.default_rng(0)
for task in ("ReLU", "affine"):
    prices = []
    for _ in range(80):
        tokens = rng.standard_normal((n, d)).astype(np.float32)
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        a, b = rng.uniform(-1, 1, 2)
        a, b = (a, 0) if task == "affine" else ((a - b) / 2, (a + b) / 2)
        y = a * tokens[:, 0] + b * np.abs(tokens[:, 0]) + sigma * rng.standard_normal(n)
        cosine = tokens @ tokens.T - 1
        np.fill_diagonal(cosine, -np.inf)
        errors = []
        for one in w:
            omega = np.exp(np.float32(one) * cosine)
            total, answer = (omega @ np.stack([np.ones(n), y], axis=1).astype(np.float32)).T
            errors.append(np.mean((answer / total - y) ** 2))
        risk = a * a * odd + b * b * even + sigma**2 * noise
        prices.append(risk[np.argmin(CubicSpline(np.log(w), errors)(x))] / risk.min())
    again = rng.choice(prices, (2000, 60))
    error = 4 * np.median(again, axis=1).std() * (1 + 60 / len(prices)) ** 0.5
    print(f"P1.N.context | task={task!r} dim=5 n=1000 | {np.median(prices):.4f} | {error:.3f}")
