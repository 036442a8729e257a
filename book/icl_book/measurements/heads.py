"""Several heads: a head and its derivative, heads in longer contexts, rates, and kriging between its bounds.

Heads have windows w_h and values v_h, and predict ``sum_h v_h sum_i omega_i(w_h) y_i`` (`icl.risk.heads`).
The best values at given windows are those of the least risk. Symbols:

- m is d - 1, the dimension of the sphere;
- a_l is the coefficient of a class in degree l, and N_l the number of harmonics of this degree;
- the order of a class is the number ``order`` with which ``a_l / N_l`` falls like ``l^-(m + order)``;
- alpha_h is the width of a head, which has the window ``w / alpha_h``;
- ``phi(x) = sum_h v_h exp(-alpha_h x^2 / 2)``. In long contexts heads multiply harmonics of degree
  ``x sqrt(w)`` by this factor;
- ``1 / (1 + x^(m + order))`` is the factor by which kriging multiplies these harmonics in long contexts, if
  kriging halves the harmonics of degree ``sqrt(w)``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, minimize, minimize_scalar
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
#: Gauss nodes of `icl.risk.heads.Moments` in each panel. A search among heads that are far apart needs fewer.
FINE, ROUGH = 16, 10
#: Two heads stand for a head and its derivative if the arsinh of their windows differ by this much.
APART = 0.05


def richardson(heads: int) -> Array:
    """Return the values of heads with the windows w, w/2, w/3, ... that extrapolate to width zero."""
    return np.array([-((-1) ** h) * math.comb(heads, h) for h in range(1, heads + 1)], dtype=float)


def without_bias(dim: int, windows: ArrayLike) -> Array:
    """Return the values of two heads that predict affine functions without bias in an infinite context."""
    w = np.asarray(windows, dtype=float)
    nu = dim / 2 - 1
    # In an infinite context a head leaves constants as they are, and multiplies linear functions by this
    # number, which is odd in w. So the values must sum to one, and so must the values times these numbers.
    shrink = np.sign(w) * ive(nu + 1, np.abs(w)) / ive(nu, np.abs(w))
    return np.linalg.solve([[1.0, 1.0], shrink], [1.0, 1.0])


@dataclass(frozen=True)
class WithDerivative:
    """The best head with its derivative in w: the predictor ``value * head + coefficient * d head / dw``.

    ``risk`` is the exact risk of the two heads that stand for this predictor, and ``error`` the estimated
    relative difference between ``risk`` and the risk of the predictor.
    """

    w: float
    value: float
    coefficient: float
    risk: float
    error: float


def search_with_derivative(task: Zonal, n: float, noise_std: float) -> WithDerivative:
    """Search the w at which a head and its derivative in w, with the best factors, have the least risk.

    Two heads with windows slightly above and below w stand for the head and its derivative. This changes the
    risk by about the square of the distance between the windows. So the error is taken to be the change of
    the risk when the distance is halved.
    """
    moments = Moments(task, float(n), FINE)

    # The search is in x = arsinh w.
    def compute_risk(x: float) -> float:
        return moments.best_values(_place_around(x, 2 * APART), noise_std**2)[1]

    # On affine functions the best w is near zero, and may be negative.
    grid = np.linspace(-0.3, float(np.arcsinh(optimal_window(task, n, noise_std).w)), 10)
    first = min(grid.tolist(), key=compute_risk)
    step = grid[1] - grid[0]
    found = minimize_scalar(
        compute_risk,
        bounds=(first - step, first + step),
        method="bounded",
        # The risk changes little near its minimum, so that this search may be coarser than others.
        options={"xatol": 5 * SEARCH},
    )
    # At the best x the distance is halved.
    windows = _place_around(found.x, APART)
    values, least = moments.best_values(windows, noise_std**2)
    # The windows are about w + delta and w - delta, so to first order the two heads are
    # (v_1 + v_2) * head + (v_1 - v_2) delta * d head / dw.
    return WithDerivative(
        w=float(np.sinh(found.x)),
        value=float(values.sum()),
        coefficient=float((values[0] - values[1]) * (windows[0] - windows[1]) / 2),
        risk=least,
        error=abs(found.fun / least - 1),
    )


def _place_around(x: float, apart: float) -> Array:
    """Return one window above and one below sinh x, whose arsinh differ by ``apart``."""
    return np.sinh(x + np.array([apart, -apart]) / 2)


def search_added_heads(task: Zonal, n: float, noise_std: float) -> tuple[float, float]:
    """Search the least risk of one or two heads with positive values, and return it with its relative error.

    Two windows whose best values have opposite signs are left out. With positive values they would not be
    better than one of them alone.
    """
    # The search is in x = arsinh w.
    moments = Moments(task, float(n), ROUGH)
    best_x = float(np.arcsinh(optimal_window(task, n, noise_std).w))

    def compute_risk(x: Array) -> float:
        """Return the risk of the best values at the windows ``sinh x``, or infinity for a pair left out."""
        if np.ptp(x) < 2 * APART or np.abs(x).max() > best_x + 0.7:
            return math.inf
        values, least = moments.best_values(np.sinh(x), noise_std**2)
        return least if values.min() > 0 else math.inf

    grid = best_x * np.array([-1.2, -1.0, -0.7, -0.4, -0.1, 0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2])
    single = optimal_heads(task, n, noise_std, heads=1)
    first = min((np.array(pair) for pair in combinations(grid, 2)), key=compute_risk)
    if compute_risk(first) == math.inf:
        return single.risk, single.error
    options = {"xatol": SEARCH, "fatol": 1e-6 * single.risk}
    found = minimize(compute_risk, first, method="Nelder-Mead", options=options)
    # The risk is computed again with more nodes.
    pair_risk = best_values(task, np.sinh(found.x), n, noise_std)[1]
    pair_error = abs(found.fun / pair_risk - 1)
    return min((single.risk, single.error), (pair_risk, pair_error))


def best_values(task: Zonal, windows: ArrayLike, n: float, noise_std: float) -> tuple[Array, float]:
    """Return the best values of heads with these windows, and their risk."""
    moments = Moments(task, float(n), FINE)
    return moments.best_values(np.asarray(windows, dtype=float), noise_std**2)


def best_factor(
    task: Zonal, windows: ArrayLike, values: ArrayLike, n: float, noise_std: float
) -> tuple[float, float]:
    """Search the best factor of all windows for fixed values, and return it with its risk."""
    moments = Moments(task, float(n), FINE)
    w = np.asarray(windows, dtype=float)
    v = np.asarray(values, dtype=float)

    def compute_risk(log_factor: float) -> float:
        bias, noise = moments.bias_and_noise(math.exp(log_factor) * w, v)
        return bias + noise_std**2 * noise

    # The search refines the best point of this grid of log factors, whose step is 0.2.
    grid = np.linspace(-0.4, 2.4, 15)
    first = float(min(grid.tolist(), key=compute_risk))
    found = minimize_scalar(
        compute_risk,
        bounds=(first - 0.2, first + 0.2),
        method="bounded",
        options={"xatol": SEARCH},
    )
    return math.exp(found.x), float(found.fun)


def affine_slopes(
    *,
    dims: Sequence[int],
    windows: tuple[float, float],
    n_values: tuple[float, float],
    noise_std: float,
) -> pd.DataFrame:
    """Return the slope of log risk in log n, between two ``n_values``, for two heads on affine functions.

    The two heads have given ``windows``, and the values of `without_bias`.
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
    """Return the slope of log risk in log n, between two lengths, for several heads on waves.

    The heads have the windows w, w/2, w/3, ..., with the best w at each length, and the values of
    `richardson`, or equal values if ``averaged`` is true.
    """
    rows = []
    for dim, many in product(dims, heads):
        values = richardson(many)
        if averaged:
            values = np.full(many, 1 / many)
        task = PhasedCosine(dim, 2.0)
        found = [search_w(task, values, n, noise_std) for n in n_values]
        _, risks, errors = zip(*found, strict=True)
        slope, error = log_slope(n_values, risks, errors)
        row = {"task": "waves", "dim": dim, "heads": many}
        rows.append(row | {"value": slope, "error": error})
    return pd.DataFrame(rows)


