"""How `icl.pretrain` trains: groups of stacked units, the loop over steps, and the state in a file.

Units of the same shape are stacked into groups that fit into the cache; groups run side by side in threads.
Nothing couples two units: the optimizer is elementwise, and random numbers are pure functions of (seed,
stream, step). So a state may be resumed with another grouping, on another machine.

``settings`` is an `icl.pretrain.Settings` throughout.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from icl.files import atomic_path
from icl.pretrain.batches import Contexts, kernel
from icl.pretrain.model import gradient

_CACHE = 2**15  # numbers in one array of a group on a CPU: a few such arrays fit into a core's cache
_FUSED = 2**18  # the same where `icl.compiled` computes, which keeps no arrays: few groups, few calls
_SAVE_SECONDS = 10.0  # between two checkpoints
_SWITCH_SECONDS = 1e-4  # a thread that comes back from a compiled loop waits no longer for the interpreter


def uses_compiled_loops(member, settings, device) -> bool:
    """Whether the compiled loops of `icl.compiled` do it: softmax, ``M`` alone, float32, on a CPU."""
    return (device.type, settings.dtype, member.activation, member.width, settings.integrate_labels) == (
        "cpu",
        "float32",
        "softmax",
        None,
        False,
    )


class Group:
    """Units of one shape, S token sets with K units each: parameters (S, K, P) and the optimizer's state."""

    def __init__(self, sets, indices, settings, device):
        self.indices, self.sets, self.settings = indices, sets, settings
        dtype = getattr(torch, settings.dtype)
        first = sets[0][0]
        self.shape, self.activation = first.shape, first.activation
        self.contexts = Contexts(
            sets, settings.batch_size, settings.stream, device, dtype, not settings.integrate_labels
        )
        stacked = torch.from_numpy(np.array([[m.initial() for m in row] for row in sets]))
        self.theta = stacked.to(device, dtype)
        self.mean, self.square = torch.zeros_like(self.theta), torch.zeros_like(self.theta)
        self.rate = (
            torch.tensor(
                [[m.learning_rate or settings.learning_rate for m in row] for row in sets],
                dtype=torch.float64,
            )
            .to(device, dtype)
            .unsqueeze(-1)
        )
        per_context = stacked.shape[0] * stacked.shape[1] * first.context_length * first.task.dim
        most = (16 if device.type == "cpu" else 1024) * _CACHE  # numbers in the largest intermediate
        self.fused = uses_compiled_loops(first, settings, device)
        self.piece = min(settings.batch_size, max(16, most // per_context))  # contexts at a time
        self.seen = []  # parameters after the recorded steps

    def advance(self, start: int, stop: int, stopped: threading.Event) -> None:
        """Take the steps from ``start`` to ``stop``, unless stopped."""
        if not self.seen and self.settings.record[:1] == (0,):
            self.seen.append(self.theta.clone())
        for step in range(start, stop):
            if stopped.is_set():
                return
            self.descend(self.gradient(*self.contexts.at(step)), step)
            if step + 1 in self.settings.record:
                self.seen.append(self.theta.clone())

    def gradient(self, x, y):
        """Mean gradient over the batch, taken in pieces that stay in the cache."""
        if self.fused:
            from icl.compiled import units

            return units.softmax_gradient(self.theta, x, y)
        total, B = 0.0, x.shape[-1]
        for begin in range(0, B, self.piece):
            here = slice(begin, begin + self.piece)
            some = x[..., here]
            integrated = kernel(self.sets, some) if y is None else None
            part = gradient(
                self.shape, self.theta, self.activation, some, None if y is None else y[..., here], integrated
            )
            total = part if some.shape[-1] == B else total + part * (some.shape[-1] / B)
        return total

    def descend(self, gradient, step):
        """One step of the optimizer: elementwise, so stacked units do not touch each other."""
        rate = self.rate * self.settings.rate(step)
        if self.settings.optimizer == "sgd":
            self.theta.addcmul_(rate, gradient, value=-1)
            return
        if self.fused:
            from icl.compiled import units

            state = (self.theta, self.mean, self.square, gradient, rate)
            units.adam(*(tensor.numpy() for tensor in state), 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1))
            return
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        size = self.square.sqrt().div_((1 - 0.999 ** (step + 1)) ** 0.5).add_(1e-8)
        self.theta.addcdiv_(self.mean * rate, size, value=-1 / (1 - 0.9 ** (step + 1)))


def stack(units, settings, device) -> list[Group]:
    """Groups of units, each S rows of K that share tokens; S x K is small enough for the cache."""
    sets = defaultdict(list)  # units that share tokens, and have the same shape
    for index, m in enumerate(units):
        sets[m.seed, m.context_length, m.covariate_law, m.activation, m.width].append(index)
    alike = defaultdict(list)
    for (_, n, _, activation, width), row in sets.items():
        alike[n, activation, width, len(row)].append(row)
    stacked = []
    for (n, _, _, size), rows in alike.items():
        limit = _CACHE if device.type == "cpu" else 2**12 * _CACHE
        if uses_compiled_loops(units[rows[0][0]], settings, device):
            limit = _FUSED
        many = max(1, limit // (size * n * settings.batch_size))
        if device.type == "cpu":  # no fewer groups than threads
            many = min(many, -(-len(rows) // torch.get_num_threads()))
        stacked += [rows[i : i + many] for i in range(0, len(rows), many)]
    return [Group([[units[i] for i in row] for row in rows], rows, settings, device) for rows in stacked]


def run(groups, step, settings, device, progress, keep) -> None:
    """Advance all groups from ``step`` to the end.

    Args:
        groups: From `stack`.
        step: Steps already taken.
        settings: What the units have in common.
        device: Where the groups are.
        progress: Whether to show a line with the steps done.
        keep: Called with the number of steps done about every ten seconds, and at the end.
    """
    threads = min(len(groups), torch.get_num_threads()) if device.type == "cpu" else 1
    before, switch, stopped = torch.get_num_threads(), sys.getswitchinterval(), threading.Event()
    stretch, saved = 16, time.perf_counter()
    try:
        if threads > 1:  # one thread a group instead of several threads an operation
            torch.set_num_threads(1)
            sys.setswitchinterval(_SWITCH_SECONDS)
        with ThreadPoolExecutor(
            threads, initializer=torch.set_num_threads, initargs=(max(1, before // threads),)
        ) as pool:
            while step < settings.steps:
                begun, stop = time.perf_counter(), min(step + stretch, settings.steps)
                try:
                    for job in [pool.submit(group.advance, step, stop, stopped) for group in groups]:
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
                    print(
                        f"\rpretraining: step {step} of {settings.steps}",
                        end="" if step < settings.steps else "\n",
                        file=sys.stderr,
                        flush=True,
                    )
    finally:
        torch.set_num_threads(before)
        sys.setswitchinterval(switch)


def _description(units, settings, groups) -> str:
    where = groups[0].theta.device.type if settings.stream == "native" else "any"
    return json.dumps({"settings": asdict(settings), "units": [repr(m) for m in units], "device": where})


def save(path, groups, units, settings, step) -> None:
    """Write the state, member by member and so for any grouping, whole or not at all."""
    if path is None:
        return
    arrays = {"step": np.array(step), "what": np.array(_description(units, settings, groups))}
    for group in groups:
        for s, row in enumerate(group.indices):
            for k, index in enumerate(row):
                state = [group.theta, group.mean, group.square, *group.seen]
                arrays[f"member{index}"] = np.stack([tensor[s, k].cpu().numpy() for tensor in state])
    with atomic_path(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)


def resume(path, groups, units, settings) -> int:
    """Load the state, if there is one; returns the steps done."""
    if path is None or not Path(path).is_file():
        return 0
    with np.load(path, allow_pickle=False) as arrays:
        if str(arrays["what"]) != _description(units, settings, groups):
            raise ValueError(f"checkpoint={str(path)!r}: belongs to other units or settings")
        for group in groups:
            state = np.stack([[arrays[f"member{index}"] for index in row] for row in group.indices])
            group.theta, group.mean, group.square, *group.seen = (
                torch.from_numpy(state).to(group.theta).unbind(2)
            )
        return int(arrays["step"])
