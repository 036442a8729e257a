"""Other measurements of the chapter on Gaussian tokens: distance from the limit, ball, nonlinear functions.

The unit is ``M = w I``, and functions are linear with L = 1 unless said otherwise. Labels have no noise.

Symbols:
    x_i, x_q: Tokens and query in R^d, standard normal unless said otherwise; d is ``dim``.
    omega_i: The weight of token i, ``exp(w x_i.x_q)`` over the sum of these.
    n: The number of tokens beside the query. A limit is that of the risk as n grows without end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from icl.checks import integer
from icl.risk import gaussian_distance
from icl.risk.asymptotics import resultant_length
from icl.risk.numerics.gaussian_moments import weight_moments
from icl.risk.numerics.quadrature import gauss_panels
from icl.streams import stream
from icl_book.statistics import t_interval

Array = NDArray[np.float64]

#: The scan of the ball's windows ends here.
MAX_W = 1e6

#: The ball's best window is searched between these.
_BALL_W = 0.01, MAX_W
#: Gauss nodes on a panel, and those of the coarser rule that estimates the error.
_ORDER, _COARSE = 16, 12


def distance_exponents(*, dims: Sequence[int], w_values: Sequence[float]) -> pd.DataFrame:
    """Return local exponents of ``E |sum omega_i x_i - w x_q|^2`` in 1 / n, from n = 10^28 to 10^30.

    Returns:
        Columns ``dim, w``; ``raw``, the exponent as it is; ``value``, the exponent after a power of log n is
        divided out, that of the chapter's theorem on the distance, ``(log n)^(d/2)`` for ``w^2 > 1/2`` and
        none else; the absolute ``error`` of both; ``one_length``, the exponent at queries of the one length
        sqrt(d) in place of all.
    """
    lengths = np.array([1e28, 1e30])
    log_n = np.log(lengths)
    step = log_n[1] - log_n[0]
    rows = []
    for dim, w in product(dims, w_values):
        found = gaussian_distance(dim, w, lengths)
        fallen = np.log(found.distance[0] / found.distance[1])
        power = dim / 2 if w**2 > 0.5 else 0.0
        # This is the standard deviation of the scores w x_i.x_q at a query of this length.
        tau = w * dim**0.5
        at_one_length = []
        for n in lengths:
            # By Stein's lemma the distance at this length is dim C + tau^2 (C - 6 D), where C = E p_2 and
            # D = E p_3 - E (p_2^2) with p_k = sum_i omega_i^k.
            C, D = weight_moments(np.array([tau]), float(n))[:2, 0]
            at_one_length.append(dim * C + tau**2 * (C - 6 * D))
        rows.append(
            {
                "dim": dim,
                "w": w,
                "raw": fallen / step,
                "value": (fallen + power * np.log(log_n[1] / log_n[0])) / step,
                "error": float(found.error.sum() / step),
                "one_length": np.log(at_one_length[0] / at_one_length[1]) / step,
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class BallLimit:
    """The window w with the least limit of the risk on tokens in the ball, and this limit, the ``risk``.

    The risk is in units of the variance of f. ``error`` is the estimated relative error of both: what a
    coarser rule changes, and rounding.
    """

    w: float
    risk: float
    error: float


def least_ball_limit(dim: int) -> BallLimit:
    r"""Find the window with the smallest limit of the risk on tokens uniform in the unit ball, d <= 64.

    Tokens and query are uniform in the unit ball of R^d, ``f(x) = beta . x`` with ``E beta beta'`` a multiple
    of the identity. The prediction at a query of length r tends to ``beta . x`` averaged with the density
    ``exp(w x . x_q)``, the gradient of the logarithm of ::

        E exp(s u . x) = Gamma(d/2 + 1) (2 / s)^(d/2) I_{d/2}(s),   |u| = 1, s = w r:

    it is ``A(s) beta . u`` with ``A = I_{d/2+1} / I_{d/2}``, the mean resultant length on the sphere in d + 2
    dimensions, whose projection the ball is. In units of the variance of f the limit of the risk is ::

        E (r - A(w r))^2 / E r^2,   with density d r^(d-1) of r.

    A is strictly concave, so that no w makes it the identity; and where w grows without end, A tends to one,
    the length of the longest tokens, for queries of every length. The best w is finite, and a floor remains.
    Label noise does not enter the limit: its part of the risk tends to zero.

    >>> best = least_ball_limit(5)
    >>> round(best.w, 3), round(best.risk, 5)  # the window stops, and 1.6 % of the variance stays
    (18.891, 0.0155)
    """
    dim = integer(dim, "dim", 1, 64)
    grid = np.geomspace(*_BALL_W, 161)
    # For d up to 64 the best is inside the grid, between two neighbors.
    best = int(np.argmin([_evaluate_ball_limit(dim, float(w), _ORDER)[0] for w in grid]))
    bracket = grid[best - 1], grid[best + 1]
    rules = _ORDER, _COARSE
    w, coarse_w = (
        brentq(lambda v, order=order: _evaluate_ball_limit(dim, v, order)[1], *bracket, xtol=1e-13)
        for order in rules
    )
    risk, coarse_risk = (
        _evaluate_ball_limit(dim, w, _ORDER)[0],
        _evaluate_ball_limit(dim, coarse_w, _COARSE)[0],
    )
    changes = abs(coarse_w / w - 1), abs(coarse_risk / risk - 1)
    return BallLimit(w, risk, max(*changes, float(np.finfo(float).eps)))


def _evaluate_ball_limit(dim: int, w: float, order: int) -> tuple[float, float]:
    """Return the limit of the risk and its slope in w, by a Gauss rule on panels of r.

    The panels end at 0, 1 / w or 1 / 2, and then at no more than twice the last end each, up to one.
    """
    # There are at least two panels, [0, 1/2] and [1/2, 1].
    last_edge = max(w, 2)
    edges = np.concatenate(
        [[0.0], np.geomspace(1, last_edge, int(np.ceil(np.log2(last_edge))) + 1) / last_edge]
    )
    r, weight = gauss_panels(edges, order)
    p = weight * dim * r ** (dim - 1)
    s = w * r
    length = resultant_length(dim + 2, s)
    # `length` is A(s) of `least_ball_limit`, and this is A'(s).
    length_slope = 1 - length**2 - (dim + 1) * length / s
    miss = r - length
    # This is E r^2.
    power = dim / (dim + 2)
    return float(p @ miss**2) / power, float(-2 * p @ (miss * r * length_slope)) / power


def ball_limits(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the best window for infinitely many tokens in the unit ball, and the risk it leaves, the floor.

    `least_ball_limit` finds both, the floor in units of the variance of f. Columns ``what`` (window, floor),
    ``dim, value`` and ``error``, which is absolute.
    """
    rows = []
    for dim in dims:
        ball = least_ball_limit(dim)
        for what, value in (("window", ball.w), ("floor", ball.risk)):
            row = {"what": what, "dim": dim, "value": value}
            rows.append(row | {"error": value * ball.error})
    return pd.DataFrame(rows)


