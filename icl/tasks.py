r"""Function classes ``D(F)`` and their covariance on the unit sphere.

Every class here is *zonal*: the law of ``f`` does not change under rotations, so
``E f(x) f(x') = k(x . x')``. The exact population risk needs nothing else of a class,
and it needs ``k`` as its expansion in normalized Gegenbauer polynomials,

    k(cos t) = sum_l a_l P_l(cos t),   P_l(1) = 1,   a_l >= 0        (Schoenberg),

because the addition theorem then separates pairs of tokens. ``a_0`` never matters (a
constant is predicted without error), so `spectrum` starts at degree 1.

Sources: ReLU class, ITA slides ("Intuition Summary"); the formulas of the affine and the
cosine class are not in any source available to us and are our declared choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import gammaln, jv

from icl.gegenbauer import Polynomials, expansion, multiplicity
from icl.tokens import dot, fusible, integer, planes, uniform_sphere

Function = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Zonal:
    """Base of all rotation-invariant classes on the unit sphere of R^dim.

    A class of your own derives from this one and gives `covariance`; `spectrum` and
    `variogram` then follow numerically, slower than from closed forms. Given by their covariances
    alone, the classes below have the same risk to 1e-9 for dim >= 5 and w <= 1000. In lower
    dimension rough ones (ReLU) lose more: 1e-7 in four, and in two 1e-8 for w <= 5 only.

    Attributes:
        dim: Dimension d >= 2 of the covariates.

    Raises:
        ValueError: If dim is not an integer >= 2.
    """

    dim: int

    def __post_init__(self):
        integer(self.dim, "dim", 2)
        lipschitz = getattr(self, "lipschitz", 1.0)
        if not (isinstance(lipschitz, (int, float)) and 0 < lipschitz < math.inf):
            raise ValueError(f"lipschitz={lipschitz!r}: must be a finite number > 0")

    def covariance(self, cosine: np.ndarray) -> np.ndarray:
        """``k(cosine) = E f(x) f(x')`` for unit vectors at angle ``arccos(cosine)``."""
        raise NotImplementedError

    def spectrum(self, degree: int) -> tuple[np.ndarray, float]:
        """Gegenbauer coefficients of the covariance.

        Args:
            degree: Highest degree wanted, >= 1.

        Returns:
            ``(a_1, ..., a_degree)`` and the sum of all later coefficients.

        Raises:
            ValueError: If a covariance given by the user has no expansion with coefficients >= 0.
        """
        return expansion(self, degree)

    def variogram(self, theta: np.ndarray) -> np.ndarray:
        """``gamma = E (f(x) - f(x'))^2 / 2 = k(1) - k(cos theta)`` at angles ``theta``."""
        return self.covariance(np.array(1.0)) - self.covariance(np.cos(theta))

    def sample(self, rng: np.random.Generator, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, d) points for (count, n) values."""
        raise NotImplementedError


@dataclass(frozen=True)
class Affine(Zonal):
    """``f(x) = l q.x + b`` with ``l, b ~ U[-L, L]``, ``q ~ U(S^{d-1})`` (our declared formula)."""

    lipschitz: float = 1.0

    def covariance(self, cosine):
        return self.lipschitz**2 / 3 * (np.asarray(cosine) / self.dim + 1)

    def variogram(self, theta):
        return self.lipschitz**2 / (3 * self.dim) * 2 * np.sin(np.asarray(theta) / 2) ** 2

    def spectrum(self, degree):
        a = np.zeros(degree)
        a[0] = self.lipschitz**2 / (3 * self.dim)
        return a, 0.0

    def sample(self, rng, count):
        q = uniform_sphere(rng, count, self.dim)
        slope, b = torch.as_tensor(rng.uniform(-self.lipschitz, self.lipschitz, (2, count, 1)))
        return lambda x: slope.to(x) * project(q, x) + b.to(x)


@dataclass(frozen=True)
class ReLU(Zonal):
    """``f(x) = l1 (q.x)_+ + l2 (-q.x)_+ + b``, ``l1, l2, b ~ U[-L, L]`` (ITA slides, ``F_L^+``).

    The law of ``q`` is not printed; rotation invariance makes it ``U(S^{d-1})``.
    """

    lipschitz: float = 1.0

    def covariance(self, cosine):
        theta = np.arccos(np.clip(cosine, -1, 1))
        arc = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
        return self.lipschitz**2 / 3 * (1 + arc / self.dim)

    def variogram(self, theta):
        theta = np.asarray(theta, dtype=float)
        square = theta * theta
        tail = 1.0  # sin t - t cos t cancels where t is small: t^3/3 (1 - t^2/10 (1 - t^2/28 (1 - ...
        for k in (180, 130, 88, 54, 28, 10):
            tail = 1 - square / k * tail
        turn = np.where(theta < 0.5, theta * square / 3 * tail, np.sin(theta) - theta * np.cos(theta))
        arc = 2 * np.sin(theta / 2) ** 2 - turn / np.pi
        return self.lipschitz**2 / (3 * self.dim) * arc

    def spectrum(self, degree):
        # f = (l1-l2)/2 q.x + (l1+l2)/2 |q.x| + b: degree 1 and, from |q.x|, the even degrees.
        # Rodrigues' formula gives E[|t| P_{l+2}] / E[|t| P_l] = -(l-1) / (l+d+1).
        d, scale = self.dim, self.lipschitz**2 / 6
        last = 2 * math.ceil(max(4 * degree, 4000, 40 * d) / 2)
        even = np.arange(0, last + 1, 2)
        mean = math.exp(gammaln(d / 2) - gammaln((d + 1) / 2)) / math.sqrt(math.pi)
        i = even[1:-1]
        growth = (2 * i + d + 2) / (2 * i + d - 2) * (i + d - 2) * (i + d - 1) / ((i + 1) * (i + 2))  # of N_l
        growth = np.concatenate([[(d + 2) * (d - 1) / 2], growth])
        ratios = growth * ((even[:-1] - 1) / (even[:-1] + d + 1)) ** 2
        a = scale * mean**2 * np.concatenate([[1.0], np.cumprod(ratios)])
        # past `last`, a_l = (l + nu)^-4 (A + B (l + nu)^-2 + ...): fit A, B, integrate by midpoints
        x = even[[len(even) // 2, -1]] + d / 2 - 1
        slope, level = np.polyfit(x**-2.0, a[[len(even) // 2, -1]] * x**4.0, 1)
        edge = x[1] + 1
        rest = 0.5 * (level * edge**-3 / 3 + slope * edge**-5 / 5) - level * edge**-5 * 4 / 12
        out = np.zeros(degree)
        out[1::2] = a[1 : degree // 2 + 1]
        out[0] = scale / d
        return out, float(a[degree // 2 + 1 :][::-1].sum() + rest)

    def sample(self, rng, count):
        q = uniform_sphere(rng, count, self.dim)
        right, left, b = torch.as_tensor(rng.uniform(-self.lipschitz, self.lipschitz, (3, count, 1)))

        def f(x):
            t = project(q, x)  # l1 t_+ + l2 (-t)_+ = (l1 - l2) / 2 t + (l1 + l2) / 2 |t|, in fewer passes
            odd, even = ((right - left) / 2).to(x), ((right + left) / 2).to(x)
            return torch.addcmul(torch.addcmul(b.to(x), odd, t), even, t.abs())

        return f


@dataclass(frozen=True)
class Cosine(Zonal):
    """``f(x) = cos(L u.x)``, ``u ~ U(S^{d-1})``: our declared choice, no source prints the formula."""

    lipschitz: float = 1.0

    def covariance(self, cosine):
        cosine, nu = np.clip(cosine, -1, 1), self.dim / 2 - 1  # E cos(L u.v) depends on |v| alone
        near, far = (_bessel(nu, self.lipschitz * np.sqrt(2 + sign * 2 * cosine)) for sign in (-1, 1))
        return (near + far) / 2

    def spectrum(self, degree):
        # Plane-wave expansion: a_l = N_l (Gamma(d/2) (2/L)^nu J_{nu+l}(L))^2 for even l; past L
        # the coefficients fall faster than geometrically.
        nu = self.dim / 2 - 1
        last = max(degree, int(2 * self.lipschitz) + 60)
        degrees = np.arange(last + 1)
        wave = np.exp(gammaln(nu + 1) - gammaln(nu + degrees + 1) + degrees * np.log(self.lipschitz / 2))
        wave *= _bessel(nu + degrees, np.full(last + 1, self.lipschitz))
        a = np.where(degrees % 2 == 0, multiplicity(self.dim, last) * wave**2, 0.0)
        return a[1 : degree + 1], float(a[degree + 1 :].sum())

    def variogram(self, theta):
        a, _ = self.spectrum(int(2 * self.lipschitz) + 60)
        a = a[: np.flatnonzero(a > 1e-20 * a.max())[-1] + 1]
        theta = np.asarray(theta, dtype=float)
        polynomials = Polynomials(self.dim, theta.ravel(), even=True)
        polynomials.take(1)  # degree 0
        blocks = np.split(a[1::2], range(16, a[1::2].size, 16))
        return sum(block @ polynomials.take(block.size) for block in blocks).reshape(theta.shape)

    def sample(self, rng, count):
        u = uniform_sphere(rng, count, self.dim)
        return lambda x: torch.cos(self.lipschitz * project(u, x))


@dataclass(frozen=True)
class Linear(Zonal):
    """``f(x) = L q.x + offset`` with ``q ~ U(S^{d-1})``; without the offset there is no even part.

    ``Linear(k, 1, offset=2)`` of projected tokens is the affine link of the slides' last page, ``w.x + 2``.
    """

    lipschitz: float = 1.0
    offset: float = 0.0

    def covariance(self, cosine):
        return self.lipschitz**2 * np.asarray(cosine) / self.dim + self.offset**2

    def variogram(self, theta):
        return self.lipschitz**2 / self.dim * 2 * np.sin(np.asarray(theta) / 2) ** 2

    def spectrum(self, degree):
        a = np.zeros(degree)
        a[0] = self.lipschitz**2 / self.dim
        return a, 0.0

    def sample(self, rng, count):
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self.lipschitz * project(q, x) + self.offset


@dataclass(frozen=True)
class Quadratic(Zonal):
    """``f(x) = L (q.x)^2`` with ``q ~ U(S^{d-1})``; along the sphere its Lipschitz constant is L."""

    lipschitz: float = 1.0

    def covariance(self, cosine):
        d = self.dim
        return self.lipschitz**2 * (1 + 2 * np.asarray(cosine) ** 2) / (d * (d + 2))

    def variogram(self, theta):
        d = self.dim
        return self.lipschitz**2 * 2 * np.sin(np.asarray(theta)) ** 2 / (d * (d + 2))

    def spectrum(self, degree):
        # 2 c^2 = 2 (d-1)/d P_2 + 2/d
        d, a = self.dim, np.zeros(max(degree, 2))
        a[1] = self.lipschitz**2 * 2 * (d - 1) / (d * d * (d + 2))
        return a[:degree], float(a[degree:].sum())

    def sample(self, rng, count):
        q = uniform_sphere(rng, count, self.dim)
        return lambda x: self.lipschitz * project(q, x) ** 2


CLASSES = {"affine": Affine, "relu": ReLU, "cosine": Cosine, "linear": Linear, "quadratic": Quadratic}


def named(name: str, dim: int, lipschitz: float = 1.0) -> Zonal:
    """The class called ``name``, a key of `CLASSES`.

    Args:
        name: Key of `CLASSES`.
        dim: Dimension of the covariates.
        lipschitz: Lipschitz constant L.

    Returns:
        The task.

    Raises:
        ValueError: If the name is unknown or a value is out of range.
    """
    if name not in CLASSES:
        raise ValueError(f"task={name!r}: allowed are {', '.join(CLASSES)}")
    return CLASSES[name](dim, lipschitz)


def check_setting(task: Zonal, w, n, noise_std) -> None:
    """Refuse what no exact or sampled risk is defined for.

    Args:
        task: Must be a `Zonal` class.
        w: Window parameter, finite, >= 0.
        n: Context length, whole, >= 1.
        noise_std: Noise standard deviation, finite, >= 0.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: For the first number out of range, or array with such an entry.
    """
    if not isinstance(task, Zonal):
        raise TypeError(f"task={task!r}: must be a rotation-invariant class from icl.tasks")
    arguments = (("w", w, 0, False), ("n", n, 1, True), ("noise_std", noise_std, 0, False))
    for name, value, least, whole in arguments:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)) or np.any(array < least) or (
                whole and np.any(array != np.floor(array))):
            kind = "an integer" if whole else "a finite number"
            raise ValueError(f"{name}={value!r}: must be {kind} >= {least}")


def _bessel(mu, x):
    """``Gamma(mu + 1) (2 / x)^mu J_mu(x)``, near one for small x, by its series where that is short."""
    mu, x = np.broadcast_arrays(np.asarray(mu, float), np.asarray(x, float))
    quarter = -(x**2) / 4
    short = -quarter <= mu + 1
    term = np.where(short, 1.0, 0.0)
    total = term.copy()
    for k in range(1, 40):
        term = term * quarter / (k * (mu + k))
        total += term
    large, mu = np.where(short, 1.0, x), np.where(short, 0.0, mu)
    wave = jv(mu, large)
    size = np.log(np.abs(wave), out=np.full(wave.shape, -np.inf), where=wave != 0)  # orders may underflow
    return np.where(short, total, np.sign(wave) * np.exp(gammaln(mu + 1) + mu * np.log(2 / large) + size))


def project(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """``q_b.x_bn``: directions (count, d), points (count, n, d) of any memory layout; shape (count, n)."""
    q = q.to(x)
    if x.stride(-1) == 1:
        return torch.einsum("bd,bnd->bn", q, x)
    q, p = q.T.contiguous(), planes(x)  # x lies in memory coordinate by coordinate
    if fusible(p):
        from icl import fused

        out = torch.empty(p.shape[1:])
        fused.project(q.numpy(), p.numpy(), out.numpy())
        return out.T
    return dot(q.unsqueeze(1), p).T
