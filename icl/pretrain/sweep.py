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

import numpy as np
import torch

from icl.pretrain.config import Settings, UnitConfig, check_integrable
from icl.pretrain.model import Shape, gradient
from icl.pretrain.trainer import resume, run, save, stack


@dataclass(frozen=True)
class Pretrained:
    """What came out, and what it was.

    Attributes:
        units: The units, in the order given.
        settings: What they have in common.
        parameters: For each member its trained parameters by name, float64: ``M``, or ``W_V`` (last row),
            ``W_K``, ``W_Q``.
        history: For each of ``settings.record``, all units' parameters at that time.
        diverged: Members whose parameters became infinite or NaN; the others are not affected.
        device: Device type.
        seconds: Wall time.
    """

    units: tuple[UnitConfig, ...]
    settings: Settings
    parameters: tuple[dict[str, np.ndarray], ...]
    history: tuple[tuple[dict[str, np.ndarray], ...], ...]
    diverged: tuple[UnitConfig, ...]
    device: str
    seconds: float

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self.settings.steps

    @property
    def contexts(self) -> int:
        """Contexts that each member saw."""
        return self.settings.steps * self.settings.batch_size

    @property
    def M(self) -> np.ndarray:
        """Key-query matrices, (units, d, d): ``M``, or the token block of ``W_K' W_Q``."""
        return _key_query(self.units, self.parameters)

    @property
    def M_history(self) -> np.ndarray:
        """The same at the recorded steps, (len(record), units, d, d)."""
        return np.stack([_key_query(self.units, parameters) for parameters in self.history])

    @property
    def windows(self) -> np.ndarray:
        """Mean of the diagonal of each ``M``: the w of the nearest ``w I``; shape (units,)."""
        return np.trace(self.M, axis1=1, axis2=2) / self.M.shape[1]

    @property
    def anisotropy(self) -> np.ndarray:
        """``|M - w I|_F / |M|_F``, how far each M is from a multiple of the identity."""
        rest = self.M - self.windows[:, None, None] * np.eye(self.M.shape[1])
        return np.linalg.norm(rest, axis=(1, 2)) / np.linalg.norm(self.M, axis=(1, 2))


def pretrain(
    units: Sequence[UnitConfig],
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float = 0.05,
    device: torch.device | str = "cpu",
    *,
    checkpoint: str | os.PathLike | None = None,
    progress: bool = False,
    **settings,
) -> Pretrained:
    """Train every member.

    Args:
        units: Units to train, all of one dimension; everything else may differ. Without
            ``shared_tokens=True`` no two may have the same seed.
        steps: Optimizer steps.
        batch_size: Fresh contexts a step.
        learning_rate: Initial step size.
        device: Where to compute. Portable streams give the same random numbers everywhere.
        checkpoint: A file (.npz) that keeps the state, written whole about every ten seconds and at the
            end. If it exists, training goes on from it, to the same numbers as without the interruption.
        progress: Whether to show a line with the steps done.
        **settings: The rest of `Settings`: optimizer, schedule, shared_tokens, stream, dtype,
            integrate_labels, record.

    Returns:
        The trained units. A warning names units that diverged.

    Raises:
        ValueError: If there are no units, their dimensions differ, two share a seed unasked, a setting
            is out of range, or the checkpoint belongs to other settings.
        KeyboardInterrupt: After the checkpoint, if there is one, is safe.
    """
    settings = Settings(steps, batch_size, learning_rate, **settings)
    units, device = tuple(units), torch.device(device)
    dims = {m.task.dim for m in units}
    if len(dims) != 1:
        raise ValueError(f"units have dimensions {sorted(dims)}: exactly one dimension is allowed")
    if settings.integrate_labels:
        check_integrable(units)
    if not settings.shared_tokens:
        first = {}
        for index, member in enumerate(units):
            if first.setdefault(member.seed, index) != index:
                raise ValueError(
                    f"units {first[member.seed]} and {index} both have seed={member.seed}: give each "
                    "its own, or let them see the same tokens with shared_tokens=True"
                )
    start = time.perf_counter()
    groups = stack(units, settings, device)

    def keep(step):
        save(checkpoint, groups, units, settings, step)

    run(groups, resume(checkpoint, groups, units, settings), settings, device, progress, keep)
    last = _collect(units, groups, lambda group: group.theta)
    history = tuple(
        _collect(units, groups, lambda group, t=t: group.seen[t]) for t in range(len(settings.record))
    )
    diverged = tuple(
        m
        for m, p in zip(units, last, strict=True)
        if not all(np.isfinite(value).all() for value in p.values())
    )
    for member in diverged:
        warnings.warn(
            f"diverged with learning_rate={member.learning_rate or learning_rate!r}: {member}",
            RuntimeWarning,
            stacklevel=2,
        )
    return Pretrained(units, settings, last, history, diverged, device.type, time.perf_counter() - start)


def _collect(units, groups, get) -> tuple[dict[str, np.ndarray], ...]:
    """Packed parameters of all groups as one dictionary a member, in the units' order."""
    out = [None] * len(units)
    for group in groups:
        theta = get(group).double().cpu().numpy()
        for s, row in enumerate(group.indices):
            for k, index in enumerate(row):
                out[index] = group.shape.unpack(theta[s, k])
    return tuple(out)


def _key_query(units, parameters) -> np.ndarray:
    d = units[0].task.dim
    return np.stack([p["M"] if "M" in p else (p["W_K"].T @ p["W_Q"])[:d, :d] for p in parameters])


def loss_gradient(M: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    r"""Gradient of the mean squared error of K reduced softmax units on one batch of contexts.

    With prediction p and weights omega of a context,
    ``dL/dM = 2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``, averaged over the batch.

    Args:
        M: (K, d, d).
        x: Tokens shared by the units, (B, n + 1, d); the query is last.
        y: Labels, (K, B, n + 1).

    Returns:
        (K, d, d).
    """
    shape = Shape(x.shape[-1], None)
    tokens = x.permute(2, 1, 0).contiguous()[None, None]
    return gradient(shape, M.flatten(1)[None], "softmax", tokens, y.mT.contiguous()[None])[0].unflatten(
        -1, M.shape[1:]
    )
