r"""Function classes ``D(F)`` and their covariance on the unit sphere.

A class is *rotation invariant* if the distribution of ``f`` does not change under rotations. Then
``E f(x) f(x') = k(x . x')``. The exact population risk needs nothing else of a class,
and it needs ``k`` as its expansion in normalized Gegenbauer polynomials,

    k(cos t) = sum_l a_l P_l(cos t),   P_l(1) = 1,   a_l >= 0        (Schoenberg),

because the addition theorem then separates pairs of tokens. ``a_0`` never matters (a
constant is predicted without error), so `spectrum` starts at degree 1.

PyTorch takes long to import and only sampling needs it: it is imported inside `sample`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import broadcast, integer, real, reals
from icl.streams import NativeStream
from icl.tasks.gegenbauer import expansion

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
Rng = np.random.Generator | NativeStream
Function = Callable[["torch.Tensor"], "torch.Tensor"]

#: Largest dimension, and square roots of the smallest and largest squares of L and sigma that are computed.
MOST_DIM, LEAST, MOST = 10_000, 1e-100, 1e100


@dataclass(frozen=True)
class Zonal:
    """Base of all rotation-invariant classes on the unit sphere of R^dim.

    A class of your own derives from this one and gives `covariance`; `spectrum` and
    `variogram` then follow numerically, slower than from closed forms. Given by their covariances
    alone, the classes below have the same risk to 1e-9 for dim >= 5 and w <= 1000. In lower
    dimension rough ones (ReLU) lose more: 1e-7 in four, and in two 1e-8 for w <= 5 only.

    Attributes:
        dim: Dimension d of the covariates, 2 to 10,000.
        label: The name of the class in text and figures.
        homogeneous: Whether the functions are proportional to ``lipschitz``.

    Raises:
        ValueError: If dim, or an attribute ``lipschitz`` of the class, is out of range.
    """

    dim: int
    label: ClassVar[str] = "rotation-invariant"
    homogeneous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", integer(self.dim, "dim", 2, MOST_DIM))
        if hasattr(self, "lipschitz"):
            object.__setattr__(self, "lipschitz", _scale(self.lipschitz))

    @property
    def kink(self) -> float:
        """Mean squared jump of the slope where ``q.x`` changes sign; 0 for smooth functions."""
        return 0.0

    @property
    def covariance_slope(self) -> float | None:
        """``k'(1)``, the mean squared gradient over d - 1, where it has a closed form."""
        return None

    def covariance(self, cosine: ArrayLike) -> Array:
        """Return ``k(cosine) = E f(x) f(x')`` for unit vectors at angle ``arccos(cosine)``."""
        raise NotImplementedError(f"{self!r}: {type(self).__name__} must define covariance(cosine)")

    def spectrum(self, degree: int) -> tuple[Array, float]:
        """Return the Gegenbauer coefficients of the covariance.

        Args:
            degree: Highest degree wanted, >= 1.

        Returns:
            ``(a_1, ..., a_degree)`` and the sum of all later coefficients.

        Raises:
            ValueError: If a covariance given by the user has no expansion with coefficients >= 0.
        """
        return expansion(self, degree)

    def variogram(self, theta: ArrayLike) -> Array:
        """Return ``gamma = E (f(x) - f(x'))^2 / 2 = k(1) - k(cos theta)`` at angles ``theta``."""
        return self.covariance(np.array(1.0)) - self.covariance(np.cos(theta))

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, d) points for (count, n) values."""
        raise NotImplementedError(f"{self!r}: {type(self).__name__} must define sample(rng, count)")


def _scale(lipschitz: Any) -> float:
    value = real(lipschitz, "lipschitz", 0.0, above=True)
    return real(value, "lipschitz", LEAST, MOST)  # its square must be a number, too


def check_task(task: Any, name: str = "task") -> None:
    """Raise TypeError if ``task`` is not a rotation-invariant class."""
    if not isinstance(task, Zonal):
        raise TypeError(f"{name}={task!r}: must be a rotation-invariant class from icl.tasks")


def check_setting(task: Zonal, w: Any, n: Any, noise_std: Any) -> tuple[Array, Array, Array]:
    """Check the arguments of a risk and broadcast them.

    Args:
        task: A rotation-invariant class.
        w: Inverse bandwidth, finite, >= 0.
        n: Context length, whole, >= 1.
        noise_std: Noise standard deviation, finite, >= 0.

    Returns:
        ``w``, ``n`` and ``noise_std`` as float64 arrays of one shape.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: For the first number out of range, or array with such an entry, and for shapes that do
            not broadcast.
    """
    check_task(task)
    w, n, noise_std = broadcast(
        w=reals(w, "w", 0, MOST),
        n=reals(n, "n", 1, MOST, whole=True),
        noise_std=reals(noise_std, "noise_std", 0, MOST),
    )
    return w, n, noise_std


class Task(Protocol):
    """What pretraining asks of a class; every class of `icl.tasks` has it.

    Attributes:
        dim: Dimension of the covariates.
    """

    @property
    def dim(self) -> int:
        """Dimension of the covariates."""

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, dim) points for (count, n) values."""
