"""Measurements of the chapter on the length of the context: windows set at one length and used at another.

A rule says how the window parameter w grows with the context length. The price of a window is the exact risk
with this window over the least risk of all windows. The price of a rule is that of its window.

- n_0 is the length at which the window is set to the best one, and N the length at which it is used;
- a rule is a key of `icl.risk.length.RULES`. The rule "kept" leaves w as it is, and the rule "log n"
  multiplies w by log N / log n_0;
- an error of a risk or of a window is relative, and an error of a price is absolute.
"""

import json
import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from icl import best_window
from icl.covariates import uniform_sphere
from icl.risk import asymptotics, gaussian_risk, gaussian_window, optimal_window, population_risk
from icl.risk.length import RULES
from icl.streams import stream
from icl.tasks import Affine, Linear, ReLU, Zonal, make_task
from icl_book.provenance import ROOT

Array = NDArray[np.float64]
#: A trained rule is ``w = a + b log(n / MIDDLE)``. This length is about the middle of those of training.
MIDDLE = 63.0
#: The windows at which `fit_splines` computes exact values, unless others are given.
_WINDOWS = np.geomspace(1e-3, 1e3, 56)


def median_prices(
    tasks: Sequence[Zonal],
    n0: ArrayLike,
    N: ArrayLike,
    noise_std: ArrayLike,
    rules: Sequence[str],
) -> pd.DataFrame:
    """Return the median price of each rule over all classes, lengths and standard deviations of the noise.

    All ``tasks`` have the same dimension. The arrays ``n0``, ``N`` and ``noise_std`` are broadcast.
    """
    n0 = np.asarray(n0, dtype=float)
    N = np.asarray(N, dtype=float)
    # These are the best windows at n_0 and at N, which all rules share.
    windows = [
        (optimal_window(task, n0, noise_std), optimal_window(task, N, noise_std)) for task in tasks
    ]
    rows = []
    for rule in rules:
        prices = []
        errors = []
        for task, (first, best) in zip(tasks, windows, strict=True):
            w = first.w * RULES[rule](n0, N, task.dim)
            risk = population_risk(task, w, N, noise_std)
            prices.append(risk.total / best.risk)
            # An error of the window at n_0 changes log risk by this error times the slope of log risk in
            # log w. Both risks of a price have about the same numerical error.
            shift = first.error * np.abs(w * risk.slope) / risk.total
            errors.append(np.max(2 * risk.error + shift))
        median = float(np.median(prices))
        row = {"dim": tasks[0].dim, "rule": rule, "median": median}
        rows.append(row | {"error": median * float(max(errors))})
    return pd.DataFrame(rows)


def prices_to_move(
    *,
    dims: Sequence[int],
    starts: Sequence[int],
    noise_stds: Sequence[float],
    stretches: Sequence[int],
) -> pd.DataFrame:
    """Return the prices of all rules for many lengths, for the interactive figure.

    Risks are interpolated, which changes prices by up to a thousandth. ``starts`` are lengths n_0, and
    ``stretches`` values of N over n_0. The rules "kept" and "log n" have columns, ``kept`` and ``log``,
    instead of rows.
    """
    lengths = np.unique(np.outer(starts, stretches)).astype(float)
    rows = []
    for name, dim in product(("ReLU", "affine"), dims):
        task = make_task(name, dim)
        # The axes of `best` are the noise and the length. The last length is the longest one, at which the
        # best w is largest.
        best = optimal_window(task, [*starts, max(lengths)], np.array(noise_stds)[:, None]).w
        # The factors of the rules are largest at the longest stretch.
        first = np.array(starts)
        factors = [factor(first, first * max(stretches), dim) for factor in RULES.values()]
        largest = max((best[:, :-1] * factor).max() for factor in factors)
        # The splines reach a little beyond the windows of rules and the best windows.
        windows = np.geomspace(best.min() / 1.1, 1.1 * max(largest, best.max()), 40)
        # Risks are looked up on this fine grid of log w. Bias and noise term are (log w, lengths).
        log_w = np.linspace(math.log(windows[0]), math.log(windows[-1]), 4000)
        bias, noise = (np.exp(part(log_w)) for part in fit_splines(task, lengths, windows))
        for (i, noise_std), (k, n0) in product(enumerate(noise_stds), enumerate(starts)):
            for stretch in stretches:
                at_length = lengths == n0 * stretch
                log_risk = np.log(bias[:, at_length] + noise_std**2 * noise[:, at_length])[:, 0]
                prices = {}
                for rule, factor in RULES.items():
                    w = best[i, k] * factor(n0, n0 * stretch, dim)
                    prices[rule] = math.exp(np.interp(np.log(w), log_w, log_risk) - log_risk.min())
                row = {"task": name, "dim": dim, "n0": n0, "noise_std": noise_std}
                row |= {"stretch": stretch}
                row |= {"kept": prices.pop("kept"), "log": prices.pop("log n")}
                for rule, price in prices.items():
                    rows.append(row | {"rule": rule, "price": price})
    return pd.DataFrame(rows)


