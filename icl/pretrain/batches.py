"""The batches that units are trained on: pure functions of (seed, step).

The units of a *row* share a *token set*: covariates and noise, and functions if they have the same class.
Random numbers are either *portable* or *native* (`icl.streams`). The sizes of arrays are

- T: number of steps in a *block*, for which random numbers are drawn at once.
- S: number of rows.
- K: number of units in a row.
- B: number of contexts in the batch of a step.
- n: number of labeled tokens in a context. The query is the token after these.
- d: number of coordinates of a token.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from icl.checks import affordable, integer
from icl.compiled import can_compile
from icl.covariates import reversed_axes
from icl.pretrain.config import CovariateLaw, UnitConfig
from icl.pytorch import Tensor, torch
from icl.streams import NativeStream, stream
from icl.tasks import Task
from icl.tasks.base import (
    Function,
    Rng,
    draw_function,
    is_ours,
    is_traceable,
    key_of,
    unit_lipschitz,
)

#: For each kind of device: most steps of a block, and most coordinates that the tokens of one row have in it.
#: On a GPU a call costs more than the numbers that it draws.
_BLOCKS = {"cpu": (16, 2**19), "cuda": (512, 2**25)}


def draw_contexts(
    task: Task,
    *,
    noise_std: float,
    n: int,
    batch_size: int,
    seed: int = 0,
    step: int = 0,
) -> tuple[Tensor, Tensor]:
    """Draw the contexts that `pretrain` trains a unit on at one step, in float64 on the CPU.

    Every context has a function of its own, n labeled tokens and the query, the last token. Tokens are
    uniform on the unit sphere. All labels have noise, also that of the query.

    Args:
        task: Class the functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation of the Gaussian label noise.
        n: Number of labeled tokens in a context.
        batch_size: Number of contexts, with at most 10^9 coordinates together.
        seed: Seed of the streams.
        step: Training step, from 0 on.

    Returns:
        Tokens (batch_size, n + 1, dim) and labels (batch_size, n + 1).

    >>> from icl.tasks import ReLU
    >>> tokens, labels = draw_contexts(ReLU(3), noise_std=0.1, n=8, batch_size=16, seed=0, step=0)
    >>> tokens.shape, labels.shape
    (torch.Size([16, 9, 3]), torch.Size([16, 9]))
    """
    n = integer(n, "n", 1, 10**7)
    unit = UnitConfig(task, noise_std, n, seed)
    batch_size = integer(batch_size, "batch_size", 1, 10**9)
    numbers = batch_size * (n + 1) * task.dim
    affordable(numbers, 1e9, "batch_size", batch_size, "numbers")
    # with index 0 for step, row and unit, these are (d, n + 1, B) and (n + 1, B)
    tokens, labels = TokenSets([[unit]], batch_size, "portable", "float64").draw(step)
    return reversed_axes(tokens[0, 0]), reversed_axes(labels[0, 0, 0])


def steps_of_block(unit: UnitConfig, batch_size: int, stream: str, device: torch.device) -> int:
    """Return T, the number of steps of a unit for which random numbers are drawn at once.

    A portable stream belongs to one step.
    """
    if stream == "portable":
        return 1
    # other devices are treated as a CPU
    max_steps, max_numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
    size = batch_size * (unit.context_length + 1) * unit.task.dim
    return max(1, min(max_steps, max_numbers // size))


def make_token_sets(
    rows: Sequence[Sequence[UnitConfig]],
    batch_size: int,
    *drawing: Any,
    compiled: bool = False,
    **options: Any,
) -> list[TokenSets]:
    """Return the `TokenSets` of S rows of K units: one for each row, or one for several rows if ``compiled``.

    If ``compiled``, neighboring rows that agree in their law of covariates, and up to a factor in their
    classes, become one `TokenSets` that PyTorch compiles, unless the law or a class is user-defined or cannot
    be traced. ``drawing`` are the arguments of `TokenSets` after ``batch_size``, and ``options`` those of
    ``torch.compile``.
    """
    found = []
    # `_Streams` finds the axis of contexts by its length, a multiple of batch_size. An axis of two or three
    # parameters may stand before it.
    together = compiled and batch_size > 3
    for key, alike in itertools.groupby(rows, _law_and_classes if together else lambda row: None):
        if key is None:
            found += [TokenSets([row], batch_size, *drawing) for row in alike]
        else:
            found.append(TokenSets(list(alike), batch_size, *drawing))
            found[-1].compile(**options)
    return found


def _law_and_classes(row: Sequence[UnitConfig]) -> tuple[Any, ...] | None:
    """Return a row's law of covariates and its classes at L = 1, or None if PyTorch cannot compile them."""
    law = row[0].covariate_law
    tasks = [unit_lipschitz(unit.task)[0] for unit in row]
    return (law, *tasks) if _is_own(law) and all(map(is_traceable, tasks)) else None


