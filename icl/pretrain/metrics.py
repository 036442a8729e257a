"""What the figures need of trained units: norms, distances, and errors on any class.

All functions of matrices take stacks (..., d, d), so one call serves the units of a sweep or,
with `icl.pretrain.Pretrained.M_history`, a whole training.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from icl.checks import integer
from icl.layout import planes
from icl.pretrain.config import UnitConfig
from icl.pretrain.model import predict
from icl.pretrain.sweep import Pretrained
from icl.streams import stream
from icl.tasks import Task


def spectral_norm(M: np.ndarray) -> np.ndarray:
    """``||M||_2``, the largest singular value; shape (...)."""
    return np.linalg.norm(M, 2, axis=(-2, -1))


def distance_to_identity(M: np.ndarray) -> np.ndarray:
    """``|M - w I|_F`` with the nearest w, the mean of the diagonal; shape (...)."""
    w = np.trace(M, axis1=-2, axis2=-1) / M.shape[-1]
    return np.linalg.norm(M - w[..., None, None] * np.eye(M.shape[-1]), axis=(-2, -1))


def subspace_error(M: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Sine of the largest principal angle between col(B) and M's leading left singular subspace.

    Args:
        M: (..., d, d).
        basis: B, orthonormal columns, (d, k).

    Returns:
        Shape (...): 0 where the subspace is found, 1 where a direction is missed.
    """
    basis = np.asarray(basis)
    leading = np.linalg.svd(M)[0][..., : basis.shape[1]]
    return np.linalg.norm(leading - basis @ (basis.T @ leading), 2, axis=(-2, -1))


def outside_ratio(M: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """``||B_perp' M B_perp||_2 / ||B' M B||_2``, which needs no rank to be read off; shape (...)."""
    basis = np.asarray(basis)
    rest = np.linalg.qr(basis, mode="complete").Q[:, basis.shape[1] :]
    return spectral_norm(rest.T @ M @ rest) / spectral_norm(basis.T @ M @ basis)


def scale_scores(trained: Pretrained, factors: Sequence[float]) -> Pretrained:
    """The same units and histories with all scores multiplied by a number, one for each unit.

    With -1 a unit attends to the opposite end of the sphere; for even functions that is as good.

    Args:
        trained: Units.
        factors: The numbers, in the order of the units; they multiply ``M``, or ``W_Q`` of a full unit.

    Returns:
        Units to evaluate in place of the others.
    """

    def turn(units):
        return tuple(
            {name: factor * value if name in ("M", "W_Q") else value for name, value in unit.items()}
            for unit, factor in zip(units, factors, strict=True)
        )

    return replace(trained, parameters=turn(trained.parameters), history=tuple(map(turn, trained.history)))


def test_error(
    trained: Pretrained,
    task: Task,
    noise_std: float,
    context_length: int,
    contexts: int = 2000,
    seed: int | None = 0,
    covariates: object = None,
) -> np.ndarray:
    """Mean squared distance to the clean query label, on contexts that are the same at all times.

    Args:
        trained: Units and, if recorded, their history.
        task: Class that the test functions are drawn from; need not be the one trained on.
        noise_std: Standard deviation of the noise in the context's labels.
        context_length: n at test.
        contexts: Number of contexts, each with a function of its own.
        seed: Seed of the test set, the same for all units. None tests each unit on the set of its own seed:
            units of different seeds are independent, and an interval over seeds covers the test set too.
        covariates: Law of the covariates; None is the unit sphere.

    Returns:
        Shape (len(record) + 1, units): at the recorded steps and, last, at the end.

    Raises:
        ValueError: If an argument is out of range.
    """
    law = UnitConfig(
        task, noise_std, context_length, seed or 0, covariates
    ).covariate_law  # a UnitConfig checks the arguments
    piece = max(1, min(integer(contexts, "contexts", 1), 2**20 // (context_length * task.dim)))
    times = (*trained.history, trained.parameters)
    together = defaultdict(list)
    for index, member in enumerate(trained.units):
        together[member.seed if seed is None else seed].append(index)
    total = np.zeros((len(times), len(trained.units)))
    for test_seed, indices in together.items():
        for step, begin in enumerate(range(0, contexts, piece)):
            rng, count = stream(test_seed, "evaluation", step), min(piece, contexts - begin)
            x = law.from_normal(torch.from_numpy(rng.standard_normal((piece, context_length + 1, task.dim))))
            noise = noise_std * torch.from_numpy(rng.standard_normal((piece, context_length + 1)))
            f = task.sample(rng, piece)(x)
            clean, y = f[:count, -1], planes((f + noise)[:count]).contiguous()
            x = planes(x[:count]).contiguous()[None, None]
            for index in indices:
                shape, activation = trained.units[index].shape, trained.units[index].activation
                for t, parameters in enumerate(times):
                    theta = torch.from_numpy(shape.pack(parameters[index]))[None, None]
                    error = predict(shape, theta, activation, x, y)[0, 0] - clean
                    total[t, index] += float((error**2).sum())
    return total / contexts
