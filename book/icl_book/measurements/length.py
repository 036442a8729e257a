"""The length of the context: the price of a rule for the window that is set at one length, used at another.

A rule says how the window parameter grows with the context length n. Its price is the exact risk with the
rule's window over the least risk. A rule is carried from one length, where its window is the best one
(`carried`), or fitted to the exact risk at several lengths (`fitted`), or there is no rule and the labels of
the context decide (`from_context`). What trained heads do is read from a table (`of_two_models`).
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import gammaln

from icl import best_window
from icl.covariates import uniform_sphere
from icl.risk import asymptotics, gaussian_risk, gaussian_window, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, Linear, ReLU, Zonal, make_task
from icl_book.measurements import log_slope
from icl_book.provenance import ROOT

Array = NDArray[np.float64]
#: The growth of w with the context length n in d dimensions, up to a factor.
Growth = Callable[[Array, int], Array]
#: The window at the length n, by the parameters of a rule.
Fit = Callable[[Array, Array], Array]

#: Rules without a free number but the window at the first length.
RULES: Mapping[str, Growth] = {
    "window kept": lambda n, dim: np.ones_like(n),
    "log n": lambda n, dim: np.log(n),
    "(log n)^2": lambda n, dim: np.log(n) ** 2,
    "n^(2/(d+3))": lambda n, dim: n ** (2 / (dim + 3)),
    "n^(2/(d+2))": lambda n, dim: n ** (2 / (dim + 2)),
    "n^(2/(d-1))": lambda n, dim: n ** (2 / (dim - 1)),
}
#: At this length, about the middle of the fitted ones, the second number of a rule has no effect.
MIDDLE = 63.0
#: Rules of one or two free numbers.
FITS: Mapping[str, Fit] = {
    "window kept": lambda p, n: math.exp(p[0]) + 0 * n,
    "s log n": lambda p, n: math.exp(p[0]) * np.log(n) / math.log(MIDDLE),
    "s (log n)^2": lambda p, n: math.exp(p[0]) * (np.log(n) / math.log(MIDDLE)) ** 2,
    "a + b log n": lambda p, n: p[0] + p[1] * np.log(n / MIDDLE),
    "s n^alpha": lambda p, n: np.exp(p[0] + p[1] * np.log(n / MIDDLE)),
}
#: Fits are searched between these windows, with this many exact values.
_WINDOWS = (1e-3, 1e3, 56)


def carried(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    noise_stds: Sequence[float],
    starts: Sequence[int],
    ratios: Sequence[int],
    rules: Sequence[str],
) -> pd.DataFrame:
    """Return the price at N of the best window at n_0, carried from n_0 to N by each rule.

    Returns:
        Columns ``rule``, ``ratio``, N over n_0; ``task``, ``dim``, ``noise_std``, ``n0``; ``price``, and its
        numerical ``error``.
    """
    n0 = np.array(starts, dtype=float)[:, None, None]
    growth = np.array(ratios, dtype=float)[:, None]
    parts = []
    for name, dim in product(tasks, dims):
        task, n = make_task(name, dim), n0 * growth
        first = optimal_window(task, n0, noise_stds).w
        best = optimal_window(task, n, noise_stds)
        for rule in rules:
            w = first * RULES[rule](n, dim) / RULES[rule](n0, dim)
            risk = population_risk(task, w, n, noise_stds)
            price = risk.total / best.risk
            start, ratio, noise_std = np.broadcast_arrays(n0, growth, np.array(noise_stds))
            columns = {
                "rule": rule,
                "ratio": ratio.ravel().astype(int),
                "task": name,
                "dim": dim,
                "noise_std": noise_std.ravel(),
                "n0": start.ravel().astype(int),
                "price": price.ravel(),
                "error": (2 * risk.error * price).ravel(),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def spread(prices: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the median and the largest price over settings.

    Returns:
        Columns ``by``; ``of``, "median" or "largest"; ``price`` and ``error``.
    """
    rows = []
    for setting, group in prices.groupby(list(by), sort=False):
        error = group.error.max()
        for of, value in (("median", group.price.median()), ("largest", group.price.max())):
            row = dict(zip(by, setting, strict=True)) | {"of": of}
            rows.append(row | {"price": float(value), "error": float(error)})
    return pd.DataFrame(rows)


