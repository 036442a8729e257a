"""Theorem 4 over all matrices, and, for Figure 9 of the talk, functions of B'x behind a nonlinear link.

Tokens are ``x = B u + B_perp v`` with independent ``u`` and ``v``, uniform on unit spheres, or, "on one
sphere", uniform on the unit sphere as a whole. The functions of the theorem are ``a'B'x`` with ``a`` uniform
on the unit sphere (`icl.risk.low_rank`).

- ``dim`` and ``rank`` are d and k, and B has k orthonormal columns, which span the *subspace*;
- a unit has the matrix c BB' + e (I - BB'), where I - BB' projects on the *complement* of the subspace, or
  w I, which is the case c = e = w;
- the errors in tables are absolute.
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

#: The three links of the slide by name, called with the dimension k, and the affine one without its +2.
LINKS: dict[str, Callable[[int], Zonal]] = {
    "affine": lambda rank: Linear(rank, 1.0, 2.0),
    "quadratic": Quadratic,
    "cosine": lambda rank: Cosine(rank, 4.0),
    "affine without +2": lambda rank: Linear(rank, 1.0),
}
#: The links that the slide prints, and the even ones among them.
PRINTED = ("affine", "quadratic", "cosine")
EVEN = ("quadratic", "cosine")


def least_isotropic(dim: int, rank: int, *, n: float, noise_std: float) -> tuple[float, float]:
    """Return the best w of M = wI, right to a thousandth of it, and its risk; w is searched from 1 to 54."""
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
    """Return the exact risk of c BB' + e (I - BB') over that of the best c BB', minus one: (e, c)."""
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    least = optimal_window(Linear(rank), n, noise_std).risk
    risks = [
        [low_rank_risk(dim, rank, c_value, e_value, n, noise_std).total for c_value in c]
        for e_value in e
    ]
    return np.array(risks) / least - 1


def lipschitz_quotient(dim: int, rank: int, *, inside: float) -> float:
    """Return the largest quotient |f(s s'x) - f(s s'y)| / |s'x - s'y| over all f and 200 random points.

    It estimates Lip_s, the Lipschitz constant of the functions along a unit vector s. ``inside`` is the share
    |B's|^2 of s in the subspace. Of the functions a'B'x the one with ``a`` along B's is the steepest.
    """
    rng = stream(dim, "tasks", rank)
    Q = np.linalg.qr(rng.standard_normal((dim, dim))).Q
    B = Q[:, :rank]
    s = np.sqrt(inside) * Q[:, 0] + np.sqrt(1 - inside) * Q[:, -1]
    # Without a part of s in the subspace, all functions are constant along s, and any ``a`` will do.
    a = np.eye(rank)[0]
    if inside > 0:
        a = B.T @ s / np.linalg.norm(B.T @ s)
    # These are s'x and f(s s'x).
    along = rng.standard_normal((200, dim)) @ s
    values = along * (a @ B.T @ s)
    i, j = np.triu_indices(200, k=1)
    quotients = (values[i] - values[j]) / (along[i] - along[j])
    return float(np.abs(quotients).max())


#: The c and e of the grids on which risks are compared.
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
    """Compare the exact risk with e > 0 and that with e = 0, for each c of `C_GRID` and e of `E_GRID`.

    ``settings`` are pairs of a context length and a noise. Only the c up to ``bound`` count. If ``whole``,
    functions are a'B'x plus such a linear function of B_perp'x, and else they are a'B'x.

    Returns:
        A row for each setting: ``dim``, ``rank``, ``n``, ``noise_std``; ``value``, the smallest ratio of the
        two risks over the grid, minus one, and its numerical ``error``.
    """
    n = np.array([n for n, _ in settings])
    noise_std = np.array([noise_std for _, noise_std in settings])

    def risk(c: float, e: float) -> tuple[Array, Array]:
        found = low_rank_risk(dim, rank, c, e, n, noise_std)
        if not whole:
            return found.total, found.error
        # For the added function the complement is the subspace. Its noise term is already in `found`.
        in_complement = low_rank_risk(dim, dim - rank, e, c, n, noise_std)
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
            errors.append(ratio * (error_with_e + error_without_e))
    # The axes are places of the grid and settings.
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
    """Return the exact risk of c BB' + e (I - BB') for tokens on one sphere, with its relative error.

    Given the query, weights depend on a token by its product with ``M x_q``, a vector whose length K depends
    on ``r = |B'x_q|`` only. The risk needs four means over contexts at each K (`_interpolate_moments`) and
    the law of r^2, which is Beta(k/2, (d-k)/2). n may be infinite. The error is what a coarser rule changes.
    """
    fine, coarse = (
        _integrate_one_sphere(dim, rank, c, e, n, noise_std, nodes=nodes) for nodes in (40, 24)
    )
    return fine, abs(coarse / fine - 1) + 1e-9


