"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers). The sizes of arrays are

- T: steps that are drawn at once, a *block*.
- S, K: rows of units, and units of a row; a row is a token set.
- B: contexts of a step.
- n, d: labeled tokens of a context, before the query, and coordinates of a token.
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

#: Native random numbers are drawn for several steps at once: the bounds on steps and on coordinates of
#: tokens. On a GPU a call costs more than the numbers it draws.
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

    Every context has a function of its own, drawn from the class, and n labeled tokens; the last token is
    the query. Tokens are uniform on the unit sphere. All labels have noise, the query's too: that is the
    label which training compares with the prediction.

    Args:
        task: Class the functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation of the Gaussian label noise.
        n: Number of labeled tokens in a context.
        batch_size: Number of contexts, with at most 10^9 coordinates together.
        seed: Root seed of the streams. Equal seeds and steps give equal contexts.
        step: Training step that the contexts belong to, from 0 on.

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
    unit = UnitConfig(task, noise_std, n, seed)
    batch_size = integer(batch_size, "batch_size", 1, 10**9)
    numbers = batch_size * (n + 1) * task.dim
    affordable(numbers, 1e9, "batch_size", batch_size, "numbers")
    # without the axes of step, row and unit these are (d, n + 1, B) and (n + 1, B)
    tokens, labels = TokenSets([[unit]], batch_size, "portable", "float64").draw(step)
    return reversed_axes(tokens[0, 0]), reversed_axes(labels[0, 0, 0])


