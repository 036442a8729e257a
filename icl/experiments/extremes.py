"""The extreme examples after Theorem 2: much noise, a strong signal, long contexts.

Affine and ReLU functions have L = 1, since their best window depends on L / sigma alone (`over_unit`). Tables
that do not say more have the settings (``kind`` the class, ``d``, ``n``, ``L``), ``value`` and ``error``;
limits have the columns `icl.experiments.tables.LIMIT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.experiments.tables import LIMIT, TASKS, exponent, measured, over
from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Cosine, Zonal

Array = NDArray[np.float64]
CLASSES = ("affine", "ReLU")
#: Wavenumbers L of the waves cos(L u.x) that stand for the cosine class.
WAVES = (1.0, 4.0)
#: Contexts of fixed length for the limit without noise.
FEW = np.array([20, 100, 400])


def windows_over_signal(d: int, lengths: Sequence[int] | Array = FEW) -> pd.DataFrame:
    """Return best windows over ``signal`` = L / sigma: ``kind``, ``n``, ``signal``, ``w``, and ``silent``.

    The last is the best window without noise.
    """
    signal = np.geomspace(0.05, 1e4, 40)

    def one(kind: str, n: int) -> tuple[Any, ...]:
        task = TASKS[kind](d)
        silent = float(optimal_window(task, n, 0.0).w)
        return signal, optimal_window(task, n, 1 / signal).w, silent

    return measured(one, ["signal", "w", "silent"], kind=CLASSES, n=list(map(int, lengths)))


def slopes_in_noise(d: int, n: int) -> pd.DataFrame:
    """Return the slope of log w* in log sigma at much noise, `LIMIT`: for small w it is -2."""
    sigma = np.array([100.0, 200.0, 400.0])

    def one(kind: str) -> tuple[Any, ...]:
        exact = optimal_window(TASKS[kind](d), n, sigma).w
        return exponent(sigma, exact, asymptotics.many_token_window(TASKS[kind](d), n, sigma), -2.0)

    return measured(one, LIMIT, kind=CLASSES)


def waves_in_noise(dims: Sequence[int]) -> pd.DataFrame:
    """Return the best window of waves at sigma = 100, n = 100."""

    def one(d: int, L: float) -> tuple[Any, ...]:
        best = optimal_window(Cosine(d, L), 100, 100.0)
        return float(best.w), float(best.w * best.error)

    return measured(one, ["value", "error"], d=dims, L=WAVES)


def _least_slope(task: Zonal, x: Array, n: Any, noise_std: Any) -> tuple[float, float]:
    """Return the least slope of log w* in log x between neighbors, and the largest error."""
    best, step = optimal_window(task, n, noise_std), np.diff(np.log(x))
    error = (best.error[1:] + best.error[:-1]) / step
    return float((np.diff(np.log(best.w)) / step).min()), float(error.max())


def slopes_in_signal(dims: Sequence[int]) -> pd.DataFrame:
    """Return the least slope of log w* in log(L / sigma), 1 to 100, with n so that the law says w* = 10^5."""
    signal = np.array([1.0, 10.0, 100.0])

    def one(kind: str, d: int) -> tuple[float, float]:
        n = asymptotics.sharp_context(TASKS[kind](d), 1e5, 1 / signal[-1])
        return _least_slope(TASKS[kind](d), signal, n, 1 / signal)

    return measured(one, ["value", "error"], kind=CLASSES, d=dims)


def silent_windows(dims: Sequence[int]) -> pd.DataFrame:
    """Return 1 / w* without noise at the lengths `FEW`."""

    def one(kind: str, d: int) -> tuple[Array, ...]:
        best = optimal_window(TASKS[kind](d), FEW, 0.0)
        return FEW, 1 / best.w, best.error / best.w

    return measured(one, ["n", "value", "error"], kind=CLASSES, d=dims)


def nearest_over_best(dims: Sequence[int], lengths: Any, noise_std: float) -> pd.DataFrame:
    """Return the risk of the nearest neighbor over the least one."""
    n = np.atleast_1d(lengths)

    def one(kind: str, d: int) -> tuple[Array, ...]:
        task = TASKS[kind](d)
        least = population_risk(task, optimal_window(task, n, noise_std).w, n, noise_std)
        single = nearest_neighbor_risk(task, n, noise_std)
        ratio = single.total / least.total
        return n, ratio, ratio * (single.error + least.error)

    return measured(one, ["n", "value", "error"], kind=CLASSES, d=dims)


def slopes_in_length(
    dims: Sequence[int], lengths: Array, noise_std: Any = 1.0, power: float = 1.0
) -> pd.DataFrame:
    """Return the least slope of log w* in log n, times ``power``.

    The bandwidth is w^(-1/2): ``power`` = -1/2 gives its slope.
    """

    def one(kind: str, d: int) -> tuple[float, float]:
        slope, error = _least_slope(TASKS[kind](d), lengths, lengths, noise_std)
        return power * slope, abs(power) * error

    return measured(one, ["value", "error"], kind=CLASSES, d=dims)


def wave_slopes(dims: Sequence[int]) -> pd.DataFrame:
    """Return the slope of log w* of waves in log n from 10^9 to 10^10."""
    far = np.array([1e9, 1e10])
    return measured(
        lambda d, L: _least_slope(Cosine(d, L), far, far, 1.0), ["value", "error"], d=dims, L=WAVES
    )


def crowds(dims: Sequence[int], lengths: Array, noise_std: float = 1.0) -> pd.DataFrame:
    """Return the growth exponent in n of the number of tokens attended to.

    The number is sigma^2 over the noise term, at the best windows of two lengths.
    """

    def one(kind: str, d: int) -> tuple[float, float]:
        best = optimal_window(TASKS[kind](d), lengths, noise_std)
        risk = population_risk(TASKS[kind](d), best.w, lengths, noise_std)
        step = np.diff(np.log(lengths))[0]
        error = (risk.error + d * best.error).sum() / step  # the number falls like w^(-d/2)
        return float(-np.diff(np.log(risk.noise))[0] / step), float(error)

    return measured(one, ["value", "error"], kind=CLASSES, d=dims)


def over_unit(dims: Sequence[int], n: int) -> pd.DataFrame:
    """Return w* at (10 L, 10 sigma) over that at L = sigma = 1."""

    def one(kind: str, d: int) -> tuple[float, float]:
        return over(*(optimal_window(TASKS[kind](d, L), n, L) for L in (10.0, 1.0)))

    return measured(one, ["value", "error"], kind=CLASSES, d=dims)
