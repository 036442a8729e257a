"""One head with its derivative, and two heads that are kept in longer contexts, by sampling.

Tokens are drawn, d = 5 and sigma = 0.5. The derivative is taken by its formula, a covariance, while
the package has two heads that nearly coincide. Functions and noise are averaged by hand, except
for the even part of ReLU functions, whose directions are drawn. Windows are searched on the first
tenth of the draws, and each of the other tenths gives one number of its own.
"""

import numpy as np
from scipy.optimize import minimize, minimize_scalar

d, sigma, tenths = 5, 0.5, 10
rng = np.random.default_rng(0)


def affine(count, n):
    """Cosines between tokens and query, (tenths, contexts, n), and the covariance of an affine part."""
    t = 2 * rng.beta((d - 1) / 2, (d - 1) / 2, (tenths, count, n)) - 1
    return (
        t.astype(np.float32),
        1 / (3 * d),
        np.zeros((tenths, count, n, 0)),
        np.zeros((tenths, count, 0)),
    )


def relu(count, n, directions=4):
    """The same, with the sizes |q.x| of tokens and query for drawn directions q."""
    tokens = rng.standard_normal((tenths, count, n, d), dtype=np.float32)
    tokens /= np.linalg.norm(tokens, axis=3, keepdims=True)
    q = rng.standard_normal((tenths, count, d, directions), dtype=np.float32)
    q /= np.linalg.norm(q, axis=2, keepdims=True)
    return tokens[..., 0], 1 / (6 * d), np.abs(tokens @ q), np.abs(q[:, :, 0])


def several(t, windows):
    """The weights of heads, (heads, contexts, n)."""
    omega = np.stack([np.exp(np.float32(w) * t - np.float32(abs(w))) for w in windows])
    return omega / omega.sum(axis=2, keepdims=True)


def with_derivative(t, w):
    omega = several(t, [w])
    return np.concatenate([omega, omega * (t - (omega * t).sum(axis=2, keepdims=True))])


def form(sample, tenth, omega):
    """The risk of the values v is v'Av - 2b'v + c, in the mean over one tenth of the contexts."""
    t, slope, size, size_of_query = (x if np.isscalar(x) else x[tenth] for x in sample)
    omega = omega.astype(float)
    total, along = omega.sum(axis=2), (omega * t).sum(axis=2)
    # Of the parts across the query only squares stay.
    A = np.einsum("acn,bcn,cn->ab", omega, omega, sigma**2 + slope * (1 - t * t))
    A = (A + total @ total.T / 3 + slope * along @ along.T) / len(t)
    b, c = (total / 3 + slope * along).mean(axis=1), 1 / 3 + slope
    if size.size:
        means = np.einsum("acn,cnk->ack", omega, size)
        A += np.einsum("ack,bck->ab", means, means) / 6 / size_of_query.size
        b += np.einsum("ack,ck->a", means, size_of_query) / 6 / size_of_query.size
        c += (size_of_query**2).mean() / 6
    return A, b, c


def risk(form, v=None):
    A, b, c = form
    v = np.linalg.solve(A, b) if v is None else v
    return v @ A @ v - 2 * b @ v + c


def show(case, numbers):
    # A searched window costs up to a thousandth.
    error = 4 * np.std(numbers, ddof=1) / len(numbers) ** 0.5 + 0.001
    print(f"{case} | {np.mean(numbers):.4f} | {error:.4f}")


def best_w(price, high):
    """With its derivative a head has two local minima."""
    grid = np.append(0, np.geomspace(0.25, high, 8))
    place = min(range(1, 8), key=lambda one: price(grid[one]))
    options = {"xatol": 0.03}
    bounds = grid[place - 1], grid[place + 1]
    return minimize_scalar(price, bounds=bounds, method="bounded", options=options).x


for task, draw, n, count in (
    ("affine", affine, 200, 800),
    ("affine", affine, 20_000, 40),
    ("ReLU", relu, 200, 800),
    ("ReLU", relu, 20_000, 40),
):
    sample = draw(count, n)
    t = sample[0]

    def single(w, tenth=0):
        return risk(form(sample, tenth, several(t[tenth], [w])), np.ones(1))  # noqa: B023

    def merged(w, tenth=0):
        return risk(form(sample, tenth, with_derivative(t[tenth], w)))  # noqa: B023

    one, two = best_w(single, 40), best_w(merged, 20)
    gains = [single(one, tenth) / merged(two, tenth) for tenth in range(1, tenths)]
    show(f"P1.H.derivative | task={task!r} dim=5 n={n}", gains)

short, long = affine(4000, 100), affine(40, 10_000)


def least(sample):
    def price(windows):
        return risk(form(sample, 0, several(sample[0][0], windows)))

    options = {"xatol": 0.02, "fatol": 1e-9, "maxiter": 60}
    return minimize(price, [2, -2], method="Nelder-Mead", options=options).x


old, new = least(short), least(long)
kept, refitted = [], []
for tenth in range(1, tenths):
    A, b, _ = form(short, tenth, several(short[0][tenth], old))
    at_old = form(long, tenth, several(long[0][tenth], old))
    best = risk(form(long, tenth, several(long[0][tenth], new)))
    kept.append(risk(at_old, np.linalg.solve(A, b)) / best)
    refitted.append(risk(at_old) / best)
show("P1.H.length | task='affine' dim=5 N=10000 what='kept'", kept)
show("P1.H.length | task='affine' dim=5 N=10000 what='new values'", refitted)
