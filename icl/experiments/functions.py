"""Measurements on other functions: mixtures of classes, random networks, classes without invariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import hyp0f1
from torch import Tensor

from icl.experiments.tables import TASKS, measured
from icl.layout import normalize
from icl.pretrain import UnitConfig, train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Network, ReLU, Tanh, Zonal
from icl.tasks.base import Function, Rng

Array = NDArray[np.float64]

# ---------------------------------------------------------------- exact


def bias_slopes(dims: Sequence[int], lipschitz: float = 2.0) -> pd.DataFrame:
    """Return the largest slope of log bias in log w over w from 0.1 to 100, many tokens.

    Columns ``k`` (the dimension), ``label`` (the class), ``slope``.
    """
    w = np.geomspace(0.1, 100, 61)

    def one(k: int, label: str) -> float:
        classes = {
            "affine": Affine(k, lipschitz),
            "ReLU": ReLU(k, lipschitz),
            "tanh, steepness 4": Tanh(k, lipschitz, 4.0),
            "cosine, L = 3": Cosine(k, 3.0),
        }
        bias, _ = asymptotics.many_token_risk(classes[label], w, 1.0, 0.0)
        return float((np.diff(np.log(bias)) / np.diff(np.log(w))).max())

    return measured(one, ["slope"], k=dims, label=("affine", "ReLU", "tanh, steepness 4", "cosine, L = 3"))


def bias_beyond(dims: Sequence[int], n: int, lipschitz: float = 2.0) -> pd.DataFrame:
    """Return the slope of log bias in log w from the best w without noise to ten times that, n tokens.

    Columns ``k``, ``label``, ``slope`` and its ``error``.
    """

    def one(k: int, label: str) -> tuple[float, float]:
        task = TASKS[label](k, lipschitz)
        w = optimal_window(task, n, 0.0).w * np.array([1.0, 10.0])
        risk = population_risk(task, w, n, 0.0)
        return float(np.diff(np.log(risk.bias))[0] / np.log(10)), float(risk.error.sum() / np.log(10))

    return measured(one, ["slope", "error"], k=dims, label=("affine", "ReLU"))


@dataclass(frozen=True)
class Waves(Zonal):
    """``cos(L u.x + phase)`` with ``u`` uniform on the sphere and a uniform phase, by its covariance."""

    lipschitz: float = 1.0
    label = "cosine with phase"

    def covariance(self, cosine: ArrayLike) -> Array:
        """Return half the mean of a plane wave over all directions, at the distance of the two points."""
        square = 2 * self.lipschitz**2 * (1 - np.asarray(cosine, dtype=float))
        return np.asarray(hyp0f1(self.dim / 2, -square / 4) / 2)


@dataclass(frozen=True)
class Mixture(Zonal):
    """Classes with equal shares."""

    classes: tuple[Zonal, ...] = ()

    def covariance(self, cosine: ArrayLike) -> Array:
        return sum((c.covariance(cosine) for c in self.classes), np.zeros(())) / len(self.classes)

    def variogram(self, theta: ArrayLike) -> Array:
        return sum((c.variogram(theta) for c in self.classes), np.zeros(())) / len(self.classes)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        a, rest = zip(*(c.spectrum(degree) for c in self.classes), strict=True)
        return np.sum(a, axis=0) / len(self.classes), sum(rest) / len(self.classes)


def serve(
    dims: Sequence[int], lengths: Sequence[float], noises: Sequence[float], phase: bool = False
) -> pd.DataFrame:
    """Return what units trained on one class, or on the mixture of three with L = 1, lose on each class.

    Args:
        dims: Dimensions.
        lengths: Context lengths.
        noises: Standard deviations of the label noise.
        phase: Whether the cosines have a uniform phase.

    Returns:
        Columns ``d``, ``n``, ``sigma``; ``start`` (what the unit was trained on), ``label`` (the test class),
        ``risk``; ``price``, the risk over the least one, and its ``error``; ``error_risk``, that of the risk.
    """
    names = list(TASKS)

    def one(d: int, n: float, sigma: float) -> tuple[Array, ...]:
        third: Zonal = Waves(d) if phase else Cosine(d)
        classes = Affine(d, 1.0), ReLU(d, 1.0), third
        best = [optimal_window(c, n, sigma) for c in (*classes, Mixture(d, classes))]
        risks = [population_risk(c, np.array([b.w for b in best]), n, sigma) for c in classes]
        total, error = np.array([(r.total, r.error) for r in risks]).transpose(1, 2, 0)
        price = total / [b.risk for b in best[:3]]
        start, label = np.repeat([*names, "mixture"], 3), np.tile(names, 4)
        moved = price * (error + error[:3].diagonal())
        return start, label, total.ravel(), price.ravel(), moved.ravel(), error.ravel()

    columns = ["start", "label", "risk", "price", "error", "error_risk"]
    return measured(one, columns, d=dims, n=lengths, sigma=noises)


def spreads(served: pd.DataFrame) -> pd.DataFrame:
    """Return the mixture's largest risk over its least, ``price`` with its ``error``, in each setting."""
    groups = served[served.start == "mixture"].groupby(["d", "n", "sigma"], sort=False)
    price = groups.risk.max() / groups.risk.min()
    error = price * 2 * groups.error_risk.max()
    return pd.DataFrame({"price": price, "error": error}).reset_index()


