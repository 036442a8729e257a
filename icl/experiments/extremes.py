"""The extreme examples after Theorem 2 in one setting each: much noise, a strong signal, long contexts.

Classes have L = 1 unless it is given, since the best window of affine and ReLU functions depends on L / sigma
alone (`over_unit`). What does not say more returns ``value`` and ``error``, or a `sweeps.limit`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from icl.experiments.sweeps import limit, log_slopes, over
from icl.experiments.tables import TASKS, Array, Row
from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.statistics import local_slope

CLASSES = ("affine", "ReLU")
#: Wavenumbers L of the waves cos(L u.x) that stand for the cosine class.
WAVES = (1.0, 4.0)
#: Contexts of fixed length for the limit without noise.
FEW = (20, 100, 400)


def windows_over_signal(kind: str, d: int, n: int) -> Row:
    """Return the best ``w`` over ``signal`` = L / sigma, and ``silent``, the best w without noise."""
    task, signal = TASKS[kind](d), np.geomspace(0.05, 1e4, 40)
    w, silent = (optimal_window(task, n, sigma).w for sigma in (1 / signal, 0.0))
    return {"signal": signal, "w": w, "silent": silent}


def slopes_in_noise(kind: str, d: int, n: int) -> Row:
    """Return the slope of log w* in log sigma at much noise: for small w it is -2."""
    sigma = np.array([100.0, 200.0, 400.0])
    return limit(lambda route: local_slope(sigma, route.window(TASKS[kind](d), n, sigma)), -2.0)


def best_window(kind: str, d: int, n: int, noise_std: float, L: float = 1.0) -> Row:
    """Return w*."""
    best = optimal_window(TASKS[kind](d, L), n, noise_std)
    return {"value": best.w, "error": best.w * best.error}


def silent_window(kind: str, d: int, n: int) -> Row:
    """Return 1 / w* without noise."""
    best = optimal_window(TASKS[kind](d), n, 0.0)
    return {"value": 1 / best.w, "error": best.error / best.w}


def least_slope(
    kind: str, d: int, lengths: Array, noise_std: Any = 1.0, power: float = 1.0, L: float = 1.0
) -> Row:
    """Return the least slope of log w* in log n between neighboring lengths, times ``power``.

    The bandwidth is w^(-1/2): ``power`` = -1/2 gives its slope.
    """
    best = optimal_window(TASKS[kind](d, L), lengths, noise_std)
    slope, error = log_slopes(lengths, best.w, best.error)
    return {"value": power * slope.min(), "error": abs(power) * error.max()}


def slope_in_signal(kind: str, d: int) -> Row:
    """Return the least slope of log w* in log(L / sigma), 1 to 100, with n so that the law says w* = 10^5."""
    signal = np.array([1.0, 10.0, 100.0])
    n = asymptotics.sharp_context(TASKS[kind](d), 1e5, 1 / signal[-1])
    best = optimal_window(TASKS[kind](d), n, 1 / signal)
    slope, error = log_slopes(signal, best.w, best.error)
    return {"value": slope.min(), "error": error.max()}


def nearest_over_best(kind: str, d: int, n: float, noise_std: float) -> Row:
    """Return the risk of the nearest neighbor over the least one."""
    task = TASKS[kind](d)
    least = population_risk(task, optimal_window(task, n, noise_std).w, n, noise_std)
    single = nearest_neighbor_risk(task, n, noise_std)
    ratio = single.total / least.total
    return {"value": ratio, "error": ratio * (single.error + least.error)}


def crowd(kind: str, d: int, lengths: Array) -> Row:
    """Return the growth exponent in n of the number of tokens attended to, between two lengths.

    The number is sigma^2 over the noise term, at the best windows for sigma = 1.
    """
    best = optimal_window(TASKS[kind](d), lengths, 1.0)
    risk = population_risk(TASKS[kind](d), best.w, lengths, 1.0)
    # the number falls like w^(-d/2)
    (slope,), (error,) = log_slopes(lengths, 1 / risk.noise, risk.error + d * best.error)
    return {"value": slope, "error": error}


def over_unit(kind: str, d: int, n: int) -> Row:
    """Return w* at (10 L, 10 sigma) over that at L = sigma = 1."""
    ratio, error = over(*(optimal_window(TASKS[kind](d, L), n, L) for L in (10.0, 1.0)))
    return {"value": ratio, "error": error}
