"""The function classes of the book, each with its covariance, variogram and Gegenbauer coefficients.

The ReLU class is that of the ITA slides ("Intuition Summary"). The affine and cosine classes are our
declared choice, because the last slide prints w.x + 2 and cos(4 w.x) without a law of w.

Symbols:

- d is the dimension ``dim``, and L is ``lipschitz``.
- l is a degree, and N_l is the number of spherical harmonics of degree l.
- P_l is the Gegenbauer polynomial with ``P_l(1) = 1``, and a_l is its coefficient in the covariance.
- ``U(S^{d-1})`` is the uniform law on the unit sphere. E is the mean over functions, or over tokens of this
  law.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, jv

from icl.checks import integer, real, shown
from icl.covariates import inner_products, uniform_sphere
from icl.tasks.base import (
    MAX_DEGREE,
    MAX_MAGNITUDE,
    MIN_MAGNITUDE,
    Array,
    Function,
    Rng,
    Zonal,
    cosines,
)
from icl.tasks.gegenbauer import angle_quadrature, harmonics, multiplicity, shortfall

if TYPE_CHECKING:
    import torch

# at the largest steepness degree 200 contributes less than 1e-13
_MAX_TANH_DEGREE = 200


@dataclass(frozen=True)
class Expanded(Zonal):
    """Base of classes that are known by finitely many Gegenbauer coefficients."""

    def coefficients(self) -> Array:
        """Return ``a_1, a_2, ...`` up to the last coefficient."""
        raise NotImplementedError(f"{self!r}: {type(self).__name__} must define coefficients()")

    def spectrum(self, degree: int) -> tuple[Array, float]:
        degree = integer(degree, "degree", 0, MAX_DEGREE)
        a = self.coefficients()
        return np.pad(a[:degree], (0, max(0, degree - a.size))), float(a[degree:].sum())

    def _variogram(self, theta: Array) -> Array:
        a = self.coefficients()
        # Coefficients that do not change the sum are left out, even at small angles, where 1 - P_l grows like
        # l^2.
        a = a[: np.flatnonzero(a > 1e-20 * a.max())[-1] + 1]
        # a[::2] are the odd degrees
        even = not a[::2].any()
        return shortfall(self.dim, a[1::2] if even else a, theta, even)

    def covariance(self, cosine: ArrayLike) -> Array:
        theta = np.arccos(cosines(cosine))
        # a_0 is left out
        return np.asarray(self.coefficients().sum() - self._variogram(theta))


@dataclass(frozen=True)
class Affine(Expanded):
    """``f(x) = l q.x + b`` with ``l, b ~ U[-L, L]`` and ``q ~ U(S^{d-1})`` (our declared formula)."""

    lipschitz: float = 1.0
    label = "affine"
    homogeneous = True

    def covariance(self, cosine: ArrayLike) -> Array:
        return self.lipschitz**2 / 3 * (cosines(cosine) / self.dim + 1)

    def _variogram(self, theta: Array) -> Array:
        # this is 1 - cos t without cancellation
        return self.lipschitz**2 / (3 * self.dim) * 2 * np.sin(theta / 2) ** 2

    def coefficients(self) -> Array:
        return np.array([self.lipschitz**2 / (3 * self.dim)])

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        q = uniform_sphere(rng, count, self.dim)
        slope, b = torch.as_tensor(rng.uniform(-self.lipschitz, self.lipschitz, (2, count, 1)))
        return lambda x: slope.to(x) * inner_products(q, x) + b.to(x)


@dataclass(frozen=True)
class ReLU(Zonal):
    """``f(x) = l1 (q.x)_+ + l2 (-q.x)_+ + b``, ``l1, l2, b ~ U[-L, L]`` (ITA slides, ``F_L^+``).

    The slides do not print the law of ``q``. Here it is ``U(S^{d-1})``, as the class is rotation invariant.
    """

    lipschitz: float = 1.0
    label = "ReLU"
    homogeneous = True

    @property
    def singular_term(self) -> tuple[float, float]:
        # the variogram has the term -(sin t - t cos t) L^2 / (3 pi d), which begins with t^3
        return 3.0, self.lipschitz**2 / (9 * math.pi * self.dim)

    @property
    def covariance_slope(self) -> float:
        return self.lipschitz**2 / (3 * self.dim)

    def covariance(self, cosine: ArrayLike) -> Array:
        theta: Array = np.arccos(cosines(cosine))
        arc = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
        return self.lipschitz**2 / 3 * (1 + arc / self.dim)

    def _variogram(self, theta: Array) -> Array:
        square = theta * theta
        # `turn` is sin t - t cos t, and near zero its series, t^3/3 (1 - t^2/10 (1 - t^2/28 (1 - ..., with
        # the divisors 2j (2j + 3)
        tail = np.ones_like(theta)
        for k in (180, 130, 88, 54, 28, 10):
            tail = 1 - square / k * tail
        turn = np.where(
            theta < 0.5, theta * square / 3 * tail, np.sin(theta) - theta * np.cos(theta)
        )
        # this is one minus the `arc` of `covariance`, without cancellation
        arc: Array = 2 * np.sin(theta / 2) ** 2 - turn / np.pi
        return self.lipschitz**2 / (3 * self.dim) * arc

    def spectrum(self, degree: int) -> tuple[Array, float]:
        # With t = q.x, f is (l1-l2)/2 t + (l1+l2)/2 |t| + b, and |t| has even degrees.
        degree = integer(degree, "degree", 0, MAX_DEGREE)
        # The factors (l1-l2)/2 and (l1+l2)/2 have the mean square `scale`. So a_1 is scale / d, and a_l is
        # scale N_l E[|t| P_l]^2 for even l. By Rodrigues' formula, E[|t| P_{l+2}] / E[|t| P_l] = -(l-1) /
        # (l+d+1).
        d, scale = self.dim, self.lipschitz**2 / 6
        # a[i] is the coefficient of degree 2 i
        even = np.arange(0.0, _last_degree(d, degree) + 1, 2)
        growth = np.concatenate([[(d + 2) * (d - 1) / 2], _multiplicity_growth(d, even[1:-1])])
        ratios = growth * ((even[:-1] - 1) / (even[:-1] + d + 1)) ** 2
        a = scale * _mean_coordinate(d) ** 2 * np.concatenate([[1.0], np.cumprod(ratios)])
        # a_{l+2} / a_l is 1 - 8 / l + O(l^-2)
        rest = _sum_beyond(d, even, a, power=4)
        # out[0] is the coefficient of degree 1
        out = np.zeros(degree)
        out[1::2] = a[1 : degree // 2 + 1]
        # `out` is empty if degree is 0
        out[:1] = scale / d
        later_linear = scale / d if degree == 0 else 0.0
        # the smallest numbers are added first, to lose fewer digits
        return out, float(a[degree // 2 + 1 :][::-1].sum() + rest + later_linear)

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        q = uniform_sphere(rng, count, self.dim)
        right, left, b = torch.as_tensor(
            rng.uniform(-self.lipschitz, self.lipschitz, (3, count, 1))
        )

        def f(x: torch.Tensor) -> torch.Tensor:
            t = inner_products(q, x)
            # l1 t_+ + l2 (-t)_+ is (l1 - l2) / 2 t + (l1 + l2) / 2 |t|, which takes fewer passes over t
            odd, even = ((right - left) / 2).to(x), ((right + left) / 2).to(x)
            return torch.addcmul(b.to(x), odd, t).addcmul_(even, t.abs_())

        return f


@dataclass(frozen=True)
class Sign(Zonal):
    """``f(x) = s sign(q.x)`` with ``q ~ U(S^{d-1})``, where s is ``scale``.

    These functions jump by 2 s, and so have no Lipschitz constant.
    """

    scale: float = 1.0
    label = "sign"
    _ranges = {"scale": (real, MIN_MAGNITUDE, MAX_MAGNITUDE)}

    @property
    def singular_term(self) -> tuple[float, float]:
        return 1.0, self.scale**2 * 2 / math.pi

    def covariance(self, cosine: ArrayLike) -> Array:
        return np.asarray(self.scale**2 * 2 / math.pi * np.arcsin(cosines(cosine)))

    def _variogram(self, theta: Array) -> Array:
        return np.asarray(self.scale**2 * 2 / math.pi * theta)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        # a_l is N_l E[s sign(t) P_l]^2 for odd degrees, t = q.x. By the differential equation of P_l,
        # E[sign(t) P_{l+2}] / E[sign(t) P_l] = -l / (l + d).
        degree, d = integer(degree, "degree", 0, MAX_DEGREE), self.dim
        odd = np.arange(1.0, _last_degree(d, degree) + 2, 2)
        ratios = _multiplicity_growth(d, odd[:-1]) * (odd[:-1] / (odd[:-1] + d)) ** 2
        # P_1 is t, and N_1 is d
        a_1 = d * (self.scale * _mean_coordinate(d)) ** 2
        a = a_1 * np.concatenate([[1.0], np.cumprod(ratios)])
        # a_{l+2} / a_l is 1 - 4 / l + O(l^-2)
        rest = _sum_beyond(d, odd, a, power=2)
        # out[0] is the coefficient of degree 1
        out = np.zeros(degree)
        out[::2] = a[: (degree + 1) // 2]
        # the smallest numbers are added first, to lose fewer digits
        return out, float(a[(degree + 1) // 2 :][::-1].sum() + rest)

    def _draw(self, rng: Rng, count: int) -> Function:
        q = uniform_sphere(rng, count, self.dim)

        def f(x: torch.Tensor) -> torch.Tensor:
            positive = inner_products(q, x) >= 0
            return self.scale * (2 * positive.to(x) - 1)

        return f


@dataclass(frozen=True)
class Cosine(Expanded):
    """``f(x) = cos(L u.x)`` with ``u ~ U(S^{d-1})``: our declared choice, after the last slide's cos(4 w.x).

    L is at least 1e-20. It is at most 300, or at most sqrt(d / 2) in more than 500 dimensions.
    """

    lipschitz: float = 1.0
    label = "cosine"

    def __post_init__(self) -> None:
        super().__post_init__()
        # For small L the variogram, proportional to L^4, underflows. In more than 500 dimensions `_bessel`
        # needs its series, which serves arguments up to sqrt(2 d).
        maximum = 300 if self.dim <= 500 else math.sqrt(self.dim / 2)
        real(self.lipschitz, "lipschitz", 1e-20, maximum)

    def covariance(self, cosine: ArrayLike) -> Array:
        # cos a cos b is half of cos(a - b) + cos(a + b), and E cos(L u.v) is `_bessel` of L |v|
        cosine, nu = cosines(cosine), self.dim / 2 - 1
        of_difference = _bessel(nu, self.lipschitz * np.sqrt(2 - 2 * cosine))
        of_sum = _bessel(nu, self.lipschitz * np.sqrt(2 + 2 * cosine))
        return (of_difference + of_sum) / 2

    def coefficients(self) -> Array:
        a = _wave_expansion(self.dim, self.lipschitz)
        degree = np.arange(1, a.size + 1)
        # the functions are even
        return np.where(degree % 2 == 0, a, 0.0)

    def _draw(self, rng: Rng, count: int) -> Function:
        u = uniform_sphere(rng, count, self.dim)
        return lambda x: (self.lipschitz * inner_products(u, x)).cos()


@dataclass(frozen=True)
class PhasedCosine(Cosine):
    """``f(x) = cos(L u.x + phase)`` with ``u ~ U(S^{d-1})`` and ``phase ~ U[0, 2 pi]``.

    For every L, ``E f(x)`` is zero and ``E f(x)^2`` is one half. The range of L is that of `Cosine`.
    """

    label = "cosine with phase"

    def covariance(self, cosine: ArrayLike) -> Array:
        # the phase leaves E cos(L u.(x - x')) / 2
        distance = np.sqrt(2 - 2 * cosines(cosine))
        return _bessel(self.dim / 2 - 1, self.lipschitz * distance) / 2

    def coefficients(self) -> Array:
        return _wave_expansion(self.dim, self.lipschitz) / 2

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        u = uniform_sphere(rng, count, self.dim)
        phase = torch.as_tensor(rng.uniform(0, 2 * np.pi, (count, 1)))
        return lambda x: (self.lipschitz * inner_products(u, x) + phase.to(x)).cos()


@dataclass(frozen=True)
class Linear(Expanded):
    """``f(x) = L q.x + offset`` with ``q ~ U(S^{d-1})``.

    ``Linear(k, 1, offset=2)`` of projected tokens is the affine link of the last slide, ``w.x + 2``.
    """

    lipschitz: float = 1.0
    offset: float = 0.0
    label = "linear"
    _ranges = {"offset": (real, -MAX_MAGNITUDE, MAX_MAGNITUDE)}

    def covariance(self, cosine: ArrayLike) -> Array:
        return self.lipschitz**2 * cosines(cosine) / self.dim + self.offset**2

    def _variogram(self, theta: Array) -> Array:
        return self.lipschitz**2 / self.dim * 2 * np.sin(theta / 2) ** 2

    def coefficients(self) -> Array:
        return np.array([self.lipschitz**2 / self.dim])

    def _draw(self, rng: Rng, count: int) -> Function:
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self.lipschitz * inner_products(q, x) + self.offset


@dataclass(frozen=True)
class Quadratic(Expanded):
    """``f(x) = L (q.x)^2`` with ``q ~ U(S^{d-1})``. Along the sphere the Lipschitz constant is L."""

    lipschitz: float = 1.0
    label = "quadratic"
    homogeneous = True

    def covariance(self, cosine: ArrayLike) -> Array:
        d = self.dim
        return self.lipschitz**2 * (1 + 2 * cosines(cosine) ** 2) / (d * (d + 2))

    def _variogram(self, theta: Array) -> Array:
        d = self.dim
        return np.asarray(self.lipschitz**2 * 2 * np.sin(theta) ** 2 / (d * (d + 2)))

    def coefficients(self) -> Array:
        d = self.dim
        # 2 c^2 is 2 (d-1)/d P_2(c) + 2/d
        return np.array([0.0, self.lipschitz**2 * 2 * (d - 1) / (d * d * (d + 2))])

    def _draw(self, rng: Rng, count: int) -> Function:
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self.lipschitz * inner_products(q, x) ** 2


@dataclass(frozen=True)
class Tanh(Expanded):
    """``f(x) = (L / b) tanh(b q.x)`` with ``q ~ U(S^{d-1})``, where b is ``steepness``.

    The Lipschitz constant is L for every b, and b is from 1e-6 to 20. The functions are nearly linear for a
    small b and smoothed steps for a large b. If L equals b, values lie in [-1, 1], and can be the means of
    labels -1 and 1.
    """

    lipschitz: float = 1.0
    steepness: float = 1.0
    label = "tanh"
    _ranges = {"steepness": (real, 1e-6, 20)}

    def coefficients(self) -> Array:
        return (self.lipschitz / self.steepness) ** 2 * _tanh_expansion(self.dim, self.steepness)

    def _draw(self, rng: Rng, count: int) -> Function:
        q = uniform_sphere(rng, count, self.dim)
        scale = self.lipschitz / self.steepness
        return lambda x: scale * (self.steepness * inner_products(q, x)).tanh()


@dataclass(frozen=True)
class Network(Zonal):
    """Random two-layer networks ``f(x) = L sqrt(2 / m) sum_j a_j (q_j.x)_+``.

    The q_j have the law ``U(S^{d-1})``, the a_j are standard normal, and the number m of units is ``hidden``,
    from 1 to 100,000. For every m the covariance is that of the ReLU class, up to a factor and a constant.
    The Lipschitz constants of the functions are random, of the order of L.
    """

    lipschitz: float = 1.0
    hidden: int = 32
    label = "network"
    homogeneous = True
    _ranges = {"hidden": (integer, 1, 100_000)}

    @property
    def _relu(self) -> ReLU:
        # E (q.x)_+ (q.x')_+ is arc / 2d with the `arc` of `ReLU`, so that the covariance is L^2 arc / d
        return ReLU(self.dim, self.lipschitz * math.sqrt(3))

    @property
    def singular_term(self) -> tuple[float, float]:
        return self._relu.singular_term

    def covariance(self, cosine: ArrayLike) -> Array:
        return self._relu.covariance(cosine) - self.lipschitz**2

    def _variogram(self, theta: Array) -> Array:
        return self._relu._variogram(theta)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        return self._relu.spectrum(degree)

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        q = uniform_sphere(rng, count, self.hidden, self.dim)
        a = torch.as_tensor(rng.standard_normal((count, self.hidden)))
        scale = self.lipschitz * math.sqrt(2 / self.hidden)

        def f(x: torch.Tensor) -> torch.Tensor:
            inner = x @ q.to(x).mT
            return scale * (inner.clamp(min=0) * a.to(x).unsqueeze(1)).sum(-1)

        return f


#: The classes by name. Chapters can name a class that is added here.
CLASSES: dict[str, Callable[..., Zonal]] = {
    kind.label.lower(): kind
    for kind in (Affine, ReLU, Cosine, Linear, Quadratic, Sign, PhasedCosine)
}


def make_task(name: str, dim: int, lipschitz: float = 1.0) -> Zonal:
    """Return the class with the key ``name`` of `CLASSES`, in capital or small letters.

    Raises:
        ValueError: For an unknown name, and for ``lipschitz`` other than 1 if the class has no such
            parameter.
    """
    found = {key.lower(): kind for key, kind in CLASSES.items()}
    kind = found.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"name={shown(name)}: allowed are {', '.join(CLASSES)}")
    if "lipschitz" in inspect.signature(kind).parameters:
        return kind(dim, lipschitz=lipschitz)
    if lipschitz != 1:
        raise ValueError(
            f"lipschitz={shown(lipschitz)}: the class {name!r} has no parameter lipschitz; allowed is 1"
        )
    return kind(dim)


def _mean_coordinate(dim: int) -> float:
    """Return ``E |x_1|`` for x uniform on the unit sphere."""
    return math.exp(gammaln(dim / 2) - gammaln((dim + 1) / 2)) / math.sqrt(math.pi)


def _last_degree(dim: int, degree: int) -> int:
    """Return an even degree above ``degree`` that is so high that `_sum_beyond` may follow it."""
    # far above the dimension two terms of `_sum_beyond` are enough
    return 2 * math.ceil(max(4 * degree, 4000, 200 * dim) / 2)


def _multiplicity_growth(dim: int, degree: Array) -> Array:
    """Return ``N_{l+2} / N_l`` for degrees l >= 1."""
    i, d = degree, dim
    return (2 * i + d + 2) / (2 * i + d - 2) * (i + d - 2) * (i + d - 1) / ((i + 1) * (i + 2))


def _sum_beyond(dim: int, degree: Array, a: Array, power: int) -> float:
    """Return the sum of all coefficients after ``a``, which are those of ``degree``, two apart.

    For high degrees l, ``a_l = x^-power (A + B x^-2 + ...)`` with x = l + dim / 2 - 1, and A and B are
    fitted. By the midpoint rule, each later a_l is about half the integral of this formula from x - 1 to x +
    1. The first correction of the rule is a twelfth of the derivative of ``A x^-power`` at ``edge``.
    """
    points = [len(a) // 2, -1]
    x = degree[points] + dim / 2 - 1
    B, A = np.polyfit(x**-2.0, a[points] * x**power, 1)
    edge = x[1] + 1
    integral = A * edge ** (1 - power) / (power - 1) + B * edge ** (-1 - power) / (power + 1)
    return float(integral / 2 - power * A * edge ** (-1 - power) / 12)


@lru_cache(maxsize=64)
def _wave_expansion(dim: int, L: float) -> Array:
    """Return ``a_1, ...`` of ``E cos(L u.(x - x'))`` with u uniform on the unit sphere.

    They are ``a_l = N_l (Gamma(d/2) (2/L)^nu J_{nu+l}(L))^2`` with ``nu = d/2 - 1``, negligible above 2 L +
    60.
    """
    nu, degrees = dim / 2 - 1, np.arange(int(2 * L) + 61)
    # Gamma(d/2) (2/L)^nu J_{nu+l}(L) is `_bessel` of order nu + l, times this factor
    wave = np.exp(gammaln(nu + 1) - gammaln(nu + degrees + 1) + degrees * np.log(L / 2))
    wave *= _bessel(nu + degrees, np.full(degrees.size, L))
    a: Array = multiplicity(dim, degrees[-1]) * wave**2
    return a[1:]


def _bessel(mu: ArrayLike, x: ArrayLike) -> Array:
    """Return ``Gamma(mu + 1) (2 / x)^mu J_mu(x)``, in the broadcast shape.

    For ``mu = d / 2 - 1`` it is ``E cos(x u_1)`` with u uniform on the unit sphere of R^d. In SciPy it is
    ``hyp0f1(mu + 1, -x**2 / 4)``, which overflows for mu above 170.
    """
    mu, x = np.broadcast_arrays(np.asarray(mu, float), np.asarray(x, float))
    quarter = -(x**2) / 4
    # here 40 terms of the power series are enough
    short = -quarter <= mu + 1
    term = np.where(short, 1.0, 0.0)
    total = term.copy()
    for k in range(1, 40):
        term = term * quarter / (k * (mu + k))
        total += term
    # entries with a series get arguments at which the formula does not overflow
    large, mu = np.where(short, 1.0, x), np.where(short, 0.0, mu)
    wave = jv(mu, large)
    # factors may overflow or underflow, so that logarithms are added
    size = np.log(np.abs(wave), out=np.full(wave.shape, -np.inf), where=wave != 0)
    return np.where(
        short, total, np.sign(wave) * np.exp(gammaln(mu + 1) + mu * np.log(2 / large) + size)
    )


@lru_cache(maxsize=64)
def _tanh_expansion(dim: int, steepness: float) -> Array:
    """Return ``a_1, ...`` of ``tanh(steepness q.x)``: ``N_l E[tanh(steepness t) P_l(t)]^2`` with t = q.x."""
    # In many dimensions the angles lie in a short interval around pi / 2, which needs more nodes.
    theta, p = angle_quadrature(dim, (4 if dim <= 1000 else 10) * _MAX_TANH_DEGREE)
    degree = np.arange(1, _MAX_TANH_DEGREE + 1)
    # N_l, unlike sqrt(N_l) P_l, would enlarge the rounding of E[tanh P_l]
    mean = harmonics(dim, degree, np.broadcast_to(np.cos(theta), (len(degree), len(theta)))) @ (
        p * np.tanh(steepness * np.cos(theta))
    )
    a: Array = mean**2
    return a
