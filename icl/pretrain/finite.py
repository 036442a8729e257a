"""Pretraining on finitely many contexts, or on finitely many functions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from icl.attention import softmax_attention
from icl.checks import integer, real, tensor
from icl.covariates import uniform_sphere
from icl.streams import stream
from icl.tasks.base import LEAST, MOST, MOST_DIM, Function

__all__ = ["ReLUPool", "context_losses", "fit_matrix", "fit_window"]

_LOG_W = (-3, 5)  # where `fit_window` looks
_LOG_TOLERANCE = 1e-4


def _check(x: Tensor, y: Tensor) -> None:
    """Refuse contexts that are no finite tensors (T, n + 1, d) and (T, n + 1)."""
    tensor(x, "x", "T", "n + 1", "d")
    if x.ndim != 3 or x.shape[1] < 2:
        raise ValueError(
            f"x has shape {tuple(x.shape)}: must be (T, n + 1, d), n at least 1"
        )
    tensor(y, "y", *x.shape[:2])


def context_losses(M: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the squared error of a softmax unit M (d, d) on contexts x (T, n + 1, d), y (T, n + 1); (T,).

    ValueError for other shapes and types. Entries are not looked at: NaN gives NaN.
    """
    tensor(x, "x", "T", "n + 1", "d", finite=False)
    tensor(y, "y", *x.shape[:-1], finite=False)
    return (softmax_attention(x[:, :-1], y[:, :-1], x[:, -1], M) - y[:, -1]) ** 2


def fit_window(x: Tensor, y: Tensor) -> float:
    """Return the w in [e^-3, e^5] with the least mean of `context_losses` at ``w I``, to a relative 1e-4.

    A RuntimeWarning says so where that lies at an end of the interval: tokens whose norms are far from one
    may have their best window outside. ValueError for other shapes, NaN and infinity.
    """
    _check(x, y)
    identity = torch.eye(x.shape[-1], dtype=x.dtype)
    found = minimize_scalar(
        lambda u: float(context_losses(np.exp(u) * identity, x, y).mean()),
        bounds=_LOG_W,
        method="bounded",
        options={"xatol": _LOG_TOLERANCE},
    )
    w = float(np.exp(found.x))
    if min(abs(found.x - end) for end in _LOG_W) < 10 * _LOG_TOLERANCE:
        low, high = np.exp(_LOG_W)
        text = f"w={w:.4g} lies at an end of [{low:.4g}, {high:.4g}]: the best window may be outside"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return w


def fit_matrix(x: Tensor, y: Tensor, start: Tensor) -> Tensor:
    """Minimize the mean of `context_losses` over all matrices by at most 40 iterations of L-BFGS.

    The start is (d, d). ValueError for other shapes, NaN and infinity.
    """
    _check(x, y)
    tensor(start, "start", x.shape[2], x.shape[2])
    if start.ndim != 2 or start.dtype != x.dtype:
        got = f"{start.dtype} of shape {tuple(start.shape)}"
        raise ValueError(
            f"start is {got}: must be {x.dtype}, a matrix (d, d), d={x.shape[2]}"
        )
    M = start.clone().requires_grad_()
    solver = torch.optim.LBFGS([M], max_iter=40, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        solver.zero_grad()
        loss = context_losses(M, x, y).mean()
        torch.autograd.backward(loss)
        return loss

    solver.step(closure)  # type: ignore[no-untyped-call]
    return M.detach()


@dataclass(frozen=True)
class ReLUPool:
    """A fixed pool of ``size`` functions of the class `icl.tasks.ReLU`; every context draws one of them."""

    dim: int
    lipschitz: float
    size: int
    seed: int

    def __post_init__(self) -> None:
        numbers = {
            "dim": integer(self.dim, "dim", 2, MOST_DIM),
            "lipschitz": real(self.lipschitz, "lipschitz", LEAST, MOST),
            "size": integer(self.size, "size", 1, 10**7),
            "seed": integer(self.seed, "seed", 0, 2**64 - 1),
        }
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _pool(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return directions, slopes on both sides and constants of all functions."""
        own, L = stream(self.seed, "pool"), self.lipschitz
        q = uniform_sphere(own, self.size, self.dim)
        right, left, b = torch.as_tensor(own.uniform(-L, L, (3, self.size, 1)))
        return q, right, left, b

    def sample(self, rng: np.random.Generator, count: int) -> Function:
        """Draw ``count`` functions of the pool, with replacement; see `icl.tasks.Task`."""
        q, right, left, b = self._pool
        u = torch.as_tensor(rng.uniform(0.0, 1.0, (count,)))
        pick = (u * self.size).long().clamp(max=self.size - 1).cpu()

        def f(x: Tensor) -> Tensor:
            t = torch.einsum("bd,bnd->bn", q[pick].to(x), x)
            slopes = right[pick].to(x) * t.clamp(min=0) + left[pick].to(x) * (-t).clamp(
                min=0
            )
            values: Tensor = slopes + b[pick].to(x)
            return values

        return f
