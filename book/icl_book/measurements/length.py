"""The length of the context: the price of a rule for the window that is set at one length, used at another.

A rule says how the window parameter w grows with the context length n. Its price, `icl.risk.length_price`, is
the exact risk with the rule's window over the least risk, here for a table (`median_prices`) and for an
interactive figure (`prices_to_move`). In place of a rule the labels of the context can decide
(`from_context`). What trained heads do is read from a table (`of_two_models`).

- n_0 is the length at which the window is set to the best one, and N the length at which it is used;
- a rule is a key of `icl.risk.length.RULES`; the rule "kept" leaves w as it is, and "log n" multiplies it by
  log N / log n_0;
- L is the Lipschitz constant of a class, one unless it is given, and sigma the deviation of the label noise;
- an error of a risk or of a window is relative, and one of a price is absolute.
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
#: At this length, about the middle of those of training, the second number of a trained rule has no effect.
MIDDLE = 63.0
#: Where splines have exact values, unless others are given.
_WINDOWS = np.geomspace(1e-3, 1e3, 56)


def median_prices(
    tasks: Sequence[Zonal],
    n0: ArrayLike,
    N: ArrayLike,
    noise_std: ArrayLike,
    rules: Sequence[str],
) -> pd.DataFrame:
    """Return each rule's median of `icl.risk.length_price` over all settings, for classes of one dimension.

    The error of a price is that of both risks, and that of the window at n_0 times the slope of log risk in
    log w. The windows are searched once for all rules.

    Args:
        tasks: Classes of the same dimension.
        n0: Lengths n_0; they, ``N`` and ``noise_std`` broadcast, and give the settings of each class.
        N: Lengths N.
        noise_std: Standard deviations of the label noise.
        rules: Names of rules.

    Returns:
        Columns ``dim``, ``rule``, ``median``; ``error``, the largest relative error of a price, times this.
    """
    n0, N = np.asarray(n0, dtype=float), np.asarray(N, dtype=float)
    windows = [
        (optimal_window(task, n0, noise_std), optimal_window(task, N, noise_std)) for task in tasks
    ]
    rows = []
    for rule in rules:
        prices, errors = [], []
        for task, (first, best) in zip(tasks, windows, strict=True):
            w = first.w * RULES[rule](n0, N, task.dim)
            risk = population_risk(task, w, N, noise_std)
            prices.append(risk.total / best.risk)
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
    """Return the price of every rule at many settings, within 1e-3 of `icl.risk.length_price`.

    Args:
        dims: Dimensions d of the two classes, ReLU and affine functions.
        starts: Lengths n_0.
        noise_stds: Standard deviations of the label noise.
        stretches: Values of N over n_0.

    Returns:
        A row for each setting and each rule but "kept" and "log n", whose prices stand in each row. Columns
        ``task``, ``dim``, ``n0``, ``noise_std``, ``rule``, ``stretch``; ``price`` of the rule, and those of
        the window ``kept`` and of ``log`` n.
    """
    lengths = np.unique(np.outer(starts, stretches)).astype(float)
    rows = []
    for name, dim in product(("ReLU", "affine"), dims):
        task = make_task(name, dim)
        ends = [*starts, max(lengths)]
        # The axes of `best` are the noise and the length, the last of which is the longest of all, where the
        # best windows are narrowest.
        best = optimal_window(task, ends, np.array(noise_stds)[:, None]).w
        first = np.array(starts)
        # At the longest stretch rules carry windows furthest.
        factors = [factor(first, first * max(stretches), dim) for factor in RULES.values()]
        carried = max((best[:, :-1] * factor).max() for factor in factors)
        # The splines reach a little beyond the windows that are looked up.
        windows = np.geomspace(best.min() / 1.1, 1.1 * max(carried, best.max()), 40)
        # Risks are looked up on this fine grid, (log w, lengths).
        log_w = np.linspace(math.log(windows[0]), math.log(windows[-1]), 4000)
        bias, noise = (np.exp(part(log_w)) for part in splines(task, lengths, windows))
        for (i, noise_std), (k, n0) in product(enumerate(noise_stds), enumerate(starts)):
            setting = {"task": name, "dim": dim, "n0": n0, "noise_std": noise_std}
            for stretch in stretches:
                at_length = lengths == n0 * stretch
                log_risk = np.log(bias[:, at_length] + noise_std**2 * noise[:, at_length])[:, 0]
                price = {}
                for rule, factor in RULES.items():
                    w = best[i, k] * factor(n0, n0 * stretch, dim)
                    price[rule] = math.exp(np.interp(np.log(w), log_w, log_risk) - log_risk.min())
                beside = {"stretch": stretch, "kept": price.pop("kept"), "log": price.pop("log n")}
                rows += [setting | beside | {"rule": r, "price": p} for r, p in price.items()]
    return pd.DataFrame(rows)


def splines(
    task: Zonal, lengths: ArrayLike, windows: ArrayLike = _WINDOWS
) -> tuple[CubicSpline, CubicSpline]:
    """Return splines in log w of the logarithms of the bias and of the noise term for sigma = 1.

    They are exact at ``windows``, and for up to 1,000 examples off by less than 1e-4 between the 56 of the
    default. At log w of shape (...) a spline has values (..., lengths).
    """
    w = np.asarray(windows, dtype=float)
    n = np.atleast_1d(np.asarray(lengths, dtype=float))
    risk = population_risk(task, w[:, None], n, 1.0)
    bias, noise = (CubicSpline(np.log(w), np.log(part)) for part in (risk.bias, risk.noise))
    return bias, noise


def mistakes(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    factors: Sequence[float],
    n: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the price of windows that are best for a wrong L, a wrong sigma or a wrong n, where L is 1.

    Each of the ``factors`` multiplies ``n L^2 / sigma^2``: a wrong n is too large by it, a wrong L by its
    root, and a wrong sigma is too small by its root.

    Returns:
        Columns ``mistake``, "slope" for L, "noise" or "length"; ``task``, ``dim``, ``factor``; ``order``,
        that of the class in the law of the window; ``ratio``, the window over the best one; ``price``, the
        risk with the window over the least one, and its numerical ``error``.
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


def gaussian_prices(
    *, settings: Sequence[tuple[int, int]], n0: int, noise_std: float
) -> pd.DataFrame:
    """Return the price on Gaussian tokens of the rule "log n", beside that of the rule "kept".

    Args:
        settings: Pairs of a dimension d and a length N.
        n0: The length n_0.
        noise_std: Standard deviation of the label noise; functions are linear with slope one.

    Returns:
        Columns ``dim``; ``n``, the length N; ``price`` of "log n" and its numerical ``error``; ``kept``, the
        other price.
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

    Labels are linear in the tokens as they were, ``beta.x + eps``, with beta uniform on the unit sphere and
    label noise eps. A token x has the direction u and the length ``rho + delta``, with mean rho and a delta
    of variance v that does not depend on u. So a label is ``rho u.beta + delta u.beta + eps``, where
    ``delta u.beta`` is noise of variance ``v / d``, and the risk is that of linear functions of slope rho on
    the sphere, with more noise, plus ``v / d`` for the query's own length, which no window sees.

    Returns:
        The risk for each n, and the floor ``v / d``, below which no n brings the risk.
    """
    # This is the mean length of a normal vector in d dimensions, whose mean square is d.
    rho = math.sqrt(2) * math.exp(gammaln((dim + 1) / 2) - gammaln(dim / 2))
    floor = (dim - rho**2) / dim
    best = optimal_window(Linear(dim, rho), n, math.hypot(noise_std, math.sqrt(floor)))
    return best.risk + floor, floor


def by_parts(dim: int, n: int) -> Callable[[ArrayLike], Array]:
    """Return the risk of single functions by parts, as a function of log w.

    A function ``a t + b |t|`` of t = u.x, averaged over directions u, has a risk that is linear in a^2, b^2
    and sigma^2, whose coefficients are the parts. An affine function of L = 1 has a mean a^2 of 1/3 and no b,
    a ReLU function means a^2 and b^2 of 1/6. A constant that is added to a function changes no risk.

    Returns:
        A function of log w, (...), whose values (3, ...) are the bias for a^2 = 1, that for b^2 = 1, and the
        noise term for sigma = 1.
    """
    (linear, noise), (relu, _) = (splines(make(dim), n) for make in (Affine, ReLU))

    def parts(log_w: ArrayLike) -> Array:
        of_affine, of_relu, noisy = (np.exp(one(log_w)[..., 0]) for one in (linear, relu, noise))
        # The parts `line` and `kink` solve of_affine = line / 3 and of_relu = (line + kink) / 6.
        return np.stack([3 * of_affine, 6 * of_relu - 3 * of_affine, noisy])

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

    The context is sampled, the price of its window is exact up to the error of `splines`: for the class, and
    for the function of the context alone, over all directions u (`by_parts`). Windows are taken between the
    ends of the splines, 1e-3 and 1e3.

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
        ``of_function`` of this w, for the class and for the function; and the prices for the function of two
        other windows, ``best_rule``, that of the best window of the class, and ``log_rule``, that of the best
        window at n_0 times log n / log n_0.
    """
    rng = stream(0, "evaluation")
    parts = by_parts(dim, n)
    low, high = _WINDOWS[[0, -1]]
    grid = np.linspace(math.log(low), math.log(high), 1500)
    everywhere = parts(grid)
    rows = []
    for name, noise_std in product(tasks, noise_stds):
        # These are the means of a^2 and b^2 of `by_parts`, and sigma^2.
        mean = np.array([*{"affine": (1 / 3, 0), "ReLU": (1 / 6, 1 / 6)}[name], noise_std**2])
        of_class = mean @ everywhere
        first = float(optimal_window(make_task(name, dim), n0, noise_std).w)
        # The splines of `by_parts` begin at `low`.
        log_rule_w = max(first * math.log(n) / math.log(n0), low)
        for seed in range(contexts):
            x, direction = uniform_sphere(rng, n, dim).numpy(), uniform_sphere(rng, 1, dim).numpy()
            # Functions have the slopes `right` for t > 0 and -`left` for t < 0, the same if they are affine.
            right, left = rng.uniform(-1, 1, 2)
            left = -right if name == "affine" else left
            t = x @ direction[0]
            y = right * np.maximum(t, 0) + left * np.maximum(-t, 0)
            y = y + noise_std * rng.standard_normal(n)
            y = rng.permutation(y) if permuted else y
            # These are a^2, b^2 and sigma^2 for this function.
            own = np.array([((right - left) / 2) ** 2, ((right + left) / 2) ** 2, noise_std**2])
            of_function = own @ everywhere
            w = min(max(best_window(x, y).w, low), high)
            row = {"task": name, "dim": dim, "n": n, "noise_std": noise_std, "seed": seed}
            row |= {
                "w": w,
                "of_class": float(mean @ parts(math.log(w)) / of_class.min()),
                "of_function": float(own @ parts(math.log(w)) / of_function.min()),
                "best_rule": float(of_function[of_class.argmin()] / of_function.min()),
                "log_rule": float(own @ parts(math.log(log_rule_w)) / of_function.min()),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def of_two_models() -> pd.DataFrame:
    """Return what ``book/real_heads/measure.py`` measured of the heads of two trained models on eight texts.

    Returns:
        Columns ``model``; ``condition``, what the context is; ``part``, "all scores" or "interaction", which
        is what is left of them without the means of queries and of keys; ``text``; and ``value``, the slope
        of the logarithm of the spread of the scores in the logarithm of the length.
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
