"""Measurements for Theorem 4: two-number matrices, all directions at their best, and trained units.

Tokens are ``x = B u + B_perp v`` with independent ``u`` and ``v``, uniform on unit spheres, and functions are
linear in ``u`` (`icl.risk.low_rank`). Tables call the dimensions ``d`` and ``k``, and sigma ``s``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from icl.covariates import LowRank
from icl.experiments.tables import LIMIT, exponent, measured
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import subspace_error
from icl.risk import asymptotics, low_rank_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Linear, Projected, Task

Array = NDArray[np.float64]
#: Dimensions (d, k), and settings (n, sigma).
Pairs = Sequence[tuple[int, int]]
Settings = Sequence[tuple[int, float]]
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


def token_weights(n: int, sigma: float, count: int = 400) -> pd.DataFrame:
    """Return the weights of tokens on two circles, d = 4 and k = 2, under the best wI and the best c BB'.

    Columns ``M``, ``inside`` and ``outside`` (the token's angles in degrees, the query at zero), ``weight``
    (the largest is 1), and the ``risk`` of the matrix at this n and sigma.
    """
    angles = 180 * stream(0, "monte carlo").uniform(-1, 1, (2, count))
    inside, outside = np.cos(np.deg2rad(angles))
    w, isotropic = least_isotropic(4, 2, n, sigma)
    best = optimal_window(Linear(2), n, sigma)
    scores = {"best w I": (w, w, isotropic), "best c BB'": (float(best.w), 0.0, float(best.risk))}
    parts = [
        pd.DataFrame({"M": name, "inside": angles[0], "outside": angles[1], "risk": risk}).assign(
            weight=np.exp(c * (inside - 1) + e * (outside - 1))
        )
        for name, (c, e, risk) in scores.items()
    ]
    return pd.concat(parts, ignore_index=True)


def landscape(d: int, k: int, settings: Settings) -> pd.DataFrame:
    """Return the exact risk of c BB' + e (I - BB') around its minimum.

    Columns ``n``, ``s``, ``c`` (up to 1.6 c*, which is one of them), ``e`` (-3 to 3) and ``above``, the risk
    over that of c* BB', minus one.
    """
    heights = 3 * np.linspace(0, 1, 10) ** 1.5

    def one(n: int, s: float) -> pd.DataFrame:
        best = optimal_window(Linear(k), n, s)
        c, e = (x.ravel() for x in np.meshgrid(np.linspace(0, 1.6, 17) * best.w, heights))
        risk = np.array([low_rank_risk(d, k, *at, n, s).total for at in zip(c, e, strict=True)])
        half = pd.DataFrame({"n": n, "s": s, "c": c, "e": e, "above": risk / best.risk - 1})
        mirrored = half[half.e > 0].assign(e=lambda table: -table.e)  # the sign of e does not matter
        return pd.concat([mirrored, half])

    return pd.concat([one(*setting) for setting in settings], ignore_index=True)


def lipschitz_quotients(pairs: Pairs) -> pd.DataFrame:
    """Return the largest quotient in the definition of Lip_s over functions and 200 random points.

    Columns ``d``, ``k``, ``inside``, the share |B's|^2 of the direction s in the subspace (1, 1/2, 0), and
    ``value``.
    """

    def one(d: int, k: int, inside: float) -> float:
        rng = stream(d, "tasks", k)
        Q = torch.linalg.qr(torch.from_numpy(rng.standard_normal((d, d)))).Q
        B, s = Q[:, :k], np.sqrt(inside) * Q[:, 0] + np.sqrt(1 - inside) * Q[:, -1]
        a = B.T @ s
        a = a / a.norm() if a.norm() > 1e-12 else torch.eye(k).double()[0]
        t = torch.from_numpy(rng.standard_normal((200, d))) @ s  # s'x of random points
        f = t * (a @ B.T @ s)  # f(s s'x)
        quotients = (f[:, None] - f).abs() / (t[:, None] - t).abs().clamp(min=1e-300)
        return float(quotients.max())

    rows = [(d, k, inside, one(d, k, inside)) for inside in (1.0, 0.5, 0.0) for d, k in pairs]
    return pd.DataFrame(rows, columns=["d", "k", "inside", "value"])


# ---------------------------------------------------------------- no matrix is better


def complement_gains(pairs: Pairs, settings: Settings, whole: bool = False) -> pd.DataFrame:
    """Return the least risk with e > 0 over that with e = 0, minus one, on `GRID_C` and `GRID_E`.

    Settings without noise are left out for k = 1, which has no finite minimum. With ``whole`` the functions
    depend on the complement as much as on the subspace. Columns ``d``, ``k``, ``n``, ``s``, ``value`` and
    ``error``.
    """

    def at(d: int, k: int, c: float, e: float, n: Array, s: Array) -> tuple[Array, Array]:
        risk = low_rank_risk(d, k, c, e, n, s)
        if not whole:
            return np.asarray(risk.total), np.asarray(risk.error)
        other = low_rank_risk(d, d - k, e, c, n, s)
        return np.asarray(risk.total + other.bias), np.maximum(risk.error, other.error)

    def one(d: int, k: int, some: Settings) -> pd.DataFrame:
        n, s = np.transpose(some)
        found = []
        for c in GRID_C:
            least, error = at(d, k, c, 0.0, n, s)
            for e in GRID_E:
                value, more = at(d, k, c, e, n, s)
                found.append([value / least - 1, value / least * (error + more)])
        table = np.array(found)
        value, error = np.take_along_axis(table, table[:, :1].argmin(0)[None], 0)[0]
        return pd.DataFrame({"d": d, "k": k, "n": n.astype(int), "s": s, "value": value, "error": error})

    finite = {(d, k): [(n, s) for n, s in settings if s > 0 or k > 1 or whole] for d, k in pairs}
    return pd.concat([one(*pair, some) for pair, some in finite.items() if some], ignore_index=True)


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


def curvatures(pairs: Pairs, settings: Settings, seeds: int, contexts: int) -> pd.DataFrame:
    """Sample the second derivative of the risk at c* BB' over the risk, for each type of directions.

    Functions and noise are averaged exactly; all types share the tokens. Pairs with k = 1 are left out.
    Columns ``d``, ``k``, ``n``, ``s``, ``seed``, ``direction`` and ``value``.
    """
    parts = []
    for d, k in pairs:
        for n, s in settings if k > 1 else []:
            c = float(optimal_window(Linear(k), n, s).w)
            for seed in range(seeds):
                values = _second_derivatives(d, k, n, s, c, seed, contexts)
                parts.append(pd.DataFrame({"direction": values.keys(), "value": values.values()}))
                parts[-1][["d", "k", "n", "s", "seed"]] = d, k, n, s, seed
    whole = ["d", "k", "n", "seed"]
    return pd.concat(parts, ignore_index=True).astype(dict.fromkeys(whole, int))


def _second_derivatives(
    d: int, k: int, n: int, sigma: float, c: float, seed: int, contexts: int
) -> dict[str, float]:
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


def best_scales(ranks: Sequence[int], lengths: Sequence[int], sigmas: Sequence[float]) -> pd.DataFrame:
    """Return the exact c*, columns ``k``, ``n``, ``s``, ``value`` and ``error``."""

    def one(k: int, n: int, s: float) -> tuple[Any, Any]:
        best = optimal_window(Linear(k), n, s)
        return best.w, best.w * best.error

    return measured(one, ["value", "error"], k=ranks, n=lengths, s=sigmas)


def steepest_steps(ranks: Sequence[int], settings: Settings) -> pd.DataFrame:
    """Return the largest ratio of risks, minus one, over 32 equal steps of c from 0 to c*.

    Columns ``k``, ``n``, ``s``, ``value`` and ``error``.
    """

    def one(k: int, n: int, s: float) -> tuple[Any, Any]:
        risk = population_risk(Linear(k), np.linspace(0, optimal_window(Linear(k), n, s).w, 33), n, s)
        steps = risk.total[1:] / risk.total[:-1]
        worst = steps.argmax()
        return steps[worst] - 1, steps[worst] * (risk.error[worst + 1] + risk.error[worst])

    tables = [measured(one, ["value", "error"], k=[k], n=[n], s=[s]) for k in ranks for n, s in settings]
    return pd.concat(tables, ignore_index=True)


def risk_slopes(ranks: Sequence[int]) -> pd.DataFrame:
    """Return the exponent in n of the least risk of c BB', `LIMIT`, where the law says c* = 10^3 to 10^5."""

    def one(rank: int) -> tuple[float, ...]:
        task = Linear(rank)
        power = 1 / asymptotics.window_exponent(task)
        n = np.round((np.array([1e3, 1e4, 1e5]) / asymptotics.sharp_window(task, 1.0, 1.0)) ** power)
        exact, known = (optimal_window(task, n * m, m**0.5).risk for m in (1.0, 1e30))
        return exponent(n, exact, known, asymptotics.risk_exponent(task))

    return measured(one, LIMIT, rank=ranks)


