"""The best window by trial on the Earth itself.

Of 10,000 random places it is known, with some noise, what the map says. No spectrum and
no formula for the risk: places and questions are drawn at random and answered by the
mean with the weights ``exp(w cos angle)``. The noise of half the map's spread adds 0.25
times the variance times the sum of the squared weights. A polynomial in log w gives the
radii at which the error is one percent above its least value. The last line is for thirty
places on land and sea.
"""

import numpy as np
from earth import land, magnetic
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.spatial import cKDTree


def trial(truth, w, questions, rng):
    """Return the mean squared error in units of the variance, for each w."""
    x = rng.standard_normal((10_000 + questions, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = truth(x)
    y /= y.std()
    places, error = cKDTree(x[:10_000]), 0.0
    for q, answer in zip(x[10_000:], y[10_000:], strict=True):
        # others have weights below exp(-25)
        near = places.query_ball_point(q, (50 / w[0]) ** 0.5)
        omega = np.exp(np.outer(w, x[near] @ q - 1))
        omega /= omega.sum(axis=1, keepdims=True)
        error += (omega @ y[near] - answer) ** 2 + 0.25 * (omega**2).sum(axis=1)
    return error / questions


def radius(error, w):
    """Return the radius in kilometres of the w with the least error."""
    curve = CubicSpline(np.log(w), error)
    found = minimize_scalar(curve, bounds=np.log(w[[0, -1]]), method="bounded")
    return 6371 * np.exp(-found.x / 2)


def one_percent(error, w):
    """Return the least and the largest radius with at most one percent more error."""
    middle = w[len(w) // 2]
    x = np.linspace(*np.log(w[[0, -1]] / middle), 4001)
    curve = np.polyval(np.polyfit(np.log(w / middle), error, 4), x)
    inside = x[curve <= 1.01 * curve.min()]
    return 6371 * (middle * np.exp(inside[[-1, 0]])) ** -0.5


for name, truth, w, questions in (
    ("land and sea", land, np.geomspace(320, 3200, 8), 2000),
    ("magnetic field", magnetic, np.geomspace(18, 180, 8), 200),
):
    seeds = map(np.random.default_rng, range(20))
    errors = [trial(truth, w, questions, rng) for rng in seeds]
    km = radius(np.mean(errors, axis=0), w)
    spread = np.std([radius(error, w) for error in errors], ddof=1) / 20**0.5
    print(f"P1.planet.radius | map={name!r} n=10000 | {km:.1f} | {4 * spread:.1f}")
    total = np.sum(errors, axis=0)
    left_out = np.array([one_percent(total - error, w) for error in errors])
    spread = left_out.std(axis=0) * 19**0.5  # the jackknife
    for end, km, off in zip(("least", "largest"), one_percent(total, w), 4 * spread, strict=True):
        print(f"P1.planet.flat | map={name!r} n=10000 end={end!r} | {km:.1f} | {off:.1f}")


def few(rng, w, n=30, contexts=20_000):
    """Return the mean squared error for thirty places, each context with its own question."""
    x = rng.standard_normal((contexts, n + 1, 3))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    y = land(x.reshape(-1, 3)).reshape(contexts, n + 1)
    y /= y.std()
    cosine = np.einsum("cnd,cd->cn", x[:, :n], x[:, n])
    error = []
    for one in w:
        omega = np.exp(one * cosine)
        omega /= omega.sum(axis=1, keepdims=True)
        missed = ((omega * y[:, :n]).sum(axis=1) - y[:, n]) ** 2
        error.append(np.mean(missed + 0.25 * (omega**2).sum(axis=1)))
    return error


w = np.geomspace(1, 12, 8)
errors = [few(np.random.default_rng(seed), w) for seed in range(20)]
km = radius(np.mean(errors, axis=0), w)
spread = np.std([radius(error, w) for error in errors], ddof=1) / 20**0.5
print(f"P1.planet.radius | map='land and sea' n=30 | {km:.1f} | {4 * spread:.1f}")
