"""Lemma 1: units on ellipsoids, and the same units on the sphere.

Tokens of the ellipsoid are ``root @ u``, where u is uniform on the unit sphere and ``root`` is the symmetric
root of Sigma. A unit M predicts on the ellipsoid what the whitened unit ``root @ M @ root`` predicts on the
sphere. An axis is an eigenvector of Sigma.
"""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.streams import stream


def whitened_differences(entries: pd.DataFrame) -> pd.DataFrame:
    """Measure how far the whitened matrices of trained units are from multiples of the identity.

    ``entries`` has a row for each unit and each axis of Sigma, with the ``eigenvalue`` of Sigma and the
    diagonal ``entry`` of M. It may have the column ``lemma``, the entry of Lemma 1. All other columns name
    the unit. ``difference`` is the whitened entry at the axis of the largest eigenvalue minus that at the
    axis of the smallest eigenvalue, divided by the mean of the whitened entries at all axes.
    """
    unit = [name for name in entries.columns if name not in ("eigenvalue", "entry", "lemma")]
    rows = []
    for labels, axes in entries.groupby(unit, sort=False):
        axes = axes.sort_values("eigenvalue")
        # In the basis of the axes the diagonal of `root @ M @ root` is that of M times the eigenvalues.
        whitened = (axes.entry * axes.eigenvalue).to_numpy()
        difference = (whitened[-1] - whitened[0]) / whitened.mean()
        rows.append(dict(zip(unit, labels, strict=True)) | {"difference": difference})
    return pd.DataFrame(rows)


def prediction_gap(root: NDArray[np.float64], *, context_length: int, whiten: bool) -> float:
    """Return the largest absolute difference between predictions on the ellipsoid and on the sphere.

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
