"""Theorem 3: what a window costs that was trained for another Lipschitz constant, or for another class.

A unit is trained at L and tested at L' = ratio L. Where functions are proportional to L, as in the affine and
the ReLU class, its bias at L' is ratio^2 times that at L. The window of L, or of a class, is its best one.
Exponents in n are local slopes, of log in log n, between the two lengths at which the law says that the
window of L is 3e4 and 1e5 (`FAR`). The errors in tables are absolute.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray

from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.risk.numerics.integrals import attended_gegenbauer_means
from icl.risk.numerics.result import WindowRisk
from icl.tasks import Affine, Cosine, ReLU, Zonal, make_task
from icl_book.measurements import FAR, log_slope

Array = NDArray[np.float64]


def prices(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    ratios: Sequence[float],
    lengths: ArrayLike,
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the exact price of the window of L where functions have L' = ratio L.

    ``tasks`` are classes of functions proportional to L.

    Returns:
        ``task``, ``dim``, ``ratio``, ``n``, the ``risk`` at L' with the window of L, the ``price``, which is
        this risk over the least one, its ``error``, its ``limit`` for n to infinity, and ``bound``, the risk
        over `printed_bound`.
    """
    n = np.asarray(lengths, dtype=float)
    parts = []
    for name in tasks:
        for dim in dims:
            task = make_task(name, dim, lipschitz)
            risk_at_L = mismatch_risk(task, task, n, noise_std)
            # Windows depend on sigma / L alone, and at L' = ratio L the relative noise is noise_std / ratio.
            relative_noise = noise_std / np.asarray(ratios)[:, None]
            least_risks = optimal_window(task, n, relative_noise).risk
            for ratio, least_at_L in zip(ratios, least_risks, strict=True):
                risk = ratio**2 * risk_at_L.bias + risk_at_L.noise
                least = ratio**2 * least_at_L
                printed = printed_bound(dim, ratio, n, lipschitz, noise_std)
                columns = {
                    "task": name,
                    "dim": dim,
                    "ratio": ratio,
                    "n": n,
                    "risk": risk,
                    "price": risk / least,
                    "error": 2 * risk_at_L.error * risk / least,
                    "limit": asymptotics.mismatch_penalty(task, ratio),
                    "bound": risk / printed,
                }
                parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def printed_bound(
    dim: int, ratio: float, n: ArrayLike, lipschitz: float, noise_std: float
) -> Array:
    """Return the right side of Theorem 3 as the talk displays it, with constant one.

    By the theorem a multiple of it bounds the risk from above for ratio 1, and from below for all others.
    """
    n = np.asarray(n, dtype=float)
    # The slides call this number Lambda.
    signal = n * (lipschitz / noise_std) ** 2
    if ratio == 1:
        return np.asarray(lipschitz**2 * signal ** (-1 / (dim + 2)))
    if ratio > 1:
        return np.asarray((ratio * lipschitz) ** 2 * signal ** (-2 / (dim + 2)))
    return np.asarray(signal ** (1 / (dim + 2)) / n)


def far_risk(
    task: Zonal, noise_std: float, tested: Zonal | None = None
) -> tuple[Array, Array, WindowRisk]:
    """Return both lengths n at which the law says `FAR` for a class, its best windows, and their risk.

    The risk is that of these windows on the class itself, or on the class ``tested``, if it is given.
    """
    n = asymptotics.sharp_context(task, FAR, noise_std)
    w = optimal_window(task, n, noise_std).w
    return n, w, population_risk(tested or task, w, n, noise_std)


