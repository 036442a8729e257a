"""Measurements for labels -1 and 1: exact windows, units trained on them, cross-entropy, error rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from icl.adam import minimize
from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.pretrain import train_grid
from icl.pretrain.architectures import sample_contexts
from icl.risk import optimal_window
from icl.risk.exact import OptimalWindow
from icl.streams import NativeStream, stream
from icl.tasks import Tanh
from icl.tasks.base import Function, Rng
from icl_book.measurements.tables import Training, grid, measured


@dataclass(frozen=True)
class Labels:
    """Labels -1 and 1 with mean ``(1 - 2 flipped) tanh(L q.x)``, ``q`` uniform on the sphere."""

    dim: int
    lipschitz: float
    flipped: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw the labels of ``count`` functions; each call draws the labels anew."""
        q = uniform_sphere(rng, count, self.dim)

        def label(x: Tensor) -> Tensor:
            ramp = torch.tanh(self.lipschitz * torch.einsum("bd,bnd->bn", q.to(x), x))
            mean = (1 - 2 * self.flipped) * ramp
            u = torch.as_tensor(rng.uniform(-1.0, 1.0, tuple(mean.shape)))
            return torch.where(u.to(mean) < mean, 1.0, -1.0).to(mean)

        return label

    @property
    def mean(self) -> Tanh:
        """The class of the labels' means."""
        return Tanh(self.dim, (1 - 2 * self.flipped) * self.lipschitz, self.lipschitz)

    @property
    def noise_std(self) -> float:
        """The standard deviation of the labels around their mean, over covariates and functions."""
        return float(np.sqrt(1 - self.mean.covariance(np.array(1.0))))

    def optimum(self, n: ArrayLike) -> OptimalWindow:
        """Return the exact best window of the squared loss, with its risk and error."""
        return optimal_window(self.mean, n, self.noise_std)


def windows(
    d: int, lipschitz: Sequence[float], flips: Sequence[float], n: int
) -> pd.DataFrame:
    """Return exact best windows of the squared loss: columns ``p``, ``L``, ``w``."""
    return measured(
        lambda p, L: float(Labels(d, L, p).optimum(n).w), ["w"], p=flips, L=lipschitz
    )


def exponents(d: int, n: int) -> pd.DataFrame:
    """Return local exponents of the best window's width in the flip probability p and in L.

    The contexts have n and 100 n examples.

    Returns:
        A row for each pair that is ``varied`` (noise or lipschitz), at one ``L`` or one ``p``, and ``m``, the
        context length: ``value``, the exponent of the window's width ``w^(-1/2)``, and its ``error``.
    """
    m = np.array([n, 100 * n])
    pairs = [
        ("noise", L, np.nan, Labels(d, L, 0.05), Labels(d, L, 0.1), 2.0)
        for L in (2.0, 8.0)
    ]
    pairs += [
        ("lipschitz", np.nan, p, Labels(d, 2.0, p), Labels(d, 3.0, p), 1.5)
        for p in (0.0, 0.2)
    ]
    parts = []
    for varied, L, p, few, many, change in pairs:
        a, b = few.optimum(m), many.optimum(m)
        value = -0.5 * np.log(b.w / a.w) / np.log(change)
        error = 0.5 * (a.error + b.error) / np.log(change)
        parts.append(
            {"varied": varied, "L": L, "p": p, "m": m, "value": value, "error": error}
        )
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True)


def trained_windows(
    d: int, n: int, lipschitz: Sequence[float], flips: Sequence[float], how: Training
) -> pd.DataFrame:
    """Train units on labels with the squared loss: columns ``L``, ``p``, ``seed``, ``w``."""
    tasks: list[Any] = [Labels(d, L, p) for L, p in product(lipschitz, flips)]
    trained = train_grid(tasks, 0.0, n, *how)
    return grid(L=lipschitz, p=flips, seed=range(how.seeds)).assign(
        w=trained.windows.ravel()
    )


def cross_entropy(
    d: int, n: int, lipschitz: Sequence[float], flips: Sequence[float], how: Training
) -> pd.DataFrame:
    """Train units, and a gain of their output, on the cross-entropy of a logistic model.

    Returns:
        Columns ``L``, ``p``, ``seed``; ``ratio``, the mean diagonal of M over the exact best w of the squared
        loss; and ``least``, the smallest eigenvalue of the symmetric part of M over the mean diagonal.
    """

    def tokens(rng: NativeStream, many: int) -> Tensor:
        return uniform_sphere(rng, many, n + 1, d)

    def one(L: float, p: float) -> tuple[Any, ...]:
        task = Labels(d, L, p)

        def loss(step: int, M: Tensor, a: Tensor) -> Tensor:
            x, _, y = sample_contexts(
                task, tokens, 0.0, how.seeds, how.batch_size, 11, step
            )
            parts = x[..., :-1, :], y[..., :-1], x[..., -1, :], M.unsqueeze(-3)
            return torch.nn.functional.softplus(
                -y[..., -1] * a[:, None] * softmax_attention(*parts)
            ).mean(-1)

        start = (
            torch.eye(d, dtype=torch.float32).repeat(how.seeds, 1, 1),
            torch.ones(how.seeds, dtype=torch.float32),
        )
        (trained, _), _ = minimize(loss, start, how.steps, how.learning_rate)
        M = trained.numpy()
        w = np.trace(M, axis1=1, axis2=2) / d
        least = np.linalg.eigvalsh((M + M.swapaxes(1, 2)) / 2)[:, 0] / w
        return np.arange(how.seeds), w / float(task.optimum(n).w), least

    return measured(one, ["seed", "ratio", "least"], L=lipschitz, p=flips)


def error_rates(
    d: int, n: int, lipschitz: Sequence[float], flips: Sequence[float], contexts: int
) -> pd.DataFrame:
    """Return the shares of wrong signs, against the clean class, on the same contexts in all rows.

    Columns ``L``, ``p``, ``unit`` (at the exact best window of the squared loss), ``nearest`` (the nearest
    example's label), and ``largest``, the mean of the unit's largest weight: one means copying.
    """
    x = uniform_sphere(stream(5, "evaluation"), contexts, n + 1, d)
    t = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
    clean = torch.einsum(
        "bd,bnd->bn", uniform_sphere(stream(6, "evaluation"), contexts, d), x
    )
    u = torch.from_numpy(stream(7, "evaluation").uniform(-1, 1, (contexts, n)))
    closest = t.argmax(1, keepdim=True)

    def one(L: float, p: float) -> tuple[float, ...]:
        y = torch.where(
            u < (1 - 2 * p) * torch.tanh(L * clean[:, :-1]), 1.0, -1.0
        ).double()
        omega = torch.softmax(float(Labels(d, L, p).optimum(n).w) * t, -1)
        guesses = (omega * y).sum(-1), y.gather(1, closest)[:, 0]
        wrong = [
            float((guess * clean[:, -1] <= 0).double().mean()) for guess in guesses
        ]
        return *wrong, float(omega.max(-1).values.mean())

    return measured(one, ["unit", "nearest", "largest"], L=lipschitz, p=flips)
