"""Measurements for Theorem 2: the exact window over many decades, the proof sketch, and trained units.

Exponents at the end of a sweep are a `sweeps.limit`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from icl.covariates import cap_quantile
from icl.pretrain import train_grid
from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, ReLU, Sign, Zonal, make_task
from icl_book.measurements.sweeps import Route, law_constant, limit, log_slopes
from icl_book.measurements.tables import Array, Row, Training, grid

#: Of `icl.tasks.CLASSES`, those that cards judge.
KINDS = ("affine", "ReLU")
#: Windows so narrow that the laws for large w hold to 1 %, and those at which slower limits are read.
FAR, NEAR = (2.5e4, 5e4, 1e5), (1e3, 1e4, 1e5)
#: The last windows of a sweep over w.
LAST = np.logspace(0, 5, 26)[-3:]


def exact_window(
    kind: str, d: int, lengths: Array, lipschitz: float, noise_std: float
) -> Row:
    """Return ``n``, the exact ``w``, its relative ``error``, its ``law``, and ``ratio``, w over the law."""
    task = make_task(kind, d, lipschitz)
    best, law = (
        optimal_window(task, lengths, noise_std),
        asymptotics.sharp_window(task, lengths, noise_std),
    )
    return {
        "n": lengths,
        "w": best.w,
        "error": best.error,
        "law": law,
        "ratio": best.w / law,
    }


def local_slopes(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of log w in log n between neighbors, at the geometric mean of their lengths."""

    def one(group: pd.DataFrame) -> pd.DataFrame:
        slope, _ = log_slopes(group.n, group.w, group.error)
        return pd.DataFrame(
            {"n": np.exp(np.log(group.n).rolling(2).mean()[1:]), "slope": slope}
        )

    return (
        windows.groupby(["kind", "d"], sort=False).apply(one).reset_index(["kind", "d"])
    )


def slope_in_length(dim: int, lipschitz: float, noise_std: float) -> Row:
    """Return the exponent of w* in n for the ReLU class, where the law says that w* is `FAR`."""
    task = ReLU(dim, lipschitz)
    n = asymptotics.sharp_context(task, FAR, noise_std)
    return limit(
        lambda route: local_slope(n, route.window(task, n, noise_std)), 2 / (dim + 2)
    ) | {"power": 1}


def slope_in_signal(dim: int, lipschitz: float, noise_std: float) -> Row:
    """Return the exponent of w* in L / sigma for the ReLU class, at the largest of these n."""
    signal = np.array([0.25, 0.5, 1.0]) * lipschitz / noise_std
    n = asymptotics.sharp_context(ReLU(dim, lipschitz), FAR[-1], noise_std)

    def slope(route: Route) -> tuple[Any, Any]:
        return local_slope(signal, route.window(ReLU(dim), n, 1 / signal))

    return limit(slope, 4 / (dim + 2)) | {"power": 2}


def sufficient_lengths(d: int) -> Row:
    """Return how the context from which w* >= (n L^2 / sigma^2)^(1/d) grows with L / sigma, ReLU class.

    Returns:
        ``step`` (first, second), ``value``, the growth exponent between the first three powers of ten of
        L / sigma at which that context has 10^4 tokens or more, and its ``error``.
    """
    found = (_sufficient_length(d, 10.0**power) for power in range(2, 12))
    long = (pair for pair in found if pair[0] >= np.log(1e4))
    log_n, error = np.transpose([next(long) for _ in range(3)])
    value, error = np.diff(log_n) / np.log(10), (error[1:] + error[:-1]) / np.log(10)
    return {"step": np.array(["first", "second"]), "value": value, "error": error}


def _sufficient_length(d: int, ratio: float) -> tuple[float, float]:
    """Return log n from which w* exceeds Lambda^(1/d), and its error."""

    def excess(log_n: float) -> tuple[float, float]:
        n = np.round(np.exp(log_n))
        best = optimal_window(ReLU(d), n, 1 / ratio)
        return float(np.log(best.w) - np.log(n * ratio**2) / d), float(best.error)

    ends = np.log([max(2, ratio**2 / 1e7), ratio**2])
    root = brentq(lambda log_n: excess(log_n)[0], *ends, xtol=1e-4)
    left, error = excess(root)
    return root, d * (
        abs(left) + error
    )  # w* ~ n^(2/d), so the excess grows like n^(1/d)


def nearest_token(dim: int, lengths: Array) -> Row:
    """Return the exponent in n of a window that follows the nearest token, between the last two lengths."""
    slope, _ = log_slopes(
        lengths[-2:], [1 / cap_quantile(dim, 1 / n) for n in lengths[-2:]], np.zeros(2)
    )
    return {"value": slope, "power": 1}


def sharp_constant(kind: str, d: int, lipschitz: float, noise_std: float) -> Row:
    """Return the limit of w* over its law, extrapolated linearly in the bandwidth."""
    task = Sign(d, lipschitz) if kind == "sign" else make_task(kind, d, lipschitz)
    return law_constant(task, NEAR, noise_std, power=0.5)


def lawful(d: int, lipschitz: float) -> dict[str, Zonal]:
    """Return a class of order 4, another one, one of order 3 and one of order 1, by name."""
    return {
        "affine": Affine(d, lipschitz),
        "waves, L = 4": Cosine(d, 4.0),
        "ReLU": ReLU(d, lipschitz),
        "sign": Sign(d, lipschitz),
    }


