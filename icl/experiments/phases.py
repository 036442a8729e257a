"""Phases of the window over context length and roughness, waves, and the law of smooth classes.

Tables that do not say more have the settings (``d``, ``n``, ``L``), ``value`` and ``error``; limits have the
columns `icl.experiments.tables.LIMIT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betainc

from icl.experiments.extremes import WAVES
from icl.experiments.tables import LIMIT, extrapolated, measured, over
from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Tanh, Zonal

Array = NDArray[np.float64]
#: What a map is divided into, in the order of its colors.
PHASES = ("equal weights", "a window", "few tokens")
#: Settings of the figure that moves.
MOVING = {"d": (3, 5), "L": (1, 2, 4, 6, 8, 10, 12, 16)}


def phase_map(
    dims: Sequence[int], lengths: Sequence[int], wavenumbers: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Return the best window over context length and roughness, exact.

    ReLU functions over L / sigma in the highest dimension, cosines over their wavenumber at ``noise_std`` in
    the lowest and the highest.

    Returns:
        Columns ``title`` (of a map), ``kind``, ``d``, ``rough``, ``n``, ``w``, ``reach`` (the expected number
        of tokens with 1 - x.x_q < 1 / w) and ``phase``, an index into `PHASES`: below two tokens are few.
    """
    n, low, high = np.array(lengths, float), min(dims), max(dims)
    snr = np.geomspace(0.1, 1000, 25)
    parts = []
    for kind, d in dict.fromkeys([("ReLU", high), ("cosine", low), ("cosine", high)]):
        rough = np.array(wavenumbers) if kind == "cosine" else snr
        if kind == "cosine":
            w = np.stack([optimal_window(Cosine(d, L), n, noise_std).w for L in wavenumbers])
        else:
            w = optimal_window(ReLU(d), n, 1 / snr[:, None]).w
        half = (d - 1) / 2
        reach = n * betainc(half, half, np.minimum(0.5 / np.maximum(w, 0.25), 1.0))
        phase = np.where(w <= 1e-9, 0, np.where(reach < 2, 2, 1))
        setting = {"title": f"{kind}, d = {d}", "kind": kind, "d": d, "rough": rough.repeat(n.size)}
        found = {"n": np.tile(n, rough.size), "w": w.ravel(), "reach": reach.ravel(), "phase": phase.ravel()}
        parts.append(pd.DataFrame(setting | found))
    return pd.concat(parts, ignore_index=True)


