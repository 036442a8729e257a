"""Measurements for Theorem 2: the exact window over many decades, the proof sketch, and trained units.

Exponents at the end of a sweep have the columns `icl.experiments.tables.LIMIT`; what calibrates them is the
closed form for many tokens (`icl.risk.asymptotics`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from icl.covariates import cap_quantile
from icl.experiments.tables import LIMIT, TASKS, exponent, extrapolated, measured
from icl.pretrain import train_grid
from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.tasks import Affine, ReLU, Zonal

Array = NDArray[np.float64]
CLASSES = ("affine", "ReLU")
#: Windows so narrow that the laws for large w hold to 1 %.
FAR = (2.5e4, 5e4, 1e5)
#: Windows of the sweeps over w.
GRID = np.logspace(0, 5, 26)


def exact_windows(
    dims: Sequence[int], lengths: Array, lipschitz: float, noise_std: float, kinds: Sequence[str] = CLASSES
) -> pd.DataFrame:
    """Return exact windows, columns ``kind``, ``d``, ``n``, ``w``, ``error``, ``law`` and ``ratio``."""

    def one(kind: str, d: int) -> tuple[Array, ...]:
        task = TASKS[kind](d, lipschitz)
        best, law = (
            optimal_window(task, lengths, noise_std),
            asymptotics.sharp_window(task, lengths, noise_std),
        )
        return lengths, best.w, best.error, law, best.w / law

    return measured(one, ["n", "w", "error", "law", "ratio"], kind=kinds, d=dims)


def local_slopes(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of log w in log n between neighbors, at the geometric mean of their lengths."""

    def one(group: pd.DataFrame) -> pd.DataFrame:
        log = np.log(group[["n", "w"]].to_numpy())
        (run, rise), middle = np.diff(log, axis=0).T, (log[1:, 0] + log[:-1, 0]) / 2
        return pd.DataFrame({"n": np.exp(middle), "slope": rise / run})

    return windows.groupby(["kind", "d"], sort=False).apply(one).reset_index(["kind", "d"])


