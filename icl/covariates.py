"""Distributions of the covariates: uniform on a sphere, ellipsoid or product of spheres.

A distribution turns independent normal numbers into covariates. A user-defined distribution needs only
``dim`` and ``from_normal``. Entries are not checked: NaN gives NaN.

Training keeps covariates, (count, n, d), in memory coordinate by coordinate, because a loop over contexts is
long and a loop over coordinates is short. `normalize`, `inner_products` and `linear_map` take any strides,
and are fast in this order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln

from icl.checks import affordable, integer, matrix_rows, real, shown, tensor
from icl.streams import NativeStream

if TYPE_CHECKING:
    import torch

__all__ = [
    "Ellipsoid",
    "LowRank",
    "Sphere",
    "cap_quantile",
    "uniform_sphere",
]

#: Largest dimension of a sphere on which something is drawn or measured.
_MAX_DIM = 10**6


def reversed_axes(x: torch.Tensor) -> torch.Tensor:
    """Return a view of ``x`` with its axes in reverse order."""
    return x.permute(*reversed(range(x.ndim)))


def normalize(x: torch.Tensor) -> torch.Tensor:
    """Return ``x / |x|`` along the last axis, with the order of x in memory."""
    coordinates = reversed_axes(x)
    norm = products_sum(coordinates, coordinates).sqrt_()
    return reversed_axes(coordinates / norm)


def inner_products(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``q_b.x_bn`` for directions q (count, d) and points x (count, n, d); shape (count, n)."""
    # these are (d, 1, count), and the reversed points (d, n, count)
    directions = q.to(x).T.contiguous().unsqueeze(1)
    return products_sum(directions, reversed_axes(x)).T