def wave_table(noise_std: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return risks of waves over the least risk against w, and the best windows, for the figure that moves.

    Columns ``d``, ``L``, ``n``, ``w``, ``ratio``, ``equal`` (equal weights) and ``nearest`` (one token).
    """
    n, w = 2.0 ** np.arange(3, 15), 10 ** (np.arange(-10, 31) / 10)

    @cache
    def best(d: int, L: int) -> Any:
        return optimal_window(Cosine(d, L), n, noise_std)

    def curves(d: int, L: int) -> tuple[Array, ...]:
        wave, least = Cosine(d, L), best(d, L).risk
        risk = population_risk(wave, w, n[:, None], noise_std).total / least[:, None]
        equal = population_risk(wave, 0.0, n, noise_std).total / least
        nearest = nearest_neighbor_risk(wave, n, noise_std).total / least
        once = (column.repeat(w.size) for column in (n, equal, nearest))
        return np.tile(w, n.size), risk.ravel(), *once

    drawn = measured(curves, ["w", "ratio", "n", "equal", "nearest"], **MOVING)
    return drawn, measured(lambda d, L: (n, best(d, L).w, 1.0), ["n", "w", "ratio"], **MOVING)


def narrowings(dims: Sequence[int], noise_std: float, few: int = 32, many: int = 4096) -> pd.DataFrame:
    """Return log w* of cosines at 2 L minus that at L; equal weights, w* = 0, count as 1e-6.

    With ``many`` tokens the context resolves L = 1, 2 and 4. With ``few``, L is the last power of two with a
    window; dimensions without any are left out.

    Returns:
        Columns ``d``, ``n``, ``L``, ``twice``, ``resolved``, ``value`` and ``error``.
    """

    @cache
    def window(d: int, n: int, L: float) -> tuple[float, float]:
        best = optimal_window(Cosine(d, L), n, noise_std)
        return float(best.w), float(best.error)

    def row(d: int, n: int, L: float, resolved: bool) -> dict[str, Any]:
        (one, first), (two, second) = window(d, n, L), window(d, n, 2 * L)
        value, error = np.log(max(two, 1e-6) / max(one, 1e-6)), first + second
        return dict(d=d, n=n, L=L, twice=2 * L, resolved=resolved, value=value, error=error)

    rows = [row(d, many, L, True) for d in dims for L in (1.0, 2.0)]
    for d in dims:
        tried = 2.0 ** np.arange(8)
        zero = [window(d, few, L)[0] <= 0 for L in tried]
        last = int(np.argmax(zero)) - 1 if any(zero) else len(tried) - 1
        if last >= 0:
            rows.append(row(d, few, float(tried[last]), False))
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- smooth classes


def energies(task: Zonal, last: int = 140) -> tuple[float, float]:
    """Return E |grad f|^2 and E (Laplacian f)^2 over sphere and class, from degrees up to ``last``."""
    a, _ = task.spectrum(last)
    level = np.arange(1.0, last + 1) * (np.arange(1.0, last + 1) + task.dim - 2)
    return float(a @ level), float(a @ level**2)


def largest_slope(wavenumber: float) -> float:
    """Return the Lipschitz constant of cos(L u.x) along the unit sphere."""
    t = np.linspace(-1, 1, 200001)
    return float(wavenumber * np.max(np.abs(np.sin(wavenumber * t)) * np.sqrt(1 - t**2)))


def wave_laws(
    dims: Sequence[int], wavenumbers: Sequence[float], noise_std: float, n: float = 1e10
) -> pd.DataFrame:
    """Return w* of waves over the law with the Laplacian, and over the same law with the gradient.

    Columns ``d``, ``L``, ``Laplacian`` and ``gradient``.
    """

    def one(d: int, L: float) -> tuple[float, float]:
        wave = Cosine(d, L)
        gradient, laplacian = energies(wave)
        ratio = optimal_window(wave, n, noise_std).w / asymptotics.sharp_window(wave, n, noise_std)
        return float(ratio), float(ratio * (laplacian / gradient) ** asymptotics.window_exponent(wave))

    return measured(one, ["Laplacian", "gradient"], d=dims, L=wavenumbers)


def wave_constants(dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return w* over the law where the law says 10^5, `LIMIT`, for waves and quadratic functions."""

    def one(task: Zonal) -> list[float]:
        n = asymptotics.sharp_context(task, [1e4, 1e5], noise_std)
        law = asymptotics.sharp_window(task, n, noise_std)
        exact, known = optimal_window(task, n, noise_std).w, asymptotics.many_token_window(task, n, noise_std)
        return [x for w in (exact, known) for x in (w[1] / law[1], abs(w[1] / law[1] - w[0] / law[0]))]

    smooth: dict[str, Zonal] = {f"cosine, L = {L:g}, d = {d}": Cosine(d, L) for d in dims for L in WAVES}
    smooth |= {f"quadratic, d = {d}": Quadratic(d) for d in dims}
    return pd.DataFrame([(name, *one(task), 1.0) for name, task in smooth.items()], columns=["task", *LIMIT])


def tanh_windows(
    dims: Sequence[int],
    steepnesses: Sequence[float],
    lengths: Array,
    lipschitz: float = 2.0,
    noise_std: float = 0.5,
) -> pd.DataFrame:
    """Return best windows of (L / beta) tanh(beta q.x), classes with one Lipschitz constant.

    Columns ``d``, ``steepness``, ``n``, ``w``, ``ratio`` to the law, and, over that of the first steepness,
    ``relative`` and ``law``.
    """

    def one(d: int, steepness: float) -> tuple[Array, ...]:
        both = []
        for beta in (steepness, steepnesses[0]):
            task = Tanh(d, lipschitz, beta)
            both += [best(task).w, asymptotics.sharp_window(task, lengths, noise_std)]
        w, law, first, its_law = both
        return lengths, w, w / law, w / first, law / its_law

    @cache
    def best(task: Zonal) -> Any:
        return optimal_window(task, lengths, noise_std)

    return measured(one, ["n", "w", "ratio", "relative", "law"], d=dims, steepness=steepnesses)


def smooth_constants(dims: Sequence[int], lipschitz: float = 2.0, noise_std: float = 0.5) -> pd.DataFrame:
    """Return the limit of w* over the law, `LIMIT`, for tanh and quadratic classes, ``k`` the dimension.

    Extrapolated linearly in 1 / w from the lengths at which the law says 10^2, 10^3 and 10^4.
    """
    smooth: dict[str, Any] = {
        "tanh, steepness 2": lambda k: Tanh(k, lipschitz, 2.0),
        "tanh, steepness 4": lambda k: Tanh(k, lipschitz, 4.0),
        "quadratic": lambda k: Quadratic(k, lipschitz),
    }

    def one(k: int, label: str) -> tuple[float, ...]:
        task = smooth[label](k)
        n = asymptotics.sharp_context(task, [1e2, 1e3, 1e4], noise_std)
        law = asymptotics.sharp_window(task, n, noise_std)
        exact, known = optimal_window(task, n, noise_std).w, asymptotics.many_token_window(task, n, noise_std)
        return *extrapolated(exact / law, 1 / exact), *extrapolated(known / law, 1 / known), 1.0

    return measured(one, LIMIT, k=dims, label=smooth)


def waves_over_linear(dims: Sequence[int]) -> pd.DataFrame:
    """Return w* of waves cos(4 u.x) over that of linear functions of equal slope, n = 10^12, sigma = 0.5.

    Columns ``d``, ``equal`` (what is equal), ``value`` and ``error``.
    """

    def one(d: int) -> tuple[Any, ...]:
        wave = Cosine(d, 4.0)
        mean = np.sqrt(energies(wave, 100)[0] * d / (d - 1))  # E |grad f|^2 of a linear function: L^2 (d-1)/d
        tasks = {
            "L": Affine(d, 4.0),
            "slope in space": Linear(d, 4.0),
            "largest slope": Linear(d, largest_slope(4.0)),
            "mean squared gradient": Linear(d, mean),
        }
        best = optimal_window(wave, 1e12, 0.5)
        ratios = np.transpose([over(best, optimal_window(task, 1e12, 0.5)) for task in tasks.values()])
        return np.array(list(tasks)), *ratios

    return measured(one, ["equal", "value", "error"], d=dims)


def class_spreads(dims: Sequence[int], noise_std: float, lengths: Sequence[int] = (20, 100)) -> pd.DataFrame:
    """Return the largest over the smallest w* of three classes with L = 1."""

    def one(d: int, n: int) -> tuple[float, float]:
        best = [optimal_window(task(d), n, noise_std) for task in (Affine, ReLU, Cosine)]
        best.sort(key=lambda some: float(some.w))
        return over(best[-1], best[0])

    return measured(one, ["value", "error"], d=dims, n=lengths)


def steeper_waves(dims: Sequence[int], noise_std: float, powers: Sequence[int] = (6, 8)) -> pd.DataFrame:
    """Return w* of waves of wavenumber 8 over that of wavenumber 1, each divided by its largest slope.

    Columns ``d``, ``k``, the power of ten of the context length, ``value`` and ``error``.
    """

    def one(d: int) -> tuple[Any, ...]:
        n = 10.0 ** np.array(powers)
        best = (optimal_window(Cosine(d, b), n, largest_slope(b) * noise_std) for b in (8.0, 1.0))
        return np.array(powers), *over(*best)

    return measured(one, ["k", "value", "error"], d=dims)
