"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from icl.checks import affordable, integer
from icl.covariates import CovariateLaw, reversed_axes
from icl.pretrain.config import Settings, UnitConfig
from icl.streams import NativeStream, stream
from icl.tasks import Task
from icl.tasks.base import Rng, key_of, sample_values, unit_lipschitz

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
    numbers = batch_size * (n + 1) * task.dim
    affordable(numbers, 1e9, "batch_size", batch_size, "numbers")
    draw = partial(stream, unit.seed, step=step)
    tokens = unit.covariate_law.from_normal(
        _normal(draw("covariates"), (batch_size, n + 1, task.dim))
    )
    values = sample_values(task, draw("tasks"), tokens)
    noise = _normal(draw("noise"), (batch_size, n + 1))
    return tokens, values + unit.noise_std * noise


class TokenSet:
    """The batches of K units that see the same tokens, as they share seed, context length and covariates.

    They are those of `draw_contexts`, drawn for a block of T steps at once, with native numbers too, and
    stored coordinate by coordinate. Labels are ``scale values + noise_std noise``, where classes that are
    proportional to L are evaluated at L = 1 for all units: ``kinds`` says which values are a unit's.
    """

    def __init__(
        self, units: Sequence[UnitConfig], settings: Settings, device: torch.device
    ):
        one = units[0]
        self.seed, self.law, self.dim = one.seed, one.covariate_law, one.task.dim
        self.shape = settings.batch_size, one.context_length + 1
        self.steps = 1
        self._source: Callable[..., Rng] = stream
        if settings.stream == "native":
            most, numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
            size = math.prod(self.shape) * self.dim
            self.steps = max(1, min(most, numbers // size))
            self._source = partial(NativeStream, device=device)
        self._to = partial(torch.as_tensor, dtype=settings.torch_dtype, device=device)
        scaled = [unit_lipschitz(unit.task) for unit in units]
        self._tasks = {key_of(task): task for task, _ in scaled}
        places = list(self._tasks)
        kinds = [places.index(key_of(task)) for task, _ in scaled]
        self.kinds = torch.tensor(kinds, device=device)
        self.scales = self._to([scale for _, scale in scaled])
        self.noise_stds = self._to([unit.noise_std for unit in units])

    def draw(self, block: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw the block with this number: T steps from ``block T`` on.

        Returns:
            Tokens (T, d, n + 1, B), values of each kind (T, kinds, n + 1, B), and noise (T, n + 1, B).
        """
        draw = partial(self._source, self.seed, step=block)
        shape = self.steps * self.shape[0], self.shape[1]
        x = self.law.from_normal(_normal(draw("covariates"), (*shape, self.dim)))
        noise = _normal(draw("noise"), shape)
        kinds = [sample_values(task, draw("tasks"), x) for task in self._tasks.values()]
        values = torch.stack([self._by_steps(kind) for kind in kinds], 1)
        return self._by_steps(x), values, self._by_steps(noise)

    def labels(self, values: Tensor, noise: Tensor) -> Tensor:
        """Return the labels of every unit, (T, K, n + 1, B)."""
        scales, stds = (a[:, None, None] for a in (self.scales, self.noise_stds))
        return scales * values[:, self.kinds] + stds * noise[:, None]

    def _by_steps(self, values: Tensor) -> Tensor:
        """Return values (T B, ...) as (T, ..., B), the axes between in reverse order."""
        planes = reversed_axes(self._to(values))
        return (
            planes.reshape(*planes.shape[:-1], self.steps, -1)
            .movedim(-2, 0)
            .contiguous()
        )


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers; native ones lie in memory with the first axis innermost."""
    if isinstance(source, NativeStream):
        return reversed_axes(source.standard_normal(shape[::-1]))
    return torch.from_numpy(source.standard_normal(shape))
