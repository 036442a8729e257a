"""Risks estimated by sampling contexts: that of softmax attention, and the least one of linear predictors.

Each estimate draws a fixed number of contexts, 2 to 10^8, from the streams of a seed. The context length n is
at most 10^7. All functions raise ValueError if an argument is out of range, or if one context does not fit
into memory.

PyTorch is imported inside the functions, because it takes long to import.
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


#: One context may have this many numbers in memory.
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
        """Confidence interval, by the normal approximation, which misses the risk with probability 1e-5."""
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

    Each context has its own tokens, function and noise. Time grows with ``contexts n d``.

    Args:
        task: A rotation-invariant class from `icl.tasks`.
        w: Window parameter, >= 0.
        n: Context length, 1 to 10^7.
        noise_std: Standard deviation of the label noise, >= 0.
        contexts: Number of contexts.
        seed: Root seed of the streams.
    """
    from icl.attention import softmax_weights
    from icl.pytorch import torch

    n, noise_std = _check_arguments(task, n, noise_std)
    w = real(w, "w", *WINDOW_RANGE)

    def compute_losses(tokens: torch.Tensor, step: int) -> torch.Tensor:
        context, query = tokens[:, :-1], tokens[:, -1]
        weights = softmax_weights(context, query, w * torch.eye(task.dim, dtype=tokens.dtype))
        draw = stream(seed, "monte carlo tasks", step)
        values = draw_function(task, draw, len(tokens))(tokens)
        rng = stream(seed, "monte carlo noise", step)
        labels = values[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal(weights.shape))
        return ((weights * labels).sum(-1) - values[:, -1]) ** 2

    # each context needs its tokens, a matrix (n, d)
    return _average(compute_losses, task.dim, n, contexts, seed, task.dim)


def bayes_linear_risk(task: Zonal, n: int, noise_std: float, contexts: int = 10_000) -> MonteCarlo:
    """Estimate the least risk of all predictors that are linear in the labels.

    The predictor of least risk is kriging. Given the tokens, let ``K_ij = E f(x_i) f(x_j)`` and
    ``k_i = E f(x_i) f(x_q)`` be second moments. The mean of f is not subtracted. Kriging predicts
    ``k' (K + sigma^2 I)^-1 y`` from the labels y, and its risk is ``E f(x)^2 - k' (K + sigma^2 I)^-1 k``.
    Without noise the pseudo-inverse takes the place of the inverse.

    Only the tokens are sampled, from the seed zero. Softmax attention is linear in the labels, so that its
    risk is at least this one for every window. Time grows with ``contexts n^3``.
    """
    n, noise_std = _check_arguments(task, n, noise_std)

    def compute_risks(tokens: torch.Tensor, _: int) -> torch.Tensor:
        form = QuadraticRisk.of(task, tokens, noise_std)
        return form.risk(form.kriging())

    # each context needs a matrix (n, n)
    return _average(compute_risks, task.dim, n, contexts, 0, n)


def _check_arguments(task: Zonal, n: int, noise_std: float) -> tuple[int, float]:
    """Return the context length and the noise level, or raise."""
    check_task(task)
    return integer(n, "n", *DRAWN_CONTEXT_RANGE), real(noise_std, "noise_std", *NOISE_RANGE)


def _average(
    compute_losses: Callable[[torch.Tensor, int], torch.Tensor],
    dim: int,
    n: int,
    contexts: int,
    seed: int,
    width: int,
) -> MonteCarlo:
    """Return the mean of the losses of many contexts, which are drawn in pieces that fit into memory.

    ``compute_losses(tokens, step)`` returns one loss for each context of the piece number ``step``, and needs
    ``n * width`` numbers in memory for each context.
    """
    contexts = integer(contexts, "contexts", 2, 10**8)
    affordable(n * max(dim, width), _MAX_NUMBERS, "n", n, "numbers for one context")
    # the losses of a piece need at most two million numbers, unless a single context needs more
    chunk = max(1, min(contexts, 2_000_000 // (n * width)))
    pieces: list[Array] = []
    for step, start in enumerate(range(0, contexts, chunk)):
        rng = stream(seed, "monte carlo", step)
        tokens = uniform_sphere(rng, min(chunk, contexts - start), n + 1, dim)
        pieces.append(compute_losses(tokens, step).numpy())
    values = np.concatenate(pieces)
    # the scale is a power of two above all losses; without it the squares of large losses would overflow
    scale = math.ldexp(1.0, math.frexp(values.max())[1])
    error = scale * float((values / scale).std(ddof=1)) / math.sqrt(contexts)
    return MonteCarlo(float(values.mean()), error, contexts)