def _is_own(law: CovariateLaw) -> bool:
    """Return whether the Python class of a law is one of `icl.covariates`, and not derived from one."""
    return type(law).__module__ == "icl.covariates"


class TokenSets:
    """The batches of S rows of K units.

    Rows may differ in their seeds, Lipschitz constants and noise. ``steps`` is T, and ``count`` is B.

    If functions of a class are proportional to its Lipschitz constant L, they are drawn at L = 1 and
    multiplied by L.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[UnitConfig]],
        batch_size: int,
        stream: str,
        dtype: str,
        device: torch.device | str = "cpu",
    ):
        self.rows, self.count, self.device = rows, batch_size, torch.device(device)
        self.native = stream == "native"
        self.steps = steps_of_block(rows[0][0], batch_size, stream, self.device)
        self.dtype: torch.dtype = getattr(torch, dtype)
        tasks = [[unit_lipschitz(unit.task) for unit in row] for row in rows]
        # Functions are drawn once for each different class of a row. All rows have the same classes, and unit
        # k has that with the index `_which[k]`.
        keys = [key_of(task) for task, _ in tasks[0]]
        self._different = {key: task for key, (task, _) in zip(keys, tasks[0], strict=True)}
        self._which = [list(self._different).index(key) for key in keys]
        # for each unit, the factors of the function and of the noise, (S, K, 2)
        self._scales: Any = [
            [(scale, unit.noise_std) for unit, (_, scale) in zip(row, own, strict=True)]
            for row, own in zip(rows, tasks, strict=True)
        ]
        self.fill: Any = fill
        # `_fill_by_loops` overwrites normal numbers, which native streams draw in float32, with tokens
        single = self.native and self.dtype == torch.float32
        if single and self.device.type == "cpu" and can_compile():
            self.fill = _fill_by_loops

    def compile(self, **options: Any) -> None:
        """Have PyTorch compile `fill`, with options of ``torch.compile``."""
        law = self.rows[0][0].covariate_law
        # the first call of a law may compute a basis, which should not be traced
        law.from_normal(torch.empty(0, law.dim))
        self.fill = torch.compile(fill, dynamic=False, **options)
        # Python numbers would be constants of the compiled code
        self._scales = torch.tensor(self._scales, dtype=self.dtype, device=self.device)

    def draw(self, block: int, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Draw the block with the number ``block``, which is the T steps from step ``block T`` on.

        Return tokens (T, S, d, n + 1, B) and labels (T, S, K, n + 1, B), or fill and return two tensors
        ``out``.
        """
        unit = self.rows[0][0]
        seeds = [row[0].seed for row in self.rows]
        # all rows and steps have S T B contexts
        count = len(seeds) * self.steps * self.count

        def source(name: str, native: bool = self.native) -> Any:
            # here there is one row, see `make_token_sets`
            if not native:
                return stream(unit.seed, name, block)
            streams = [NativeStream(seed, name, block, self.device) for seed in seeds]
            return streams[0] if len(streams) == 1 else _Streams(streams, count)

        # these count the contexts of one row and the tokens of a context
        shape = self.steps * self.count, unit.context_length + 1
        normal = _draw_normal(source("covariates"), (*shape, unit.task.dim))
        noise = _draw_normal(source("noise"), shape)
        # a user-defined class gets a generator of NumPy
        functions = [
            draw_function(task, source("tasks", self.native and is_ours(task)), count)
            for task in self._different.values()
        ]
        tokens, labels = out or make_blocks([self])
        self.fill(
            tokens, labels, unit.covariate_law, functions, self._which, self._scales, normal, noise
        )
        return tokens, labels


class _Streams(NativeStream):
    """Native streams of several rows, which draw numbers for ``count`` contexts, equally many for each row.

    The axis of contexts is the first of length ``count``: shorter axes of two or three parameters stand
    before it.
    """

    def __init__(self, streams: Sequence[NativeStream], count: int):
        self.streams, self.count = streams, count

    def standard_normal(self, shape: Any) -> Tensor:
        """Draw normal numbers."""
        return self._drawn(shape, NativeStream.standard_normal)

    def uniform(self, low: float, high: float, shape: Any) -> Tensor:
        """Draw uniform numbers."""
        return self._drawn(shape, lambda one, size: one.uniform(low, high, size))

    def _drawn(self, shape: Any, draw: Callable[[NativeStream, Any], Tensor]) -> Tensor:
        axis = shape.index(self.count)
        size = list(shape)
        size[axis] //= len(self.streams)
        return torch.cat([draw(one, size) for one in self.streams], axis)


