"""Measures of trained units: the norm of a matrix, its part outside a subspace, and test errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from icl.attention import ACTIVATIONS
from icl.checks import choice, integer, matrices, shown
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, UnitConfig
from icl.pretrain.model import Array, predict
from icl.pretrain.result import Pretrained
from icl.pytorch import torch
from icl.streams import stream
from icl.tasks import Task
from icl.tasks.base import MAX_MAGNITUDE, draw_function

__all__ = ["evaluation_error", "outside_share", "spectral_norm"]


def spectral_norm(M: Array) -> Array:
    """Return ``||M||_2``, (...), for M (..., d, d). ValueError for NaN and infinity."""
    return np.asarray(np.linalg.norm(matrices(M, "M", MAX_MAGNITUDE), 2, axis=(-2, -1)))


def outside_share(M: Array, basis: ArrayLike) -> Array:
    """Return ``||M - P M P||_2 / ||M||_2``, (...), where ``P = B B'`` projects onto the columns of B.

    ``basis`` is B, (d, k), whose columns are orthonormal. For M = 0 the result is NaN.

    Raises:
        ValueError: For NaN, infinity, shapes that do not fit, and columns that are not orthonormal.
    """
    M, B = matrices(M, "M", MAX_MAGNITUDE), matrices(basis, "basis", MAX_MAGNITUDE)
    if B.ndim != 2 or B.shape[0] != M.shape[-2] or not np.allclose(B.T @ B, np.eye(B.shape[1])):
        raise ValueError(
            f"basis={shown(basis)}: must have orthonormal columns, as long as those of M, {M.shape[-2]}"
        )
    P = B @ B.T
    with np.errstate(invalid="ignore"):
        return np.asarray(spectral_norm(M - P @ M @ P) / spectral_norm(M))


def evaluation_error(
    M: ArrayLike | Pretrained,
    task: Task,
    noise_std: float,
    n: int,
    contexts: int = 2000,
    seed: int | None = 0,
    covariates: CovariateLaw | None = None,
    activation: str = "softmax",
) -> Array:
    """Return the test errors of many units: the mean of ``(p - f(x_q))^2`` over contexts.

    Here p is the prediction. Every context has a function f of its own. Units with the same seed are tested
    on the same contexts.

    Args:
        M: Key-query matrices of the units, (..., dim, dim); or a result of `icl.pretrain.pretrain`.
        task: Class of the test functions, which need not be that of the training.
        noise_std: Standard deviation of the noise of the labels that the units are given.
        n: Number of labeled tokens in a context.
        contexts: Number of contexts, at most 10^8.
        seed: Seed of the contexts. None, for a result of `pretrain` only, takes the seed of each unit. An
            interval over seeds then has the randomness of the contexts, too.
        covariates: Distribution of the tokens (`icl.covariates`); None is the unit sphere.
        activation: Key of `icl.attention.ACTIVATIONS`, if M are matrices.

    Returns:
        Test errors, (...). For a result of `pretrain` they are (len(record) + 1, units): a row for each
        recorded step, and a last row for the end of training.
    """
    contexts = integer(contexts, "contexts", 1, 10**8)
    n = integer(n, "n", 1, 10**7)
    # this checks and holds the setting; its seed is replaced below
    test = UnitConfig(task, noise_std, n, 0, covariates)
    if isinstance(M, Pretrained):
        if (dim := M.units[0].task.dim) != task.dim:
            raise ValueError(f"task.dim={task.dim}: must be that of the trained units, {dim}")
        times = (*M.history, M.parameters)
        shape: tuple[int, ...] = len(times), len(M.units)
        # `predict` takes the parameters as one matrix, one below the other
        units = [
            (np.vstack(list(named.values())), unit.width, unit.activation)
            for parameters in times
            for unit, named in zip(M.units, parameters, strict=True)
        ]
        seeds = [unit.seed if seed is None else seed for unit in M.units] * len(times)
    else:
        stack = matrices(M, "M", MAX_MAGNITUDE)
        shape, d = stack.shape[:-2], task.dim
        if stack.shape[-2:] != (d, d):
            raise ValueError(f"M has shape {stack.shape}: must be (..., {d}, {d})")
        choice(activation, "activation", ACTIVATIONS)
        units = [(matrix, None, activation) for matrix in stack.reshape(-1, d, d)]
        seeds = [integer(seed, "seed", 0)] * len(units)
    errors = np.zeros(len(units))
    for test_seed in dict.fromkeys(seeds):
        tested = [index for index, unit_seed in enumerate(seeds) if unit_seed == test_seed]
        seeded = replace(test, seed=test_seed)
        errors[tested] = _mean_errors([units[i] for i in tested], seeded, contexts)
    return errors.reshape(shape)


def _mean_errors(
    units: Sequence[tuple[Array, int | None, str]], test: UnitConfig, contexts: int
) -> Array:
    """Return the test error of each unit, over contexts with the setting and the seed of ``test``.

    A unit is its matrix of parameters, its width and its activation.
    """
    shape = (test.context_length + 1, test.task.dim)
    # this many contexts are drawn at once
    piece = max(1, min(contexts, 2**20 // (test.context_length * test.task.dim)))
    total = np.zeros(len(units))
    for step, begin in enumerate(range(0, contexts, piece)):
        rng = stream(test.seed, "evaluation", step)
        # The last piece is drawn whole, and then cut, so that one more context does not change the others:
        # noise is drawn after all tokens of a piece.
        count = min(piece, contexts - begin)
        x = test.covariate_law.from_normal(torch.from_numpy(rng.standard_normal((piece, *shape))))
        noise = torch.from_numpy(rng.standard_normal((piece, shape[0])))
        f = draw_function(test.task, rng, piece)(x)
        clean = f[:count, -1]
        y = (f + test.noise_std * noise)[:count]
        # the layout of `icl.pretrain.model`
        x, y = (reversed_axes(part[:count]).contiguous()[None, None] for part in (x, y))
        for index, (matrix, width, activation) in enumerate(units):
            theta = torch.tensor(matrix)[None, None]
            error = predict(theta, x, y, width, activation)[0, 0] - clean
            total[index] += float((error**2).sum())
    return total / contexts
