"""The best window where the places are not uniform on the sphere."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.risk import optimal_window
from icl.streams import stream
from icl.tasks import Zonal
from icl_book.planet import random_places

Array = NDArray[np.float64]

_ANGLES = 8001  # of the table of a covariance
_STEPS = np.arange(-6, 7)  # of the windows that are tried, two an octave


def windows_of_places(
    task: Zonal,
    *,
    n: int,
    noise_std: float,
    clusters: int,
    width: float,
    contexts: int,
    queries: int = 40,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the best window of uniform and of clustered places by sampling places.

    Clustered places are around ``clusters`` uniform centers, new ones for each context: normal in the
    tangent plane, ``width`` radians in each direction. Given the places, the mean over turned maps and over
    the noise is a closed form in the covariance, so that only places are sampled.

    Args:
        task: A class on the sphere in three dimensions, a turned map.
        n: Places that are known.
        noise_std: Label noise.
        clusters: Number of centers.
        width: Their width in radians.
        contexts: Samples of n places.
        queries: Places in question, in each context.
        seed: Root of the random streams.

    Returns:
        Columns ``known`` and ``asked``, "uniform" or "clustered"; ``w`` with its ``error``, one standard
        error by the jackknife over contexts; ``factor``, the risk with the exact best window of uniform
        places over the least risk, and its ``factor_error``.
    """
    exact = float(optimal_window(task, n, noise_std).w)
    windows = exact * 2.0 ** (_STEPS / 2)
    table = _table(task)
    rows = []
    for at, (known, asked) in enumerate(
        [("uniform", "uniform"), ("clustered", "clustered"), ("clustered", "uniform")]
    ):
        risks = np.empty((contexts, windows.size))
        for context in range(contexts):
            rng = stream(seed, "monte carlo", 3 * context + at)
            centers = random_places(rng, clusters)
            places = _drawn(known, centers, n, width, rng)
            wanted = _drawn(asked, centers, queries, width, rng)
            risks[context] = mean_risks(task, places, wanted, windows, noise_std, table)
        total = risks.sum(axis=0)
        left_out = (total - risks) / (contexts - 1)
        best = [_least(curve) for curve in left_out]
        w = [exact * 2 ** (place / 2) for place, _ in best]
        center = int(np.flatnonzero(_STEPS == 0)[0])
        factor = [
            curve[center] / least
            for curve, (_, least) in zip(left_out, best, strict=True)
        ]
        place, least = _least(total / contexts)
        rows.append(
            {
                "known": known,
                "asked": asked,
                "w": exact * 2 ** (place / 2),
                "error": _jackknife(np.array(w)),
                "factor": total[center] / contexts / least,
                "factor_error": _jackknife(np.array(factor)),
            }
        )
    return pd.DataFrame(rows)


def mean_risks(
    task: Zonal,
    places: Array,
    wanted: Array,
    windows: Array,
    noise_std: float,
    table: tuple[Array, Array] | None = None,
) -> Array:
    """Return the mean risk over turned maps, noise and queries, given the places, for each window.

    Places (n, 3), queries ``wanted`` (queries, 3), windows (k,); ``table`` is `_table` of the class.
    """
    theta, covariance = table or _table(task)
    n = len(places)
    gram = _at(theta, covariance, places @ places.T)
    np.fill_diagonal(gram, task.second_moment + noise_std**2)
    cosine = wanted @ places.T
    scores = cosine - cosine.max(axis=1, keepdims=True)
    weights = np.exp(windows[:, None, None] * scores)
    weights /= weights.sum(axis=2, keepdims=True)
    product = (weights.reshape(-1, n) @ gram).reshape(weights.shape)
    product -= 2 * _at(theta, covariance, cosine)
    risk = (product * weights).sum(axis=2).mean(axis=1)
    return np.asarray(risk + task.second_moment)


def _table(task: Zonal) -> tuple[Array, Array]:
    """Return angles from 0 to pi and the covariance there."""
    theta = np.linspace(0, np.pi, _ANGLES)
    return theta, task.covariance(np.cos(theta))


def _drawn(
    law: str, centers: Array, count: int, width: float, rng: np.random.Generator
) -> Array:
    """Return places (count, 3) of a law around given centers."""
    if law == "uniform":
        return random_places(rng, count)
    normal = rng.standard_normal((count, 3))
    center = centers[rng.integers(len(centers), size=count)]
    tangent = normal - np.sum(normal * center, axis=1, keepdims=True) * center
    places = center + width * tangent
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True))


def _at(theta: Array, covariance: Array, cosine: Array) -> Array:
    """Return the covariance at cosines, from its table."""
    return np.asarray(np.interp(np.arccos(cosine.clip(-1, 1)), theta, covariance))


def _least(curve: Array) -> tuple[float, float]:
    """Return where in `_STEPS`, and at what value, a curve is least, by a polynomial through five points."""
    at = int(curve.argmin())
    near = np.arange(max(0, at - 2), min(curve.size, at + 3))
    polynomial = np.polyfit(near - at, curve[near], near.size - 1)
    fine = np.linspace(-1, 1, 401)
    values = np.polyval(polynomial, fine)
    return float(_STEPS[at] + fine[values.argmin()]), float(values.min())


def _jackknife(values: Array) -> float:
    """Return the standard error of an estimate from its values with one sample left out."""
    m = values.size
    return float(np.sqrt((m - 1) / m * np.sum((values - values.mean()) ** 2)))
