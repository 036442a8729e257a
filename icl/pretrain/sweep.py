"""Units in stacks that train side by side, and what takes their steps: PyTorch, or loops compiled by numba.

Both know one formula, `icl.pretrain.model.take_step` in PyTorch and `icl.compiled.training` for a CPU. For a
GPU, where calls cost most, PyTorch compiles its own.
"""

from __future__ import annotations

import bisect
import math
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl.compiled import has, module
from icl.pretrain.batches import TokenSet
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import Array, take_step
from icl.tasks.base import key_of

#: Most coordinates in the tokens of a stack, and numbers in each of a few arrays that PyTorch computes.
_LARGEST = 2**28
#: A sweep stops so often, to say how far it is and to be kept.
_STOPS = 100


def is_compiled(unit: UnitConfig, device: torch.device) -> bool:
    """Return whether compiled code can take the steps of a unit."""
    if device.type == "cuda":
        return unit.width is None and has("triton")
    plain = unit.width is None and unit.activation == "softmax"
    return plain and device.type == "cpu" and module("training") is not None


@dataclass(eq=False)
class Stack:
    """Units of one layout that are trained together: S token sets, and K units that see each of them.

    Parameters and the two moments of Adam are the ``state``, (3, S, K, P). Loops by numba take one token set.
    """

    rows: Sequence[Sequence[UnitConfig]]
    settings: Settings
    compiled: bool
    state: Tensor
    #: The block of steps that is drawn, and its batches.
    block: int = -1
    batches: Sequence[Any] = ()

    def __post_init__(self) -> None:
        device = self.state.device
        self.sets = [TokenSet(row, self.settings, device) for row in self.rows]
        rates = [
            [[unit.learning_rate or self.settings.learning_rate] for unit in row]
            for row in self.rows
        ]
        self.rates = self.state.new_tensor(rates)  # (S, K, 1)
        self.adam = self.settings.optimizer == "adam"
        unit = self.rows[0][0]
        self.loops = self.compiled and device.type == "cpu"
        self.step: Any = partial(take_step, unit.layout, unit.activation, self.adam)
        if self.compiled and not self.loops:
            # stacks of many shapes are one function to the compiler
            limits = torch._dynamo.config
            limits.recompile_limit = max(1000, limits.recompile_limit)
            self.step = torch.compile(self.step, mode="reduce-overhead", dynamic=False)

    def train(self, first: int, stop: int, stopped: threading.Event) -> None:
        """Take the steps from ``first`` on, before ``stop``, unless stopped."""
        length = self.sets[0].steps
        while first < stop and not stopped.is_set():
            block = first // length
            if block != self.block:
                self.block, self.batches = block, self._draw(block)
            until = min(stop, (block + 1) * length)
            place = slice(first % length, until - block * length)
            factors = self.state.new_tensor(self.settings.factors(first, until))
            if self.loops:
                self._by_numba(place, factors)
            else:
                self._by_torch(place, factors)
            first = until
        if first % length == 0:
            # the next stack draws into the same memory, which is in the cache
            self.batches = ()

    def _draw(self, block: int) -> Sequence[Any]:
        """Return the batches of a block, as the loops take them, or as `take_step` does with a step first."""
        drawn = [one.draw(block) for one in self.sets]
        if self.loops:
            return [part.numpy() for part in drawn[0]]
        both = zip(self.sets, drawn, strict=True)
        y = torch.stack([one.labels(*own[1:]) for one, own in both], 1)
        return torch.stack([own[0] for own in drawn], 1).unsqueeze(2), y

    def _by_torch(self, place: slice, factors: Tensor) -> None:
        """Take the steps at a place of the block; `Settings.factors` has a row for each."""
        x, y = (part[place] for part in self.batches)
        for batch in zip(x, y, factors, strict=True):
            self.state.copy_(self.step(self.state, self.rates, *batch))

    def _by_numba(self, place: slice, factors: Tensor) -> None:
        one = self.sets[0]
        module("training").take_steps(
            *(part[place] for part in self.batches),
            *(part.numpy() for part in (one.kinds, one.scales, one.noise_stds)),
            *self.state.view(3, -1, one.dim, one.dim).numpy(),
            self.rates[0, :, 0].numpy(),
            factors.numpy(),
            self.adam,
        )


