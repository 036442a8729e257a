"""Measurements for Lemma 1: units on ellipsoids and the same units on the sphere, and the sign of w.

Sigma is known by its root: tokens are ``root @ u`` with u uniform on the unit sphere. A unit M on them is the
whitened unit ``root @ M @ root`` on the sphere.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.risk import optimal_window
from icl.streams import stream
from icl.tasks import Zonal
from icl_book.measurements.tables import Array, grid, measured


def random_roots(draws: int, dim: int) -> list[Array]:
    """Return random roots of covariances: random axes, lengths log-uniform in [1/2, 2]."""
    roots = []
    for draw in range(draws):
        rng = stream(draw, "initialization")
        axes = np.linalg.qr(rng.standard_normal((dim, dim))).Q
        roots.append(axes @ np.diag(2 ** rng.uniform(-1, 1, dim)) @ axes.T)
    return roots


def step_size(rate: float, root: Array) -> float:
    """Return Adam's step size on an ellipsoid, in proportion to how far M has to go."""
    return float(rate * np.linalg.norm(np.linalg.inv(root @ root), 2))


def whitening_gaps(roots: Sequence[Array], n: int, contexts: int = 500) -> pd.DataFrame:
    """Return the largest differences of predictions on ellipsoids and on the sphere, random M and contexts.

    Columns ``i``, the number of Sigma, ``value``, where M is whitened along with the tokens, and
    ``unwhitened``, where it is not.
    """
    rng, dim = stream(0, "evaluation"), len(roots[0])
    sphere = uniform_sphere(rng, contexts, n + 1, dim)
    labels = torch.from_numpy(rng.standard_normal((contexts, n)))
    M = torch.from_numpy(rng.standard_normal((contexts, dim, dim)))

    def predictions(tokens: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        return softmax_attention(tokens[:, :-1], labels, tokens[:, -1], matrix)

    def one(i: int) -> tuple[float, ...]:
        root = torch.from_numpy(roots[i - 1])
        there = predictions(sphere @ root, M)
        return tuple(
            float((there - predictions(sphere, N)).abs().max())
            for N in (root @ M @ root, M)
        )

    return measured(one, ["value", "unwhitened"], i=range(1, len(roots) + 1))


def whitened(
    trained: ArrayLike, roots: Sequence[Array], best: Mapping[str, float]
) -> pd.DataFrame:
    """Compare trained matrices with w* Sigma^(-1).

    Args:
        trained: The matrices, (Sigmas, classes, seeds, d, d).
        roots: The root of each Sigma.
        best: The exact w* of each class on the sphere.

    Returns:
        One row for each class ``kind``, Sigma ``i`` and ``seed``: ``difference``, the diagonal entry of the
        whitened matrix at the longest axis minus that at the shortest, over the mean diagonal, and ``scale``,
        the mean diagonal over w*.
    """
    M, root = np.swapaxes(trained, 0, 1), np.stack(roots)[:, None]
    axes = np.linalg.eigh(root).eigenvectors  # the shortest first
    diagonal = np.diagonal(
        np.swapaxes(axes, -1, -2) @ root @ M @ root @ axes, axis1=-2, axis2=-1
    )
    mean, windows = diagonal.mean(-1), np.array(list(best.values()))[:, None, None]
    frame = grid(kind=best, i=range(1, len(roots) + 1), seed=range(M.shape[2]))
    difference = (diagonal[..., -1] - diagonal[..., 0]) / mean
    return frame.assign(difference=difference.ravel(), scale=(mean / windows).ravel())


def both_signs(
    tasks: Mapping[str, Zonal],
    n: int,
    noise_std: float,
    contexts: int,
    blocks: int = 20,
    odd: float = 0.0,
) -> pd.DataFrame:
    """Compare -w* I with w* I on random contexts and on the same ones with the query turned round.

    Args:
        tasks: Classes by name.
        n: Context length.
        noise_std: Standard deviation of the label noise.
        contexts: Contexts of all blocks together.
        blocks: Independent blocks.
        odd: What is added to the functions, times the first coordinate.

    Returns:
        For each class ``label`` and ``block``: ``ratio`` of the two risks, and ``gap``, the largest relative
        difference of the errors at -w* I and at w* I with the query turned round.
    """
    count = max(1, contexts // blocks)

    def one(label: str, block: int) -> tuple[float, float]:
        task, rng = tasks[label], stream(block, "monte carlo")
        matrix = float(optimal_window(task, n, noise_std).w) * torch.eye(
            task.dim, dtype=torch.float64
        )
        x = uniform_sphere(rng, count, n + 1, task.dim)
        f = task.sample(rng, count)
        y = (f(x) + odd * x[..., 0])[:, :-1] + noise_std * torch.from_numpy(
            rng.standard_normal((count, n))
        )
        queries = torch.stack([x[:, -1], -x[:, -1]], 1)
        guess = torch.stack(
            [softmax_attention(x[:, :-1], y, queries[:, i], matrix) for i in (0, 1)], 1
        )
        value = f(queries) + odd * queries[..., 0]
        # attention at -w* for a query is attention at w* for the query turned round
        at_plus, at_minus = (guess - value) ** 2, (guess.flip(1) - value) ** 2
        level = at_plus.sum(1).mean()
        ratio = float(at_minus.sum(1).mean() / level)
        return ratio, float((at_minus[:, 0] - at_plus[:, 1]).abs().max() / level)

    return measured(one, ["ratio", "gap"], label=tasks, block=range(blocks))
