"""Best windows on a planet: how flat they are, by trial on the map, and of places that crowd together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Zonal
from icl_book.planet import RADIUS, random_places, value_at

Array = NDArray[np.float64]

#: A covariance is tabulated at this many angles.
_ANGLES = 8001
#: Tokens with less than exp(-25) of the largest weight are left out.
_MAX_EXPONENT = 25
#: The windows that are tried are these steps from a given one, two to an octave.
_STEPS = np.arange(-6, 7)


def nearly_best(task: Zonal, n: int, noise_std: float, *, more: float = 0.01) -> pd.DataFrame:
    """Return the two windows whose exact risk is by the share ``more`` above the least risk.

    Returns:
        Columns ``end``, "largest" for the window of the largest radius, which has the smaller w, and "least";
        ``w``, and its relative ``error``.

    Raises:
        ValueError: If one of them is more than a factor eight away from the best w.
    """
    best = optimal_window(task, n, noise_std)

    def above(log_factor: float) -> float:
        """Return the share by which the risk at a multiple of the best w is too large, minus ``more``."""
        w = float(best.w) * np.exp(log_factor)
        return float(population_risk(task, w, n, noise_std).total / best.risk) - 1 - more

    rows = []
    for end, far in (("largest", -np.log(8)), ("least", np.log(8))):
        root = brentq(above, 0, far, xtol=1e-10)
        # At the root itself `above` is zero, so that this is its slope in log w, without the sign.
        slope = above(1.001 * root) / (0.001 * abs(root))
        w = float(best.w) * np.exp(root)
        # The relative error of the best w stands for that of the least risk, which is flat there.
        risk_error = float(best.error + population_risk(task, w, n, noise_std).error)
        rows.append({"end": end, "w": w, "error": 1e-10 + risk_error / slope})
    return pd.DataFrame(rows)


def radius_by_trial(
    values: Array,
    w: float,
    *,
    n: int,
    noise_std: float,
    questions: int,
    samples: int = 5,
    seed: int = 0,
) -> tuple[float, float]:
    """Find the radius of the best window by trial on a map: without a power law or a formula for the risk.

    Questions, the values at random places, are answered from the values at n others with windows of an eighth
    to eight times ``w``. The label noise is integrated out: it adds ``noise_std**2`` times the sum of the
    squared weights. The radius of a window w is that of the Earth over the root of w.

    Args:
        values: The map, (rows, columns), as in `icl_book.planet.value_at`.
        w: The window in the middle of those that are tried.
        n: Places that are known.
        noise_std: Standard deviation of the label noise.
        questions: Questions in each sample, shared equally between its sets of places, rounded down, but at
            least one for each set.
        samples: Independent samples.
        seed: Root of the random streams.

    Returns:
        The radius in kilometres, and one standard error of it by the jackknife over samples.
    """
    windows = w * 2.0 ** (_STEPS / 2)
    # A sample has about 20,000 places, in sets of n.
    sets = max(1, 20_000 // n)
    per_set = max(1, questions // sets)
    errors = np.empty((samples, windows.size))
    for sample in range(samples):
        rng = stream(seed, "monte carlo", sample)
        places = random_places(rng, sets * n).reshape(sets, n, 3)
        wanted = random_places(rng, sets * per_set).reshape(sets, per_set, 3)
        known = value_at(values, places)
        truth = value_at(values, wanted).ravel()
        # A row for each question, with the places of its set; sets follow each other.
        cosine = (wanted @ places.mT).reshape(-1, n)
        nearest = cosine.max(axis=1)
        # The tokens that count for each question, one after the other: `row` is the question of each.
        row, column = np.nonzero(cosine > nearest[:, None] - _MAX_EXPONENT / windows[0])
        label, behind = known[row // per_set, column], nearest[row] - cosine[row, column]
        for i, window in enumerate(windows):
            # Each next window is narrower, so that a token that is left out stays out.
            near = window * behind < _MAX_EXPONENT
            row, label, behind = row[near], label[near], behind[near]
            weight = np.exp(-window * behind)
            total = np.bincount(row, weight)
            answer = np.bincount(row, weight * label) / total
            squares = np.bincount(row, weight**2) / total**2
            missed = (answer - truth) ** 2 + noise_std**2 * squares
            errors[sample, i] = missed.mean()

    def radius(curve: Array) -> float:
        """Return the radius at the least point of a curve over `_STEPS`, half octaves from ``w``."""
        return float(RADIUS * (w * 2 ** (_find_least(curve)[0] / 2)) ** -0.5)

    total = errors.sum(axis=0)
    # These are the radii without one of the samples each.
    left_out = np.array([radius(curve) for curve in total - errors])
    return radius(total), _estimate_error(left_out)


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
        noise_std: Standard deviation of the label noise.
        clusters: Number of centers.
        width: Standard deviation around a center in each direction, in radians.
        contexts: Samples of n places, two or more.
        queries: Places in question, in each context.
        seed: Root of the random streams.

    Returns:
        Columns ``known`` and ``asked``, "uniform" or "clustered"; best ``w`` with its ``error``, one standard
        error by the jackknife over contexts; ``factor``, the risk with the exact best window of uniform
        places over the least risk, and its ``factor_error``.
    """
    exact = float(optimal_window(task, n, noise_std).w)
    windows = exact * 2.0 ** (_STEPS / 2)
    table = _tabulate_covariance(task)
    rows = []
    for setting, (known, asked) in enumerate(
        [("uniform", "uniform"), ("clustered", "clustered"), ("clustered", "uniform")]
    ):
        risks = np.empty((contexts, windows.size))
        for context in range(contexts):
            rng = stream(seed, "monte carlo", 3 * context + setting)
            centers = random_places(rng, clusters)
            places = _draw_places(known, centers, n, width, rng)
            wanted = _draw_places(asked, centers, queries, width, rng)
            risks[context] = mean_risks(task, places, wanted, windows, noise_std, table)
        total = risks.sum(axis=0)
        # These are the mean risks without one of the contexts each, (contexts, windows).
        left_out = (total - risks) / (contexts - 1)
        best = [_find_least(curve) for curve in left_out]
        w = [exact * 2 ** (step / 2) for step, _ in best]
        center = int(np.flatnonzero(_STEPS == 0)[0])
        factor = [curve[center] / least for curve, (_, least) in zip(left_out, best, strict=True)]
        step, least = _find_least(total / contexts)
        rows.append(
            {
                "known": known,
                "asked": asked,
                "w": exact * 2 ** (step / 2),
                "error": _estimate_error(np.array(w)),
                "factor": total[center] / contexts / least,
                "factor_error": _estimate_error(np.array(factor)),
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

    Places (n, 3), queries ``wanted`` (queries, 3), windows (k,). ``table`` is what `_tabulate_covariance`
    returns for the class, and is made here if it is not given.
    """
    theta, covariance = table or _tabulate_covariance(task)
    n = len(places)
    gram = _interpolate(theta, covariance, places @ places.T)
    # The table lacks the fine variance of the class and the noise, which a label shares with itself only.
    np.fill_diagonal(gram, task.second_moment + noise_std**2)
    cosine = wanted @ places.T
    scores = cosine - cosine.max(axis=1, keepdims=True)
    # The axes are windows, queries and places.
    weights = np.exp(windows[:, None, None] * scores)
    weights /= weights.sum(axis=2, keepdims=True)
    product = (weights.reshape(-1, n) @ gram).reshape(weights.shape)
    product -= 2 * _interpolate(theta, covariance, cosine)
    # For each query this is weights.gram.weights - 2 weights.(covariances with the query).
    risk = (product * weights).sum(axis=2).mean(axis=1)
    return np.asarray(risk + task.second_moment)


def _tabulate_covariance(task: Zonal) -> tuple[Array, Array]:
    """Return angles from 0 to pi and the covariance there."""
    theta = np.linspace(0, np.pi, _ANGLES)
    return theta, task.covariance(np.cos(theta))


def _draw_places(
    law: str, centers: Array, count: int, width: float, rng: np.random.Generator
) -> Array:
    """Return places (count, 3) of a law, "uniform" or "clustered" around centers (clusters, 3)."""
    if law == "uniform":
        return random_places(rng, count)
    normal = rng.standard_normal((count, 3))
    center = centers[rng.integers(len(centers), size=count)]
    tangent = normal - np.sum(normal * center, axis=1, keepdims=True) * center
    places = center + width * tangent
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True))


def _interpolate(theta: Array, covariance: Array, cosine: Array) -> Array:
    """Return the covariance at cosines, from its table."""
    return np.asarray(np.interp(np.arccos(cosine.clip(-1, 1)), theta, covariance))


def _find_least(curve: Array) -> tuple[float, float]:
    """Return where in `_STEPS`, and at what value, a curve is least, by a polynomial through five points.

    These are its least point and two on each side, or fewer at an end. The least value of the polynomial is
    searched up to one step from the least point, also beyond an end of `_STEPS`.
    """
    at = int(curve.argmin())
    near = np.arange(max(0, at - 2), min(curve.size, at + 3))
    polynomial = np.polyfit(near - at, curve[near], near.size - 1)
    fine = np.linspace(-1, 1, 401)
    values = np.polyval(polynomial, fine)
    return float(_STEPS[at] + fine[values.argmin()]), float(values.min())


def _estimate_error(values: Array) -> float:
    """Return the standard error of an estimate from its values with one sample left out."""
    m = values.size
    return float(np.sqrt((m - 1) / m * np.sum((values - values.mean()) ** 2)))
