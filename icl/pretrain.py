r"""Pretraining attention units: many at once, each exactly as if it were alone.

A unit is the reduced softmax unit of `icl.attention` with a full matrix ``M``, started at
zero and trained by Adam on fresh contexts; the loss is the paper's empirical one, with the
noisy query label (its minimizer is that of the population risk). Members with the same
seed, dimension and context length see the same tokens (common random numbers): the tokens
of step k are a pure function of (seed, k), so no member's numbers depend on its company.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from icl.tasks import Zonal
from icl.tokens import integer, stream, uniform_sphere


@dataclass(frozen=True)
class Member:
    """One unit to train.

    Attributes:
        task: Class that the pretraining functions are drawn from.
        noise_std: Standard deviation of the label noise.
        context_length: n, tokens in a context.
        seed: Seed of all its streams.
    """

    task: Zonal
    noise_std: float
    context_length: int
    seed: int

    def __post_init__(self):
        integer(self.context_length, "context_length", 1)
        integer(self.seed, "seed", 0)
        if not (np.isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"noise_std={self.noise_std!r}: must be a finite number >= 0")


@dataclass(frozen=True)
class Pretrained:
    """What came out.

    Attributes:
        members: The members, in the order given.
        M: Final matrices, (len(members), d, d), float64.
        steps: Adam steps.
        contexts: Contexts each member saw.
        device: Device type.
        seconds: Wall time.
    """

    members: tuple[Member, ...]
    M: np.ndarray
    steps: int
    contexts: int
    device: str
    seconds: float

    @property
    def windows(self) -> np.ndarray:
        """Mean of the diagonal of each ``M``: the w of the nearest ``w I``; shape (members,)."""
        return np.trace(self.M, axis1=1, axis2=2) / self.M.shape[1]

    @property
    def anisotropy(self) -> np.ndarray:
        """``|M - w I|_F / |M|_F``, how far each M is from a multiple of the identity."""
        rest = self.M - self.windows[:, None, None] * np.eye(self.M.shape[1])
        return np.linalg.norm(rest, axis=(1, 2)) / np.linalg.norm(self.M, axis=(1, 2))


def pretrain(members: Sequence[Member], steps: int = 2000, batch_size: int = 256, learning_rate: float = 0.05,
             device: torch.device | str = "cpu") -> Pretrained:
    """Train every member; the learning rate falls linearly to zero.

    Args:
        members: Units to train, all of one dimension.
        steps: Adam steps, >= 1.
        batch_size: Fresh contexts a step.
        learning_rate: Adam's initial step size, > 0.
        device: Where to compute; the random numbers are the same everywhere.

    Returns:
        The trained matrices.

    Raises:
        ValueError: If there are no members, their dimensions differ, a setting is out of
            range, or a member's M became infinite or NaN.
    """
    integer(steps, "steps", 1), integer(batch_size, "batch_size", 1)
    if not (np.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate={learning_rate!r}: must be a finite number > 0")
    dims = {m.task.dim for m in members}
    if len(dims) != 1:
        raise ValueError(f"members have dimensions {sorted(dims)}: exactly one dimension is allowed")
    (dim,) = dims
    start = time.perf_counter()
    groups = defaultdict(list)  # members that share tokens
    for index, member in enumerate(members):
        groups[member.seed, member.context_length].append(index)

    M = torch.zeros(len(members), dim, dim, dtype=torch.float64, device=device)
    gradient, mean, square = torch.empty_like(M), torch.zeros_like(M), torch.zeros_like(M)
    for step in range(steps):
        for (seed, n), indices in groups.items():
            x = uniform_sphere(stream(seed, "covariates", step), batch_size, n + 1, dim)
            noise = torch.from_numpy(stream(seed, "noise", step).standard_normal(x.shape[:2]))
            y = torch.stack([members[i].task.sample(stream(seed, "tasks", step), batch_size)(x)
                             + members[i].noise_std * noise for i in indices])
            gradient[indices] = loss_gradient(M[indices], x.to(device), y.to(device))
        # Adam is elementwise, so stacked members do not touch each other
        mean.lerp_(gradient, 0.1)
        square.lerp_(gradient**2, 0.001)
        rate = learning_rate * (1 - step / steps)
        M -= rate * (mean / (1 - 0.9 ** (step + 1))) / ((square / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)
    lost = [members[i] for i in torch.nonzero(~torch.isfinite(M).all(-1).all(-1)).ravel().tolist()]
    if lost:
        raise ValueError(
            f"learning_rate={learning_rate!r}: too large for {len(lost)} members, first {lost[0]}")
    return Pretrained(tuple(members), M.cpu().numpy(), steps, steps * batch_size, torch.device(device).type,
                      time.perf_counter() - start)


def loss_gradient(M: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    r"""Gradient of the mean squared error of K units on one batch of contexts.

    With prediction p and weights omega of a context,
    ``dL/dM = 2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``, averaged over the batch.

    Args:
        M: (K, d, d).
        x: Tokens shared by the units, (B, n + 1, d); the query is last.
        y: Labels, (K, B, n + 1).

    Returns:
        (K, d, d).
    """
    context, query = x[:, :-1], x[:, -1]
    keys = torch.einsum("kij,bj->bik", M, query)
    weights = torch.softmax(context @ keys, dim=1)  # (B, n, K)
    labels = y.permute(1, 2, 0)
    prediction = (weights * labels[:, :-1]).sum(1, keepdim=True)
    pull = weights * (labels[:, :-1] - prediction) * (prediction - labels[:, -1:])
    return 2 / len(x) * torch.einsum("bik,bj->kij", context.mT @ pull, query)
