"""Other measurements of the chapter on phases: the extreme examples after Theorem 2, and smooth classes.

In the extreme examples, much noise, a strong signal, long contexts, classes have L = 1 unless it is given,
since the best window of affine and ReLU functions depends on L / sigma alone.

- w* is the best window parameter, and its law the leading order in long contexts
  (`icl.risk.asymptotics.sharp_window`);
- L is the Lipschitz constant, or the wavenumber of waves, sigma the deviation of the label noise
  (``noise_std``), and the signal is L / sigma;
- the column ``error`` is how far ``value`` may be off, a number in the units of ``value``.
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
    """Return best windows at 40 signals: ``task, n, signal, w``, and ``silent``, the w without noise."""
    signal = np.geomspace(0.05, 1e4, 40)
    parts = []
    for name, n in product(PROPORTIONAL, n_values):
        task = make_task(name, dim)
        columns = {
            "signal": signal,
            "w": optimal_window(task, n, 1 / signal).w,
            "silent": float(optimal_window(task, n, 0.0).w),
        }
        parts.append(pd.DataFrame({"task": name, "n": n} | columns))
    return pd.concat(parts, ignore_index=True)


def slopes_at_much_noise(*, dim: int, n: int) -> pd.DataFrame:
    """Return slopes of log w* in log sigma from sigma = 200 to 400: ``task, value, error``."""
    rows = []
    for name in PROPORTIONAL:
        best = optimal_window(make_task(name, dim), n, [200.0, 400.0])
        slope = np.log(best.w[1] / best.w[0]) / np.log(2)
        rows.append({"task": name, "value": slope, "error": best.error.sum() / np.log(2)})
    return pd.DataFrame(rows)


def slopes_of_a_strong_signal(*, dims: Sequence[int], n_values: Sequence[int]) -> pd.DataFrame:
    """Return slopes of log w* in log(L / sigma) from L / sigma = 10^3 to 10^4 at each n.

    Columns ``task, dim, n, value, error``.
    """
    rows = []
    for name, dim, n in product(PROPORTIONAL, dims, n_values):
        best = optimal_window(make_task(name, dim), n, [1e-3, 1e-4])
        slope = np.log(best.w[1] / best.w[0]) / np.log(10)
        row = {"task": name, "dim": dim, "n": n, "value": slope}
        rows.append(row | {"error": best.error.sum() / np.log(10)})
    return pd.DataFrame(rows)


def slopes_in_signal(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the smaller of two slopes of log w* in log(L / sigma), from 1 to 10 and from 10 to 100.

    The length is the one at which the law says w* = 1e5 for L / sigma = 100. Columns ``task, dim, value``,
    and ``error``, the larger of the two.
    """
    rows = []
    for name, dim in product(PROPORTIONAL, dims):
        task = make_task(name, dim)
        n = asymptotics.sharp_context(task, 1e5, noise_std=0.01)
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
    """Return the smallest slope of log w* in log n between neighbors of ``lengths``.

    ``noise_stds`` is one number for all lengths or one for each. Columns ``task, lipschitz, dim, value``, and
    ``error``, the largest of all these slopes.
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
    """Return the slope in log n of the log number of tokens attended to, between two lengths.

    The number is sigma^2 over the noise term of the risk, at the best windows for sigma = 1, or at
    ``windows(lengths)``. Columns ``task, dim, value, error``.
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
        # The number falls like w^(-(d-1)/2), so that d times the error of w is more than its effect.
        error = (risk.error + dim * inexact).sum() / step
        rows.append({"task": name, "dim": dim, "value": slope, "error": error})
    return pd.DataFrame(rows)


