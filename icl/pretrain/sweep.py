r"""Pretraining attention units: a whole sweep in one call, each unit exactly as if it were alone.

A unit (`model`) is trained on fresh contexts (`batches`) with the paper's empirical loss, which
has the noisy query label (its minimizer is that of the population risk), or with that loss averaged over
functions and noise. `trainer` stacks units, which is faster than one after the other; nothing couples
them. Fastest on a CPU are softmax units with ``stream="native", dtype="float32"``: their loops are
compiled when they are first used on a machine (seconds, once).

>>> from icl.tasks import ReLU
>>> sweep = [UnitConfig(ReLU(3, L), noise_std=0.1, context_length=8, seed=0) for L in (1.0, 2.0, 4.0)]
>>> trained = pretrain(sweep, steps=10, batch_size=16, shared_tokens=True)
>>> trained.M.shape
(3, 3, 3)
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from icl.pretrain.config import Settings, UnitConfig, check_cost, check_integrable
from icl.pretrain.model import Array
from icl.pretrain.trainer import Checkpoint, UnitStack, run, stack_units

Parameters = dict[str, Array]


@dataclass(frozen=True)
class Pretrained:
    """Result of a pretraining sweep.

    Attributes:
        units: The units, in the order given.
        settings: Arguments of `pretrain` that all units share.
        parameters: Trained parameters of each unit by name, float64: ``M``, or ``W_V`` (last row),
            ``W_K``, ``W_Q``.
        history: For each of ``settings.record``, all units' parameters at that time.
        diverged: Units whose parameters became infinite or NaN; the others are not affected.
        device: Device type.
        seconds: Wall time.
    """

    units: tuple[UnitConfig, ...]
    settings: Settings
    parameters: tuple[Parameters, ...]
    history: tuple[tuple[Parameters, ...], ...]
    diverged: tuple[UnitConfig, ...]
    device: str
    seconds: float

    @property
    def steps(self) -> int:
        """Number of optimizer steps."""
        return self.settings.steps

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
        """The same at the recorded steps, (len(record), units, d, d)."""
        return np.array([self._key_query(all_units) for all_units in self.history])

    @property
    def windows(self) -> Array:
        """Mean of the diagonal of each ``M``: the w of the nearest ``w I``; shape (units,)."""
        return np.asarray(np.trace(self.M, axis1=1, axis2=2) / self.M.shape[1])

    @property
    def anisotropy(self) -> Array:
        """``|M - w I|_F / |M|_F``, how far each M is from a multiple of the identity; shape (units,)."""
        rest = self.M - self.windows[:, None, None] * np.eye(self.M.shape[1])
        return np.asarray(np.linalg.norm(rest, axis=(1, 2)) / np.linalg.norm(self.M, axis=(1, 2)))

    def _key_query(self, parameters: Sequence[Parameters]) -> Array:
        d = self.units[0].task.dim
        return np.array([p["M"] if "M" in p else (p["W_K"].T @ p["W_Q"])[:d, :d] for p in parameters])


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
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
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
        checkpoint: A file (.npz) that keeps the state, written about every ten seconds and at the end, all
            of it or nothing. If it exists, training goes on from it, to the same numbers as without the
            interruption.
        progress: Whether to show a line with the steps done.

    Returns:
        The trained units. A warning names units that diverged.

    Raises:
        ValueError: If there are no units, their dimensions differ, two share a seed unasked, an argument
            is out of range, the work is too large, or the checkpoint cannot be written, is damaged or
            belongs to other settings.
        KeyboardInterrupt: After the checkpoint, if there is one, is safe.
    """
    settings = Settings(
        steps,
        batch_size,
        learning_rate,
        optimizer,
        schedule,
        shared_tokens,
        stream,
        dtype,
        integrate_labels,
        tuple(record),
    )
    units, place = tuple(units), _usable(device)
    dims = {unit.task.dim for unit in units}
    if len(dims) != 1:
        raise ValueError(f"units have dimensions {sorted(dims)}: exactly one dimension is allowed")
    if settings.integrate_labels:
        check_integrable(units)
    check_cost(units, settings)
    if not settings.shared_tokens:
        _check_seeds(units)
    start = time.perf_counter()
    stacks = stack_units(units, settings, place)
    if checkpoint is None:
        run(stacks, 0, settings, place, progress, lambda step: None)
    else:
        state = Checkpoint(Path(checkpoint), units, stacks, settings)
        run(stacks, state.resume(), settings, place, progress, state.save)
    last = _collect(units, stacks, [stack.theta for stack in stacks])
    times = range(len(settings.record))
    history = tuple(_collect(units, stacks, [stack.recorded[t] for stack in stacks]) for t in times)
    diverged = tuple(
        unit
        for unit, parameters in zip(units, last, strict=True)
        if not all(np.isfinite(value).all() for value in parameters.values())
    )
    for unit in diverged:
        rate = unit.learning_rate or settings.learning_rate
        warnings.warn(f"diverged with learning_rate={rate!r}: {unit}", RuntimeWarning, stacklevel=2)
    return Pretrained(units, settings, last, history, diverged, place.type, time.perf_counter() - start)


def _usable(device: torch.device | str) -> torch.device:
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError):
        raise ValueError(f"device={device!r}: must be a device that PyTorch can use here") from None


def _check_seeds(units: Sequence[UnitConfig]) -> None:
    first: dict[int, int] = {}
    for index, unit in enumerate(units):
        if first.setdefault(unit.seed, index) != index:
            raise ValueError(
                f"units {first[unit.seed]} and {index} both have seed={unit.seed}: give each its own, or "
                "let them see the same covariates with shared_tokens=True"
            )


def _collect(
    units: Sequence[UnitConfig], stacks: Sequence[UnitStack], thetas: Sequence[torch.Tensor]
) -> tuple[Parameters, ...]:
    """Return the packed parameters of all stacks as one dictionary a unit, in the units' order."""
    out: dict[int, Parameters] = {}
    for stack, theta in zip(stacks, thetas, strict=True):
        packed = theta.double().cpu().numpy()
        for s, row in enumerate(stack.indices):
            out |= {index: stack.layout.unpack(packed[s, k]) for k, index in enumerate(row)}
    return tuple(out[index] for index in range(len(units)))