def jump_slope(dim: int, lipschitz: float, noise_std: float) -> Row:
    """Return the exponent of w* in n for functions that jump, where the law says that w* is `FAR`."""
    task = Sign(dim, lipschitz)
    n = asymptotics.sharp_context(task, FAR, noise_std)
    return limit(
        lambda route: local_slope(n, route.window(task, n, noise_std)), 2 / dim
    )


def trained_windows(
    d: int, settings: Sequence[tuple[str, float, int]], noise_std: float, how: Training
) -> pd.DataFrame:
    """Train units at settings (kind, L, n) and compare the mean diagonal of M with the exact window.

    Returns:
        One row for each setting and seed: ``kind``, ``L``, ``n``, ``seed``, ``trained``, ``w`` and ``ratio``.
    """
    tasks: list[Any] = [make_task(kind, d, L) for kind, L, _ in settings]
    lengths = [n for _, _, n in settings]
    units = train_grid(tasks, noise_std, lengths, *how)
    exact = [
        optimal_window(task, n, noise_std).w
        for task, n in zip(tasks, lengths, strict=True)
    ]
    frame = pd.DataFrame(settings, columns=["kind", "L", "n"]).merge(
        grid(seed=range(how.seeds)), how="cross"
    )
    return frame.assign(
        trained=units.windows.ravel(), ratio=(units.windows / np.c_[exact]).ravel()
    )


def sketch_ends(dim: int) -> Row:
    """Return the exponents in n of the range that the sketch leaves for w: ``side``, ``end``, ``value``.

    With L = sigma = 1 each term is at most m = min_w (1 / w + w^(d/2) / n): from 1 / w^2 <= m follows the
    lower end, from w^(d/2) / n <= m the upper one.
    """
    n, power = np.array([1e8, 1e10]), dim / 2
    w = (n / power) ** (1 / (power + 1))
    least = 1 / w + w**power / n
    slope, _ = log_slopes(
        n, np.stack([least**-0.5, (least * n) ** (2 / dim)]), np.zeros(2)
    )
    return {
        "side": np.array(["lower", "upper"]),
        "end": np.array([0, 1]),
        "value": slope[:, 0],
    }


def _long(dim: int) -> Array:
    """Return a context with 10^12 tokens in the narrowest window of `LAST`."""
    return np.round(1e12 * np.asarray(asymptotics.effective_fraction(dim, LAST[-1])))


def noise_exponent(dim: int, more: int = 0) -> Row:
    """Return the exponent in w of the noise, on the unit sphere of R^(dim + more)."""
    task = Affine(dim + more)

    def slope(route: Route) -> tuple[Any, Any]:
        return local_slope(LAST, route.terms(task, LAST, _long(task.dim), 1.0)[1])

    return limit(slope, (task.dim - 1) / 2)


def bias_exponent(kind: str, d: int) -> Row:
    """Return the exponent in w of the bias: -2 (affine), -3/2 (ReLU)."""
    task = make_task(kind, d)
    truth = -asymptotics.window_law(task).order / 2
    return limit(
        lambda route: local_slope(LAST, route.terms(task, LAST, _long(d), 1.0)[0]),
        truth,
    )


def bias_growth(kind: str, d: int, noise_std: float) -> Row:
    """Return the growth in n of the largest bias over its printed upper bound.

    The largest ratio of bias / L^2 to 1 / w + 1 / n is taken over windows from sqrt(w*) to w*, at the lengths
    at which the law says that w* is 10^3, 10^4 and 10^5.
    """
    task = make_task(kind, d)
    n = asymptotics.sharp_context(task, NEAR, noise_std)

    def worst(route: Route) -> tuple[Any, Any]:
        top = route.window(task, n, noise_std)
        w = np.geomspace(top**0.5, top, 12)
        return local_slope(
            n, np.max(route.terms(task, w, n, 0.0)[0] / (1 / w + 1 / n), axis=0)
        )

    # the bias over its bound is w^(1 - a) for a bias of w^-a, largest at sqrt(w*)
    law = asymptotics.window_law(task)
    return limit(worst, (1 - law.order / 2) / 2 * law.exponent)


def narrow_bias_growth(d: int) -> Row:
    """Return the same growth at w = n, where one token has all the weight; affine class."""
    n = np.array([1e6, 1e8, 1e10])
    risks = (
        population_risk(Affine(d), n, n, 0.0),
        nearest_neighbor_risk(Affine(d), n, 0.0),
    )
    return limit(lambda risk: local_slope(n, risk.bias * n / 2), 1 - 2 / (d - 1), risks)


def moving_slopes(functions: str, d: int, signal: float) -> Row:
    """Return local slopes of log w* in log n, and the laws, at ``signal`` = L / sigma.

    ``n``, ``slope`` (between n - 10 % and n + 10 %), ``sharp``, ``least`` and ``most``.
    """
    task, lengths = make_task(functions, d), np.round(10 ** np.arange(1, 10.1, 0.25))
    pair = np.round(np.outer([0.9, 1.1], lengths))
    slope = np.diff(np.log(optimal_window(task, pair, 1 / signal).w), axis=0) / np.diff(
        np.log(pair), axis=0
    )
    least, most = asymptotics.printed_exponents(d)
    laws = {
        "sharp": asymptotics.window_law(task).exponent,
        "least": least,
        "most": most,
    }
    return {"n": lengths, "slope": slope[0], **laws}
