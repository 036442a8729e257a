r"""Pretraining attention units: a whole sweep in one call, each unit exactly as if it were alone.

A unit (`icl.pretrain.model`) is trained on fresh contexts (`icl.pretrain.batches`) with the paper's empirical
loss, which has the noisy query label (its minimizer is that of the population risk), or with that loss
averaged over functions and noise. Units of the same layout are stacked; stacks run side by side in threads.
Nothing couples two units: the optimizer is elementwise, and random numbers are pure functions of (seed,
stream, step). ``stream="native", dtype="float32"`` is fastest.

>>> from icl.tasks import ReLU
>>> sweep = [UnitConfig(ReLU(3, L), noise_std=0.1, context_length=8, seed=0) for L in (1.0, 2.0, 4.0)]
>>> trained = pretrain(sweep, steps=10, batch_size=16, shared_tokens=True)
>>> trained.M.shape
(3, 3, 3)
>>> grid = train_grid([ReLU(3, 1.0), ReLU(3, 4.0)], 0.1, context_length=8, seeds=5, steps=10, batch_size=16)
>>> grid.M.shape, grid.windows.shape
((2, 5, 3, 3), (2, 5))
"""

from __future__ import annotations

import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl import checks
from icl.checks import affordable, integer, sequence, shown, unmasked
from icl.covariates import Sphere
from icl.pretrain.batches import BatchSampler, risk_gradient
from icl.pretrain.config import CovariateLaw, Settings, UnitConfig
from icl.pretrain.model import Array, gradient
from icl.tasks import Task, Zonal
from icl.tasks.base import key_of

Parameters = dict[str, Array]

#: Most numbers in the largest intermediate array of a gradient: a batch is taken in pieces.
_LARGEST = 2**24


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Result of a pretraining sweep.

    Attributes:
        units: The units, in the order given; ``settings`` is what they share.
        parameters: Trained parameters of each unit by name, float64: ``M``, or ``W_V`` (last row),
            ``W_K``, ``W_Q``.
        history: For each of ``settings.record``, all units' parameters at that time.
        diverged: Units whose parameters became infinite or NaN; the others are not affected.
        seconds: Wall time on a ``device`` of that type.
    """

    units: tuple[UnitConfig, ...]
    settings: Settings
    parameters: tuple[Parameters, ...]
    history: tuple[tuple[Parameters, ...], ...]
    diverged: tuple[UnitConfig, ...]
    device: str
    seconds: float

    @property
    def contexts(self) -> int:
        """Number of contexts that each unit saw."""
        return self.settings.steps * self.settings.batch_size

    @property
    def M(self) -> Array:
        """Key-query matrices, (units, d, d): ``M``, or the token block of ``W_K' W_Q``."""
        return self._key_query(self.parameters)

    @property
    def M_history(self) -> Array:
        """Key-query matrices at the recorded steps, (len(record), units, d, d)."""
        return np.array([self._key_query(all_units) for all_units in self.history])

    @property
    def windows(self) -> Array:
        """Mean of the diagonal of each ``M``: the w of the nearest ``w I``; shape (units,).

        For a class of even functions M and -M have the same risk, and the sign is that of the start's chance;
        a UserWarning says so where both occur. `window_sizes` has no sign.
        """
        w = np.asarray(np.trace(self.M, axis1=1, axis2=2) / self.M.shape[1])
        even = np.array([_is_even(unit.task) for unit in self.units])
        if np.any(w[even] > 0) and np.any(w[even] < 0):
            text = "windows of even functions have either sign, at the same risk: window_sizes has none"
            warnings.warn(text, UserWarning, stacklevel=2)
        return w

    @property
    def window_sizes(self) -> Array:
        """Absolute values of ``windows``, for classes of even functions; shape (units,)."""
        return np.asarray(np.abs(np.trace(self.M, axis1=1, axis2=2)) / self.M.shape[1])

    def _key_query(self, parameters: Sequence[Parameters]) -> Array:
        d = self.units[0].task.dim
        return np.array(
            [p["M"] if "M" in p else (p["W_K"].T @ p["W_Q"])[:d, :d] for p in parameters]
        )


