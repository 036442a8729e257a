"""Measurements of the appendix: matrices that are not multiples of I, bounds over all Lipschitz functions.

Symbols:
    x_i, x_q: Tokens and query, on the unit sphere of dimension dim.
    omega_i: The weight of token i, ``exp(w x_i.x_q)`` over the sum of these.
    n: The number of tokens beside the query.
    L: The Lipschitz constant ``lipschitz``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from icl.risk import matrix_risk, optimal_window, population_risk
from icl.risk.numerics.integrals import attended_gegenbauer_means
from icl.tasks import Cosine, Linear, ReLU, Zonal, make_task
from icl_book.measurements import losses_of_matrices


def other_matrices(
    *, dims: Sequence[int], n_values: Sequence[int], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return `losses_of_matrices` of affine and ReLU functions, with columns ``task``, ``dim`` and ``n``."""
    parts = []
    for name, dim, n in product(("affine", "ReLU"), dims, n_values):
        task = make_task(name, dim, lipschitz)
        found = losses_of_matrices(task, n=n, noise_std=noise_std)
        parts.append(found.assign(task=name, dim=dim, n=n))
    return pd.concat(parts, ignore_index=True)


def turned_waves(task: Zonal, *, n: int) -> dict[str, float]:
    """Return the least risk of w times the rotation by 90°, d = 2, over that of multiples of I, minus one.

    There is no noise. The w of the rotation is searched from half to twice the best w of multiples of I. The
    result has ``value``, and its numerical ``error``, which is absolute.
    """
    best = optimal_window(task, n=n, noise_std=0.0)
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])
    found = minimize_scalar(
        lambda w: matrix_risk(task, w * rotation, n=n, noise_std=0.0).total,
        bounds=(0.5 * float(best.w), 2 * float(best.w)),
        method="bounded",
    )
    risk = matrix_risk(task, float(found.x) * rotation, n=n, noise_std=0.0)
    ratio = float(risk.total / best.risk)
    # The relative error of the best w is more than that of the risk, which is flat there.
    return {"value": ratio - 1, "error": ratio * float(risk.error + best.error)}


def steepest(slopes: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """Search the largest difference quotient of ``a max(q.x, 0) + b max(-q.x, 0)``, over max(|a|, |b|).

    Here q is a unit vector, and each entry of ``slopes`` is a pair (a, b). The closest points with given
    values lie on one great circle through q, so a search over pairs of angles serves every dimension. Angles
    are measured from the kink, so that close points keep their digits.

    Returns:
        Columns ``first`` and ``second``, which are a and b, ``value``, and ``bound``, one.
    """
    off_kink = np.geomspace(1e-6, np.pi / 2, 150)
    angle = np.concatenate([-off_kink, [0.0], off_kink])
    height = np.sin(angle)
    chord = 2 * np.sin(np.abs(angle[:, None] - angle) / 2)
    # A point and itself have no quotient.
    chord[chord == 0] = np.inf
    rows = []
    for first, second in slopes:
        f = first * np.maximum(height, 0) + second * np.maximum(-height, 0)
        quotient = np.max(np.abs(f[:, None] - f) / chord)
        value = quotient / max(abs(first), abs(second))
        rows.append({"first": first, "second": second, "value": value, "bound": 1.0})
    return pd.DataFrame(rows)


def largest_bias(*, dim: int, w: float, n: float, lipschitz: float) -> tuple[float, float]:
    """Return a bound on the bias of every L-Lipschitz function, ``2 L^2 (1 - E sum_i omega_i x_i.x_q)``.

    It is ``L^2 E sum_i omega_i |x_i - x_q|^2``, above the bias by Jensen's inequality. The second
    number is what a coarser Gauss rule changes.
    """
    # The first Gegenbauer polynomial of the angle is its cosine, x_i.x_q.
    fine, coarse = (
        2 * lipschitz**2 * (1 - attended_gegenbauer_means(dim, w, n, 1, order)[0])
        for order in (16, 12)
    )
    return float(fine), float(abs(fine - coarse))


def worst_slopes(
    *, dims: Sequence[int], n_values: tuple[float, float], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return local slopes in log n, between two lengths, of risks with the window of the ReLU class.

    Returns:
        Columns ``dim``; ``functions``: "Lipschitz", of a risk that no L-Lipschitz function exceeds, or
        "rougher", of that of ``L cos(sqrt(w) u.x)``, u a unit vector, which is not L-Lipschitz; ``value``,
        the slope, and its absolute ``error``.
    """
    rows = []
    step = np.log(n_values[1] / n_values[0])
    for dim in dims:
        found: dict[str, list[tuple[float, float]]] = {"Lipschitz": [], "rougher": []}
        for n in n_values:
            task = ReLU(dim, lipschitz=lipschitz)
            w = float(optimal_window(task, n=n, noise_std=noise_std).w)
            noise = float(population_risk(task, w, n, noise_std).noise)
            bias, error = largest_bias(dim=dim, w=w, n=n, lipschitz=lipschitz)
            # The window is known to a relative 1e-10, and the noise to less: 1e-9 is more than both change.
            relative = error / (bias + noise) + 1e-9
            found["Lipschitz"].append((bias + noise, relative))
            # These have amplitude one, so that their bias is multiplied by L^2.
            waves = population_risk(Cosine(dim, lipschitz=w**0.5), w, n, 0.0)
            rough = lipschitz**2 * float(waves.bias) + noise
            found["rougher"].append((rough, float(waves.error) + 1e-9))
        for functions, ((risk_few, error_few), (risk_many, error_many)) in found.items():
            rows.append(
                {
                    "dim": dim,
                    "functions": functions,
                    "value": np.log(risk_many / risk_few) / step,
                    "error": (error_few + error_many) / step,
                }
            )
    return pd.DataFrame(rows)


def waves(*, dim: int, n: float, lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the bias of waves of slope L with the window of the ReLU class, against their wavenumber.

    The amplitude is L over the wavenumber b, so that the slope is L for each b. Columns ``wavenumber``,
    ``bias``, ``affine``, that of affine functions of slope L everywhere, ``bound``, which holds for every
    L-Lipschitz function, and ``w``.
    """
    task: Zonal = ReLU(dim, lipschitz=lipschitz)
    w = float(optimal_window(task, n=n, noise_std=noise_std).w)
    bound, _ = largest_bias(dim=dim, w=w, n=n, lipschitz=lipschitz)
    # Slopes of the affine class are at most L; all linear functions have the slope L.
    affine = float(population_risk(Linear(dim, lipschitz), w, n, 0.0).bias)
    rows = []
    for b in np.geomspace(0.3, 60, 40):
        bias = float(population_risk(Cosine(dim, lipschitz=b), w, n, 0.0).bias)
        rows.append({"wavenumber": b, "bias": bias * (lipschitz / b) ** 2})
    return pd.DataFrame(rows).assign(affine=affine, bound=bound, w=w)
