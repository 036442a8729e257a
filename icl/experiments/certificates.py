"""Measurements for the appendix in one setting: bounds over all matrices and all Lipschitz functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from icl.experiments.sweeps import TOKENS, limit
from icl.experiments.tables import Row
from icl.risk import certify_isotropy, curvatures, optimal_window, population_risk, worst_case_risk
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal, make_task

#: Classes whose certificates are compared; the last four are even.
FAMILY: dict[str, Callable[[int], Zonal]] = {"affine": Affine, "ReLU": ReLU, "quadratic": Quadratic}
FAMILY |= {f"cosine, L = {L:g}": partial(Cosine, lipschitz=L) for L in (1.0, 4.0, 8.0)}
#: Context lengths of the bound over all Lipschitz functions.
LENGTHS = np.array([1e6, 1e7, 1e8])


def margin(kind: str, n: int, d: int) -> Row:
    """Return a certified lower bound on the rise of the risk when a matrix turns attention away.

    ``margin`` (NaN where nothing is certified) and ``found``: "certified", "negative", if some matrix lowers
    the risk at a fixed length of M x, "zero", or "open".
    """
    proof = certify_isotropy(FAMILY[kind](d), n)
    if proof.margin > 0:
        return {"margin": proof.margin, "found": "certified"}
    found = "zero" if proof.margin == 0 else "negative" if proof.least < 0 else "open"
    return {"margin": np.nan, "found": found}


def forms(kind: str, d: int, n: int, lipschitz: float, noise_std: float) -> Row:
    """Return what decides the form of the minimizer, affine or ReLU class.

    ``what``, ``value`` and ``error``: the middle of the certified bound and the least value met ("turned"),
    and the second derivatives at w* I over the risk, along multiples of I, symmetric and antisymmetric
    matrices.
    """
    task = make_task(kind, d, lipschitz)
    best, proof = optimal_window(task, n, noise_std), certify_isotropy(task, n)
    second, error = curvatures(task, float(best.w), n, noise_std) / best.risk
    middle, half = (proof.least + proof.margin) / 2, (proof.least - proof.margin) / 2
    values, errors = np.array([middle, *second]), np.array([half, *error])
    what = np.array(["turned", "multiples of I", "symmetric", "antisymmetric"])
    return {"what": what, "value": values, "error": errors}


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
        return float(population_risk(Cosine(dim, w**0.5), w, n, sigma).total) * lipschitz**2

    def slope(more: float) -> tuple[Any, Any]:
        n, sigma = LENGTHS * more, noise_std * more**0.5
        windows = optimal_window(ReLU(dim, lipschitz), n, sigma).w
        return local_slope(LENGTHS, [risk(float(w), m, sigma) for w, m in zip(windows, n, strict=True)])

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
    bias = np.array([population_risk(Cosine(dim, at), w, n, 0.0).bias for at in b]) * (lipschitz / b) ** 2
    affine = population_risk(Linear(dim, lipschitz), w, n, 0.0).bias
    return {"wavenumber": b, "bias": bias, "affine": affine, "bound": worst.upper - noise, "w": w}
