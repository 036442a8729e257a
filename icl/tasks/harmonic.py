"""Zonal harmonics of one degree: the classes whose covariance is a single Gegenbauer polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from icl.checks import integer
from icl.covariates import uniform_sphere
from icl.layout import inner_products
from icl.tasks.base import Zonal
from icl.tasks.gegenbauer import multiplicity, one_minus_gegenbauer


@dataclass(frozen=True)
class Harmonic(Zonal):
    """Zonal harmonics ``f(x) = sqrt(N_l) P_l(u.x)``, ``u ~ U(S^{d-1})``: covariance ``P_l``.

    Attributes:
        degree: Degree l >= 1.
    """

    degree: int = 1

    def __post_init__(self):
        super().__post_init__()
        integer(self.degree, "degree", 1)

    def covariance(self, cosine):
        return 1 - self.variogram(np.arccos(np.clip(cosine, -1, 1)))

    def variogram(self, theta):
        theta = np.asarray(theta, dtype=float)
        polynomials = one_minus_gegenbauer(self.dim, theta.ravel())
        return next(islice(polynomials, self.degree, None)).reshape(theta.shape)

    def spectrum(self, degree):
        a = np.zeros(max(degree, self.degree))
        a[self.degree - 1] = 1.0
        return a[:degree], float(degree < self.degree)

    def sample(self, rng, count):
        u, scale = uniform_sphere(rng, count, self.dim), math.sqrt(multiplicity(self.dim, self.degree)[-1])

        def f(x):
            cosine = inner_products(u, x).cpu()
            return scale * torch.from_numpy(self.covariance(cosine.numpy())).to(x)

        return f
