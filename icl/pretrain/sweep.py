"""Units in stacks that train side by side, and what takes their steps: PyTorch, or loops compiled by numba.

Both know one formula, `icl.pretrain.model.take_step` in PyTorch and `icl.compiled.training` for a CPU. For a
GPU, where calls cost most, PyTorch compiles its own.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import math
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from icl.pretrain.batches import TokenSet
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import Array, take_step
from icl.pytorch import Tensor, torch
from icl.tasks.base import key_of

#: Most coordinates in the tokens of a stack, and numbers in each of a few arrays that PyTorch computes.
_LARGEST = 2**28
#: A sweep stops so often, to say how far it is and to be kept.
_STOPS = 100


def is_compiled(unit: UnitConfig, device: torch.device) -> bool:
    """Return whether compiled code can take the steps of a unit."""
    if device.type == "cuda":
        return unit.width is None and _is_there("triton")
    plain = unit.width is None and unit.activation == "softmax"
    return plain and device.type == "cpu" and _is_there("numba")


@functools.cache
def _is_there(compiler: str) -> bool:
    """Return whether numba or triton can be imported; one line says if not."""
    try:
        found = importlib.import_module(compiler)
    except ImportError as error:
        text = f"training takes longer, as its steps are not compiled: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return False
    # numba that is told not to compile would run the loops in Python
    return compiler != "numba" or not found.config.DISABLE_JIT


def _factors(settings: Settings, first: int, stop: int) -> Array:
    """Return a row for each step from ``first`` on, before ``stop``.

    It has the step size as a share of the initial one, and what Adam divides its two means by.
    """
    step = np.arange(first, stop)
    share = 1 - step / settings.steps if settings.schedule == "linear" else np.ones(step.size)
    return np.stack([share, 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)], 1)


class Stack:
    """Units of one layout that are trained together: S token sets, and K units that see each of them.

    Parameters and the two moments of Adam are the ``state``, (3, S, K, P). Loops by numba take one token set.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[UnitConfig]],
        settings: Settings,
        compiled: bool,
        state: Tensor,
    ):
        self.settings, self.state = settings, state
        self.sets = [TokenSet(row, settings, state.device) for row in rows]
        rates = [[[unit.learning_rate or settings.learning_rate] for unit in row] for row in rows]
        self.rates = state.new_tensor(rates)  # (S, K, 1)
        self.adam = settings.optimizer == "adam"
        one = rows[0][0]
        self.step: Any = partial(take_step, one.layout, one.activation, self.adam)
        self.loops: Any = None
        if compiled and state.device.type == "cpu":
            self.loops = importlib.import_module("icl.compiled.training").take_steps
        elif compiled:
            # stacks of many shapes are one function to the compiler
            limits = torch._dynamo.config
            limits.recompile_limit = max(1000, limits.recompile_limit)
            self.step = torch.compile(self.step, mode="reduce-overhead", dynamic=False)
        self.block = -1  # the one that is drawn

    def train(self, stop: int, stopped: threading.Event, first: int) -> None:
        """Take the steps from ``first`` on, before ``stop``, unless stopped."""
        length = self.sets[0].steps
        while first < stop and not stopped.is_set():
            block, place = divmod(first, length)
            if block != self.block:
                self.block, self.batches = block, [one.draw(block) for one in self.sets]
            until = min(stop, (block + 1) * length)
            factors = self.state.new_tensor(_factors(self.settings, first, until))
            steps = slice(place * self.sets[0].count, (until - block * length) * self.sets[0].count)
            self._take([(x[..., steps], y[..., steps]) for x, y in self.batches], factors)
            first = until

    def _take(self, batches: Sequence[tuple[Tensor, Tensor]], factors: Tensor) -> None:
        """Take as many steps as there are rows of `_factors`, on tokens and labels of each set."""
        if self.loops is not None:
            ((x, y),) = batches
            d = len(x)
            arrays = [part.numpy() for part in (x, y, *self.state.view(3, -1, d, d))]
            self.loops(*arrays, self.rates[0, :, 0].numpy(), factors.numpy(), self.adam)
            return
        x, y = (torch.stack(parts) for parts in zip(*batches, strict=True))
        both = (part.chunk(len(factors), -1) for part in (x.unsqueeze(1), y))
        for batch in zip(*both, factors, strict=True):
            self.state.copy_(self.step(self.state, self.rates, *batch))


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
        self.compiled = [engine != "eager" and is_compiled(unit, device) for unit in units]
        eager = self.compiled.count(False)
        if engine == "compiled" and eager:
            text = f"engine='compiled': {eager} of {len(units)} units are trained eagerly"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        # on a CPU as many stacks train at once as PyTorch has threads here
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1
        groups = self._groups(device)
        order = [index for rows in groups for row in rows for index in row]
        ends = np.cumsum([units[index].layout.size for index in order]).tolist()
        self.places = dict(zip(order, map(slice, [0, *ends], ends), strict=False))
        new = partial(torch.zeros, dtype=getattr(torch, settings.dtype), device=device)
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
            self.stacks.append(Stack(own, settings, self.compiled[rows[0][0]], state))

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
        # PyTorch keeps CUDA graphs by thread
        over: Any = map if workers == 1 else pool.map
        try:
            for stop in stops[bisect.bisect(stops, self.step) :]:
                train = partial(Stack.train, stop=stop, stopped=stopped, first=self.step)
                list(over(train, self.stacks))
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
            unit.layout.unpack(packed[self.places[index]]) for index, unit in enumerate(self.units)
        )

    def labels(self) -> Array:
        """Return the labels of a first context of each unit, one after the other."""
        first = [one.draw(0)[1][..., 0].flatten() for stack in self.stacks for one in stack.sets]
        return torch.cat(first).cpu().numpy()
