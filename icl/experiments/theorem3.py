"""Measurements for Theorem 3: the price of a window that was trained for another Lipschitz constant.

A unit is trained at L and tested at L' = ratio L. Where functions are proportional to L, as in the affine and
the ReLU class, its bias at L' is ratio^2 times that at L. Limits for long contexts have the columns
`icl.experiments.tables.LIMIT`, read off `FAR` windows; what calibrates them is the closed form for many
tokens (`icl.risk.asymptotics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray

from icl.experiments.functions import Waves
from icl.experiments.tables import LIMIT, TASKS, exponent, measured
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error, scale_scores
from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.tasks import Affine, Cosine, ReLU, Zonal

Array = NDArray[np.float64]
CLASSES = ("affine", "ReLU")
#: Windows at which limits are read; the law says at which context lengths they are the best ones.
FAR = (1e3, 1e4, 1e5)


# ---------------------------------------------------------------- at given context lengths


def prices(
    kinds: Sequence[str],
    dims: Sequence[int],
    ratios: ArrayLike,
    lengths: ArrayLike,
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Return the exact price of the window of L where functions have L' = ratio L.

    Returns:
        Columns ``kind``, ``d``, ``ratio``, ``n``, ``risk`` with the window of L, ``price``, the risk over the
        least one, with its ``error``, its ``limit`` for long contexts, and ``bound``, the risk over the
        talk's bound: an upper one for ratio 1, otherwise a lower one.
    """
    ratio, n = (grid.ravel() for grid in np.meshgrid(ratios, lengths, indexing="ij"))

    def one(kind: str, d: int) -> tuple[Array, ...]:
        task = TASKS[kind](d, lipschitz)
        kept = mismatch_risk(task, task, n, noise_std)
        risk = ratio**2 * kept.bias + kept.noise
        price = risk / ratio**2 / optimal_window(task, n, noise_std / ratio).risk
        limit = asymptotics.mismatch_penalty(task, ratio)
        bound = risk / printed_bound(d, ratio, n, lipschitz, noise_std)
        return ratio, n, risk, price, 2 * price * kept.error, limit, bound

    columns = ["ratio", "n", "risk", "price", "error", "limit", "bound"]
    return measured(one, columns, kind=kinds, d=dims)


def printed_bound(d: int, ratio: ArrayLike, n: ArrayLike, lipschitz: float, noise_std: float) -> Array:
    """Return the right side of Theorem 3 as the talk displays it, with constant one."""
    ratio, n = np.asarray(ratio, dtype=float), np.asarray(n, dtype=float)
    capital = n * (lipschitz / noise_std) ** 2
    matched = lipschitz**2 * capital ** (-1 / (d + 2))
    larger = (ratio * lipschitz) ** 2 * capital ** (-2 / (d + 2))
    return np.select([ratio == 1, ratio > 1], [matched, larger], capital ** (1 / (d + 2)) / n)


def powers(
    dims: Sequence[int],
    ratios: Sequence[float],
    n: float,
    lipschitz: float,
    noise_std: float,
    *,
    trained: bool = False,
) -> pd.DataFrame:
    """Return the exact exponent in L' of the risk on ReLU functions, twice the share of the bias.

    The window is that of L, or the best one for L' if it is ``trained`` there; then this is the exponent of
    the least risk, because the derivative in the window vanishes. Columns ``d``, ``ratio``, ``value`` and
    ``error``, and ``kept``, the risk over that at L' = L.
    """
    ratio = np.asarray(ratios, dtype=float)
    sigma = noise_std / ratio

    def one(d: int) -> tuple[Array, ...]:
        task = ReLU(d, lipschitz)
        w = optimal_window(task, n, sigma if trained else noise_std).w
        risk, at_one = (population_risk(task, w, n, s) for s in (sigma, noise_std))
        value = 2 * risk.bias / risk.total
        return ratio, value, 2 * value * risk.error, ratio**2 * risk.total / at_one.total

    return measured(one, ["ratio", "value", "error", "kept"], d=dims)


