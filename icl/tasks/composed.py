r"""Function classes made from others: a hidden projection first, or a random network.

`icl.pretrain` asks little of a class: ``dim``, the dimension of the tokens, and
``sample(rng, count)``, which draws ``count`` functions and returns one callable from points
(count, n, dim) to values (count, n). Draw with ``torch.as_tensor(rng.standard_normal(shape))`` and
``torch.as_tensor(rng.uniform(low, high, shape))``, then the class works with both kinds of
streams. It should be a frozen dataclass, so that results can say what it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from icl.checks import integer, matrix_rows
from icl.covariates import uniform_sphere
from icl.layout import linear_map
from icl.tasks.base import Array, Function, Rng, Task, Zonal
from icl.tasks.classes import ReLU

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Projected:
    """``f(x) = g(A x)`` with g drawn from another class.

    ``A = B'`` with orthonormal columns B gives the low-rank classes: ``Projected(Linear(k), B.T)`` is
    ``F_B^lin`` of ITA slides, Theorem 4, and ``Linear(k, 1, offset=2)``, ``Quadratic(k)``, ``Cosine(k, 4)``
    are the three links of the last slide. ``A = Sigma^{-1/2}`` makes a rotation-invariant class symmetric
    in the whitened coordinates of ``x = Sigma^{1/2} u`` (Lemma 1). Unlike g's class, this one is in
    general not rotation invariant, and the exact risk does not apply to it. A is (m, d), with m the dimension
    of g's class; rows are tuples (an array is converted).
    """

    task: Task
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", matrix_rows(self.matrix, "matrix"))
        if len(self.matrix) != self.task.dim:
            raise ValueError(f"matrix has {len(self.matrix)} rows: must be the dimension of {self.task!r}")

    @property
    def dim(self) -> int:
        """Dimension d of the tokens."""
        return len(self.matrix[0])

    def sample(self, rng: Rng, count: int) -> Function:
        g = self.task.sample(rng, count)
        return lambda x: g(linear_map(self.matrix, x))


@dataclass(frozen=True)
class Network(Zonal):
    r"""Random two-layer networks ``f(x) = L sqrt(2 / m) sum_j a_j (q_j.x)_+``, ``q_j ~ U(S^{d-1})``.

    ``a_j ~ N(0, 1)``, m = ``hidden`` units, 1 to 100,000. Rotation invariant, so the exact risk applies: the
    covariance is that of the ReLU class, up to a factor and the intercept, whatever m is. The functions'
    Lipschitz constants are random, of the order of L.
    """

    lipschitz: float = 1.0
    hidden: int = 32
    label = "network"
    homogeneous = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hidden", integer(self.hidden, "hidden", 1, 100_000))

    # E (q.x)_+ (q.x')_+ = (arc-cosine kernel) / 2d, and the ReLU class has L^2/3 times twice that
    @property
    def _relu(self) -> ReLU:
        return ReLU(self.dim, self.lipschitz * math.sqrt(3))

    @property
    def kink(self) -> float:
        return self._relu.kink

    def covariance(self, cosine: ArrayLike) -> Array:
        return self._relu.covariance(cosine) - self.lipschitz**2

    def variogram(self, theta: ArrayLike) -> Array:
        return self._relu.variogram(theta)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        return self._relu.spectrum(degree)

    def sample(self, rng: Rng, count: int) -> Function:
        import torch

        q = uniform_sphere(rng, count, self.hidden, self.dim)
        a = torch.as_tensor(rng.standard_normal((count, self.hidden)))
        scale = self.lipschitz * math.sqrt(2 / self.hidden)

        def f(x: torch.Tensor) -> torch.Tensor:
            inner = x @ q.to(x).mT  # (count, n, hidden)
            return scale * (inner.clamp(min=0) * a.to(x).unsqueeze(1)).sum(-1)

        return f
