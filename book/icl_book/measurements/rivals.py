"""Measurements of softmax attention against its rivals: linear attention, neighbors, ridge, Bayes-linear.

Exponents are a `sweeps.limit`, calibrated on infinitely many tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from torch import Tensor

from icl.attention import linear_attention
from icl.covariates import uniform_sphere
from icl.risk import (
    asymptotics,
    bayes_linear_risk,
    linear_optimum,
    nearest_neighbor_risk,
    neighbors_risk,
    optimal_window,
    population_risk,
    ridge_risk,
)
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Affine, Zonal, make_task
from icl_book.measurements.sweeps import TOKENS, limit, with_error
from icl_book.measurements.tables import Array, Row, each, measured

#: Of `icl.tasks.CLASSES`, those that cards judge.
KINDS = ("linear", "affine", "ReLU", "quadratic", "cosine")
#: Names of the exact rivals.
EXACT = ("softmax attention", "linear attention", "nearest neighbor")


def exact_risks(
    tasks: Mapping[str, Zonal], lengths: Sequence[int], noise_std: float
) -> pd.DataFrame:
    """Return the least risks of attention and that of the nearest neighbor: ``label, rival, n, risk``."""
    n = np.array(lengths)

    def one(label: str, rival: str) -> tuple[Array, Array]:
        task = tasks[label]
        if rival == "nearest neighbor":
            return n, nearest_neighbor_risk(task, n, noise_std).total
        best = optimal_window if rival == "softmax attention" else linear_optimum
        return n, best(task, n, noise_std).risk

    return measured(one, ["n", "risk"], label=tasks, rival=EXACT)


def sampled_risks(
    tasks: Mapping[str, Zonal], lengths: Sequence[int], noise_std: float, draws: int
) -> pd.DataFrame:
    """Return sampled risks of predictors that see the class: ``label, rival, n, risk, low, high``.

    Bayes-linear is the best predictor that is linear in the labels; ridge regression has an intercept and
    the penalty that fits the class, and is left out for a class without linear part.
    """
    rows = []
    for label, task in tasks.items():
        (one,), rest = task.spectrum(1)
        for n in lengths:
            found = {"Bayes-linear": bayes_linear_risk(task, n, noise_std, draws)}
            if one > 0:
                penalty = (noise_std**2 + rest) / one
                found["ridge regression"] = ridge_risk(
                    task, n, noise_std, penalty, draws
                )
            rows += [
                (label, rival, n, risk.mean, *risk.interval)
                for rival, risk in found.items()
            ]
    return pd.DataFrame(rows, columns=["label", "rival", "n", "risk", "low", "high"])


@dataclass(frozen=True)
class Centered(Zonal):
    """Another class without its constant part, which then need not be predicted."""

    base: Zonal

    def covariance(self, cosine: ArrayLike) -> Array:
        (one,), rest = self.base.spectrum(1)
        return np.asarray(
            self.base.covariance(cosine)
            - self.base.covariance(np.array(1.0))
            + one
            + rest
        )

    def spectrum(self, degree: int) -> tuple[Array, float]:
        return self.base.spectrum(degree)


def growth(
    kinds: Sequence[str],
    dims: Sequence[int],
    lipschitz: float,
    noise_std: float,
    whole: bool = False,
) -> pd.DataFrame:
    """Return the exponent in n of linear attention's least risk over softmax attention's.

    It is read off where the sharp law has windows of 10^3 to 10^5. Linear attention is spared the constant
    part of the functions, unless ``whole``.
    """

    def one(d: int, label: str) -> Row:
        task = make_task(label, d, lipschitz)
        seen = task if whole else Centered(d, task)
        n = asymptotics.sharp_context(task, [1e3, 1e4, 1e5], noise_std)

        def slope(more: float) -> tuple[Any, Any]:
            setting = n * more, noise_std * more**0.5
            return local_slope(
                n,
                linear_optimum(seen, *setting).risk
                / optimal_window(task, *setting).risk,
            )

        return limit(
            slope,
            -asymptotics.window_law(task).risk_exponent - (label == "linear"),
            TOKENS,
        )

    return each(one, d=list(dims), label=list(kinds))


def linear_over_softmax(
    kind: str, dims: Sequence[int], lipschitz: float, noise_std: float, n: int = 10**5
) -> pd.DataFrame:
    """Return the least risk of linear attention over softmax attention's: ``d``, ``value``, ``error``."""

    def one(d: int) -> Row:
        task = make_task(kind, d, lipschitz)
        softmax = population_risk(
            task, optimal_window(task, n, noise_std).w, n, noise_std
        )
        return with_error(
            linear_optimum(task, n, noise_std).risk / softmax.total, softmax.error
        )

    return each(one, d=list(dims))


