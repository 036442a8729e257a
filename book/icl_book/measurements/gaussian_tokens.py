"""Other measurements of the chapter on Gaussian tokens: convergence, tokens in a ball, nonlinear functions.

The unit is ``M = w I``. Functions are linear with L = 1 unless said otherwise. Labels have no noise. A limit
is that of the risk as n grows without end. A floor is the least limit over all w.

Symbols:
    x_i, x_q: Tokens and query in R^d, standard normal unless said otherwise.
    omega_i: The weight of token i, ``exp(w x_i.x_q)`` over the sum of these.
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

MAX_W = 1e6

#: The ball's best window is searched between these.
_BALL_W = 0.01, MAX_W
#: Gauss nodes on a panel, for the rule that is used and for a coarser rule that estimates its error.
_ORDER, _COARSE = 16, 12


def distance_exponents(*, dims: Sequence[int], w_values: Sequence[float]) -> pd.DataFrame:
    """Return the exponents with which ``D = E |sum_i omega_i x_i - w x_q|^2`` falls in n.

    ``raw`` is the exponent of D. ``value`` is that of D after division by the power of log n in the chapter's
    theorem, which is ``(log n)^(d/2)`` if ``w^2 > 1/2``, and one if not. ``one_length`` is the exponent of D
    at queries of length sqrt(d) only.
    """
    lengths = np.array([1e28, 1e30])
    log_n = np.log(lengths)
    step = log_n[1] - log_n[0]
    rows = []
    for dim, w in product(dims, w_values):
        found = gaussian_distance(dim, w, lengths)
        fallen = np.log(found.distance[0] / found.distance[1])
        power = dim / 2 if w**2 > 0.5 else 0.0
        # This is the standard deviation of the scores w x_i.x_q at a query of length sqrt(d).
        tau = w * dim**0.5
        at_one_length = []
        for n in lengths:
            # By Stein's lemma D at such a query is dim A + tau^2 (A - 6 B). Here A = E p_2 and
            # B = E p_3 - E p_2^2, with p_k = sum_i omega_i^k.
            A, B = weight_moments(np.array([tau]), float(n))[:2, 0]
            at_one_length.append(dim * A + tau**2 * (A - 6 * B))
        # A relative error of D is an absolute error of log D.
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
    """The best w for infinitely many tokens in the unit ball, and the limit of the risk with this w.

    The limit ``risk`` is divided by the variance of f. ``error`` is the estimated relative error of ``w`` and
    of ``risk``.
    """

    w: float
    risk: float
    error: float


def least_ball_limit(dim: int) -> BallLimit:
    """Find the w with the least limit of the risk, for tokens uniform in the unit ball of R^d, d <= 64.

    The query is uniform in the ball, too. Functions are ``f(x) = beta . x``, where ``E beta beta'`` is a
    multiple of the identity. Let the query be ``x_q = r u`` with |u| = 1. As n grows, the prediction tends to
    the mean of ``beta . x`` for x with the density ``exp(w x . x_q)`` in the ball. With s = w r this mean is
    ``A(s) beta . u``, where A is the derivative of the logarithm of ::

        E exp(s u . x) = Gamma(d/2 + 1) (2 / s)^(d/2) I_{d/2}(s).

    So ``A = I_{d/2+1} / I_{d/2}``, which is the mean resultant length on the sphere in d + 2 dimensions. The
    limit of the risk, over the variance of f, is ::

        E (r - A(w r))^2 / E r^2,   where r has the density d r^(d-1).

    A is strictly concave, so that A(w r) = r for all r is impossible, and a floor remains.

    >>> best = least_ball_limit(5)
    >>> round(best.w, 3), round(best.risk, 5)  # the best w is finite, and 1.6 % of the variance remains
    (18.891, 0.0155)
    """
    dim = integer(dim, "dim", 1, 64)
    grid = np.geomspace(*_BALL_W, 161)
    # For d up to 64 the best w is between the neighbors of the best point of the grid.
    best = int(np.argmin([_evaluate_ball_limit(dim, float(w), _ORDER)[0] for w in grid]))
    low, high = grid[best - 1], grid[best + 1]

    def solve(order: int) -> tuple[float, float]:
        """Return the w at which the slope of the limit is zero, and the limit there."""
        w = brentq(lambda v: _evaluate_ball_limit(dim, v, order)[1], low, high, xtol=1e-13)
        return w, _evaluate_ball_limit(dim, w, order)[0]

    w, risk = solve(_ORDER)
    coarse_w, coarse_risk = solve(_COARSE)
    changes = abs(coarse_w / w - 1), abs(coarse_risk / risk - 1)
    return BallLimit(w, risk, max(*changes, float(np.finfo(float).eps)))


def _evaluate_ball_limit(dim: int, w: float, order: int) -> tuple[float, float]:
    """Return the limit of the risk, divided by the variance of f, and the slope of this quotient in w."""
    # A(w r) is nearly linear for r below 1 / w, and bends beyond. So the first panel ends at 1 / w, or at
    # 1 / 2 if w < 2. Each later panel ends at most at twice its start, and the last one ends at 1.
    last_edge = max(w, 2)
    panels = int(np.ceil(np.log2(last_edge)))
    edges = np.concatenate([[0.0], np.geomspace(1, last_edge, panels + 1) / last_edge])
    r, weight = gauss_panels(edges, order)
    p = weight * dim * r ** (dim - 1)
    s = w * r
    length = resultant_length(dim + 2, s)
    # `length` is A(s), and this is the derivative A'(s).
    length_slope = 1 - length**2 - (dim + 1) * length / s
    missed = r - length
    mean_square_r = dim / (dim + 2)
    limit = float(p @ missed**2) / mean_square_r
    slope = float(-2 * p @ (missed * r * length_slope)) / mean_square_r
    return limit, slope


def ball_limits(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the best w for infinitely many tokens in the unit ball, and the floor, by `least_ball_limit`."""
    rows = []
    for dim in dims:
        ball = least_ball_limit(dim)
        for what, value in (("window", ball.w), ("floor", ball.risk)):
            row = {"what": what, "dim": dim, "value": value}
            rows.append(row | {"error": value * ball.error})
    return pd.DataFrame(rows)