def make_blocks(sets: Sequence[TokenSets], memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return empty tokens (T, S, d, n + 1, B) and labels (T, S, K, n + 1, B) for a block of sets of S rows.

    On a GPU the contexts of all steps and rows are contiguous, because they are drawn in this order. If a
    flat tensor ``memory`` is given, tokens and labels are views of it.
    """
    # all sets have the same T, B and K
    one = sets[0]
    on_cpu = one.device.type == "cpu"
    unit = one.rows[0][0]
    rows = sum(len(own.rows) for own in sets)
    found = []
    at = 0
    # tokens have a column for each of d coordinates, and labels for each of K units
    for columns in (unit.task.dim, len(one.rows[0])):
        tokens = unit.context_length + 1
        shape = columns, tokens, rows, one.steps, one.count
        if on_cpu:
            shape = one.steps, rows, columns, tokens, one.count
        size = math.prod(shape)
        if memory is None:
            flat = torch.empty(size, dtype=one.dtype, device=one.device)
        else:
            flat = memory[at : at + size]
        at += size
        found.append(flat.view(shape) if on_cpu else flat.view(shape).movedim((3, 2), (0, 1)))
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
    """Set tokens (T, S, d, n + 1, B) and labels (T, S, K, n + 1, B) of S x K units.

    S is 1 unless this function is compiled. ``functions`` has the functions of each different class, for S T
    B contexts, and ``which``, (K,), the index of each unit's functions. ``scales``, (S, K, 2), has the
    factors of the function's value and of the noise for each unit. ``normal``, (S, T B, n + 1, d), and
    ``noise``, (S, T B, n + 1), are normal numbers.
    """
    steps, rows, _, _, contexts = tokens.shape

    def by_step(drawn: Tensor) -> Tensor:
        """Return an array (S T B, n + 1, ...) as (T, S, ..., n + 1, B), a view if possible."""
        columns = torch.as_tensor(reversed_axes(drawn), dtype=tokens.dtype, device=tokens.device)
        columns = columns.reshape(*columns.shape[:-1], rows, steps, contexts)
        return columns.movedim((-2, -3), (0, 1))

    x = law.from_normal(normal.flatten(0, 1))
    tokens.copy_(by_step(x))
    values = [by_step(function(x)) for function in functions]
    noise = by_step(noise.flatten(0, 1))
    if torch.compiler.is_compiling():
        # the values of a single class, (T, S, 1, n + 1, B), broadcast to all units
        used = values[:1] if len(values) == 1 else [values[place] for place in which]
        scale, noise_std = scales[..., None, None].unbind(2)
        labels.copy_(scale * torch.stack(used, 2) + noise_std * noise.unsqueeze(2))
        return
    # `place` is the index of the unit's functions, and `y` is the part of `labels` for this unit
    for place, (scale, noise_std), y in zip(which, scales[0], labels.unbind(2), strict=True):
        torch.mul(values[place], scale, out=y).add_(noise, alpha=noise_std)


def _fill_by_loops(
    tokens: Tensor,
    labels: Tensor,
    law: Any,
    functions: Sequence[Function],
    which: Sequence[int],
    scales: Any,
    normal: Tensor,
    noise: Tensor,
) -> None:
    """Do what `fill` does, by compiled loops, for one row and native numbers of a CPU.

    If the law is of `icl.covariates`, the normal numbers are overwritten with the covariates.
    """
    from icl.compiled import batches

    # x is (T B, n + 1, d)
    x = normal[0]
    if _is_own(law):
        # The loop overwrites x, too, because the functions take x.
        inside, matrix = law._spheres
        matrix = matrix.astype(np.float32)
        batches.place(reversed_axes(x).numpy(), tokens[:, 0].numpy(), inside, matrix)
    else:
        x = law.from_normal(x)
        # tokens are (T, 1, d, n + 1, B)
        steps, _, *shape = tokens.shape
        tokens[:, 0] = reversed_axes(x).reshape(*shape[:-1], steps, shape[-1]).movedim(-2, 0)
    values = [reversed_axes(function(x)).contiguous().numpy() for function in functions]
    given = zip(which, scales[0], labels[:, 0].unbind(1), strict=True)
    for place, (scale, noise_std), y in given:
        batches.label(y.numpy(), values[place], scale, reversed_axes(noise[0]).numpy(), noise_std)


def _draw_normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Draw normal numbers, (S, T B, n + 1, ...), from the streams of S rows.

    The first axis of ``shape`` is that of contexts. In native numbers the contexts of a row are contiguous.
    """
    if not isinstance(source, NativeStream):
        return torch.from_numpy(source.standard_normal(shape))[None]
    if not isinstance(source, _Streams):
        return reversed_axes(source.standard_normal(shape[::-1]))[None]
    streams = source.streams
    # this spares joining the parts
    drawn = torch.empty(len(streams), *shape[::-1], device=streams[0].device)
    for one, part in zip(streams, drawn, strict=True):
        part.normal_(generator=one.generator)
    # axis 0 is that of the rows
    return drawn.permute(0, *range(len(shape), 0, -1))
