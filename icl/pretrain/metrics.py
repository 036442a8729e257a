"""Measures of trained units: matrix norms, distances, and test errors on any class.

Functions of matrices take stacks (..., d, d): the units of a sweep, or `icl.pretrain.Pretrained.M_history`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike

from icl.checks import integer, matrices, real, sequence, shown
from icl.layout import planes
from icl.pretrain.config import CovariateLaw, UnitConfig
from icl.pretrain.model import Array, predict
from icl.pretrain.trainer import Parameters, Pretrained
from icl.streams import stream
from icl.tasks import Task
from icl.tasks.base import MOST

__all__ = ["evaluation_error", "scale_scores", "spectral_norm", "subspace_error"]


def spectral_norm(M: Array) -> Array:
    """Return ``||M||_2``, the largest singular value; shape (...). ValueError for NaN and infinity."""
    return np.asarray(np.linalg.norm(matrices(M, "M", MOST), 2, axis=(-2, -1)))


def subspace_error(M: Array, basis: ArrayLike) -> Array:
    """Return the sine of the largest principal angle between col(B) and M's leading left singular subspace.

    ``basis`` is B, orthonormal columns (d, k). Shape (...): 0 where the subspace is found, 1 where a
    direction is missed. ValueError for NaN, infinity, shapes that do not fit, and columns that are not
    orthonormal.
    """
    M, B = matrices(M, "M", MOST), matrices(basis, "basis", MOST)
    if (
        B.ndim != 2
        or B.shape[0] != M.shape[-2]
        or not np.allclose(B.T @ B, np.eye(B.shape[1]))
    ):
        raise ValueError(
            f"basis={shown(basis)}: must have orthonormal columns, as long as those of M, {M.shape[-2]}"
        )
    leading = np.linalg.svd(M)[0][..., : B.shape[1]]
    return spectral_norm(leading - B @ (B.T @ leading))


def _check(trained: Pretrained) -> None:
    if not isinstance(trained, Pretrained):
        raise ValueError(
            f"trained={shown(trained)}: must be a result of icl.pretrain.pretrain"
        )


def scale_scores(trained: Pretrained, factors: Sequence[float]) -> Pretrained:
    """Multiply all scores of each unit by a number of its own, at the end and in the history.

    With -1 a unit attends to the opposite end of the sphere; for even functions that is as good. The numbers
    multiply ``M``, or ``W_Q`` of a full unit; ValueError unless there is a finite one for each unit.
    """
    _check(trained)
    factors = [
        real(factor, "factors", -MOST, MOST) for factor in sequence(factors) or []
    ]
    if len(factors) != len(trained.units):
        raise ValueError(
            f"factors has {len(factors)} numbers: must have one a unit, {len(trained.units)}"
        )

    def scale(units: Sequence[Parameters]) -> tuple[Parameters, ...]:
        return tuple(
            {
                name: factor * value if name in ("M", "W_Q") else value
                for name, value in unit.items()
            }
            for unit, factor in zip(units, factors, strict=True)
        )

    return replace(
        trained,
        parameters=scale(trained.parameters),
        history=tuple(map(scale, trained.history)),
    )


def evaluation_error(
    trained: Pretrained,
    task: Task,
    noise_std: float,
    context_length: int,
    contexts: int = 2000,
    seed: int | None = 0,
    covariates: CovariateLaw | None = None,
) -> Array:
    """Return the mean squared distance to the clean query label, on the same contexts at all times.

    All arguments but ``trained`` describe the test set, which may be unlike the one trained on. Each of at
    most 10^8 contexts has a function of its own. Without a seed (None) each unit is tested on the set of its
    own seed: units of different seeds are independent, and an interval over seeds covers the test set too.

    Returns:
        Shape (len(record) + 1, units): at the recorded steps and, last, at the end.
    """
    _check(trained)
    checked = UnitConfig(
        task, noise_std, context_length, 0 if seed is None else seed, covariates
    )  # refuses bad arguments
    law, noise_std, context_length = (
        checked.covariate_law,
        checked.noise_std,
        checked.context_length,
    )
    contexts = integer(contexts, "contexts", 1, 10**8)
    piece = max(1, min(contexts, 2**20 // (context_length * task.dim)))
    times = (*trained.history, trained.parameters)
    together = defaultdict(list)
    for index, unit in enumerate(trained.units):
        together[unit.seed if seed is None else seed].append(index)
    total = np.zeros((len(times), len(trained.units)))
    for test_seed, indices in together.items():
        for step, begin in enumerate(range(0, contexts, piece)):
            rng, count = (
                stream(test_seed, "evaluation", step),
                min(piece, contexts - begin),
            )
            x = law.from_normal(
                torch.from_numpy(
                    rng.standard_normal((piece, context_length + 1, task.dim))
                )
            )
            noise = noise_std * torch.from_numpy(
                rng.standard_normal((piece, context_length + 1))
            )
            f = task.sample(rng, piece)(x)
            clean, y = f[:count, -1], planes((f + noise)[:count]).contiguous()
            x = planes(x[:count]).contiguous()[None, None]
            for index in indices:
                layout, activation = (
                    trained.units[index].layout,
                    trained.units[index].activation,
                )
                for t, parameters in enumerate(times):
                    theta = torch.from_numpy(layout.pack(parameters[index]))[None, None]
                    error = predict(layout, theta, activation, x, y)[0, 0] - clean
                    total[t, index] += float((error**2).sum())
    return total / contexts
