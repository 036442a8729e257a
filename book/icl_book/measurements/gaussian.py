"""Measurements on Gaussian tokens, and in a ball: where the window stops, how fast, and what it leaves.

The unit is ``M = wI``, functions are linear with L = 1 unless said otherwise; tables call the dimension ``d``
and the standard deviation of the label noise ``sigma``. Lengths and sigmas that are arrays are rows.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from icl.risk import (
    gaussian_best_scale,
    gaussian_distance,
    gaussian_linear_optimum,
    gaussian_risk,
    gaussian_window,
    least_ball_limit,
    least_hermite_floor,
    log_window_gap,
    one_token_gap,
    optimal_window,
)
from icl.risk.asymptotics import resultant_length
from icl.risk.gaussian_moments import weight_moments
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import Linear
from icl_book.measurements.sweeps import smallest_slope, with_error
from icl_book.measurements.tables import Array, Row

#: The exponent of 1 - w* in 1 / n, one over the golden ratio.
RATE = (5**0.5 - 1) / 2
#: The end of the scan of the ball's windows.
WIDEST = 1e6


def window(d: int, lengths: ArrayLike, sigmas: ArrayLike) -> Row:
    """Return the best ``w``, its ``error``, and ``gap``, 1 - w with its own digits, at every n and sigma."""
    n, sigma = np.asarray(lengths, dtype=float)[..., None], np.asarray(sigmas)
    best = gaussian_window(d, n, sigma)
    found = {"w": best.w, "error": best.w * best.error, "gap": best.gap}
    return {"n": n, "sigma": sigma, **found, "tokens": "Gaussian"}


def window_on_sphere(d: int, lengths: ArrayLike, sigmas: ArrayLike) -> Row:
    """Return the best ``w`` on the sphere of radius sqrt(d), and its ``error``, at every n and sigma.

    A linear function has the slope sqrt(d) L on unit tokens there, and w is d times smaller.
    """
    n, sigma = np.asarray(lengths, dtype=float)[..., None], np.asarray(sigmas)
    best = optimal_window(Linear(d, d**0.5), n, sigma)
    return {
        "n": n,
        "sigma": sigma,
        "w": best.w / d,
        "error": best.w / d * best.error,
        "tokens": "sphere",
    }


def gap_slopes(d: int, kind: str, lengths: Array, sigma: float) -> Row:
    """Return local slopes of log(1 - w*) in log n: ``log_n`` and ``slope``.

    The kind is "exact", or "one heavy token": of the integral, up to log n = 10^4.
    """
    if kind == "exact":
        log_n, log_gap = np.log(lengths), np.log(gaussian_window(d, lengths, sigma).gap)
    else:
        log_n = np.geomspace(45, 1e4, 8)
        log_gap = one_token_gap(d, log_n, sigma).log_gap
    return {
        "log_n": np.sqrt(log_n[1:] * log_n[:-1]),
        "slope": np.diff(log_gap) / np.diff(log_n),
    }


def rate_steps(d: int, sigma: float) -> Row:
    """Return the two steps from the exact 1 - w* to its law, each as a ratio with its error.

    ``first``, exact over one heavy token at n = 10^30, the longest context whose moments are computed;
    ``second``, one heavy token over the law at log n = 10^6; ``wrong``, over the law of one dimension more.
    """
    longest, beyond = 1e30, 1e6
    best = gaussian_window(d, longest, sigma)
    heavy, late = (
        one_token_gap(d, log_n, sigma) for log_n in (np.log(longest), beyond)
    )
    first = best.gap / np.exp(heavy.log_gap)
    second, wrong = (
        np.exp(late.log_gap - log_window_gap(d + more, beyond)) for more in (0, 1)
    )
    errors = {
        "first_error": first * (best.gap_error + heavy.error),
        "second_error": second * late.error,
    }
    return {
        "first": first,
        "second": second,
        "wrong": wrong,
        **errors,
        "wrong_error": wrong * late.error,
    }


def distance_exponents(d: int, w: ArrayLike) -> Row:
    """Return local exponents of ``E |sum omega_i x_i - w x_q|^2`` from n = 10^28 to 10^30, at every w.

    ``plain`` is that of the distance itself, ``value`` that without the power of log n that the theorem has,
    ``(log n)^(d/2)`` for ``w^2 > 1/2`` and none below, and ``error`` its error. ``wrong`` is that of the
    distance at queries of one length, sqrt(d), in place of the mean over all queries.
    """
    w, lengths = np.asarray(w, dtype=float), np.array([1e28, 1e30])
    found = gaussian_distance(d, w, lengths[:, None])
    log_n = np.log(lengths)
    step = log_n[1] - log_n[0]
    plain = -np.diff(np.log(found.distance), axis=0)[0] / step
    power = np.where(w**2 > 0.5, d / 2, 0.0)
    value = plain + power * np.log(log_n[1] / log_n[0]) / step
    tau = w * d**0.5
    c, third = np.array([weight_moments(tau, n)[:2] for n in lengths]).swapaxes(0, 1)
    at_one_length = d * c + tau**2 * (c - 6 * third)
    wrong = -np.diff(np.log(at_one_length), axis=0)[0] / step
    return {
        "w": w,
        "plain": plain,
        "value": value,
        "error": found.error.sum(0) / step,
        "wrong": wrong,
    }


def signal_slope(d: int, n: float) -> Row:
    """Return the smallest slope of log w* in log(L / sigma), ``value``, and its ``error``."""
    signal = np.geomspace(0.03, 30, 7)
    best = gaussian_window(d, n, 1 / signal)
    return smallest_slope(signal, best.w, best.error)


def two_token_ratio(d: int, w: float = 0.5) -> Row:
    """Compare the bias of two tokens, summed over their scores, with the exact one.

    ``value``, the ratio, ``error``, and ``wrong``, the ratio when the query, with its own clean label, is
    counted as one more token.
    """
    risk = gaussian_risk(d, w, 2, 0.0)
    ways = ((80, False), (60, False), (80, True))
    direct, coarse, wrong = (_two_token_bias(d, w, *way) / risk.bias for way in ways)
    return {"value": direct, "error": risk.error + abs(direct - coarse), "wrong": wrong}


def _two_token_bias(d: int, w: float, nodes: int, with_query: bool) -> float:
    x, weight = np.polynomial.legendre.leggauss(nodes)
    lengths = (np.sqrt(d) + 10) / 2 * (1 + x)
    law = weight * lengths ** (d - 1) * np.exp(-(lengths**2) / 2)
    g = np.linspace(-9, 9, 3 * nodes + 1)
    p = np.exp(-g * g / 2)
    pair = np.outer(p, p) / p.sum() ** 2
    one, two = g[:, None], g[None, :]  # the tokens along the query
    bias = []
    for r in lengths:
        query = np.exp(w * r * r) if with_query else 0.0
        a, b = np.exp(w * r * one), np.exp(w * r * two)
        total = a + b + query
        along = (a * one + b * two + query * r) / total - r
        across = (d - 1) * (a**2 + b**2) / total**2
        bias.append((pair * (along**2 + across)).sum() / d)
    return float(law @ np.array(bias) / law.sum())


def ball_limit(d: int) -> Row:
    """Return the window of the least limit in the unit ball and that limit, the floor.

    ``what`` (window, floor), ``value`` and ``error``.
    """
    ball = least_ball_limit(d)
    return {"what": np.array(["window", "floor"])} | with_error(
        np.array([ball.w, ball.risk]), ball.error
    )


def sphere_floor(d: int) -> Row:
    """Return the limit on the unit sphere at `WIDEST`: ``what`` (sphere), ``value`` and ``error``."""
    missed = float(1 - resultant_length(d, WIDEST))
    return {"what": "sphere", "value": missed**2, "error": missed * np.finfo(float).eps}


def tokens_needed(
    a: float, b: float, share: float = 0.1, precision: float = 1e-9
) -> Row:
    """Return how log n grows in (w r)^2, from w r = a to b, while E sum omega^2 stays at ``share``.

    ``value``, the slope, and ``error``.
    """

    def root(tau: float, drop: int) -> float:
        def excess(log_n: float) -> float:
            return (
                float(weight_moments(np.array([tau]), float(np.exp(log_n)), drop)[0, 0])
                - share
            )

        return float(brentq(excess, np.log(2), np.log(1e30), xtol=precision))

    log_n, coarse = (np.array([root(one, drop) for one in (a, b)]) for drop in (0, 2))
    error, step = np.abs(log_n - coarse) + precision, b**2 - a**2
    return {"value": (log_n[1] - log_n[0]) / step, "error": error.sum() / step}


def approach_slopes(d: int) -> Row:
    """Return the slope of log E |sum omega_i x_i - w x_q|^2 in log n: ``a`` (w r), ``value``, ``error``."""
    at, last = np.array([0.5, 1.0, 2.0]), np.array([1e10, 1e12])

    def slope(drop: int) -> Array:
        c, third = np.moveaxis(
            np.array([weight_moments(at, m, drop)[:2] for m in last]), 1, 0
        )
        distance = at**2 * (c - 6 * third) + d * c
        return np.asarray(np.diff(np.log(distance), axis=0)[0] / np.diff(np.log(last)))

    error = np.abs(slope(0) - slope(2)) + np.finfo(float).eps
    return {"a": at, "value": slope(0), "error": error}


class Smoothed(NamedTuple):
    """A function, the window of the least risk in the limit of many tokens, that limit, and its power."""

    f: Callable[[Array], Array]
    w: float
    limit: float
    power: float


_T = np.arange(-20, 21) / 4  # queries in one dimension, with their law
_LINE = np.exp(-_T * _T / 2) / np.exp(-_T * _T / 2).sum()


@cache
def functions() -> dict[str, Smoothed]:
    """Return the functions whose floors are sampled; ``x_1 x_2`` has two coordinates, the others one."""
    He = np.polynomial.hermite_e.HermiteE
    second, third = least_hermite_floor([0, 0, 1]), least_hermite_floor([0, 0, 0, 1])
    w = np.linspace(0.2, 1.5, 1301)[:, None]
    smooth = w * _T * ndtr(w * _T) + np.exp(-((w * _T) ** 2) / 2) / np.sqrt(2 * np.pi)
    relu = np.maximum(_T, 0)
    risk = (relu - smooth) ** 2 @ _LINE
    least, power = risk.argmin(), float(_LINE @ relu**2 - (_LINE @ relu) ** 2)
    return {
        "linear": Smoothed(lambda x: x[:, 0], 1.0, 0.0, 1.0),
        "He_2": Smoothed(
            lambda x: He([0, 0, 1])(x[:, 0]), second.w, second.risk, second.power
        ),
        "He_3": Smoothed(
            lambda x: He([0, 0, 0, 1])(x[:, 0]), third.w, third.risk, third.power
        ),
        "ReLU": Smoothed(
            lambda x: np.maximum(x[:, 0], 0),
            float(w[least, 0]),
            float(risk[least]),
            power,
        ),
        "x_1 x_2": Smoothed(lambda x: x[:, 0] * x[:, 1], 1.0, 0.0, 1.0),
    }


def sampled_risk(f: str, n: int, seed: int, most: int, w: float | None = None) -> Row:
    """Sample the risk of one of `functions` at its window, or at ``w``, with the first n of ``most`` tokens.

    ``risk``, and ``excess`` over the limit, both over the function's variance.
    """
    function, queries, law = functions()[f], _T[:, None], _LINE
    if f == "x_1 x_2":
        node, weight = np.polynomial.hermite_e.hermegauss(8)
        queries = np.stack(np.meshgrid(node, node), -1).reshape(-1, 2)
        law = np.outer(weight, weight).ravel() / weight.sum() ** 2
    x = stream(seed, "monte carlo").standard_normal((most, queries.shape[1]))[:n]
    values, predicted = function.f(x), []
    for query in queries:  # one at a time stays in the cache
        weights = (function.w if w is None else w) * (x @ query)
        weights = np.exp(weights - weights.max())
        predicted.append(values @ weights / weights.sum())
    risk = float(law @ (np.array(predicted) - function.f(queries)) ** 2)
    return {
        "risk": risk / function.power,
        "excess": (risk - function.limit) / function.power,
    }


def mean_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """Return means over the seeds of sampled risks: ``f``, ``n``, ``mean``, ``low`` and ``high``."""
    wide = risks.pivot_table("risk", index=["f", "n"], columns="seed", sort=False)
    intervals = dict(zip(("mean", "low", "high"), t_interval(wide), strict=True))
    return wide.index.to_frame(index=False).assign(**intervals)


#: Functions that the limit recovers, and their windows.
RECOVERED: dict[str, tuple[Callable[[Array], Array], float]] = {
    "Phi at w = sqrt(2)": (ndtr, np.sqrt(2)),
    "exp(ax) cos(ax) at w = 1": (
        lambda x: np.exp(np.sqrt(2 * np.pi) * x) * np.cos(np.sqrt(2 * np.pi) * x),
        1.0,
    ),
}


def recovered_limit(f: str) -> Row:
    """Return the limit of the risk, over the variance, of one of the `RECOVERED` functions.

    ``value`` and ``error``, by sums over lattices of two widths.
    """
    function, w = RECOVERED[f]

    def left(step: float) -> float:
        x = np.arange(-20, 20 + step, step)
        p = np.exp(-x * x / 2)
        p /= p.sum()
        missed = function(x) - p @ function(x[:, None] + w * x)
        return float(p @ missed**2 / (p @ function(x) ** 2 - (p @ function(x)) ** 2))

    return {"value": left(0.2), "error": abs(left(0.2) - left(0.25))}


def _with_intercept(d: int, n: Any, sigma: Any, b: float) -> Any:
    # to linear attention an intercept is label noise, and a part that it misses
    return gaussian_linear_optimum(d, n, np.hypot(sigma, b)).risk + b**2


def over_linear(
    d: int, lengths: ArrayLike, sigmas: ArrayLike, intercept: float = 0.0
) -> Row:
    """Return the least risk of softmax attention over that of linear attention, at every sigma and n.

    Softmax attention does not notice an intercept, as its weights sum to one. ``softmax`` and ``linear``, the
    risks, ``value``, their ratio, and ``error``.
    """
    n, sigma = np.asarray(lengths, dtype=float), np.asarray(sigmas)[..., None]
    risk = gaussian_risk(d, gaussian_window(d, n, sigma).w, n, sigma)
    linear = _with_intercept(d, n, sigma, intercept)
    risks = {"softmax": risk.total, "linear": linear}
    return {
        "n": n,
        "sigma": sigma,
        **risks,
        **with_error(risk.total / linear, risk.error),
    }


def intercept_boundary(d: int, n: float, sigma: float) -> Row:
    """Return the intercept ``b`` at which softmax and linear attention have the same risk."""
    risk = gaussian_window(d, n, sigma).risk
    return {"b": brentq(lambda b: _with_intercept(d, n, sigma, b) - risk, 0, 3)}


def value_scale(d: int, sigma: float, n: float = 1e12) -> Row:
    """Return the risk at w^2 = 1 / (d + 2) over that of linear attention and (1 + 2 / d)^(d / 2 + 1).

    ``free`` is with the best factor of the prediction, ``fixed`` with one.
    """
    w = (d + 2.0) ** -0.5
    scale = gaussian_linear_optimum(d, n, sigma).risk * (1 + 2 / d) ** (d / 2 + 1)
    best, risk = gaussian_best_scale(d, w, n, sigma), gaussian_risk(d, w, n, sigma)
    free, fixed = best.risk / scale, risk.total / scale
    return {
        "free": free,
        "free_error": free * best.error,
        "fixed": fixed,
        "fixed_error": fixed * risk.error,
    }
