"""Layers trained on the Earth itself, with the gradient written by hand.

Thirty random places are known, with noise of half the map's spread. Four layers for each
map have a full 3 x 3 matrix that starts at zero and takes Adam steps on fresh places of
an Earth that is turned anew for each context; w is the mean of the diagonal at the end.
The number and size of the steps are those of the chapter, because with more steps the
layers come closer. The best w is the least of sampled risks, on the same places for
each w.
"""

import numpy as np
from earth import land, magnetic
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar

n, sigma = 30, 0.5
CELLS = 180  # rows of a table of the field, one degree each


def tabled(truth):
    """Return a function that looks a map up in a table of cells."""
    theta = (np.arange(CELLS) + 0.5) * np.pi / CELLS
    phi = (np.arange(2 * CELLS) + 0.5) * np.pi / CELLS - np.pi
    along, across = np.meshgrid(theta, phi, indexing="ij")
    centers = [np.sin(along) * np.cos(across), np.sin(along) * np.sin(across)]
    table = truth(np.stack([*centers, np.cos(along)], axis=-1).reshape(-1, 3))

    def value(x):
        row = np.arccos(x[:, 2]) / np.pi * CELLS
        column = (np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) * CELLS
        return table[row.astype(int) * 2 * CELLS + column.astype(int) % (2 * CELLS)]

    return value


def places(count, rng):
    x = rng.standard_normal((count, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def turns(count, rng):
    first, other = places(count, rng), places(count, rng)
    second = np.cross(first, other)
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def contexts(truth, count, rng):
    x = places(count * (n + 1), rng)
    y = truth(x).reshape(count, n + 1)
    x = x.reshape(count, n + 1, 3) @ turns(count, rng)
    return x[:, :n], y[:, :n], x[:, n], y[:, n]


def attend(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def trained(truth, rng, steps=500, batch=1024):
    M, mean, square = np.zeros((3, 3, 3))
    for step in range(1, steps + 1):
        x, y, query, label = contexts(truth, batch, rng)
        y = y + sigma * rng.standard_normal(y.shape)
        omega = attend(np.einsum("cnd,cd->cn", x, query @ M.T))
        answer = (omega * y).sum(axis=1)
        pull = 2 * (answer - label)[:, None] * omega * (y - answer[:, None])
        gradient = np.einsum("cn,cnd->cd", pull, x).T @ query / batch
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.2 * (1 - step / steps)
        size = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        M -= rate * mean / (1 - 0.9**step) / size
    return np.trace(M) / 3


def least(error, w):
    curve = CubicSpline(np.log(w), error)
    found = minimize_scalar(curve, bounds=np.log(w[[0, -1]]), method="bounded")
    return np.exp(found.x)


rng = np.random.default_rng(0)
for name, truth, many in (
    ("land and sea", land, 20_000),
    ("magnetic field", tabled(magnetic), 5_000),
):
    sample = truth(places(10**6, rng))
    middle, spread = sample.mean(), sample.std()

    def standard(x):
        return (truth(x) - middle) / spread  # noqa: B023

    w = np.geomspace(1, 20, 9)
    errors = []
    for _ in range(20):
        x, y, query, label = contexts(standard, many, rng)
        t = np.einsum("cnd,cd->cn", x, query)
        rows = []
        for one in w:
            omega = attend(one * t)
            missed = ((omega * y).sum(axis=1) - label) ** 2
            rows.append(np.mean(missed + sigma**2 * (omega**2).sum(axis=1)))
        errors.append(rows)
    best = least(np.mean(errors, axis=0), w)
    off = np.std([least(error, w) for error in errors], ddof=1) / 20**0.5 / best
    ratios = np.array([trained(standard, rng) for _ in range(4)]) / best
    # the card has a median of ten layers, whose variance is pi / 2 times that of a mean
    layers = ratios.std(ddof=1) * np.sqrt(1 / len(ratios) + np.pi / 20)
    error = 4 * np.hypot(off, layers)
    print(f"P1.planet.trained | map={name!r} | {ratios.mean():.4f} | {error:.3f}")
