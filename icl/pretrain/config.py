"""What a pretraining run is made of: one `UnitConfig` for each attention unit, and the common `Settings`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl.checks import integer
from icl.covariates import Sphere
from icl.pretrain.model import Shape, check_unit
from icl.streams import stream
from icl.tasks import Task, Zonal


@dataclass(frozen=True)
class UnitConfig:
    """One unit to train.

    Attributes:
        task: Class the pretraining functions are drawn from: of `icl.tasks`, `icl.tasks`, or your own.
        noise_std: Standard deviation sigma of the label noise (Gaussian; no source prints its law).
        context_length: n, tokens in a context.
        seed: Seed of all its streams.
        covariates: Law of the covariates (`icl.covariates`); None is the unit sphere.
        learning_rate: Its own initial step size; None is that of the sweep.
        activation: Key of `icl.attention.ACTIVATIONS`.
        width: None trains the reduced ``M``; an integer the full unit, ``W_K`` and ``W_Q`` with that many
            rows and the last row of ``W_V``, the only one that reaches the prediction.
        initial_std: Standard deviation of the independent normal initial parameters; 0 starts at zero.
    """

    task: Task
    noise_std: float
    context_length: int
    seed: int
    covariates: object = None
    learning_rate: float | None = None
    activation: str = "softmax"
    width: int | None = None
    initial_std: float = 0.0

    def __post_init__(self):
        integer(self.context_length, "context_length", 1)
        integer(self.seed, "seed", 0)
        if not (np.isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"noise_std={self.noise_std!r}: must be a finite number >= 0")
        if not (hasattr(self.task, "sample") and hasattr(self.task, "dim")):
            raise ValueError(f"task={self.task!r}: must have dim and sample(rng, count)")
        if self.covariate_law.dim != self.task.dim:
            raise ValueError(
                f"covariates={self.covariates!r}: must have the dimension of the task, {self.task.dim}"
            )
        if self.learning_rate is not None and not (
            np.isfinite(self.learning_rate) and self.learning_rate > 0
        ):
            raise ValueError(f"learning_rate={self.learning_rate!r}: must be a finite number > 0")
        check_unit(self.activation, self.width, self.initial_std)

    @property
    def covariate_law(self):
        """The law of its tokens."""
        return Sphere(self.task.dim) if self.covariates is None else self.covariates

    @property
    def shape(self) -> Shape:
        """Its parameters."""
        return Shape(self.task.dim, self.width)

    def initial(self) -> np.ndarray:
        """Its packed parameters before the first step, a pure function of the seed."""
        return self.initial_std * stream(self.seed, "initialization").standard_normal(self.shape.size)


def check_integrable(units: Sequence[UnitConfig]) -> None:
    """Refuse units whose labels cannot be integrated out.

    Args:
        units: Members.

    Raises:
        ValueError: If one has a class without covariance, tokens off the sphere, or a full unit.
    """
    for member in units:
        if (
            not isinstance(member.task, Zonal)
            or not isinstance(member.covariate_law, Sphere)
            or member.width is not None
        ):
            raise ValueError(
                f"integrate_labels=True: needs a rotation-invariant class, tokens on the unit sphere "
                f"and a reduced unit, not {member}"
            )


_CHOICES = {
    "optimizer": ("adam", "sgd"),
    "schedule": ("linear", "constant"),
    "stream": ("portable", "native"),
    "dtype": ("float64", "float32"),
}


@dataclass(frozen=True)
class Settings:
    """What the units of a sweep have in common.

    Attributes:
        steps: Optimizer steps, >= 1.
        batch_size: B, fresh contexts a step.
        learning_rate: Initial step size of units that have none of their own.
        optimizer: "adam" (0.9, 0.999, 1e-8) or "sgd", the plain gradient step.
        schedule: "linear" lets the step size fall to zero, ``rate (1 - step / steps)``; "constant" keeps it.
        shared_tokens: Whether units with the same seed, context length and token law see the same
            tokens, noise and, class by class, functions.
        stream: "portable" or "native", see `icl.covariates`.
        dtype: "float64" or "float32", of everything that is computed.
        integrate_labels: Rao-Blackwell: train on the loss averaged over functions and noise, given tokens.
        record: Numbers of steps after which the parameters are kept; 0 is the start.
    """

    steps: int = 2000
    batch_size: int = 256
    learning_rate: float = 0.05
    optimizer: str = "adam"
    schedule: str = "linear"
    shared_tokens: bool = False
    stream: str = "portable"
    dtype: str = "float64"
    integrate_labels: bool = False
    record: tuple[int, ...] = ()

    def __post_init__(self):
        integer(self.steps, "steps", 1), integer(self.batch_size, "batch_size", 1)
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate={self.learning_rate!r}: must be a finite number > 0")
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}: allowed are {', '.join(allowed)}")
        object.__setattr__(self, "record", tuple(integer(step, "record", 0) for step in self.record))
        if list(self.record) != sorted(set(self.record)) or self.record[-1:] > (self.steps,):
            raise ValueError(f"record={self.record!r}: must be increasing and at most steps={self.steps}")

    def rate(self, step: int) -> float:
        """The step size of ``step`` as a share of the initial one."""
        return 1 - step / self.steps if self.schedule == "linear" else 1.0

    @property
    def elapsed(self) -> np.ndarray:
        """Sum of the shares before each recorded step: times the learning rate, the time of gradient flow."""
        sums = np.cumsum([0.0, *map(self.rate, range(self.steps))])
        return sums[list(self.record)]