def sphere_limits(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the limit of the risk on the unit sphere at w = `MAX_W`, in units of the variance of f.

    Columns ``what`` (sphere), ``dim, value`` and ``error``, the absolute one by rounding.
    """
    rows = []
    for dim in dims:
        # The mean of the tokens under the weights has this distance from the query.
        missed = float(1 - resultant_length(dim, MAX_W))
        row = {"what": "sphere", "dim": dim, "value": missed**2}
        rows.append(row | {"error": 2 * missed * np.finfo(float).eps})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Recovered:
    """A function, its best w for infinitely many Gaussian tokens, the risk that is left, and its variance."""

    f: Callable[[Array], Array]
    w: float
    limit: float
    variance: float


#: Queries in one dimension, and their probabilities: a normal law on a grid.
QUERIES = np.arange(-20, 21) / 4
LAW = np.exp(-QUERIES * QUERIES / 2) / np.exp(-QUERIES * QUERIES / 2).sum()


@cache
def functions() -> dict[str, Recovered]:
    """Return the functions whose floors are sampled; ``x_1 x_2`` has two coordinates, the others one.

    At the query t the prediction tends to ``E f(z + w t)`` with a normal z. For the Hermite polynomials
    ``He_2 = z^2 - 1`` and ``He_3 = z^3 - 3 z`` that is ``(w t)^k``, and the best multiple of t^k,
    ``w^k = k! / (2 k - 1)!!``, leaves the risk ``k! (1 - k! / (2 k - 1)!!)``; for ReLU the least is found on
    a grid of w.
    """
    w = np.linspace(0.2, 1.5, 1301)[:, None]
    density = np.exp(-((w * QUERIES) ** 2) / 2) / np.sqrt(2 * np.pi)
    # This is E max(z + w t, 0) for each w and each query t.
    smooth = w * QUERIES * ndtr(w * QUERIES) + density
    relu = np.maximum(QUERIES, 0)
    limits = (relu - smooth) ** 2 @ LAW
    best = limits.argmin()
    variance = float(LAW @ relu**2 - (LAW @ relu) ** 2)
    return {
        "linear": Recovered(lambda x: x[:, 0], w=1.0, limit=0.0, variance=1.0),
        "He_2": Recovered(
            lambda x: x[:, 0] ** 2 - 1, w=(2 / 3) ** (1 / 2), limit=2 * (1 - 2 / 3), variance=2.0
        ),
        "He_3": Recovered(
            lambda x: x[:, 0] ** 3 - 3 * x[:, 0],
            w=(6 / 15) ** (1 / 3),
            limit=6 * (1 - 6 / 15),
            variance=6.0,
        ),
        "ReLU": Recovered(
            lambda x: np.maximum(x[:, 0], 0),
            w=float(w[best, 0]),
            limit=float(limits[best]),
            variance=variance,
        ),
        "x_1 x_2": Recovered(lambda x: x[:, 0] * x[:, 1], w=1.0, limit=0.0, variance=1.0),
    }


def sampled_risk(name: str, *, n: int, seed: int, w: float) -> float:
    """Sample the risk of one of `functions` over its variance; longer contexts begin with the same tokens.

    The tokens are drawn, one context of n. The queries are not: the risk is a mean over `QUERIES`, or over
    the nodes of a Gauss rule in two dimensions.
    """
    function = functions()[name]
    # There is an array of the weights of all tokens, (n,), for each query.
    weights: Iterable[Array]
    is_product = name == "x_1 x_2"
    x = stream(seed, "monte carlo").standard_normal((n, 2 if is_product else 1))
    values = function.f(x)
    # Weights of all queries are products of few exponentials, in a fifth of the time of one for each query.
    if is_product:
        # Each coordinate of the query has eight Gauss nodes of the normal law.
        node, mass = np.polynomial.hermite_e.hermegauss(8)
        queries = np.stack(np.meshgrid(node, node), -1).reshape(-1, 2)
        law = np.outer(mass, mass).ravel() / mass.sum() ** 2
        # For each coordinate these are exp(w times token times node), (nodes, n).
        along_1, along_2 = np.exp(w * x.T[:, None] * node[:, None])
        # The first coordinate of the queries runs fastest.
        weights = (by_1 * by_2 for by_2, by_1 in product(along_2, along_1))
    else:
        queries, law = QUERIES[:, None], LAW
        # From each of these equidistant queries to the next one the weights grow by the factors `step`.
        start, step = np.exp(w * x[:, 0] * np.array([[QUERIES[0]], [QUERIES[1] - QUERIES[0]]]))
        weights = accumulate([start, *[step] * (len(queries) - 1)], np.multiply)
    predicted = [values @ each / each.sum() for each in weights]
    missed = np.array(predicted) - function.f(queries)
    return float(law @ missed**2) / function.variance


def sampled_risks(*, names: Sequence[str], n_values: Sequence[int], seeds: int) -> pd.DataFrame:
    """Return sampled risks at the best w: ``function, n, seed, risk``, and ``excess`` over the limit.

    Both are over the function's variance.
    """
    rows = []
    for name, n, seed in product(names, n_values, range(seeds)):
        function = functions()[name]
        risk = sampled_risk(name, n=n, seed=seed, w=function.w)
        row = {"function": name, "n": n, "seed": seed, "risk": risk}
        rows.append(row | {"excess": risk - function.limit / function.variance})
    return pd.DataFrame(rows)


def mean_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """Return means over the seeds of sampled risks: ``function, n, mean, low, high``, by `t_interval`."""
    rows = []
    for (name, n), part in risks.groupby(["function", "n"], sort=False):
        mean, low, high = t_interval(part.risk.to_numpy())
        row = {"function": name, "n": n, "mean": float(mean)}
        rows.append(row | {"low": float(low), "high": float(high)})
    return pd.DataFrame(rows)
