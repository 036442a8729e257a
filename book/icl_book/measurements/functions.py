"""Measurements on other functions: mixtures of classes, random networks, classes without invariance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import hyp0f1
from torch import Tensor

from icl.covariates import normalize
from icl.pretrain import UnitConfig, train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Affine, Cosine, Network, ReLU, Tanh, Zonal
from icl.tasks.base import Function, Rng
from icl_book.measurements.sweeps import log_slopes
from icl_book.measurements.tables import KINDS, Array, Row, Training, each, grid

#: Classes whose bias is followed, called with the dimension.
FOLLOWED: dict[str, Callable[[int], Zonal]] = {
    "affine": lambda k: Affine(k, 2.0),
    "ReLU": lambda k: ReLU(k, 2.0),
    "tanh, steepness 4": lambda k: Tanh(k, 2.0, 4.0),
    "cosine, L = 3": lambda k: Cosine(k, 3.0),
}


def bias_slope(k: int, label: str) -> Row:
    """Return the largest ``slope`` of log bias in log w over w from 0.1 to 100, many tokens."""
    w = np.geomspace(0.1, 100, 61)
    bias, _ = asymptotics.many_token_risk(FOLLOWED[label](k), w, 1.0, 0.0)
    return {"slope": np.max(np.diff(np.log(bias)) / np.diff(np.log(w)))}


def bias_beyond(k: int, label: str, n: int) -> Row:
    """Return the slope of log bias in log w from the best w without noise to ten times that."""
    task = FOLLOWED[label](k)
    w = optimal_window(task, n, 0.0).w * np.array([1.0, 10.0])
    risk = population_risk(task, w, n, 0.0)
    slope, error = log_slopes(w, risk.bias, risk.error)
    return {"slope": slope, "error": error}


@dataclass(frozen=True)
class Wave(Zonal):
    """``cos(L u.x + phase)`` with ``u`` uniform on the sphere and a phase uniform on the circle."""

    lipschitz: float = 1.0
    label = "cosine with phase"

    def covariance(self, cosine: ArrayLike) -> Array:
        """Return half the mean of a plane wave over all directions, at the distance of the two points."""
        square = 2 * self.lipschitz**2 * (1 - np.asarray(cosine, dtype=float))
        return np.asarray(hyp0f1(self.dim / 2, -square / 4) / 2)

    def sample(self, rng: Rng, count: int) -> Function:
        u = torch.as_tensor(rng.standard_normal((count, self.dim)))
        u = u / u.norm(dim=1, keepdim=True)
        phase = torch.as_tensor(rng.uniform(0, 2 * np.pi, (count, 1)))
        return lambda x: (
            self.lipschitz * torch.einsum("bd,bnd->bn", u.to(x), x) + phase.to(x)
        ).cos()


@dataclass(frozen=True)
class Mixture(Zonal):
    """Classes with equal shares."""

    classes: tuple[Zonal, ...] = ()

    def covariance(self, cosine: ArrayLike) -> Array:
        return sum((c.covariance(cosine) for c in self.classes), np.zeros(())) / len(
            self.classes
        )

    def variogram(self, theta: ArrayLike) -> Array:
        return sum((c.variogram(theta) for c in self.classes), np.zeros(())) / len(
            self.classes
        )

    def spectrum(self, degree: int) -> tuple[Array, float]:
        a, rest = zip(*(c.spectrum(degree) for c in self.classes), strict=True)
        return np.sum(a, axis=0) / len(self.classes), sum(rest) / len(self.classes)


def serve(d: int, n: float, sigma: float, phase: bool = False) -> Row:
    """Return what units trained on one class, or on the mixture of three with L = 1, lose on each class.

    With ``phase`` the cosines have a uniform phase.

    Returns:
        ``start`` (what the unit was trained on), ``label`` (the test class), ``risk``; ``price``, the risk
        over the least one, and its ``error``; ``error_risk``, that of the risk.
    """
    classes: tuple[Zonal, ...] = Affine(d), ReLU(d), Wave(d) if phase else Cosine(d)
    best = [optimal_window(c, n, sigma) for c in (*classes, Mixture(d, classes))]
    risks = [
        population_risk(c, np.array([b.w for b in best]), n, sigma) for c in classes
    ]
    risk, error = np.array([(r.total, r.error) for r in risks]).transpose(1, 2, 0)
    price = risk / [b.risk for b in best[:3]]
    found = {
        "price": price,
        "error": price * (error + error[:3].diagonal()),
        "error_risk": error,
    }
    units = {"start": np.array([[*KINDS, "mixture"]]).T, "label": np.array(KINDS)}
    return {**units, "risk": risk, **found}


def spreads(served: pd.DataFrame) -> pd.DataFrame:
    """Return the mixture's largest risk over its least, ``price`` with its ``error``, in each setting."""
    groups = served[served.start == "mixture"].groupby(["d", "n", "sigma"], sort=False)
    price = groups.risk.max() / groups.risk.min()
    return pd.DataFrame(
        {"price": price, "error": price * 2 * groups.error_risk.max()}
    ).reset_index()


