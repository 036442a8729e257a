"""Compare the functions that a class samples with its covariance."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import ndtri

from icl.covariates import uniform_sphere
from icl.streams import stream
from icl.tasks.base import Zonal, check_task, draw_function, fine_variance

_FUNCTIONS, _POINTS = 40_000, 3
#: Pairs of points; each point is also a pair with itself.
_PAIRS = list(itertools.combinations_with_replacement(range(_POINTS), 2))
#: A class that is right is refused with this probability.
_FALSE_ALARM_RATE = 1e-5
#: Half-width of an interval in standard errors; all ends of intervals have equal shares of the rate.
_HALF_WIDTH = float(-ndtri(_FALSE_ALARM_RATE / len(_PAIRS) / 2))


def check_class(task: Zonal) -> float:
    """Compare the functions that a class samples with its covariance, and the covariance with its variogram.

    Means of ``f(x) f(x')`` over 40,000 functions are compared with the covariance at all pairs of three
    points, with x = x' among them. A class that is right is refused with a probability of 1e-5, or more if
    heavy tails of the values keep the means from being nearly normal. Equal calls draw the same functions.

    Returns:
        The largest slope ``|f(x) - f(x')| / |x - x'|`` of 400 other functions at twenty pairs of points each.
        Compare it with the Lipschitz constant of the class.

    Raises:
        TypeError: If the class does not derive from `Zonal`.
        ValueError: If a mean differs from the covariance by more than the sampling error, or the variogram
            from ``covariance(1) - covariance(cos(theta))``.

    >>> from icl.tasks import Affine
    >>> 0.7 < check_class(Affine(3, lipschitz=1.0)) <= 1.0
    True
    """
    check_task(task)
    points = uniform_sphere(stream(0, "covariates"), _POINTS, task.dim)
    drawn = draw_function(task, stream(0, "tasks"), _FUNCTIONS)
    # the axes are functions and points
    values = drawn(points.expand(_FUNCTIONS, -1, -1)).numpy()
    level = task.second_moment
    for i, j in _PAIRS:
        cosine = 1.0 if i == j else float(points[i] @ points[j])
        products = values[:, i] * values[:, j]
        mean, error = float(products.mean()), float(products.std()) / math.sqrt(_FUNCTIONS)
        wanted = float(task.covariance(np.array(cosine))) + (fine_variance(task) if i == j else 0)
        # the last term allows rounding where all products are equal; the negation also refuses NaN
        if not abs(mean - wanted) <= _HALF_WIDTH * error + 1e-9 * level:
            raise ValueError(
                f"{task!r}: covariance({cosine:.6g})={wanted:.6g}, but the mean of f(x) f(x') over functions "
                f"of sample is {mean:.6g} +- {error:.1g} there"
            )
        theta = math.acos(cosine)
        gamma = float(task.variogram(theta))
        # this uses the covariance only
        difference = float(Zonal._variogram(task, np.array(theta)))
        # rounding is proportional to the covariances and not to their difference
        if not math.isclose(gamma, difference, rel_tol=1e-9, abs_tol=3e-13 * level):
            raise ValueError(
                f"{task!r}: variogram({theta:.6g})={gamma:.9g}, but covariance(1) - covariance({cosine:.6g})="
                f"{difference:.9g}"
            )
    places = uniform_sphere(stream(1, "covariates"), 400, 40, task.dim)
    f = draw_function(task, stream(1, "tasks"), 400)(places)
    # point i makes a pair with point 20 + i
    distances = (places[:, :20] - places[:, 20:]).norm(dim=-1)
    return float(((f[:, :20] - f[:, 20:]).abs() / distances).max())
