"""The configuration of one attention unit, and the settings that the units of a sweep share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypedDict

from icl.attention import ACTIVATIONS
from icl.checks import choice, flag, integer, real, sequence, shown
from icl.covariates import Sphere
from icl.pretrain.model import Array
from icl.pytorch import torch
from icl.streams import stream
from icl.tasks import Task
from icl.tasks.base import DRAWN_CONTEXT_RANGE, MAX_MAGNITUDE, NOISE_RANGE


class CovariateLaw(Protocol):
    """A distribution of covariates, see `icl.covariates`."""

    @property
    def dim(self) -> int:
        """Dimension d."""

    def from_normal(self, normal: torch.Tensor) -> torch.Tensor:
        """Return covariates from standard normal numbers (..., d)."""


class Options(TypedDict, total=False):
    """Keywords that `icl.pretrain.train_grid` passes on to `icl.pretrain.pretrain`."""

    optimizer: str
    schedule: str
    shared_tokens: bool
    stream: str
    dtype: str
    record: Sequence[int]
    progress: bool


#: Checks of a unit's numbers, which return numbers of Python, so that equal units have equal text.
UNIT_CHECKS: dict[str, Callable[..., Any]] = {
    "noise_std": partial(real, minimum=NOISE_RANGE[0], maximum=NOISE_RANGE[1]),
    "context_length": partial(
        integer, minimum=DRAWN_CONTEXT_RANGE[0], maximum=DRAWN_CONTEXT_RANGE[1]
    ),
    "seed": partial(integer, minimum=0, maximum=2**64 - 1),
    "learning_rate": partial(real, minimum=0, exclusive_min=True),
    "width": partial(integer, minimum=1, maximum=10**6),
    "initial_std": partial(real, minimum=0, maximum=MAX_MAGNITUDE),
}
SETTING_CHECKS: dict[str, Callable[..., Any]] = {
    "steps": partial(integer, minimum=1, maximum=10**9),
    "batch_size": partial(integer, minimum=1, maximum=10**7),
    "learning_rate": partial(real, minimum=0, exclusive_min=True),
    "optimizer": partial(choice, allowed=("adam", "sgd")),
    "schedule": partial(choice, allowed=("linear", "constant")),
    "stream": partial(choice, allowed=("portable", "native")),
    "dtype": partial(choice, allowed=("float64", "float32")),
    "shared_tokens": flag,
}


@dataclass(frozen=True)
class UnitConfig:
    """One unit to train.

    Attributes:
        task: Class the pretraining functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation sigma of the label noise (Gaussian: the papers leave its law open).
        context_length: The number n of labeled tokens in a context, at most 10^7.
        seed: Seed of all random streams of the unit, below 2^64.
        covariates: Distribution of the covariates (`icl.covariates`); None is the unit sphere.
        learning_rate: Initial step size of this unit; None for that of the sweep.
        activation: Key of `icl.attention.ACTIVATIONS`.
        width: None trains a reduced unit, whose parameters are ``M``. An integer trains a full unit: ``W_K``
            and ``W_Q`` have this number of rows, and of ``W_V`` only the last row, which reaches the
            prediction, is trained.
        initial_std: Standard deviation of the initial parameters, which are normal.

    Raises:
        ValueError: If a value is out of range, if task or covariates lack ``dim`` or a method, or if the
            unit would get no gradient at its start.
    """

    task: Task
    noise_std: float
    context_length: int
    seed: int
    covariates: CovariateLaw | None = None
    learning_rate: float | None = None
    activation: str = "softmax"
    width: int | None = None
    initial_std: float = 0.0

    def __post_init__(self) -> None:
        if not (hasattr(self.task, "sample") and hasattr(self.task, "dim")):
            raise ValueError(f"task={shown(self.task)}: must have dim and sample(rng, count)")
        law = self.covariate_law
        if not hasattr(law, "from_normal") or getattr(law, "dim", None) != self.task.dim:
            raise ValueError(
                f"covariates={shown(law)}: must have from_normal(normal), and the dimension {self.task.dim} "
                "of the task"
            )
        hint = "; to use a user-defined one, add (phi, derivative, normalized) to icl.attention.ACTIVATIONS"
        choice(self.activation, "activation", ACTIVATIONS, hint)
        for name, check in UNIT_CHECKS.items():
            value = getattr(self, name)
            # these two may be None
            if value is not None or name not in ("learning_rate", "width"):
                object.__setattr__(self, name, check(value, name))
        if self.initial_std == 0 and (self.width is not None or "relu" in self.activation):
            raise ValueError(
                "initial_std=0: must be > 0 for full units and ReLU attention, which get no gradient at zero"
            )

    @property
    def covariate_law(self) -> CovariateLaw:
        """The distribution of the covariates."""
        return Sphere(self.task.dim) if self.covariates is None else self.covariates

    def initial(self) -> Array:
        """Return the unit's parameters before the first step as one matrix, see `icl.pretrain.model`."""
        d = self.task.dim
        shape = (d, d) if self.width is None else (2 * self.width + 1, d + 1)
        return self.initial_std * stream(self.seed, "initialization").standard_normal(shape)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that the units of a sweep share: the arguments of `icl.pretrain.pretrain`, checked."""

    steps: int
    batch_size: int
    learning_rate: float
    optimizer: str
    schedule: str
    shared_tokens: bool
    stream: str
    dtype: str
    record: Sequence[int]

    def __post_init__(self) -> None:
        for name, check in SETTING_CHECKS.items():
            object.__setattr__(self, name, check(getattr(self, name), name))
        given = sequence(self.record)
        record = tuple(integer(step, "record", 0, self.steps) for step in given or ())
        if given is None or list(record) != sorted(set(record)):
            raise ValueError(
                f"record={shown(self.record)}: must be a sequence of increasing integers"
            )
        object.__setattr__(self, "record", record)
