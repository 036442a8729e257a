"""Theorem 2: exact windows over many decades of n, local slopes, and the ingredients of the proof sketch.

- L is the Lipschitz constant, and sigma the standard deviation of the label noise.
- w* is the best window parameter. The *law* is the formula for w* in long contexts,
  `icl.risk.asymptotics.sharp_window`.
- The *slope* of a number y in n is (log y2 - log y1) / (log n2 - log n1) for two context lengths n1 and n2.
  Unless a function says otherwise, these are the lengths at which the law says w* = 3e4 and w* = 1e5 (`FAR`).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from icl.covariates import cap_quantile
from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Affine, Sign, Zonal, make_task
from icl_book.measurements import FAR, log_slope

Array = NDArray[np.float64]


def function_class(name: str, dim: int, lipschitz: float) -> Zonal:
    """Return the class ``name``. The class "sign" has functions with the values L and -L."""
    return Sign(dim, lipschitz) if name == "sign" else make_task(name, dim, lipschitz)


def exact_windows(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    lengths: ArrayLike,
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Compare exact best windows with the law, for classes with names as in `function_class`."""
    parts = []
    for name in tasks:
        for dim in dims:
            task = function_class(name, dim, lipschitz)
            best = optimal_window(task, lengths, noise_std)
            law = asymptotics.sharp_window(task, lengths, noise_std)
            ratio = best.w / law
            # The error of w is relative, and that of the ratio is absolute.
            columns = {
                "task": name,
                "dim": dim,
                "n": lengths,
                "w": best.w,
                "law": law,
                "ratio": ratio,
                "error": best.error * ratio,
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def far_windows(
    *, tasks: Sequence[str], dims: Sequence[int], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return the table of `exact_windows`, for each class at the two lengths where the law has w* = `FAR`."""
    parts = []
    for name in tasks:
        for dim in dims:
            task = function_class(name, dim, lipschitz)
            windows = exact_windows(
                tasks=[name],
                dims=[dim],
                lengths=asymptotics.sharp_context(task, FAR, noise_std),
                lipschitz=lipschitz,
                noise_std=noise_std,
            )
            parts.append(windows)
    return pd.concat(parts, ignore_index=True)


def local_slopes(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the slope of w* in n between each two neighboring lengths of a table of `exact_windows`.

    ``n`` is the geometric mean of the two lengths.
    """
    rows = []
    for (task, dim), group in windows.groupby(["task", "dim"], sort=False):
        n = group.n.to_numpy()
        w = group.w.to_numpy()
        # The law has no error, so that the relative error of the ratio is that of w.
        relative_error = (group.error / group.ratio).to_numpy()
        for i in range(len(n) - 1):
            pair = slice(i, i + 2)
            slope, error = log_slope(n[pair], w[pair], relative_error[pair])
            middle = np.sqrt(n[i] * n[i + 1])
            rows.append({"task": task, "dim": dim, "n": middle, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def slopes_in_signal(
    *, task: str, dims: Sequence[int], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return the slope of w* in L / sigma, between half of the given L / sigma and all of it.

    The context length is that at which the law says w* = 1e5.
    """
    rows = []
    for dim in dims:
        functions = make_task(task, dim, lipschitz)
        n = asymptotics.sharp_context(functions, FAR[1], noise_std)
        # w* depends on L / sigma alone, so that twice the noise is the same as half of L.
        best = optimal_window(functions, n, noise_std * np.array([2.0, 1.0]))
        slope, error = log_slope([0.5, 1.0], best.w, best.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def nearest_token_slopes(*, dims: Sequence[int], lengths: ArrayLike) -> pd.DataFrame:
    """Return the slope in n of a window that is as narrow as the distance to the nearest token.

    At the angle arccos(1 - 1 / w) from the query the weights of the window w have fallen by a factor of e.
    The cap of the sphere with this angle has a fraction 1 / n of the sphere, and thus one of n tokens on
    average. The slope is between the last two ``lengths``.
    """
    last = np.asarray(lengths)[-2:]
    rows = []
    for dim in dims:
        # `cap_quantile` is one minus the cosine of the angle, here 1 / w.
        w = [1 / cap_quantile(dim, 1 / n) for n in last]
        rows.append({"dim": dim, "slope": log_slope(last, w, 0.0)[0]})
    return pd.DataFrame(rows)


def many_tokens(dim: int) -> float:
    """Return a context length with which every window up to w = 1e5 averages at least 1e12 tokens."""
    return float(np.round(1e12 * asymptotics.effective_fraction(dim, FAR[1])))


def term_slopes(*, term: str, tasks: Sequence[str], dims: Sequence[int]) -> pd.DataFrame:
    """Return the slope in w of the ``term`` "bias" or "noise" of the risk, between the two w of `FAR`.

    The context has the length `many_tokens`. The slope is thus nearly that for an infinite context.
    """
    rows = []
    for name in tasks:
        for dim in dims:
            task = make_task(name, dim)
            n = many_tokens(task.dim)
            # The bias is the same for every label noise. Without label noise the noise term would be zero.
            noise_std = 1.0 if term == "noise" else 0.0
            risk = population_risk(task, FAR, n, noise_std)
            slope, error = log_slope(FAR, getattr(risk, term), risk.error)
            rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def bias_growth(*, tasks: Sequence[str], dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the slope in n of the largest ratio of the bias to its printed upper bound, 1 / w + 1 / n.

    At each length the ratio is the largest one over twelve windows from sqrt(w*) to w*. They stand for the
    windows that the slides call relevant. The classes have L = 1.
    """
    rows = []
    for name in tasks:
        for dim in dims:
            task = make_task(name, dim)
            lengths = asymptotics.sharp_context(task, FAR, noise_std)
            largest = []
            errors = []
            for n in lengths:
                best = optimal_window(task, n, noise_std).w
                w = np.geomspace(best**0.5, best, 12)
                risk = population_risk(task, w, n, noise_std=0.0)
                largest.append(np.max(risk.bias / (1 / w + 1 / n)))
                errors.append(np.max(risk.error))
            slope, error = log_slope(lengths, largest, errors)
            rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def narrow_bias_growth(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the slope in n of the bias over its printed upper bound, 1 / w + 1 / n, for the window w = n.

    The lengths are 1e6 and 1e8. The functions are affine with L = 1. For d > 3 one token has
    nearly all the weight in these windows.
    """
    lengths = np.array([1e6, 1e8])
    rows = []
    for dim in dims:
        bias = []
        errors = []
        for n in lengths:
            risk = population_risk(Affine(dim), n, n, noise_std=0.0)
            bias.append(risk.bias)
            errors.append(risk.error)
        # For w = n the printed bound 1 / w + 1 / n is 2 / n.
        slope, error = log_slope(lengths, np.array(bias) * lengths / 2, errors)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)
