"""Limits at the ends of sweeps, by the exact route and by that of many tokens, and slopes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icl.risk import asymptotics, optimal_window, population_risk
from icl.tasks import Zonal
from icl_book.measurements.tables import Array, Row


def log_slopes(x: ArrayLike, y: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Return slopes of log y in log x between neighbors on the last axis, and errors from relative ones."""
    steps, error = np.diff(np.log(x)), np.asarray(error)
    return np.diff(np.log(y)) / steps, (error[..., 1:] + error[..., :-1]) / steps


def smallest_slope(
    x: ArrayLike, y: ArrayLike, error: ArrayLike, power: float = 1.0
) -> Row:
    """Return the least of `log_slopes`, times ``power``: ``value``, with the largest ``error``."""
    slope, change = log_slopes(x, y, error)
    return {"value": power * slope.min(), "error": abs(power) * change.max()}


def with_error(value: Any, *relative: Any) -> Row:
    """Return ``value``, which is positive, and its absolute ``error``, from relative ones that add up."""
    return {"value": value, "error": value * sum(relative)}


def over(first: Any, second: Any) -> Row:
    """Return the ratio of two best windows, ``value`` and ``error``."""
    return with_error(first.w / second.w, first.error, second.error)


def extrapolated(ratio: Array, small: Array) -> tuple[float, float]:
    """Extrapolate a ratio linearly in a small number to zero, from the last two of three settings.

    Returns also what leaving out the last one changes.
    """
    ends = ratio[1:] - np.diff(ratio) / np.diff(small) * small[1:]
    return ends[1], abs(ends[1] - ends[0])


class Route(NamedTuple):
    """A way to compute the best window of a class at (n, sigma), and bias and noise at (w, n, sigma)."""

    window: Callable[[Zonal, Any, Any], Array]
    terms: Callable[[Zonal, Any, Any, Any], tuple[Array, Array]]

    def least(self, task: Zonal, n: Any, noise_std: Any) -> Array:
        """Return the least risk."""
        return np.asarray(
            sum(self.terms(task, self.window(task, n, noise_std), n, noise_std))
        )


def _exact_terms(*setting: Any) -> tuple[Array, Array]:
    risk = population_risk(*setting)
    return risk.bias, risk.noise


EXACT = Route(
    lambda task, n, noise_std: optimal_window(task, n, noise_std).w, _exact_terms
)
#: In the limit of many tokens, where the limits are known (`icl.risk.asymptotics`).
MANY = Route(asymptotics.many_token_window, asymptotics.many_token_risk)
#: Factors of n and sigma^2, two other ways for `limit`: one, and infinitely many tokens with as much noise.
TOKENS = (1.0, 1e30)


def limit(
    read: Callable[[Any], tuple[Any, Any]],
    truth: Any,
    ways: Sequence[Any] = (EXACT, MANY),
) -> Row:
    """Return a limit at the end of a sweep, and one that calibrates its error.

    Args:
        read: Called with each of the two ways; returns a limit and how much it changed in the last step.
        truth: The limit in the second way.
        ways: What is measured, and a case whose limit is known.

    Returns:
        ``value`` and ``change`` in the first way, ``limit`` and ``step`` in the second, and ``truth``.
    """
    (value, change), (known, step) = map(read, ways)
    return {
        "value": value,
        "change": change,
        "limit": known,
        "step": step,
        "truth": truth,
    }


def law_constant(
    task: Zonal, windows: Sequence[float], noise_std: float, power: float
) -> Row:
    """Return the `limit` of w* over its sharp law, extrapolated linearly in w^(-power).

    The lengths are those at which the law says these windows; the change is what leaving out the last does.
    """
    n = asymptotics.sharp_context(task, windows, noise_std)
    law = asymptotics.sharp_window(task, n, noise_std)

    def ratio(route: Route) -> tuple[float, float]:
        w = route.window(task, n, noise_std)
        return extrapolated(w / law, w**-power)

    return limit(ratio, 1.0)
