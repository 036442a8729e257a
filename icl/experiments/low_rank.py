"""Measurements for Theorem 4 in one setting: two-number matrices, all directions at the best, trained units.

Tokens are ``x = B u + B_perp v`` with independent ``u`` and ``v``, uniform on unit spheres, and functions are
linear in ``u`` (`icl.risk.low_rank`). The dimensions are ``d`` and ``k``, and sigma is ``s``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar

from icl.covariates import LowRank
from icl.experiments.sweeps import TOKENS, limit
from icl.experiments.tables import Array, Row
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import subspace_error
from icl.risk import asymptotics, low_rank_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Linear, Projected, Task

#: The grid on which c BB' + e (I - BB') is compared with c BB'.
GRID_C, GRID_E = np.array([0.0, *2.0 ** np.arange(-1, 6)]), 2.0 ** np.arange(-2, 4)


# ---------------------------------------------------------------- what a projection is


def least_isotropic(d: int, k: int, n: float, sigma: float) -> tuple[float, float]:
    """Return the best w of M = wI, right to a thousandth, and its risk."""
    found = minimize_scalar(
        lambda v: np.log(low_rank_risk(d, k, np.exp(v), np.exp(v), n, sigma).total),
        bounds=(0.0, 4.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x)), float(np.exp(found.fun))


def token_weights(M: str, n: int, sigma: float, count: int = 400) -> Row:
    """Return the weights of tokens on two circles, d = 4 and k = 2, under the best wI or the best c BB'.

    ``inside`` and ``outside`` (the token's angles in degrees, the query at zero), ``weight`` (the largest is
    1), and the ``risk`` of the matrix at this n and sigma.
    """
    angles = 180 * stream(0, "monte carlo").uniform(-1, 1, (2, count))
    inside, outside = np.cos(np.deg2rad(angles))
    c, risk = e, _ = least_isotropic(4, 2, n, sigma)
    if M == "best c BB'":
        best = optimal_window(Linear(2), n, sigma)
        c, e, risk = float(best.w), 0.0, float(best.risk)
    weight = np.exp(c * (inside - 1) + e * (outside - 1))
    return {"inside": angles[0], "outside": angles[1], "weight": weight, "risk": risk}


def landscape(d: int, k: int, n: int, s: float) -> Row:
    """Return the exact risk of c BB' + e (I - BB') around its minimum.

    ``c`` (up to 1.6 c*, which is one of them), ``e`` (-3 to 3) and ``above``, (e, c), the risk over that of
    c* BB', minus one.
    """
    best = optimal_window(Linear(k), n, s)
    c, e = np.linspace(0, 1.6, 17) * best.w, 3 * np.linspace(0, 1, 10) ** 1.5
    half = np.array([[low_rank_risk(d, k, a, b, n, s).total for a in c] for b in e]) / best.risk - 1
    # the sign of e does not matter
    e, above = np.concatenate([-e[:0:-1], e]), np.concatenate([half[:0:-1], half])
    return {"c": c, "e": e, "above": above}


def lipschitz_quotient(inside: float, d: int, k: int) -> Row:
    """Return the largest quotient in the definition of Lip_s over functions and 200 random points, ``value``.

    ``inside`` is the share |B's|^2 of the direction s in the subspace.
    """
    rng = stream(d, "tasks", k)
    Q = np.linalg.qr(rng.standard_normal((d, d))).Q
    B, s = Q[:, :k], np.sqrt(inside) * Q[:, 0] + np.sqrt(1 - inside) * Q[:, -1]
    a = B.T @ s if inside > 0 else np.eye(k)[0]
    t = rng.standard_normal((200, d)) @ s  # s'x of random points
    f = t * (a @ B.T @ s) / np.linalg.norm(a)  # f(s s'x)
    distance = np.abs(t[:, None] - t)
    return {"value": np.max(np.abs(f[:, None] - f) / np.where(distance > 0, distance, np.inf))}


# ---------------------------------------------------------------- no matrix is better


def complement_gains(d: int, k: int, settings: Array, whole: bool = False) -> Row:
    """Return the least risk with e > 0 over that with e = 0, minus one, on `GRID_C` and `GRID_E`.

    Args:
        d: Dimension of the tokens.
        k: Dimension of the subspace. For k = 1 there is no finite minimum without noise, and such settings
            are left out.
        settings: Pairs of n and sigma.
        whole: Whether the functions depend on the complement as much as on the subspace.

    Returns:
        ``n``, ``s``, ``value`` and ``error``.
    """
    n, s = settings[(settings[:, 1] > 0) | (k > 1) | whole].T

    def at(c: float, e: float) -> Array:
        risk = low_rank_risk(d, k, c, e, n, s)
        if not whole:
            return np.array([risk.total, risk.error])
        other = low_rank_risk(d, d - k, e, c, n, s)
        return np.array([risk.total + other.bias, np.maximum(risk.error, other.error)])

    (least, first), (value, second) = (
        np.array([[at(c, e) for e in grid] for c in GRID_C]).transpose(2, 0, 1, 3) for grid in ([0.0], GRID_E)
    )
    ratio, error = (x.reshape(-1, n.size) for x in (value / least, value / least * (first + second)))
    best = ratio.argmin(0), np.arange(n.size)
    return {"n": n.astype(int), "s": s, "value": ratio[best] - 1, "error": error[best]}


def directions(d: int, k: int) -> dict[str, Array]:
    """Return a matrix of norm one for each type of directions, in the basis (B, B_perp)."""
    types = {}
    for label, start, size in (("inside", 0, k), ("complement", k, d - k)):
        block = np.zeros((d, d))
        block[range(start, start + size), range(start, start + size)] = size**-0.5
        types[f"{label}, identity"] = block
        if size > 1:
            i, j = start, start + 1
            for name, at in (("traceless", ((i, i), (j, j))), ("antisymmetric", ((i, j), (j, i)))):
                pair = types[f"{label}, {name}"] = np.zeros((d, d))
                pair[at[0]], pair[at[1]] = 0.5**0.5, -(0.5**0.5)
    for name, place in (("complement to inside", (0, k)), ("inside to complement", (k, 0))):
        types[name] = np.zeros((d, d))
        types[name][place] = 1.0
    return types


def least_curvature(d: int, k: int, n: int, s: float, seed: int, contexts: int) -> Row:
    """Sample the least second derivative of the risk at c* BB' over the risk, of all types of directions.

    Functions and noise are averaged exactly; all types share the tokens.
    """
    c = float(optimal_window(Linear(k), n, s).w)
    return {"value": min(second_derivatives(d, k, n, s, c, seed, contexts).values())}


def second_derivatives(
    d: int, k: int, n: int, sigma: float, c: float, seed: int, contexts: int
) -> dict[str, float]:
    """Sample the second derivative of the risk at c BB', over the risk, for each type of `directions`."""
    rng = stream(300 + seed, "monte carlo")
    parts = [rng.standard_normal((contexts, n + 1, size)) for size in (k, d - k)]
    parts = [part / np.linalg.norm(part, axis=-1, keepdims=True) for part in parts]
    tokens = np.concatenate(parts, -1)
    x, query, u = tokens[:, :-1], tokens[:, -1], parts[0][:, :-1]
    score = c * np.einsum("bnk,bk->bn", u, query[:, :k])
    omega = np.exp(score - score.max(1, keepdims=True))
    omega /= omega.sum(1, keepdims=True)
    off = np.einsum("bn,bnk->bk", omega, u) - query[:, :k]
    level = (off**2).sum(1) / k + sigma**2 * (omega**2).sum(1)

    def along(matrix: Array) -> float:
        change = np.einsum("bnd,bd->bn", x, query @ matrix.T)
        change -= (omega * change).sum(1, keepdims=True)
        one = omega * change
        two = omega * (change**2 - (one * change).sum(1, keepdims=True))
        bias = (np.einsum("bn,bnk->bk", one, u) ** 2).sum(1)
        bias += (off * np.einsum("bn,bnk->bk", two, u)).sum(1)
        noise = (one**2 + omega * two).sum(1)
        return float(np.mean(2 * bias / k + 2 * sigma**2 * noise) / level.mean())

    return {name: along(matrix) for name, matrix in directions(d, k).items()}


