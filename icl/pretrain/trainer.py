"""How `icl.pretrain` trains: stacks of units, the loop over steps, and the state in a file.

Units of the same layout are stacked so that a stack fits into the cache; stacks run side by side in threads.
Nothing couples two units: the optimizer is elementwise, and random numbers are pure functions of (seed,
stream, step). So a state may be resumed with other stacks, on another machine.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl.files import atomic_path
from icl.pretrain.batches import BatchSampler, risk_gradient
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import gradient

_CACHE = 2**15  # numbers in one array of a stack on a CPU: a few such arrays fit into a core's cache
_COMPILED = 2**18  # the same where `icl.compiled` computes, which keeps no arrays: few stacks, few calls
_LEAST = 2**16  # a thread's stack should have so many there: the interpreter serves one thread at a time
_SAVE_SECONDS = 10.0  # between two checkpoints
_SWITCH_SECONDS = 1e-4  # a thread that comes back from a compiled loop waits no longer for the interpreter


def uses_compiled_loops(unit: UnitConfig, settings: Settings, device: torch.device) -> bool:
    """Return whether `icl.compiled` has the loops: softmax, ``M`` alone, sampled labels, float32, CPU."""
    given = (device.type, settings.dtype, unit.activation, unit.width, settings.integrate_labels)
    return given == ("cpu", "float32", "softmax", None, False)


class UnitStack:
    """Units of one layout, S token sets with K units each: parameters (S, K, P) and the optimizer's state.

    Args:
        units: All units of the sweep.
        indices: Indices of the stacked ones, (S, K).
        settings: Of the sweep.
        device: Where to compute.
    """

    def __init__(
        self,
        units: Sequence[UnitConfig],
        indices: Sequence[Sequence[int]],
        settings: Settings,
        device: torch.device,
    ):
        self.indices, self.settings = indices, settings
        self.sets = [[units[i] for i in row] for row in indices]
        first, options = self.sets[0][0], {"dtype": getattr(torch, settings.dtype), "device": device}
        self.layout, self.activation = first.layout, first.activation
        self.sampler = BatchSampler(self.sets, settings, device)
        start = np.array([[unit.initial() for unit in row] for row in self.sets])
        self.theta = torch.from_numpy(start).to(**options)
        self.mean, self.square = torch.zeros_like(self.theta), torch.zeros_like(self.theta)
        rates = [[[unit.learning_rate or settings.learning_rate] for unit in row] for row in self.sets]
        self.rate = torch.tensor(rates, dtype=torch.float64).to(**options)
        self.compiled = uses_compiled_loops(first, settings, device)
        per_context = start.shape[0] * start.shape[1] * first.context_length * first.task.dim
        most = (16 if device.type == "cpu" else 1024) * _CACHE  # numbers in the largest intermediate
        self.piece = min(settings.batch_size, max(16, most // per_context))  # contexts at a time
        self.recorded: list[Tensor] = []  # parameters after the recorded steps

    def advance(self, start: int, stop: int, stopped: threading.Event) -> None:
        """Take the steps from ``start`` to ``stop``, unless stopped."""
        if not self.recorded and self.settings.record[:1] == (0,):
            self.recorded.append(self.theta.clone())
        for step in range(start, stop):
            if stopped.is_set():
                return
            self.optimizer_step(self.gradient(*self.sampler.batch(step)), step)
            if step + 1 in self.settings.record:
                self.recorded.append(self.theta.clone())

    def gradient(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return the mean gradient over the batch, taken in pieces that stay in the cache."""
        if self.compiled and y is not None:
            from icl.compiled import units

            return units.softmax_gradient(self.theta, x, y)
        total, B = torch.zeros_like(self.theta), x.shape[-1]
        for begin in range(0, B, self.piece):
            some = x[..., begin : begin + self.piece]
            labels = None if y is None else y[..., begin : begin + self.piece]
            integrated = risk_gradient(self.sets, some) if y is None else None
            part = gradient(self.layout, self.theta, self.activation, some, labels, integrated)
            total = part if some.shape[-1] == B else total + part * (some.shape[-1] / B)
        return total

    def optimizer_step(self, gradient: Tensor, step: int) -> None:
        """Take one step of the optimizer: elementwise, so stacked units do not touch each other."""
        rate = self.rate * self.settings.rate(step)
        if self.settings.optimizer == "sgd":
            self.theta.addcmul_(rate, gradient, value=-1)
            return
        first, second = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)  # bias corrections
        if self.compiled:
            from icl.compiled import units

            state = (self.theta, self.mean, self.square, gradient, rate)
            units.adam(*(tensor.numpy() for tensor in state), first, second)
            return
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        size = self.square.sqrt().div_(second**0.5).add_(1e-8)
        self.theta.addcdiv_(self.mean * rate, size, value=-1 / first)


