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
from typing import ClassVar, Protocol

import numpy as np
import torch

from icl.checks import integer
from icl.tasks.gegenbauer import expansion

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
        homogeneous: Whether the functions are proportional to ``lipschitz``.

    Raises:
        ValueError: If dim is not an integer >= 2.
    """

    homogeneous: ClassVar[bool] = False

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
        if (
            array.dtype.kind not in "iuf"
            or not np.all(np.isfinite(array))
            or np.any(array < least)
            or (whole and np.any(array != np.floor(array)))
        ):
            kind = "an integer" if whole else "a finite number"
            raise ValueError(f"{name}={value!r}: must be {kind} >= {least}")


class Task(Protocol):
    """What pretraining asks of a class; every class of `icl.tasks` and of this module has it.

    Attributes:
        dim: Dimension of the tokens.
    """

    dim: int

    def sample(self, rng: np.random.Generator, count: int) -> Function:
        """Draw ``count`` functions; call the result on (count, n, dim) points for (count, n) values."""
