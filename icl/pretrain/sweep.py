"""Units in stacks that train side by side, and what takes their steps: PyTorch, or loops compiled by numba.

Both know one formula, `icl.pretrain.model.take_step` in PyTorch and `icl.compiled.training` for a CPU. For a
GPU, where calls cost most, PyTorch compiles its own.
"""

from __future__ import annotations

import functools
import math
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from icl.compiled import can_compile
from icl.pretrain.batches import blocks, steps_of_block, token_sets
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import Array, by_name, take_step
from icl.pytorch import Tensor, torch
from icl.tasks.base import key_of

#: Bound of the numbers in the batches of a stack on a CPU; on a GPU they may take this share of the memory.
_MAX_BATCH_NUMBERS, _SHARE = 2**28, 1 / 8
#: A sweep reports its progress about this many times.
_STOPS = 100


def is_compiled(unit: UnitConfig, device: torch.device) -> bool:
    """Return whether compiled code can take the steps of a unit."""
    # the gradient of a full unit is left to autograd
    if unit.width is not None:
        return False
    if device.type == "cuda":
        return _is_there("triton")
    # the loops know softmax only
    return unit.activation == "softmax" and device.type == "cpu" and _is_there("numba")


@functools.cache
def _is_there(compiler: str) -> bool:
    """Return whether triton, or numba with its compiler enabled, is there; warn if it is not installed."""
    try:
        if compiler == "triton":
            import triton  # noqa: F401

            return True
        import numba  # noqa: F401
    except ImportError as error:
        text = f"training takes longer, as its steps are not compiled: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return False
    # numba may be installed with its compiler disabled, which would run the loops in Python
    return can_compile()


def _factors(settings: Settings, first: int, stop: int) -> Array:
    """Return a row for each step from ``first`` on, before ``stop``.

    Each row has the step size as a share of the initial one, and what Adam divides its two means by: the sums
    of their weights.
    """
    step = np.arange(first, stop)
    share = 1 - step / settings.steps if settings.schedule == "linear" else np.ones(step.size)
    return np.stack([share, 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)], 1)


