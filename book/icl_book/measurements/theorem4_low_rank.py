"""Theorem 4 over all matrices, and, for Figure 9 of the talk, functions of B'x behind a link.

- ``dim`` and ``rank`` are d and k. B has k orthonormal columns, which span the *subspace*. The columns of
  B_perp span its orthogonal *complement*.
- Tokens are ``x = B u + B_perp v``, where ``u`` and ``v`` are independent and uniform on unit spheres. Tokens
  "on one sphere" are uniform on the unit sphere of R^d instead.
- The functions of the theorem are ``a'B'x`` with ``a`` uniform on the unit sphere (`icl.risk.low_rank`).
- A unit has the matrix M = c BB' + e (I - BB'). It is w I for c = e = w.
- The *law* is the formula for the best window in long contexts, `icl.risk.asymptotics.sharp_window`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ive, roots_jacobi

from icl.covariates import LowRank
from icl.pretrain import train_grid
from icl.pretrain.metrics import evaluation_error, outside_share
from icl.risk import asymptotics, low_rank_risk, optimal_window, population_risk
from icl.risk.numerics.integrals import attended_gegenbauer_means
from icl.streams import stream
from icl.tasks import Cosine, Linear, Projected, Quadratic, Zonal
from icl_book.measurements import tabulate_record

Array = NDArray[np.float64]

#: A link is the function of B'x. Each name has a call that makes the class of this link in dimension k.
LINKS: dict[str, Callable[[int], Zonal]] = {
    "affine": lambda rank: Linear(rank, 1.0, 2.0),
    "quadratic": Quadratic,
    "cosine": lambda rank: Cosine(rank, 4.0),
    "affine without +2": lambda rank: Linear(rank, 1.0),
}
#: The links on the slide, and those of them that are even functions.
PRINTED = ("affine", "quadratic", "cosine")
EVEN = ("quadratic", "cosine")


def least_isotropic(dim: int, rank: int, *, n: float, noise_std: float) -> tuple[float, float]:
    """Return the w of the least risk of M = w I, with a relative error of 1e-3, and this risk."""
    found = minimize_scalar(
        lambda log_w: np.log(
            low_rank_risk(dim, rank, np.exp(log_w), np.exp(log_w), n, noise_std).total
        ),
        bounds=(0.0, 4.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x)), float(np.exp(found.fun))


def risks_over_grid(dim: int, rank: int, *, n: int, noise_std: float, c: Array, e: Array) -> Array:
    """Return the exact risk of c BB' + e (I - BB') relative to the least risk of c BB' with any c, minus one.

    The axes of the result are e and c.
    """
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    least = optimal_window(Linear(rank), n, noise_std).risk
    risks = [
        [low_rank_risk(dim, rank, c_value, e_value, n, noise_std).total for c_value in c]
        for e_value in e
    ]
    return np.array(risks) / least - 1


def lipschitz_quotient(dim: int, rank: int, *, inside: float) -> float:
    """Estimate the Lipschitz constant of the functions a'B'x along a unit vector s with |B's|^2 = ``inside``.

    It is the largest quotient |f(s s'x) - f(s s'y)| / |s'x - s'y| over pairs of random points, for the
    steepest f along s. This is the f whose ``a`` has the direction of B's.
    """
    rng = stream(dim, "tasks", rank)
    Q = np.linalg.qr(rng.standard_normal((dim, dim))).Q
    B = Q[:, :rank]
    s = np.sqrt(inside) * Q[:, 0] + np.sqrt(1 - inside) * Q[:, -1]
    # If B's is zero, all functions are constant along s, and any ``a`` will do.
    a = np.eye(rank)[0]
    if inside > 0:
        a = B.T @ s / np.linalg.norm(B.T @ s)
    # These are s'x and f(s s'x).
    along = rng.standard_normal((200, dim)) @ s
    values = along * (a @ B.T @ s)
    i, j = np.triu_indices(200, k=1)
    quotients = (values[i] - values[j]) / (along[i] - along[j])
    return float(np.abs(quotients).max())


#: The values of c and of e at which risks are compared.
C_GRID = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
E_GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def complement_gains(
    dim: int,
    rank: int,
    *,
    settings: Sequence[tuple[int, float]],
    bound: float = np.inf,
    whole: bool = False,
) -> pd.DataFrame:
    """Compare the exact risk with e > 0 and the exact risk with e = 0, for the same c.

    ``settings`` are pairs of a context length and a ``noise_std``. The c of `C_GRID` are compared up to
    ``bound``. If ``whole`` is true, the functions are a'B'x + b'B_perp'x, with ``b`` uniform on the unit
    sphere. ``value`` is the smallest ratio over c and e of the risk with e > 0 to that with e = 0, minus one.
    """
    n = np.array([n for n, _ in settings])
    noise_std = np.array([noise_std for _, noise_std in settings])

    def risk(c: float, e: float) -> tuple[Array, Array]:
        found = low_rank_risk(dim, rank, c, e, n, noise_std)
        if not whole:
            return found.total, found.error
        # For b'B_perp'x the subspace and its complement change places. `found` has the noise term already.
        in_complement = low_rank_risk(dim, dim - rank, e, c, n, noise_std)
        # The relative error of a sum of positive terms is at most the largest one of its terms.
        return found.total + in_complement.bias, np.maximum(found.error, in_complement.error)

    values = []
    errors = []
    for c in C_GRID:
        if c > bound:
            break
        without_e, error_without_e = risk(c, 0.0)
        for e in E_GRID:
            with_e, error_with_e = risk(c, e)
            ratio = with_e / without_e
            values.append(ratio - 1)
            # The errors of the risks are relative, and that of the ratio is absolute.
            errors.append(ratio * (error_with_e + error_without_e))
    # The axes of `values` are pairs (c, e) and settings.
    smallest = np.argmin(values, axis=0)
    rows = [
        {
            "dim": dim,
            "rank": rank,
            "n": int(n[i]),
            "noise_std": noise_std[i],
            "value": values[place][i],
            "error": errors[place][i],
        }
        for i, place in enumerate(smallest)
    ]
    return pd.DataFrame(rows)


def one_sphere_risk(
    dim: int, rank: int, c: float, e: float, n: float, noise_std: float
) -> tuple[float, float]:
    """Return the exact risk of c BB' + e (I - BB') for tokens on one sphere, and its relative error.

    The weights are those of the scores ``x_i . z`` with z = M x_q. The length K of z depends only on
    r = |B'x_q|. Given K, the risk is a formula in four means over contexts, see `_interpolate_moments`. What
    is left is an integral over r^2, whose law is Beta(k/2, (d-k)/2). n may be infinite.

    The error is the change by a Gauss rule with fewer nodes, plus 1e-9 for errors that both rules share, such
    as rounding.
    """
    fine, coarse = (
        _integrate_one_sphere(dim, rank, c, e, n, noise_std, nodes=nodes) for nodes in (40, 24)
    )
    return fine, abs(coarse / fine - 1) + 1e-9


def _integrate_one_sphere(
    dim: int, rank: int, c: float, e: float, n: float, noise_std: float, *, nodes: int
) -> float:
    """Return the risk of `one_sphere_risk` by a Gauss rule with ``nodes`` nodes in r^2."""
    # Up to constants this is the Gauss rule of the law of r^2, on [-1, 1] instead of [0, 1].
    node, weight = roots_jacobi(nodes, (dim - rank) / 2 - 1, rank / 2 - 1)
    # These are the values of r^2.
    squares = (1 + node) / 2
    K = np.sqrt(c**2 * squares + e**2 * (1 - squares))
    along, along_square, square, noise = _interpolate_moments(dim, n, K, nodes // 2)
    # These are |B'z|^2 / K^2 and B'z . B'x_q / K. Where K is zero, all weights are equal. The direction of z
    # then does not matter, and both numbers are set to zero.
    inside = np.divide(c**2 * squares, K**2, out=np.zeros_like(K), where=K > 0)
    cosine = np.divide(c * squares, K, out=np.zeros_like(K), where=K > 0)
    # Let m = sum_i omega_i x_i. Along z its mean square is `along_square`, and in each direction orthogonal
    # to z it is `across`, because tokens are symmetric around z.
    across = (square - along_square) / (dim - 1)
    # This is E |B'm|^2. In an orthonormal basis with z / K the squared lengths of the projections on the
    # subspace have the sum `rank`, and that of z / K is `inside`.
    spread = along_square * inside + across * (rank - inside)
    # The bias is E |B'm - B'x_q|^2 / k, a mean over a.
    error = (spread - 2 * along * cosine + squares) / rank + noise_std**2 * noise
    return float(weight @ error / weight.sum())


def _interpolate_moments(dim: int, n: float, K: Array, nodes: int) -> Array:
    """Return four means over contexts of n tokens on one sphere, for each K: shape (4, len(K)).

    The weights omega_i are proportional to exp(x_i . z) with |z| = K, and m = sum_i omega_i x_i. The means
    are E m.z / K, E (m.z / K)^2, E |m|^2 and E sum_i omega_i^2. If n is finite, they are interpolated in K
    between ``nodes`` Chebyshev nodes in each panel of `_fit_moments`.
    """
    if np.isinf(n):
        # The weighted tokens have the law of von Mises and Fisher. Its mean is m, which is parallel to z.
        mean = ive(dim / 2, K) / ive(dim / 2 - 1, K)
        return np.array([mean, mean**2, mean**2, 0 * K])
    found = np.empty((4, K.size))
    # `frexp` returns the p with 2^(p - 1) <= K < 2^p, and panel p ends at 2^p.
    panels = np.maximum(0, np.frexp(K)[1])
    for panel in np.unique(panels):
        in_panel = panels == panel
        low, high, table = _fit_moments(dim, n, int(panel), nodes)
        t = 2 * (K[in_panel] - low) / (high - low) - 1
        mean, second_moment, square, noise = chebyshev.chebval(t, table)
        slope = chebyshev.chebval(t, chebyshev.chebder(table[:, 0])) * 2 / (high - low)
        # The derivative of E m.z / K in K is the mean variance of x_i.z / K under the weights, which is
        # E sum_i omega_i (x_i.z / K)^2 - E (m.z / K)^2.
        found[:, in_panel] = mean, second_moment - slope, square, noise
    return found


@lru_cache(maxsize=256)
def _fit_moments(dim: int, n: float, panel: int, nodes: int) -> tuple[float, float, Array]:
    """Return both ends of a panel of K, and the Chebyshev coefficients of four means there.

    Panel 0 is the interval [0, 1] of K, and panel p > 0 is [2^(p - 1), 2^p]. The coefficients have a column
    for each mean: E m.z / K, E sum_i omega_i (x_i.z / K)^2, E |m|^2 and E sum_i omega_i^2. The letters are
    those of `_interpolate_moments`.
    """
    low = 0.0 if panel == 0 else 2.0 ** (panel - 1)
    high = 2.0**panel
    angles = np.pi * (np.arange(nodes) + 0.5) / nodes
    K = low + (high - low) / 2 * (1 + np.cos(angles))
    polynomials = np.array([attended_gegenbauer_means(dim, k, n, 2) for k in K])
    # The weights exp(x_i . z) are those of the window w = K for a query x_q = z / K. There the bias of linear
    # functions is E |m - x_q|^2 / d, and the Gegenbauer polynomial P_2(t) is (d t^2 - 1) / (d - 1).
    # With a noise_std of one the noise of the risk is E sum_i omega_i^2.
    risk = population_risk(Linear(dim), K, n, 1.0)
    mean = polynomials[:, 0]
    second_moment = ((dim - 1) * polynomials[:, 1] + 1) / dim
    square = dim * risk.bias + 2 * mean - 1
    # This matrix turns values at the Chebyshev nodes into coefficients.
    transform = 2 / nodes * np.cos(np.outer(np.arange(nodes), angles))
    transform[0] /= 2
    return low, high, transform @ np.column_stack([mean, second_moment, square, risk.noise])


def one_sphere_gains(
    dim: int,
    rank: int,
    *,
    settings: Sequence[tuple[float, float]],
    bound: float | None = None,
) -> pd.DataFrame:
    """Compare the risk with e > 0 and the risk with e = 0 for tokens on one sphere and the same c.

    ``settings`` are pairs of a context length, which may be infinite, and a ``noise_std``. If ``bound`` is
    given, c is each positive number of `C_GRID` below it, and ``bound`` itself. Otherwise c is the best one
    for e = 0. ``value`` is the smallest ratio over c and e of the risk with e > 0 to that with e = 0, minus
    one.
    """
    rows = []
    for n, noise_std in settings:
        if bound is None:
            scales = [best_scale(dim, rank, n, noise_std)]
        else:
            scales = [c for c in C_GRID if 0 < c < bound]
            scales.append(bound)
        gains = []
        for c in scales:
            without_e, error_without_e = one_sphere_risk(dim, rank, c, 0.0, n, noise_std)
            for e in E_GRID:
                with_e, error_with_e = one_sphere_risk(dim, rank, c, e, n, noise_std)
                ratio = with_e / without_e
                # The errors of the risks are relative, and that of the ratio is absolute.
                gains.append((ratio - 1, ratio * (error_with_e + error_without_e)))
        value, error = min(gains)
        length = "infinity" if np.isinf(n) else n
        row = {"dim": dim, "rank": rank, "n": length, "noise_std": noise_std}
        rows.append(row | {"value": value, "error": error})
    return pd.DataFrame(rows)


def best_scale(dim: int, rank: int, n: float, noise_std: float) -> float:
    """Return the best c of M = c BB' for tokens on one sphere, with a relative error of 1e-3."""
    found = minimize_scalar(
        lambda log_c: one_sphere_risk(dim, rank, np.exp(log_c), 0.0, n, noise_std)[0],
        bounds=(-2.0, 4.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))