def pretrain(
    units: Sequence[UnitConfig],
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float = 0.05,
    device: torch.device | str = "cpu",
    *,
    optimizer: str = "adam",
    schedule: str = "linear",
    shared_tokens: bool = False,
    stream: str = "portable",
    dtype: str = "float64",
    integrate_labels: bool = False,
    record: Sequence[int] = (),
) -> Pretrained:
    """Train every unit.

    Args:
        units: Units to train, all of one dimension; everything else may differ. Without
            ``shared_tokens=True`` no two may have the same seed.
        steps: Optimizer steps, 1 to 10^9. Time grows with ``steps B n d`` summed over units: at most 10^16.
        batch_size: B, fresh contexts a step, at most 10^7; ``B n d`` is at most 10^10.
        learning_rate: Initial step size of units that have none of their own.
        device: Where to compute.
        optimizer: "adam" (0.9, 0.999, 1e-8) or "sgd", the plain gradient step.
        schedule: "linear" lets the step size fall to zero, ``rate (1 - step / steps)``; "constant" keeps it.
        shared_tokens: Whether units with the same seed, context length and covariates see the same
            covariates, noise and, class by class, functions.
        stream: "portable", the same random numbers on every device, or "native", see `icl.streams`.
        dtype: "float64" or "float32", of everything that is computed.
        integrate_labels: Rao-Blackwell: train on the loss averaged over functions and noise, given the
            covariates.
        record: Increasing numbers of steps after which the parameters are kept; 0 is the start.

    Returns:
        The trained units. A warning names units that diverged.

    Raises:
        ValueError: If there are no units, their dimensions differ, two share a seed unasked, an argument
            is out of range, or the work is too large.
    """
    settings = Settings(
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optimizer=optimizer,
        schedule=schedule,
        shared_tokens=shared_tokens,
        stream=stream,
        dtype=dtype,
        integrate_labels=integrate_labels,
        record=record,
    )
    units = _checked_units(units, settings)
    place = checks.device(device, "device")
    start = time.perf_counter()
    stacks = stack_units(units, settings, place)
    train_side_by_side(stacks, place)
    parameters = _by_unit(stacks, [stack.theta for stack in stacks])
    history = tuple(
        _by_unit(stacks, [stack.recorded[time] for stack in stacks])
        for time in range(len(settings.record))
    )
    diverged = tuple(
        unit
        for unit, own in zip(units, parameters, strict=True)
        if not all(np.isfinite(value).all() for value in own.values())
    )
    for unit in diverged:
        rate = unit.learning_rate or settings.learning_rate
        warnings.warn(f"diverged with learning_rate={rate!r}: {unit}", RuntimeWarning, stacklevel=2)
    return Pretrained(
        units=units,
        settings=settings,
        parameters=parameters,
        history=history,
        diverged=diverged,
        device=place.type,
        seconds=time.perf_counter() - start,
    )


def _checked_units(units: Any, settings: Settings) -> tuple[UnitConfig, ...]:
    """Return the units as a tuple; ValueError if they cannot be trained together."""
    if isinstance(units, str | bytes) or not isinstance(units, Sequence):
        raise ValueError(f"units={shown(units)}: must be a sequence of UnitConfig")
    for unit in units:
        if not isinstance(unit, UnitConfig):
            raise ValueError(f"units has {shown(unit)}: must be a UnitConfig")
        on_sphere = isinstance(unit.task, Zonal) and isinstance(unit.covariate_law, Sphere)
        if settings.integrate_labels and (not on_sphere or unit.width is not None):
            raise ValueError(
                "integrate_labels=True: needs a rotation-invariant class, covariates on the unit sphere "
                f"and a reduced unit, not {unit}"
            )
    dims = {unit.task.dim for unit in units}
    if len(dims) != 1:
        raise ValueError(
            f"units have dimensions {sorted(dims) or 'none'}: exactly one dimension is allowed"
        )
    sizes = [settings.batch_size * unit.context_length * unit.task.dim for unit in units]
    affordable(
        max(sizes), 1e10, "batch_size", settings.batch_size, "numbers for one batch of a unit"
    )
    affordable(settings.steps * sum(sizes), 1e16, "steps", settings.steps, "numbers")
    if not settings.shared_tokens:
        first: dict[int, int] = {}  # the first unit that has a seed
        for index, unit in enumerate(units):
            if unit.seed in first:
                raise ValueError(
                    f"units {first[unit.seed]} and {index} both have seed={unit.seed}: give each its own, "
                    "or let them see the same: shared_tokens=True"
                )
            first[unit.seed] = index
    return tuple(units)


