"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from icl.checks import affordable, integer
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, Settings, UnitConfig
from icl.streams import NativeStream, stream
from icl.tasks import Task, Zonal
from icl.tasks.base import Rng, fine_variance, is_ours, key_of, sample_values

#: Native random numbers are drawn for several steps at once: at most so many steps, and so many numbers. On a
#: GPU a call costs more than the numbers it draws.
_BLOCKS = {"cpu": (16, 2**19), "cuda": (256, 2**22)}


def draw_contexts(
    task: Task,
    *,
    noise_std: float,
    n: int,
    batch_size: int,
    seed: int = 0,
    step: int = 0,
    covariates: CovariateLaw | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw the contexts that `pretrain` trains a unit on at one step, in float64 on the CPU.

    Every context has a function of its own, drawn from the class, and n labeled tokens; the last token is
    the query. All labels have noise, the query's too: that is the label which training compares with the
    prediction.

    Args:
        task: Class the functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation of the Gaussian label noise.
        n: Number of labeled tokens in a context.
        batch_size: Number of contexts, with at most 10^9 coordinates together.
        seed: Root seed of the streams. Equal seeds and steps give equal contexts.
        step: Training step that the contexts belong to, from 0 on.
        covariates: Distribution of the tokens (`icl.covariates`); None is the unit sphere.

    Returns:
        Tokens (batch_size, n + 1, dim) and labels (batch_size, n + 1).

    Raises:
        ValueError: If an argument is out of range.

    >>> from icl.tasks import ReLU
    >>> tokens, labels = draw_contexts(ReLU(3), noise_std=0.1, n=8, batch_size=16, seed=0, step=0)
    >>> tokens.shape, labels.shape
    (torch.Size([16, 9, 3]), torch.Size([16, 9]))
    """
    n = integer(n, "n", 1, 10**7)
    unit = UnitConfig(task, noise_std, n, seed, covariates)
    batch_size = integer(batch_size, "batch_size", 1, 10**9)
    shape = (batch_size, n + 1, task.dim)
    affordable(math.prod(shape), 1e9, "batch_size", batch_size, "numbers")
    normal = torch.from_numpy(stream(unit.seed, "covariates", step).standard_normal(shape))
    tokens = unit.covariate_law.from_normal(normal)
    values = sample_values(task, stream(unit.seed, "tasks", step), tokens)
    noise = torch.from_numpy(stream(unit.seed, "noise", step).standard_normal(shape[:2]))
    return tokens, values + unit.noise_std * noise


class BatchSampler:
    """The batches of S token sets with K units each, which share seed, context length and covariates."""

    def __init__(
        self, sets: Sequence[Sequence[UnitConfig]], settings: Settings, device: torch.device
    ):
        self.sets = sets
        self.batch_size = settings.batch_size
        self.length = sets[0][0].context_length + 1
        self.dim = sets[0][0].task.dim
        self.steps = 1  # of a block, which is drawn at once
        self._source: Callable[..., Rng] = stream
        if settings.stream == "native":
            most, numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
            size = self.batch_size * self.length * self.dim
            self.steps = max(1, min(most, numbers // size))
            self._source = partial(NativeStream, device=device)
        self._block = -1  # the one that is held
        dtype = getattr(torch, settings.dtype)
        tokens = (self.length, self.batch_size)
        self._x = torch.empty(
            (self.steps, len(sets), 1, self.dim, *tokens), dtype=dtype, device=device
        )
        self._y = None
        if not settings.integrate_labels:
            self._y = torch.empty(
                (self.steps, len(sets), len(sets[0]), *tokens), dtype=dtype, device=device
            )

    def batch(self, step: int) -> tuple[Tensor, Tensor | None]:
        """Return covariates (S, 1, d, n + 1, B), and labels (S, K, n + 1, B) or None."""
        block, place = divmod(step, self.steps)
        if block != self._block:
            self._draw(block)
            self._block = block
        return self._x[place], None if self._y is None else self._y[place]

    def _draw(self, block: int) -> None:
        """Draw the batches of a block of steps for all token sets."""
        source = partial(self._source, step=block)
        count = self.steps * self.batch_size
        for s, units in enumerate(self.sets):
            seed = units[0].seed
            normal = _normal(source(seed, "covariates"), (count, self.length, self.dim))
            x = units[0].covariate_law.from_normal(normal)
            self._x[:, s, 0] = self._by_steps(x)
            if self._y is None:
                continue
            noise = _normal(source(seed, "noise"), (count, self.length))
            values: dict[Any, Tensor] = {}  # keyed on what determines them
            for k, unit in enumerate(units):
                task, lipschitz = _unit_lipschitz(unit.task)
                key = key_of(task)
                if key not in values:
                    values[key] = sample_values(task, source(seed, "tasks"), x)
                labels = lipschitz * values[key] + unit.noise_std * noise
                self._y[:, s, k] = self._by_steps(labels)

    def _by_steps(self, values: Tensor) -> Tensor:
        """Return values (steps B, ...) as (steps, ..., B), the axes between in reverse order."""
        planes = reversed_axes(values)
        split = planes.reshape(*planes.shape[:-1], self.steps, self.batch_size)
        return split.movedim(-2, 0)


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers; native ones lie in memory with the first axis innermost."""
    if isinstance(source, NativeStream):
        return reversed_axes(source.standard_normal(shape[::-1]))
    return torch.from_numpy(source.standard_normal(shape))


def _unit_lipschitz(task: Task) -> tuple[Task, float]:
    """Return the class with L = 1 and the factor L, for classes whose functions are proportional to L.

    Classes of one's own are left as they are: a copy would lose what is no field of theirs.
    """
    if isinstance(task, Zonal) and task.homogeneous and is_ours(task):
        one: dict[str, Any] = {"lipschitz": 1.0}
        return replace(task, **one), vars(task)["lipschitz"]
    return task, 1.0


def risk_gradient(sets: Sequence[Sequence[UnitConfig]], x: Tensor) -> Callable[[Tensor], Tensor]:
    """Return ``omega -> K omega - k_q + sigma^2 omega``, half the gradient of the risk in the weights.

    It is that of `icl.tasks.QuadraticRisk`, for stacks of units and contexts next to each other; the fine
    variance of a class, which the diagonal of its K has, is added to sigma^2. Classes
    without degrees above 1 (affine, linear) cost n d a context, the others n^2. Covariates x are
    (S, 1, d, n + 1, B) on the unit sphere, the weights omega (S, K, n, B).
    """
    classes = [[cast(Zonal, unit.task) for unit in units] for units in sets]

    def column(values: list[list[float]]) -> Tensor:
        return x.new_tensor(values)[..., None, None]

    context = x[..., :-1, :]
    query = x[..., -1:, :]
    variance = column(
        [
            [unit.noise_std**2 + fine_variance(cast(Zonal, unit.task)) for unit in units]
            for units in sets
        ]
    )
    tasks = {key_of(task): task for row in classes for task in row}
    if all(task.spectrum(2)[0][1] == 0 and task.spectrum(2)[1] == 0 for task in tasks.values()):
        slope = column([[float(task.spectrum(1)[0][0]) for task in row] for row in classes])
        level = column([[float(task.covariance(np.array(0.0))) for task in row] for row in classes])

        def linear(omega: Tensor) -> Tensor:
            # sum omega_i x_i - x_q
            miss = (context * omega.unsqueeze(2)).sum(-2, keepdim=True) - query
            total = omega.sum(-2, keepdim=True)
            return slope * (context * miss).sum(2) + level * (total - 1) + variance * omega

        return linear
    cosine = torch.einsum("sdnb,sdmb->snmb", x[:, 0], x[:, 0]).clamp(-1, 1).double().cpu().numpy()
    scaled = [[_unit_lipschitz(task) for task in row] for row in classes]
    distinct = {key_of(task): cast(Zonal, task) for row in scaled for task, _ in row}
    k = {
        key: torch.as_tensor(np.asarray(task.covariance(cosine))).to(x)
        for key, task in distinct.items()
    }
    rows = [
        torch.stack([L**2 * k[key_of(task)][s] for task, L in row]) for s, row in enumerate(scaled)
    ]
    gram = torch.stack(rows)  # (S, K, n + 1, n + 1, B)
    K = gram[:, :, :-1, :-1]
    k_q = gram[:, :, :-1, -1]
    return lambda omega: (K * omega.unsqueeze(2)).sum(3) - k_q + variance * omega
