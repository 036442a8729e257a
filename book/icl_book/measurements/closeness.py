"""Measurements of what *close* means: links behind a projection, a nonlinear layer first, far queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.covariates import LowRank, Sphere, restrict_to_cap, uniform_sphere
from icl.pretrain import train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Affine, QuadraticRisk, ReLU, Tanh, Zonal
from icl.tasks.base import Function, Projected, Rng
from icl_book.measurements.tables import Array, Training, grid, measured

#: Predictors that are linear in the labels.
METHODS = ("softmax", "softmax with gain", "nearest", "linear attention", "kriging")
#: Windows that softmax chooses from.
WINDOWS = np.geomspace(0.1, 60, 28)


def behind_projection(
    lipschitz: float,
    noise_std: float,
    n: int,
    batch_sizes: Sequence[int],
    how: Training,
) -> pd.DataFrame:
    """Train units on nonlinear links of three coordinates of five, from a random start.

    Returns:
        Columns ``link``, ``batch``, ``seed``; ``window``, the mean diagonal of B'MB over the exact best
        window of the link's class in three dimensions; ``outside``, the Frobenius norm of M without that
        block, over that of M.
    """
    rank = 3
    basis: Any = np.eye(5)[:, :rank]
    links: dict[str, Zonal] = {
        "ReLU, L": ReLU(rank, lipschitz),
        "ReLU, 2L": ReLU(rank, 2 * lipschitz),
        "tanh, steepness 3": Tanh(rank, 2 * lipschitz, 3.0),
    }
    exact = np.array([float(optimal_window(g, n, noise_std).w) for g in links.values()])
    tasks: list[Any] = [Projected(g, basis.T) for g in links.values()]

    def one(batch: int) -> tuple[Any, ...]:
        training = how._replace(batch_size=batch)
        M = train_grid(
            tasks, noise_std, n, *training, covariates=LowRank(basis), initial_std=0.3
        ).M
        block = M[..., :rank, :rank]
        ratio = np.trace(block, axis1=-2, axis2=-1) / rank / exact[:, None]
        whole, inside = (np.linalg.norm(matrix, axis=(-2, -1)) for matrix in (M, block))
        outside = np.sqrt((whole**2 - inside**2).clip(0)) / whole
        who = grid(link=links, seed=range(how.seeds))
        return who.link, who.seed, ratio.ravel(), outside.ravel()

    return measured(one, ["link", "seed", "window", "outside"], batch=batch_sizes)


@dataclass(frozen=True)
class Folded:
    """``f(x) = g(|x|)``, entry by entry, with g of the affine class."""

    dim: int
    lipschitz: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw that many functions."""
        g = Affine(self.dim, self.lipschitz).sample(rng, count)
        return lambda x: g(x.abs())


@dataclass(frozen=True)
class Absolute:
    """Uniform tokens with all entries made positive."""

    dim: int

    def from_normal(self, normal: Tensor) -> Tensor:
        """Return covariates from normal numbers."""
        return Sphere(self.dim).from_normal(normal).abs()


def nonlinear_first(
    d: int,
    lipschitz: float,
    noise_std: float,
    n: int,
    how: Training,
    contexts: int = 4000,
) -> pd.DataFrame:
    """Train units on functions of ``|x|``, given x or given ``|x|``.

    Returns:
        Columns ``seed``, ``token`` and ``absolute``, test errors of units that are given x and ``|x|``, and
        their ``ratio``.
    """
    problems: dict[str, tuple[Any, Absolute | None]] = {
        "token": (Folded(d, lipschitz), None),
        "absolute": (Affine(d, lipschitz), Absolute(d)),
    }
    frame = pd.DataFrame({"seed": range(how.seeds)})
    for name, (task, law) in problems.items():
        trained = train_grid(
            task,
            noise_std,
            n,
            *how,
            covariates=law,
            initial_std=0.3,
            shared_tokens=False,
        ).trained
        frame[name] = evaluation_error(
            trained, task, noise_std, n, contexts, None, law
        )[-1]
    return frame.assign(ratio=frame.token / frame.absolute)


def far_queries(
    tasks: Mapping[str, Zonal],
    n: int,
    similarities: Sequence[float],
    noise_std: float,
    contexts: int,
) -> pd.DataFrame:
    """Compare predictors when no example has a larger similarity with the query than ``limit``.

    Windows and gains are chosen on half of the token sets and tested on the other; labels are integrated
    out. Columns ``task``, ``limit``, ``method`` (`METHODS`), ``risk`` over the variance of f, and its
    interval ``low`` and ``high``.
    """
    half, (d,) = contexts // 2, {task.dim for task in tasks.values()}
    uniform = uniform_sphere(stream(0, "monte carlo"), contexts, n + 1, d)
    places = stream(1, "monte carlo").uniform(0, 1, (contexts, n))

    def one(task: str, limit: float) -> tuple[Array, ...]:
        x = restrict_to_cap(uniform, limit, places)
        form = QuadraticRisk.of(tasks[task], x, noise_std)
        t = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
        omega = torch.stack(
            [*(torch.softmax(w * t, -1) for w in WINDOWS), t / n]
        )  # linear attention last
        train = form.gain(omega), form.product(omega, omega)
        gain, square = (values[:, :half].mean(1) for values in train)
        plain, free = (
            int(goal[:-1].argmin()) for goal in (square - 2 * gain, -(gain**2) / square)
        )
        c = gain / square
        nearest = torch.nn.functional.one_hot(t.argmax(-1), n).double()
        weights = [
            omega[plain],
            c[free] * omega[free],
            nearest,
            c[-1] * omega[-1],
            form.kriging(),
        ]
        risks = form.risk(torch.stack(weights))
        variance = sum(np.append(*tasks[task].spectrum(200)))
        return np.array(METHODS), *t_interval(risks[:, half:].numpy() / variance)

    return measured(
        one, ["method", "risk", "low", "high"], task=tasks, limit=similarities
    )
