"""Training many units at once, in stacks that threads train side by side.

A *stack* holds units of one kind, whose arrays have one shape. Token sets, blocks and the sizes T, S, K, B, n
and d are those of `icl.pretrain.batches`. One of these takes the steps of a stack:

- the *loops* of `icl.compiled.training`, which numba compiles for a CPU,
- `icl.pretrain.model.take_step`, compiled by PyTorch and replayed as a CUDA graph, on a GPU,
- the same function, not compiled, for all other units.
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
from icl.pretrain.batches import make_blocks, make_token_sets, steps_of_block
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import Array, by_name, take_step
from icl.pytorch import Tensor, torch
from icl.tasks.base import key_of

#: Most numbers of the batches of a stack on a CPU.
_MAX_BATCH_NUMBERS = 2**28
#: Largest share of the memory of a GPU for the batches of all stacks.
_SHARE = 1 / 8
#: A sweep reports its progress about this many times.
_STOPS = 100


def is_compiled(unit: UnitConfig, device: torch.device) -> bool:
    """Return whether compiled code can take the steps of a unit."""
    # the gradient of a full unit is left to autograd
    if unit.width is not None:
        return False
    if device.type == "cuda":
        return _has_compiler("triton")
    # the loops know softmax only
    return unit.activation == "softmax" and device.type == "cpu" and _has_compiler("numba")


@functools.cache
def _has_compiler(compiler: str) -> bool:
    """Return whether the compiler, "triton" or "numba", can compile here; warn if it is not installed."""
    try:
        if compiler == "triton":
            import triton  # noqa: F401

            return True
        import numba  # noqa: F401
    except ImportError as error:
        text = f"training takes longer, as its steps are not compiled: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return False
    # numba may be installed with its compiler disabled
    return can_compile()


def _compute_factors(settings: Settings, first: int, stop: int) -> Array:
    """Return three numbers for each step from ``first`` to ``stop - 1``, shape (steps, 3).

    They are the step size over the initial one, and the numbers by which Adam divides its two means.
    """
    step = np.arange(first, stop)
    share = 1 - step / settings.steps if settings.schedule == "linear" else np.ones(step.size)
    return np.stack([share, 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)], 1)


class Stack:
    """Units of one kind that are trained together: S rows of K units.

    ``state``, (3, S, K, ...), has the matrices of the units and the two moments of Adam. ``batches`` has, for
    each thread, tokens and labels of one block of T steps.

    A stack that is trained by loops has one token set, and may have several ``threads``. Each thread draws
    one block, and then takes the steps of all these blocks for a part of the units.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[UnitConfig]],
        settings: Settings,
        compiled: bool,
        state: Tensor,
    ):
        self.settings, self.state = settings, state
        drawing = settings.batch_size, settings.stream, settings.dtype, state.device
        # on a GPU the drawing of native numbers is compiled, too
        native, on_gpu = settings.stream == "native", state.device.type == "cuda"
        self.sets = make_token_sets(rows, *drawing, compiled=compiled and native and on_gpu)
        rates = [[own.learning_rate or settings.learning_rate for own in row] for row in rows]
        self.rates = state.new_tensor(rates)[..., None, None]
        # these are the factors of the steps of one block
        self.factors = state.new_empty(self.sets[0].steps, 3)
        self.adam = settings.optimizer == "adam"
        unit = rows[0][0]
        self.kind: Any = {"width": unit.width, "activation": unit.activation, "adam": self.adam}
        # this is the index of the next step in its block
        self.place = torch.zeros(1, dtype=torch.int64, device=state.device)
        self.loops: Any = None
        self.graph: Graph | None = None
        if compiled and state.device.type == "cpu":
            from icl.compiled import training

            self.loops = training.take_steps
        elif compiled:
            self._compile()
        # `Sweep` may raise the number of threads of a stack with loops
        self.threads = 1
        self.batches: Any = None
        # for each thread, the number of the block in its batches
        self.drawn: list[int] = []
        # this is True if other stacks draw their blocks into the same memory
        self.shares = False

    @property
    def numbers(self) -> int:
        """How many numbers one block of the stack has: coordinates and labels of all tokens."""
        # the sets differ in their numbers of rows only
        token_set = self.sets[0]
        unit, contexts = token_set.rows[0][0], token_set.steps * token_set.count
        tokens = len(self.rates) * contexts * (unit.context_length + 1)
        return tokens * (unit.task.dim + len(token_set.rows[0]))

    def _compile(self) -> None:
        """Compile the step for a GPU, and make the `Graph` that takes one step."""
        # PyTorch compiles `_step_at` once for each stack, and stops compiling one function at this limit. So
        # the limit is raised. Old and new versions of PyTorch know the limit by this old name.
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
        """Take the steps ``first`` to ``stop - 1``, or fewer if ``stopped`` is set meanwhile."""
        block_steps = self.sets[0].steps
        if self.batches is None:
            self.batches = [make_blocks(self.sets) for _ in range(self.threads)]
        # -1 says that a thread has not drawn a block. In shared memory other stacks may have overwritten
        # blocks.
        if self.shares or not self.drawn:
            self.drawn = [-1] * self.threads
        # Each thread of the pool tells PyTorch to use one thread only.
        with ThreadPoolExecutor(self.threads, "", torch.set_num_threads, (1,)) as pool:
            apply: Any = map if self.threads == 1 else pool.map
            while first < stop and not stopped.is_set():
                # this round takes the steps of one block for each thread
                until = min(stop, (first // self.together + 1) * self.together)
                needed = range(first // block_steps, math.ceil(until / block_steps))
                # a list waits for all threads, and raises their errors
                list(apply(self._draw, [block for block in needed if block not in self.drawn]))
                # without loops there is one thread, and one block
                if self.loops is None:
                    self._take_steps(first, until)
                else:
                    units = range(self.state.shape[2])
                    parts = _split_evenly(units, math.ceil(len(units) / self.threads))
                    list(apply(partial(self._run_loops, first, until), parts))
                first = until

    @property
    def together(self) -> int:
        """Number of steps for which all threads together draw blocks, one block each."""
        return self.threads * self.sets[0].steps

    def _draw(self, block: int) -> None:
        """Draw a block for all token sets of the stack, into the batches of one thread."""
        # each set fills its own rows, which are along axis 1
        sizes, place = [len(own.rows) for own in self.sets], block % self.threads
        parts = zip(*(part.split(sizes, 1) for part in self.batches[place]), strict=True)
        for token_set, part in zip(self.sets, parts, strict=True):
            token_set.draw(block, part)
        self.drawn[place] = block

    def _run_loops(self, first: int, until: int, units: range) -> None:
        """Take the steps ``first`` to ``until - 1`` of some units, by compiled loops."""
        block_steps = self.sets[0].steps
        while first < until:
            block, place = divmod(first, block_steps)
            stop = min(until, (block + 1) * block_steps)
            # axis 0 has the steps, and axis 1 the only token set
            x, y = (
                part[place : place + stop - first, 0] for part in self.batches[block % self.threads]
            )
            factors = self.state.new_tensor(_compute_factors(self.settings, first, stop))
            # the loops change the state, whose memory these arrays share
            parts = x, y, *self.state[:, 0], self.rates[0, :, 0, 0], factors
            self.loops(*(part.numpy() for part in parts), self.adam, units.start, units.stop)
            first = stop

    def _take_steps(self, first: int, until: int) -> None:
        """Take the steps ``first`` to ``until - 1``, all of one block, by PyTorch."""
        rows = torch.as_tensor(
            _compute_factors(self.settings, first, until), dtype=self.state.dtype
        )
        # without pinned memory the copy to a GPU would wait until the GPU has taken all earlier steps
        rows = rows.pin_memory() if self.state.device.type == "cuda" else rows
        place = first % self.sets[0].steps
        places = range(place, place + until - first)
        self.factors[place : places.stop].copy_(rows, non_blocking=True)
        if self.graph is not None:
            # each call of the graph takes one step, and adds one to `self.place`
            self.place.fill_(place)
            for _ in places:
                self.graph()
            return
        x, y = self.batches[0]
        for t in places:
            # axis 1 is that of the K units of a row
            batch = x[t].unsqueeze(1), y[t], self.factors[t]
            self.state.copy_(take_step(self.state, self.rates, *batch, **self.kind))


def _step_at(
    place: Tensor, state: Tensor, rates: Tensor, x: Tensor, y: Tensor, factors: Tensor, **kind: Any
) -> Tensor:
    """Return the state after the step at index ``place`` of a block.

    ``place`` is a tensor (1,), which the GPU reads. So one CUDA graph can take every step of a block.
    """
    x, y, factors = (part.index_select(0, place)[0] for part in (x, y, factors))
    return take_step(state, rates, x.unsqueeze(1), y, factors, **kind)


class Graph:
    """A function without arguments that a GPU replays as a CUDA graph.

    A replay starts all operations of the function at once, because to start them one by one would take
    longer than to compute them. It reads and writes the memory that the function used when it was recorded.
    """

    def __init__(self, call: Callable[[], None], device: torch.device):
        self.call, self.device = call, device
        self.captured: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Run the function and record it, at the first call. Replay the graph at all later calls."""
        if self.captured is not None:
            self.captured.replay()
            return
        cuda: Any = torch.cuda
        graph, now, aside = (
            cuda.CUDAGraph(),
            cuda.current_stream(self.device),
            cuda.Stream(self.device),
        )
        # PyTorch cannot record on the default stream, so that another stream is used
        aside.wait_stream(now)
        with cuda.stream(aside):
            # this call runs the function, and compiles it, because compiling cannot be recorded
            self.call()
            # with this mode other threads may use the GPU meanwhile
            graph.capture_begin(capture_error_mode="thread_local")
            # this call is recorded, and does not run
            self.call()
            graph.capture_end()
        now.wait_stream(aside)
        self.captured = graph


class Sweep:
    """All units, in stacks that train side by side.

    The matrices of all units together have N entries. ``state``, (3, N), has these entries and the two
    moments of Adam. ``history``, (len(record), N), has the entries after the recorded steps.
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
        # on a CPU the stacks share the threads of PyTorch
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1
        self.device = device
        max_numbers = _MAX_BATCH_NUMBERS
        if device.type == "cuda":
            size = torch.finfo(getattr(torch, settings.dtype)).bits // 8
            max_numbers = (
                int(_SHARE * torch.cuda.get_device_properties(device).total_memory) // size
            )
        groups = self._group_units(max_numbers)
        # the indices of the units, in the order of their entries in the state
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
            # all units of a stack have one shape
            index = rows[0][0]
            shape = (3, len(rows), len(rows[0]), *starts[index].shape)
            at, end = end, end + math.prod(shape[1:])
            own = [[units[place] for place in row] for row in rows]
            state = self.state[:, at:end].view(shape)
            stack = Stack(own, settings, self.compiled[index], state)
            # A stack gets its share of the threads, each with a block in memory.
            if stack.loops is not None:
                spare = min(self.threads // len(groups), max_numbers // stack.numbers)
                stack.threads = max(1, spare)
            self.stacks.append(stack)
        if device.type == "cuda":
            self._give_memory(max_numbers)

    def _group_units(self, max_numbers: int) -> list[list[list[int]]]:
        """Return the indices of the units, as a list of stacks, each a list of rows, each a list of units.

        A block of a stack has at most ``max_numbers`` numbers, unless one unit alone has more, or loops train
        the stack.
        """
        # units of one set see the same covariates
        sets = defaultdict(list)
        for index, unit in enumerate(self.units):
            compiled = self.compiled[index]
            kind = unit.context_length, unit.activation, unit.width, compiled
            sets[kind, unit.seed, key_of(unit.covariate_law)].append(index)
        dim, on_cpu = self.units[0].task.dim, self.device.type == "cpu"
        alike = defaultdict(list)
        for (kind, *_), row in sets.items():
            # `kind` ends with whether compiled code, on a CPU loops, takes the steps
            looped = on_cpu and kind[-1]
            # each token has `dim` coordinates, and a label for each unit
            size = len(row) if looped else max_numbers // self._count_tokens(row[0]) - dim
            for chunk in _split_evenly(row, size):
                alike[kind, len(chunk)].append(chunk)
        groups = []
        for (kind, count), rows in alike.items():
            numbers = (dim + count) * self._count_tokens(rows[0][0])
            looped = on_cpu and kind[-1]
            groups += _split_evenly(rows, 1 if looped else max_numbers // numbers)
        return groups

    def _count_tokens(self, index: int) -> int:
        """Return how many tokens a block has for the unit with this index."""
        unit, size = self.units[index], self.settings.batch_size
        steps = steps_of_block(unit, size, self.settings.stream, self.device)
        return steps * size * (unit.context_length + 1)

    def _give_memory(self, max_numbers: int) -> None:
        """Set the batches of all stacks to views of one tensor, on a GPU.

        If they have more than ``max_numbers`` numbers together, all stacks use the same memory, one after the
        other.
        """
        needs = [stack.numbers for stack in self.stacks]
        shares = sum(needs) > max_numbers
        memory = self.state.new_empty(max(needs) if shares else sum(needs))
        at = 0
        for stack, need in zip(self.stacks, needs, strict=True):
            stack.batches, stack.shares = [make_blocks(stack.sets, memory[at : at + need])], shares
            at += 0 if shares else need

    def train(self, advance: Callable[[int], object] = lambda count: None) -> None:
        """Train all stacks, which stop after each recorded step, and at most about a hundred times besides.

        At each stop ``advance`` is called with the number of steps since the last stop. An error stops all
        stacks.
        """
        steps, record = self.settings.steps, self.settings.record
        block = max(stack.together for stack in self.stacks)
        # regular stops do not fall inside the largest block, which might have to be drawn again
        every = block * math.ceil(steps / _STOPS / block)
        stops = sorted({0, *record, *range(every, steps, every), steps})
        stopped = threading.Event()
        # The number of threads that a worker sets also holds for later threads, and is restored at the end.
        total, workers = torch.get_num_threads(), min(len(self.stacks), self.threads)
        pool = ThreadPoolExecutor(workers, "", torch.set_num_threads, (total // workers,))
        apply: Any = map if workers == 1 else pool.map
        try:
            for first, stop in pairwise(stops):
                train = partial(Stack.train, stop=stop, stopped=stopped, first=first)
                with warnings.catch_warnings():
                    # a user cannot follow the advice of PyTorch's compiler
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
        """Return the parameters of each unit by name, in float64 and in the order of ``units``.

        ``row`` is a row of state or history, in the order of the stacks.
        """
        sizes = [math.prod(self.shapes[index]) for index in self.places]
        parts = np.split(row.double().cpu().numpy(), np.cumsum(sizes)[:-1])
        found = {
            index: by_name(own.reshape(self.shapes[index]), self.units[index].width)
            for index, own in zip(self.places, parts, strict=True)
        }
        return tuple(found[index] for index in range(len(self.units)))


def _split_evenly(items: Any, size: int) -> list[Any]:
    """Return the items in sequences of about equal length, which is at most ``size`` and at least one."""
    parts = math.ceil(len(items) / max(1, size))
    size = math.ceil(len(items) / parts)
    return [items[at : at + size] for at in range(0, len(items), size)]
