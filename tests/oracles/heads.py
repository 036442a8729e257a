"""The risk of several softmax heads by brute force: tokens on a grid, or sampled, with NumPy alone."""

import itertools

import numpy as np


def on_the_circle(covariance, windows, values, n, noise_std, nodes):
    """Return the risk for n tokens on the circle, by the midpoint rule in the angle of each."""
    theta = 2 * np.pi * (np.arange(nodes) + 0.5) / nodes
    angles = np.array(list(itertools.product(theta, repeat=n)))  # (contexts, n)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return float(_risks(covariance, windows, values, x, noise_std).mean())


def two_on_the_sphere(covariance, windows, values, noise_std, nodes):
    """Return the risk for two tokens in three dimensions, where cosines to the query are uniform."""
    t, weight = np.polynomial.legendre.leggauss(nodes)
    phi = np.pi * (np.arange(nodes) + 0.5) / nodes
    one, two, around = np.meshgrid(t, t, phi, indexing="ij")
    root = np.sqrt(1 - one**2), np.sqrt(1 - two**2)
    first = np.stack([one, root[0], 0 * one], axis=-1)
    second = np.stack([two, root[1] * np.cos(around), root[1] * np.sin(around)], axis=-1)
    x = np.stack([first, second], axis=-2).reshape(-1, 2, 3)
    probability = np.einsum("i,j,k->ijk", weight / 2, weight / 2, np.full(nodes, 1 / nodes)).ravel()
    return float(probability @ _risks(covariance, windows, values, x, noise_std))


def sampled(covariance, windows, values, n, noise_std, dim, contexts, rng):
    """Return the mean of the risk over sampled tokens, and its standard error."""
    x = rng.standard_normal((contexts, n, dim))
    risks = _risks(
        covariance, windows, values, x / np.linalg.norm(x, axis=-1, keepdims=True), noise_std
    )
    return float(risks.mean()), float(risks.std(ddof=1) / np.sqrt(contexts))


def _risks(covariance, windows, values, x, noise_std):
    """Return mean squared errors given tokens (contexts, n, d), for a query at the first unit vector."""
    t = x[..., 0]
    total = np.zeros_like(t)
    for w, v in zip(windows, values, strict=True):
        weight = np.exp(w * t - np.max(w * t, axis=-1, keepdims=True))
        total += v * weight / weight.sum(axis=-1, keepdims=True)
    gram = covariance(np.clip(x @ x.swapaxes(-1, -2), -1, 1))
    squares = (total**2).sum(axis=-1)
    bias = np.einsum("ci,cij,cj->c", total, gram, total) - 2 * (total * covariance(t)).sum(axis=-1)
    return bias + float(covariance(np.array(1.0))) + noise_std**2 * squares