@dataclass(frozen=True, eq=False)
class TrainedGrid:
    """Units of several settings, each with several seeds, setting by setting in ``trained``."""

    trained: Pretrained
    seeds: int

    @property
    def M(self) -> Array:
        """Key-query matrices, (settings, seeds, d, d)."""
        return self.by_setting(self.trained.M)

    @property
    def M_history(self) -> Array:
        """Key-query matrices at the recorded steps, (len(record), settings, seeds, d, d)."""
        return np.array([self.by_setting(M) for M in self.trained.M_history])

    @property
    def windows(self) -> Array:
        """Mean of the diagonal of each ``M``, (settings, seeds); see `Pretrained.windows` on its sign."""
        return self.by_setting(self.trained.windows)

    @property
    def window_sizes(self) -> Array:
        """Absolute values of ``windows``, (settings, seeds)."""
        return self.by_setting(self.trained.window_sizes)

    def by_setting(self, values: Array) -> Array:
        """Return an array with a row a unit, (units, ...), as (settings, seeds, ...).

        ValueError for another number of rows; entries are not looked at, but none may be masked.
        """
        found, units = unmasked(values, "values"), len(self.trained.units)
        if not isinstance(found, np.ndarray) or found.shape[:1] != (units,):
            raise ValueError(
                f"values={shown(values)}: must be an array ({units}, ...), a row a unit"
            )
        return found.reshape(-1, self.seeds, *found.shape[1:])


def train_grid(
    tasks: Task | Sequence[Task],
    noise_std: float | Sequence[float],
    context_length: int | Sequence[int],
    seeds: int,
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float | Sequence[float] = 0.05,
    device: torch.device | str = "cpu",
    *,
    covariates: CovariateLaw | None | Sequence[CovariateLaw | None] = None,
    activation: str | Sequence[str] = "softmax",
    width: int | None = None,
    initial_std: float = 0.0,
    **options: Any,
) -> TrainedGrid:
    """Train every setting with the seeds 0, ..., seeds - 1, which draw the same tokens for all settings.

    Each argument that belongs to a unit (see `UnitConfig`) is one value for all settings or a list with one
    each (a tuple, a one-dimensional array or a Series is one too); so is ``learning_rate``. The others, and
    ``options``, are those of `pretrain`; without `stream` and `dtype` they are the fastest, native and
    float32.

    Raises:
        ValueError: If the lists have different lengths, and as `UnitConfig` and `pretrain`.
    """
    given: dict[str, Any] = {
        "task": tasks,
        "noise_std": noise_std,
        "context_length": context_length,
        "covariates": covariates,
        "activation": activation,
        "width": width,
        "initial_std": initial_std,
    }
    shared: Any = learning_rate
    if sequence(learning_rate) is not None:
        given["learning_rate"], shared = learning_rate, 0.05  # each unit has its own
    lists = {name: sequence(value) for name, value in given.items()}
    lengths = {name: len(value) for name, value in lists.items() if value is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"lists have different lengths: {lengths}; must be equal")
    if 0 in lengths.values():
        raise ValueError(f"{next(iter(lengths))}=[]: must not be empty")
    settings = [
        {name: given[name] if value is None else value[i] for name, value in lists.items()}
        for i in range(next(iter(lengths.values()), 1))
    ]
    seeds = integer(seeds, "seeds", 1, 10**6)
    units = [UnitConfig(**setting, seed=seed) for setting in settings for seed in range(seeds)]
    fast: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
    return TrainedGrid(pretrain(units, steps, batch_size, shared, device, **fast | options), seeds)


