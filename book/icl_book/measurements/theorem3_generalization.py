"""Theorem 3: what a window costs that was trained for another Lipschitz constant, or for another class.

- A unit is trained on functions of the Lipschitz constant L, and tested on functions of L' = ratio L. The
  functions of the affine and of the ReLU class are proportional to L. In a given window their bias at L' is
  thus ratio^2 times their bias at L, while the noise term is the same.
- The *window of L* is the best window for functions of L, and the *window of a class* is the best window for
  its functions.
- The *price* of a window is its risk divided by the least risk of all windows, both on the functions tested.
- The *law* is the formula for the best window in long contexts, `icl.risk.asymptotics.sharp_window`.
- The *slope* of a number y in n is (log y2 - log y1) / (log n2 - log n1). The context lengths n1 and n2 are
  those for which the law gives 3e4 and 1e5 (`FAR`) as the window of L.
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
    """Return the exact price of the window of L on functions of L' = ratio L.

    ``tasks`` are names of classes of functions proportional to L. ``limit`` is the price for n to infinity,
    and ``bound`` is the risk divided by `printed_bound`.
    """
    n = np.asarray(lengths, dtype=float)
    parts = []
    for name in tasks:
        for dim in dims:
            task = make_task(name, dim, lipschitz)
            # This is the risk in the window of L on functions of L. It has bias and noise apart, which the
            # result of `optimal_window` does not have.
            risk_at_L = mismatch_risk(task, task, n, noise_std)
            # The least risk divided by L'^2 depends on sigma / L' alone. It thus equals the least risk
            # divided by L^2 for functions of L with noise of sigma / ratio.
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
                    # `risk` and `least` have about the same relative error. The relative error of the price
                    # is twice as large, and `error` is the absolute error of the price.
                    "error": 2 * risk_at_L.error * risk / least,
                    "limit": asymptotics.mismatch_penalty(task, ratio),
                    "bound": risk / printed,
                }
                parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def printed_bound(
    dim: int, ratio: float, n: ArrayLike, lipschitz: float, noise_std: float
) -> Array:
    """Return the bound of Theorem 3 as the talk displays it, with the constant one.

    The theorem says for ratio 1 that the risk is at most a multiple of this number. For every other ratio the
    theorem says that the risk is at least a multiple of this number. For a ratio below 1 the display lacks a
    factor sigma^2, and so does this number.
    """
    n = np.asarray(n, dtype=float)
    # The slides call this number Lambda.
    signal = n * (lipschitz / noise_std) ** 2
    if ratio == 1:
        return np.asarray(lipschitz**2 * signal ** (-1 / (dim + 2)))
    if ratio > 1:
        return np.asarray((ratio * lipschitz) ** 2 * signal ** (-2 / (dim + 2)))
    return np.asarray(signal ** (1 / (dim + 2)) / n)


def compute_far_risk(
    task: Zonal, noise_std: float, tested: Zonal | None = None
) -> tuple[Array, Array, WindowRisk]:
    """Return the two lengths n for which the law gives the windows `FAR`, the best windows, and their risk.

    The risk is on functions of ``tested``, by default of ``task``.
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
    """Return the slope in n of the risk on ReLU functions of L' with the window of L."""
    rows = []
    for dim in dims:
        n, _, risk = compute_far_risk(ReLU(dim, lipschitz), noise_std)
        for ratio in ratios:
            # Bias and noise have at most the relative error `risk.error`, and `total` thus, too.
            total = ratio**2 * risk.bias + risk.noise
            slope, error = log_slope(n, total, risk.error)
            rows.append({"dim": dim, "ratio": ratio, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def growing_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the slope in n of risk / ratio^2 on ReLU functions, where ratio = sqrt(n).

    The risk is that on functions of L' = sqrt(n) L with the window of L.
    """
    rows = []
    for dim in dims:
        n, _, risk = compute_far_risk(ReLU(dim, lipschitz), noise_std)
        # The bias at L', divided by ratio^2, is the bias at L. The noise term, divided by ratio^2 = n, is
        # `risk.noise` / n.
        slope, error = log_slope(n, risk.bias + risk.noise / n, risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def affine_bias_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the slope in n of the bias on affine functions with the window of the ReLU class."""
    rows = []
    for dim in dims:
        # The slope is the same for every L of the affine functions.
        n, _, risk = compute_far_risk(ReLU(dim, lipschitz), noise_std, Affine(dim))
        slope, error = log_slope(n, risk.bias, risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def class_slopes(*, dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the slope in n of the price of the window of the affine class on ReLU functions of the same L.

    For the two lengths the law gives `FAR` as the window of the affine class.
    """
    rows = []
    for dim in dims:
        tested = ReLU(dim, lipschitz)
        n, _, risk = compute_far_risk(Affine(dim, lipschitz), noise_std, tested)
        price = risk.total / optimal_window(tested, n, noise_std).risk
        # The relative error of a ratio of two risks is about twice that of a risk.
        slope, error = log_slope(n, price, 2 * risk.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def bound_worst_bias(dim: int, w: float, n: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the largest bias of a 1-Lipschitz function in the window w.

    The lower bound is the bias of one 1-Lipschitz function, the wave cos(k u.x) / k with k = sqrt(w) / 2. The
    upper bound is E sum_i omega_i |x_i - x_q|^2. By Jensen's inequality the squared error
    (sum_i omega_i f(x_i) - f(x_q))^2 is at most sum_i omega_i (f(x_i) - f(x_q))^2, where every
    |f(x_i) - f(x_q)| is at most |x_i - x_q|.
    """
    # Every k gives a lower bound. With this k the wave changes about as fast as the attention weights.
    wave = Cosine(dim, 0.5 * w**0.5)
    lower = population_risk(wave, w, n, noise_std=0.0).bias / wave.lipschitz**2
    # On the unit sphere |x_i - x_q|^2 is 2 (1 - x_i.x_q).
    (mean_cosine,) = attended_gegenbauer_means(dim, w, n, 1)
    return float(lower), float(2 * (1 - mean_cosine))


def worst_slopes(
    *, dims: Sequence[int], ratios: Sequence[float], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return slopes in n of the largest risk that a function of L' has in the ReLU class's window of L.

    This risk is ``L'^2 b + sigma^2 E sum_i omega_i^2``, where b is the largest bias of a 1-Lipschitz
    function. ``side`` says which bound of `bound_worst_bias` is put in the place of b.
    """
    rows = []
    for dim in dims:
        n, w, risk = compute_far_risk(ReLU(dim, lipschitz), noise_std)
        bounds = [bound_worst_bias(dim, float(w[i]), float(n[i])) for i in range(len(n))]
        lower, upper = np.transpose(bounds)
        for side, bias in (("lower", lower), ("upper", upper)):
            for ratio in ratios:
                # The relative error of the bounds is about as small as `risk.error`.
                total = (ratio * lipschitz) ** 2 * bias + risk.noise
                slope, error = log_slope(n, total, risk.error)
                row = {"side": side, "dim": dim, "ratio": ratio}
                rows.append(row | {"slope": slope, "error": error})
    return pd.DataFrame(rows)


def powers(
    *, dims: Sequence[int], ratios: Sequence[float], n: float, lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return the *exponent* d log risk / d log L' of two risks on ReLU functions, at L' = ratio L.

    In a fixed window the bias is proportional to L'^2, and the noise term does not depend on L'. The exponent
    is thus twice the share of the bias in the risk. This also holds for the least risk, because the
    derivative of the risk in the window is zero at the best window. ``kept`` is the exponent of the risk with
    the window of L, and ``best`` that of the least risk. ``error`` is a bound for the error of ``kept`` -
    ``best`` at the windows that were found.
    """
    rows = []
    for dim in dims:
        task = ReLU(dim, lipschitz)
        for ratio in ratios:
            # The risk on functions of L', divided by ratio^2, is the risk on functions of L with noise of
            # sigma / ratio. The bias has the same share of both.
            relative_noise = noise_std / ratio
            window = optimal_window(task, n, noise_std).w
            kept = population_risk(task, window, n, relative_noise)
            window = optimal_window(task, n, relative_noise).w
            best = population_risk(task, window, n, relative_noise)
            # Bias and noise have at most the relative error e of the risk. The share s of the bias is thus
            # wrong by at most 2 e s (1 - s) <= e / 2, and an exponent by at most e. To be safe, `error`
            # is twice the sum of two such errors.
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
    """Return the largest ratio of the risk of ReLU functions at L' = L to `printed_bound`.

    The context lengths are those with n (L / sigma)^2 >= 10, the range of the claim.
    """
    rows = []
    for dim in dims:
        for signal in signals:
            n = np.array([1, 4, 10, 32, 100, 320, 1000, 10000])
            n = n[n * signal**2 >= 10]
            # Unlike `optimal_window`, this gives the relative error of the least risk.
            risk = mismatch_risk(ReLU(dim), ReLU(dim), n, 1 / signal)
            worst = np.max(risk.total / printed_bound(dim, 1.0, n, 1.0, 1 / signal))
            error = worst * np.max(risk.error)
            rows.append({"dim": dim, "signal": signal, "worst": worst, "error": error})
    return pd.DataFrame(rows)


def compute_price(trained: Zonal, tested: Zonal, n: float, noise_std: float) -> dict[str, float]:
    """Return ``price``, the price of the window of one class on another, and its absolute ``error``."""
    risk = mismatch_risk(trained, tested, n, noise_std)
    ratio = float(risk.total / optimal_window(tested, n, noise_std).risk)
    # The relative error of a ratio of two risks is about twice that of a risk.
    return {"price": ratio, "error": 2 * float(risk.error) * ratio}


def class_prices(
    *, tasks: Sequence[str], dim: int, n: float, noise_std: float, lipschitz: float = 1.0
) -> pd.DataFrame:
    """Return the exact price of the window of each class on each other class of the same L."""
    rows = []
    for trained in tasks:
        for tested in tasks:
            if trained == tested:
                continue
            row = {"trained": trained, "tested": tested, "dim": dim, "n": n}
            home = make_task(trained, dim, lipschitz)
            away = make_task(tested, dim, lipschitz)
            rows.append(row | compute_price(home, away, n, noise_std))
    return pd.DataFrame(rows)


def prices_on_cosines(*, cosine: str, dim: int, n: int, noise_std: float) -> pd.DataFrame:
    """Return the exact prices of the windows of three other classes on cosines of L = 1.

    ``cosine`` is "cosine" or "cosine with phase". ``same`` says whether the L of the window is 1, too.
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
        rows.append(row | compute_price(task, tested, n, noise_std))
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
    """Train units on five classes, and test each unit on the three classes of L = 1.

    Units of one seed share tokens and noise, in training and in the test. Cosines without a phase are even
    functions. A unit that is trained on them may thus find M = -w I, which attends to tokens opposite to the
    query and is as good as w I. If the trace of M is negative, the unit is tested with -M. ``error`` is the
    mean squared error of the test. ``ratio`` is this error divided by that of the unit of the same seed that
    was trained on the class tested.
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
    # The axes of `trained.M` are units, d and d.
    sign = np.where(np.trace(trained.M, axis1=1, axis2=2) < 0, -1, 1)
    turned = replace(
        trained,
        parameters=tuple({"M": s * M} for s, M in zip(sign, trained.M, strict=True)),
    )

    parts = []
    # The first three have L = 1.
    for tested in list(tasks)[:3]:
        # With `seed=None` each unit is tested on contexts of its own seed. The last entry of `history` has
        # the errors at the end of the training.
        history = evaluation_error(
            turned, tasks[tested], noise_std, context_length, contexts, seed=None
        )
        table = units.assign(tested=tested, error=np.asarray(history[-1]))
        own_error = table[table.trained == tested].set_index("seed").error
        table["ratio"] = table.error / table.seed.map(own_error)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)