def over_printed(dims: Sequence[int]) -> pd.DataFrame:
    """Return the matched risk over the displayed upper bound, the worst n with n L^2 / sigma^2 >= 10.

    Columns ``d``, ``snr``, which is L / sigma, ``value`` and ``error``.
    """
    n = np.array([1, 4, 10, 32, 100, 320, 1000, 10000])

    def one(d: int, snr: float) -> tuple[float, float]:
        risk = mismatch_risk(ReLU(d), ReLU(d), n, 1 / snr)
        over = np.where(n * snr**2 >= 10, risk.total / printed_bound(d, 1, n, 1.0, 1 / snr), 0.0)
        return float(over.max()), float(over.max() * np.max(risk.error))

    return measured(one, ["value", "error"], d=dims, snr=(0.3, 1.0, 10.0))


def displayed(dims: Sequence[int], ratios: ArrayLike, lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the risk on ReLU functions over the displayed lower bound, at the longest context of `FAR`."""
    ratio = np.asarray(ratios, dtype=float)

    def one(d: int) -> tuple[Array, ...]:
        task = ReLU(d, lipschitz)
        n = asymptotics.sharp_context(task, FAR[-1], noise_std)
        risk = mismatch_risk(task, task, n, noise_std)
        bound = printed_bound(d, ratio, n, lipschitz, noise_std)
        value = (ratio**2 * risk.bias + risk.noise) / bound
        return ratio, value, value * risk.error

    return measured(one, ["ratio", "value", "error"], d=dims)


def price_table() -> pd.DataFrame:
    """Return prices for the figure that moves: ``functions``, ``d``, ``n``, ``rho``, ``price``, ``limit``."""
    rho, lengths = 10 ** (np.arange(-20, 21) / 20), 10.0 ** np.arange(1, 9)
    found = prices(["ReLU", "affine"], (3, 5, 8), rho, lengths, 1.0, 1.0)
    found = found.rename(columns={"kind": "functions", "ratio": "rho"})
    return found[["functions", "d", "n", "rho", "price", "limit"]]


# ---------------------------------------------------------------- limits for long contexts


class _Far(NamedTuple):
    """The window of L at the lengths of `FAR`, and both terms of its risk at L, by one of two routes."""

    task: Zonal
    terms: Callable[[Zonal, Array, Array, Any], tuple[Array, Array]]
    least: Callable[[Zonal, Array, Any], Array]
    n: Array
    w: Array
    bias: Array
    noise: Array

    def risk(self, ratio: ArrayLike = 1.0) -> Array:
        """Return the risk at L' = ratio L."""
        return np.asarray(ratio) ** 2 * self.bias + self.noise


def _exact_terms(task: Zonal, w: Array, n: Array, noise_std: Any) -> tuple[Array, Array]:
    risk = population_risk(task, w, n, noise_std)
    return risk.bias, risk.noise


def _exact_least(task: Zonal, n: Array, noise_std: Any) -> Array:
    return np.asarray(optimal_window(task, n, noise_std).risk)


def _many_token_least(task: Zonal, n: Array, noise_std: Any) -> Array:
    w = asymptotics.many_token_window(task, n, noise_std)
    return np.asarray(np.sum(asymptotics.many_token_risk(task, w, n, noise_std), axis=0))


@lru_cache(maxsize=256)
def _far(kind: str, d: int, lipschitz: float, noise_std: float) -> tuple[_Far, _Far]:
    """Return the exact results, and those for many tokens."""
    task = TASKS[kind](d, lipschitz)
    n = asymptotics.sharp_context(task, FAR, noise_std)

    def follow(w: Array, terms: Any, least: Any) -> _Far:
        return _Far(task, terms, least, n, w, *terms(task, w, n, noise_std))

    exact = follow(optimal_window(task, n, noise_std).w, _exact_terms, _exact_least)
    w = asymptotics.many_token_window(task, n, noise_std)
    return exact, follow(w, asymptotics.many_token_risk, _many_token_least)


#: What has an exponent in n: a quantity of the results at `FAR` and of L' / L, and its limit for a class.
QUANTITIES: dict[str, tuple[Callable[[_Far, float], Array], Callable[[Zonal], float]]] = {
    "risk": (_Far.risk, asymptotics.risk_exponent),
    "risk over that at L": (lambda far, ratio: far.risk(ratio) / far.risk(), lambda _: 0.0),
    "risk over L'^2, L' / L the root of n": (
        lambda far, _: far.bias + far.noise / far.n,
        asymptotics.risk_exponent,
    ),
    "bias of affine functions": (
        lambda far, _: far.terms(Affine(far.task.dim), far.w, far.n, 0.0)[0],
        lambda task: -4 / (task.dim + 2),
    ),
}


def slopes(
    quantity: str,
    dims: Sequence[int],
    lipschitz: float,
    noise_std: float,
    ratios: Sequence[float] | None = None,
    *,
    kind: str = "ReLU",
    more: int = 0,
) -> pd.DataFrame:
    """Return the exponent in n of one of the `QUANTITIES`, with the window of a class at L.

    Tokens lie on the unit sphere of R^(dim + more). Columns ``dim``, ``ratio`` (if given) and `LIMIT`.
    """
    value, truth = QUANTITIES[quantity]

    def one(dim: int, ratio: float = 1.0) -> tuple[Any, ...]:
        exact, many = _far(kind, dim + more, lipschitz, noise_std)
        return exponent(exact.n, value(exact, ratio), value(many, ratio), truth(exact.task))

    return measured(one, LIMIT, dim=dims, **({} if ratios is None else {"ratio": ratios}))


def noise_shares(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the share of the noise in the matched risk over its limit: ``kind``, ``d``, `LIMIT`."""

    def one(kind: str, d: int) -> tuple[float, ...]:
        far = _far(kind, d, lipschitz, noise_std)
        share = -2 * asymptotics.bias_law(far[0].task)[1] / (d - 1)
        exact, many = (route.noise / route.risk() * (1 + share) / share for route in far)
        return exact[-1], abs(exact[-1] - exact[-2]), many[-1], abs(many[-1] - many[-2]), 1.0

    return measured(one, LIMIT, kind=CLASSES, d=dims)


def price_limits(
    dims: Sequence[int], ratios: Sequence[float], lipschitz: float, noise_std: float
) -> pd.DataFrame:
    """Return the price where the window is 10^5, and its largest change since 10^3, `LIMIT`.

    Columns ``kind``, ``d``, ``ratio`` as well.
    """
    ratio = np.asarray(ratios, dtype=float)

    def one(kind: str, d: int) -> tuple[Array, ...]:
        ends: list[Array] = []
        for route in _far(kind, d, lipschitz, noise_std):
            price = route.risk(ratio[:, None]) / route.least(route.task, route.n, noise_std / ratio[:, None])
            price /= ratio[:, None] ** 2
            ends += [price[:, -1], np.abs(price[:, -1:] - price[:, :-1]).max(-1)]
        return ratio, *ends, asymptotics.mismatch_penalty(TASKS[kind](d), ratio)

    return measured(one, ["ratio", *LIMIT], kind=CLASSES, d=dims)


def class_slopes(dims: Sequence[int], lipschitz: float, noise_std: float) -> pd.DataFrame:
    """Return the exponent in n of the price of the affine window on ReLU functions of the same L.

    Columns ``dim`` and `LIMIT`. Slopes are extrapolated linearly in the bandwidth w^(-1/2).
    """

    def one(dim: int) -> tuple[float, ...]:
        ends: list[float] = []
        for route in _far("affine", dim, lipschitz, noise_std):
            task = ReLU(dim, lipschitz)
            risk = np.sum(route.terms(task, route.w, route.n, noise_std), axis=0)
            log_price = np.log(risk / route.least(task, route.n, noise_std))
            before, slope = np.diff(log_price) / np.diff(np.log(route.n))
            _, h, last = route.w**-0.5
            end = slope - (slope - before) * last / (last - h)
            ends += [end, abs(end - slope)]
        return *ends, -3 / (dim + 3) - asymptotics.risk_exponent(ReLU(dim))

    return measured(one, LIMIT, dim=dims)


# ---------------------------------------------------------------- other classes with the same L


def losses(
    n: float, noise_std: float, trained: Mapping[str, Zonal], tested: Mapping[str, Zonal]
) -> pd.DataFrame:
    """Return the exact price on the classes tested of the windows of the classes trained.

    Columns ``trained``, ``tested``, ``price``, ``error``, ``d`` and ``n``.
    """

    def one(trained_on: str, tested_on: str) -> tuple[float, float]:
        risk = mismatch_risk(trained[trained_on], tested[tested_on], n, noise_std)
        price = float(risk.total / optimal_window(tested[tested_on], n, noise_std).risk)
        return price, 2 * price * float(risk.error)

    found = measured(one, ["price", "error"], trained_on=trained, tested_on=tested)
    return found.rename(columns={"trained_on": "trained", "tested_on": "tested"}).assign(
        d=[t.dim for t in trained.values() for _ in tested], n=n
    )


def pairs(shapes: Iterable[tuple[int, int]], noise_std: float) -> pd.DataFrame:
    """Return the price of the window of one class on another, all of L = 1, at each (d, n).

    Columns ``d``, ``n``, ``trained``, ``tested``, ``price`` and ``error``.
    """
    parts = []
    for d, n in shapes:
        tasks = {"affine": Affine(d), "ReLU": ReLU(d), "cosine": Cosine(d), "cosine with phase": Waves(d)}
        parts.append(losses(n, noise_std, tasks, tasks))
    return pd.concat(parts, ignore_index=True)


def windows_on_cosines(make: type[Cosine] | type[Waves], d: int, n: int, noise_std: float) -> pd.DataFrame:
    """Return the price on cosines of L = 1 of three best windows; ``same`` says whether L is the same."""
    trained = {"affine, L = 1": Affine(d), "cosine, L = 0.1": make(d, 0.1), "cosine, L = 10": make(d, 10.0)}
    found = losses(n, noise_std, trained, {"cosine, L = 1": make(d, 1.0)})
    return found.assign(same=found.trained.str.endswith("= 1"))


# ---------------------------------------------------------------- trained units


def trained_units(
    d: int,
    context_length: int,
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
    contexts: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train units on affine, ReLU and cosine functions and test each on those of L = 1.

    Cosines without a phase are even, so that M = -w I, which looks at the opposite end of the sphere, is as
    good as M = w I: a unit that found it is turned around before it is tested. Units of one seed share
    training and test contexts, units of different seeds share none.

    Returns:
        One row for each class tested, unit and seed: ``tested``, ``trained``, ``seed``, the ``error``, its
        ``ratio`` to that of the unit trained on the class tested, ``opposite``, the same ratio of the unit
        that looks at the opposite end, and ``window``, before it is turned around.
    """
    tasks: dict[str, Zonal] = {"affine, L = 1": Affine(d), "ReLU, L = 1": ReLU(d)}
    tasks |= {f"cosine, L = {L:g}": Cosine(d, L) for L in (1.0, 0.1, 10.0)}
    members = [
        UnitConfig(task, noise_std, context_length, seed) for seed in range(seeds) for task in tasks.values()
    ]
    raw = pretrain(members, steps, batch_size, learning_rate, device, shared_tokens=True)
    windows = np.trace(raw.M, axis1=1, axis2=2) / d  # of cosines, which are even, with either sign
    signs = np.where(windows < 0, -1, 1)
    parts = []
    for tested in list(tasks)[:3]:
        error, opposite = (
            evaluation_error(
                scale_scores(raw, some), tasks[tested], noise_std, context_length, contexts, seed=None
            )[-1]
            for some in (signs.tolist(), (-signs).tolist())
        )
        frame = pd.DataFrame(
            {"trained": list(tasks) * seeds, "seed": np.repeat(np.arange(seeds), len(tasks))}
        )
        own = np.repeat(error[list(tasks).index(tested) :: len(tasks)], len(tasks))
        frame = frame.assign(error=error, ratio=error / own, opposite=opposite / own, window=windows)
        parts.append(frame.assign(tested=tested))
    return pd.concat(parts, ignore_index=True)