def change_of_sign(dim: int, rank: int) -> float:
    """Return the c above which e = c / 100 has a lower risk than e = 0.

    Tokens are on one sphere, n is infinite, and labels have no noise.
    """

    def gain(c: float) -> float:
        with_e, _ = one_sphere_risk(dim, rank, c, 0.01 * c, np.inf, 0.0)
        without_e, _ = one_sphere_risk(dim, rank, c, 0.0, np.inf, 0.0)
        return with_e / without_e - 1

    return float(brentq(gain, dim, 3 * dim))


def scale_on_one_sphere(dim: int, rank: int, *, n: float, noise_std: float) -> dict[str, float]:
    """Return the best c of M = c BB' for tokens on one sphere, and whether the risk falls from c = 0 to it.

    ``step`` is the largest ratio of the risk after a step of c to the risk before it, minus one. It is below
    zero if the risk falls in each step.
    """
    best = best_scale(dim, rank, n, noise_std)
    risks, errors = np.transpose(
        [one_sphere_risk(dim, rank, c, 0.0, n, noise_std) for c in np.linspace(0, best, 17)]
    )
    ratios = risks[1:] / risks[:-1]
    worst = ratios.argmax()
    return {
        "dim": dim,
        "rank": rank,
        "n": n,
        "noise_std": noise_std,
        "best": best,
        # This is twice the error of the search.
        "best_error": 2e-3 * best,
        "step": ratios[worst] - 1,
        # The errors of the risks are relative, and that of a ratio is absolute.
        "step_error": (ratios * (errors[1:] + errors[:-1]))[worst],
    }


