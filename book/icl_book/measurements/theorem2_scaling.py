"""Theorem 2: exact windows over many decades of n, local slopes, and the ingredients of the proof sketch.

An exponent is a local slope on logarithmic axes between two settings that lie far out: there the law says
that the best window parameter w* is 3e4 and 1e5 (`FAR`), unless a function says otherwise. A slope in n, for
short, is one in log n of the logarithm of what it is a slope of. Its error is absolute, and comes from the
errors of the numbers it is made of. L is the Lipschitz constant, and sigma the deviation of the label noise.
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
    """Return a class by its name; signs, which have no Lipschitz constant, are plus and minus L."""
    return Sign(dim, lipschitz) if name == "sign" else make_task(name, dim, lipschitz)


def exact_windows(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    lengths: ArrayLike,
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Compare exact best windows with the law of the window, `icl.risk.asymptotics.sharp_window`.

    Args:
        tasks: Names of classes, see `function_class`.
        dims: Dimensions d.
        lengths: Context lengths n.
        lipschitz: Lipschitz constant L of the classes.
        noise_std: Standard deviation of the label noise.

    Returns:
        ``task``, ``dim``, ``n``, the best ``w``, its ``law``, ``ratio``, which is w over its law, and
        ``error``, the absolute error of the ratio.
    """
    parts = []
    for name in tasks:
        for dim in dims:
            task = function_class(name, dim, lipschitz)
            best = optimal_window(task, lengths, noise_std)
            law = asymptotics.sharp_window(task, lengths, noise_std)
            ratio = best.w / law
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
    """Return `exact_windows` at the two lengths of each class at which the law says `FAR`."""
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
    """Return the local slopes of log w in log n between neighboring lengths of `exact_windows`.

    Returns:
        ``task``, ``dim``, ``n``, the geometric mean of the two lengths, the ``slope`` and its ``error``.
    """
    rows = []
    for (task, dim), group in windows.groupby(["task", "dim"], sort=False):
        n, w = group.n.to_numpy(), group.w.to_numpy()
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
    """Return the local slope of log w* in log(L / sigma), at the length at which the law says that w* is 1e5.

    Returns:
        ``dim``, the ``slope`` between half of L / sigma and all of it, and its ``error``.
    """
    rows = []
    for dim in dims:
        functions = make_task(task, dim, lipschitz)
        n = asymptotics.sharp_context(functions, FAR[1], noise_std)
        # Windows depend on L / sigma alone, so that half of L is the same as twice the noise.
        best = optimal_window(functions, n, noise_std * np.array([2.0, 1.0]))
        slope, error = log_slope([0.5, 1.0], best.w, best.error)
        rows.append({"dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def nearest_token_slopes(*, dims: Sequence[int], lengths: ArrayLike) -> pd.DataFrame:
    """Return the slope in n of a window w that follows the nearest token, between the last two lengths.

    It has a fraction 1 / n of the sphere within the angle whose cosine is 1 - 1 / w.

    Returns:
        ``dim`` and ``slope``.
    """
    last = np.asarray(lengths)[-2:]
    rows = []
    for dim in dims:
        # `cap_quantile` is one minus the cosine of the angle.
        w = [1 / cap_quantile(dim, 1 / n) for n in last]
        rows.append({"dim": dim, "slope": log_slope(last, w, 0.0)[0]})
    return pd.DataFrame(rows)


def many_tokens(dim: int) -> float:
    """Return a context length with which every window up to w = 1e5 averages at least 1e12 tokens."""
    return float(np.round(1e12 * asymptotics.effective_fraction(dim, FAR[1])))


def term_slopes(*, term: str, tasks: Sequence[str], dims: Sequence[int]) -> pd.DataFrame:
    """Return the local slope in log w of the log of the bias or of the noise, between the two w of `FAR`.

    The length is that of `many_tokens`, so that the slope is nearly that for an infinite context.

    Args:
        term: ``"bias"`` or ``"noise"``.
        tasks: Names of classes, see `icl.tasks.make_task`.
        dims: Dimensions.

    Returns:
        ``task``, ``dim``, ``slope`` and ``error``.
    """
    rows = []
    for name in tasks:
        for dim in dims:
            task = make_task(name, dim)
            n = many_tokens(task.dim)
            # Without label noise the estimated error is that of the bias alone.
            noise_std = 1.0 if term == "noise" else 0.0
            risk = population_risk(task, FAR, n, noise_std)
            slope, error = log_slope(FAR, getattr(risk, term), risk.error)
            rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def bias_growth(*, tasks: Sequence[str], dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the slope in n of the largest ratio of the bias to its printed upper bound, 1 / w + 1 / n.

    L is 1. At each of the lengths at which the law says that w* is `FAR`, the ratio is the largest one over
    twelve windows from sqrt(w*) to w*.

    Returns:
        ``task``, ``dim``, ``slope`` and ``error``.
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
    """Return the slope in n of the ratio of `bias_growth` at w = n, from n = 1e6 to 1e8.

    For d > 3 one token has nearly all the weight there. The functions are affine, with L = 1.

    Returns:
        ``dim``, ``slope`` and ``error``.
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
