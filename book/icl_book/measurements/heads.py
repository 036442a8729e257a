"""Several heads: a head and its derivative, heads in longer contexts, rates, and kriging between its bounds.

Heads have windows w_h and values v_h, and predict ``sum_h v_h sum_i omega_i(w_h) y_i`` (`icl.risk.heads`).
Kriging is the best predictor that is linear in the labels. Throughout,

- m is d - 1, the dimension of the sphere;
- a_l is the coefficient of a class in degree l, and N_l the number of harmonics of this degree;
- ``order`` is that of the class: ``a_l / N_l`` falls like ``l^-(m + order)``;
- alpha_h is the width of a head, whose window is then ``w / alpha_h``;
- ``phi(x) = sum_h v_h exp(-alpha_h x^2 / 2)`` is the factor of heads on harmonics of degree ``x sqrt(w)`` in
  long contexts, where kriging has ``1 / (1 + x^(m + order))`` with its own scale in place of ``sqrt(w)``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, ive

from icl.risk import (
    bayes_linear_risk,
    heads_risk,
    kriging_bounds,
    optimal_heads,
    optimal_window,
)
from icl.risk.heads import Moments
from icl.tasks import Affine, PhasedCosine, Spectrum, Zonal
from icl.tasks.gegenbauer import multiplicity
from icl_book.measurements import log_slope

Array = NDArray[np.float64]

#: The search for the best w stops within this distance of its logarithm.
SEARCH = 1e-3
#: `icl.risk.heads.Moments` has this many Gauss nodes in each panel, fewer in a search among heads far apart.
FINE, ROUGH = 16, 10
#: Two heads stand for a head and its derivative if arsinh of their windows differs by this much.
APART = 0.05


def richardson(heads: int) -> Array:
    """Return the values of heads with the windows w, w/2, w/3, ... that extrapolate to width zero."""
    return np.array([-((-1) ** h) * math.comb(heads, h) for h in range(1, heads + 1)], dtype=float)


def without_bias(dim: int, windows: ArrayLike) -> Array:
    """Return the values of two heads that leave affine functions without bias in an infinite context."""
    w = np.asarray(windows, dtype=float)
    nu = dim / 2 - 1
    # A head in an infinite context multiplies linear functions by this, which is odd in w, and leaves
    # constants as they are. So the values must sum to one, and their products with these factors, too.
    shrink = np.sign(w) * ive(nu + 1, np.abs(w)) / ive(nu, np.abs(w))
    return np.linalg.solve([[1.0, 1.0], shrink], [1.0, 1.0])


@dataclass(frozen=True)
class WithDerivative:
    """The best head together with its derivative in w: ``value * head + coefficient * d head / dw``.

    Attributes:
        w: The window parameter.
        value: The factor of the head.
        coefficient: The factor of the derivative.
        risk: The risk.
        error: How far the risk may be from that of the limit of two merging heads, relative.
    """

    w: float
    value: float
    coefficient: float
    risk: float
    error: float


def with_derivative(task: Zonal, n: float, noise_std: float) -> WithDerivative:
    """Search the w at which a head and its derivative in w, each with the best factor, have the least risk.

    Two heads with windows on both sides of w and the best values stand for the head and its derivative. Their
    risk is exact and tends to the least one with the square of the distance of the windows. So the error is
    taken to be the change of the risk when this distance is halved.
    """
    # The search is in x = arsinh w.
    moments = Moments(task, float(n), FINE)

    def risk(x: float, apart: float = 2 * APART) -> float:
        return moments.best_values(_beside(x, apart), noise_std**2)[1]

    # On affine functions the best w is near zero, and may be negative.
    grid = np.linspace(-0.3, float(np.arcsinh(optimal_window(task, n, noise_std).w)), 10)
    first, step = min(grid.tolist(), key=risk), grid[1] - grid[0]
    bounds = first - step, first + step
    found = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 5 * SEARCH})
    windows = _beside(found.x, APART)
    values, least = moments.best_values(windows, noise_std**2)
    # Both windows are half their difference away from w, one above and one below, so that to first order the
    # two heads are their sum of values times the head, and this coefficient times its derivative.
    return WithDerivative(
        w=float(np.sinh(found.x)),
        value=float(values.sum()),
        coefficient=float((values[0] - values[1]) * (windows[0] - windows[1]) / 2),
        risk=least,
        error=abs(found.fun / least - 1),
    )


def _beside(x: float, apart: float) -> Array:
    """Return two windows, on both sides of sinh x, whose arsinh differ by ``apart``."""
    return np.sinh(x + np.array([apart, -apart]) / 2)


def added_heads(task: Zonal, n: float, noise_std: float) -> tuple[float, float]:
    """Search the least risk of one or two heads with positive values, and return it with its relative error.

    Where the best values of a pair have opposite signs, the best positive ones are those of a single head.
    """
    moments = Moments(task, float(n), ROUGH)
    width = float(np.arcsinh(optimal_window(task, n, noise_std).w))

    def risk(x: Array) -> float:
        """Return the risk of the best values at windows ``sinh x``, or infinity.

        It is infinite if the windows are too near or too large, and if a best value is not positive.
        """
        if np.ptp(x) < 2 * APART or np.abs(x).max() > width + 0.7:
            return math.inf
        values, least = moments.best_values(np.sinh(x), noise_std**2)
        return least if values.min() > 0 else math.inf

    # The search starts at the best pair of these.
    grid = width * np.array([-1.2, -1.0, -0.7, -0.4, -0.1, 0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2])
    single = optimal_heads(task, n, noise_std, heads=1)
    first = min((np.array(pair) for pair in combinations(grid, 2)), key=risk)
    if risk(first) == math.inf:
        return single.risk, single.error
    options = {"xatol": SEARCH, "fatol": 1e-6 * single.risk}
    found = minimize(risk, first, method="Nelder-Mead", options=options)
    pair = best_values(task, np.sinh(found.x), n, noise_std)[1]
    return min((single.risk, single.error), (pair, abs(found.fun / pair - 1)))


def best_values(task: Zonal, windows: ArrayLike, n: float, noise_std: float) -> tuple[Array, float]:
    """Return the best values of heads with these windows, and their risk."""
    moments = Moments(task, float(n), FINE)
    return moments.best_values(np.asarray(windows, dtype=float), noise_std**2)


def best_factor(
    task: Zonal, windows: ArrayLike, values: ArrayLike, n: float, noise_std: float
) -> tuple[float, float]:
    """Search the best common factor of all windows for heads of these values, and return it with the risk.

    The factor is searched from 0.55 to 13.
    """
    moments = Moments(task, float(n), FINE)
    w, v = np.asarray(windows, dtype=float), np.asarray(values, dtype=float)

    def risk(log_factor: float) -> float:
        bias, noise = moments.bias_and_noise(math.exp(log_factor) * w, v)
        return bias + noise_std**2 * noise

    grid = np.linspace(-0.4, 2.4, 15)
    # Factors that are neighbors on the grid differ by 0.2 in their logarithms.
    first = float(min(grid.tolist(), key=risk))
    bounds = first - 0.2, first + 0.2
    found = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": SEARCH})
    return math.exp(found.x), float(found.fun)


def affine_slopes(
    *,
    dims: Sequence[int],
    windows: tuple[float, float],
    n_values: tuple[float, float],
    noise_std: float,
) -> pd.DataFrame:
    """Return the slope in log n of the log risk of two heads with the values of `without_bias`.

    The functions are affine, with L = 1, and the slope is taken between the two ``n_values``.

    Returns:
        Columns ``task``, ``dim``, ``heads``; ``value``, the slope, and its numerical ``error``.
    """
    rows = []
    for dim in dims:
        values = without_bias(dim, windows)
        risk = heads_risk(Affine(dim), windows, values, n_values, noise_std)
        slope, error = log_slope(n_values, risk.total, risk.error)
        row = {"task": "affine", "dim": dim, "heads": 2}
        rows.append(row | {"value": slope, "error": error})
    return pd.DataFrame(rows)


def wave_slopes(
    *,
    dims: Sequence[int],
    heads: Sequence[int],
    n_values: tuple[float, float],
    noise_std: float,
    averaged: bool = False,
) -> pd.DataFrame:
    """Return the slope in log n of the log risk of heads with windows w, w/2, ... at the best w.

    The functions are waves ``cos(2 u.x + phase)``, and the slope is taken between the two ``n_values``. The
    values are those of `richardson`, or all the same if the heads are ``averaged``.

    Args:
        dims: Dimensions d.
        heads: Numbers of heads.
        n_values: Two context lengths.
        noise_std: Standard deviation of the label noise.
        averaged: Whether all values are one over the number of heads.

    Returns:
        Columns ``task``, ``dim``, ``heads``; ``value``, the slope; ``error``, numerical and of the search.
    """
    rows = []
    for dim, many in product(dims, heads):
        values = np.full(many, 1 / many) if averaged else richardson(many)
        task = PhasedCosine(dim, 2.0)
        found = [search_w(task, values, n, noise_std) for n in n_values]
        _, risks, errors = zip(*found, strict=True)
        slope, error = log_slope(n_values, risks, errors)
        row = {"task": "waves", "dim": dim, "heads": many}
        rows.append(row | {"value": slope, "error": error})
    return pd.DataFrame(rows)


def search_w(task: Zonal, values: Array, n: float, noise_std: float) -> tuple[float, float, float]:
    """Return the best w of heads with the windows w, w/2, w/3, ..., their risk, and its relative error.

    log w is searched from 4 below that of the best single head to 0.5 above it.
    """
    start = math.log(float(optimal_window(task, n, noise_std).w))

    def log_risk(log_w: float) -> float:
        windows = math.exp(log_w) / np.arange(1, values.size + 1)
        return math.log(heads_risk(task, windows, values, n, noise_std).total)

    found = minimize_scalar(
        log_risk,
        bounds=(start - 4, start + 0.5),
        method="bounded",
        options={"xatol": SEARCH},
    )
    # The best log w is at most SEARCH away. If the log risk is convex, it falls by less on the way there than
    # it rises in the other direction, which bounds the error; 1e-8 is for the numerical error of both risks.
    beside = max(log_risk(found.x - SEARCH), log_risk(found.x + SEARCH))
    return math.exp(found.x), math.exp(found.fun), beside - found.fun + 1e-8


def limit(order: float, m: int, widths: ArrayLike, nodes: int = 16) -> tuple[float, Array]:
    """Compare heads with kriging in the limit of long contexts, for a class of this order, 0 < order < 4.

    The risk of heads is that of kriging plus the integral of ``(phi - kriging's factor)^2`` with the weight
    ``x^(-1-order) + x^(m-1)``, which converges at x = 0 for orders below 4, as phi is 1 - O(x^2). The
    integral is minimized by least squares on Gauss nodes in log x.

    Args:
        order: The order of the class.
        m: The dimension of the sphere, d - 1.
        widths: ``alpha_h``, all different, (heads,).
        nodes: Gauss nodes for each unit of log x.

    Returns:
        The risk with the best values that sum to one, divided by kriging's risk, and these values.
    """
    alpha = np.asarray(widths, dtype=float)
    node, weight = np.polynomial.legendre.leggauss(nodes)
    # Each panel is one unit of log x.
    starts = np.arange(-16.0, 8.0)
    x = np.exp(starts[:, None] + (node + 1) / 2).ravel()
    root = np.sqrt(np.tile(weight / 2, starts.size) * (x**-order + x**m))
    # For small x digits are lost unless one is subtracted from exp(-alpha x^2 / 2). Newton's divided
    # differences in alpha, one row each, keep the least squares well conditioned for heads that nearly
    # coincide.
    newton = np.expm1(-np.outer(alpha, x**2) / 2)
    # This matrix turns coefficients of `newton` into values.
    change = np.eye(alpha.size)
    for step in range(1, alpha.size):
        gap = (alpha[step:] - alpha[:-step])[:, None]
        newton[step:] = (newton[step:] - newton[step - 1 : -1]) / gap
        change[step:] = (change[step:] - change[step - 1 : -1]) / gap
    # Dividing by the sizes of the columns keeps the least squares well conditioned, too.
    columns = (root * newton).T
    size = np.linalg.norm(columns, axis=0)
    # This is one minus kriging's factor: 1 / (1 + x^-(m + order)), whose power may overflow.
    kriging = expit((m + order) * np.log(x))
    # As the values sum to one, phi is one plus a combination of the rows of `newton` in which the first has
    # the coefficient one, and the others are free. Times root, kriging's factor minus phi is `missed`.
    target = -root * kriging - columns[:, 0]
    free = np.linalg.lstsq(columns[:, 1:] / size[1:], target, rcond=None)[0] / size[1:]
    missed = target - columns[:, 1:] @ free
    # This is what kriging itself loses, the integral of x^(m-1) / (1 + x^(m+order)).
    least = math.pi / (m + order) / math.sin(math.pi * m / (m + order))
    return 1 + float(missed @ missed) / least, np.append(1.0, free) @ change


def least_limits(
    order: float, m: int, max_heads: int, apart: float = 0.02
) -> list[tuple[float, Array]]:
    """Search the widths alpha_h with the least risk over kriging's in long contexts, which `limit` returns.

    There is a search for 1, 2, ... up to ``max_heads`` heads, among widths that differ by the factor
    ``exp(apart)`` or more. Often the risk falls as two widths approach each other. Then no widths attain its
    infimum, which is below what is found here.

    Returns:
        For each number of heads the least risk that was found over kriging's, and the widths, ascending.
    """

    def lost(log_widths: Array) -> float:
        """Return the risk over kriging's, or a large number for widths outside the search."""
        ordered = np.sort(log_widths)
        if np.diff(ordered).min(initial=math.inf) < apart or np.ptp(ordered) > 12:
            return 1e9
        return limit(order, m, np.exp(ordered))[0]

    found: list[tuple[float, Array]] = []
    for heads in range(1, max_heads + 1):
        # A single head starts at the logarithm 1 of its width. For more heads two searches start at the best
        # heads of one fewer, with another head on either side of them, and one at heads that stand close
        # together.
        fewer = np.log(found[-1][1]) if found else np.zeros(0)
        beside = [[1.0]] if heads == 1 else [fewer[-1:] + 0.4, fewer[:1] - 1.5]
        spread = 1.0 + 0.3 * heads + 2 * apart * np.arange(heads)
        best = math.inf, np.zeros(heads)
        for start in (*(np.append(fewer, one) for one in beside), spread, None):
            # The last search, without a start, begins at the best heads of the others.
            first = np.log(best[1]) if start is None else start
            simplex = first + np.vstack([np.zeros(heads), 0.3 * np.eye(heads)])
            options = {"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-9}
            end = minimize(lost, first, method="Nelder-Mead", options=options)
            if end.fun < best[0]:
                best = float(end.fun), np.exp(np.sort(end.x))
        found.append(best)
    return found


def rough(dim: int, order: float, degrees: int, parity: int | None = None) -> Spectrum:
    """Return a class of variance one with ``a_l / N_l`` proportional to ``(l + d / 2 - 1)^-(d - 1 + order)``.

    Args:
        dim: The dimension d.
        order: The order of the class.
        degrees: The last degree.
        parity: 0 leaves only even degrees, 1 only odd ones, None all.
    """
    degree = np.arange(degrees + 1)
    power = np.zeros(degrees + 1)
    # The square of l + d / 2 - 1 is the Laplacian's eigenvalue l (l + d - 2) plus a constant.
    each = (degree[1:] + dim / 2 - 1) ** -(dim - 1.0 + order)
    power[1:] = multiplicity(dim, degrees)[1:] * each
    if parity is not None:
        power[degree % 2 != parity] = 0.0
    return Spectrum(dim, tuple(power / power.sum()))


def against_kriging(
    *,
    dim: int,
    order: float,
    heads: int,
    n: float,
    noise_std: float,
    degrees: int,
    parity: int | None = None,
) -> pd.DataFrame:
    """Compare the `limit` of heads over kriging with their exact risk in a long context, for a `rough` class.

    Windows and values are those of the limit, at the scale of kriging's filter; nothing is fitted. The widths
    differ by a factor of 1.5 or more, so that the exact risk loses no digits.

    Args:
        dim: The dimension d.
        order: The order of the class.
        heads: The largest number of heads.
        n: The context length.
        noise_std: Standard deviation of the label noise.
        degrees: The last degree of the class.
        parity: The parity of the class, as in `rough`.

    Returns:
        A row for 1, 2, ... up to ``heads`` heads: ``dim``, ``order``, ``heads``, ``n``; ``exact``, the exact
        risk over the lower bound of kriging's; ``limit``, and its numerical ``error``.
    """
    task = rough(dim, order, degrees, parity)
    m = dim - 1
    # This is the last degree that the class has.
    last = degrees - (parity is not None and (degrees - parity) % 2)
    level = task.power[last] / multiplicity(dim, last)[-1]
    # Degree l stands at x = (l + d / 2 - 1) scale^(-1 / (m + order)), as kriging's filter has
    # n a_l / (N_l sigma^2) = scale / (l + d / 2 - 1)^(m + order); any degree of the parity gives the scale.
    scale = n * level / noise_std**2 * (last + dim / 2 - 1) ** (m + order)
    kriging = kriging_bounds(task, n, noise_std)
    rows = []
    least = least_limits(order, m, heads, apart=math.log(1.5))
    for many, (ratio, widths) in enumerate(least, start=1):
        again, values = limit(order, m, widths, nodes=24)
        windows = scale ** (2 / (m + order)) / widths
        risk = heads_risk(task, windows, values, n, noise_std)
        row = {"dim": dim, "order": order, "heads": many, "n": n}
        row |= {"exact": float(risk.total / kriging.lower)}
        rows.append(row | {"limit": again, "error": abs(again - ratio)})
    return pd.DataFrame(rows)


def between(
    tasks: Sequence[Zonal],
    *,
    n_values: Sequence[int],
    noise_std: float,
    draws: int,
    more: int = 1,
) -> pd.DataFrame:
    """Locate the sampled risk of kriging between its bounds: 0 is the lower one and 1 the upper one.

    Kriging has ``more * n`` tokens, and the bounds are those for n.

    Returns:
        Columns ``task``, ``dim``, ``n``, ``value``, the place; ``low`` and ``high``, its interval.
    """
    rows = []
    for task, n in product(tasks, n_values):
        bounds = kriging_bounds(task, n, noise_std)
        found = bayes_linear_risk(task, more * n, noise_std, draws)
        place = [
            float((risk - bounds.lower) / (bounds.upper - bounds.lower))
            for risk in (found.mean, *found.interval)
        ]
        row = {"task": task.label, "dim": task.dim, "n": n}
        rows.append(row | dict(zip(("value", "low", "high"), place, strict=True)))
    return pd.DataFrame(rows)
