"""Measurements for Theorem 4 in one setting, and for Figure 9 of the talk: links, functions of B'x.

Tokens are ``x = B u + B_perp v`` with independent ``u`` and ``v``, uniform on unit spheres, and functions are
linear in ``u`` (`icl.risk.low_rank`). The dimensions are ``d`` and ``k``, and sigma is ``s``. Exponents in n
are a `sweeps.limit`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar

from icl.attention import linear_attention
from icl.covariates import LowRank
from icl.pretrain import UnitConfig, pretrain, train_grid
from icl.pretrain.metrics import evaluation_error, subspace_error
from icl.risk import asymptotics, low_rank_risk, optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Cosine, Linear, Projected, Quadratic, Task, Zonal
from icl_book.measurements.sweeps import TOKENS, limit, with_error
from icl_book.measurements.tables import (
    FAST,
    Array,
    Row,
    Training,
    each,
    grid,
    measured,
)

Pairs = Sequence[tuple[int, int]]
#: The three links by name, called with the dimension k; the last one is the affine link without its +2.
LINKS: dict[str, Callable[[int], Zonal]] = {
    "affine": lambda k: Linear(k, 1.0, 2.0),
    "quadratic": Quadratic,
    "cosine": lambda k: Cosine(k, 4.0),
    "linear": lambda k: Linear(k, 1.0),
}
PRINTED = ("affine", "quadratic", "cosine")
UNITS = {"softmax": PRINTED, "linear": tuple(LINKS)}
EVEN = ("quadratic", "cosine")
#: The grid on which c BB' + e (I - BB') is compared with c BB'.
GRID_C, GRID_E = np.array([0.0, *2.0 ** np.arange(-1, 6)]), 2.0 ** np.arange(-2, 4)


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
    half = (
        np.array([[low_rank_risk(d, k, a, b, n, s).total for a in c] for b in e])
        / best.risk
        - 1
    )
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
    return {
        "value": np.max(
            np.abs(f[:, None] - f) / np.where(distance > 0, distance, np.inf)
        )
    }


def complement_gains(d: int, k: int, settings: Array, whole: bool = False) -> Row:
    """Return the least risk with e > 0 over that with e = 0, minus one, on `GRID_C` and `GRID_E`.

    For k = 1 there is no finite minimum without noise, and such ``settings``, (n, sigma), are left out.
    ``whole`` says whether the functions depend on the complement as much as on the subspace. Columns ``n``,
    ``s``, ``value`` and ``error``.
    """
    n, s = settings[(settings[:, 1] > 0) | (k > 1) | whole].T

    def at(c: float, e: float) -> Array:
        risk = low_rank_risk(d, k, c, e, n, s)
        if not whole:
            return np.array([risk.total, risk.error])
        other = low_rank_risk(d, d - k, e, c, n, s)
        return np.array([risk.total + other.bias, np.maximum(risk.error, other.error)])

    (least, first), (value, second) = (
        np.array([[at(c, e) for e in grid] for c in GRID_C]).transpose(2, 0, 1, 3)
        for grid in ([0.0], GRID_E)
    )
    ratio, error = (
        x.reshape(-1, n.size) for x in (value / least, value / least * (first + second))
    )
    best = ratio.argmin(0), np.arange(n.size)
    return {"n": n.astype(int), "s": s, "value": ratio[best] - 1, "error": error[best]}


def directions(d: int, k: int) -> dict[str, Array]:
    """Return a matrix of norm one for each type of directions, in the basis (B, B_perp)."""
    axes = np.eye(d)
    types = {"complement to inside": np.outer(axes[0], axes[k])}
    types["inside to complement"] = types["complement to inside"].T
    for label, block in (("inside", axes[:k]), ("complement", axes[k:])):
        types[f"{label}, identity"] = block.T @ block / len(block) ** 0.5
        if len(block) > 1:
            a, b = block[:2]
            types[f"{label}, traceless"] = (np.outer(a, a) - np.outer(b, b)) / 2**0.5
            types[f"{label}, antisymmetric"] = (
                np.outer(a, b) - np.outer(b, a)
            ) / 2**0.5
    return types


def least_curvature(d: int, k: int, n: int, s: float, seed: int, contexts: int) -> Row:
    """Sample the least second derivative of the risk at c* BB' over the risk, of all types of directions."""
    c = float(optimal_window(Linear(k), n, s).w)
    return {"value": min(second_derivatives(d, k, n, s, c, seed, contexts).values())}


def second_derivatives(
    d: int, k: int, n: int, sigma: float, c: float, seed: int, contexts: int
) -> dict[str, float]:
    """Sample the second derivative of the risk at c BB', over the risk, for each type of `directions`.

    Functions and noise are averaged exactly; all types share the tokens.
    """
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


