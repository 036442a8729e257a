"""Measurements for the exact risk: against direct rules over all tokens, against sampling, and its parts."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.experiments.tables import TASKS, measured
from icl.risk import bayes_linear_risk, monte_carlo_risk, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, Zonal, angle_quadrature

Array = NDArray[np.float64]


def sampled_risks(
    d: int, windows: Array, n: int, lipschitz: float, noise_std: float, contexts: int, seed: int
) -> pd.DataFrame:
    """Return sampled risks with intervals, columns ``kind``, ``w``, ``mean``, ``low`` and ``high``."""

    def one(kind: str, w: float) -> tuple[float, ...]:
        found = monte_carlo_risk(TASKS[kind](d, lipschitz), w, n, noise_std, contexts, seed)
        return (found.mean, *found.interval)

    return measured(one, ["mean", "low", "high"], kind=TASKS, w=windows.tolist())


def exact_risks(d: int, windows: Array, n: int, lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return exact risks, columns ``kind``, ``w``, ``risk``, and the best, ``best_w`` and ``best_risk``."""

    def one(kind: str) -> tuple[Any, ...]:
        task = TASKS[kind](d, lipschitz)
        best = optimal_window(task, n, noise_std)
        return windows, population_risk(task, windows, n, noise_std).total, best.w, best.risk

    return measured(one, ["w", "risk", "best_w", "best_risk"], kind=TASKS)


# ---------------------------------------------------------------- direct rules