def isotropic_slope(d: int, k: int) -> pd.DataFrame:
    """Return the same exponent for M = wI, at n = 10^4 to 9 * 10^4."""
    n = np.array([1e4, 3e4, 9e4])

    def slope(tokens: float) -> tuple[Array, Array]:
        return local_slope(n, [least_isotropic(d, k, m * tokens, tokens**0.5)[1] for m in n])

    row = (k, *slope(1.0), *slope(1e30), -4 / (d + 2))
    return pd.DataFrame([row], columns=["rank", *LIMIT]).astype({name: float for name in LIMIT})


# ---------------------------------------------------------------- trained units


def _subspace(d: int, k: int) -> Any:
    return np.linalg.qr(stream(0, "monte carlo").standard_normal((d, d))).Q[:, :k]


def _scale(M: Array, B: Array) -> Array:
    return np.asarray(np.trace(B.T @ M @ B, axis1=-2, axis2=-1) / B.shape[1])


def trained_units(
    d: int,
    k: int,
    settings: Settings,
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
    d: int,
    k: int,
    setting: tuple[int, float],
    batch_sizes: Iterable[int],
    starts: int,
    steps: int,
    learning_rate: float,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train fresh units with several batch sizes.

    Returns:
        Columns ``size``, ``seed`` and ``ratio``, the mean diagonal of B'MB over the exact c*.
    """
    (n, s), B = setting, _subspace(d, k)
    best = float(optimal_window(Linear(k), n, s).w)
    task, law = Projected(Linear(k), B.T), LowRank(B)
    units = [UnitConfig(task, s, n, 200 + seed, law, initial_std=0.3) for seed in range(starts)]

    def one(size: int) -> tuple[Any, ...]:
        M = pretrain(units, steps, size, learning_rate, device, stream="native", dtype="float32").M
        return np.arange(starts), _scale(M, B) / best

    return measured(one, ["seed", "ratio"], size=batch_sizes)
