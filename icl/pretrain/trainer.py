"""Pretraining attention units: a whole sweep in one call, each unit exactly as if it were alone.

Every step trains a unit (`icl.pretrain.model`) on fresh contexts (`icl.pretrain.batches`). The loss is the
paper's empirical loss, which compares the prediction with the noisy label of the query.

Many units are trained in stacks (`icl.pretrain.sweep`), but no unit changes the result of another. The
options ``stream="native", dtype="float32"`` are the fastest.

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

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from icl import checks
from icl.checks import affordable, flag, integer, sequence, shown
from icl.pretrain.config import CovariateLaw, Options, Settings, UnitConfig
from icl.pretrain.result import Pretrained
from icl.pretrain.sweep import Sweep
from icl.pytorch import torch
from icl.tasks import Task


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
    record: Sequence[int] = (),
    progress: bool = False,
) -> Pretrained:
    """Train every unit.

    A unit without ``width`` is *reduced*. Compiled code trains reduced softmax units on a CPU (numba), and
    all reduced units on a GPU (``torch.compile``).

    Args:
        units: Units to train, all of one dimension; everything else may differ. Without
            ``shared_tokens=True`` no two units may have the same seed.
        steps: Number of optimizer steps, 1 to 10^9.
        batch_size: B, the number of fresh contexts in each step, at most 10^7. Time grows with
            ``steps B n d``, where n is the context length and d the dimension of a unit.
        learning_rate: Initial step size of the units whose own ``learning_rate`` is None.
        device: Where to compute.
        optimizer: "adam", with the constants 0.9, 0.999 and 1e-8, or "sgd", the plain gradient step.
        schedule: "linear" lets the step size fall to zero, as ``learning_rate (1 - step / steps)``.
            "constant" keeps the initial step size.
        shared_tokens: Whether units with the same seed, context length and law of the covariates see the
            same covariates and noise, and if they have the same class, too, the same functions.
        stream: "portable", the same random numbers on every device, or "native", see `icl.streams`.
        dtype: "float64" or "float32", the type of all numbers.
        record: Increasing step counts. The result keeps the parameters after so many steps; 0 is the start.
        progress: Whether to show a progress bar of the steps, on standard error.

    Returns:
        The trained units. Warnings name units that diverged, and say if numba or triton, which compiled code
        needs, is missing.

    Raises:
        ValueError: If there are no units, their dimensions differ, two units have the same seed without
            ``shared_tokens=True``, an argument is out of range, or ``B n d`` of a unit exceeds 10^10.
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
        record=record,
    )
    units = _check_units(units, settings)
    progress = flag(progress, "progress")
    place = checks.device(device, "device")
    sweep = Sweep(units, settings, place)
    if progress:
        from tqdm import tqdm

        with tqdm(total=settings.steps, unit="step") as bar:
            sweep.train(bar.update)
    else:
        sweep.train()
    # the other entries are the moments of Adam
    parameters = sweep.by_unit(sweep.state[0])
    diverged = tuple(
        unit
        for unit, own in zip(units, parameters, strict=True)
        if not all(np.isfinite(value).all() for value in own.values())
    )
    for unit in diverged:
        rate = unit.learning_rate or settings.learning_rate
        text = f"diverged with learning_rate={rate!r}: {unit}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return Pretrained(
        units=units,
        settings=settings,
        shape=(len(units),),
        parameters=parameters,
        history=tuple(map(sweep.by_unit, sweep.history)),
        diverged=diverged,
        engines=tuple("compiled" if loops else "eager" for loops in sweep.compiled),
        device=place.type,
    )


def _check_units(units: Any, settings: Settings) -> tuple[UnitConfig, ...]:
    """Return the units as a tuple; ValueError if they cannot be trained together."""
    if isinstance(units, str | bytes) or not isinstance(units, Sequence):
        raise ValueError(f"units={shown(units)}: must be a sequence of UnitConfig")
    for unit in units:
        if not isinstance(unit, UnitConfig):
            raise ValueError(f"units has {shown(unit)}: must be a UnitConfig")
    dims = {unit.task.dim for unit in units}
    if len(dims) != 1:
        raise ValueError(
            f"units have dimensions {sorted(dims) or 'none'}: exactly one dimension is allowed"
        )
    sizes = [settings.batch_size * unit.context_length * unit.task.dim for unit in units]
    size = settings.batch_size
    affordable(max(sizes), 1e10, "batch_size", size, "numbers a batch of a unit")
    if not settings.shared_tokens:
        # this maps each seed to its first unit
        first_of_seed: dict[int, int] = {}
        for index, unit in enumerate(units):
            if (other := first_of_seed.setdefault(unit.seed, index)) != index:
                raise ValueError(
                    f"units {other} and {index} both have seed={unit.seed}: give each its own, "
                    "or let them see the same: shared_tokens=True"
                )
    return tuple(units)


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
    **options: Unpack[Options],
) -> Pretrained:
    """Train every setting with the seeds 0, ..., seeds - 1: the result has the shape (settings, seeds).

    A *setting* is all that describes a unit except its seed. ``learning_rate`` and the arguments of
    `UnitConfig` may be lists with one entry for each setting.

    All other arguments, and ``options``, are those of `pretrain`. Three defaults are different:
    ``stream="native"``, ``dtype="float32"`` and ``shared_tokens=True``. ``shared_tokens=False`` is possible
    with a single setting only.

    Raises:
        ValueError: If lists have different lengths or are empty, and for what `UnitConfig` and `pretrain`
            refuse.
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
    shared_rate: Any = learning_rate
    if sequence(learning_rate) is not None:
        given["learning_rate"] = learning_rate
        # every unit has its own rate, and this one is not used
        shared_rate = 0.05
    lists = {name: sequence(value) for name, value in given.items()}
    lengths = {name: len(value) for name, value in lists.items() if value is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"lists have different lengths: {lengths}; must be equal")
    if 0 in lengths.values():
        raise ValueError(f"{next(iter(lengths))}=[]: must not be empty")
    settings = next(iter(lengths.values()), 1)
    seeds = integer(seeds, "seeds", 1, 10**6)
    units = []
    for i in range(settings):
        # None says that all settings share an argument
        own = {name: given[name] if values is None else values[i] for name, values in lists.items()}
        units += [UnitConfig(**own, seed=seed) for seed in range(seeds)]
    fast: Options = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
    trained = pretrain(units, steps, batch_size, shared_rate, device, **fast | options)
    return replace(trained, shape=(settings, seeds))
