"""Risks by sampling contexts, to check the exact risk and to compare with it.

Each estimate draws ``contexts`` contexts, 2 to 10^8, fixed in advance, from streams of ``seed``, which is
zero where it is not an argument; n is at most 10^7. ValueError for an argument out of range, or where one
context does not fit into memory.

PyTorch takes long to import and only sampling needs it: it is imported inside the functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from icl.checks import affordable, integer, real
from icl.covariates import uniform_sphere
from icl.streams import stream
from icl.tasks import QuadraticRisk, Zonal, check_task
from icl.tasks.base import DRAWN_CONTEXT_RANGE, NOISE_RANGE, WINDOW_RANGE, Array, draw_function

if TYPE_CHECKING:
    import torch


#: One context may take this many numbers in memory.
_MAX_NUMBERS = 1e8

#: An interval extends this many standard errors to each side.
_HALF_WIDTH = float(-ndtri(1e-5 / 2))


@dataclass(frozen=True)
class MonteCarlo:
    """A sampled risk.

    Attributes:
        mean: The average of the squared error over independent contexts.
        standard_error: The standard error of this average.
        contexts: Number of contexts that were drawn.
    """

    mean: float
    standard_error: float
    contexts: int

    @property
    def interval(self) -> tuple[float, float]:
        """Normal interval, which misses the risk with probability 1e-5."""
        half = _HALF_WIDTH * self.standard_error
        return self.mean - half, self.mean + half


def monte_carlo_risk(
    task: Zonal,
    w: float,
    n: int,
    noise_std: float,
    contexts: int = 100_000,
    seed: int = 0,
) -> MonteCarlo:
    """Estimate the population risk of ``M = w I`` by sampling contexts.

    Time grows with ``contexts n d``. `icl.tasks.QuadraticRisk` has the mean over functions and
    noise in closed form, given the tokens.
    """
    from icl.attention import softmax_weights
    from icl.pytorch import torch

    n, noise_std = _check_arguments(task, n, noise_std)
    w = real(w, "w", *WINDOW_RANGE)

    def losses(tokens: torch.Tensor, step: int) -> torch.Tensor:
        context, query = tokens[:, :-1], tokens[:, -1]
        weights = softmax_weights(context, query, w * torch.eye(task.dim, dtype=tokens.dtype))
        draw = stream(seed, "monte carlo tasks", step)
        values = draw_function(task, draw, len(tokens))(tokens)
        rng = stream(seed, "monte carlo noise", step)
        labels = values[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal(weights.shape))
        return ((weights * labels).sum(-1) - values[:, -1]) ** 2

    return _average(losses, task.dim, n, contexts, seed, task.dim)


def bayes_linear_risk(task: Zonal, n: int, noise_std: float, contexts: int = 10_000) -> MonteCarlo:
    """Estimate the smallest risk of all predictors linear in the labels: kriging with the class covariance.

    Given the tokens, the best linear prediction from labels y is ``k_q' (K + sigma^2 I)^-1 y`` and its risk
    ``E f(x)^2 - k_q' (K + sigma^2 I)^-1 k_q`` with ``K_ij = E f(x_i) f(x_j)``, the uncentered second moment,
    and ``k_q,i = E f(x_i) f(x_q)``; only the tokens are sampled, and without noise the pseudo-inverse is
    used. Softmax attention is linear in the labels, so its risk is at least this for every window. Time grows
    with ``contexts n^3``.
    """
    n, noise_std = _check_arguments(task, n, noise_std)

    def losses(tokens: torch.Tensor, _: int) -> torch.Tensor:
        form = QuadraticRisk.of(task, tokens, noise_std)
        return form.risk(form.kriging())

    return _average(losses, task.dim, n, contexts, 0, n)


def _check_arguments(task: Zonal, n: int, noise_std: float) -> tuple[int, float]:
    check_task(task)
    return integer(n, "n", *DRAWN_CONTEXT_RANGE), real(noise_std, "noise_std", *NOISE_RANGE)


def _average(
    losses: Callable[[torch.Tensor, int], torch.Tensor],
    dim: int,
    n: int,
    contexts: int,
    seed: int,
    width: int,
) -> MonteCarlo:
    """Return the mean of ``losses(tokens, step)`` over fresh contexts, in pieces that fit into memory.

    What ``losses`` computes takes ``n * width`` numbers for a context: coordinates of tokens, or an n x n
    matrix. Step k draws from the streams of that step.
    """
    contexts = integer(contexts, "contexts", 2, 10**8)
    affordable(n * max(dim, width), _MAX_NUMBERS, "n", n, "numbers for one context")
    # for a chunk `losses` takes at most two million numbers, unless one context needs more
    chunk, pieces = max(1, min(contexts, 2_000_000 // (n * width))), list[Array]()
    for step, start in enumerate(range(0, contexts, chunk)):
        rng = stream(seed, "monte carlo", step)
        tokens = uniform_sphere(rng, min(chunk, contexts - start), n + 1, dim)
        pieces.append(losses(tokens, step).numpy())
    values = np.concatenate(pieces)
    # the squares of large losses would overflow without this scale, a power of two above all losses
    scale = math.ldexp(1.0, math.frexp(values.max())[1])
    error = scale * float((values / scale).std(ddof=1)) / math.sqrt(contexts)
    return MonteCarlo(float(values.mean()), error, contexts)
