"""The contexts that units are trained on: who sees which numbers at which step.

A *token set* is one stream of tokens; the units that share it are trained on the same tokens,
noise and, class by class, the same functions (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from icl.layout import planes
from icl.pretrain.config import UnitConfig
from icl.streams import NativeStream, stream
from icl.tasks import Affine, Network, Quadratic, ReLU, Task

#: Native random numbers are drawn for up to `_BLOCK` steps at once, of up to `_NUMBERS` numbers.
_BLOCK, _NUMBERS = 16, 2**19


class Contexts:
    """The batches of S token sets with K units each.

    Args:
        sets: S lists of K units; those of one list share seed, context length and token law.
        batch_size: B, contexts a step.
        kind: "portable" or "native", see `icl.covariates`.
        device: Where to compute.
        dtype: Of the result.
        labels: Whether labels are wanted.
    """

    def __init__(
        self,
        sets: Sequence[Sequence[UnitConfig]],
        batch_size: int,
        kind: str,
        device: torch.device,
        dtype: torch.dtype,
        labels: bool = True,
    ):
        self.sets, self.batch_size, self.kind, self.labels = sets, batch_size, kind, labels
        self.device, self.dtype = device, dtype
        first = sets[0][0]
        size = batch_size * (first.context_length + 1) * first.task.dim
        self._steps = max(1, min(_BLOCK, _NUMBERS // size))  # in a block; a step is a slice of it
        self._block, self._drawn, self._buffers = -1, None, None

    def at(self, step: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Tokens (S, 1, d, n + 1, B) and labels (S, K, n + 1, B) or None; good until the next call."""
        if self.kind == "portable":
            return self._draw(step, self.batch_size, stream)
        block, place = divmod(step, self._steps)
        if block != self._block:
            self._drawn = self._draw(block, self._steps * self.batch_size, self._native)
            self._block = block
        here = slice(place * self.batch_size, (place + 1) * self.batch_size)
        x, y = self._drawn
        return x[..., here], None if y is None else y[..., here]

    def _native(self, seed, name, step):
        return NativeStream(seed, name, step, self.device)

    def _draw(self, step, count, source):
        first = self.sets[0][0]
        n, d, rows = first.context_length, first.task.dim, len(self.sets)
        if self._buffers is None:  # kept: memory that is new each time costs more than what is computed in it
            self._buffers = [
                torch.empty(size, dtype=self.dtype, device=self.device)
                for size in ((rows, 1, d, n + 1, count), (rows, len(self.sets[0]), n + 1, count))
            ]
        xs, ys = self._buffers
        for s, units in enumerate(self.sets):
            seed, law = units[0].seed, units[0].covariate_law
            x = law.from_normal(_normal(source(seed, "covariates", step), xs[s, 0]))
            xs[s, 0] = planes(x)  # costs nothing where x has been drawn and turned into tokens in place
            if not self.labels:
                continue
            noise, values = _normal(source(seed, "noise", step), torch.empty_like(ys[s, 0])).mT.to(xs), {}
            for k, member in enumerate(units):
                task, scale = _base(member.task)
                if task not in values:
                    values[task] = task.sample(source(seed, "tasks", step), count)(x).mT.to(xs)
                torch.mul(noise, member.noise_std, out=ys[s, k]).add_(values[task], alpha=scale)
        return xs, ys if self.labels else None


def _normal(source, out: torch.Tensor) -> torch.Tensor:
    """Normal numbers with the axes of ``out`` reversed; native ones are drawn into it, if it is float32."""
    if isinstance(source, NativeStream):
        return planes(source.standard_normal(out.shape, out if out.dtype == torch.float32 else None))
    return torch.as_tensor(source.standard_normal(out.shape[::-1]))


def _base(task: Task) -> tuple[Task, float]:
    """The class with L = 1 and the factor L, for classes whose functions are proportional to L."""
    if type(task) in (Affine, ReLU, Quadratic, Network):
        return replace(task, lipschitz=1.0), task.lipschitz
    return task, 1.0


def kernel(sets: Sequence[Sequence[UnitConfig]], x: torch.Tensor):
    """Labels integrated out: ``omega -> K omega - k_q + sigma^2 omega`` for every unit.

    K is the covariance of the class at the context's tokens, ``k_q`` at a token and the query. Classes
    without degrees above 1 (affine, linear) cost n d a context, the others n^2.

    Args:
        sets: As in `Contexts`, on the unit sphere and with rotation-invariant classes.
        x: Tokens, (S, 1, d, n + 1, B).

    Returns:
        The function, on weights (S, K, n, B).
    """
    context, query = x[..., :-1, :], x[..., -1:, :]
    options = {"dtype": x.dtype, "device": x.device}
    column = (len(sets), -1, 1, 1)
    variance = torch.tensor([[m.noise_std**2 for m in row] for row in sets], **options).reshape(column)
    tasks = {m.task for row in sets for m in row}
    if all(task.spectrum(2)[0][1] == 0 and task.spectrum(2)[1] == 0 for task in tasks):
        slope = torch.tensor([[m.task.spectrum(1)[0][0] for m in row] for row in sets], **options).reshape(
            column
        )
        level = torch.tensor(
            [[float(m.task.covariance(np.array(0.0))) for m in row] for row in sets], **options
        ).reshape(column)

        def linear(omega):
            miss = (context * omega.unsqueeze(2)).sum(-2, keepdim=True) - query  # sum omega_i x_i - x_q
            return (
                slope * (context * miss).sum(2) + level * (omega.sum(-2, keepdim=True) - 1) + variance * omega
            )

        return linear
    cosine = torch.einsum("sdnb,sdmb->snmb", x[:, 0], x[:, 0]).clamp(-1, 1).double().cpu().numpy()
    values = {
        task: torch.as_tensor(np.asarray(task.covariance(cosine))).to(x)
        for task in {_base(task)[0] for task in tasks}
    }
    k = torch.stack(
        [
            torch.stack([_base(m.task)[1] ** 2 * values[_base(m.task)[0]][s] for m in row])
            for s, row in enumerate(sets)
        ]
    )  # (S, K, n + 1, n + 1, B)
    among, near = k[:, :, :-1, :-1], k[:, :, :-1, -1]
    return lambda omega: (among * omega.unsqueeze(2)).sum(3) - near + variance * omega