def slopes_in_length(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the exponent of w* in n for the ReLU class, `LIMIT`, where the law says that w* is `FAR`."""

    def one(dim: int) -> tuple[Any, ...]:
        task = ReLU(dim, lipschitz)
        n = asymptotics.sharp_context(task, FAR, noise_std)
        exact, known = optimal_window(task, n, noise_std).w, asymptotics.many_token_window(task, n, noise_std)
        return exponent(n, exact, known, 2 / (dim + 2))

    return measured(one, LIMIT, dim=dims).assign(power=1)


def slopes_in_signal(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the exponent of w* in L / sigma for the ReLU class, `LIMIT`, at the largest of these n."""
    signal = np.array([0.25, 0.5, 1.0]) * lipschitz / noise_std

    def one(dim: int) -> tuple[Any, ...]:
        n = asymptotics.sharp_context(ReLU(dim, lipschitz), FAR[-1], noise_std)
        exact = optimal_window(ReLU(dim), n, 1 / signal).w
        known = asymptotics.many_token_window(ReLU(dim), n, 1 / signal)
        return exponent(signal, exact, known, 4 / (dim + 2))

    return measured(one, LIMIT, dim=dims).assign(power=2)


def sufficient_lengths(dims: Sequence[int]) -> pd.DataFrame:
    """Return how the context from which w* >= (n L^2 / sigma^2)^(1/d) grows with L / sigma, ReLU class.

    Columns ``d``, ``step`` (first, second), ``value``, the growth exponent between the first three powers of
    ten of L / sigma at which that context has 10^4 tokens or more, and its ``error``. It is a statement about
    d >= 4: other dimensions, and those from 10 on, are left out, and if none is left, d = 5 stands in.
    """
    high = [d for d in dims if 3 < d < 10] or [5]

    def one(d: int) -> tuple[Any, ...]:
        found = (_sufficient_length(d, 10.0**power) for power in range(2, 12))
        long = (pair for pair in found if pair[0] >= np.log(1e4))
        log_n, error = np.transpose([next(long) for _ in range(3)])
        return (
            np.array(["first", "second"]),
            np.diff(log_n) / np.log(10),
            (error[1:] + error[:-1]) / np.log(10),
        )

    return measured(one, ["step", "value", "error"], d=high)


def _sufficient_length(d: int, ratio: float) -> tuple[float, float]:
    """Return log n from which w* exceeds Lambda^(1/d), and its error."""

    def excess(log_n: float) -> tuple[float, float]:
        n = np.round(np.exp(log_n))
        best = optimal_window(ReLU(d), n, 1 / ratio)
        return float(np.log(best.w) - np.log(n * ratio**2) / d), float(best.error)

    ends = np.log([max(2, ratio**2 / 1e7), ratio**2])
    root = brentq(lambda log_n: excess(log_n)[0], *ends, xtol=1e-4)
    left, error = excess(root)
    return root, d * (abs(left) + error)  # w* ~ n^(2/d), so the excess grows like n^(1/d)


def nearest_tokens(dims: Sequence[int], lengths: Array) -> pd.DataFrame:
    """Return the exponent in n of a window that follows the nearest token: ``dim``, ``power``, ``value``."""

    def one(dim: int) -> float:
        distance = np.log([cap_quantile(dim, 1 / n) for n in lengths[-2:]])
        return float(-np.diff(distance)[0] / np.diff(np.log(lengths[-2:]))[0])

    return measured(one, ["value"], dim=dims).assign(power=1)


def law_constants(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the limit of w* over its sharp law, `LIMIT`, extrapolated linearly in the bandwidth.

    The lengths are those at which the law says 10^3, 10^4 and 10^5; the change is what leaving out the last
    one does.
    """

    def one(kind: str, d: int) -> tuple[Any, ...]:
        task = TASKS[kind](d, lipschitz)
        n = asymptotics.sharp_context(task, [1e3, 1e4, 1e5], noise_std)
        law = asymptotics.sharp_window(task, n, noise_std)
        exact, known = optimal_window(task, n, noise_std).w, asymptotics.many_token_window(task, n, noise_std)
        return (*extrapolated(exact / law, exact**-0.5), *extrapolated(known / law, known**-0.5), 1.0)

    return measured(one, LIMIT, kind=CLASSES, d=dims)


def trained_windows(
    d: int,
    settings: Sequence[tuple[str, float, int]],
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train units at settings (kind, L, n) and compare the mean diagonal of M with the exact window.

    Returns:
        One row for each setting and seed: ``kind``, ``L``, ``n``, ``seed``, ``trained``, ``w`` and ``ratio``.
    """
    tasks: list[Any] = [TASKS[kind](d, L) for kind, L, _ in settings]
    lengths = [n for _, _, n in settings]
    grid = train_grid(tasks, noise_std, lengths, seeds, steps, batch_size, learning_rate, device)
    frame = pd.DataFrame(settings, columns=["kind", "L", "n"])
    frame["w"] = [float(optimal_window(t, n, noise_std).w) for t, n in zip(tasks, lengths, strict=True)]
    frame = frame.loc[frame.index.repeat(seeds)].reset_index(drop=True)
    frame = frame.assign(seed=np.tile(np.arange(seeds), len(settings)), trained=grid.windows.ravel())
    return frame.assign(ratio=frame.trained / frame.w)


# ---------------------------------------------------------------- the proof sketch


def sketch_ends(dims: Sequence[int]) -> pd.DataFrame:
    """Return the exponents in n of the range that the sketch leaves for w: ``dim``, ``side``, ``end``.

    With L = sigma = 1 each term is at most m = min_w (1 / w + w^(d/2) / n): from 1 / w^2 <= m follows the
    lower end, from w^(d/2) / n <= m the upper one.
    """
    n = np.array([1e8, 1e10])

    def one(dim: int) -> tuple[Any, ...]:
        least = np.array([_least_sum(dim / 2, length) for length in n])
        ends = np.stack([least**-0.5, (least * n) ** (2 / dim)])
        return (
            np.array(["lower", "upper"]),
            np.array([0, 1]),
            (np.diff(np.log(ends)) / np.diff(np.log(n)))[:, 0],
        )

    return measured(one, ["side", "end", "value"], dim=dims)


def _least_sum(power: float, n: float) -> float:
    found = minimize_scalar(
        lambda log_w: np.logaddexp(-log_w, power * log_w - np.log(n)),
        bounds=(-10, 60),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(np.exp(found.fun))


#: What computes bias and noise of a class at windows, lengths and sigma.
Terms = Callable[[Zonal, Array, Array, float], tuple[Array, Array]]


def _exact_terms(task: Zonal, w: Array, n: Array, noise_std: float) -> tuple[Array, Array]:
    risk = population_risk(task, w, n, noise_std)
    return np.asarray(risk.bias), np.asarray(risk.noise)


#: Exactly, and in the limit of many tokens.
BOTH: tuple[Terms, Terms] = (_exact_terms, asymptotics.many_token_risk)


def _long(dim: int) -> Array:
    """Return a context with 10^12 tokens in the narrowest window of `GRID`."""
    return np.round(1e12 * np.asarray(asymptotics.effective_fraction(dim, GRID[-1])))


def _terms(kind: str, d: int, terms: Terms) -> tuple[Array, Array]:
    bias, noise = terms(TASKS[kind](d), GRID, _long(d), 1.0)
    return bias, noise * _long(d)


def noise_exponents(dims: Sequence[int], more: int = 0) -> pd.DataFrame:
    """Return the exponent in w of the noise, `LIMIT`, on the unit sphere of R^(d + more), as ``dim`` d."""

    def one(dim: int) -> tuple[Any, ...]:
        curves = (
            _terms("affine", dim + more, terms)[1] for terms in (_exact_terms, asymptotics.many_token_risk)
        )
        exact, known = (local_slope(GRID[-3:], curve[-3:]) for curve in curves)
        return (*exact, *known, (dim + more - 1) / 2)

    return measured(one, LIMIT, dim=dims)


def bias_exponents(dims: Sequence[int]) -> pd.DataFrame:
    """Return the exponent in w of the bias, `LIMIT`: -2 (affine), -3/2 (ReLU)."""

    def one(kind: str, d: int) -> tuple[Any, ...]:
        exact, known = (_terms(kind, d, terms)[0] for terms in BOTH)
        return exponent(GRID, exact, known, {"affine": -2.0, "ReLU": -1.5}[kind])

    return measured(one, LIMIT, kind=CLASSES, d=dims)


def bias_growth(dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the growth in n of the largest bias over its printed upper bound, `LIMIT`.

    The largest ratio of bias / L^2 to 1 / w + 1 / n is taken over windows from sqrt(w*) to w*, at the lengths
    at which the law says that w* is 10^3, 10^4 and 10^5.
    """

    def worst(task: Zonal, n: Array, top: Array, terms: Terms) -> Array:
        w = np.geomspace(top**0.5, top, 12)
        bias, _ = terms(task, w, n, 0.0)
        return np.asarray(np.max(bias / (1 / w + 1 / n), axis=0))

    def one(kind: str, d: int) -> tuple[Any, ...]:
        task = TASKS[kind](d)
        n = asymptotics.sharp_context(task, [1e3, 1e4, 1e5], noise_std)
        exact = worst(task, n, optimal_window(task, n, noise_std).w, _exact_terms)
        window = asymptotics.many_token_window(task, n, noise_std)
        known = worst(task, n, window, asymptotics.many_token_risk)
        return exponent(n, exact, known, -1 / {"affine": d + 3, "ReLU": 2 * d + 4}[kind])

    return measured(one, LIMIT, kind=CLASSES, d=dims)


def narrow_bias_growth(dims: Sequence[int] = (5, 8)) -> pd.DataFrame:
    """Return the same growth at w = n, `LIMIT`, where one token has all the weight; affine class."""
    n = np.array([1e6, 1e8, 1e10])

    def one(d: int) -> tuple[Any, ...]:
        bias, nearest = (
            population_risk(Affine(d), n, n, 0.0).bias,
            nearest_neighbor_risk(Affine(d), n, 0.0).bias,
        )
        return exponent(n, bias * n / 2, nearest * n / 2, 1 - 2 / (d - 1))

    return measured(one, LIMIT, d=dims)


# ---------------------------------------------------------------- figures


def crossings(task: Zonal, lengths: Sequence[float], noise_std: float) -> pd.DataFrame:
    """Return bias and noise over the window at several lengths: ``n``, ``w``, ``bias``, ``noise``."""
    w = np.geomspace(1, 1e4, 60)

    def one(n: float) -> tuple[Array, ...]:
        return w, *_exact_terms(task, w, np.asarray(n), noise_std)

    return measured(one, ["w", "bias", "noise"], n=lengths)


def slope_table() -> pd.DataFrame:
    """Return local slopes of log w* in log n, and the laws, for the figure that moves.

    Columns ``functions``, ``d``, ``signal`` (L / sigma), ``n``, ``slope`` (between n - 10 % and n + 10 %),
    ``sharp``, ``least`` and ``most``.
    """
    lengths = np.round(10 ** np.arange(1, 10.1, 0.25))
    pair = np.round(np.outer([0.9, 1.1], lengths))

    def one(functions: str, d: int, signal: float) -> tuple[Any, ...]:
        task = TASKS[functions](d)
        w = optimal_window(task, pair, 1 / signal).w
        slope = np.diff(np.log(w), axis=0)[0] / np.diff(np.log(pair), axis=0)[0]
        laws = asymptotics.window_exponent(task), *asymptotics.printed_exponents(d)
        return lengths, slope, *laws

    columns = ["n", "slope", "sharp", "least", "most"]
    return measured(one, columns, functions=CLASSES, d=(3, 5, 8), signal=(0.1, 1.0, 10.0))