def search_w(task: Zonal, values: Array, n: float, noise_std: float) -> tuple[float, float, float]:
    """Search the best w of heads with the windows w, w/2, w/3, ... and these values.

    The result is the best w, the risk, and the relative error of the risk.
    """
    # log w is searched from 4 below that of the best single head to 0.5 above it. The values of `richardson`
    # permit wider windows, and two averaged heads need a w that is about 1.5 times that of a single head.
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
    # The best log w is at most SEARCH away. If the log risk is convex, it falls on the way to the best log w
    # by at most as much as it rises over SEARCH in the opposite direction. This rise bounds the error of the
    # search, and 1e-8 is more than the numerical errors of the risks.
    rise = max(log_risk(found.x - SEARCH), log_risk(found.x + SEARCH)) - found.fun
    return math.exp(found.x), math.exp(found.fun), rise + 1e-8


def compute_limit(order: float, m: int, widths: ArrayLike, nodes: int = 16) -> tuple[float, Array]:
    """Compare heads with kriging in the limit of long contexts.

    Up to a common factor, the risk of heads is the risk of kriging plus the integral over x of
    ``(phi(x) - kriging's factor)^2`` with the weight ``x^(-1-order) + x^(m-1)``. At x = 0 the integral
    converges if the order is below 4, since phi(x) = 1 - O(x^2). The integral is minimized over the values by
    least squares, on Gauss nodes in log x.

    Returns:
        The risk of heads with the best values, over the risk of kriging; and these values, which sum to one.
    """
    alpha = np.asarray(widths, dtype=float)
    node, weight = np.polynomial.legendre.leggauss(nodes)
    # Each panel is one unit of log x. Outside of them the integral is negligible, unless the order is near 4.
    starts = np.arange(-16.0, 8.0)
    x = np.exp(starts[:, None] + (node + 1) / 2).ravel()
    # These are square roots of the weights for the integral over log x, with dx = x d(log x).
    root = np.sqrt(np.tile(weight / 2, starts.size) * (x**-order + x**m))
    # The rows begin as exp(-alpha x^2 / 2) - 1, which keeps its digits for small x. The loop makes row k the
    # divided difference of the first k + 1 rows in alpha, since rows with nearly equal alpha are too similar.
    newton = np.expm1(-np.outer(alpha, x**2) / 2)
    # This matrix turns coefficients of the divided differences into values of heads.
    change = np.eye(alpha.size)
    for step in range(1, alpha.size):
        gap = (alpha[step:] - alpha[:-step])[:, None]
        newton[step:] = (newton[step:] - newton[step - 1 : -1]) / gap
        change[step:] = (change[step:] - change[step - 1 : -1]) / gap
    # The least squares below divide each column by its size, so that they are well conditioned.
    columns = (root * newton).T
    size = np.linalg.norm(columns, axis=0)
    # This is one minus kriging's factor, or 1 / (1 + x^-(m + order)). `expit` prevents an overflow.
    one_minus_factor = expit((m + order) * np.log(x))
    # phi is one, plus a combination of the rows of `newton`. As the values sum to one, the first row has the
    # coefficient one. The other coefficients are free. `missed` is root times (kriging's factor - phi).
    target = -root * one_minus_factor - columns[:, 0]
    free = np.linalg.lstsq(columns[:, 1:] / size[1:], target, rcond=None)[0] / size[1:]
    missed = target - columns[:, 1:] @ free
    # This is the risk of kriging, up to the common factor: the integral of x^(m-1) / (1 + x^(m+order)).
    kriging_risk = math.pi / (m + order) / math.sin(math.pi * m / (m + order))
    return 1 + float(missed @ missed) / kriging_risk, np.append(1.0, free) @ change