def networks(
    d: int,
    n: int,
    sigma: float,
    hidden: Sequence[int],
    how: Training,
    slopes: Sequence[float] = (2.0, 6.0),
) -> pd.DataFrame:
    """Train units on random networks with m hidden units.

    Columns ``m``, ``L``, ``seed``, ``ratio``: the trained w over the exact one of the ReLU class with
    sqrt(3) L.
    """
    frame = grid(m=hidden, L=slopes)
    tasks: list[Any] = [Network(d, L, m) for m, L in frame.itertuples(index=False)]
    exact = [optimal_window(ReLU(d, np.sqrt(3) * L), n, sigma).w for L in frame.L]
    ratio = train_grid(tasks, sigma, n, *how).windows / np.c_[exact]
    return frame.merge(grid(seed=range(how.seeds)), how="cross").assign(
        ratio=ratio.ravel()
    )


@dataclass(frozen=True)
class Preferred:
    """Affine functions with slopes of different size along the axes."""

    dim: int
    scales: tuple[float, ...]

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw that many functions."""
        drawn = torch.as_tensor(rng.uniform(-1.0, 1.0, (count, self.dim)))
        slope = drawn * drawn.new_tensor(self.scales)
        b = torch.as_tensor(rng.uniform(-1.0, 1.0, (count, 1)))
        return lambda x: (x * slope.to(x).unsqueeze(1)).sum(-1) + b.to(x)


@dataclass(frozen=True)
class FixedKink:
    """``f(x) = l1 (x_1)_+ + l2 (-x_1)_+ + b``: the kink is always at the same place."""

    dim: int
    lipschitz: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw that many functions."""
        drawn = torch.as_tensor(
            rng.uniform(-self.lipschitz, self.lipschitz, (3, count, 1))
        )
        right, left, b = drawn
        return lambda x: (
            right.to(x) * x[..., 0].clamp(min=0)
            + left.to(x) * (-x[..., 0]).clamp(min=0)
            + b.to(x)
        )


@dataclass(frozen=True)
class Crowded:
    """Directions of an ellipsoid with the given axes, projected to the unit sphere."""

    dim: int
    axes: tuple[float, ...]

    def from_normal(self, normal: Tensor) -> Tensor:
        """Return covariates from normal numbers."""
        return normalize(normal * normal.new_tensor(self.axes))


def broken_invariance(
    d: int,
    n: int,
    lipschitz: float,
    noise_std: float,
    how: Training,
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
    units = train_grid(tasks, noise_std, n, *how, covariates=laws)
    identities = [w * np.eye(d) for w in np.geomspace(1, 40, 15)]

    def gain(kind: str, seed: int, M: Array) -> float:
        task, law = problems[kind]
        parameters = tuple({"M": matrix} for matrix in [M, *identities])
        same = (UnitConfig(task, noise_std, n, 0, covariates=law),) * len(parameters)
        trained = replace(units.trained, units=same, parameters=parameters, history=())
        error = evaluation_error(
            trained, task, noise_std, n, contexts, seed=seed, covariates=law
        )[-1]
        return float(error[0] / error[1:].min())

    def one(kind: str, seed: int) -> Row:
        M = units.M[list(problems).index(kind), seed]
        rest = np.linalg.svd(M[1:, 1:], compute_uv=False).min()
        diagonal = {"axis": np.arange(1, d + 1), "entry": np.diagonal(M)}
        return {**diagonal, "gain": gain(kind, seed, M), "rest": rest}

    return each(one, kind=list(problems), seed=range(how.seeds))
