"""The batches that units are trained on: pure functions of (seed, step).

Units that share a *token set* are trained on the same covariates and noise and, class by class, the same
functions (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from icl.checks import affordable, integer
from icl.layout import planes
from icl.pretrain.config import CovariateLaw, Settings, UnitConfig
from icl.streams import NativeStream, stream
from icl.tasks import Task, Zonal
from icl.tasks.base import Rng, is_ours, key_of, sample_values

#: Native random numbers are drawn for several steps at once: at most so many steps, and so many numbers. On a
#: GPU a call costs more than the numbers it draws.
_BLOCKS = {"cpu": (16, 2**19), "cuda": (256, 2**22)}


def draw_contexts(
    task: Task,
    *,
    noise_std: float,
    n: int,
    batch_size: int,
    seed: int = 0,
    step: int = 0,
    covariates: CovariateLaw | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw the contexts that `pretrain` trains a unit on at one step, in float64 on the CPU.

    Every context has a function of its own, drawn from the class, and n labeled tokens; the last token is
    the query. All labels have noise, the query's too: that is the label which training compares with the
    prediction.

    Args:
        task: Class the functions are drawn from: of `icl.tasks`, or your own.
        noise_std: Standard deviation of the Gaussian label noise.
        n: Number of labeled tokens in a context.
        batch_size: Number of contexts, with at most 10^9 coordinates together.
        seed: Root seed of the streams. Equal seeds and steps give equal contexts.
        step: Training step that the contexts belong to, from 0 on.
        covariates: Distribution of the tokens (`icl.covariates`); None is the unit sphere.

    Returns:
        Tokens (batch_size, n + 1, dim) and labels (batch_size, n + 1).

    Raises:
        ValueError: If an argument is out of range.

    >>> from icl.tasks import ReLU
    >>> tokens, labels = draw_contexts(ReLU(3), noise_std=0.1, n=8, batch_size=16, seed=0, step=0)
    >>> tokens.shape, labels.shape
    (torch.Size([16, 9, 3]), torch.Size([16, 9]))
    """
    n = integer(n, "n", 1, 10**7)
    unit = UnitConfig(task, noise_std, n, seed, covariates)
    batch_size = integer(batch_size, "batch_size", 1, 10**9)
    shape = (batch_size, n + 1, task.dim)
    affordable(math.prod(shape), 1e9, "batch_size", batch_size, "numbers")
    normal = torch.from_numpy(
        stream(unit.seed, "covariates", step).standard_normal(shape)
    )
    tokens = unit.covariate_law.from_normal(normal)
    values = sample_values(task, stream(unit.seed, "tasks", step), tokens)
    noise = torch.from_numpy(
        stream(unit.seed, "noise", step).standard_normal(shape[:2])
    )
    return tokens, values + unit.noise_std * noise