def least_limits(
    order: float, m: int, max_heads: int, apart: float = 0.02
) -> list[tuple[float, Array]]:
    """Search the best widths alpha_h of 1, 2, ..., ``max_heads`` heads in long contexts.

    For each number of heads, the result has the least risk over the risk of kriging, and the widths,
    ascending. Any two widths differ by a factor of at least ``exp(apart)``. Often the risk falls as two
    widths approach each other, so that its infimum over all widths is not attained.
    """

    def compute_ratio(log_widths: Array) -> float:
        """Return the risk over the risk of kriging, or a large number for widths outside the search."""
        ordered = np.sort(log_widths)
        if np.diff(ordered).min(initial=math.inf) < apart or np.ptp(ordered) > 12:
            return 1e9
        return compute_limit(order, m, np.exp(ordered))[0]

    def search(start: Array) -> OptimizeResult:
        simplex = start + np.vstack([np.zeros(start.size), 0.3 * np.eye(start.size)])
        options = {"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-9}
        return minimize(compute_ratio, start, method="Nelder-Mead", options=options)

    found: list[tuple[float, Array]] = []
    for heads in range(1, max_heads + 1):
        if heads == 1:
            starts = [np.array([1.0])]
        else:
            # The best heads of the last round get another head, wider or narrower than all of them.
            fewer = np.log(found[-1][1])
            starts = [np.append(fewer, fewer[-1] + 0.4), np.append(fewer, fewer[0] - 1.5)]
        # These heads have nearly equal widths.
        starts.append(1.0 + 0.3 * heads + 2 * apart * np.arange(heads))
        best = min([search(start) for start in starts], key=lambda end: end.fun)
        # Nelder-Mead may stop early, so one more search starts at the best widths.
        widths = np.exp(np.sort(best.x))
        again = search(np.log(widths))
        if again.fun < best.fun:
            best = again
            widths = np.exp(np.sort(again.x))
        found.append((float(best.fun), widths))
    return found


def make_rough_class(dim: int, order: float, degrees: int, parity: int | None = None) -> Spectrum:
    """Return a class of variance one with ``a_l / N_l`` proportional to ``(l + d / 2 - 1)^-(d - 1 + order)``.

    The degrees are 1 to ``degrees``, or only the even ones if ``parity`` is 0, and only the odd ones if it is
    1.
    """
    degree = np.arange(degrees + 1)
    power = np.zeros(degrees + 1)
    # The square of l + d / 2 - 1 is the Laplacian's eigenvalue l (l + d - 2) plus a constant.
    each = (degree[1:] + dim / 2 - 1) ** -(dim - 1.0 + order)
    power[1:] = multiplicity(dim, degrees)[1:] * each
    if parity is not None:
        power[degree % 2 != parity] = 0.0
    return Spectrum(dim, tuple(power / power.sum()))


def compare_with_kriging(
    *,
    dim: int,
    order: float,
    heads: int,
    n: float,
    noise_std: float,
    degrees: int,
    parity: int | None = None,
) -> pd.DataFrame:
    """Compare a ratio in a long context with its limit: the risk of heads over the risk of kriging.

    The class is that of `make_rough_class`. The heads have the best widths and values of the limit, so that
    nothing is fitted in the long context. Any two widths differ by a factor of 1.5 or more, so that the exact
    risk keeps its digits. ``exact`` is the exact risk of the heads over the lower bound of the risk of
    kriging, and ``limit`` the limit of this ratio, whose error is ``error``.
    """
    task = make_rough_class(dim, order, degrees, parity)
    m = dim - 1
    last = degrees
    if parity is not None and (degrees - parity) % 2:
        # The class does not have the last degree.
        last = degrees - 1
    level = task.power[last] / multiplicity(dim, last)[-1]
    # The factor of kriging in degree l is 1 / (1 + 1 / r) with r = n a_l / (N_l sigma^2). For this class
    # r = scale / (l + d / 2 - 1)^(m + order), with the same scale for all of its degrees. So the variable x
    # of the limit is (l + d / 2 - 1) scale^(-1 / (m + order)), and sqrt(w) is scale^(1 / (m + order)).
    scale = n * level / noise_std**2 * (last + dim / 2 - 1) ** (m + order)
    kriging = kriging_bounds(task, n, noise_std)
    rows = []
    least = least_limits(order, m, heads, apart=math.log(1.5))
    for many, (ratio, widths) in enumerate(least, start=1):
        # The limit with more nodes gives the error.
        again, values = compute_limit(order, m, widths, nodes=24)
        windows = scale ** (2 / (m + order)) / widths
        risk = heads_risk(task, windows, values, n, noise_std)
        row = {"dim": dim, "order": order, "heads": many, "n": n}
        row |= {"exact": float(risk.total / kriging.lower)}
        rows.append(row | {"limit": again, "error": abs(again - ratio)})
    return pd.DataFrame(rows)


def locate_between_bounds(
    tasks: Sequence[Zonal],
    *,
    n_values: Sequence[int],
    noise_std: float,
    draws: int,
    more: int = 1,
) -> pd.DataFrame:
    """Locate the sampled risk of kriging between the lower and the upper bound of `kriging_bounds`.

    The place 0 is the lower bound, and 1 is the upper bound. The bounds are for n tokens. The risk is sampled
    with ``more * n`` tokens.
    """
    rows = []
    for task, n in product(tasks, n_values):
        bounds = kriging_bounds(task, n, noise_std)
        width = bounds.upper - bounds.lower
        found = bayes_linear_risk(task, more * n, noise_std, draws)
        low, high = found.interval
        rows.append(
            {
                "task": task.label,
                "dim": task.dim,
                "n": n,
                "value": float((found.mean - bounds.lower) / width),
                "low": float((low - bounds.lower) / width),
                "high": float((high - bounds.lower) / width),
            }
        )
    return pd.DataFrame(rows)