def splines(task: Zonal, lengths: ArrayLike) -> tuple[CubicSpline, CubicSpline]:
    """Return splines in log w of the logarithms of bias, and of noise for a noise of variance one.

    They are exact at 56 windows, and off by less than 1e-4 between them. Their values have the shape of the
    windows, followed by (lengths,).
    """
    windows = np.geomspace(*_WINDOWS)
    n = np.atleast_1d(np.asarray(lengths, dtype=float))
    risk = population_risk(task, windows[:, None], n, 1.0)
    bias, noise = (CubicSpline(np.log(windows), np.log(part)) for part in (risk.bias, risk.noise))
    return bias, noise


def fitted(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    noise_stds: Sequence[float],
    lengths: Sequence[int],
    n_values: Sequence[int],
) -> pd.DataFrame:
    """Return the price of rules whose numbers have the least mean exact log risk over several lengths.

    Returns:
        Columns ``rule``, ``n``, ``task``, ``dim``, ``noise_std``; ``price`` and its numerical ``error``;
        ``exponent``, alpha, of the rule s n^alpha only; ``law``, the exponent of the law.
    """
    n, far = np.array(lengths, dtype=float), np.array(n_values, dtype=float)
    parts = []
    for name, dim in product(tasks, dims):
        task = make_task(name, dim)
        parts_of_risk = splines(task, n)
        for noise_std in noise_stds:
            best = optimal_window(task, np.append(n, far), noise_std)
            near = np.maximum(best.w[: n.size], _WINDOWS[0])
            for rule, window in FITS.items():
                p = _fit_rule(rule, parts_of_risk, noise_std, n, near)
                risk = population_risk(task, window(p, far), far, noise_std)
                price = risk.total / best.risk[n.size :]
                columns = {
                    "rule": rule,
                    "n": far.astype(int),
                    "task": name,
                    "dim": dim,
                    "noise_std": noise_std,
                    "price": price,
                    "error": 2 * risk.error * price,
                    "exponent": p[1] if rule == "s n^alpha" else math.nan,
                    "law": asymptotics.window_law(task).exponent,
                }
                parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _fit_rule(
    rule: str,
    parts: tuple[CubicSpline, CubicSpline],
    noise_std: float,
    n: Array,
    near: Array,
) -> Array:
    """Return the numbers of a rule with the least mean log risk; ``near`` are the best windows."""
    steps = np.log(n / MIDDLE)
    linear = np.polynomial.polynomial.polyfit(steps, near, 1)
    power = np.polynomial.polynomial.polyfit(steps, np.log(near), 1)
    start = {"a + b log n": linear, "s n^alpha": power}.get(rule, power[:1])

    def mean_log_risk(p: Array) -> float:
        w = FITS[rule](p, n)
        if np.any(w <= 0):
            return 1e3
        log_w = np.log(np.clip(w, *_WINDOWS[:2]))
        bias, noise = (np.exp(np.diagonal(part(log_w))) for part in parts)
        return float(np.mean(np.log(bias + noise_std**2 * noise)))

    options = {"xatol": 1e-6, "fatol": 1e-10}
    return np.asarray(minimize(mean_log_risk, start, method="Nelder-Mead", options=options).x)