def steps_of_block(unit: UnitConfig, batch_size: int, stream: str, device: torch.device) -> int:
    """Return for how many steps of a unit random numbers are drawn at once.

    Portable streams are functions of the step, native ones of a block of so many steps.
    """
    if stream == "portable":
        return 1
    # a device that is neither is treated as a CPU
    max_steps, max_numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
    size = batch_size * (unit.context_length + 1) * unit.task.dim
    return max(1, min(max_steps, max_numbers // size))


def token_sets(
    rows: Sequence[Sequence[UnitConfig]],
    batch_size: int,
    *drawing: Any,
    compiled: bool = False,
    **options: Any,
) -> list[TokenSets]:
    """Return the token sets of S rows of K units: one for each row, or compiled ones for several rows each.

    If ``compiled``, neighboring rows with the same law and classes, up to factors, become one set that is
    compiled. Exceptions, with one set for each row, are user-defined laws and classes, classes that PyTorch
    cannot trace, and batches of at most three contexts. ``drawing`` are the other arguments of `TokenSets`,
    ``options`` those of ``torch.compile``.
    """
    found = []
    # Numbers of several rows come from `_Streams`, which recognizes the axis of contexts by its length, a
    # multiple of batch_size. A class may have an axis of two or three parameters before it, so that batches
    # of three contexts or fewer are not drawn together.
    together = compiled and batch_size > 3
    for key, alike in itertools.groupby(rows, _law_and_classes if together else lambda row: None):
        # nothing is compiled, or these rows cannot be
        if key is None:
            found += [TokenSets([row], batch_size, *drawing) for row in alike]
        else:
            found.append(TokenSets(list(alike), batch_size, *drawing))
            found[-1].compile(**options)
    return found


def _law_and_classes(row: Sequence[UnitConfig]) -> tuple[Any, ...] | None:
    """Return the law of a row of units and its classes at L = 1; None if PyTorch cannot compile them."""
    law, tasks = row[0].covariate_law, [unit_lipschitz(unit.task)[0] for unit in row]
    return (law, *tasks) if _is_own(law) and all(map(is_traceable, tasks)) else None


def _is_own(law: CovariateLaw) -> bool:
    """Return whether a law is of `icl.covariates`, and not of a class derived from one."""
    return type(law).__module__ == "icl.covariates"


class TokenSets:
    """The batches of S rows of K units: those of a row see the same tokens, as they share seed and law.

    Rows differ in their seeds, and in factors of classes and noise. Native numbers are drawn for a block of T
    steps at once, portable ones for one step; ``steps`` is T, and ``count`` the number B of contexts in the
    batch of a step. Classes that are proportional to L are evaluated at L = 1.
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
        # Units of equal classes share functions, which are drawn once. The first row stands for all rows,
        # since these have the same classes.
        keys = [key_of(task) for task, _ in tasks[0]]
        self._different = {key: task for key, (task, _) in zip(keys, tasks[0], strict=True)}
        self._which = [list(self._different).index(key) for key in keys]
        # of each unit the factor of the values and that of the noise, (S, K, 2)
        self._scales: Any = [
            [(scale, unit.noise_std) for unit, (_, scale) in zip(row, own, strict=True)]
            for row, own in zip(rows, tasks, strict=True)
        ]
        self.fill: Any = fill
        # the loops are written for float32, and change native numbers in place
        single = self.native and self.dtype == torch.float32
        if single and self.device.type == "cpu" and can_compile():
            self.fill = _fill_by_loops

    def compile(self, **options: Any) -> None:
        """Have PyTorch compile how native numbers become tokens and labels; keywords of ``torch.compile``."""
        law = self.rows[0][0].covariate_law
        # at this call the law computes what it keeps, such as a basis, before it is traced
        law.from_normal(torch.empty(0, law.dim))
        self.fill = torch.compile(fill, dynamic=False, **options)
        # Python numbers would be constants of the compiled code, and other rows would be compiled anew
        self._scales = torch.tensor(self._scales, dtype=self.dtype, device=self.device)

    def draw(self, block: int, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Draw the block with this number: the T steps from step ``block T`` on.

        Returns:
            Tokens (T, S, d, n + 1, B), and labels (T, S, K, n + 1, B): the two tensors ``out``, which are
            filled, or new ones.
        """
        unit, seeds = self.rows[0][0], [row[0].seed for row in self.rows]
        # contexts of all rows and steps, S T B
        count = len(seeds) * self.steps * self.count

        def source(name: str, native: bool = self.native) -> Any:
            # portable sets and those with user-defined classes are not compiled, and so have one row
            if not native:
                return stream(unit.seed, name, block)
            streams = [NativeStream(seed, name, block, self.device) for seed in seeds]
            return streams[0] if len(streams) == 1 else _Streams(streams, count)

        # of one row: contexts and tokens
        shape = self.steps * self.count, unit.context_length + 1
        normal = _normal(source("covariates"), (*shape, unit.task.dim))
        noise = _normal(source("noise"), shape)
        # a user-defined class always gets a generator of NumPy
        functions = [
            draw_function(task, source("tasks", self.native and is_ours(task)), count)
            for task in self._different.values()
        ]
        tokens, labels = out or blocks([self])
        self.fill(
            tokens, labels, unit.covariate_law, functions, self._which, self._scales, normal, noise
        )
        return tokens, labels


class _Streams(NativeStream):
    """Native streams of several token sets, which draw for ``count`` contexts, equally many for each set.

    The axis of contexts is the first of length ``count``. In all classes of `icl.tasks` axes before it have a
    length of two or three, and `token_sets` draws together only where ``count`` is larger.
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
        axis, size = shape.index(self.count), list(shape)
        size[axis] //= len(self.streams)
        return torch.cat([draw(one, size) for one in self.streams], axis)


def blocks(sets: Sequence[TokenSets], memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return empty tokens (T, S, d, n + 1, B) and labels (T, S, K, n + 1, B) of sets with S rows in all.

    On a CPU they lie step by step. On a GPU the contexts of all steps and rows lie side by side, as they are
    drawn. Both are views of ``memory``, a flat tensor of as many numbers, if it is given.
    """
    # the sets are alike: each has T = one.steps, B = one.count, and rows of K units
    one, on_cpu = sets[0], sets[0].device.type == "cpu"
    unit, rows = one.rows[0][0], sum(len(own.rows) for own in sets)
    found, at = [], 0
    # columns are d coordinates of tokens, and then labels of K units
    for columns in (unit.task.dim, len(one.rows[0])):
        tokens = unit.context_length + 1
        shape = columns, tokens, rows, one.steps, one.count
        if on_cpu:
            shape = one.steps, rows, columns, tokens, one.count
        size = math.prod(shape)
        flat = (
            torch.empty(size, dtype=one.dtype, device=one.device)
            if memory is None
            else memory[at : at + size]
        )
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

    Covariates are made of normal numbers (S, T B, n + 1, d), and functions have S T B contexts. Unit k of row
    s has the values of the function ``which[k]``, times the first number of ``scales[s][k]``, plus the noise
    (S, T B, n + 1) times the second. There is one row, S = 1, unless this function is compiled.
    """
    steps, rows, _, _, contexts = tokens.shape

    def by_step(drawn: Tensor) -> Tensor:
        """Return what was drawn (S T B, n + 1, ...) as (T, S, ..., n + 1, B), a view where it can be."""
        columns = torch.as_tensor(reversed_axes(drawn), dtype=tokens.dtype, device=tokens.device)
        columns = columns.reshape(*columns.shape[:-1], rows, steps, contexts)
        return columns.movedim((-2, -3), (0, 1))

    x = law.from_normal(normal.flatten(0, 1))
    tokens.copy_(by_step(x))
    values, noise = [by_step(function(x)) for function in functions], by_step(noise.flatten(0, 1))
    if torch.compiler.is_compiling():
        # The stacked values of K units are (T, S, K, n + 1, B). Those of a single class are broadcast.
        used = values[:1] if len(values) == 1 else [values[place] for place in which]
        # both are (S, K, 1, 1)
        scale, noise_std = scales[..., None, None].unbind(2)
        labels.copy_(scale * torch.stack(used, 2) + noise_std * noise.unsqueeze(2))
        return
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

    # (T B, n + 1, d), and with its axes reversed (d, n + 1, T B)
    x = normal[0]
    if _is_own(law):
        # the loop sets x, too, to the covariates that functions take
        inside, matrix = law._spheres
        matrix = matrix.astype(np.float32)
        batches.place(reversed_axes(x).numpy(), tokens[:, 0].numpy(), inside, matrix)
    else:
        x = law.from_normal(x)
        # shape is (d, n + 1, B)
        steps, _, *shape = tokens.shape
        tokens[:, 0] = reversed_axes(x).reshape(*shape[:-1], steps, shape[-1]).movedim(-2, 0)
    values = [reversed_axes(function(x)).contiguous().numpy() for function in functions]
    given = zip(which, scales[0], labels[:, 0].unbind(1), strict=True)
    for place, (scale, noise_std), y in given:
        batches.label(y.numpy(), values[place], scale, reversed_axes(noise[0]).numpy(), noise_std)


def _normal(source: Rng, shape: tuple[int, ...]) -> Tensor:
    """Return normal numbers (S, *shape) of S streams.

    In the memory of native ones the first axis of ``shape``, that of contexts, is innermost.
    """
    if not isinstance(source, NativeStream):
        return torch.from_numpy(source.standard_normal(shape))[None]
    if not isinstance(source, _Streams):
        return reversed_axes(source.standard_normal(shape[::-1]))[None]
    streams = source.streams
    # each stream fills its part of one tensor, which spares joining them
    drawn = torch.empty(len(streams), *shape[::-1], device=streams[0].device)
    for one, part in zip(streams, drawn, strict=True):
        part.normal_(generator=one.generator)
    # axis 0 is that of the streams, and the others are reversed
    return drawn.permute(0, *range(len(shape), 0, -1))