# ---------------------------------------------------------------- the scale c


def best_scale(k: int, n: int, s: float) -> Row:
    """Return the exact c*, ``value`` and ``error``."""
    best = optimal_window(Linear(k), n, s)
    return {"value": best.w, "error": best.w * best.error}


def steepest_step(k: int, n: int, s: float) -> Row:
    """Return the largest ratio of risks, minus one, over 32 equal steps of c from 0 to c*."""
    risk = population_risk(Linear(k), np.linspace(0, optimal_window(Linear(k), n, s).w, 33), n, s)
    steps = risk.total[1:] / risk.total[:-1]
    worst = steps.argmax()
    return {"value": steps[worst] - 1, "error": steps[worst] * (risk.error[worst + 1] + risk.error[worst])}


def risk_slope(rank: int) -> Row:
    """Return the exponent in n of the least risk of c BB', a `sweeps.limit`, where the law says 10^3 to 10^5.

    The rank is that of B.
    """
    task = Linear(rank)
    n = asymptotics.sharp_context(task, [1e3, 1e4, 1e5], 1.0)

    def slope(more: float) -> tuple[Any, Any]:
        return local_slope(n, optimal_window(task, n * more, more**0.5).risk)

    return limit(slope, asymptotics.risk_exponent(task), TOKENS)


