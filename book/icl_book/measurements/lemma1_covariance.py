"""Lemma 1: units on ellipsoids, and the same units on the sphere.

Sigma is known by its symmetric root: tokens are ``root @ u`` with u uniform on the unit sphere. A unit M on
them is the whitened unit ``root @ M @ root`` on the sphere.
"""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.streams import stream


def whitened_differences(entries: pd.DataFrame) -> pd.DataFrame:
    """Return how unlike a multiple of the identity the whitened matrices of trained units are.

    Args:
        entries: A row for each unit and axis of Sigma: the ``eigenvalue``, and the ``entry`` of M along the
            axis. The whitened entry is the product of the two. The column ``lemma``, if there is one, is not
            used, and all other columns tell units apart.

    Returns:
        A row for each unit: the columns that tell it apart, and ``difference``, the whitened entry at the
        longest axis minus that at the shortest, over the mean of all.
    """
    unit = [name for name in entries.columns if name not in ("eigenvalue", "entry", "lemma")]
    rows = []
    for setting, axes in entries.groupby(unit, sort=False):
        axes = axes.sort_values("eigenvalue")
        whitened = (axes.entry * axes.eigenvalue).to_numpy()
        difference = (whitened[-1] - whitened[0]) / whitened.mean()
        rows.append(dict(zip(unit, setting, strict=True)) | {"difference": difference})
    return pd.DataFrame(rows)


def prediction_gap(root: NDArray[np.float64], *, context_length: int, whiten: bool) -> float:
    """Return the largest absolute difference of predictions on the ellipsoid and on the sphere.

    Each of 500 random contexts has a random matrix M and random labels. On the sphere the unit is
    ``root @ M @ root``, or M itself if ``whiten`` is false.
    """
    dim = len(root)
    rng = stream(0, "evaluation")
    u = uniform_sphere(rng, 500, context_length + 1, dim)
    y = torch.from_numpy(rng.standard_normal((500, context_length)))
    M = torch.from_numpy(rng.standard_normal((500, dim, dim)))
    stretching = torch.from_numpy(root)
    x = u @ stretching
    M_on_sphere = stretching @ M @ stretching if whiten else M
    on_ellipsoid = softmax_attention(x[:, :-1], y, x[:, -1], M)
    on_sphere = softmax_attention(u[:, :-1], y, u[:, -1], M_on_sphere)
    return float((on_ellipsoid - on_sphere).abs().max())