# ---------------------------------------------------------------- trained


def networks(
    d: int,
    n: int,
    noise_std: float,
    hidden: Sequence[int],
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float = 0.3,
    device: torch.device | str = "cpu",
    lipschitz: Sequence[float] = (2.0, 6.0),
) -> pd.DataFrame:
    """Train units on random networks with m hidden units.

    Columns ``m``, ``L``, ``seed``, ``ratio``: the trained w over the exact one of the ReLU class with
    sqrt(3) L.
    """
    settings = [(m, L) for m in hidden for L in lipschitz]
    tasks: list[Any] = [Network(d, L, m) for m, L in settings]
    grid = train_grid(tasks, noise_std, n, seeds, steps, batch_size, learning_rate, device)
    exact = [float(optimal_window(ReLU(d, np.sqrt(3) * L), n, noise_std).w) for _, L in settings]
    frame = pd.DataFrame(settings, columns=["m", "L"])
    frame = frame.loc[frame.index.repeat(seeds)].reset_index(drop=True)
    ratio = grid.windows / np.array(exact)[:, None]
    return frame.assign(seed=np.tile(np.arange(seeds), len(settings)), ratio=ratio.ravel())


@dataclass(frozen=True)
class Preferred:
    """Affine functions with slopes of different size along the axes."""

    dim: int
    scales: tuple[float, ...]

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw that many functions."""
        drawn = torch.as_tensor(rng.uniform(-1.0, 1.0, (count, self.dim)))
        slope = drawn * torch.tensor(self.scales).to(drawn)
        b = torch.as_tensor(rng.uniform(-1.0, 1.0, (count, 1)))
        return lambda x: (x * slope.to(x).unsqueeze(1)).sum(-1) + b.to(x)


@dataclass(frozen=True)
class FixedKink:
    """``f(x) = l1 (x_1)_+ + l2 (-x_1)_+ + b``: the kink is always at the same place."""

    dim: int
    lipschitz: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw that many functions."""
        drawn = torch.as_tensor(rng.uniform(-self.lipschitz, self.lipschitz, (3, count, 1)))
        right, left, b = drawn
        return lambda x: (
            right.to(x) * x[..., 0].clamp(min=0) + left.to(x) * (-x[..., 0]).clamp(min=0) + b.to(x)
        )


@dataclass(frozen=True)
class Crowded:
    """Directions of an ellipsoid with the given axes, projected to the unit sphere."""

    dim: int
    axes: tuple[float, ...]

    def from_normal(self, normal: Tensor) -> Tensor:
        """Return covariates from normal numbers."""
        return normalize(normal * torch.tensor(self.axes).to(normal))


def broken_invariance(
    d: int,
    n: int,
    lipschitz: float,
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float = 0.3,
    device: torch.device | str = "cpu",
    contexts: int = 1000,
) -> pd.DataFrame:
    """Train units where rotation invariance is broken in three ways, and where it is not.

    Returns:
        Columns ``kind``, ``seed``, ``axis`` (1, ..., d), ``entry``, that entry of the diagonal of M; the
        same for all axes are ``gain``, the test error over that of the best multiple of the identity, and
        ``rest``, the smallest singular value of M without its first row and column.
    """
    scales = tuple(np.geomspace(2, 0.5, d).tolist())
    problems: dict[str, tuple[Any, Crowded | None]] = {
        "preferred slopes": (Preferred(d, tuple(lipschitz * s for s in scales)), None),
        "fixed kink": (FixedKink(d, lipschitz), None),
        "crowded tokens": (Affine(d, lipschitz), Crowded(d, scales)),
        "invariant": (Affine(d, lipschitz), None),
    }
    tasks, laws = (list(some) for some in zip(*problems.values(), strict=True))
    grid = train_grid(tasks, noise_std, n, seeds, steps, batch_size, learning_rate, device, covariates=laws)
    identities = [w * np.eye(d) for w in np.geomspace(1, 40, 15)]

    def gain(kind: str, seed: int, M: Array) -> float:
        task, law = problems[kind]
        tried = [M, *identities]
        units = (UnitConfig(task, noise_std, n, 0, covariates=law),) * len(tried)
        parameters = tuple({"M": matrix} for matrix in tried)
        trained = replace(grid.trained, units=units, parameters=parameters, history=())
        error = evaluation_error(trained, task, noise_std, n, contexts, seed=seed, covariates=law)[-1]
        return float(error[0] / error[1:].min())

    def one(kind: str, seed: int) -> tuple[Any, ...]:
        M = grid.M[list(problems).index(kind), seed]
        rest = float(np.linalg.svd(M[1:, 1:], compute_uv=False).min())
        return np.arange(1, d + 1), np.diagonal(M), np.full(d, gain(kind, seed, M)), np.full(d, rest)

    return measured(one, ["axis", "entry", "gain", "rest"], kind=problems, seed=range(seeds))