class BatchSampler:
    """The batches of S token sets with K units each, which share seed, context length and covariates.

    A sampler overwrites its batch when it draws again: new memory for every block costs a quarter of the
    training time of the compiled loops.
    """

    def __init__(
        self,
        sets: Sequence[Sequence[UnitConfig]],
        settings: Settings,
        device: torch.device,
    ):
        self.sets, first, B = sets, sets[0][0], settings.batch_size
        n, d = first.context_length, first.task.dim
        self._source: Callable[..., Rng] = stream
        self._steps, self._block = 1, -1  # steps in a block, and which one it is
        if settings.stream == "native":
            most, numbers = _BLOCKS.get(device.type, _BLOCKS["cpu"])
            self._source = partial(NativeStream, device=device)
            self._steps = max(1, min(most, numbers // (B * (n + 1) * d)))
        count, options = (
            self._steps * B,
            {"dtype": getattr(torch, settings.dtype), "device": device},
        )
        self._x = torch.empty((len(sets), 1, d, n + 1, count), **options)
        shape = (len(sets), len(sets[0]), n + 1, count)
        self._y = None if settings.integrate_labels else torch.empty(shape, **options)

    def batch(self, step: int) -> tuple[Tensor, Tensor | None]:
        """Return covariates (S, 1, d, n + 1, B), and labels (S, K, n + 1, B) or None."""
        block, place = divmod(step, self._steps)
        if block != self._block:
            self._draw(block)
            self._block = block
        B = self._x.shape[-1] // self._steps
        here = slice(place * B, (place + 1) * B)
        return self._x[..., here], None if self._y is None else self._y[..., here]

    def _draw(self, block: int) -> None:
        xs, ys, source = self._x, self._y, partial(self._source, step=block)
        for s, units in enumerate(self.sets):
            seed = units[0].seed
            normal = _normal(source(seed, "covariates"), xs[s, 0].shape, xs[s, 0])
            x = units[0].covariate_law.from_normal(normal)
            xs[s, 0] = planes(
                x
            )  # costs nothing where x has been drawn and normalized in place
            if ys is None:
                continue
            noise = _normal(source(seed, "noise"), ys[s, 0].shape).mT.to(xs)
            values: dict[Any, Tensor] = {}  # keyed on what determines them
            for k, unit in enumerate(units):
                task, scale = _unit_lipschitz(unit.task)
                key = key_of(task)
                if key not in values:
                    values[key] = sample_values(task, source(seed, "tasks"), x).mT.to(
                        xs
                    )
                torch.mul(noise, unit.noise_std, out=ys[s, k]).add_(
                    values[key], alpha=scale
                )


def _normal(source: Rng, shape: tuple[int, ...], out: Tensor | None = None) -> Tensor:
    """Return normal numbers with the axes of ``shape`` reversed; drawn into ``out`` if native and float32."""
    if isinstance(source, NativeStream):
        fits = out is not None and out.dtype == torch.float32
        return planes(source.standard_normal(shape, out if fits else None))
    return torch.as_tensor(source.standard_normal(shape[::-1]))


def _unit_lipschitz(task: Task) -> tuple[Task, float]:
    """Return the class with L = 1 and the factor L, for classes whose functions are proportional to L.

    Classes of one's own are left as they are: a copy would lose what is no field of theirs.
    """
    if isinstance(task, Zonal) and task.homogeneous and is_ours(task):
        one: dict[str, Any] = {"lipschitz": 1.0}
        return replace(task, **one), vars(task)["lipschitz"]
    return task, 1.0


def risk_gradient(
    sets: Sequence[Sequence[UnitConfig]], x: Tensor
) -> Callable[[Tensor], Tensor]:
    """Return ``omega -> K omega - k_q + sigma^2 omega``, half the gradient of the risk in the weights.

    It is that of `icl.tasks.QuadraticRisk`, for stacks of units and contexts next to each other. Classes
    without degrees above 1 (affine, linear) cost n d a context, the others n^2. Covariates x are
    (S, 1, d, n + 1, B) on the unit sphere, the weights omega (S, K, n, B).
    """
    classes = [[cast(Zonal, unit.task) for unit in units] for units in sets]

    def column(values: list[list[float]]) -> Tensor:
        return x.new_tensor(values)[..., None, None]

    context, query = x[..., :-1, :], x[..., -1:, :]
    variance = column([[unit.noise_std**2 for unit in units] for units in sets])
    tasks = {key_of(task): task for row in classes for task in row}
    if all(
        task.spectrum(2)[0][1] == 0 and task.spectrum(2)[1] == 0
        for task in tasks.values()
    ):
        slope = column(
            [[float(task.spectrum(1)[0][0]) for task in row] for row in classes]
        )
        level = column(
            [[float(task.covariance(np.array(0.0))) for task in row] for row in classes]
        )

        def linear(omega: Tensor) -> Tensor:
            miss = (context * omega.unsqueeze(2)).sum(
                -2, keepdim=True
            ) - query  # sum omega_i x_i - x_q
            total = omega.sum(-2, keepdim=True)
            return (
                slope * (context * miss).sum(2) + level * (total - 1) + variance * omega
            )

        return linear
    cosine = (
        torch.einsum("sdnb,sdmb->snmb", x[:, 0], x[:, 0])
        .clamp(-1, 1)
        .double()
        .cpu()
        .numpy()
    )
    scaled = [[_unit_lipschitz(task) for task in row] for row in classes]
    distinct = {key_of(task): cast(Zonal, task) for row in scaled for task, _ in row}
    k = {
        key: torch.as_tensor(np.asarray(task.covariance(cosine))).to(x)
        for key, task in distinct.items()
    }
    rows = [
        torch.stack([L**2 * k[key_of(task)][s] for task, L in row])
        for s, row in enumerate(scaled)
    ]
    gram = torch.stack(rows)  # (S, K, n + 1, n + 1, B)
    K, k_q = gram[:, :, :-1, :-1], gram[:, :, :-1, -1]
    return lambda omega: (K * omega.unsqueeze(2)).sum(3) - k_q + variance * omega
