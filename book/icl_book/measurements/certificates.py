"""Measurements for the appendix in one setting: other matrices, and bounds over all Lipschitz functions."""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from icl.risk import (
    MatrixRisk,
    matrix_risk,
    optimal_window,
    population_risk,
    worst_case_risk,
)
from icl.statistics import local_slope
from icl.tasks import Cosine, Linear, ReLU, Zonal, make_task
from icl_book.measurements.sweeps import TOKENS, limit
from icl_book.measurements.tables import Row

#: Context lengths of the bound over all Lipschitz functions.
LENGTHS = np.array([1e6, 1e7, 1e8])


def other_matrices(
    kind: str, d: int, n: int, lipschitz: float, noise_std: float
) -> Row:
    """Return how much matrices that are no multiple of the identity lose against the best one, exactly.

    Each is the best w times a matrix next to the identity; ``matrix`` says which. ``value`` is its risk over
    the least one of all multiples, minus one, and ``error`` the numerical error of that.
    """
    task = make_task(kind, d, lipschitz)
    best = optimal_window(task, n, noise_std)
    quarter_turn = np.eye(d)
    quarter_turn[:2, :2] = [[0, -1], [1, 0]]
    matrices = {
        "a plane turned by 90°": quarter_turn,
        "a direction ignored": np.diag([0.0] + [1.0] * (d - 1)),
        "a direction narrower by 10 %": np.diag([1.1] + [1.0] * (d - 1)),
        "turned round": -np.eye(d),
    }
    risks = [
        matrix_risk(task, best.w * matrix, n, noise_std) for matrix in matrices.values()
    ]
    ratio = np.array([risk.total for risk in risks]) / best.risk
    error = ratio * (np.array([risk.error for risk in risks]) + best.error)
    return {"matrix": np.array(list(matrices)), "value": ratio - 1, "error": error}


def quarter_turn(task: Zonal, n: int, noise_std: float) -> Row:
    """Return the least risk of w times the rotation by 90°, d = 2, over that of multiples of I, minus one.

    ``w``, ``value`` and ``error``, the numerical error.
    """
    best = optimal_window(task, n, noise_std)
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])

    def turned(w: float) -> MatrixRisk:
        return matrix_risk(task, w * rotation, n, noise_std)

    around = (0.5 * float(best.w), 2 * float(best.w))
    w = float(
        minimize_scalar(lambda w: turned(w).total, bounds=around, method="bounded").x
    )
    found = turned(w)
    ratio = found.total / best.risk
    return {"w": w, "value": ratio - 1, "error": ratio * (found.error + best.error)}


def steepest(first: float, second: float) -> Row:
    """Search the largest difference quotient of ReLU functions with these slopes, over the larger slope.

    The closest points with given values lie on one great circle through q, so a search over pairs of angles
    serves every dimension. Angles are measured from the kink, so that close points keep their digits.
    ``value``, and ``bound``, one.
    """
    off_kink = np.geomspace(1e-6, np.pi / 2, 150)
    angle = np.concatenate([-off_kink, [0.0], off_kink])
    height, chord = np.sin(angle), 2 * np.sin(np.abs(angle[:, None] - angle) / 2)
    chord[chord == 0] = np.inf
    f = first * np.maximum(height, 0) + second * np.maximum(-height, 0)
    value = np.max(np.abs(f[:, None] - f) / chord) / max(abs(first), abs(second))
    return {"value": value, "bound": 1.0}


def worst_slope(functions: str, dim: int, lipschitz: float, noise_std: float) -> Row:
    """Return the exponent in n of the worst risk with the window of the ReLU class, a `sweeps.limit`.

    Of "Lipschitz" functions: of a number that no L-Lipschitz function exceeds; of "rougher" ones, cos(sqrt(w)
    u.x) of amplitude L, which is not L-Lipschitz. Infinitely many tokens calibrate.
    """

    def risk(w: float, n: float, sigma: float) -> float:
        if functions == "Lipschitz":
            return worst_case_risk(dim, w, int(n), sigma, lipschitz).upper
        return (
            float(population_risk(Cosine(dim, w**0.5), w, n, sigma).total)
            * lipschitz**2
        )

    def slope(more: float) -> tuple[Any, Any]:
        n, sigma = LENGTHS * more, noise_std * more**0.5
        windows = optimal_window(ReLU(dim, lipschitz), n, sigma).w
        return local_slope(
            LENGTHS, [risk(float(w), m, sigma) for w, m in zip(windows, n, strict=True)]
        )

    return limit(slope, -2 / (dim + 2) if functions == "Lipschitz" else 0.0, TOKENS)


def bracket(dim: int, n: int, lipschitz: float, noise_std: float) -> Row:
    """Return the bias of waves of slope L with the window of the ReLU class, against their wavenumber.

    ``wavenumber``, ``bias``, ``affine``, that of affine functions of slope L everywhere, ``bound``, which no
    L-Lipschitz function exceeds, and ``w``.
    """
    w = float(optimal_window(ReLU(dim, lipschitz), n, noise_std).w)
    worst = worst_case_risk(dim, w, n, noise_std, lipschitz)
    noise = population_risk(ReLU(dim), w, n, noise_std).noise
    b = np.geomspace(0.3, 60, 40)
    bias = (
        np.array([population_risk(Cosine(dim, at), w, n, 0.0).bias for at in b])
        * (lipschitz / b) ** 2
    )
    affine = population_risk(Linear(dim, lipschitz), w, n, 0.0).bias
    return {
        "wavenumber": b,
        "bias": bias,
        "affine": affine,
        "bound": worst.upper - noise,
        "w": w,
    }
