"""Measurements of the appendix: matrices that are not multiples of I, bounds over all Lipschitz functions.

Symbols:
    x_i, x_q: Tokens and query, on the unit sphere of dimension dim.
    omega_i: The weight of token i, ``exp(w x_i.x_q)`` over the sum of these.
    L: The Lipschitz constant ``lipschitz``.
    w: The window parameter. The window of a class is the best w for it.
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
    """Return the table of `losses_of_matrices` for affine and ReLU functions."""
    parts = []
    for name, dim, n in product(("affine", "ReLU"), dims, n_values):
        task = make_task(name, dim, lipschitz)
        found = losses_of_matrices(task, n=n, noise_std=noise_std)
        parts.append(found.assign(task=name, dim=dim, n=n))
    return pd.concat(parts, ignore_index=True)


def compare_rotation(task: Zonal, *, n: int) -> dict[str, float]:
    """Compare w times the rotation by 90° with w times the identity, for a class in dimension 2.

    There is no noise, and each of the two has its own best w. ``value`` is the least risk with the rotation
    over that with the identity, minus one.
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
    # The risk is flat at the best w, so that its relative error is below `best.error`, that of w.
    return {"value": ratio - 1, "error": ratio * float(risk.error + best.error)}


def search_steepest(slopes: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """Search the largest difference quotient of ``f(x) = a max(q.x, 0) + b max(-q.x, 0)`` on the sphere.

    Here q is a unit vector, and each entry of ``slopes`` is a pair (a, b). Two points with given values of f
    are closest if they lie on one great circle through q. So a search over pairs of angles on this circle
    serves every dimension. ``value`` is the largest quotient divided by ``max(|a|, |b|)``.
    """
    # Angles are measured from the kink of f, where q.x = 0, so that close points there keep their digits.
    off_kink = np.geomspace(1e-6, np.pi / 2, 150)
    angle = np.concatenate([-off_kink, [0.0], off_kink])
    # This is q.x.
    height = np.sin(angle)
    chord = 2 * np.sin(np.abs(angle[:, None] - angle) / 2)
    # A point and itself have the quotient 0 / inf, which is zero.
    chord[chord == 0] = np.inf
    rows = []
    for first, second in slopes:
        f = first * np.maximum(height, 0) + second * np.maximum(-height, 0)
        quotient = np.max(np.abs(f[:, None] - f) / chord)
        value = quotient / max(abs(first), abs(second))
        rows.append({"first": first, "second": second, "value": value, "bound": 1.0})
    return pd.DataFrame(rows)


def largest_bias(*, dim: int, w: float, n: float, lipschitz: float) -> tuple[float, float]:
    """Return a bound on the bias of every L-Lipschitz function, and the numerical error of the bound.

    By Jensen's inequality the bias is at most ``L^2 E sum_i omega_i |x_i - x_q|^2``, which is
    ``2 L^2 (1 - E sum_i omega_i x_i.x_q)``.
    """

    def compute_bound(order: int) -> float:
        # The Gegenbauer polynomial of degree 1 is the cosine x_i.x_q.
        mean_cosine = attended_gegenbauer_means(dim, w, n, 1, order)[0]
        return float(2 * lipschitz**2 * (1 - mean_cosine))

    fine = compute_bound(order=16)
    return fine, abs(fine - compute_bound(order=12))


def worst_slopes(
    *, dims: Sequence[int], n_values: tuple[float, float], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return the slopes of two log risks in log n, between two context lengths n.

    At each length the window is that of the ReLU class. The first risk is `largest_bias` plus the noise term.
    The second risk is that of the functions ``L cos(sqrt(w) u.x)`` with unit vectors u, which are not
    L-Lipschitz.
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
            # 1e-9 is more than the relative errors of the window and of the noise term together.
            relative = error / (bias + noise) + 1e-9
            found["Lipschitz"].append((bias + noise, relative))
            # These waves have amplitude one, and not L, so their bias is multiplied by L^2.
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


def wave_biases(*, dim: int, n: float, lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the bias of waves of slope L for many wavenumbers b, with the window of the ReLU class.

    The amplitude of a wave is L / b. ``affine`` is the bias of linear functions of slope L, and ``bound`` the
    `largest_bias`.
    """
    task: Zonal = ReLU(dim, lipschitz=lipschitz)
    w = float(optimal_window(task, n=n, noise_std=noise_std).w)
    bound, _ = largest_bias(dim=dim, w=w, n=n, lipschitz=lipschitz)
    # Functions of the affine class have slopes of at most L, while those of `Linear` all have the slope L.
    affine = float(population_risk(Linear(dim, lipschitz), w, n, 0.0).bias)
    rows = []
    for b in np.geomspace(0.3, 60, 40):
        bias = float(population_risk(Cosine(dim, lipschitz=b), w, n, 0.0).bias)
        rows.append({"wavenumber": b, "bias": bias * (lipschitz / b) ** 2})
    return pd.DataFrame(rows).assign(affine=affine, bound=bound, w=w)