def best_scale(k: int, n: int, s: float) -> Row:
    """Return the exact c*, ``value`` and ``error``."""
    best = optimal_window(Linear(k), n, s)
    return with_error(best.w, best.error)


def steepest_step(k: int, n: int, s: float) -> Row:
    """Return the largest ratio of risks, minus one, over 32 equal steps of c from 0 to c*."""
    risk = population_risk(
        Linear(k), np.linspace(0, optimal_window(Linear(k), n, s).w, 33), n, s
    )
    steps = risk.total[1:] / risk.total[:-1]
    worst = steps.argmax()
    return {
        "value": steps[worst] - 1,
        "error": steps[worst] * (risk.error[worst + 1] + risk.error[worst]),
    }


def risk_slope(rank: int) -> Row:
    """Return the exponent in n of the least risk of c BB', where the law says that c* is 10^3 to 10^5."""
    task = Linear(rank)
    n = asymptotics.sharp_context(task, [1e3, 1e4, 1e5], 1.0)

    def slope(more: float) -> tuple[Any, Any]:
        return local_slope(n, optimal_window(task, n * more, more**0.5).risk)

    return limit(slope, asymptotics.window_law(task).risk_exponent, TOKENS)


def isotropic_slope(d: int, rank: int) -> Row:
    """Return the same exponent for M = wI, at n = 10^4 to 9 * 10^4."""
    n = np.array([1e4, 3e4, 9e4])

    def slope(more: float) -> tuple[Any, Any]:
        return local_slope(
            n, [least_isotropic(d, rank, m * more, more**0.5)[1] for m in n]
        )

    return limit(slope, -4 / (d + 2), TOKENS)


def _subspace(d: int, k: int) -> Any:
    return np.linalg.qr(stream(0, "monte carlo").standard_normal((d, d))).Q[:, :k]


