"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from icl.checks import affordable, integer
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, UnitConfig
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
    tokens, labels = TokenSet([unit], batch_size, "portable", "float64").draw(step)
    return reversed_axes(tokens[0]), reversed_axes(labels[0, 0])


class TokenSet:
    """The batches of K units that see the same tokens, as they share seed, context length and covariates.

    Native numbers are drawn for a block of T steps at once, portable ones for one step. Classes that are
    proportional to L are evaluated at L = 1 for all units.
    """

    def __init__(
        self,
        units: Sequence[UnitConfig],
        batch_size: int,
        stream: str,
        dtype: str,
        device: torch.device | str = "cpu",
    ):
        self.units, self.count, self.device = units, batch_size, torch.device(device)
        self.native, self.steps = stream == "native", 1
        if self.native:
            most, numbers = _BLOCKS.get(self.device.type, _BLOCKS["cpu"])
            size = self.count * (units[0].context_length + 1) * units[0].task.dim
            self.steps = max(1, min(most, numbers // size))
        self._tasks = [unit_lipschitz(unit.task) for unit in units]
        self._to = partial(torch.as_tensor, dtype=getattr(torch, dtype), device=device)

    def draw(self, block: int) -> tuple[Tensor, Tensor]:
        """Draw the block with this number: T steps from ``block T`` on.

        Returns:
            Tokens (T, d, n + 1, B), and labels of every unit (T, K, n + 1, B).
        """
        one = self.units[0]
        source: Any = partial(NativeStream, device=self.device) if self.native else stream
        draw = partial(source, one.seed, step=block)
        shape = self.steps * self.count, one.context_length + 1
        x = one.covariate_law.from_normal(_normal(draw("covariates"), (*shape, one.task.dim)))
        noise = self._by_step(_normal(draw("noise"), shape))
        values: dict[Any, Tensor] = {}  # keyed on what determines them
        labels = noise.new_empty(self.steps, len(self.units), *noise.shape[1:])
        for unit, (task, scale), y in zip(self.units, self._tasks, labels.unbind(1), strict=True):
            key = key_of(task)
            if key not in values:
                values[key] = self._by_step(sample_values(task, draw("tasks"), x))
            torch.mul(values[key], scale, out=y).add_(noise, alpha=unit.noise_std)
        return self._by_step(x), labels

    def _by_step(self, drawn: Tensor) -> Tensor:
        """Return what was drawn (T B, n + 1, ...) with the axes (T, ..., n + 1, B)."""
        columns = self._to(reversed_axes(drawn))
        steps = columns.reshape(*columns.shape[:-1], self.steps, self.count)
        return steps.movedim(-2, 0).contiguous()


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers; native ones lie in memory with the first axis innermost."""
    if isinstance(source, NativeStream):
        return reversed_axes(source.standard_normal(shape[::-1]))
    return torch.from_numpy(source.standard_normal(shape))