def fit_splines(
    task: Zonal, lengths: ArrayLike, windows: ArrayLike = _WINDOWS
) -> tuple[CubicSpline, CubicSpline]:
    """Return two splines in log w: the logarithm of the bias, and that of the noise term for sigma = 1.

    At log w of the shape (...) a spline has values of the shape (..., lengths). Between the default windows
    the relative errors of bias and noise are below 1e-4 for up to 1,000 examples.
    """
    w = np.asarray(windows, dtype=float)
    n = np.atleast_1d(np.asarray(lengths, dtype=float))
    risk = population_risk(task, w[:, None], n, 1.0)
    bias, noise = (CubicSpline(np.log(w), np.log(part)) for part in (risk.bias, risk.noise))
    return bias, noise


def price_mistakes(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    factors: Sequence[float],
    n: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the prices of windows that are the best ones for a wrong L, a wrong sigma or a wrong n.

    The true L is one. Every mistake multiplies ``n L^2 / sigma^2`` by one of the ``factors``. ``order`` is
    the order of the class in the law of the window.
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
                # Both risks of a price have about the same relative error.
                price = float(risk.total / best.risk)
                row = {"mistake": mistake, "task": name, "dim": dim, "order": order}
                row |= {"factor": factor, "ratio": float(w / best.w), "price": price}
                rows.append(row | {"error": 2 * float(risk.error) * price})
    return pd.DataFrame(rows)


def gaussian_prices(
    *, settings: Sequence[tuple[int, int]], n0: int, noise_std: float
) -> pd.DataFrame:
    """Return the prices of the rules "log n" and "kept" on Gaussian tokens, for linear functions.

    The functions have slope one. ``settings`` are pairs of a dimension d and a length N. ``price`` is the
    price of "log n".
    """
    rows = []
    for dim, n in settings:
        best = gaussian_window(dim, [n0, n], noise_std)
        # These are the windows of "kept" and of "log n" at the length N.
        w = best.w[0] * np.array([1.0, math.log(n) / math.log(n0)])
        risk = gaussian_risk(dim, w, n, noise_std)
        # Both risks of a price have about the same relative error.
        kept, price = risk.total / best.risk[1]
        row = {"dim": dim, "n": n, "price": float(price), "kept": float(kept)}
        rows.append(row | {"error": 2 * float(risk.error[1]) * float(price)})
    return pd.DataFrame(rows)


def normalized_risk(dim: int, n: ArrayLike, noise_std: float) -> tuple[Array, float]:
    """Return the least risk of a unit that divides Gaussian tokens and the query by their lengths.

    Labels are ``beta.x + eps`` with the undivided token x, beta uniform on the unit sphere, and label noise
    eps. Let u be the direction of x. The length of x is ``rho + delta``, where rho is its mean, and delta has
    a variance v and does not depend on u. So a label is ``rho u.beta + delta u.beta + eps``. The first term
    is a linear function of slope rho on the sphere. The second term is noise of the variance ``v / d``. The
    risk is therefore that of such functions with more noise, plus ``v / d`` for the length of the query,
    which the unit does not know.

    Returns:
        The risk for each n, and the floor ``v / d``, which is the limit of the risk as n grows.
    """
    # This is the mean length of a normal vector in d dimensions. Its mean squared length is d.
    rho = math.sqrt(2) * math.exp(gammaln((dim + 1) / 2) - gammaln(dim / 2))
    floor = (dim - rho**2) / dim
    best = optimal_window(Linear(dim, rho), n, math.hypot(noise_std, math.sqrt(floor)))
    return best.risk + floor, floor


def split_by_parts(dim: int, n: int) -> Callable[[ArrayLike], Array]:
    """Return a function of log w that gives the parts of the risk of a single function.

    The single function is ``a t + b |t|`` plus a constant, with t = u.x. The mean of its risk over all
    directions u is ``a^2 line + b^2 kink + sigma^2 noise``. At log w of the shape (...) the parts ``line``,
    ``kink`` and ``noise`` are (3, ...).
    """
    affine_bias, noise_term = fit_splines(Affine(dim), n)
    relu_bias, _ = fit_splines(ReLU(dim), n)

    def compute_parts(log_w: ArrayLike) -> Array:
        affine = np.exp(affine_bias(log_w)[..., 0])
        relu = np.exp(relu_bias(log_w)[..., 0])
        noise = np.exp(noise_term(log_w)[..., 0])
        # In the affine class with L = 1, a^2 has the mean 1/3 and b is zero, so affine = line / 3. In the
        # ReLU class both a^2 and b^2 have the mean 1/6, so relu = (line + kink) / 6.
        return np.stack([3 * affine, 6 * relu - 3 * affine, noise])

    return compute_parts


def price_chosen_windows(
    *,
    tasks: Sequence[str],
    dim: int,
    n: int,
    n0: int,
    noise_stds: Sequence[float],
    contexts: int,
    permuted: bool = False,
) -> pd.DataFrame:
    """Return the prices of the windows that `icl.best_window` chooses from the labels of sampled contexts.

    ``of_class`` is the price for the class, and ``of_function`` that for the single function of the context,
    with the mean over its directions u. For the function, ``best_rule`` is the price of the best window of
    the class, and ``log_rule`` that of the window of the rule "log n". If ``permuted`` is true, labels are
    first permuted among the tokens, so that they say nothing of a function.
    """
    rng = stream(0, "evaluation")
    compute_parts = split_by_parts(dim, n)
    low, high = _WINDOWS[[0, -1]]
    grid = np.linspace(math.log(low), math.log(high), 1500)
    parts = compute_parts(grid)
    mean_squares = {"affine": (1 / 3, 0), "ReLU": (1 / 6, 1 / 6)}
    rows = []
    for name, noise_std in product(tasks, noise_stds):
        # These are the means of a^2 and b^2 of `split_by_parts` over the class, and sigma^2. The risk is
        # their product with the parts.
        mean = np.array([*mean_squares[name], noise_std**2])
        of_class = mean @ parts
        first = float(optimal_window(make_task(name, dim), n0, noise_std).w)
        # The splines begin at `low`.
        log_rule_w = max(first * math.log(n) / math.log(n0), low)
        for seed in range(contexts):
            x = uniform_sphere(rng, n, dim).numpy()
            direction = uniform_sphere(rng, 1, dim).numpy()
            # The function is right * t for t > 0, and left * |t| for t < 0.
            right, left = rng.uniform(-1, 1, 2)
            if name == "affine":
                left = -right
            t = x @ direction[0]
            y = right * np.maximum(t, 0) + left * np.maximum(-t, 0)
            y = y + noise_std * rng.standard_normal(n)
            if permuted:
                y = rng.permutation(y)
            # These are a^2, b^2 and sigma^2 for this function.
            own = np.array([((right - left) / 2) ** 2, ((right + left) / 2) ** 2, noise_std**2])
            of_function = own @ parts
            w = min(max(best_window(x, y).w, low), high)
            parts_at_w = compute_parts(math.log(w))
            parts_at_log_rule = compute_parts(math.log(log_rule_w))
            row = {"task": name, "dim": dim, "n": n, "noise_std": noise_std, "seed": seed}
            row |= {
                "w": w,
                "of_class": float(mean @ parts_at_w / of_class.min()),
                "of_function": float(own @ parts_at_w / of_function.min()),
                "best_rule": float(of_function[of_class.argmin()] / of_function.min()),
                "log_rule": float(own @ parts_at_log_rule / of_function.min()),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def read_two_models() -> pd.DataFrame:
    """Read what ``book/real_heads/measure.py`` measured of the heads of two trained models on eight texts.

    ``value`` is the slope of the log of the spread in the log of the length of the context, as a mean over
    heads. The spread is the standard deviation of the scores of a query. ``condition`` says what the context
    is, and whether scores are multiplied by log n. ``part`` is "all scores", or "interaction" for the scores
    without the means of queries and of keys.
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