def nearest_over_best(
    *, dims: Sequence[int], n_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Return the risk of the nearest token's label over that at w*: ``task, dim, n, value, error``."""
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
    """Return E |grad f|^2 and E (Laplacian f)^2 over sphere and class, from the degrees up to 140."""
    a, _ = task.spectrum(140)
    degree = np.arange(1.0, 141.0)
    eigenvalue = degree * (degree + task.dim - 2)
    return float(a @ eigenvalue), float(a @ eigenvalue**2)


def largest_slope(wavenumber: float) -> float:
    """Return the Lipschitz constant of cos(L u.x) along the unit sphere."""
    # At t = u.x a step along the sphere changes t by at most the share sqrt(1 - t^2) of its length.
    t = np.linspace(-1, 1, 200001)
    slope = wavenumber * np.abs(np.sin(wavenumber * t)) * np.sqrt(1 - t**2)
    return float(slope.max())


def waves_over_laws(
    *, dims: Sequence[int], lipschitz_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Return w* of waves at n = 10^10 over its law, and over that law with another energy.

    Columns ``dim, lipschitz``; ``laplacian``, w* over the law, in which the energy E (Laplacian f)^2 of the
    class stands; ``gradient``, w* over the law with E |grad f|^2 in its place.
    """
    rows = []
    for dim, lipschitz in product(dims, lipschitz_values):
        wave = Cosine(dim, lipschitz)
        gradient, laplacian = energies(wave)
        best = optimal_window(wave, 1e10, noise_std).w
        ratio = float(best / asymptotics.sharp_window(wave, 1e10, noise_std))
        exponent = asymptotics.window_law(wave).exponent
        # The law is proportional to this power of the energy.
        with_gradient = ratio * (laplacian / gradient) ** exponent
        row = {"dim": dim, "lipschitz": lipschitz}
        rows.append(row | {"laplacian": ratio, "gradient": with_gradient})
    return pd.DataFrame(rows)


def smooth_windows_over_law(*, dims: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return w* over its law at the length at which the law says 1e5, for waves and quadratic functions.

    Columns ``name``, of the class with L and d; ``value, error``.
    """
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
    """Return linear functions that share a measure of the slope with waves cos(L u.x), by that measure.

    For "L" they are the affine class with the constant L of the waves. Otherwise they are linear functions
    with one slope in space L', whose mean squared gradient on the sphere is L'^2 (d - 1) / d.
    """
    gradient, _ = energies(Cosine(dim, wavenumber))
    return {
        "L": Affine(dim, wavenumber),
        "slope in space": Linear(dim, wavenumber),
        "largest slope": Linear(dim, largest_slope(wavenumber)),
        "mean squared gradient": Linear(dim, np.sqrt(gradient * dim / (dim - 1))),
    }


def limits_of_waves_over_linear(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the limit for n to infinity of w* of waves, L = 4, over that of linear functions, by the law.

    Columns ``dim``; ``equal``, the measure of the slope, a key of `linear_of_equal_slope`; ``value``, by the
    package's law, and ``error``, its distance from the same ratio by the `energies` of both classes, with
    rounding.
    """
    rows = []
    for dim in dims:
        wave = Cosine(dim, 4.0)
        exponent = asymptotics.window_law(wave).exponent
        for equal, linear in linear_of_equal_slope(dim, 4.0).items():
            # The ratio of the laws is the same at all lengths and noises.
            law = asymptotics.sharp_window(wave, 1e12, 0.5)
            value = float(law / asymptotics.sharp_window(linear, 1e12, 0.5))
            by_energies = (energies(wave)[1] / energies(linear)[1]) ** exponent
            error = abs(value - by_energies) + 1e-14 * value
            rows.append({"dim": dim, "equal": equal, "value": value, "error": error})
    return pd.DataFrame(rows)


def class_spread(*, dims: Sequence[int], n_values: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the largest over the smallest w* of affine, ReLU and cosine functions with L = 1.

    Columns ``dim, n, value, error``. The value is infinite, and its error zero, if the smallest w* is zero.
    """
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
    """Return w* of waves of wavenumber 8 over that of 1, where waves are divided by their largest slope.

    Columns ``dim``; ``k``, with n = 10^k; ``value, error``.
    """
    rows = []
    for dim, k in product(dims, n_decades):
        # To divide functions by their slope is, for the window, to multiply the noise by it.
        steep = optimal_window(Cosine(dim, 8.0), 10.0**k, largest_slope(8.0) * noise_std)
        flat = optimal_window(Cosine(dim, 1.0), 10.0**k, largest_slope(1.0) * noise_std)
        value = float(steep.w / flat.w)
        error = value * float(steep.error + flat.error)
        rows.append({"dim": dim, "k": k, "value": value, "error": error})
    return pd.DataFrame(rows)
