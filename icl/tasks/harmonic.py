"""Zonal harmonics of one degree: the classes whose covariance is a single Gegenbauer polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer
from icl.covariates import uniform_sphere
from icl.layout import inner_products
from icl.tasks.base import Array, Function, Rng, Zonal
from icl.tasks.gegenbauer import multiplicity, one_minus_gegenbauer

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Harmonic(Zonal):
    """Zonal harmonics ``f(x) = sqrt(N_l) P_l(u.x)``, ``u ~ U(S^{d-1})``: covariance ``P_l``.

    Attributes:
        degree: Degree l, 1 to 1000.
    """

    degree: int = 1
    label = "harmonic"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "degree", integer(self.degree, "degree", 1, 1000))

    def covariance(self, cosine: ArrayLike) -> Array:
        return 1 - self.variogram(np.arccos(np.clip(cosine, -1, 1)))

    def variogram(self, theta: ArrayLike) -> Array:
        theta = np.asarray(theta, dtype=float)
        polynomials = one_minus_gegenbauer(self.dim, theta.ravel())
        return next(islice(polynomials, self.degree, None)).reshape(theta.shape)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        a = np.zeros(max(degree, self.degree))
        a[self.degree - 1] = 1.0
        return a[:degree], float(degree < self.degree)

    def sample(self, rng: Rng, count: int) -> Function:
        import torch

        u, scale = uniform_sphere(rng, count, self.dim), math.sqrt(multiplicity(self.dim, self.degree)[-1])

        def f(x: torch.Tensor) -> torch.Tensor:
            cosine = inner_products(u, x).cpu()
            return scale * torch.from_numpy(self.covariance(cosine.numpy())).to(x)

        return f