def risk_slopes(
    *,
    dims: Sequence[int],
    ratios: Sequence[float],
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the local slope in n of the risk on ReLU functions of L' with the window of L.

    Returns:
        ``dim``, ``ratio``, ``slope`` and ``error``.
    """
    rows = []
    for dim in dims:
        n, _, risk = far_risk(ReLU(dim, lipschitz), noise_std)
        for ratio in ratios:
            total = ratio**2 * risk.bias + risk.noise
            slope, error = log_slope(n, total, risk.error)
            rows.append({"dim": dim, "ratio": ratio, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def growing_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the local slope in n of the risk over L'^2 where L' / L is the root of n, ReLU functions.

    Returns:
        ``dim``, ``slope`` and ``error``.
    """
    rows = []
    for dim in dims:
        n, _, risk = far_risk(ReLU(dim, lipschitz), noise_std)
        # The bias is proportional to L'^2 = n L^2, and the noise does not depend on it.
        slope, error = log_slope(n, risk.bias + risk.noise / n, risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def affine_bias_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the local slope in n of the bias of affine functions in the window of ReLU functions.

    Returns:
        ``dim``, ``slope`` and ``error``.
    """
    rows = []
    for dim in dims:
        # The slope is the same for each L of the functions that are tested.
        n, _, risk = far_risk(ReLU(dim, lipschitz), noise_std, Affine(dim))
        slope, error = log_slope(n, risk.bias, risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def class_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the local slope in n of the price of the affine window on ReLU functions of the same L.

    The lengths are those at which the law says `FAR` for the affine window.

    Returns:
        ``dim``, ``slope`` and ``error``.
    """
    rows = []
    for dim in dims:
        tested = ReLU(dim, lipschitz)
        n, _, risk = far_risk(Affine(dim, lipschitz), noise_std, tested)
        price = risk.total / optimal_window(tested, n, noise_std).risk
        slope, error = log_slope(n, price, 2 * risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def worst_bias(dim: int, w: float, n: float) -> tuple[float, float]:
    """Return two numbers between which the largest bias of a 1-Lipschitz function in the window w lies.

    The lower one is the bias of one of them, the wave cos(k u.x) / k with k = sqrt(w) / 2. The upper one is
    E sum omega_i |x_i - x_q|^2, a bound for all of them: by Jensen's inequality
    (sum omega_i f(x_i) - f(x_q))^2 is at most sum omega_i (f(x_i) - f(x_q))^2.
    """
    wave = Cosine(dim, 0.5 * w**0.5)
    lower = population_risk(wave, w, n, noise_std=0.0).bias / wave.lipschitz**2
    # On the unit sphere |x_i - x_q|^2 is 2 (1 - x_i.x_q).
    (mean_cosine,) = attended_gegenbauer_means(dim, w, n, 1)
    return float(lower), float(2 * (1 - mean_cosine))


def worst_slopes(
    *, dims: Sequence[int], ratios: Sequence[float], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return local slopes in n of ``L'^2 b + sigma^2 E sum_i omega_i^2`` in the window of L, ReLU class.

    With b the largest bias of a 1-Lipschitz function this is the largest risk of a function with the constant
    ``L' = ratio L``. `worst_bias` has two numbers between which b lies, so there are two slopes.

    Returns:
        ``side`` ("lower" or "upper"), ``dim``, ``ratio``, ``slope`` and ``error``.
    """
    rows = []
    for dim in dims:
        n, w, risk = far_risk(ReLU(dim, lipschitz), noise_std)
        settings = zip(w.tolist(), n.tolist(), strict=True)
        # Each has a value at both lengths between which the slope is taken.
        lower, upper = np.transpose([worst_bias(dim, *setting) for setting in settings])
        for side, bias in (("lower", lower), ("upper", upper)):
            for ratio in ratios:
                total = (ratio * lipschitz) ** 2 * bias + risk.noise
                slope, error = log_slope(n, total, risk.error)
                row = {"side": side, "dim": dim, "ratio": ratio}
                rows.append(row | {"slope": slope, "error": error})
    return pd.DataFrame(rows)


def powers(
    *, dims: Sequence[int], ratios: Sequence[float], n: float, lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return exact exponents in L' of two risks on ReLU functions: d log risk / d log L' at L' = ratio L.

    The bias in one window is proportional to L'^2, and the noise does not depend on L'. So the exponent in
    one window is twice the share of the bias in the risk. It is so for the least risk, too, because its
    derivative in the window vanishes.

    Returns:
        ``dim``, ``ratio``, the exponent ``kept`` of the risk with the window of L, the exponent ``best`` of
        the least risk, and ``error``, which bounds that of their difference.
    """
    rows = []
    for dim in dims:
        task = ReLU(dim, lipschitz)
        for ratio in ratios:
            # The risk over L'^2 depends on sigma / L' alone.
            relative_noise = noise_std / ratio
            window = optimal_window(task, n, noise_std).w
            kept = population_risk(task, window, n, relative_noise)
            window = optimal_window(task, n, relative_noise).w
            best = population_risk(task, window, n, relative_noise)
            # Bias and noise have the relative error e of their risk, so that the share s of the bias is wrong
            # by at most 2 e s (1 - s) <= e / 2, and an exponent by at most e.
            row = {
                "dim": dim,
                "ratio": ratio,
                "kept": 2 * kept.bias / kept.total,
                "best": 2 * best.bias / best.total,
                "error": 4 * max(kept.error, best.error),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def over_printed(*, dims: Sequence[int], signals: Sequence[float]) -> pd.DataFrame:
    """Return the risk at L' = L over the displayed upper bound, at the worst n with n (L / sigma)^2 >= 10.

    The functions are of the ReLU class, and n is one of eight lengths from 1 to 10,000.

    Returns:
        ``dim``, ``signal``, which is L / sigma, ``worst`` and its ``error``.
    """
    rows = []
    for dim in dims:
        for signal in signals:
            n = np.array([1, 4, 10, 32, 100, 320, 1000, 10000])
            n = n[n * signal**2 >= 10]
            risk = mismatch_risk(ReLU(dim), ReLU(dim), n, 1 / signal)
            worst = np.max(risk.total / printed_bound(dim, 1.0, n, 1.0, 1 / signal))
            error = worst * np.max(risk.error)
            rows.append({"dim": dim, "signal": signal, "worst": worst, "error": error})
    return pd.DataFrame(rows)


def price(trained: Zonal, tested: Zonal, n: float, noise_std: float) -> dict[str, float]:
    """Return what the window of one class costs on another, ``price``, and its ``error``."""
    risk = mismatch_risk(trained, tested, n, noise_std)
    ratio = float(risk.total / optimal_window(tested, n, noise_std).risk)
    return {"price": ratio, "error": 2 * float(risk.error) * ratio}


def class_prices(
    *, tasks: Sequence[str], dim: int, n: float, noise_std: float, lipschitz: float = 1.0
) -> pd.DataFrame:
    """Return the exact price on each class of the window of each other class of the same L.

    Returns:
        ``trained``, ``tested``, ``dim``, ``n``, ``price`` and its ``error``.
    """
    rows = []
    for trained in tasks:
        for tested in tasks:
            if trained == tested:
                continue
            row = {"trained": trained, "tested": tested, "dim": dim, "n": n}
            home = make_task(trained, dim, lipschitz)
            away = make_task(tested, dim, lipschitz)
            rows.append(row | price(home, away, n, noise_std))
    return pd.DataFrame(rows)


def prices_on_cosines(*, cosine: str, dim: int, n: int, noise_std: float) -> pd.DataFrame:
    """Return the exact price on cosines of L = 1 of the windows of three other classes.

    Args:
        cosine: ``"cosine"`` or ``"cosine with phase"``.
        dim: The dimension d.
        n: The context length.
        noise_std: Standard deviation of the label noise.

    Returns:
        ``trained``, ``same``, which says whether L is the same, ``price`` and its ``error``.
    """
    tested = make_task(cosine, dim)
    windows = {
        "affine, L = 1": Affine(dim),
        "cosine, L = 0.1": make_task(cosine, dim, 0.1),
        "cosine, L = 10": make_task(cosine, dim, 10.0),
    }
    rows = []
    for name, task in windows.items():
        row = {"trained": name, "same": name.endswith("= 1")}
        rows.append(row | price(task, tested, n, noise_std))
    return pd.DataFrame(rows)


def trained_units(
    *,
    dim: int,
    context_length: int,
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
    contexts: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train units on affine, ReLU and cosine functions and test each on those of L = 1.

    Cosines without a phase are even, so that M = -w I, which looks at the opposite end of the sphere, is as
    good as M = w I: a unit with a negative trace of M is turned around before it is tested. Units of one seed
    share tokens and noise, in training and in the test, units of different seeds share neither.

    Returns:
        One row for each class tested, unit and seed: ``tested``, ``trained``, ``seed``, the mean squared
        ``error`` of the test, and its ``ratio`` to that of the unit trained on the class tested.
    """
    tasks: dict[str, Zonal] = {
        "affine, L = 1": Affine(dim),
        "ReLU, L = 1": ReLU(dim),
        "cosine, L = 1": Cosine(dim, 1.0),
        "cosine, L = 0.1": Cosine(dim, 0.1),
        "cosine, L = 10": Cosine(dim, 10.0),
    }
    rows = [(name, seed) for seed in range(seeds) for name in tasks]
    units = pd.DataFrame(rows, columns=["trained", "seed"])
    trained = pretrain(
        [UnitConfig(tasks[name], noise_std, context_length, seed) for name, seed in rows],
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        device=device,
        shared_tokens=True,
    )
    sign = np.where(np.trace(trained.M, axis1=1, axis2=2) < 0, -1, 1)
    turned = replace(
        trained,
        parameters=tuple({"M": s * M} for s, M in zip(sign, trained.M, strict=True)),
    )

    parts = []
    # The first three have L = 1.
    for tested in list(tasks)[:3]:
        history = evaluation_error(
            turned, tasks[tested], noise_std, context_length, contexts, seed=None
        )
        table = units.assign(tested=tested, error=np.asarray(history[-1]))
        own_error = table[table.trained == tested].set_index("seed").error
        table["ratio"] = table.error / table.seed.map(own_error)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)