class Sweep:
    """All units, in stacks that train side by side.

    Parameters and moments of all of them lie one after the other in ``state``, (3, N), and parameters at the
    recorded steps in ``history``, (len(record), N); ``places`` says where those of each unit are.
    """

    def __init__(
        self,
        units: Sequence[UnitConfig],
        settings: Settings,
        device: torch.device,
        engine: str,
        starts: Sequence[Array],
    ):
        self.units, self.settings, self.step = units, settings, 0
        self.compiled = [
            engine != "eager" and is_compiled(unit, device) for unit in units
        ]
        eager = self.compiled.count(False)
        if engine == "compiled" and eager:
            text = (
                f"engine='compiled': {eager} of {len(units)} units are trained eagerly"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        # on a CPU as many stacks train at once as PyTorch has threads here
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1
        groups = self._groups(device)
        order = [index for rows in groups for row in rows for index in row]
        ends = np.cumsum([units[index].layout.size for index in order]).tolist()
        self.places = dict(zip(order, map(slice, [0, *ends], ends), strict=False))
        new = partial(torch.zeros, dtype=settings.torch_dtype, device=device)
        self.state = new(3, ends[-1])
        self.state[0] = torch.from_numpy(np.concatenate([starts[i] for i in order]))
        self.history = new(len(settings.record), ends[-1])
        if 0 in settings.record:
            self.history[0] = self.state[0]
        self.stacks = []
        for rows in groups:
            part = slice(self.places[rows[0][0]].start, self.places[rows[-1][-1]].stop)
            state = self.state[:, part].view(3, len(rows), len(rows[0]), -1)
            own = [[units[index] for index in row] for row in rows]
            compiled = self.compiled[rows[0][0]]
            self.stacks.append(Stack(own, settings, compiled, state))

    def _groups(self, device: torch.device) -> list[list[list[int]]]:
        """Return the units of each stack by token set.

        A stack of loops has one token set, or a part of its units if there are fewer sets than threads.
        """
        sets = defaultdict(list)  # of units that share covariates and have one layout
        for index, unit in enumerate(self.units):
            shape = unit.context_length, unit.activation, unit.width
            loops = self.compiled[index] and device.type == "cpu"
            sets[unit.seed, key_of(unit.covariate_law), shape, loops].append(index)
        parts = max(1, self.threads // len(sets))
        alike = defaultdict(list)  # sets of as many units, whose arrays have one shape
        for (*_, shape, loops), row in sets.items():
            size = -(-len(row) // parts) if loops else len(row)
            for at in range(0, len(row), size):
                some = row[at : at + size]
                alike[shape, loops, len(some)].append(some)
        groups = []
        for ((n, *_), loops, count), rows in alike.items():
            numbers = count * n * self.units[0].task.dim * self.settings.batch_size
            size = 1 if loops else max(1, _LARGEST // numbers)
            groups += [rows[at : at + size] for at in range(0, len(rows), size)]
        return groups

    def train(self, after: Callable[[], object]) -> None:
        """Train all stacks, which stop where they are recorded, and at the ends of some blocks.

        Then they call ``after``. An error or an interrupt stops all of them.
        """
        steps, record = self.settings.steps, self.settings.record
        block = max(stack.sets[0].steps for stack in self.stacks)
        every = block * math.ceil(steps / _STOPS / block)
        stops = sorted({*record, *range(every, steps, every), steps})
        stopped = threading.Event()
        # a thread sets its own number of threads, and that of threads which begin later
        total, workers = torch.get_num_threads(), min(len(self.stacks), self.threads)
        each = (total // workers,)
        pool = ThreadPoolExecutor(workers, "", torch.set_num_threads, each)
        try:
            for stop in stops[bisect.bisect(stops, self.step) :]:
                train = partial(Stack.train, stop=stop, stopped=stopped)
                list(pool.map(partial(train, first=self.step), self.stacks))
                self.step = stop
                if stop in record:
                    self.history[record.index(stop)] = self.state[0]
                after()
        finally:
            stopped.set()
            pool.shutdown()
            torch.set_num_threads(total)

    def by_unit(self, row: Tensor) -> tuple[dict[str, Array], ...]:
        """Return the parameters of each unit by name, in float64, from a row of state or history."""
        packed = row.double().cpu().numpy()
        return tuple(
            unit.layout.unpack(packed[self.places[index]])
            for index, unit in enumerate(self.units)
        )

    def labels(self) -> Array:
        """Return the labels of a first context of each unit, one after the other."""
        sets = [one for stack in self.stacks for one in stack.sets]
        first = [one.labels(*one.draw(0)[1:])[0, :, :, 0].flatten() for one in sets]
        return torch.cat(first).cpu().numpy()
