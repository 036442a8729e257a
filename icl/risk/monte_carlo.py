"""Risks by sampling contexts: the usual way, kept as the check and the competitor of the exact one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from icl.attention import softmax_weights
from icl.checks import integer
from icl.covariates import uniform_sphere
from icl.statistics import Z
from icl.streams import stream
from icl.tasks import QuadraticRisk, Zonal, check_setting


@dataclass(frozen=True)
class MonteCarlo:
    """A sampled risk.

    Attributes:
        mean: Average over the contexts.
        standard_error: Its standard error.
        contexts: Number of independent contexts.
    """

    mean: float
    standard_error: float
    contexts: int

    @property
    def interval(self) -> tuple[float, float]:
        """Normal interval with false-alarm rate `icl.claims.FALSE_ALARM_RATE`."""
        half = Z * self.standard_error
        return self.mean - half, self.mean + half


def monte_carlo_risk(
    task: Zonal,
    w: float,
    n: int,
    noise_std: float,
    contexts: int = 100_000,
    seed: int = 0,
    integrate_labels: bool = False,
) -> MonteCarlo:
    """The population risk by sampling: what everybody does, and the check of the exact value.

    Args:
        task: A rotation-invariant class.
        w: Window parameter, >= 0.
        n: Context length.
        noise_std: Noise standard deviation.
        contexts: Number of sampled contexts, >= 2, fixed in advance.
        seed: Seed of the streams.
        integrate_labels: Rao-Blackwell: sample tokens only and take the mean over f and
            the noise in closed form (fewer contexts for the same error).

    Returns:
        Mean, standard error, interval.

    Raises:
        ValueError: If an argument is out of range.
    """
    check_setting(task, w, n, noise_std)

    def losses(tokens, step):
        context, query = tokens[:, :-1], tokens[:, -1]
        weights = softmax_weights(context, query, w * torch.eye(task.dim, dtype=tokens.dtype))
        if integrate_labels:
            near = _variogram(task, context, query[:, None]).squeeze(-1)
            among = _variogram(task, context, context)
            return (
                2 * (weights * near).sum(-1)
                - torch.einsum("bi,bij,bj->b", weights, among, weights)
                + noise_std**2 * (weights**2).sum(-1)
            )
        values = task.sample(stream(seed, "tasks", step), len(tokens))(tokens)
        noise = noise_std * torch.from_numpy(stream(seed, "noise", step).standard_normal(weights.shape))
        return ((weights * (values[:, :-1] + noise)).sum(-1) - values[:, -1]) ** 2

    return _average(losses, task.dim, n, contexts, seed, n if integrate_labels else task.dim)


def bayes_linear_risk(
    task: Zonal, n: int, noise_std: float, contexts: int = 10_000, seed: int = 0
) -> MonteCarlo:
    """The floor for every predictor that is linear in the labels: kriging with the class covariance.

    Given the tokens, the best linear prediction is ``k_q' (K + sigma^2 I)^-1 y`` and its risk
    ``k(1) - k_q' (K + sigma^2 I)^-1 k_q`` with ``K_ij = k(x_i . x_j)``, the uncentered second
    moment; only the tokens are sampled. Softmax attention is linear in the labels, so no
    window does better.

    Args:
        task: A rotation-invariant class.
        n: Context length.
        noise_std: Noise standard deviation; 0 uses the pseudo-inverse.
        contexts: Number of sampled contexts, >= 2.
        seed: Seed of the streams.

    Returns:
        Mean, standard error, interval.

    Raises:
        ValueError: If an argument is out of range.
    """
    check_setting(task, 0.0, n, noise_std)

    def losses(tokens, step):
        form = QuadraticRisk.of(task, tokens, noise_std)
        return form.risk(form.kriging())

    return _average(losses, task.dim, n, contexts, seed, n)


def ridge_risk(
    task: Zonal, n: int, noise_std: float, penalty: float, contexts: int = 10_000, seed: int = 0
) -> MonteCarlo:
    """Risk of ridge regression in the context: ``min |y - X b - c|^2 + penalty |b|^2``.

    It is linear in the labels, which are integrated out (`icl.tasks.quadratic_form`); tokens are sampled.

    Args:
        task: A rotation-invariant class.
        n: Context length.
        noise_std: Noise standard deviation.
        penalty: Penalty on the slope, > 0; the intercept is free.
        contexts: Number of sampled contexts, >= 2.
        seed: Seed of the streams.

    Returns:
        Mean, standard error, interval.

    Raises:
        ValueError: If an argument is out of range.
    """
    check_setting(task, 0.0, n, noise_std)
    if not (math.isfinite(penalty) and penalty > 0):
        raise ValueError(f"penalty={penalty!r}: must be a finite number > 0")

    def losses(tokens, step):
        x, query = tokens[:, :-1], tokens[:, -1]
        center = x.mean(1, keepdim=True)
        gram = (x - center).mT @ (x - center) + penalty * torch.eye(task.dim, dtype=x.dtype)
        pull = torch.linalg.solve(gram, query - center.squeeze(1))
        weights = torch.einsum("bnd,bd->bn", x - center, pull) + 1 / n
        return QuadraticRisk.of(task, tokens, noise_std).risk(weights)

    return _average(losses, task.dim, n, contexts, seed, n)


def _average(losses, dim: int, n: int, contexts: int, seed: int, width: int) -> MonteCarlo:
    """Mean of ``losses(tokens, step)`` over fresh contexts, in pieces that fit into memory."""
    contexts = integer(contexts, "contexts", 2)
    chunk = max(1, min(contexts, 2_000_000 // (n * width)))
    values = np.concatenate(
        [
            losses(
                uniform_sphere(stream(seed, "monte carlo", step), min(chunk, contexts - start), n + 1, dim),
                step,
            ).numpy()
            for step, start in enumerate(range(0, contexts, chunk))
        ]
    )
    return MonteCarlo(float(values.mean()), float(values.std(ddof=1) / math.sqrt(contexts)), contexts)


def _variogram(task, a, b):
    cosine = torch.einsum("bid,bjd->bij", a, b).clamp(-1, 1)
    return torch.from_numpy(task.variogram(np.arccos(cosine.numpy())))
