r"""The worst L-Lipschitz function for a given window, bracketed.

Tokens are uniform on the sphere, so the bias of a *fixed* function f, averaged over tokens and
query, does not change when f is rotated. As a quadratic form in f it is therefore diagonal in
the degree of spherical harmonics (Schur's lemma): ``bias(f) = sum_l c_l |f_l|^2``, with ``c_l`` the
exact bias of the class with covariance ``P_l``. An L-Lipschitz f has
``sum_l l (l + d - 2) |f_l|^2 = E |grad f|^2 <= L^2``, hence

    bias(f) <= L^2 max_l c_l / (l (l + d - 2))          for every L-Lipschitz f.

From below, each ``(L / b) cos(b u.x)`` is L-Lipschitz, and its exact bias is that of `Cosine`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icl.checks import integer, real
from icl.risk.exact import population_risk
from icl.tasks import Cosine, Harmonic
from icl.tasks.base import LEAST, MOST


@dataclass(frozen=True)
class WorstCase:
    """Bracket of the largest risk over all L-Lipschitz functions.

    Attributes:
        lower: Risk of the worst of the cosines.
        upper: A number that no L-Lipschitz function exceeds.
        wavenumber: b of that cosine ``(L / b) cos(b u.x)``.
        degree: The degree at which the upper bound is attained.
    """

    lower: float
    upper: float
    wavenumber: float
    degree: int


def worst_case_risk(dim: int, w: float, n: int, noise_std: float, lipschitz: float = 1.0) -> WorstCase:
    """Bracket the risk of the worst L-Lipschitz function at ``M = w I``, in 2 to 150 dimensions.

    The ends of the bracket differ by a factor of about ``2 d / (d - 1)``, the share of a cosine's gradient in
    L^2.

    Raises:
        ValueError: If an argument is out of range, or the window so narrow that the worst functions may have
            degrees beyond 200.
    """
    dim, square = integer(dim, "dim", 2, 150), real(lipschitz, "lipschitz", LEAST, MOST) ** 2
    w, n, noise_std = real(w, "w", 0, MOST), integer(n, "n", 1, MOST), real(noise_std, "noise_std", 0, MOST)
    noise = float(population_risk(Harmonic(dim), w, n, noise_std).noise)
    best, degree, at = 0.0, 0, 1
    while 4 / (at * (at + dim - 2)) > best:  # c_l <= E sum omega_i 2 (1 - P_l) <= 4
        if at > 200 or 3 * (degree + dim / 2) > 300:  # the largest L that `Cosine` has
            raise ValueError(f"w={w:g}, n={n:g}, dim={dim}: the worst degree may be beyond 200")
        value = float(population_risk(Harmonic(dim, degree=at), w, n, 0.0).bias) / (at * (at + dim - 2))
        if value > best:
            best, degree = value, at
        at += 1

    def cosine(b: float) -> float:
        return float(population_risk(Cosine(dim, b), w, n, 0.0).bias) / b**2

    waves = np.geomspace(0.1, 3.0, 25) * (degree + dim / 2)
    wavenumber = float(max(waves, key=cosine))
    return WorstCase(square * cosine(wavenumber) + noise, square * best + noise, wavenumber, degree)
