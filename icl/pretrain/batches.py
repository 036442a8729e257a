"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from icl.checks import affordable, integer
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, Settings, UnitConfig
from icl.pytorch import Tensor, torch
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

    They are those of `draw_contexts`, stored coordinate by coordinate, and with native numbers drawn for
    a block of T steps at once. Classes that are proportional to L are evaluated at L = 1 for all units.
    """

    def __init__(self, units: Sequence[UnitConfig], settings: Settings, device: torch.device):
        self.units, self.count = units, settings.batch_size
        self._tasks = [unit_lipschitz(unit.task) for unit in units]
        self.steps = 1
        self._source: Callable[..., Rng] = stream
        if settings.stream == "native":
            most, numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
            size = self.count * (units[0].context_length + 1) * units[0].task.dim
            self.steps = max(1, min(most, numbers // size))
            self._source = partial(NativeStream, device=device)
        self._to = partial(torch.as_tensor, dtype=getattr(torch, settings.dtype), device=device)

    def draw(self, block: int) -> tuple[Tensor, Tensor]:
        """Draw the block with this number: T steps from ``block T`` on, whose contexts follow each other.

        Returns:
            Tokens (d, n + 1, T B), and labels of every unit (K, n + 1, T B).
        """
        one = self.units[0]
        draw = partial(self._source, one.seed, step=block)
        shape = self.steps * self.count, one.context_length + 1
        x = one.covariate_law.from_normal(_normal(draw("covariates"), (*shape, one.task.dim)))
        noise = self._to(reversed_axes(_normal(draw("noise"), shape)))
        values: dict[Any, Tensor] = {}  # keyed on what determines them
        labels = noise.new_empty(len(self.units), *noise.shape)
        for unit, (task, scale), y in zip(self.units, self._tasks, labels, strict=True):
            key = key_of(task)
            if key not in values:
                drawn = sample_values(task, draw("tasks"), x)
                values[key] = self._to(reversed_axes(drawn))
            torch.mul(values[key], scale, out=y).add_(noise, alpha=unit.noise_std)
        return self._to(reversed_axes(x)).contiguous(), labels


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers; native ones lie in memory with the first axis innermost."""
    if isinstance(source, NativeStream):
        return reversed_axes(source.standard_normal(shape[::-1]))
    return torch.from_numpy(source.standard_normal(shape))