def steepest_step(rank: int, *, n: int, noise_std: float) -> dict[str, float]:
    """Return whether the risk of M = c BB' falls until the best c, for tokens x = B u + B_perp v.

    ``value`` is the largest ratio of the risk after a step of c to the risk before it, minus one. It is below
    zero if the risk falls in each step.
    """
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    task = Linear(rank)
    best = optimal_window(task, n, noise_std)
    risk = population_risk(task, np.linspace(0, best.w, 33), n, noise_std)
    ratios = risk.total[1:] / risk.total[:-1]
    # The errors of the risks are relative, and that of a ratio is absolute.
    errors = ratios * (risk.error[1:] + risk.error[:-1])
    worst = ratios.argmax()
    return {"value": ratios[worst] - 1, "error": errors[worst]}


def risk_slope(rank: int) -> dict[str, float]:
    """Return the slope in log n of the log of the least risk of M = c BB', for noise of the variance one.

    The slope is between the two lengths at which the law says 3e4 and 1e5 for the best c.
    """
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    task = Linear(rank)
    n = asymptotics.sharp_context(task, [3e4, 1e5], 1.0)
    best = optimal_window(task, n, 1.0)
    step = np.log(n[1] / n[0])
    return {
        "value": np.log(best.risk[1] / best.risk[0]) / step,
        # At the best c the risk is flat. So the relative error of c stands for that of the least risk.
        "error": best.error.sum() / step,
    }