class Stack:
    """Units of one kind that are trained together: S token sets, and K units that see each of them.

    Their matrices and the two moments of Adam are the ``state``, (3, S, K, ...). ``batches`` are tokens and
    labels of the blocks of T steps that were drawn last. Loops take one token set, and may have several
    ``threads``: each of these draws a block, and then takes the steps of some units.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[UnitConfig]],
        settings: Settings,
        compiled: bool,
        state: Tensor,
    ):
        self.settings, self.state, unit = settings, state, rows[0][0]
        drawing = settings.batch_size, settings.stream, settings.dtype, state.device
        native, on_gpu = settings.stream == "native", state.device.type == "cuda"
        self.sets = token_sets(rows, *drawing, compiled=compiled and native and on_gpu)
        rates = [[own.learning_rate or settings.learning_rate for own in row] for row in rows]
        self.rates = state.new_tensor(rates)[..., None, None]
        # PyTorch reads here the rows of `_factors` for the steps of one block
        self.factors = state.new_empty(self.sets[0].steps, 3)
        self.adam = settings.optimizer == "adam"
        self.kind: Any = {"width": unit.width, "activation": unit.activation, "adam": self.adam}
        # this is the place of the next step in its block
        self.place = torch.zeros(1, dtype=torch.int64, device=state.device)
        self.loops: Any = None
        self.graph: Graph | None = None
        if compiled and state.device.type == "cpu":
            from icl.compiled import training

            self.loops = training.take_steps
        elif compiled:
            self._compile()
        # `Sweep` may give loops more threads
        self.threads = 1
        self.batches: Any = None
        # the numbers of the blocks that are in the batches, one for each thread
        self.drawn: list[int] = []
        # other stacks may draw their blocks in the same memory
        self.shares = False

    @property
    def numbers(self) -> int:
        """How many numbers a block of its batches has."""
        # the sets of a stack are alike but for their number of rows; len(self.rates) is that of all sets, S
        token_set = self.sets[0]
        unit, contexts = token_set.rows[0][0], token_set.steps * token_set.count
        tokens = len(self.rates) * contexts * (unit.context_length + 1)
        return tokens * (unit.task.dim + len(token_set.rows[0]))

    def _compile(self) -> None:
        """Have the steps compiled for a GPU, and called as a CUDA graph."""
        # The compiler counts how often it compiles one function, here that of all stacks, and gives up at a
        # limit, which is raised. Every PyTorch knows the limit by this old name.
        limits = torch._dynamo.config
        limits.cache_size_limit = max(limits.accumulated_cache_size_limit, limits.cache_size_limit)
        step = torch.compile(partial(_step_at, **self.kind), dynamic=False)

        def next_step() -> None:
            self.state.copy_(
                step(self.place, self.state, self.rates, *self.batches[0], self.factors)
            )
            self.place.add_(1)

        self.graph = Graph(next_step, self.state.device)

    def train(self, stop: int, stopped: threading.Event, first: int) -> None:
        """Take the steps from ``first`` on, before ``stop``, unless the event ``stopped`` is set."""
        block_steps = self.sets[0].steps
        if self.batches is None:
            self.batches = [blocks(self.sets) for _ in range(self.threads)]
        # At first no block is drawn, block -1. Of what is drawn in shared memory, other stacks may have
        # overwritten all since the last call.
        if self.shares or not self.drawn:
            self.drawn = [-1] * self.threads
        # In a thread of the pool PyTorch computes alone. A pool that is not used starts no threads.
        with ThreadPoolExecutor(self.threads, "", torch.set_num_threads, (1,)) as pool:
            apply: Any = map if self.threads == 1 else pool.map
            while first < stop and not stopped.is_set():
                # the end of the blocks that threads draw side by side, one block each
                until = min(stop, (first // self.together + 1) * self.together)
                needed = range(first // block_steps, math.ceil(until / block_steps))
                # a list waits for all threads, and raises their errors
                list(apply(self._draw, [block for block in needed if block not in self.drawn]))
                # without loops there is one thread, and the steps are those of one block
                if self.loops is None:
                    self._take(first, until)
                else:
                    units = range(self.state.shape[2])
                    parts = _chunks(units, math.ceil(len(units) / self.threads))
                    list(apply(partial(self._loop, first, until), parts))
                first = until

    @property
    def together(self) -> int:
        """Number of steps in the blocks that threads draw side by side, one block each."""
        return self.threads * self.sets[0].steps

    def _draw(self, block: int) -> None:
        """Draw a block for all sets of the stack into the batches of one thread."""
        # each set fills its rows, along axis 1 of tokens and labels
        sizes, place = [len(own.rows) for own in self.sets], block % self.threads
        parts = zip(*(part.split(sizes, 1) for part in self.batches[place]), strict=True)
        for token_set, part in zip(self.sets, parts, strict=True):
            token_set.draw(block, part)
        self.drawn[place] = block

    def _loop(self, first: int, until: int, units: range) -> None:
        """Take the steps of some units by compiled loops, from ``first`` on, before ``until``."""
        block_steps = self.sets[0].steps
        while first < until:
            block, place = divmod(first, block_steps)
            stop = min(until, (block + 1) * block_steps)
            # index 0 is the only row; the first axis are the steps taken here
            x, y = (
                part[place : place + stop - first, 0] for part in self.batches[block % self.threads]
            )
            factors = self.state.new_tensor(_factors(self.settings, first, stop))
            # the loops change the state, since NumPy's arrays share its memory
            parts = x, y, *self.state[:, 0], self.rates[0, :, 0, 0], factors
            self.loops(*(part.numpy() for part in parts), self.adam, units.start, units.stop)
            first = stop

    def _take(self, first: int, until: int) -> None:
        """Take the steps of all units by PyTorch, from ``first`` on, before ``until``, all of one block."""
        rows = torch.as_tensor(_factors(self.settings, first, until), dtype=self.state.dtype)
        # a copy to a GPU from memory that is not pinned would wait for all steps before it
        rows = rows.pin_memory() if self.state.device.type == "cuda" else rows
        place = first % self.sets[0].steps
        places = range(place, place + until - first)
        self.factors[place : places.stop].copy_(rows, non_blocking=True)
        if self.graph is not None:
            # the graph moves the place on by one each time
            self.place.fill_(place)
            for _ in places:
                self.graph()
            return
        x, y = self.batches[0]
        for t in places:
            batch = x[t].unsqueeze(1), y[t], self.factors[t]
            self.state.copy_(take_step(self.state, self.rates, *batch, **self.kind))


def _step_at(
    place: Tensor, state: Tensor, rates: Tensor, x: Tensor, y: Tensor, factors: Tensor, **kind: Any
) -> Tensor:
    """Return the state after `take_step` with the batch and factors at a place of a block.

    The place is a tensor (1,), so that one CUDA graph takes the steps of all places.
    """
    x, y, factors = (part.index_select(0, place)[0] for part in (x, y, factors))
    return take_step(state, rates, x.unsqueeze(1), y, factors, **kind)


class Graph:
    """A call as a CUDA graph, since calls cost a GPU more than the steps that they ask for.

    It is captured when it first runs, and computes on the memory that the call used then.
    """

    def __init__(self, call: Callable[[], None], device: torch.device):
        self.call, self.device = call, device
        self.captured: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Do what the call does, from the second time on by replaying the graph."""
        if self.captured is not None:
            self.captured.replay()
            return
        cuda: Any = torch.cuda
        graph, now, aside = (
            cuda.CUDAGraph(),
            cuda.current_stream(self.device),
            cuda.Stream(self.device),
        )
        # PyTorch cannot capture on the default stream
        aside.wait_stream(now)
        with cuda.stream(aside):
            # this does it the first time, and compiles, which cannot be captured
            self.call()
            # other threads may call the GPU meanwhile
            graph.capture_begin(capture_error_mode="thread_local")
            # this call is recorded, and not run
            self.call()
            graph.capture_end()
        now.wait_stream(aside)
        self.captured = graph


