"""Measurements on Gaussian tokens, and in a ball: where the window stops, how fast, and what it leaves.

The unit is ``M = wI``, functions are linear with L = 1 unless said otherwise; tables call the dimension ``d``
and the standard deviation of the label noise ``sigma``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from icl.experiments.tables import measured
from icl.risk import (
    gaussian_best_scale,
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

Array = NDArray[np.float64]
#: The longest context whose moments are computed, and log n beyond it, where the law holds.
LONGEST, BEYOND = 1e30, 1e6
#: The exponent of 1 - w* in 1 / n, one over the golden ratio.
RATE = (5**0.5 - 1) / 2
#: The end of the scan of the ball's windows.
WIDEST = 1e6


# ---------------------------------------------------------------- the window


def windows(
    dims: Sequence[int], lengths: Sequence[float], sigmas: Sequence[float], tokens: str = "Gaussian"
) -> pd.DataFrame:
    """Return best windows on Gaussian tokens, or on the ``sphere`` of radius sqrt(d).

    A function on the sphere of radius sqrt(d) has the slope sqrt(d) L on unit tokens, and w is d times
    smaller. Columns ``d``, ``n``, ``sigma``, ``tokens``, ``w``, ``error`` and, on Gaussian tokens, ``gap``,
    1 - w with its own digits.
    """

    def one(d: int) -> tuple[Any, ...]:
        n, sigma = np.meshgrid(np.asarray(lengths, dtype=float), sigmas, indexing="ij")
        if tokens == "sphere":
            best = optimal_window(Linear(d, d**0.5), n, sigma)
            w, error, gap = best.w / d, best.w / d * best.error, np.full(n.shape, np.nan)
        else:
            found = gaussian_window(d, n, sigma)
            w, error, gap = found.w, found.w * found.error, found.gap
        return n.ravel(), sigma.ravel(), w.ravel(), error.ravel(), gap.ravel()

    table = measured(one, ["n", "sigma", "w", "error", "gap"], d=dims)
    return table.assign(tokens=tokens).dropna(axis=1)


def gap_slopes(exact: pd.DataFrame, sigma: float) -> pd.DataFrame:
    """Return local slopes of log(1 - w*) in log n: ``d``, ``kind``, ``log_n`` and ``slope``.

    The exact ones are those of `windows` at this sigma; one heavy token: of the integral, up to log n = 10^4.
    """

    def slopes(kind: str, d: int) -> tuple[Array, Array]:
        log_n, log_gap = np.log(exact.loc[exact.d == d, ["n", "gap"]].to_numpy().T)
        if kind != "exact":
            log_n = np.geomspace(45, 1e4, 8)
            log_gap = one_token_gap(d, log_n, sigma).log_gap
        return np.sqrt(log_n[1:] * log_n[:-1]), np.diff(log_gap) / np.diff(log_n)

    return measured(slopes, ["log_n", "slope"], kind=["exact", "one heavy token"], d=exact.d.unique())


def rate_steps(dims: Sequence[int], sigmas: Sequence[float]) -> pd.DataFrame:
    """Return the two steps from the exact 1 - w* to its law, each as a ratio with its error.

    Columns ``d``, ``sigma``; ``first``, exact over one heavy token at n = `LONGEST`; ``second``, one heavy
    token over the law at log n = `BEYOND`; ``wrong``, over the law of one dimension more.
    """

    def one(d: int) -> tuple[Any, ...]:
        best = gaussian_window(d, LONGEST, sigmas)
        heavy, late = (one_token_gap(d, log_n, sigmas) for log_n in (np.log(LONGEST), BEYOND))
        first = best.gap / np.exp(heavy.log_gap)
        second, wrong = (np.exp(late.log_gap - log_window_gap(d + more, BEYOND)) for more in (0, 1))
        errors = first * (best.gap_error + heavy.error), second * late.error, wrong * late.error
        return np.asarray(sigmas), first, second, wrong, *errors

    columns = ["sigma", "first", "second", "wrong", "first_error", "second_error", "wrong_error"]
    return measured(one, columns, d=dims)


def signal_slopes(dims: Sequence[int], lengths: Sequence[float]) -> pd.DataFrame:
    """Return the smallest slope of log w* in log(L / sigma): ``d``, ``n``, ``value`` and ``error``."""
    signal = np.geomspace(0.03, 30, 7)
    steps = np.diff(np.log(signal))

    def one(d: int) -> tuple[Any, ...]:
        best = gaussian_window(d, np.asarray(lengths)[:, None], 1 / signal)
        slope = np.diff(np.log(best.w)) / steps
        error = (best.error[:, 1:] + best.error[:, :-1]) / steps
        return np.asarray(lengths), slope.min(-1), error.max(-1)

    return measured(one, ["n", "value", "error"], d=dims)


# ---------------------------------------------------------------- formulas and limits


def two_token_ratios(dims: Sequence[int], w: float = 0.5) -> pd.DataFrame:
    """Compare the bias of two tokens, summed over their scores, with the exact one.

    Columns ``d``, ``value``, the ratio, ``error``, and ``wrong``, the ratio when the query, with its own
    clean label, is counted as one more token.
    """

    def one(d: int) -> tuple[Any, ...]:
        risk = gaussian_risk(d, w, 2, 0.0)
        ways = ((80, False), (60, False), (80, True))
        direct, coarse, wrong = (_two_token_bias(d, w, *way) / risk.bias for way in ways)
        return direct, risk.error + abs(direct - coarse), wrong

    return measured(one, ["value", "error", "wrong"], d=dims)


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


def ball_limits(dims: Sequence[int]) -> pd.DataFrame:
    """Return the window of the least limit in the unit ball and that limit, the floor.

    Columns ``d``, ``what`` (window, floor), ``value`` and ``error``.
    """

    def one(d: int) -> tuple[Any, ...]:
        ball = least_ball_limit(d)
        found = np.array([ball.w, ball.risk])
        return np.array(["window", "floor"]), found, found * ball.error

    return measured(one, ["what", "value", "error"], d=dims)


def sphere_floors(dims: Sequence[int]) -> pd.DataFrame:
    """Return the limit on the unit sphere at `WIDEST`: ``d``, ``what`` (sphere), ``value`` and ``error``."""

    def one(d: int) -> tuple[float, float]:
        missed = float(1 - resultant_length(d, WIDEST))
        return missed**2, missed * np.finfo(float).eps

    return measured(one, ["value", "error"], d=dims).assign(what="sphere")


def tokens_needed(lengths: Sequence[float], share: float = 0.1, precision: float = 1e-9) -> pd.DataFrame:
    """Return how log n grows in (w r)^2 while E sum omega^2 stays at ``share``.

    ``lengths`` are values of w r. Columns ``a`` and ``b``, neighbors among them, ``value``, the slope, and
    ``error``.
    """

    def root(tau: float, drop: int) -> float:
        def excess(log_n: float) -> float:
            return float(weight_moments(np.array([tau]), float(np.exp(log_n)), drop)[0, 0]) - share

        return float(brentq(excess, np.log(2), np.log(LONGEST), xtol=precision))

    tau = np.asarray(lengths, dtype=float)
    log_n, coarse = (np.array([root(one, drop) for one in tau]) for drop in (0, 2))
    error = np.abs(log_n - coarse) + precision
    steps = np.diff(tau**2)
    columns = {"value": np.diff(log_n) / steps, "error": (error[1:] + error[:-1]) / steps}
    return pd.DataFrame({"a": tau[:-1], "b": tau[1:], **columns})


def approach_slopes(d: int) -> pd.DataFrame:
    """Return the slope of log E |sum omega_i x_i - w x_q|^2 in log n: ``a`` (w r), ``value``, ``error``."""
    at, last = np.array([0.5, 1.0, 2.0]), np.array([1e10, 1e12])

    def slope(drop: int) -> Array:
        c, third = np.moveaxis(np.array([weight_moments(at, m, drop)[:2] for m in last]), 1, 0)
        distance = at**2 * (c - 6 * third) + d * c
        return np.asarray(np.diff(np.log(distance), axis=0)[0] / np.diff(np.log(last)))

    error = np.abs(slope(0) - slope(2)) + np.finfo(float).eps
    return pd.DataFrame({"a": at, "value": slope(0), "error": error})


# ---------------------------------------------------------------- floors of nonlinear functions


@dataclass(frozen=True)
class Smoothed:
    """A function, the window at which its risk in the limit of many tokens is least, and that limit."""

    f: Callable[[Array], Array]
    w: float
    limit: float
    power: float


_T = np.arange(-20, 21) / 4  # queries in one dimension, with their law
_LINE = np.exp(-_T * _T / 2) / np.exp(-_T * _T / 2).sum()


def functions() -> dict[str, Smoothed]:
    """Return the functions whose floors are sampled; ``x_1 x_2`` has two coordinates, the others one."""
    He = np.polynomial.hermite_e.HermiteE
    second, third = least_hermite_floor([0, 0, 1]), least_hermite_floor([0, 0, 0, 1])
    w = np.linspace(0.2, 1.5, 1301)[:, None]
    smooth = w * _T * ndtr(w * _T) + np.exp(-((w * _T) ** 2) / 2) / np.sqrt(2 * np.pi)
    relu = np.maximum(_T, 0)
    risk = (relu - smooth) ** 2 @ _LINE
    power = float(_LINE @ relu**2 - (_LINE @ relu) ** 2)
    return {
        "linear": Smoothed(lambda x: x[:, 0], 1.0, 0.0, 1.0),
        "He_2": Smoothed(lambda x: He([0, 0, 1])(x[:, 0]), second.w, second.risk, second.power),
        "He_3": Smoothed(lambda x: He([0, 0, 0, 1])(x[:, 0]), third.w, third.risk, third.power),
        "ReLU": Smoothed(
            lambda x: np.maximum(x[:, 0], 0), float(w[risk.argmin(), 0]), float(risk.min()), power
        ),
        "x_1 x_2": Smoothed(lambda x: x[:, 0] * x[:, 1], 1.0, 0.0, 1.0),
    }


def sampled_risks(
    names: Sequence[str], lengths: Sequence[int], most: int, seeds: int, w: float | None = None
) -> pd.DataFrame:
    """Sample the risk of `functions` at their windows, or at ``w``, with the first n of ``most`` tokens.

    Columns ``f``, ``n``, ``seed``, ``risk`` and ``excess`` over the limit, both over the function's variance.
    """
    known = functions()

    def one(f: str, n: int, seed: int) -> tuple[float, float]:
        function = known[f]
        queries, law = _plane() if f == "x_1 x_2" else (_T[:, None], _LINE)
        x = stream(seed, "monte carlo").standard_normal((most, queries.shape[1]))[:n]
        values, predicted = function.f(x), []
        for query in queries:  # one at a time stays in the cache
            weights = (function.w if w is None else w) * (x @ query)
            weights = np.exp(weights - weights.max())
            predicted.append(values @ weights / weights.sum())
        risk = float(law @ (np.array(predicted) - function.f(queries)) ** 2)
        return risk / function.power, (risk - function.limit) / function.power

    return measured(one, ["risk", "excess"], f=names, n=lengths, seed=range(seeds))


def _plane() -> tuple[Array, Array]:
    node, weight = np.polynomial.hermite_e.hermegauss(8)
    law = np.outer(weight, weight).ravel() / weight.sum() ** 2
    return np.stack(np.meshgrid(node, node), -1).reshape(-1, 2), law


def mean_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """Return means over the seeds of `sampled_risks`: ``f``, ``n``, ``mean``, ``low`` and ``high``."""
    rows = [
        (*setting, *map(float, t_interval(group.risk)))
        for setting, group in risks.groupby(["f", "n"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["f", "n", "mean", "low", "high"])


def recovered_limits() -> pd.DataFrame:
    """Return the limit of the risk, over the variance, of two functions that it recovers.

    Columns ``f``, ``value`` and ``error``, by sums over lattices of two widths.
    """
    a = np.sqrt(2 * np.pi)
    known: dict[str, tuple[Callable[[Array], Array], float]] = {
        "Phi at w = sqrt(2)": (ndtr, np.sqrt(2)),
        "exp(ax) cos(ax) at w = 1": (lambda x: np.exp(a * x) * np.cos(a * x), 1.0),
    }

    def left(f: str, step: float) -> float:
        function, w = known[f]
        x = np.arange(-20, 20 + step, step)
        p = np.exp(-x * x / 2)
        p /= p.sum()
        missed = function(x) - p @ function(x[:, None] + w * x)
        return float(p @ missed**2 / (p @ function(x) ** 2 - (p @ function(x)) ** 2))

    return measured(lambda f: (left(f, 0.2), abs(left(f, 0.2) - left(f, 0.25))), ["value", "error"], f=known)


# ---------------------------------------------------------------- against linear attention


def _with_intercept(d: int, n: Any, sigma: Any, b: float) -> Any:
    # to linear attention an intercept is label noise, and a part that it misses
    return gaussian_linear_optimum(d, n, np.hypot(sigma, b)).risk + b**2


def over_linear(
    dims: Sequence[int], lengths: Sequence[float], sigmas: Sequence[float], intercept: float = 0.0
) -> pd.DataFrame:
    """Return the least risk of softmax attention over that of linear attention.

    Softmax attention does not notice an intercept, as its weights sum to one. Columns ``d``, ``n``,
    ``sigma``, ``softmax`` and ``linear``, the risks, ``value``, their ratio, and ``error``.
    """

    def one(d: int) -> tuple[Any, ...]:
        sigma, n = np.meshgrid(sigmas, np.asarray(lengths), indexing="ij")
        risk = gaussian_risk(d, gaussian_window(d, n, sigma).w, n, sigma)
        linear = _with_intercept(d, n, sigma, intercept)
        over = risk.total / linear
        return tuple(x.ravel() for x in (n, sigma, risk.total, linear, over, over * risk.error))

    return measured(one, ["n", "sigma", "softmax", "linear", "value", "error"], d=dims)


def intercept_boundary(dims: Sequence[int], lengths: Sequence[float], sigma: float) -> pd.DataFrame:
    """Return the intercept at which softmax and linear attention have the same risk: ``d``, ``n``, ``b``."""

    def one(d: int) -> tuple[Array, Array]:
        n = np.asarray(lengths, dtype=float)
        risks = gaussian_window(d, n, sigma).risk

        def root(length: float, risk: float) -> float:
            return float(brentq(lambda b: _with_intercept(d, length, sigma, b) - risk, 0, 3))

        return n, np.array([root(*both) for both in zip(n, risks, strict=True)])

    return measured(one, ["n", "b"], d=dims)


def value_scale(dims: Sequence[int], sigmas: Sequence[float], n: float = 1e12) -> pd.DataFrame:
    """Return the risk at w^2 = 1 / (d + 2) over that of linear attention and (1 + 2 / d)^(d / 2 + 1).

    Columns ``d``, ``sigma``; ``free``, with the best factor of the prediction, ``fixed``, with one, and their
    errors.
    """

    def one(d: int) -> tuple[Any, ...]:
        w = (d + 2.0) ** -0.5
        scale = gaussian_linear_optimum(d, n, sigmas).risk * (1 + 2 / d) ** (d / 2 + 1)
        best, risk = gaussian_best_scale(d, w, n, sigmas), gaussian_risk(d, w, n, sigmas)
        free, fixed = best.risk / scale, risk.total / scale
        return np.asarray(sigmas), free, free * best.error, fixed, fixed * risk.error

    return measured(one, ["sigma", "free", "free_error", "fixed", "fixed_error"], d=dims)
