"""Measurements of the chapter on phases: the extreme examples after Theorem 2, and smooth classes.

The extreme examples are much noise, a strong signal, and long contexts.

- L is the Lipschitz constant of a class. Waves are the functions cos(L u.x), and their L is the wavenumber.
- sigma is the standard deviation of the label noise (``noise_std``), and L / sigma is the *signal*.
- w* is the best window parameter. For affine and ReLU functions w* depends on L / sigma alone, so that these
  classes have L = 1 here, unless a function says otherwise.
- The *law* is the formula for w* in long contexts, `icl.risk.asymptotics.sharp_window`.
- In the code the errors of risks and of w* are relative. The relative error of w* is the absolute error of
  log w*.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.risk import asymptotics, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal, make_task

Array = NDArray[np.float64]

#: The extreme examples are about these classes, which are proportional to L.
PROPORTIONAL = ("affine", "ReLU")
#: Wavenumbers L of the waves cos(L u.x) that represent the cosine class.
WAVENUMBERS = (1.0, 4.0)


def windows_over_signal(*, dim: int, n_values: Sequence[int]) -> pd.DataFrame:
    """Return w* at 40 signals from 0.05 to 10^4, and w* without noise, which is ``silent``."""
    signal = np.geomspace(0.05, 1e4, 40)
    parts = []
    for name, n in product(PROPORTIONAL, n_values):
        task = make_task(name, dim)
        columns = {
            "signal": signal,
            # With L = 1, sigma is one over the signal.
            "w": optimal_window(task, n, 1 / signal).w,
            "silent": float(optimal_window(task, n, 0.0).w),
        }
        parts.append(pd.DataFrame({"task": name, "n": n} | columns))
    return pd.concat(parts, ignore_index=True)


def slopes_at_much_noise(*, dim: int, n: int) -> pd.DataFrame:
    """Return the slope of log w* in log sigma between sigma = 200 and sigma = 400."""
    rows = []
    for name in PROPORTIONAL:
        best = optimal_window(make_task(name, dim), n, [200.0, 400.0])
        slope = np.log(best.w[1] / best.w[0]) / np.log(2)
        rows.append({"task": name, "value": slope, "error": best.error.sum() / np.log(2)})
    return pd.DataFrame(rows)


def slopes_of_a_strong_signal(*, dims: Sequence[int], n_values: Sequence[int]) -> pd.DataFrame:
    """Return the slope of log w* in log(L / sigma) between L / sigma = 10^3 and 10^4."""
    rows = []
    for name, dim, n in product(PROPORTIONAL, dims, n_values):
        # With L = 1 these are the sigma of both signals.
        best = optimal_window(make_task(name, dim), n, [1e-3, 1e-4])
        slope = np.log(best.w[1] / best.w[0]) / np.log(10)
        row = {"task": name, "dim": dim, "n": n, "value": slope}
        rows.append(row | {"error": best.error.sum() / np.log(10)})
    return pd.DataFrame(rows)


def slopes_in_signal(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the smaller of two slopes of log w* in log(L / sigma), from 1 to 10 and from 10 to 100.

    The context length n is such that the law says w* = 1e5 at L / sigma = 100.
    """
    rows = []
    for name, dim in product(PROPORTIONAL, dims):
        task = make_task(name, dim)
        n = asymptotics.sharp_context(task, 1e5, noise_std=0.01)
        # With L = 1 these are the sigma of the signals 1, 10 and 100.
        best = optimal_window(task, n, [1.0, 0.1, 0.01])
        slope = np.diff(np.log(best.w)) / np.log(10)
        error = (best.error[1:] + best.error[:-1]) / np.log(10)
        row = {"task": name, "dim": dim, "value": slope.min(), "error": error.max()}
        rows.append(row)
    return pd.DataFrame(rows)


def smallest_slopes_in_length(
    *,
    dims: Sequence[int],
    lengths: Array,
    tasks: Sequence[str] = PROPORTIONAL,
    noise_stds: float | Array = 1.0,
    lipschitz_values: Sequence[float] = (1.0,),
) -> pd.DataFrame:
    """Return the smallest slope of log w* in log n over all pairs of neighboring ``lengths``.

    ``noise_stds`` is one number for all lengths, or an array with a number for each length.
    """
    steps = np.diff(np.log(lengths))
    rows = []
    for name, dim, lipschitz in product(tasks, dims, lipschitz_values):
        best = optimal_window(make_task(name, dim, lipschitz), lengths, noise_stds)
        slope = np.diff(np.log(best.w)) / steps
        error = (best.error[1:] + best.error[:-1]) / steps
        row = {"task": name, "lipschitz": lipschitz, "dim": dim}
        rows.append(row | {"value": slope.min(), "error": error.max()})
    return pd.DataFrame(rows)


