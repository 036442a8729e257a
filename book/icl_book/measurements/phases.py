"""Phases of the window over context length and roughness, waves, smooth classes, and extreme examples.

In the extreme examples after Theorem 2, much noise, a strong signal, long contexts, classes have L = 1 unless
it is given, since the best window of affine and ReLU functions depends on L / sigma alone (`over_unit`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainc

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Tanh, Zonal, make_task
from icl_book.measurements.sweeps import (
    Route,
    law_constant,
    limit,
    log_slopes,
    over,
    smallest_slope,
    with_error,
)
from icl_book.measurements.tables import Array, Row, each

#: Of `icl.tasks.CLASSES`, those that cards judge.
KINDS = ("affine", "ReLU")
#: Wavenumbers L of the waves cos(L u.x) that stand for the cosine class.
WAVES = (1.0, 4.0)
#: Contexts of fixed length for the limit without noise.
FEW = (20, 100, 400)
#: What a map is divided into, in the order of its colors.
PHASES = ("equal weights", "a window", "few tokens")


def phase_map(
    dims: Sequence[int],
    lengths: Sequence[int],
    wavenumbers: Sequence[float],
    noise_std: float,
) -> pd.DataFrame:
    """Return the best window over context length and roughness, exact.

    ReLU functions over L / sigma in the highest dimension, cosines over their wavenumber at ``noise_std`` in
    the lowest and the highest.

    Returns:
        Columns ``title`` (of a map), ``kind``, ``d``, ``rough``, ``n``, ``w``, ``reach`` (the expected number
        of tokens with 1 - x.x_q < 1 / w) and ``phase``, an index into `PHASES`: below two tokens are few.
    """
    n = np.array(lengths, float)

    def one(kind: str, d: int) -> Row:
        rough = (
            np.array(wavenumbers) if kind == "cosine" else np.geomspace(0.1, 1000, 25)
        )
        if kind == "cosine":
            w = np.stack([optimal_window(Cosine(d, L), n, noise_std).w for L in rough])
        else:
            w = optimal_window(ReLU(d), n, 1 / rough[:, None]).w
        half = (d - 1) / 2
        reach = n * betainc(half, half, np.minimum(0.5 / np.maximum(w, 0.25), 1.0))
        phase = np.select([w <= 1e-9, reach < 2], [0, 2], 1)
        found = {
            "rough": rough[:, None],
            "n": n,
            "w": w,
            "reach": reach,
            "phase": phase,
        }
        return {"title": f"{kind}, d = {d}", **found}

    ends = sorted({min(dims), max(dims)})
    return pd.concat(
        [each(one, kind=["ReLU"], d=ends[-1:]), each(one, kind=["cosine"], d=ends)]
    )


def wave_curves(d: int, L: float, noise_std: float) -> Row:
    """Return the risk of waves over the least risk, for the figure that moves.

    ``ratio`` at ``n`` and ``w``; ``equal`` is that of equal weights, ``nearest`` that of one token, and
    ``best`` the best w.
    """
    wave, n, w = (
        Cosine(d, L),
        2.0 ** np.arange(3, 15)[:, None],
        10 ** (np.arange(-10, 31) / 10),
    )
    best = optimal_window(wave, n, noise_std)
    curve, equal = (
        population_risk(wave, at, n, noise_std).total / best.risk for at in (w, 0.0)
    )
    nearest = nearest_neighbor_risk(wave, n, noise_std).total / best.risk
    return {
        "n": n,
        "w": w,
        "ratio": curve,
        "equal": equal,
        "nearest": nearest,
        "best": best.w,
    }


def narrowing(d: int, n: int, L: float, noise_std: float) -> Row:
    """Return log w* of cosines at ``twice`` = 2 L minus that at L; equal weights count as w = 1e-6."""
    one, two = (optimal_window(Cosine(d, b), n, noise_std) for b in (L, 2 * L))
    value = np.log(np.maximum(two.w, 1e-6) / np.maximum(one.w, 1e-6))
    return {"twice": 2 * L, "value": value, "error": one.error + two.error}


def narrowings(
    dims: Sequence[int], noise_std: float, few: int = 32, many: int = 4096
) -> pd.DataFrame:
    """Return `narrowing` where the context resolves waves, ``many`` tokens, L = 1 and 2, and where not.

    There, with ``few`` tokens, L is the last power of two with a window; dimensions without any are left out.
    Columns ``d``, ``n``, ``L``, ``twice``, ``resolved``, ``value`` and ``error``.
    """
    parts = [
        each(
            narrowing, d=list(dims), n=[many], L=[1.0, 2.0], noise_std=noise_std
        ).assign(resolved=True)
    ]
    for d in dims:
        L = 1.0
        while L <= 128 and optimal_window(Cosine(d, L), few, noise_std).w > 0:
            L *= 2
        if L > 1:
            last = each(narrowing, d=[d], n=[few], L=[L / 2], noise_std=noise_std)
            parts.append(last.assign(resolved=False))
    return pd.concat(parts, ignore_index=True)


#: Smooth classes by name, called with the dimension.
SMOOTH: dict[str, Callable[[int], Zonal]] = {
    "tanh, steepness 2": lambda d: Tanh(d, 2.0, 2.0),
    "tanh, steepness 4": lambda d: Tanh(d, 2.0, 4.0),
    "quadratic": lambda d: Quadratic(d, 2.0),
}


def energies(task: Zonal, last: int = 140) -> tuple[float, float]:
    """Return E |grad f|^2 and E (Laplacian f)^2 over sphere and class, from degrees up to ``last``."""
    a, _ = task.spectrum(last)
    level = np.arange(1.0, last + 1) * (np.arange(1.0, last + 1) + task.dim - 2)
    return float(a @ level), float(a @ level**2)


def largest_slope(wavenumber: float) -> float:
    """Return the Lipschitz constant of cos(L u.x) along the unit sphere."""
    t = np.linspace(-1, 1, 200001)
    return float(
        wavenumber * np.max(np.abs(np.sin(wavenumber * t)) * np.sqrt(1 - t**2))
    )


def wave_law(d: int, L: float, noise_std: float) -> Row:
    """Return w* of waves at n = 10^10 over its law, with the ``Laplacian`` and with the ``gradient``."""
    wave = Cosine(d, L)
    gradient, laplacian = energies(wave)
    ratio = optimal_window(wave, 1e10, noise_std).w / asymptotics.sharp_window(
        wave, 1e10, noise_std
    )
    wrong = ratio * (laplacian / gradient) ** asymptotics.window_law(wave).exponent
    return {"Laplacian": ratio, "gradient": wrong}


def wave_constants(dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return w* over the law where the law says 10^5, for waves and quadratic functions."""
    smooth: dict[str, Zonal] = {
        f"cosine, L = {L:g}, d = {d}": Cosine(d, L) for d in dims for L in WAVES
    }
    smooth |= {f"quadratic, d = {d}": Quadratic(d) for d in dims}

    def one(task: str) -> Row:
        n = asymptotics.sharp_context(smooth[task], [1e4, 1e5], noise_std)
        law = asymptotics.sharp_window(smooth[task], n, noise_std)

        def last(route: Route) -> tuple[float, float]:
            before, ratio = route.window(smooth[task], n, noise_std) / law
            return ratio, abs(ratio - before)

        return limit(last, 1.0)

    return each(one, task=list(smooth))