def products_sum(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return ``sum_a left_a right_a`` over the first axis of both arrays; their other axes broadcast.

    On a CPU coordinates are added one by one, because the array of all products would not fit into the cache.
    """
    if left.is_cuda:
        from icl.pytorch import torch

        # on a GPU launching the operations of the loop takes longer, unless a compiler makes them one
        if not torch.compiler.is_compiling():
            return (left * right).sum(0)
    total = left[0] * right[0]
    for a in range(1, len(left)):
        total.addcmul_(left[a], right[a])
    return total


def linear_map(matrix: ArrayLike, x: torch.Tensor) -> torch.Tensor:
    """Return ``A x`` along the last axis, (..., m), for A (m, d) and x (..., d)."""
    A = x.new_tensor(np.asarray(matrix, dtype=float))
    coordinates = reversed_axes(x)
    others = coordinates.shape[1:]
    # if the tensor is empty, PyTorch cannot infer a size of -1
    image = A @ coordinates.reshape(len(coordinates), math.prod(others))
    return reversed_axes(image.reshape(len(A), *others))


def check_rng(rng: Any) -> None:
    """Raise ValueError unless ``rng`` can draw random numbers."""
    if not hasattr(rng, "standard_normal"):
        raise ValueError(
            f"rng={shown(rng)}: must be a generator of NumPy or a stream of icl.streams"
        )


def uniform_sphere(rng: np.random.Generator | NativeStream, *shape: int) -> torch.Tensor:
    """Draw points uniform on the unit sphere, ``x ~ U(S^{d-1})``, as a tensor of this shape.

    The last number of ``shape`` is the dimension d. Points are float64, or float32 from a `NativeStream`.

    Raises:
        ValueError: If ``rng`` cannot draw, d is not 2 to a million, or there are more than 10^9 coordinates.
    """
    check_rng(rng)
    if not shape:
        raise ValueError("shape=(): must end in the dimension, an integer >= 2")
    # the product of much larger numbers would not be a float, which `affordable` needs
    shape = (
        *(integer(count, "shape", 0, 10**10) for count in shape[:-1]),
        integer(shape[-1], "dim", 2, _MAX_DIM),
    )
    affordable(math.prod(shape), 1e9, "shape", shape, "numbers")
    # the exact risk does not need PyTorch, which takes long to import
    from icl.pytorch import torch

    return normalize(torch.as_tensor(rng.standard_normal(shape)))


def cap_quantile(dim: int, mass: float) -> float:
    """Return the t for which a uniform covariate x has ``1 - x.x_q < t`` with the probability ``mass``.

    With the mass 1/n about one of n covariates is within t of the query. So the window ``w = 1 / t`` just
    reaches the nearest covariate, and grows like ``n ** (2 / (d - 1))``.

    Raises:
        ValueError: If the dimension is below 2 or above a million, or the mass is negative.
    """
    return invert_cap_mass(integer(dim, "dim", 2, _MAX_DIM), real(mass, "mass", 0))


def invert_cap_mass(dim: int, mass: float) -> float:
    """Return the result of `cap_quantile` for checked arguments."""
    if mass >= 1:
        return 2.0
    # x = (1 - cosine) / 2 has the law Beta(half, half)
    half = (dim - 1) / 2
    # SciPy's inverse fails for small masses in dimensions 7 to 12. A small x is therefore found from the
    # first term of the power series of the mass, ``x^half / (half B(half, half))``. The second term is at
    # most ``half x`` times the first.
    x = math.exp((math.log(mass * half) + betaln(half, half)) / half) if mass > 0 else 0.0
    return 2 * (x if x * half < 1e-17 else float(betaincinv(half, half, mass)))


def _check_normal(normal: torch.Tensor, dim: int) -> torch.Tensor:
    """Return normal numbers; ValueError unless they are a dense tensor (..., dim)."""
    tensor(normal, "normal", dim, finite=False)
    return normal


@dataclass(frozen=True)
class Sphere:
    """Covariates ``x ~ U(S^{d-1})``, d >= 2, the paper's isotropic case."""

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", integer(self.dim, "dim", 2))

    def from_normal(self, normal: torch.Tensor) -> torch.Tensor:
        """Return covariates from normal numbers (..., d), of the same shape."""
        return normalize(_check_normal(normal, self.dim))

    @property
    def _spheres(self) -> tuple[int, np.ndarray]:
        """The number of coordinates on a first sphere, and the matrix (d, d) that then maps all coordinates.

        The others are on a second sphere. An empty matrix is the identity (`icl.compiled.batches.place`).
        """
        return self.dim, np.empty((0, 0))


@dataclass(frozen=True)
class Ellipsoid:
    """Covariates ``x = A u`` with ``u ~ U(S^{d-1})``; ``A = Sigma^{1/2}`` gives ITA slides, Lemma 1.

    ``matrix`` is A, (d, d), and is kept as a tuple of rows. The covariance of x is ``A A' / d``, while the
    slides' Sigma is ``A A'``.
    """

    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", matrix_rows(self.matrix, "matrix"))
        if len({len(self.matrix), *map(len, self.matrix)}) != 1:
            raise ValueError(f"matrix={shown(self.matrix)}: must be square")

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.matrix)

    def from_normal(self, normal: torch.Tensor) -> torch.Tensor:
        """Return covariates from normal numbers, as in `Sphere.from_normal`."""
        return linear_map(self.matrix, normalize(_check_normal(normal, self.dim)))

    @property
    def _spheres(self) -> tuple[int, np.ndarray]:
        return self.dim, np.array(self.matrix)


@dataclass(frozen=True)
class LowRank:
    """Covariates ``x = B u + B_perp v``, ``u ~ U(S^{k-1})``, ``v ~ U(S^{d-k-1})`` independent (Theorem 4).

    ``basis`` is B, (d, k) with 1 <= k < d, whose columns are orthonormal, and is kept as a tuple of rows.
    The columns of B_perp complete them to an orthonormal basis. ``S^0`` is the points -1 and 1.
    """

    basis: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", matrix_rows(self.basis, "basis"))
        basis = np.array(self.basis)
        if not (0 < basis.shape[1] < len(basis)) or not np.allclose(
            basis.T @ basis, np.eye(basis.shape[1])
        ):
            raise ValueError(
                f"basis={shown(self.basis)}: must have fewer columns than rows, orthonormal ones"
            )

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.basis)

    @cached_property
    def _complement(self) -> np.ndarray:
        """Return B_perp, (d, d - k)."""
        full = np.linalg.qr(np.array(self.basis), mode="complete").Q
        return full[:, len(self.basis[0]) :]

    def from_normal(self, normal: torch.Tensor) -> torch.Tensor:
        """Return covariates from normal numbers, as in `Sphere.from_normal`."""
        normal = _check_normal(normal, self.dim)
        k = len(self.basis[0])
        inside = normalize(normal[..., :k])
        outside = normalize(normal[..., k:])
        return linear_map(self.basis, inside) + linear_map(self._complement, outside)

    @property
    def _spheres(self) -> tuple[int, np.ndarray]:
        return len(self.basis[0]), np.hstack([self.basis, self._complement])