def slopes_of_the_number_of_tokens(
    *, dims: Sequence[int], lengths: Array, windows: Callable[[Array], Array] | None = None
) -> pd.DataFrame:
    """Return the slope of log N in log n between two ``lengths``. N is the number of tokens attended to.

    N is sigma^2 divided by the noise term of the risk. The window parameters are w*, or ``windows(lengths)``
    if ``windows`` is given.
    """
    step = np.log(lengths[1] / lengths[0])
    rows = []
    for name, dim in product(PROPORTIONAL, dims):
        task = make_task(name, dim)
        if windows is None:
            best = optimal_window(task, lengths, noise_std=1.0)
            w = best.w
            inexact = best.error
        else:
            w = windows(lengths)
            inexact = np.zeros(len(lengths))
        risk = population_risk(task, w, lengths, noise_std=1.0)
        slope = np.log(risk.noise[0] / risk.noise[1]) / step
        # N falls like w^(-(d-1)/2). The relative error of N is thus below d times the relative error of w.
        error = (risk.error + dim * inexact).sum() / step
        rows.append({"task": name, "dim": dim, "value": slope, "error": error})
    return pd.DataFrame(rows)


def nearest_over_best(
    *, dims: Sequence[int], n_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Return the risk of a prediction by the label of the nearest token, divided by the risk at w*."""
    rows = []
    for name, dim, n in product(PROPORTIONAL, dims, n_values):
        task = make_task(name, dim)
        best = optimal_window(task, n, noise_std)
        least = population_risk(task, best.w, n, noise_std)
        single = nearest_neighbor_risk(task, n, noise_std)
        value = float(single.total / least.total)
        error = value * float(single.error + least.error)
        rows.append({"task": name, "dim": dim, "n": n, "value": value, "error": error})
    return pd.DataFrame(rows)


def energies(task: Zonal) -> tuple[float, float]:
    """Return E |grad f|^2 and E (Laplacian f)^2, means over the functions of a class and over the sphere."""
    # `a` has the mean square of the part of f of each degree from 1 to 140. For waves with L up to 64 the
    # parts of higher degrees are far below rounding.
    a, _ = task.spectrum(140)
    degree = np.arange(1.0, 141.0)
    # The Laplacian multiplies the part of this degree by minus this eigenvalue. By partial integration
    # E |grad f|^2 is minus the mean of f times its Laplacian.
    eigenvalue = degree * (degree + task.dim - 2)
    return float(a @ eigenvalue), float(a @ eigenvalue**2)


def largest_slope(wavenumber: float) -> float:
    """Return the Lipschitz constant of cos(L u.x) along the unit sphere, where L is ``wavenumber``."""
    # Let t = u.x. A short step along the sphere changes t by at most sqrt(1 - t^2) times its length. The grid
    # is so fine that the relative error of the maximum is below 1e-8 for L up to 16.
    t = np.linspace(-1, 1, 200001)
    slope = wavenumber * np.abs(np.sin(wavenumber * t)) * np.sqrt(1 - t**2)
    return float(slope.max())


def waves_over_laws(
    *, dims: Sequence[int], lipschitz_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Return w* of waves at n = 10^10, divided by the law, and divided by a wrong law.

    The law depends on the class by E (Laplacian f)^2. The wrong law has E |grad f|^2 in this place.
    """
    rows = []
    for dim, lipschitz in product(dims, lipschitz_values):
        wave = Cosine(dim, lipschitz)
        gradient, laplacian = energies(wave)
        best = optimal_window(wave, 1e10, noise_std).w
        ratio = float(best / asymptotics.sharp_window(wave, 1e10, noise_std))
        exponent = asymptotics.window_law(wave).exponent
        # The law is proportional to E (Laplacian f)^2 to the power `exponent`.
        with_gradient = ratio * (laplacian / gradient) ** exponent
        row = {"dim": dim, "lipschitz": lipschitz}
        rows.append(row | {"laplacian": ratio, "gradient": with_gradient})
    return pd.DataFrame(rows)


def smooth_windows_over_law(*, dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return w* divided by 1e5, for waves and quadratic functions, in contexts for which the law says 1e5."""
    smooth: dict[str, Zonal] = {}
    for dim, lipschitz in product(dims, WAVENUMBERS):
        smooth[f"cosine, L = {lipschitz:g}, d = {dim}"] = Cosine(dim, lipschitz)
    for dim in dims:
        smooth[f"quadratic, d = {dim}"] = Quadratic(dim)
    rows = []
    for name, task in smooth.items():
        n = asymptotics.sharp_context(task, 1e5, noise_std)
        best = optimal_window(task, n, noise_std)
        value = float(best.w) / 1e5
        error = value * float(best.error)
        rows.append({"name": name, "value": value, "error": error})
    return pd.DataFrame(rows)


def linear_of_equal_slope(dim: int, wavenumber: float) -> dict[str, Zonal]:
    """Return four classes of linear functions that are as steep as the waves cos(L u.x).

    Each class is as steep by a measure of its own, which is its key: the Lipschitz constant L of the class,
    the slope in space, the largest slope along the sphere, or E |grad f|^2 on the sphere.
    """
    gradient, _ = energies(Cosine(dim, wavenumber))
    # The function L' q.x has the mean squared gradient L'^2 (d - 1) / d on the sphere.
    return {
        "L": Affine(dim, wavenumber),
        "slope in space": Linear(dim, wavenumber),
        "largest slope": Linear(dim, largest_slope(wavenumber)),
        "mean squared gradient": Linear(dim, np.sqrt(gradient * dim / (dim - 1))),
    }


def limits_of_waves_over_linear(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the limit, for n to infinity, of w* of waves with L = 4 divided by w* of linear functions.

    ``equal`` is a key of `linear_of_equal_slope`. ``error`` is the difference between the limit by the law
    and the same limit by `energies`, plus rounding.
    """
    rows = []
    for dim in dims:
        wave = Cosine(dim, 4.0)
        exponent = asymptotics.window_law(wave).exponent
        for equal, linear in linear_of_equal_slope(dim, 4.0).items():
            # The ratio of the two laws is the same for all n and sigma, so that any will do.
            law = asymptotics.sharp_window(wave, 1e12, 0.5)
            value = float(law / asymptotics.sharp_window(linear, 1e12, 0.5))
            # Both laws are proportional to E (Laplacian f)^2 to the power `exponent`, with the same factor.
            by_energies = (energies(wave)[1] / energies(linear)[1]) ** exponent
            error = abs(value - by_energies) + 1e-14 * value
            rows.append({"dim": dim, "equal": equal, "value": value, "error": error})
    return pd.DataFrame(rows)


def class_spread(*, dims: Sequence[int], n_values: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the largest w* divided by the smallest w* of affine, ReLU and cosine functions with L = 1."""
    rows = []
    for dim, n in product(dims, n_values):
        tasks: list[Zonal] = [Affine(dim), ReLU(dim), Cosine(dim)]
        best = [optimal_window(task, n, noise_std) for task in tasks]
        best.sort(key=lambda found: float(found.w))
        value = np.inf
        error = 0.0
        if best[0].w > 0:
            value = float(best[-1].w / best[0].w)
            error = value * float(best[-1].error + best[0].error)
        rows.append({"dim": dim, "n": n, "value": value, "error": error})
    return pd.DataFrame(rows)


def steeper_waves(
    *, dims: Sequence[int], n_decades: Sequence[int], noise_std: float
) -> pd.DataFrame:
    """Return w* of waves with the wavenumber 8 divided by w* of waves with the wavenumber 1.

    The waves of each wavenumber are divided by their `largest_slope`, so that their Lipschitz constant is
    one. The context length is n = 10^k for the k in ``n_decades``.
    """
    rows = []
    for dim, k in product(dims, n_decades):
        # To divide the functions by a number moves w* as much as to multiply the noise by this number.
        steep = optimal_window(Cosine(dim, 8.0), 10.0**k, largest_slope(8.0) * noise_std)
        flat = optimal_window(Cosine(dim, 1.0), 10.0**k, largest_slope(1.0) * noise_std)
        value = float(steep.w / flat.w)
        error = value * float(steep.error + flat.error)
        rows.append({"dim": dim, "k": k, "value": value, "error": error})
    return pd.DataFrame(rows)