def smooth_constant(k: int, label: str) -> Row:
    """Return the limit of w* of a `SMOOTH` class in k dimensions over the law, sigma = 0.5."""
    return law_constant(SMOOTH[label](k), (1e2, 1e3, 1e4), 0.5, power=1.0)


def tanh_window(d: int, steepness: float, lengths: Array) -> Row:
    """Return the best ``w`` of (L / beta) tanh(beta q.x), L = 2, sigma = 0.5, and the ``law``."""
    task = Tanh(d, 2.0, steepness)
    law = asymptotics.sharp_window(task, lengths, 0.5)
    return {"n": lengths, "w": optimal_window(task, lengths, 0.5).w, "law": law}


#: Linear functions that share a measure of the slope with the waves cos(4 u.x); the mean squared gradient of
#: a linear function is L^2 (d - 1) / d.
EQUAL: dict[str, Callable[[int], Zonal]] = {
    "L": lambda d: Affine(d, 4.0),
    "slope in space": lambda d: Linear(d, 4.0),
    "largest slope": lambda d: Linear(d, largest_slope(4.0)),
    "mean squared gradient": lambda d: Linear(
        d, np.sqrt(energies(Cosine(d, 4.0), 100)[0] * d / (d - 1))
    ),
}


def wave_over_linear(d: int, equal: str) -> Row:
    """Return w* of waves cos(4 u.x) over that of `EQUAL` functions, n = 10^12, sigma = 0.5."""
    return over(
        *(optimal_window(task, 1e12, 0.5) for task in (Cosine(d, 4.0), EQUAL[equal](d)))
    )


