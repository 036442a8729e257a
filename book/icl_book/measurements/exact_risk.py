"""Measurements for the exact risk in one setting: against direct rules over all tokens, against sampling."""

import itertools
import time
import timeit

import numpy as np
import pandas as pd
import torch
from scipy.special import roots_jacobi

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import (
    bayes_linear_risk,
    monte_carlo_risk,
    optimal_window,
    population_risk,
)
from icl.streams import stream
from icl.tasks import Affine, Zonal, angle_quadrature, make_task
from icl_book.measurements.tables import Array, Row, each


def sampled_risk(
    kind: str,
    w: float,
    d: int,
    n: int,
    lipschitz: float,
    noise_std: float,
    contexts: int,
    seed: int,
) -> Row:
    """Return a sampled risk, ``mean``, and its interval, ``low`` and ``high``."""
    found = monte_carlo_risk(
        make_task(kind, d, lipschitz), w, n, noise_std, contexts, seed
    )
    return {"mean": found.mean, "low": found.interval[0], "high": found.interval[1]}


def direct_over_exact(
    kind: str, d: int, n: int, lipschitz: float, noise_std: float
) -> Row:
    """Return the risk of two or three tokens by Gauss rules over all their angles, over the exact risk.

    Twice the nodes in every variable give the error. ``w`` (1 and 6), ``own`` (whether the query is one more
    token, with its own clean label), ``value``, ``error``.
    """
    w, task = np.array([[1.0], [6.0]]), make_task(kind, d, lipschitz)
    exact = population_risk(task, w, n, noise_std)
    nodes = 80 if n == 2 else 64
    coarse, fine = (
        _direct_risks(task, n, noise_std, w.ravel(), m) for m in (nodes, 2 * nodes)
    )
    error = np.abs(fine - coarse) / exact.total + exact.error
    return {
        "w": w,
        "own": np.array([False, True]),
        "value": fine / exact.total,
        "error": error,
    }


def _direct_risks(
    task: Zonal, n: int, noise_std: float, windows: Array, nodes: int
) -> Array:
    """Return risks (windows, 2); the last axis tells whether the query is one more token."""
    theta, p = angle_quadrature(task.dim, nodes)
    gamma = task.variogram(theta)
    pair = gamma[:, None] + gamma - _mean_gap(task, theta)
    diagonal, both = (2 * gamma + noise_std**2)[:, None], np.outer(p, p)
    risks = []
    for w, own in itertools.product(
        windows, (0.0, 1.0)
    ):  # the weight of the query in the denominator
        E = np.exp(-w * (1 - np.cos(theta)))
        upper = n * diagonal * E[:, None] ** 2 + n * (n - 1) * pair * np.outer(E, E)
        third, law = (E, p) if n == 3 else (np.zeros(1), np.ones(1))
        below = E[:, None] + E + own
        risks.append(law @ [(both * upper / (below + e) ** 2).sum() for e in third])
    return np.array(risks).reshape(len(windows), 2)


def _mean_gap(task: Zonal, theta: Array) -> Array:
    """Return the variogram between two tokens, averaged over the azimuth between them."""
    cosine, weight = np.array([-1.0, 1.0]), np.full(2, 0.5)
    if task.dim > 2:
        half = (task.dim - 4) / 2
        cosine, weight = roots_jacobi(len(theta), half, half)
        weight = weight / weight.sum()
    near = np.sin((theta[:, None] - theta) / 2) ** 2
    apart, mean = np.sin(theta)[:, None] * np.sin(theta), np.zeros_like(near)
    for c, p in zip(cosine, weight, strict=True):
        sine = np.sqrt(np.clip(near + apart * (1 - c) / 2, 0, 1))
        mean = mean + p * task.variogram(2 * np.arcsin(sine))
    return mean


def split_gap(
    kind: str, d: int, lipschitz: float, noise_std: float, seed: int, shift: float = 0.0
) -> Row:
    """Return the largest relative gap between the loss and bias + noise, ``value``.

    At 20 drawn contexts of 8 tokens and w = 6 the loss is averaged over all 256 sign patterns of a noise of
    two values. With a ``shift`` the noise has a mean; its second moment stays.
    """
    n, w, draws = 8, 6.0, 20
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    tokens = uniform_sphere(stream(seed, "monte carlo"), draws, n + 1, d)
    f = (
        make_task(kind, d, lipschitz)
        .sample(stream(seed, "tasks"), draws)(tokens)
        .numpy()
    )
    M = w * torch.eye(d, dtype=tokens.dtype)
    omega = softmax_weights(tokens[:, :-1], tokens[:, -1], M).numpy()
    noise = noise_std * (signs + shift) / (1 + shift**2) ** 0.5
    bias = (omega * f[:, :-1]).sum(-1) - f[:, -1]
    loss = ((bias[:, None] + omega @ noise.T) ** 2).mean(-1)
    parts = bias**2 + noise_std**2 * (omega**2).sum(-1)
    return {"value": np.max(np.abs(loss - parts) / loss)}


def above_floor(
    kind: str,
    d: int,
    n: int,
    lipschitz: float,
    noise_std: float,
    contexts: int,
    seed: int,
) -> Row:
    """Return the least risk of attention over the sampled risk of kriging, ``ratio``."""
    task = make_task(kind, d, lipschitz)
    floor = bayes_linear_risk(task, n, noise_std, max(contexts // 20, 200), seed).mean
    return {"ratio": optimal_window(task, n, noise_std).risk / floor}


def cost(n: float, noise_std: float, seed: int) -> Row:
    """Return seconds of one risk, affine class, d = 5, w = 10: ``exact`` and ``sampled``.

    Sampling is measured up to n = 1,000 on 4,000 contexts and scaled to a relative error of 1e-3.
    """
    exact = min(
        timeit.repeat(lambda: population_risk(Affine(5), 10.0, n, noise_std), number=1)
    )
    if n > 1000:
        return {"exact": exact, "sampled": np.nan}
    start = time.perf_counter()
    found = monte_carlo_risk(Affine(5), 10.0, int(n), noise_std, 4000, seed)
    spent = time.perf_counter() - start
    return {
        "exact": exact,
        "sampled": spent * (found.standard_error / found.mean / 1e-3) ** 2,
    }


def risk_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return bias and noise at L = sigma = 1 for each class, d, n, w; and the lowest risk of each setting."""
    lengths, windows = 10.0 ** np.arange(1, 9), 10 ** (np.arange(-10, 41) / 10)
    slopes = np.array([0.1, 0.2, 0.5, 1, 2, 5, 10])[:, None, None]
    noises = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10])[:, None]

    def unit(functions: str, d: int) -> Row:
        risk = population_risk(make_task(functions, d), windows, lengths[:, None], 1.0)
        return {
            "n": lengths[:, None],
            "w": windows,
            "bias": risk.bias,
            "noise": risk.noise,
        }

    def best(functions: str, d: int) -> Row:
        # only sigma / L matters
        ratios, place = np.unique(np.round(noises / slopes, 9), return_inverse=True)
        found = optimal_window(make_task(functions, d), lengths, ratios[:, None])
        w, risk = (
            values[place.reshape(len(slopes), -1)] for values in (found.w, found.risk)
        )
        return {
            "L": slopes,
            "sigma": noises,
            "n": lengths,
            "w": w,
            "risk": risk * slopes**2,
        }

    classes = {"functions": ["affine", "ReLU"], "d": [3, 5, 8]}
    return each(unit, **classes), each(best, **classes)