def mistakes(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    factors: Sequence[float],
    n: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the price of windows for a wrong L, a wrong sigma and a wrong n, each wrong by the same factor.

    The factor is that of ``n L^2 / sigma^2``: L is wrong by its root, and so is one over sigma.

    Returns:
        Columns ``mistake``, "slope", "noise" or "length"; ``task``, ``dim``, ``order``, ``factor``;
        ``ratio``, the window over the best one; ``price`` and its numerical ``error``.
    """
    rows = []
    for name, dim in product(tasks, dims):
        task = make_task(name, dim)
        best = optimal_window(task, n, noise_std)
        order = asymptotics.window_law(task).order
        for factor in factors:
            root = factor**0.5
            wrong = {
                "slope": optimal_window(make_task(name, dim, root), n, noise_std).w,
                "noise": optimal_window(task, n, noise_std / root).w,
                "length": optimal_window(task, n * factor, noise_std).w,
            }
            for mistake, w in wrong.items():
                risk = population_risk(task, w, n, noise_std)
                price = float(risk.total / best.risk)
                row = {"mistake": mistake, "task": name, "dim": dim, "order": order}
                row |= {"factor": factor, "ratio": float(w / best.w), "price": price}
                rows.append(row | {"error": 2 * float(risk.error) * price})
    return pd.DataFrame(rows)


def rates(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    n0: int,
    n_values: tuple[float, float],
    noise_std: float,
) -> pd.DataFrame:
    """Return the power of n in the price of four rules that are carried from n_0.

    For log n it is that of the price times ``(log n)^(order / 2)``. The law has the class's own exponent.

    Returns:
        Columns ``rule``, "kept", "log", "critical" or "law"; ``task``, ``dim``, ``order``; ``slope`` and its
        numerical ``error``.
    """
    n = np.array(n_values, dtype=float)
    rows = []
    for name, dim in product(tasks, dims):
        task = make_task(name, dim)
        law = asymptotics.window_law(task)
        first = optimal_window(task, n0, noise_std).w
        best = optimal_window(task, n, noise_std)
        powers = {"kept": 0.0, "critical": 2 / (dim - 1), "law": law.exponent}
        growth = {rule: (n / n0) ** power for rule, power in powers.items()}
        growth["log"] = np.log(n) / math.log(n0)
        for rule, factor in growth.items():
            risk = population_risk(task, first * factor, n, noise_std)
            price = risk.total / best.risk
            if rule == "log":
                price = price * np.log(n) ** (law.order / 2)
            slope, error = log_slope(n, price, 2 * risk.error)
            row = {"rule": rule, "task": name, "dim": dim, "order": law.order}
            rows.append(row | {"slope": slope, "error": error})
    return pd.DataFrame(rows)


def gaussian_prices(
    *, settings: Sequence[tuple[int, int]], n0: int, noise_std: float
) -> pd.DataFrame:
    """Return the price on Gaussian tokens of log n, carried from n_0, beside that of the window kept.

    Args:
        settings: Pairs of a dimension and a length.
        n0: The first length.
        noise_std: Standard deviation of the label noise; functions are linear with slope one.

    Returns:
        Columns ``dim``, ``n``; ``price`` of log n and its numerical ``error``; ``kept``, the other price.
    """
    rows = []
    for dim, n in settings:
        best = gaussian_window(dim, [n0, n], noise_std)
        w = best.w[0] * np.array([1.0, math.log(n) / math.log(n0)])
        risk = gaussian_risk(dim, w, n, noise_std)
        kept, price = risk.total / best.risk[1]
        row = {"dim": dim, "n": n, "price": float(price), "kept": float(kept)}
        rows.append(row | {"error": 2 * float(risk.error[1]) * float(price)})
    return pd.DataFrame(rows)


def normalized_risk(dim: int, n: ArrayLike, noise_std: float) -> tuple[Array, float]:
    """Return the least risk on Gaussian tokens of a unit that normalizes tokens and query, and its floor.

    Labels are linear in the tokens as they were, with slope one. Lengths do not depend on directions. With
    their mean rho and variance v, ``y = rho u.beta + delta u.beta + eps`` for a direction u, and delta is
    noise of variance ``v / d`` in a label. So the risk is that of linear functions of slope rho on the
    sphere, with more noise, plus ``v / d`` for the query's own length, which no window sees.

    Returns:
        The risk for each n, and the floor ``v / d``.
    """
    rho = math.sqrt(2) * math.exp(gammaln((dim + 1) / 2) - gammaln(dim / 2))
    floor = (dim - rho**2) / dim
    best = optimal_window(Linear(dim, rho), n, math.hypot(noise_std, math.sqrt(floor)))
    return best.risk + floor, floor


def by_parts(dim: int, n: int) -> Callable[[ArrayLike], Array]:
    """Return the risk of single functions by parts, as a function of log w.

    A function ``a t + b |t|`` of t = q.x, averaged over q, has the risk that belongs to the squares a^2, b^2
    and sigma^2. An affine function of L = 1 has a mean a^2 of 1/3 and no b, a ReLU function 1/6 of each.

    Returns:
        A function of log w that returns the bias for each unit of a^2 and of b^2, and the noise of variance
        one, (3, ...).
    """
    (linear, noise), (relu, _) = (splines(make(dim), n) for make in (Affine, ReLU))

    def parts(log_w: ArrayLike) -> Array:
        of_line, of_both, noisy = (np.exp(one(log_w)[..., 0]) for one in (linear, relu, noise))
        return np.stack([3 * of_line, 6 * of_both - 3 * of_line, noisy])

    return parts


def from_context(
    *,
    tasks: Sequence[str],
    dim: int,
    n: int,
    n0: int,
    noise_stds: Sequence[float],
    contexts: int,
    permuted: bool = False,
) -> pd.DataFrame:
    """Return the price of the window that the labels of each sampled context find, `icl.best_window`.

    The context is sampled, the price of its window is exact: for the class, and for its function alone
    (`by_parts`).

    Args:
        tasks: "ReLU" and "affine".
        dim: The dimension d.
        n: The context length.
        n0: The length from which a rule with log n is carried, for comparison.
        noise_stds: Standard deviations of the label noise.
        contexts: Sampled contexts of each setting.
        permuted: Whether labels are first permuted among the tokens, so that they say nothing of a function.

    Returns:
        Columns ``task``, ``dim``, ``n``, ``noise_std``, ``seed``; ``w``; the prices ``of_class`` and
        ``of_function``; the prices for the function of two other windows, ``best_rule``, that of the best
        window of the class, and ``log_rule``, that of the best window at n_0 times log n / log n_0.
    """
    rng = stream(0, "evaluation")
    parts = by_parts(dim, n)
    low, high, _ = _WINDOWS
    grid = np.linspace(math.log(low), math.log(high), 1500)
    everywhere = parts(grid)
    rows = []
    for name, noise_std in product(tasks, noise_stds):
        # These are the mean squares of the coefficients of both parts, and the variance of the noise.
        mean = np.array([*{"affine": (1 / 3, 0), "ReLU": (1 / 6, 1 / 6)}[name], noise_std**2])
        of_class = mean @ everywhere
        first = float(optimal_window(make_task(name, dim), n0, noise_std).w)
        slow = max(first * math.log(n) / math.log(n0), low)
        for seed in range(contexts):
            x, direction = uniform_sphere(rng, n, dim).numpy(), uniform_sphere(rng, 1, dim).numpy()
            right, left = rng.uniform(-1, 1, 2)
            left = -right if name == "affine" else left
            t = x @ direction[0]
            y = right * np.maximum(t, 0) + left * np.maximum(-t, 0)
            y = y + noise_std * rng.standard_normal(n)
            y = rng.permutation(y) if permuted else y
            own = np.array([((right - left) / 2) ** 2, ((right + left) / 2) ** 2, noise_std**2])
            of_function = own @ everywhere
            w = min(max(best_window(x, y).w, low), high)
            row = {"task": name, "dim": dim, "n": n, "noise_std": noise_std, "seed": seed}
            row |= {
                "w": w,
                "of_class": float(mean @ parts(math.log(w)) / of_class.min()),
                "of_function": float(own @ parts(math.log(w)) / of_function.min()),
                "best_rule": float(of_function[of_class.argmin()] / of_function.min()),
                "log_rule": float(own @ parts(math.log(slow)) / of_function.min()),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def of_two_models() -> pd.DataFrame:
    """Return what ``book/real_heads/measure.py`` measured of the heads of two trained models on eight texts.

    Returns:
        Columns ``model``; ``condition``; ``part`` of the scores; ``text``; and ``value``, the slope of the
        logarithm of the spread of the scores in the logarithm of the length.
    """
    table = json.loads((ROOT / "book" / "real_heads" / "table.json").read_text())
    texts = [text["name"] for text in table["texts"]]
    parts = []
    for model in ("minilm", "smollm2"):
        name = {"model": table[model]["model"]}
        for condition, found in table[model]["slope of the spread"].items():
            for part, values in found.items():
                labels = name | {"condition": condition, "part": part}
                parts.append(pd.DataFrame(labels | {"text": texts, "value": values}))
    return pd.concat(parts, ignore_index=True)
