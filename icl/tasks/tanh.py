"""Smooth classes of one hidden direction, whose covariance is known through their expansion alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
import torch
from numpy.polynomial.legendre import leggauss

from icl.covariates import uniform_sphere
from icl.layout import inner_products
from icl.tasks.base import Zonal
from icl.tasks.gegenbauer import multiplicity, one_minus_gegenbauer

_DEGREE = 200  # tanh(b t) is analytic up to |Im t| = pi / 2b: at b = 20 degree 200 contributes 1e-13


@dataclass(frozen=True)
class Tanh(Zonal):
    """``f(x) = (L / b) tanh(b q.x)`` with ``q ~ U(S^{d-1})``: Lipschitz constant L, whatever b is.

    A sigmoid is the same function, ``1 / (1 + exp(-s)) = (1 + tanh(s / 2)) / 2``. With ``lipschitz`` equal to
    ``steepness`` the values lie in [-1, 1], and are the means of labels -1 and 1.

    Attributes:
        lipschitz: L > 0.
        steepness: b, between 0 and 20: nearly linear if small, a smoothed step if large.

    Raises:
        ValueError: If the steepness is out of range.
    """

    lipschitz: float = 1.0
    steepness: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if not 0 < self.steepness <= 20:
            raise ValueError(f"steepness={self.steepness!r}: must be > 0 and at most 20")

    @property
    def _scale(self) -> float:
        return self.lipschitz / self.steepness

    def spectrum(self, degree):
        a = np.zeros(max(degree, _DEGREE))
        a[:_DEGREE] = self._scale**2 * _tanh_expansion(self.dim, self.steepness)
        return a[:degree], float(a[degree:].sum())

    def variogram(self, theta):
        theta, a = np.asarray(theta, dtype=float), self.spectrum(_DEGREE)[0]
        a = a[: np.flatnonzero(a > 1e-18 * a.max())[-1] + 1]
        q = islice(one_minus_gegenbauer(self.dim, theta.ravel()), 1, None)
        return sum(a_l * q_l for a_l, q_l in zip(a, q, strict=False)).reshape(theta.shape)

    def covariance(self, cosine):
        return self.spectrum(_DEGREE)[0].sum() - self.variogram(np.arccos(np.clip(cosine, -1, 1)))

    def sample(self, rng, count):
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self._scale * torch.tanh(self.steepness * inner_products(q, x))


@lru_cache(maxsize=64)
def _tanh_expansion(dim: int, steepness: float) -> np.ndarray:
    """``a_1, ...`` of ``tanh(steepness q.x)``; Funk-Hecke: ``a_l = N_l E[tanh(steepness t) P_l(t)]^2``."""
    nodes, weight = leggauss(4 * _DEGREE)
    theta = (nodes + 1) * math.pi / 2
    density = weight * np.sin(theta) ** (dim - 2)
    P = 1 - np.stack(list(islice(one_minus_gegenbauer(dim, theta), _DEGREE + 1)))
    m = P @ (density / density.sum() * np.tanh(steepness * np.cos(theta)))
    return (multiplicity(dim, _DEGREE) * m**2)[1:]