def trained_units(
    d: int, k: int, settings: Sequence[tuple[int, float]], how: Training
) -> pd.DataFrame:
    """Train units from random matrices, and, at the last setting, a control that needs all directions.

    Returns:
        A row for each recorded step, setting and seed: ``functions`` (low rank, or all directions at the last
        setting), ``d``, ``k``, ``n``, ``s``, ``step``, ``seed``; ``sine`` of the largest principal angle to
        the subspace, ``kept``, the k-th singular value of M, and ``dropped``, the next one.
    """
    B = _subspace(d, k)
    tasks: list[tuple[str, Task, LowRank | None, int, float]] = [
        ("low rank", Projected(Linear(k), B.T), LowRank(B), n, s) for n, s in settings
    ]
    tasks.append(("all directions", Linear(d), None, *settings[-1]))
    units = [
        UnitConfig(
            task, s, n, 100 + seed, tokens, initial_std=0.3
        )  # trial runs had used smaller seeds
        for _, task, tokens, n, s in tasks
        for seed in range(how.seeds)
    ]
    record = sorted(
        {0, *np.geomspace(max(1, how.steps // 50), how.steps, 7).astype(int).tolist()}
    )
    M = pretrain(units, *how[1:], record=record, **FAST).M_history
    trained = pd.DataFrame(
        [(name, n, s) for name, _, _, n, s in tasks], columns=["functions", "n", "s"]
    )
    frame = (
        grid(step=record)
        .merge(trained, how="cross")
        .merge(grid(seed=range(how.seeds)), how="cross")
    )
    spectrum = np.linalg.svd(M, compute_uv=False).reshape(-1, d)
    frame = frame.assign(
        sine=subspace_error(M, B).ravel(),
        kept=spectrum[:, k - 1],
        dropped=spectrum[:, k],
    )
    return frame.assign(d=d, k=k)


def settled_scales(
    sizes: Sequence[int], d: int, k: int, setting: tuple[int, float], how: Training
) -> pd.DataFrame:
    """Train fresh units with batches of each size at a setting, n and sigma.

    Columns ``size``, ``seed`` and ``ratio``, the mean diagonal of B'MB over the exact c*.
    """
    (n, s), B = setting, _subspace(d, k)
    task, law = Projected(Linear(k), B.T), LowRank(B)
    units = [
        UnitConfig(task, s, n, 200 + seed, law, initial_std=0.3)
        for seed in range(how.seeds)
    ]
    own_tokens = FAST | {"shared_tokens": False}

    def one(size: int) -> tuple[Any, ...]:
        M = pretrain(
            units, how.steps, size, how.learning_rate, how.device, **own_tokens
        ).M
        scale = np.trace(B.T @ M @ B, axis1=-2, axis2=-1) / k
        return np.arange(how.seeds), scale / optimal_window(Linear(k), n, s).w

    return measured(one, ["seed", "ratio"], size=sizes)


def _laws(pairs: Pairs) -> list[LowRank]:
    normal = [
        stream(j, "monte carlo").standard_normal((d, d))
        for j, (d, _) in enumerate(pairs)
    ]
    bases: list[Any] = [
        np.linalg.qr(some).Q[:, :k] for some, (_, k) in zip(normal, pairs, strict=True)
    ]
    return [LowRank(basis) for basis in bases]


def _behind(link: str, law: LowRank) -> Projected:
    directions: Any = np.array(law.basis).T
    return Projected(LINKS[link](len(directions)), directions)


def exact_minimum(link: str, k: int, n: int, noise_std: float) -> Row:
    """Return what is known of a link in dimension k: the best ``w``, the ``least`` risk, and ``constant``.

    The last is the error of the best constant, the variance of the query's label, sampled.
    """
    best, rng = optimal_window(LINKS[link](k), n, noise_std), stream(0, "monte carlo")
    u = torch.from_numpy(rng.standard_normal((100000, 1, k)))
    f = LINKS[link](k).sample(rng, 100000)(u / u.norm(dim=-1, keepdim=True))
    return {"w": best.w, "least": best.risk, "constant": float(f.var())}


def trained_links(
    pairs: Pairs, n: int, noise_std: float, how: Training, contexts: int
) -> pd.DataFrame:
    """Train softmax and linear attention from M = 0 on each link; without intercept the latter only.

    Softmax units have the initial step size w* / 50, as they have about that far to go; linear attention has
    that of ``how``.

    Returns:
        A row for each recorded step and seed: ``d``, ``k``, ``link``, ``unit``, ``step``, ``seed``; ``sine``
        of the largest principal angle to the subspace, and the test ``error`` with the clean query label, on
        contexts that are other ones for each seed.
    """
    record = np.unique(
        np.geomspace(max(1, how.steps // 50), how.steps, 8).round().astype(int)
    ).tolist()
    frame, parts = grid(step=record, seed=range(how.seeds)), []
    for ((d, k), law), (unit, links) in product(
        zip(pairs, _laws(pairs), strict=True), UNITS.items()
    ):
        tasks: list[Any] = [_behind(link, law) for link in links]
        rates = [how.learning_rate] * len(links)
        if unit == "softmax":
            rates = [
                float(optimal_window(LINKS[link](k), n, noise_std).w) / 50
                for link in links
            ]
        training = how._replace(learning_rate=rates)
        whole = train_grid(
            tasks,
            noise_std,
            n,
            *training,
            covariates=law,
            activation=unit,
            record=record,
        )
        sines = subspace_error(whole.M_history, np.array(law.basis))
        for i, link in enumerate(links):
            mine = itemgetter(slice(i * how.seeds, (i + 1) * how.seeds))
            one, history = whole.trained, tuple(map(mine, whole.trained.history))
            one = replace(
                one,
                units=mine(one.units),
                parameters=mine(one.parameters),
                history=history,
            )
            error = evaluation_error(one, tasks[i], noise_std, n, contexts, None, law)[
                :-1
            ]
            part = frame.assign(sine=sines[:, i].ravel(), error=error.ravel())
            parts.append(part.assign(d=d, k=k, link=link, unit=unit))
    return pd.concat(parts, ignore_index=True)


def zero_excess(
    pairs: Pairs, links: Sequence[str], n: int, noise_std: float, contexts: int
) -> pd.DataFrame:
    """Return by how much a random M raises the squared error of linear attention above that of M = 0.

    It is the mean over contexts and their images with the query turned round, over the mean square of the
    prediction. Columns ``d``, ``k``, ``link`` and ``value``.
    """
    laws = dict(zip(pairs, _laws(pairs), strict=True))

    def one(d: int, k: int, link: str) -> Row:
        law, rng = laws[d, k], stream(1, "monte carlo")
        x = law.from_normal(torch.from_numpy(rng.standard_normal((contexts, n + 1, d))))
        f = _behind(link, law).sample(rng, contexts)
        turned = torch.cat([x[:, :-1], -x[:, -1:]], 1)
        y = f(x)[:, :-1] + noise_std * torch.from_numpy(
            rng.standard_normal((contexts, n))
        )
        M = torch.from_numpy(rng.standard_normal((d, d)))
        above = square = 0.0
        for z in (x, turned):
            target, h = f(z)[:, -1], linear_attention(z[:, :-1], y, z[:, -1], M)
            above += float(((target - h) ** 2 - target**2).mean())
            square += float((h**2).mean())
        return {"value": above / square}

    return each(one, pair=[{"d": d, "k": k} for d, k in pairs], link=list(links))