def direct_over_exact(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the risk by Gauss rules over the angles of all tokens, over the exact risk.

    Two and three tokens, w = 1 and 6; twice the nodes in every variable give the error. Columns ``kind``,
    ``d``, ``n``, ``w``, ``own`` (whether the query is one more token, with its own clean label), ``value``,
    ``error``.
    """
    windows, own = [1.0, 6.0], [False, True]
    nodes = {2: [80, 160], 3: [64, 128]}

    def one(kind: str, d: int, n: int) -> tuple[Array, ...]:
        task = TASKS[kind](d, lipschitz)
        exact = population_risk(task, windows, n, noise_std)
        coarse, fine = (_direct_risks(task, n, noise_std, windows, m) for m in nodes[n])
        total = exact.total[:, None]
        error = np.abs(fine - coarse) / total + exact.error[:, None]
        return np.repeat(windows, 2), np.tile(own, 2), (fine / total).ravel(), error.ravel()

    return measured(one, ["w", "own", "value", "error"], kind=TASKS, d=dims, n=[2, 3])


def _direct_risks(task: Zonal, n: int, noise_std: float, windows: Sequence[float], nodes: int) -> Array:
    """Return risks (windows, 2); the last axis tells whether the query is one more token."""
    theta, p = angle_quadrature(task.dim, nodes)
    gamma = task.variogram(theta)
    pair = gamma[:, None] + gamma - _mean_gap(task, theta)
    diagonal, both = (2 * gamma + noise_std**2)[:, None], np.outer(p, p)
    risks = []
    for w, own in itertools.product(windows, (0.0, 1.0)):  # the weight of the query in the denominator
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


# ---------------------------------------------------------------- bias + noise, and the floor


def split_gaps(
    dims: Sequence[int], lipschitz: float, noise_std: float, seed: int, shift: float = 0.0
) -> pd.DataFrame:
    """Return the largest relative gap between the loss and bias + noise: ``kind``, ``d``, ``value``.

    At 20 drawn contexts of 8 tokens and w = 6 the loss is averaged over all 256 sign patterns of a noise of
    two values. With a ``shift`` the noise has a mean; its second moment stays.
    """
    n, w, draws = 8, 6.0, 20
    signs = 1 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)

    def one(kind: str, d: int) -> float:
        tokens = uniform_sphere(stream(seed, "monte carlo"), draws, n + 1, d)
        f = TASKS[kind](d, lipschitz).sample(stream(seed, "tasks"), draws)(tokens).numpy()
        M = w * torch.eye(d, dtype=tokens.dtype)
        omega = softmax_weights(tokens[:, :-1], tokens[:, -1], M).numpy()
        noise = noise_std * (signs + shift) / (1 + shift**2) ** 0.5
        bias = (omega * f[:, :-1]).sum(-1) - f[:, -1]
        loss = ((bias[:, None] + omega @ noise.T) ** 2).mean(-1)
        parts = bias**2 + noise_std**2 * (omega**2).sum(-1)
        return float(np.max(np.abs(loss - parts) / loss))

    return measured(one, ["value"], kind=TASKS, d=dims)


def above_floor(
    dims: Sequence[int], n: int, lipschitz: float, noise_std: float, contexts: int, seed: int
) -> pd.DataFrame:
    """Return the least risk of attention over the sampled risk of kriging: ``kind``, ``d``, ``ratio``."""

    def one(kind: str, d: int) -> float:
        task = TASKS[kind](d, lipschitz)
        floor = bayes_linear_risk(task, n, noise_std, max(contexts // 20, 200), seed).mean
        return float(optimal_window(task, n, noise_std).risk) / floor

    return measured(one, ["ratio"], kind=TASKS, d=dims)


# ---------------------------------------------------------------- cost, and the figure that moves


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the least of several wall times."""

    def once() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return min(once() for _ in range(repeats))


def costs(lengths: Sequence[float], noise_std: float, seed: int) -> pd.DataFrame:
    """Return seconds of one risk, affine class, d = 5, w = 10: ``n``, ``exact`` and ``sampled``.

    Sampling is measured up to n = 1,000 on 4,000 contexts and scaled to a relative error of 1e-3.
    """
    task = Affine(5)

    def sampled(n: float) -> float:
        start = time.perf_counter()
        found = monte_carlo_risk(task, 10.0, int(n), noise_std, 4000, seed)
        spent = time.perf_counter() - start
        return float(spent * (found.standard_error / found.mean / 1e-3) ** 2)

    def one(n: float) -> tuple[float, float]:
        exact = seconds(lambda: population_risk(task, 10.0, n, noise_std))
        return exact, sampled(n) if n <= 1000 else np.nan

    return measured(one, ["exact", "sampled"], n=lengths)


def risk_table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return bias and noise at L = sigma = 1 for each class, d, n, w; and the lowest risk of each setting."""
    lengths, windows = 10.0 ** np.arange(1, 9), 10 ** (np.arange(-10, 41) / 10)
    slopes = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    noises = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    ratios = np.unique(np.round(np.divide.outer(noises, slopes), 9))  # sigma / L
    classes: dict[str, Any] = {"functions": ["affine", "ReLU"], "d": [3, 5, 8]}

    def unit(functions: str, d: int) -> tuple[Any, ...]:
        n, w = (axis.ravel() for axis in np.meshgrid(lengths, windows, indexing="ij"))
        risk = population_risk(TASKS[functions](d), windows, lengths[:, None], 1.0)
        return n, w, risk.bias.ravel(), risk.noise.ravel()

    def best(functions: str, d: int) -> tuple[Any, ...]:
        ratio, n = (axis.ravel() for axis in np.meshgrid(ratios, lengths, indexing="ij"))
        found = optimal_window(TASKS[functions](d), lengths, ratios[:, None])
        return ratio, n, found.w.ravel(), found.risk.ravel()

    curves = measured(unit, ["n", "w", "bias", "noise"], **classes)
    lowest = measured(best, ["ratio", "n", "w", "risk"], **classes)
    pairs = pd.DataFrame(itertools.product(slopes, noises), columns=["L", "sigma"])
    pairs["ratio"] = (pairs.sigma / pairs.L).round(9)
    lowest = pairs.merge(lowest, on="ratio").drop(columns="ratio")
    return curves, lowest.assign(risk=lowest.risk * lowest.L**2)