def isotropic_slope(dim: int, rank: int) -> dict[str, float]:
    """Return the slope in log n of the log of the least risk of M = w I, for noise of the variance one."""
    risks = []
    # These are relative errors of the risks, which are absolute errors of their logarithms.
    errors = []
    for n in (1e4, 9e4):
        w, least = least_isotropic(dim, rank, n=n, noise_std=1.0)
        # The search stops within 1e-3 of the best log w. The risk there is above the least risk by less than
        # the risk changes over another 1e-3.
        neighbors = [
            low_rank_risk(dim, rank, neighbor, neighbor, n, 1.0)
            for neighbor in (w * np.exp(-1e-3), w * np.exp(1e-3))
        ]
        risks.append(least)
        errors.append(max(abs(float(risk.total) / least - 1) for risk in neighbors))
        errors.append(max(float(risk.error) for risk in neighbors))
    return {
        "value": float(np.log(risks[1] / risks[0]) / np.log(9)),
        "error": float(sum(errors) / np.log(9)),
    }


def train_behind_links(
    links: Sequence[str],
    *,
    dim: int,
    rank: int,
    activation: str,
    learning_rate: float,
    noise_std: float,
    context_length: int,
    record: Sequence[int],
    test_contexts: int,
    **training: Any,
) -> pd.DataFrame:
    """Train softmax or linear attention from M = 0 on functions of B'x, with a random B.

    Units of one seed see the same tokens, whatever the link. ``learning_rate`` is only for linear attention.
    ``record`` has the steps at which units are recorded, and the training ends at the last of them. The table
    has a row for each link, recorded step and seed. ``share`` is the part of M outside the subspace as a
    share of M (`icl.pretrain.metrics.outside_share`). ``error`` is the mean squared error of a test whose
    targets have no noise.
    """
    normal = stream(dim + rank, "monte carlo").standard_normal((dim, dim))
    basis: Any = np.linalg.qr(normal).Q[:, :rank]
    law = LowRank(basis)
    behind = [LINKS[link](rank) for link in links]
    rates = [learning_rate] * len(links)
    if activation == "softmax":
        best = [optimal_window(link, context_length, noise_std).w for link in behind]
        # M has to go from 0 to about w*, and its first steps have a fiftieth of this size.
        rates = [float(w) / 50 for w in best]
    tasks = [Projected(link, basis.T) for link in behind]
    units = train_grid(
        tasks,
        noise_std,
        context_length,
        steps=record[-1],
        learning_rate=rates,
        covariates=law,
        activation=activation,
        record=record,
        **training,
    )
    tables = []
    for i, (link, task) in enumerate(zip(links, tasks, strict=True)):
        # The axes are recorded steps, seeds, d and d.
        matrices = units.M_history[:, i]
        errors = [
            evaluation_error(
                matrices[:, seed],
                task,
                noise_std,
                context_length,
                contexts=test_contexts,
                seed=seed,
                covariates=law,
                activation=activation,
            )
            for seed in range(matrices.shape[1])
        ]
        share = outside_share(matrices, basis)
        table = tabulate_record(record, share=share, error=np.stack(errors, axis=1))
        tables.append(table.assign(link=link, dim=dim, rank=rank, unit=activation))
    return pd.concat(tables, ignore_index=True)


def batch_exponents(small: pd.DataFrame, large: pd.DataFrame, *, factor: float) -> pd.DataFrame:
    """Return the exponent with which the ``share`` of each unit changes in the size of the batch.

    ``small`` and ``large`` are tables of `train_behind_links` at a single step. The batches of ``large`` are
    ``factor`` times as large.
    """
    by = ["link", "dim", "rank", "unit", "seed"]
    both = small.merge(large, on=by, suffixes=("_small", "_large"))
    exponent = np.log(both.share_large / both.share_small) / np.log(factor)
    return both[by].assign(exponent=exponent, run=range(len(both)))
