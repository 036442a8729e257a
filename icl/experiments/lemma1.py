"""Measurements for Lemma 1: units on ellipsoids and the same units on the sphere, and the sign of w.

Sigma is known by its root: tokens are ``root @ u`` with u uniform on the unit sphere. A unit M on them is the
whitened unit ``root @ M @ root`` on the sphere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import uniform_sphere
from icl.experiments.tables import TASKS, measured
from icl.risk import certify_isotropy, optimal_window
from icl.streams import stream
from icl.tasks import Zonal

Array = NDArray[np.float64]
CLASSES = ("affine", "ReLU")


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


def ellipse_weights(w: float = 10.0) -> pd.DataFrame:
    """Return attention weights on a circle and on the ellipse (2 cos, sin), for a query at 60 degrees.

    Columns ``panel`` (tokens and matrix), ``x``, ``y``, ``weight`` and ``query``, which is true for one row.
    """
    theta = np.deg2rad(np.arange(-180, 180, 15))
    circle, lengths = np.stack([np.cos(theta), np.sin(theta)], axis=-1), np.array([2.0, 1.0])
    panels = {
        "circle, $M=w\\,I$": (np.ones(2), np.ones(2)),
        "ellipse, $M=w\\,\\Sigma^{-1}$": (lengths, lengths**-2),
        "ellipse, $M=\\frac{w}{2}\\,I$": (lengths, np.full(2, 0.5)),
    }

    def one(panel: str) -> tuple[Array, ...]:
        axes, diagonal = panels[panel]
        x = circle * axes
        tokens, M = torch.tensor(x), torch.tensor(w * np.diag(diagonal))
        weights = softmax_weights(tokens, tokens[16], M).numpy()
        return x[:, 0], x[:, 1], weights, np.arange(theta.size) == 16

    return measured(one, ["x", "y", "weight", "query"], panel=panels)


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

    def one(i: int) -> tuple[float, float]:
        root = torch.from_numpy(roots[i - 1])
        there = predictions(sphere @ root, M)
        value, unwhitened = (
            float((there - predictions(sphere, N)).abs().max()) for N in (root @ M @ root, M)
        )
        return value, unwhitened

    return measured(one, ["value", "unwhitened"], i=range(1, len(roots) + 1))


def whitened(trained: Sequence[Array], roots: Sequence[Array], best: Mapping[str, float]) -> pd.DataFrame:
    """Compare trained matrices with w* Sigma^(-1).

    Args:
        trained: For each Sigma an array (classes, seeds, d, d), in the order of `CLASSES`.
        roots: The root of each Sigma.
        best: The exact w* of each class on the sphere.

    Returns:
        One row for each class ``kind``, Sigma ``i`` and ``seed``: ``difference``, the diagonal entry of the
        whitened matrix at the longest axis minus that at the shortest, over the mean diagonal, and ``scale``,
        the mean diagonal over w*.
    """

    def one(kind: str, i: int) -> tuple[Any, ...]:
        root, M = roots[i - 1], trained[i - 1][CLASSES.index(kind)]
        N = root @ M @ root
        mean = np.trace(N, axis1=-2, axis2=-1) / len(root)
        axes = np.linalg.eigh(root).eigenvectors  # the shortest first
        diagonal = np.diagonal(axes.T @ N @ axes, axis1=-2, axis2=-1) / mean[:, None]
        return np.arange(len(M)), diagonal[:, -1] - diagonal[:, 0], mean / best[kind]

    columns = ["seed", "difference", "scale"]
    return measured(one, columns, kind=CLASSES, i=range(1, len(roots) + 1))


def entries(trained: Sequence[Array], roots: Sequence[Array], best: Mapping[str, float]) -> pd.DataFrame:
    """Return entries of trained matrices: ``kind``, ``i``, ``claimed``, ``seed`` and ``trained``.

    ``claimed`` is the entry of w* Sigma^(-1); off the diagonal the trained one is the mean of both.
    """

    def one(kind: str, i: int) -> tuple[Any, ...]:
        root, M = roots[i - 1], trained[i - 1][CLASSES.index(kind)]
        upper = np.triu_indices(len(root))
        claimed = best[kind] * np.linalg.inv(root @ root)[upper]
        seed = np.arange(len(M)).repeat(claimed.size)
        return np.tile(claimed, len(M)), seed, (M[:, *upper] + M.swapaxes(1, 2)[:, *upper]).ravel() / 2

    columns = ["claimed", "seed", "trained"]
    return measured(one, columns, kind=CLASSES, i=range(1, len(roots) + 1))


def diagonals(M: Array, root: Array) -> pd.DataFrame:
    """Return the diagonal of trained matrices, (classes, seeds, d, d), for a diagonal Sigma.

    Columns ``kind``, ``eigenvalue`` of Sigma, ``seed`` and ``entry``.
    """

    def one(kind: str) -> tuple[Any, ...]:
        units = M[CLASSES.index(kind)]
        diagonal = np.diagonal(units, axis1=-2, axis2=-1)
        seed = np.arange(len(units)).repeat(len(root))
        return np.tile(np.diag(root) ** 2, len(units)), seed, diagonal.ravel()

    return measured(one, ["eigenvalue", "seed", "entry"], kind=CLASSES)


def certificates(dim: int, n: int, lipschitz: float = 1.0) -> pd.DataFrame:
    """Certify that minimizers on the sphere are multiples of I: ``kind``, ``least`` value met, ``bound``."""

    def one(kind: str) -> tuple[float, float]:
        proof = certify_isotropy(TASKS[kind](dim, lipschitz), n)
        return proof.least, proof.margin

    return measured(one, ["least", "bound"], kind=CLASSES)


def both_signs(
    tasks: Mapping[str, Zonal], n: int, noise_std: float, contexts: int, blocks: int = 20, odd: float = 0.0
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
        matrix = float(optimal_window(task, n, noise_std).w) * torch.eye(task.dim).double()
        x = uniform_sphere(rng, count, n + 1, task.dim)
        f = task.sample(rng, count)
        noise = torch.from_numpy(rng.standard_normal((count, n)))
        turned = torch.cat([x[:, :-1], -x[:, -1:]], 1)
        values, reflected = (f(tokens) + odd * tokens[..., 0] for tokens in (x, turned))
        y = values[:, :-1] + noise_std * noise
        # attention at -w* for a query is attention at w* for the query turned round
        plus, minus = (softmax_attention(x[:, :-1], y, query, matrix) for query in (x[:, -1], turned[:, -1]))
        here, there = values[:, -1], reflected[:, -1]
        at_plus = [(plus - here) ** 2, (minus - there) ** 2]
        at_minus = [(minus - here) ** 2, (plus - there) ** 2]
        level = (at_plus[0] + at_plus[1]).mean()
        ratio = float((at_minus[0] + at_minus[1]).mean() / level)
        return ratio, float((at_minus[0] - at_plus[1]).abs().max() / level)

    return measured(one, ["ratio", "gap"], label=tasks, block=range(blocks))