def _integrate_one_sphere(
    dim: int, rank: int, c: float, e: float, n: float, noise_std: float, *, nodes: int
) -> float:
    """Return the risk of `one_sphere_risk` by this many Gauss nodes in r^2, and half as many for moments."""
    # This is the Gauss rule of the law of r^2.
    node, weight = roots_jacobi(nodes, (dim - rank) / 2 - 1, rank / 2 - 1)
    # These are the values of r^2.
    squares = (1 + node) / 2
    K = np.sqrt(c**2 * squares + e**2 * (1 - squares))
    along, along_square, square, noise = _interpolate_moments(dim, n, K, nodes // 2)
    # With z = M x_q these are |B'z|^2 / K^2 and B'z . B'x_q / K. Where K is zero, all weights are equal,
    # and the direction of z does not matter.
    inside = np.divide(c**2 * squares, K**2, out=np.zeros_like(K), where=K > 0)
    cosine = np.divide(c * squares, K, out=np.zeros_like(K), where=K > 0)
    # In each direction orthogonal to z the mean token m has this mean square.
    across = (square - along_square) / (dim - 1)
    # This is E |B'm|^2.
    spread = along_square * inside + across * (rank - inside)
    error = (spread - 2 * along * cosine + squares) / rank + noise_std**2 * noise
    return float(weight @ error / weight.sum())


def _interpolate_moments(dim: int, n: float, K: Array, nodes: int) -> Array:
    """Return four means over contexts for weights ``exp(x_i . z)`` with ``|z| = K``, shape (4, len(K)).

    With the mean token ``m = sum omega_i x_i``: E m.z / K, E (m.z / K)^2, E |m|^2 and E sum omega_i^2. For
    finite n they are interpolated in K, with ``nodes`` Chebyshev nodes in each panel.
    """
    if np.isinf(n):
        # The weighted tokens have the law of von Mises and Fisher.
        mean = ive(dim / 2, K) / ive(dim / 2 - 1, K)
        return np.array([mean, mean**2, mean**2, 0 * K])
    found = np.empty((4, K.size))
    # Panel p ends at 2^p, see `_fit_moments`.
    panels = np.maximum(0, np.frexp(K)[1])
    for panel in np.unique(panels):
        in_panel = panels == panel
        low, high, table = _fit_moments(dim, n, int(panel), nodes)
        t = 2 * (K[in_panel] - low) / (high - low) - 1
        mean, second_moment, square, noise = chebyshev.chebval(t, table)
        slope = chebyshev.chebval(t, chebyshev.chebder(table[:, 0])) * 2 / (high - low)
        # The derivative of the mean in K is the mean variance under the weights.
        found[:, in_panel] = mean, second_moment - slope, square, noise
    return found


@lru_cache(maxsize=256)
def _fit_moments(dim: int, n: float, panel: int, nodes: int) -> tuple[float, float, Array]:
    """Return the ends of a panel [0, 1], [1, 2], [2, 4], ... of K, and Chebyshev coefficients there.

    The columns are E m.z / K, E sum omega_i (x_i.z / K)^2, E |m|^2 and E sum omega_i^2.
    """
    low, high = (0.0 if panel == 0 else 2.0 ** (panel - 1)), 2.0**panel
    angles = np.pi * (np.arange(nodes) + 0.5) / nodes
    K = low + (high - low) / 2 * (1 + np.cos(angles))
    polynomials = np.array([attended_gegenbauer_means(dim, k, n, 2) for k in K])
    # Here x_q = z / K. The bias of linear functions is E |m - x_q|^2 / d, and P_2(t) = (d t^2 - 1) / (d - 1).
    risk = population_risk(Linear(dim), K, n, 1.0)
    mean = polynomials[:, 0]
    second_moment = ((dim - 1) * polynomials[:, 1] + 1) / dim
    square = dim * risk.bias + 2 * mean - 1
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
    """Compare risks with e > 0 and with e = 0 for tokens on one sphere.

    The values of e are `E_GRID`, those of c the positive ones of `C_GRID` below ``bound``, and ``bound``
    itself. Without a bound the only c is the best one at e = 0.

    Returns:
        The table of `complement_gains`, but ``n`` is "infinity" for an infinite context.
    """
    rows = []
    for n, noise_std in settings:
        scales = [best_scale(dim, rank, n, noise_std)]
        if bound is not None:
            scales = [*(c for c in C_GRID if 0 < c < bound), bound]
        gains = []
        for c in scales:
            without_e, error_without_e = one_sphere_risk(dim, rank, c, 0.0, n, noise_std)
            for e in E_GRID:
                with_e, error_with_e = one_sphere_risk(dim, rank, c, e, n, noise_std)
                ratio = with_e / without_e
                gains.append((ratio - 1, ratio * (error_with_e + error_without_e)))
        value, error = min(gains)
        length = "infinity" if np.isinf(n) else n
        row = {"dim": dim, "rank": rank, "n": length, "noise_std": noise_std}
        rows.append(row | {"value": value, "error": error})
    return pd.DataFrame(rows)


def best_scale(dim: int, rank: int, n: float, noise_std: float) -> float:
    """Return the best c of c BB' for tokens on one sphere, right to a thousandth of it, from 0.14 to 54."""
    found = minimize_scalar(
        lambda log_c: one_sphere_risk(dim, rank, np.exp(log_c), 0.0, n, noise_std)[0],
        bounds=(-2.0, 4.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))


def change_of_sign(dim: int, rank: int) -> float:
    """Return the c from which on e = c / 100 lowers the risk, for tokens on one sphere and n infinite.

    c is searched between d and 3 d, and labels are without noise.
    """

    def gain(c: float) -> float:
        with_e, without_e = (
            one_sphere_risk(dim, rank, c, e, np.inf, 0.0)[0] for e in (0.01 * c, 0.0)
        )
        return with_e / without_e - 1

    return float(brentq(gain, dim, 3 * dim))


def scale_on_one_sphere(dim: int, rank: int, *, n: float, noise_std: float) -> dict[str, float]:
    """Return the best c of c BB' for tokens on one sphere, and how the risk falls up to it.

    Returns:
        ``dim``, ``rank``, ``n``, ``noise_std``; ``best``, the best c, and ``best_error``; ``step`` and
        ``step_error``. A step is the ratio of the risks after and before one of 16 equal steps of c from 0 to
        the best c, minus one, and ``step`` is the largest, below zero if the risk falls in each.
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
        # This is twice what the search leaves.
        "best_error": 2e-3 * best,
        "step": ratios[worst] - 1,
        "step_error": (ratios * (errors[1:] + errors[:-1]))[worst],
    }


def steepest_step(rank: int, *, n: int, noise_std: float) -> dict[str, float]:
    """Return the ``step`` of `scale_on_one_sphere`, over 32 equal steps, for tokens x = B u + B_perp v.

    Returns:
        ``value``, and its numerical ``error``.
    """
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    task = Linear(rank)
    best = optimal_window(task, n, noise_std)
    risk = population_risk(task, np.linspace(0, best.w, 33), n, noise_std)
    ratios = risk.total[1:] / risk.total[:-1]
    errors = ratios * (risk.error[1:] + risk.error[:-1])
    worst = ratios.argmax()
    return {"value": ratios[worst] - 1, "error": errors[worst]}


def risk_slope(rank: int) -> dict[str, float]:
    """Return the local slope in log n of the log of the least risk of c BB', for sigma = 1.

    The two lengths are those at which the law says that the best c is 3 10^4 and 10^5.

    Returns:
        ``value``, and its numerical ``error``.
    """
    # With e = 0 only u counts, so that c is the window parameter of linear functions of u.
    task = Linear(rank)
    n = asymptotics.sharp_context(task, [3e4, 1e5], 1.0)
    best = optimal_window(task, n, 1.0)
    step = np.log(n[1] / n[0])
    return {
        "value": np.log(best.risk[1] / best.risk[0]) / step,
        # The relative error of the best c stands for that of the least risk, which is flat there.
        "error": best.error.sum() / step,
    }


def isotropic_slope(dim: int, rank: int) -> dict[str, float]:
    """Return the slope in log n of the log of the least risk of wI, between n = 10^4 and 9 10^4.

    Label noise has the variance one. The search for the least risk stops within a thousandth of the best log
    w, so that what it found is above the least risk by less than the risk changes over one more thousandth.

    Returns:
        ``value``, and its ``error``, which the search and the numerical error of the risk leave.
    """
    risks = []
    errors = []
    for n in (1e4, 9e4):
        w, least = least_isotropic(dim, rank, n=n, noise_std=1.0)
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
    """Train softmax or linear attention from M = 0 on functions of B'x, until the last step of ``record``.

    B is random. ``links`` are keys of `LINKS`, and ``activation`` is "softmax" or "linear". Softmax units
    start with steps of size w* / 50, with w* the best window of the link, which is about the way that M has
    to go, and linear attention with ``learning_rate``. Units of one seed see the same tokens, whatever the
    link. Each seed is tested on ``test_contexts`` contexts of its own. ``training`` goes to
    `icl.pretrain.train_grid`: seeds, batch_size, device.

    Returns:
        A row for each link, recorded step and seed: ``link``, ``dim``, ``rank``, ``unit``, ``step``,
        ``seed``, ``share`` of the weight that lies outside the subspace
        (`icl.pretrain.metrics.outside_share`), and the test ``error`` with the clean query label.
    """
    normal = stream(dim + rank, "monte carlo").standard_normal((dim, dim))
    basis: Any = np.linalg.qr(normal).Q[:, :rank]
    law = LowRank(basis)
    behind = [LINKS[link](rank) for link in links]
    rates = [learning_rate] * len(links)
    if activation == "softmax":
        best = [optimal_window(link, context_length, noise_std).w for link in behind]
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
    """Return the exponent with which the share of each unit changes in the size of the batch.

    Both are tables of `train_behind_links` at a single step, and the batch of the second is ``factor`` times
    as large.

    Returns:
        A row for each ``link``, ``dim``, ``rank``, ``unit`` and ``seed`` that both tables have, with
        ``exponent`` and ``run``, the number of the row.
    """
    by = ["link", "dim", "rank", "unit", "seed"]
    both = small.merge(large, on=by, suffixes=("_small", "_large"))
    exponent = np.log(both.share_large / both.share_small) / np.log(factor)
    return both[by].assign(exponent=exponent, run=range(len(both)))
