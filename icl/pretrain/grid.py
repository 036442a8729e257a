"""Training a grid of settings and seeds.

>>> from icl.tasks import ReLU
>>> grid = train_grid([ReLU(3, 1.0), ReLU(3, 4.0)], 0.1, context_length=8, seeds=5, steps=10, batch_size=16)
>>> grid.M.shape, grid.windows.shape
((2, 5, 3, 3), (2, 5))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from icl.checks import integer
from icl.pretrain.config import CovariateLaw, UnitConfig
from icl.pretrain.model import Array
from icl.pretrain.trainer import Pretrained, pretrain
from icl.tasks import Task


@dataclass(frozen=True)
class TrainedGrid:
    """Units of several settings, each with several seeds, setting by setting in ``trained``."""

    trained: Pretrained
    seeds: int

    @property
    def M(self) -> Array:
        """Key-query matrices, (settings, seeds, d, d)."""
        return self.by_setting(self.trained.M)

    @property
    def M_history(self) -> Array:
        """Key-query matrices at the recorded steps, (len(record), settings, seeds, d, d)."""
        return np.array([self.by_setting(M) for M in self.trained.M_history])

    @property
    def windows(self) -> Array:
        """Mean of the diagonal of each ``M``, (settings, seeds)."""
        return self.by_setting(self.trained.windows)

    def by_setting(self, values: Array) -> Array:
        """Return an array with a row a unit, (units, ...), as (settings, seeds, ...)."""
        return values.reshape(-1, self.seeds, *values.shape[1:])


def train_grid(
    tasks: Task | list[Task],
    noise_std: float | list[float],
    context_length: int | list[int],
    seeds: int,
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float | list[float] = 0.05,
    device: torch.device | str = "cpu",
    *,
    covariates: CovariateLaw | None | list[CovariateLaw | None] = None,
    activation: str | list[str] = "softmax",
    width: int | None = None,
    initial_std: float = 0.0,
    **options: Any,
) -> TrainedGrid:
    """Train every setting with the seeds 0, ..., seeds - 1, which draw the same tokens for all settings.

    Each argument that belongs to a unit (see `UnitConfig`) is one value for all settings or a list with one
    each; so is ``learning_rate``. The others, and ``options``, are those of `pretrain`; without `stream` and
    `dtype` they are the fastest, native and float32.

    Raises:
        ValueError: If the lists have different lengths, and as `UnitConfig` and `pretrain`.
    """
    given: dict[str, Any] = {
        "task": tasks,
        "noise_std": noise_std,
        "context_length": context_length,
        "covariates": covariates,
        "activation": activation,
        "width": width,
        "initial_std": initial_std,
    }
    if isinstance(learning_rate, list):
        given["learning_rate"], learning_rate = learning_rate, 0.05  # each unit has its own
    lengths = {name: len(value) for name, value in given.items() if isinstance(value, list)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"lists have different lengths: {lengths}")
    settings = [
        {name: value[i] if isinstance(value, list) else value for name, value in given.items()}
        for i in range(next(iter(lengths.values()), 1))
    ]
    seeds = integer(seeds, "seeds", 1)
    units = [UnitConfig(**setting, seed=seed) for setting in settings for seed in range(seeds)]
    fast: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
    return TrainedGrid(pretrain(units, steps, batch_size, learning_rate, device, **fast | options), seeds)
