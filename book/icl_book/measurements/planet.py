"""Best windows on a planet: how much others cost, a search by trial, and places that crowd together.

A *map* has a value at each place of the sphere. The tokens are places. In a context n places are *known*:
they have labels, the values of the map plus noise. The query is a place in question, and w the window
parameter.
"""

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
#: Places with less than exp(-25) of the largest weight are left out.
_MAX_EXPONENT = 25
#: The windows tried are w 2^(step / 2) for these steps, where w is a given window.
_STEPS = np.arange(-6, 7)


def nearly_best(task: Zonal, n: int, noise_std: float, *, more: float = 0.01) -> pd.DataFrame:
    """Return the two windows whose exact risk is 1 + ``more`` times the least risk.

    The "largest" window has the smaller w, because the radius is proportional to ``w^-0.5``. The ``error`` of
    w is relative.
    """
    best = optimal_window(task, n, noise_std)

    def above(log_factor: float) -> float:
        """Return risk / least risk - 1 - ``more``, for the best w times exp(``log_factor``)."""
        w = float(best.w) * np.exp(log_factor)
        return float(population_risk(task, w, n, noise_std).total / best.risk) - 1 - more

    rows = []
    for end, far in (("largest", -np.log(8)), ("least", np.log(8))):
        root = brentq(above, 0, far, xtol=1e-10)
        # At the root `above` is zero. This is thus the absolute value of its slope in log w.
        slope = above(1.001 * root) / (0.001 * abs(root))
        w = float(best.w) * np.exp(root)
        # The quotient of the two risks has the errors of both. That of the least risk is below the error of
        # the best w, because the risk is flat there.
        risk_error = float(best.error + population_risk(task, w, n, noise_std).error)
        # The root is a difference of log w, so that its tolerance 1e-10 is a relative error of w.
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
    """Find the radius of the best window by trial on a map, without a formula for the risk.

    The values at random places in question are predicted from n known places. The best window has the least
    mean squared error. Noise is not drawn: on average it adds ``noise_std**2`` times the sum of the squared
    weights to the squared error. The radius of a window is the radius of the Earth divided by the square root
    of w, and ``w`` is the middle one of the windows tried.

    Returns:
        The radius in kilometres, and its standard error by the jackknife over samples.
    """
    windows = w * 2.0 ** (_STEPS / 2)
    # A sample has about 20,000 places, in sets of n. With few places in a set, a mean needs many sets.
    sets = max(1, 20_000 // n)
    per_set = max(1, questions // sets)
    errors = np.empty((samples, windows.size))
    for sample in range(samples):
        rng = stream(seed, "monte carlo", sample)
        places = random_places(rng, sets * n).reshape(sets, n, 3)
        wanted = random_places(rng, sets * per_set).reshape(sets, per_set, 3)
        known = value_at(values, places)
        truth = value_at(values, wanted).ravel()
        # The axes are the questions of all sets, and the known places of the set of each question.
        cosine = (wanted @ places.mT).reshape(-1, n)
        nearest = cosine.max(axis=1)
        # These are all pairs of a question, `row`, and a known place that counts for it in the widest window.
        row, column = np.nonzero(cosine > nearest[:, None] - _MAX_EXPONENT / windows[0])
        # The set of a question is `row // per_set`.
        label = known[row // per_set, column]
        # In a pair the place has exp(-w behind) times the weight of the nearest place.
        behind = nearest[row] - cosine[row, column]
        for i, window in enumerate(windows):
            # Each window is narrower than the one before, so that a pair that is left out stays out.
            near = window * behind < _MAX_EXPONENT
            row = row[near]
            label = label[near]
            behind = behind[near]
            weight = np.exp(-window * behind)
            total = np.bincount(row, weight)
            answer = np.bincount(row, weight * label) / total
            squares = np.bincount(row, weight**2) / total**2
            missed = (answer - truth) ** 2 + noise_std**2 * squares
            errors[sample, i] = missed.mean()

    def find_radius(curve: Array) -> float:
        """Return the radius of the window with the least squared error; ``curve`` has one for each step."""
        step, _ = _find_least(curve)
        return float(RADIUS * (w * 2 ** (step / 2)) ** -0.5)

    all_errors = errors.sum(axis=0)
    # Each of these radii is found with one sample left out.
    left_out = np.array([find_radius(curve) for curve in all_errors - errors])
    return find_radius(all_errors), _estimate_error(left_out)


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

    Clustered places lie around random centers, normally distributed in the plane tangent at their center with
    the standard deviation ``width``, in radians. Each context has new centers. Only places are sampled,
    because `mean_risks` takes the means over randomly rotated maps and over the noise by a formula. ``known``
    is the law of the known places, and ``asked`` that of the places in question. ``factor`` is the risk at
    the exact best window of uniform places divided by the least risk. Errors are standard errors by the
    jackknife over contexts.
    """
    # This is the best window if all places are uniform.
    exact = float(optimal_window(task, n, noise_std).w)
    windows = exact * 2.0 ** (_STEPS / 2)
    table = _tabulate_covariance(task)
    rows = []
    for setting, (known, asked) in enumerate(
        [("uniform", "uniform"), ("clustered", "clustered"), ("clustered", "uniform")]
    ):
        risks = np.empty((contexts, windows.size))
        for context in range(contexts):
            # Each context of each of the three settings has its own stream.
            rng = stream(seed, "monte carlo", 3 * context + setting)
            centers = random_places(rng, clusters)
            places = _draw_places(known, centers, n, width, rng)
            wanted = _draw_places(asked, centers, queries, width, rng)
            risks[context] = mean_risks(task, places, wanted, windows, noise_std, table)
        total = risks.sum(axis=0)
        # Each row is the mean risk at all windows with one context left out.
        left_out = (total - risks) / (contexts - 1)
        best = [_find_least(curve) for curve in left_out]
        w = [exact * 2 ** (step / 2) for step, _ in best]
        # At this index the window is `exact`.
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
    """Return the risk of each window given the places: a mean over rotated maps, noise and queries.

    ``places`` are the known places, (n, 3), and ``wanted`` those in question, (queries, 3). ``table`` is what
    `_tabulate_covariance` returns for the class.
    """
    theta, covariance = table or _tabulate_covariance(task)
    n = len(places)
    gram = _interpolate(theta, covariance, places @ places.T)
    # The table is the covariance of the values at different places. The variance of a label has two more
    # terms: the noise, and `Zonal.unresolved`, which is in `second_moment`.
    np.fill_diagonal(gram, task.second_moment + noise_std**2)
    cosine = wanted @ places.T
    scores = cosine - cosine.max(axis=1, keepdims=True)
    # The axes are windows, queries and places.
    weights = np.exp(windows[:, None, None] * scores)
    weights /= weights.sum(axis=2, keepdims=True)
    product = (weights.reshape(-1, n) @ gram).reshape(weights.shape)
    product -= 2 * _interpolate(theta, covariance, cosine)
    # The mean of (f(x_q) - weights.labels)^2 is `second_moment` - 2 weights.c + weights.gram.weights, where c
    # are the covariances of the labels with f(x_q). This is the sum of the last two terms.
    risk = (product * weights).sum(axis=2).mean(axis=1)
    return np.asarray(risk + task.second_moment)


def _tabulate_covariance(task: Zonal) -> tuple[Array, Array]:
    """Return angles from 0 to pi, and the covariance of a class between places at these angles."""
    theta = np.linspace(0, np.pi, _ANGLES)
    return theta, task.covariance(np.cos(theta))


def _draw_places(
    law: str, centers: Array, count: int, width: float, rng: np.random.Generator
) -> Array:
    """Draw places (count, 3): "uniform" ones, or "clustered" ones around ``centers`` (clusters, 3)."""
    if law == "uniform":
        return random_places(rng, count)
    normal = rng.standard_normal((count, 3))
    center = centers[rng.integers(len(centers), size=count)]
    tangent = normal - np.sum(normal * center, axis=1, keepdims=True) * center
    places = center + width * tangent
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True))


def _interpolate(theta: Array, covariance: Array, cosine: Array) -> Array:
    """Return the covariance between places with these inner products, from a table of it by angle."""
    return np.asarray(np.interp(np.arccos(cosine.clip(-1, 1)), theta, covariance))


def _find_least(curve: Array) -> tuple[float, float]:
    """Return the step at which a curve is least, and the value of the curve there.

    The curve is given at `_STEPS`. A polynomial goes through its least point and two points on each side, or
    fewer at an end of `_STEPS`. From an end the search goes one step beyond it, because the curve may still
    fall there.
    """
    at = int(curve.argmin())
    near = np.arange(max(0, at - 2), min(curve.size, at + 3))
    polynomial = np.polyfit(near - at, curve[near], near.size - 1)
    fine = np.linspace(-1, 1, 401)
    values = np.polyval(polynomial, fine)
    return float(_STEPS[at] + fine[values.argmin()]), float(values.min())


def _estimate_error(values: Array) -> float:
    """Return the jackknife's standard error. ``values`` are the estimates with one sample left out each."""
    m = values.size
    return float(np.sqrt((m - 1) / m * np.sum((values - values.mean()) ** 2)))