class Sweep:
    """All units, in stacks that train side by side.

    Matrices and moments of all of them lie one after the other in ``state``, (3, N), and matrices at the
    recorded steps in ``history``, (len(record), N).
    """

    def __init__(
        self,
        units: Sequence[UnitConfig],
        settings: Settings,
        device: torch.device,
    ):
        self.units, self.settings = units, settings
        self.compiled = [is_compiled(unit, device) for unit in units]
        starts = [unit.initial() for unit in units]
        # on a CPU as many stacks train at once as PyTorch has threads here
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1
        self.device, max_numbers = device, _MAX_BATCH_NUMBERS
        if device.type == "cuda":
            # this is the size of a number in bytes
            size = torch.finfo(getattr(torch, settings.dtype)).bits // 8
            max_numbers = (
                int(_SHARE * torch.cuda.get_device_properties(device).total_memory) // size
            )
        groups = self._groups(max_numbers)
        # the index of each unit, in the order in which units stand in the state
        self.places = [index for rows in groups for row in rows for index in row]
        self.shapes = [matrix.shape for matrix in starts]
        begin = np.concatenate([starts[index].ravel() for index in self.places])
        new = partial(torch.zeros, dtype=getattr(torch, settings.dtype), device=device)
        self.state, self.history = new(3, begin.size), new(len(settings.record), begin.size)
        self.state[0] = torch.from_numpy(begin)
        if 0 in settings.record:
            self.history[0] = self.state[0]
        self.stacks: list[Stack] = []
        end = 0
        for rows in groups:
            # units of a stack are of one kind, so that the first stands for all
            index = rows[0][0]
            shape = (3, len(rows), len(rows[0]), *starts[index].shape)
            at, end = end, end + math.prod(shape[1:])
            own = [[units[place] for place in row] for row in rows]
            state = self.state[:, at:end].view(shape)
            stack = Stack(own, settings, self.compiled[index], state)
            # Stacks share out the threads. Each thread holds a block, so that memory may allow fewer.
            if stack.loops is not None:
                spare = min(self.threads // len(groups), max_numbers // stack.numbers)
                stack.threads = max(1, spare)
            self.stacks.append(stack)
        if device.type == "cuda":
            self._give_memory(max_numbers)

    def _groups(self, max_numbers: int) -> list[list[list[int]]]:
        """Return the indices of the units: for each stack its token sets, and for each of these its units.

        A block of a stack has at most ``max_numbers`` numbers, unless one unit alone has more. A stack of
        loops is one token set, whatever its size.
        """
        # units of one set share covariates and are of one kind
        sets = defaultdict(list)
        for index, unit in enumerate(self.units):
            compiled = self.compiled[index]
            kind = unit.context_length, unit.activation, unit.width, compiled
            sets[kind, unit.seed, key_of(unit.covariate_law)].append(index)
        dim, on_cpu = self.units[0].task.dim, self.device.type == "cpu"
        # sets of equally many units have arrays of one shape
        alike = defaultdict(list)
        for (kind, *_), row in sets.items():
            # the last part of a kind is whether its units are compiled; the loops of a CPU take a row whole
            looped = on_cpu and kind[-1]
            # a block has dim + len(chunk) numbers for each token: coordinates, and a label for each unit
            size = len(row) if looped else max_numbers // self._tokens(row[0]) - dim
            for chunk in _chunks(row, size):
                alike[kind, len(chunk)].append(chunk)
        groups = []
        for (kind, count), rows in alike.items():
            numbers = (dim + count) * self._tokens(rows[0][0])
            groups += _chunks(rows, 1 if on_cpu and kind[-1] else max_numbers // numbers)
        return groups

    def _tokens(self, index: int) -> int:
        """Return how many tokens a block of a unit has."""
        unit, size = self.units[index], self.settings.batch_size
        steps = steps_of_block(unit, size, self.settings.stream, self.device)
        return steps * size * (unit.context_length + 1)

    def _give_memory(self, max_numbers: int) -> None:
        """Set the batches of all stacks, on a GPU, to views of one tensor.

        If they need more than ``max_numbers`` together, all use the same memory, which ``shares`` says, and
        take turns.
        """
        needs = [stack.numbers for stack in self.stacks]
        shares = sum(needs) > max_numbers
        memory = self.state.new_empty(max(needs) if shares else sum(needs))
        at = 0
        for stack, need in zip(self.stacks, needs, strict=True):
            stack.batches, stack.shares = [blocks(stack.sets, memory[at : at + need])], shares
            at += 0 if shares else need

    def train(self, advance: Callable[[int], object] = lambda count: None) -> None:
        """Train all stacks, which stop where they are recorded, and at the ends of some blocks.

        There ``advance`` is called with the number of steps that were taken since the last stop. An error or
        an interrupt stops all stacks.
        """
        steps, record = self.settings.steps, self.settings.record
        block = max(stack.together for stack in self.stacks)
        every = block * math.ceil(steps / _STOPS / block)
        stops = sorted({0, *record, *range(every, steps, every), steps})
        stopped = threading.Event()
        # Each worker sets PyTorch's number of threads. This also sets it for threads that begin later, so
        # that it is set back at the end.
        total, workers = torch.get_num_threads(), min(len(self.stacks), self.threads)
        pool = ThreadPoolExecutor(workers, "", torch.set_num_threads, (total // workers,))
        apply: Any = map if workers == 1 else pool.map
        try:
            for first, stop in pairwise(stops):
                train = partial(Stack.train, stop=stop, stopped=stopped, first=first)
                with warnings.catch_warnings():
                    # a compiler's advice, which no user of ours could follow
                    warnings.filterwarnings("ignore", module=r"torch\._inductor")
                    list(apply(train, self.stacks))
                if stop in record:
                    self.history[record.index(stop)] = self.state[0]
                advance(stop - first)
        finally:
            stopped.set()
            pool.shutdown()
            torch.set_num_threads(total)

    def by_unit(self, row: Tensor) -> tuple[dict[str, Array], ...]:
        """Return the parameters of each unit by name, in float64, from a row of state or history.

        In a row, units stand in the order of the stacks.
        """
        sizes = [math.prod(self.shapes[index]) for index in self.places]
        parts = np.split(row.double().cpu().numpy(), np.cumsum(sizes)[:-1])
        found = {
            index: by_name(own.reshape(self.shapes[index]), self.units[index].width)
            for index, own in zip(self.places, parts, strict=True)
        }
        return tuple(found[index] for index in range(len(self.units)))


def _chunks(items: Any, size: int) -> list[Any]:
    """Return the items in sequences of about the same length: at most ``size``, and at least one item."""
    parts = math.ceil(len(items) / max(1, size))
    size = math.ceil(len(items) / parts)
    return [items[at : at + size] for at in range(0, len(items), size)]
