"""Classes of one hidden direction whose covariance is known through its expansion: tanh, zonal harmonics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer, real
from icl.covariates import uniform_sphere
from icl.layout import inner_products
from icl.tasks.base import Array, Function, Rng, Zonal
from icl.tasks.gegenbauer import Polynomials, angle_quadrature, multiplicity, shortfall

if TYPE_CHECKING:
    import torch

_DEGREE = 200  # tanh(b t) is analytic up to |Im t| = pi / 2b: at b = 20 degree 200 contributes 1e-13


@dataclass(frozen=True)
class Tanh(Zonal):
    """``f(x) = (L / b) tanh(b q.x)`` with ``q ~ U(S^{d-1})``: Lipschitz constant L, whatever b is.

    A sigmoid is the same function, ``1 / (1 + exp(-s)) = (1 + tanh(s / 2)) / 2``. With ``lipschitz`` equal to
    ``steepness`` the values lie in [-1, 1], and are the means of labels -1 and 1.

    Attributes:
        lipschitz: L > 0.
        steepness: b, between 1e-6 and 20: nearly linear if small, a smoothed step if large.

    Raises:
        ValueError: If the steepness is out of range.
    """

    lipschitz: float = 1.0
    steepness: float = 1.0
    label = "tanh"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "steepness", real(self.steepness, "steepness", 1e-6, 20))

    @property
    def _scale(self) -> float:
        return self.lipschitz / self.steepness

    def spectrum(self, degree: int) -> tuple[Array, float]:
        a = np.zeros(max(degree, _DEGREE))
        a[:_DEGREE] = self._scale**2 * _tanh_expansion(self.dim, self.steepness)
        return a[:degree], float(a[degree:].sum())

    def variogram(self, theta: ArrayLike) -> Array:
        a = self.spectrum(_DEGREE)[0]
        return shortfall(self.dim, a[: np.flatnonzero(a > 1e-18 * a.max())[-1] + 1], theta)

    def covariance(self, cosine: ArrayLike) -> Array:
        theta = np.arccos(np.clip(cosine, -1, 1))
        return np.asarray(self.spectrum(_DEGREE)[0].sum() - self.variogram(theta))

    def sample(self, rng: Rng, count: int) -> Function:
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self._scale * (self.steepness * inner_products(q, x)).tanh()


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
        return shortfall(self.dim, self.spectrum(self.degree)[0], theta)

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


@lru_cache(maxsize=64)
def _tanh_expansion(dim: int, steepness: float) -> Array:
    """Return ``a_1, ...``; by Funk-Hecke ``a_l = N_l E[tanh(steepness t) P_l(t)]^2``."""
    theta, p = angle_quadrature(dim, 4 * _DEGREE)
    m = (1 - Polynomials(dim, theta).take(_DEGREE + 1)) @ (p * np.tanh(steepness * np.cos(theta)))
    a: Array = multiplicity(dim, _DEGREE) * m**2
    return a[1:]