@dataclass(frozen=True)
class Intercept(Affine):
    """Affine functions whose intercept has beta times the usual spread."""

    beta: float = 1.0

    def covariance(self, cosine: ArrayLike) -> Array:
        return np.asarray(
            self.lipschitz**2 / 3 * (np.asarray(cosine) / self.dim + self.beta**2)
        )


def boundary(
    dims: Sequence[int], lipschitz: float, noise_std: float, longest: float = 1e5
) -> pd.DataFrame:
    """Return the spread of the intercept below which linear attention wins: ``d``, ``n``, ``beta``.

    It is relative to the affine class, and zero where softmax attention wins everywhere.
    """
    lengths = np.unique(np.geomspace(2, longest, 15).round())

    def one(d: int) -> tuple[Array, Array]:
        soft = optimal_window(Affine(d, lipschitz), lengths, noise_std).risk

        def gap(beta: float, i: int) -> float:
            task = Intercept(d, lipschitz, beta)
            return float(linear_optimum(task, lengths[i], noise_std).risk - soft[i])

        many = range(lengths.size)
        return lengths, np.array(
            [brentq(gap, 0, 2, args=(i,)) if gap(0, i) < 0 else 0.0 for i in many]
        )

    return measured(one, ["n", "beta"], d=dims)


def trained_linear(
    tasks: Mapping[str, Zonal],
    context_length: int,
    noise_std: float,
    seeds: int,
    contexts: int,
) -> pd.DataFrame:
    """Minimize the empirical loss of linear attention over all matrices, which is least squares.

    Returns:
        A row for each class and seed: ``label``, ``seed``, ``m`` (mean diagonal), ``error`` on fresh
        contexts, and of the class ``best_m`` and ``floor``.
    """

    def one(label: str, seed: int) -> tuple[float, ...]:
        task = tasks[label]
        best = linear_optimum(task, context_length, noise_std)
        x, _, y = _contexts(task, context_length, noise_std, contexts, seed)
        features = torch.einsum(
            "bnd,bn,be->bde", x[:, :-1], y[:, :-1], x[:, -1]
        ).flatten(1)
        M = torch.linalg.lstsq(features / context_length, y[:, -1:]).solution.reshape(
            task.dim, task.dim
        )
        x, f, y = _contexts(task, context_length, noise_std, contexts, seed + 10_000)
        error = (linear_attention(x[:, :-1], y[:, :-1], x[:, -1], M) - f[:, -1]) ** 2
        return (
            float(M.trace()) / task.dim,
            float(error.mean()),
            float(best.m),
            float(best.floor),
        )

    return measured(
        one, ["m", "error", "best_m", "floor"], label=tasks, seed=range(seeds)
    )


def _contexts(
    task: Zonal, n: int, noise_std: float, count: int, root: int
) -> tuple[Tensor, Tensor, Tensor]:
    x = uniform_sphere(stream(root, "covariates"), count, n + 1, task.dim)
    f = task.sample(stream(root, "tasks"), count)(x)
    return (
        x,
        f,
        f
        + noise_std * torch.from_numpy(stream(root, "noise").standard_normal(f.shape)),
    )


def neighbors(
    tasks: Mapping[Any, Zonal], lengths: Sequence[int], noise_std: float
) -> pd.DataFrame:
    """Compare the least risk of units with the mean over the k nearest tokens.

    Returns:
        Columns ``label``, ``n``; ``value``, the risk over that of the best ``k``, and its ``error``; ``one``,
        the risk of the nearest token over the unit's, and its error, ``one_error``.
    """

    def one(label: Any, n: int) -> tuple[float, ...]:
        task = tasks[label]
        unit = population_risk(task, optimal_window(task, n, noise_std).w, n, noise_std)
        k = np.unique(np.geomspace(1, n, 200).round())
        for _ in range(2):  # the second time between the neighbors of the best
            at = int(neighbors_risk(task, k, n, noise_std).total.argmin())
            low, best, high = k[max(at - 1, 0)], k[at], k[min(at + 1, k.size - 1)]
            k = np.unique(np.linspace(low, high, 200).round())
        many, nearest = (
            neighbors_risk(task, best, n, noise_std),
            nearest_neighbor_risk(task, n, noise_std),
        )
        value, other = float(unit.total / many.total), float(nearest.total / unit.total)
        errors = (
            value * float(many.error + unit.error),
            other * float(nearest.error + unit.error),
        )
        return value, errors[0], other, errors[1], float(best)

    return measured(
        one, ["value", "error", "one", "one_error", "k"], label=tasks, n=lengths
    )