def wave_over_linear_limit(d: int, equal: str) -> Row:
    """Return the limit of `wave_over_linear` for n to infinity, by the law.

    ``value``, by the package's law, and ``error``, its distance from the same ratio by the `energies` of both
    classes, with rounding.
    """
    wave, linear = Cosine(d, 4.0), EQUAL[equal](d)
    value, other = (
        asymptotics.sharp_window(wave, 1e12, 0.5)
        / asymptotics.sharp_window(linear, 1e12, 0.5),
        (energies(wave)[1] / energies(linear)[1])
        ** asymptotics.window_law(wave).exponent,
    )
    return {
        "value": float(value),
        "error": abs(float(value - other)) + 1e-14 * float(value),
    }


def class_spread(d: int, n: int, noise_std: float) -> Row:
    """Return the largest over the smallest w* of three classes with L = 1; infinite if that is zero."""
    best = [optimal_window(task(d), n, noise_std) for task in (Affine, ReLU, Cosine)]
    best.sort(key=lambda some: float(some.w))
    return over(best[-1], best[0]) if best[0].w > 0 else {"value": np.inf, "error": 0.0}


def steeper_waves(d: int, k: int, noise_std: float) -> Row:
    """Return w* of waves of wavenumber 8 over that of 1, each divided by its largest slope, n = 10^k."""
    return over(
        *(
            optimal_window(Cosine(d, b), 10.0**k, largest_slope(b) * noise_std)
            for b in (8.0, 1.0)
        )
    )


def windows_over_signal(kind: str, d: int, n: int) -> Row:
    """Return the best ``w`` over ``signal`` = L / sigma, and ``silent``, the best w without noise."""
    task, signal = make_task(kind, d), np.geomspace(0.05, 1e4, 40)
    w, silent = (optimal_window(task, n, sigma).w for sigma in (1 / signal, 0.0))
    return {"signal": signal, "w": w, "silent": silent}


def slopes_in_noise(kind: str, d: int, n: int) -> Row:
    """Return the slope of log w* in log sigma at much noise: for small w it is -2."""
    sigma = np.array([100.0, 200.0, 400.0])
    return limit(
        lambda route: local_slope(sigma, route.window(make_task(kind, d), n, sigma)),
        -2.0,
    )


def best_window(kind: str, d: int, n: int, noise_std: float, L: float = 1.0) -> Row:
    """Return w*."""
    best = optimal_window(make_task(kind, d, L), n, noise_std)
    return with_error(best.w, best.error)


def silent_window(kind: str, d: int, n: int) -> Row:
    """Return 1 / w* without noise."""
    best = optimal_window(make_task(kind, d), n, 0.0)
    return with_error(1 / best.w, best.error)


def least_slope(
    kind: str,
    d: int,
    lengths: Array,
    noise_std: Any = 1.0,
    power: float = 1.0,
    L: float = 1.0,
) -> Row:
    """Return the least slope of log w* in log n, times ``power``: -1/2 for that of the bandwidth."""
    best = optimal_window(make_task(kind, d, L), lengths, noise_std)
    return smallest_slope(lengths, best.w, best.error, power)


def slope_in_signal(kind: str, d: int) -> Row:
    """Return the least slope of log w* in log(L / sigma), 1 to 100, with n so that the law says w* = 10^5."""
    signal = np.array([1.0, 10.0, 100.0])
    n = asymptotics.sharp_context(make_task(kind, d), 1e5, 1 / signal[-1])
    best = optimal_window(make_task(kind, d), n, 1 / signal)
    return smallest_slope(signal, best.w, best.error)


def nearest_over_best(kind: str, d: int, n: float, noise_std: float) -> Row:
    """Return the risk of the nearest neighbor over the least one."""
    task = make_task(kind, d)
    least = population_risk(task, optimal_window(task, n, noise_std).w, n, noise_std)
    single = nearest_neighbor_risk(task, n, noise_std)
    return with_error(single.total / least.total, single.error, least.error)


def crowd(kind: str, d: int, lengths: Array) -> Row:
    """Return the growth exponent in n of the number of tokens attended to, between two lengths.

    The number is sigma^2 over the noise term, at the best windows for sigma = 1.
    """
    best = optimal_window(make_task(kind, d), lengths, 1.0)
    risk = population_risk(make_task(kind, d), best.w, lengths, 1.0)
    # the number falls like w^(-d/2)
    (slope,), (error,) = log_slopes(
        lengths, 1 / risk.noise, risk.error + d * best.error
    )
    return {"value": slope, "error": error}


def over_unit(kind: str, d: int, n: int) -> Row:
    """Return w* at (10 L, 10 sigma) over that at L = sigma = 1."""
    return over(*(optimal_window(make_task(kind, d, L), n, L) for L in (10.0, 1.0)))