def isotropic_slope(d: int, rank: int) -> Row:
    """Return the same exponent for M = wI, at n = 10^4 to 9 * 10^4."""
    n = np.array([1e4, 3e4, 9e4])

    def slope(more: float) -> tuple[Any, Any]:
        return local_slope(n, [least_isotropic(d, rank, m * more, more**0.5)[1] for m in n])

    return limit(slope, -4 / (d + 2), TOKENS)


# ---------------------------------------------------------------- trained units


def _subspace(d: int, k: int) -> Any:
    return np.linalg.qr(stream(0, "monte carlo").standard_normal((d, d))).Q[:, :k]


def _scale(M: Array, B: Array) -> Array:
    return np.asarray(np.trace(B.T @ M @ B, axis1=-2, axis2=-1) / B.shape[1])


def trained_units(
    d: int,
    k: int,
    settings: Sequence[tuple[int, float]],
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train units from random matrices, and a control whose functions depend on all directions.

    Returns:
        A row for each recorded step, setting and seed: ``functions`` (low rank, or all directions at the last
        setting), ``d``, ``k``, ``n``, ``s``, ``step``, ``seed``; ``sine`` of the largest principal angle to
        the subspace, ``kept``, the k-th singular value of M, ``dropped``, the next one, and ``ratio``, the
        mean diagonal of B'MB over the exact c*.
    """
    B = _subspace(d, k)
    tasks: list[tuple[str, Task, LowRank | None, int, float]] = [
        ("low rank", Projected(Linear(k), B.T), LowRank(B), n, s) for n, s in settings
    ]
    tasks.append(("all directions", Linear(d), None, *settings[-1]))
    units = [
        UnitConfig(task, s, n, 100 + seed, tokens, initial_std=0.3)  # trial runs had used smaller seeds
        for _, task, tokens, n, s in tasks
        for seed in range(seeds)
    ]
    record = sorted({0, *np.geomspace(max(1, steps // 50), steps, 7).astype(int).tolist()})
    native: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
    whole = pretrain(units, steps, batch_size, learning_rate, device, record=record, **native)
    parts = []
    for i, (functions, _, _, n, s) in enumerate(tasks):
        for step, matrices in zip(record, whole.M_history[:, i * seeds : (i + 1) * seeds], strict=True):
            spectrum = np.linalg.svd(matrices, compute_uv=False)
            part = pd.DataFrame({"seed": range(seeds), "sine": subspace_error(matrices, B)})
            part["kept"], part["dropped"] = spectrum[:, k - 1], spectrum[:, k]
            part["ratio"] = _scale(matrices, B) / float(optimal_window(Linear(k), n, s).w)
            parts.append(part.assign(functions=functions, d=d, k=k, n=n, s=s, step=step))
    return pd.concat(parts, ignore_index=True)


def settled_scales(
    size: int,
    d: int,
    k: int,
    setting: Array,
    starts: int,
    steps: int,
    learning_rate: float,
    device: torch.device | str = "cpu",
) -> Row:
    """Train fresh units with a batch of this size at a setting, n and sigma.

    Returns:
        ``seed`` and ``ratio``, the mean diagonal of B'MB over the exact c*.
    """
    (n, s), B = setting, _subspace(d, k)
    task, law = Projected(Linear(k), B.T), LowRank(B)
    units = [UnitConfig(task, s, int(n), 200 + seed, law, initial_std=0.3) for seed in range(starts)]
    M = pretrain(units, steps, size, learning_rate, device, stream="native", dtype="float32").M
    return {"seed": np.arange(starts), "ratio": _scale(M, B) / optimal_window(Linear(k), n, s).w}
