"""The configuration of one attention unit, and the settings that the units of a sweep share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from icl.attention import ACTIVATIONS
from icl.checks import choice, flag, integer, real, sequence, shown
from icl.covariates import Sphere
from icl.pretrain.model import Array, ParameterLayout
from icl.streams import stream
from icl.tasks import Task
from icl.tasks.base import MOST


class CovariateLaw(Protocol):
    """A distribution of covariates, see `icl.covariates`."""

    @property
    def dim(self) -> int:
        """Dimension d."""

    def from_normal(self, normal: torch.Tensor) -> torch.Tensor:
        """Return covariates from standard normal numbers (..., d)."""


@dataclass(frozen=True)
class UnitConfig:
    """One unit to train.

    Attributes:
        task: Class the pretraining functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation sigma of the label noise (Gaussian; no source prints its law).
        context_length: n, tokens in a context, at most 10^7.
        seed: Seed of all its streams, below 2^64.
        covariates: Distribution of the covariates (`icl.covariates`); None is the unit sphere.
        learning_rate: Its own initial step size; None is that of the sweep.
        activation: Key of `icl.attention.ACTIVATIONS`.
        width: None trains the reduced ``M``; an integer the full unit, ``W_K`` and ``W_Q`` with that many
            rows and the last row of ``W_V``, the only one that reaches the prediction.
        initial_std: Standard deviation of the independent normal initial parameters; 0 starts at zero.

    Raises:
        ValueError: If a value is out of range, or the unit would get no gradient at its start.
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
        more = (
            "; for one of your own add (phi, derivative, normalized) to icl.attention.ACTIVATIONS"
        )
        choice(self.activation, "activation", ACTIVATIONS, more)
        # plain numbers, so that equal units have equal text
        numbers: dict[str, Any] = {
            "noise_std": real(self.noise_std, "noise_std", 0, MOST),
            "context_length": integer(self.context_length, "context_length", 1, 10**7),
            "seed": integer(self.seed, "seed", 0, 2**64 - 1),
            "initial_std": real(self.initial_std, "initial_std", 0, MOST),
        }
        if self.learning_rate is not None:
            numbers["learning_rate"] = real(self.learning_rate, "learning_rate", 0, above=True)
        if self.width is not None:
            numbers["width"] = integer(self.width, "width", 1, 10**6)
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        if self.initial_std == 0 and (self.width is not None or "relu" in self.activation):
            raise ValueError(
                "initial_std=0: must be > 0 for full units and ReLU attention, which get no gradient at zero"
            )

    @property
    def covariate_law(self) -> CovariateLaw:
        """The distribution of its covariates."""
        return Sphere(self.task.dim) if self.covariates is None else self.covariates

    @property
    def layout(self) -> ParameterLayout:
        """The layout of its parameters."""
        return ParameterLayout(self.task.dim, self.width)

    def initial(self) -> Array:
        """Return its packed parameters before the first step, a pure function of the seed."""
        return self.initial_std * stream(self.seed, "initialization").standard_normal(
            self.layout.size
        )


_CHOICES = {
    "optimizer": ("adam", "sgd"),
    "schedule": ("linear", "constant"),
    "stream": ("portable", "native"),
    "dtype": ("float64", "float32"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that the units of a sweep share: arguments of `icl.pretrain.pretrain`, checked."""

    steps: int
    batch_size: int
    learning_rate: float
    optimizer: str
    schedule: str
    shared_tokens: bool
    stream: str
    dtype: str
    integrate_labels: bool
    record: Sequence[int]

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            choice(getattr(self, name), name, allowed)
        record = sequence(self.record)
        if record is None:
            raise ValueError(
                f"record={shown(self.record)}: must be a sequence of increasing integers"
            )
        numbers: dict[str, Any] = {
            "steps": integer(self.steps, "steps", 1, 10**9),
            "batch_size": integer(self.batch_size, "batch_size", 1, 10**7),
            "learning_rate": real(self.learning_rate, "learning_rate", 0, above=True),
            "record": tuple(integer(step, "record", 0) for step in record),
            "shared_tokens": flag(self.shared_tokens, "shared_tokens"),
            "integrate_labels": flag(self.integrate_labels, "integrate_labels"),
        }
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        increasing = list(self.record) == sorted(set(self.record))
        if not increasing or max(self.record, default=0) > self.steps:
            raise ValueError(
                f"record={shown(self.record)}: must be increasing and at most steps={self.steps}"
            )

    def rate(self, step: int) -> float:
        """Return the step size of ``step`` as a share of the initial one."""
        step = integer(step, "step", 0, self.steps)
        return 1 - step / self.steps if self.schedule == "linear" else 1.0