def stack_units(units: Sequence[UnitConfig], settings: Settings, device: torch.device) -> list[UnitStack]:
    """Return stacks of units, each S rows of K that share covariates; S x K is small enough for the cache."""
    rows = defaultdict(list)  # units that share covariates, and have the same layout
    for index, u in enumerate(units):
        rows[u.seed, u.context_length, u.covariate_law, u.activation, u.width].append(index)
    alike = defaultdict(list)
    for (_, n, _, activation, width), row in rows.items():
        alike[n, activation, width, len(row)].append(row)
    stacks = []
    for (n, _, _, size), same in alike.items():
        limit = _CACHE if device.type == "cpu" else 2**12 * _CACHE
        if uses_compiled_loops(units[same[0][0]], settings, device):
            limit = _COMPILED
        many = max(1, limit // (size * n * settings.batch_size))
        if device.type == "cpu":  # no fewer stacks than threads, where there is work for them
            least = 1 + (_LEAST - 1) // (size * n * settings.batch_size)
            many = min(many, max(least, -(-len(same) // torch.get_num_threads())))
        stacks += [UnitStack(units, same[i : i + many], settings, device) for i in range(0, len(same), many)]
    return stacks


def run(
    stacks: Sequence[UnitStack],
    step: int,
    settings: Settings,
    device: torch.device,
    progress: bool,
    keep: Callable[[int], None],
) -> None:
    """Advance all stacks from ``step`` to the end.

    The number of PyTorch's threads and the interpreter's switch interval are changed meanwhile, and
    restored however it ends.

    Args:
        stacks: From `stack_units`.
        step: Steps already taken.
        settings: Of the sweep.
        device: Where the stacks are.
        progress: Whether to show a line with the steps done.
        keep: Called with the number of steps done about every ten seconds, and at the end.
    """
    threads = min(len(stacks), torch.get_num_threads()) if device.type == "cpu" else 1
    before, switch, stopped = torch.get_num_threads(), sys.getswitchinterval(), threading.Event()
    stretch, saved = 16, time.perf_counter()
    share = max(1, before // threads)  # one thread a stack instead of several threads an operation
    try:
        if threads > 1:
            torch.set_num_threads(1)
            sys.setswitchinterval(_SWITCH_SECONDS)
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(share,)) as pool:
            while step < settings.steps:
                begun, stop = time.perf_counter(), min(step + stretch, settings.steps)
                try:
                    for job in [pool.submit(stack.advance, step, stop, stopped) for stack in stacks]:
                        job.result()
                except BaseException:
                    stopped.set()
                    raise
                step, now = stop, time.perf_counter()
                stretch = max(16, int(stretch * min(4.0, 2.0 / max(now - begun, 1e-3))))  # about two seconds
                if step == settings.steps or now - saved > _SAVE_SECONDS:
                    keep(step)
                    saved = now
                if progress:
                    end = "" if step < settings.steps else "\n"
                    text = f"\rpretraining: step {step} of {settings.steps}"
                    print(text, end=end, file=sys.stderr, flush=True)
    finally:
        torch.set_num_threads(before)
        sys.setswitchinterval(switch)


class Checkpoint:
    """The state of a sweep in a file, unit by unit and so for any stacks.

    Args:
        path: The file (.npz); it need not exist.
        units: All units of the sweep.
        stacks: From `stack_units`.
        settings: Of the sweep.

    Raises:
        ValueError: If the file could not be written.
    """

    def __init__(
        self, path: Path, units: Sequence[UnitConfig], stacks: Sequence[UnitStack], settings: Settings
    ):
        self.path, self.stacks = path, stacks
        where = stacks[0].theta.device.type if settings.stream == "native" else "any"
        texts = {"settings": asdict(settings), "units": [repr(unit) for unit in units], "device": where}
        self.description = json.dumps(texts)
        try:
            if path.is_dir():
                raise IsADirectoryError("is a folder")
            tempfile.TemporaryFile(dir=path.parent).close()
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(path)!r}: must be a file in a folder that exists and may be written "
                f"({error.strerror or error})"
            ) from None

    def save(self, step: int) -> None:
        """Write the state after ``step`` steps, all of it or nothing."""
        arrays: dict[str, Any] = {"step": np.array(step), "what": np.array(self.description)}
        for stack in self.stacks:
            state = torch.stack([stack.theta, stack.mean, stack.square, *stack.recorded], 2).cpu().numpy()
            for s, row in enumerate(stack.indices):
                arrays |= {f"unit{index}": state[s, k] for k, index in enumerate(row)}
        with atomic_path(self.path) as part, part.open("wb") as file:
            np.savez(file, **arrays)

    def resume(self) -> int:
        """Load the state, if there is one, and return the number of steps done.

        Raises:
            ValueError: If the file is no checkpoint, or that of other units or settings.
        """
        if not self.path.exists():
            return 0
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = dict(file)
            found, step = str(arrays["what"]), int(arrays["step"])
        except Exception as error:  # what is raised depends on where the file is damaged
            raise ValueError(
                f"checkpoint={str(self.path)!r}: is damaged or no checkpoint ({type(error).__name__}); "
                "delete it to start again"
            ) from None
        if found != self.description:
            raise ValueError(f"checkpoint={str(self.path)!r}: belongs to other units or settings")
        for stack in self.stacks:
            state = np.array([[arrays[f"unit{index}"] for index in row] for row in stack.indices])
            parts = torch.from_numpy(np.moveaxis(state, 2, 0).copy()).to(stack.theta)
            stack.theta, stack.mean, stack.square, *stack.recorded = parts.unbind()
        return step
