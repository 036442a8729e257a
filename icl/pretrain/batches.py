"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from icl.checks import affordable, integer
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, UnitConfig
from icl.pytorch import Tensor, torch
from icl.streams import NativeStream, stream
from icl.tasks import Task
from icl.tasks.base import Function, Rng, draw_function, is_traceable, key_of, unit_lipschitz

#: Native random numbers are drawn for several steps at once: at most so many steps, and so many coordinates
#: of tokens. On a GPU a call costs more than the numbers it draws.
_BLOCKS = {"cpu": (16, 2**19), "cuda": (512, 2**25)}


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


def steps_of_block(unit: UnitConfig, batch_size: int, stream: str, device: torch.device) -> int:
    """Return for how many steps of a unit random numbers are drawn at once."""
    if stream == "portable":
        return 1
    most, numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
    size = batch_size * (unit.context_length + 1) * unit.task.dim
    return max(1, min(most, numbers // size))


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
        self.native = stream == "native"
        self.steps = steps_of_block(units[0], batch_size, stream, self.device)
        self.dtype: torch.dtype = getattr(torch, dtype)
        self._tasks = [unit_lipschitz(unit.task) for unit in units]
        # functions of equal classes are drawn once
        keys = [key_of(task) for task, _ in self._tasks]
        self._different = {key: task for key, (task, _) in zip(keys, self._tasks, strict=True)}
        self._which = [list(self._different).index(key) for key in keys]
        # of values and of noise
        self._scales: Any = [
            (scale, unit.noise_std) for unit, (_, scale) in zip(units, self._tasks, strict=True)
        ]
        self.fill: Any = fill

    def compile(self, **options: Any) -> None:
        """Have PyTorch compile how native numbers become tokens and labels, where it can.

        Laws and classes of one's own are left as they are.
        """
        law = self.units[0].covariate_law
        ours = type(law).__module__ == "icl.covariates"
        if self.native and ours and all(is_traceable(task) for task, _ in self._tasks):
            # what a law computes once is computed before it is traced
            law.from_normal(torch.empty(0, law.dim))
            self.fill = torch.compile(fill, dynamic=False, **options)
            # numbers would be constants of what is compiled
            self._scales = torch.tensor(self._scales, dtype=self.dtype, device=self.device)

    def draw(self, block: int, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Draw the block with this number: T steps from ``block T`` on.

        Returns:
            Tokens (T, d, n + 1, B), and labels of every unit (T, K, n + 1, B). If ``out`` is given, these two
            tensors are filled.
        """
        one = self.units[0]
        source: Any = partial(NativeStream, device=self.device) if self.native else stream
        draw = partial(source, one.seed, step=block)
        shape = self.steps * self.count, one.context_length + 1
        tokens, labels = out or (part[:, 0] for part in blocks([self]))
        normal = _normal(draw("covariates"), (*shape, one.task.dim))
        noise = _normal(draw("noise"), shape)
        functions = [
            draw_function(task, draw("tasks"), shape[0]) for task in self._different.values()
        ]
        self.fill(
            tokens, labels, one.covariate_law, functions, self._which, self._scales, normal, noise
        )
        return tokens, labels


def blocks(sets: Sequence[TokenSet], memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return empty tokens (T, S, d, n + 1, B) and labels (T, S, K, n + 1, B) of S sets of one kind.

    On a CPU they lie step by step. On a GPU the contexts of all steps lie side by side, as they are drawn, in
    the ``memory`` of as many numbers, if it is given.
    """
    one, on_cpu = sets[0], sets[0].device.type == "cpu"
    tokens = one.units[0].context_length + 1
    found, at = [], 0
    for rows in (one.units[0].task.dim, len(one.units)):
        shape = len(sets), rows, tokens, one.steps, one.count
        if on_cpu:
            shape = one.steps, *shape[:3], one.count
        size = math.prod(shape)
        flat = (
            torch.empty(size, dtype=one.dtype, device=one.device)
            if memory is None
            else memory[at : at + size]
        )
        at += size
        found.append(flat.view(shape) if on_cpu else flat.view(shape).movedim(3, 0))
    return found[0], found[1]


def fill(
    tokens: Tensor,
    labels: Tensor,
    law: CovariateLaw,
    functions: Sequence[Function],
    which: Sequence[int],
    scales: Any,
    normal: Tensor,
    noise: Tensor,
) -> None:
    """Set tokens (T, d, n + 1, B) and labels (T, K, n + 1, B) of K units.

    Covariates are made of normal numbers (T B, n + 1, d). Unit k has the values of the function ``which[k]``,
    times the first number of ``scales[k]``, and the noise (T B, n + 1) times the second.
    """
    steps, _, _, contexts = tokens.shape

    def by_step(drawn: Tensor) -> Tensor:
        """Return what was drawn (T B, n + 1, ...) with axes (T, ..., n + 1, B), a view where it can be."""
        columns = torch.as_tensor(reversed_axes(drawn), dtype=tokens.dtype, device=tokens.device)
        return columns.reshape(*columns.shape[:-1], steps, contexts).movedim(-2, 0)

    x = law.from_normal(normal)
    tokens.copy_(by_step(x))
    values, noise = [by_step(function(x)) for function in functions], by_step(noise)
    for place, (scale, noise_std), y in zip(which, scales, labels.unbind(1), strict=True):
        if torch.compiler.is_compiling():
            y.copy_(scale * values[place] + noise_std * noise)
        else:
            torch.mul(values[place], scale, out=y).add_(noise, alpha=noise_std)


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers; native ones lie in memory with the first axis innermost."""
    if isinstance(source, NativeStream):
        return reversed_axes(source.standard_normal(shape[::-1]))
    return torch.from_numpy(source.standard_normal(shape))