def sphere_limits(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the limit of the risk on the unit sphere at w = `MAX_W`, divided by the variance of f.

    On the sphere the limit falls to zero as w grows, so w is the largest one that is searched in the ball.
    """
    rows = []
    for dim in dims:
        # In the limit, the weighted mean of the tokens has this distance from the query.
        missed = float(1 - resultant_length(dim, MAX_W))
        row = {"what": "sphere", "dim": dim, "value": missed**2}
        rows.append(row | {"error": 2 * missed * np.finfo(float).eps})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Recovered:
    """A function of Gaussian tokens, with the best w and the risk for infinitely many of them."""

    #: The function, which takes tokens (tokens, coordinates).
    f: Callable[[Array], Array]
    w: float
    #: The risk with this w.
    limit: float
    variance: float


#: Queries in one dimension, a grid from -5 to 5, and their probabilities, those of the normal law.
QUERIES = np.arange(-20, 21) / 4
LAW = np.exp(-QUERIES * QUERIES / 2) / np.exp(-QUERIES * QUERIES / 2).sum()


@cache
def functions() -> dict[str, Recovered]:
    """Return the functions whose risks are sampled, by their names.

    The function ``x_1 x_2`` has tokens with two coordinates, the others with one. At a query t in one
    dimension the prediction tends to ``E f(z + w t)`` with a normal z.

    For the Hermite polynomials ``He_2 = z^2 - 1`` and ``He_3 = z^3 - 3 z``, k = 2 and 3, the prediction tends
    to ``(w t)^k``. The best w satisfies ``w^k = k! / (2 k - 1)!!``, and its risk is
    ``k! (1 - k! / (2 k - 1)!!)``.
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
    """Sample the risk of one of the `functions`, divided by the variance of this function.

    One context is drawn. With the same seed, a longer context begins with the same tokens. Queries are not
    drawn: the risk is a mean over `QUERIES`, or in two dimensions over the nodes of a Gauss rule.
    """
    function = functions()[name]
    # These are the weights of all tokens, (n,), for one query after another. They do not sum to one.
    weights: Iterable[Array]
    is_product = name == "x_1 x_2"
    x = stream(seed, "monte carlo").standard_normal((n, 2 if is_product else 1))
    values = function.f(x)
    # Products of few exponentials are faster than one exponential for each weight.
    if is_product:
        # Each coordinate of the query has eight Gauss nodes of the normal law.
        node, mass = np.polynomial.hermite_e.hermegauss(8)
        queries = np.stack(np.meshgrid(node, node), -1).reshape(-1, 2)
        law = np.outer(mass, mass).ravel() / mass.sum() ** 2
        # For each coordinate these are the factors exp(w * token * node) of the weights, (nodes, n).
        along_1, along_2 = np.exp(w * x.T[:, None] * node[:, None])
        # The first coordinate of the queries runs fastest.
        weights = (by_1 * by_2 for by_2, by_1 in product(along_2, along_1))
    else:
        queries, law = QUERIES[:, None], LAW
        # Queries are equidistant. So the weights at a query, times `factor`, are those at the next query.
        first, factor = np.exp(w * x[:, 0] * np.array([[QUERIES[0]], [QUERIES[1] - QUERIES[0]]]))
        weights = accumulate([first, *[factor] * (len(queries) - 1)], np.multiply)
    predicted = [values @ each / each.sum() for each in weights]
    missed = np.array(predicted) - function.f(queries)
    return float(law @ missed**2) / function.variance


def sampled_risks(*, names: Sequence[str], n_values: Sequence[int], seeds: int) -> pd.DataFrame:
    """Return sampled risks of `functions` at the w that is best for infinitely many tokens.

    ``excess`` is by how much ``risk`` exceeds its limit for infinitely many tokens.
    """
    rows = []
    for name, n, seed in product(names, n_values, range(seeds)):
        function = functions()[name]
        risk = sampled_risk(name, n=n, seed=seed, w=function.w)
        row = {"function": name, "n": n, "seed": seed, "risk": risk}
        rows.append(row | {"excess": risk - function.limit / function.variance})
    return pd.DataFrame(rows)


def mean_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """Average the table of `sampled_risks` over the seeds, with the `t_interval` of the mean."""
    rows = []
    for (name, n), part in risks.groupby(["function", "n"], sort=False):
        mean, low, high = t_interval(part.risk.to_numpy())
        row = {"function": name, "n": n, "mean": float(mean)}
        rows.append(row | {"low": float(low), "high": float(high)})
    return pd.DataFrame(rows)
