"""Measurements for the appendix: bounds over all matrices, over all Lipschitz functions, and a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.experiments.tables import LIMIT, TASKS, measured
from icl.risk import certify_isotropy, curvatures, optimal_window, population_risk, worst_case_risk
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Zonal

Array = NDArray[np.float64]
#: Classes whose certificates are compared; the last four are even.
FAMILY: dict[str, Callable[[int], Zonal]] = {"affine": Affine, "ReLU": ReLU, "quadratic": Quadratic}
FAMILY |= {f"cosine, L = {L:g}": partial(Cosine, lipschitz=L) for L in (1.0, 4.0, 8.0)}
#: What the second derivatives at a multiple of the identity belong to.
SPACES = ("multiples of I", "symmetric", "antisymmetric")
#: Context lengths of the bound over all Lipschitz functions.
LENGTHS = np.array([1e6, 1e7, 1e8])


def margins(
    dims: Sequence[int], lengths: Sequence[int], family: Mapping[str, Callable[[int], Zonal]] = FAMILY
) -> pd.DataFrame:
    """Return certified lower bounds on the rise of the risk when a matrix turns attention away.

    Columns ``kind``, ``n``, ``d``, ``margin`` (NaN where nothing is certified) and ``found``: "certified",
    "negative", if some matrix lowers the risk at a fixed length of M x, "zero", or "open".
    """

    def one(kind: str, n: int, d: int) -> tuple[float, str]:
        proof = certify_isotropy(family[kind](d), n)
        if proof.margin > 0:
            return proof.margin, "certified"
        return np.nan, "zero" if proof.margin == 0 else "negative" if proof.least < 0 else "open"

    return measured(one, ["margin", "found"], kind=family, n=lengths, d=dims)


def forms(dims: Sequence[int], lengths: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return what decides the form of the minimizer, affine and ReLU class.

    Columns ``kind``, ``d``, ``n``, ``what``, ``value`` and ``error``: the middle of the certified bound and
    the least value met ("turned"), and the second derivatives at w* I over the risk, for each of `SPACES`.
    """

    def one(kind: str, d: int, n: int) -> tuple[Any, ...]:
        task = TASKS[kind](d, lipschitz)
        best, proof = optimal_window(task, n, noise_std), certify_isotropy(task, n)
        second, error = curvatures(task, float(best.w), n, noise_std) / best.risk
        middle, half = (proof.least + proof.margin) / 2, (proof.least - proof.margin) / 2
        return np.array(["turned", *SPACES]), np.array([middle, *second]), np.array([half, *error])

    return measured(one, ["what", "value", "error"], kind=("affine", "ReLU"), d=dims, n=lengths)


def steepest(slopes: Sequence[tuple[float, float]]) -> pd.DataFrame:
    """Search the largest difference quotient of ReLU functions on the sphere, over the larger slope.

    The closest points with given values lie on one great circle through q, so a search over pairs of angles
    serves every dimension.

    Returns:
        Columns ``first`` and ``second``, the slopes, ``value``, and ``bound``, one and the rounding.
    """
    off_kink = np.geomspace(1e-6, np.pi / 2, 150)
    polar = np.pi / 2 + np.concatenate([-off_kink, [0.0], off_kink])
    height, chord = np.cos(polar), 2 * np.sin(np.abs(polar[:, None] - polar) / 2)
    chord[chord == 0] = np.inf
    rows = []
    for first, second in slopes:
        f = first * np.maximum(height, 0) + second * np.maximum(-height, 0)
        quotient = np.abs(f[:, None] - f) / chord
        rows.append((first, second, quotient.max() / max(abs(first), abs(second))))
    found = pd.DataFrame(rows, columns=["first", "second", "value"])
    return found.assign(bound=1 + np.finfo(float).eps / off_kink[0])


def worst_slopes(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return exponents in n of the worst risk with the window of the ReLU class, `LIMIT`.

    Columns ``dim`` and ``functions`` as well: "Lipschitz", a number that no L-Lipschitz function exceeds, and
    "rougher", cos(sqrt(w) u.x) of amplitude L, which is not L-Lipschitz. Infinitely many tokens calibrate.
    """

    def risks(dim: int, more: float) -> Array:
        lengths, sigma = LENGTHS * more, noise_std * more**0.5
        rows = []
        for w, n in zip(optimal_window(ReLU(dim, lipschitz), lengths, sigma).w, lengths, strict=True):
            wave = float(population_risk(Cosine(dim, w**0.5), w, n, sigma).total)
            bound = worst_case_risk(dim, float(w), int(n), sigma, lipschitz).upper
            rows.append((bound, wave * lipschitz**2))
        return np.transpose(rows)

    def one(dim: int) -> tuple[Any, ...]:
        ends = (np.array(local_slope(LENGTHS, risks(dim, more))) for more in (1.0, 1e30))
        truth = np.array([-2 / (dim + 2), 0.0])
        return np.array(["Lipschitz", "rougher"]), *(row for pair in ends for row in pair), truth

    return measured(one, ["functions", *LIMIT], dim=dims)


def bracket(dim: int, n: int, lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the bias of waves of slope L with the window of the ReLU class, against their wavenumber.

    Columns ``wavenumber``, ``bias``, ``affine``, that of affine functions of slope L everywhere, ``bound``,
    which no L-Lipschitz function exceeds, and ``w``.
    """
    w = float(optimal_window(ReLU(dim, lipschitz), n, noise_std).w)
    worst = worst_case_risk(dim, w, n, noise_std, lipschitz)
    noise = float(population_risk(ReLU(dim), w, n, noise_std).noise)

    def one(wavenumber: float) -> float:
        return float(population_risk(Cosine(dim, wavenumber), w, n, 0.0).bias) * (lipschitz / wavenumber) ** 2

    waves = measured(one, ["bias"], wavenumber=np.geomspace(0.3, 60, 40))
    affine = float(population_risk(Linear(dim, lipschitz), w, n, 0.0).bias)
    return waves.assign(affine=affine, bound=worst.upper - noise, w=w)