class UnitStack:
    """Units of one layout that are trained together: S token sets, and K units that share each of them.

    ``indices`` are their places among all units, (S, K); packed parameters and the moments of Adam are
    (S, K, P).
    """

    def __init__(
        self,
        units: Sequence[UnitConfig],
        indices: Sequence[Sequence[int]],
        settings: Settings,
        device: torch.device,
    ):
        self.indices = indices
        self.settings = settings
        self.sets = [[units[index] for index in row] for row in indices]
        one = self.sets[0][0]
        self.layout = one.layout
        self.activation = one.activation
        self.sampler = BatchSampler(self.sets, settings, device)
        dtype = getattr(torch, settings.dtype)
        start = np.array([[unit.initial() for unit in row] for row in self.sets])
        self.theta = torch.from_numpy(start).to(dtype=dtype, device=device)
        self.mean = torch.zeros_like(self.theta)
        self.square = torch.zeros_like(self.theta)
        rates = [
            [[unit.learning_rate or settings.learning_rate] for unit in row] for row in self.sets
        ]
        self.rate = torch.tensor(rates, dtype=dtype, device=device)  # (S, K, 1)
        self.recorded: list[Tensor] = []  # parameters after the recorded steps

    def train(self, stopped: threading.Event) -> None:
        """Take all steps, unless stopped."""
        for step in range(self.settings.steps + 1):
            if step in self.settings.record:
                self.recorded.append(self.theta.clone())
            if step == self.settings.steps or stopped.is_set():
                return
            x, y = self.sampler.batch(step)
            self.optimizer_step(self.gradient(x, y), step)

    def gradient(self, x: Tensor, y: Tensor | None) -> Tensor:
        """Return the mean gradient over a batch, (S, K, P), taken in pieces that fit into memory."""
        dim, tokens, contexts = x.shape[2:]
        units = self.theta.shape[0] * self.theta.shape[1]
        piece = max(1, _LARGEST // (units * dim * tokens))  # contexts at a time
        total = torch.zeros_like(self.theta)
        for begin in range(0, contexts, piece):
            some = x[..., begin : begin + piece]
            labels = None if y is None else y[..., begin : begin + piece]
            integrated = risk_gradient(self.sets, some) if y is None else None
            mean = gradient(self.layout, self.theta, self.activation, some, labels, integrated)
            total += mean * (some.shape[-1] / contexts)
        return total

    def optimizer_step(self, gradient: Tensor, step: int) -> None:
        """Take one step of the optimizer: elementwise, so stacked units do not touch each other."""
        rate = self.rate * self.settings.rate(step)
        if self.settings.optimizer == "sgd":
            self.theta -= rate * gradient
            return
        self.mean.lerp_(gradient, 0.1)
        self.square.lerp_(gradient * gradient, 0.001)
        mean = self.mean / (1 - 0.9 ** (step + 1))
        square = self.square / (1 - 0.999 ** (step + 1))
        self.theta -= rate * mean / (square.sqrt() + 1e-8)


def stack_units(
    units: Sequence[UnitConfig], settings: Settings, device: torch.device
) -> list[UnitStack]:
    """Return the units in stacks: on a CPU, of those that are alike as many stacks as PyTorch has threads."""
    sets = defaultdict(list)  # units that share covariates and have the same layout
    for index, unit in enumerate(units):
        law = key_of(unit.covariate_law)
        shape = (unit.context_length, unit.activation, unit.width)
        sets[unit.seed, law, shape].append(index)
    alike = defaultdict(list)  # sets of as many units, whose arrays have the same shape
    for (_, _, shape), row in sets.items():
        alike[shape, len(row)].append(row)
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    stacks = []
    for rows in alike.values():
        size = -(-len(rows) // threads)
        for begin in range(0, len(rows), size):
            stacks.append(UnitStack(units, rows[begin : begin + size], settings, device))
    return stacks


def train_side_by_side(stacks: Sequence[UnitStack], device: torch.device) -> None:
    """Train all stacks: on a CPU as many at once as PyTorch has threads here, which they divide among them.

    An error or an interrupt stops all of them.
    """
    total = torch.get_num_threads()
    workers = min(len(stacks), total) if device.type == "cpu" else 1
    stopped = threading.Event()
    try:  # a thread sets its own number of threads, and that of threads which begin later
        with ThreadPoolExecutor(
            workers, initializer=torch.set_num_threads, initargs=(total // workers,)
        ) as pool:
            try:
                for job in [pool.submit(stack.train, stopped) for stack in stacks]:
                    job.result()
            finally:
                stopped.set()
    finally:
        torch.set_num_threads(total)


def _is_even(task: Task) -> bool:
    """Return whether ``f(-x)`` and ``f(x)`` have the same law jointly: no odd degree in the spectrum."""
    return isinstance(task, Zonal) and not np.any(
        task.spectrum(41)[0][::2] > 1e-12 * task.covariance(1.0)
    )


def _by_unit(stacks: Sequence[UnitStack], thetas: Sequence[Tensor]) -> tuple[Parameters, ...]:
    """Return the packed parameters of all stacks as one dictionary a unit, in the units' order."""
    found: dict[int, Parameters] = {}
    for stack, theta in zip(stacks, thetas, strict=True):
        packed = theta.double().cpu().numpy()
        for s, row in enumerate(stack.indices):
            for k, index in enumerate(row):
                found[index] = stack.layout.unpack(packed[s, k])
    return tuple(found[index] for index in range(len(found)))
