"""Measurements for Theorem 3 in one setting: the price of a window trained for another Lipschitz constant.

A unit is trained at L and tested at L' = ratio L. Where functions are proportional to L, as in the affine and
the ReLU class, its bias at L' is ratio^2 times that at L. Limits for long contexts are `sweeps.limit`, read
off `FAR` windows.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error, scale_scores
from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.risk.integrals import attended_gegenbauer_means
from icl.statistics import local_slope
from icl.tasks import Affine, Cosine, Linear, ReLU, Zonal, make_task
from icl_book.measurements import tables
from icl_book.measurements.beyond import Wave
from icl_book.measurements.sweeps import EXACT, Route, limit, with_error
from icl_book.measurements.tables import Array, Row, Training, grid

#: Of `icl.tasks.CLASSES`, those that cards judge.
KINDS = ("affine", "ReLU")
#: All classes of which one is tested with the window of another.
OTHERS = (*tables.KINDS, "cosine with phase")
#: Windows at which limits are read; the law says at which context lengths they are the best ones.
FAR = (1e3, 1e4, 1e5)


def prices(
    kind: str,
    d: int,
    ratios: ArrayLike,
    lengths: ArrayLike,
    lipschitz: float,
    noise_std: float,
) -> Row:
    """Return the exact price of the window of L where functions have L' = ratio L.

    Returns:
        ``ratio``, ``n``, ``price``, the risk with the window of L over the least one, with its ``error``, its
        ``limit`` for long contexts, the ``risk``, and ``bound``, the risk over the talk's bound: an upper one
        for ratio 1, otherwise a lower one.
    """
    task, ratio, n = (
        make_task(kind, d, lipschitz),
        np.asarray(ratios)[:, None],
        np.asarray(lengths),
    )
    kept = mismatch_risk(task, task, n, noise_std)
    risk = ratio**2 * kept.bias + kept.noise
    price = risk / ratio**2 / optimal_window(task, n, noise_std / ratio).risk
    limits = {
        "limit": asymptotics.mismatch_penalty(task, ratio),
        "error": 2 * price * kept.error,
    }
    bound = risk / printed_bound(d, ratio, n, lipschitz, noise_std)
    return {
        "ratio": ratio,
        "n": n,
        "price": price,
        **limits,
        "risk": risk,
        "bound": bound,
    }


def printed_bound(
    d: int, ratio: ArrayLike, n: ArrayLike, lipschitz: float, noise_std: float
) -> Array:
    """Return the right side of Theorem 3 as the talk displays it, with constant one."""
    ratio, n = np.asarray(ratio, dtype=float), np.asarray(n, dtype=float)
    capital = n * (lipschitz / noise_std) ** 2
    matched = lipschitz**2 * capital ** (-1 / (d + 2))
    larger = (ratio * lipschitz) ** 2 * capital ** (-2 / (d + 2))
    return np.select(
        [ratio == 1, ratio > 1], [matched, larger], capital ** (1 / (d + 2)) / n
    )


def power(
    d: int,
    ratio: float,
    n: float,
    lipschitz: float,
    noise_std: float,
    *,
    trained: bool = False,
) -> Row:
    """Return the exact exponent in L' of the risk on ReLU functions, twice the share of the bias.

    The window is that of L, or the best one for L' if it is ``trained`` there; then this is the exponent of
    the least risk, because the derivative in the window vanishes. ``value`` and ``error``.
    """
    task, sigma = ReLU(d, lipschitz), noise_std / ratio
    w = optimal_window(task, n, sigma if trained else noise_std).w
    risk = population_risk(task, w, n, sigma)
    return with_error(2 * risk.bias / risk.total, 2 * risk.error)


def over_printed(d: int, snr: float) -> Row:
    """Return the matched risk over the displayed upper bound, the worst n with n snr^2 >= 10."""
    n = np.array([1, 4, 10, 32, 100, 320, 1000, 10000])
    n = n[n * snr**2 >= 10]
    risk = mismatch_risk(ReLU(d), ReLU(d), n, 1 / snr)
    return with_error(
        np.max(risk.total / printed_bound(d, 1, n, 1.0, 1 / snr)), risk.error.max()
    )


def displayed(d: int, ratio: float, lipschitz: float, noise_std: float) -> Row:
    """Return the risk on ReLU functions over the displayed lower bound, at the longest context of `FAR`."""
    task = ReLU(d, lipschitz)
    n = asymptotics.sharp_context(task, FAR[-1], noise_std)
    risk = mismatch_risk(task, task, n, noise_std)
    printed = printed_bound(d, ratio, n, lipschitz, noise_std)
    return with_error((ratio**2 * risk.bias + risk.noise) / printed, risk.error)


class _Far(NamedTuple):
    """The window of L at the lengths of `FAR`, and both terms of its risk at L, by one route."""

    route: Route
    task: Zonal
    n: Array
    w: Array
    bias: Array
    noise: Array

    def risk(self, ratio: ArrayLike = 1.0) -> Array:
        """Return the risk at L' = ratio L."""
        return np.asarray(ratio) ** 2 * self.bias + self.noise


@lru_cache(maxsize=256)
def _far(route: Route, kind: str, d: int, lipschitz: float, noise_std: float) -> _Far:
    task = make_task(kind, d, lipschitz)
    n = asymptotics.sharp_context(task, FAR, noise_std)
    w = route.window(task, n, noise_std)
    return _Far(route, task, n, w, *route.terms(task, w, n, noise_std))


#: What has an exponent in n: a quantity of the results at `FAR` and of L' / L, and its limit for a class.
QUANTITIES: dict[
    str, tuple[Callable[[_Far, float], Array], Callable[[Zonal], float]]
] = {
    "risk": (_Far.risk, lambda task: asymptotics.window_law(task).risk_exponent),
    "risk over that at L": (
        lambda far, ratio: far.risk(ratio) / far.risk(),
        lambda _: 0.0,
    ),
    "risk over L'^2, L' / L the root of n": (
        lambda far, _: far.bias + far.noise / far.n,
        lambda task: asymptotics.window_law(task).risk_exponent,
    ),
    "bias of affine functions": (
        lambda far, _: far.route.terms(Affine(far.task.dim), far.w, far.n, 0.0)[0],
        lambda task: -4 / (task.dim + 2),
    ),
}


def slope(
    quantity: str,
    dim: int,
    lipschitz: float,
    noise_std: float,
    ratio: float = 1.0,
    *,
    kind: str = "ReLU",
    more: int = 0,
) -> Row:
    """Return the exponent in n of one of the `QUANTITIES`, window of a class at L, in R^(dim + more)."""
    value, truth = QUANTITIES[quantity]

    def read(route: Route) -> tuple[Any, Any]:
        far = _far(route, kind, dim + more, lipschitz, noise_std)
        return local_slope(far.n, value(far, ratio))

    return limit(read, truth(make_task(kind, dim + more)))


def worst_bias(side: str, route: Route, dim: int, w: float, n: float) -> float:
    """Bracket the largest bias of a 1-Lipschitz function in the window w.

    The "lower" side is the bias of one of them, the wave cos(b u.x) / b with b = sqrt(w) / 2. The "upper"
    one is E sum omega_i |x_i - x_q|^2, which none exceeds: by Jensen's inequality
    (sum omega_i f(x_i) - f(x_q))^2 is at most sum omega_i (f(x_i) - f(x_q))^2.
    """
    if side == "lower":
        wave = Cosine(dim, 0.5 * w**0.5)
        return float(route.terms(wave, w, n, 0.0)[0]) / wave.lipschitz**2
    if route is EXACT:
        (mean,) = attended_gegenbauer_means(dim, w, n, 1)
        return float(2 * (1 - mean))
    # of many tokens the bias of linear functions is (1 - E x.x_q)^2 E f^2, and E f^2 = 1 / d
    return float(2 * np.sqrt(dim * route.terms(Linear(dim), w, n, 0.0)[0]))


def worst_slope(
    side: str, dim: int, ratio: float, lipschitz: float, noise_std: float
) -> Row:
    """Return the exponent in n of the risk of the worst L'-Lipschitz function with the window of L.

    Args:
        side: "lower" or "upper", see `worst_bias`: what one of these functions costs, or what none exceeds.
        dim: d.
        ratio: L' / L.
        lipschitz: L; the window is that of the ReLU class.
        noise_std: sigma.
    """

    def read(route: Route) -> tuple[Any, Any]:
        far = _far(route, "ReLU", dim, lipschitz, noise_std)
        bias = [
            worst_bias(side, route, dim, float(w), float(n))
            for w, n in zip(far.w, far.n, strict=True)
        ]
        return local_slope(far.n, (ratio * lipschitz) ** 2 * np.array(bias) + far.noise)

    return limit(read, -2 / (dim + 2))


def noise_share(kind: str, d: int, lipschitz: float, noise_std: float) -> Row:
    """Return the share of the noise in the matched risk over its limit."""
    share = asymptotics.window_law(make_task(kind, d)).noise_over_bias

    def read(route: Route) -> tuple[float, float]:
        far = _far(route, kind, d, lipschitz, noise_std)
        found = far.noise / far.risk() * (1 + share) / share
        return found[-1], abs(found[-1] - found[-2])

    return limit(read, 1.0)


def price_limits(
    kind: str, d: int, ratios: ArrayLike, lipschitz: float, noise_std: float
) -> Row:
    """Return the price where the window is 10^5, and its largest change since 10^3, for each ``ratio``."""
    ratio = np.asarray(ratios)

    def read(route: Route) -> tuple[Array, Array]:
        far, each_ratio = _far(route, kind, d, lipschitz, noise_std), ratio[:, None]
        least = route.least(far.task, far.n, noise_std / each_ratio)
        price = far.risk(each_ratio) / least / each_ratio**2
        return price[:, -1], np.abs(price[:, -1:] - price[:, :-1]).max(-1)

    return {"ratio": ratio} | limit(
        read, asymptotics.mismatch_penalty(make_task(kind, d), ratio)
    )


def class_slope(dim: int, lipschitz: float, noise_std: float) -> Row:
    """Return the exponent in n of the price of the affine window on ReLU functions of the same L.

    Slopes are extrapolated linearly in the bandwidth w^(-1/2).
    """
    task = ReLU(dim, lipschitz)

    def read(route: Route) -> tuple[float, float]:
        far = _far(route, "affine", dim, lipschitz, noise_std)
        risk = np.sum(route.terms(task, far.w, far.n, noise_std), axis=0)
        log_price = np.log(risk / route.least(task, far.n, noise_std))
        before, last = np.diff(log_price) / np.diff(np.log(far.n))
        _, h, narrow = far.w**-0.5
        end = last - (last - before) * narrow / (narrow - h)
        return end, abs(end - last)

    return limit(read, -3 / (dim + 3) - asymptotics.window_law(task).risk_exponent)


def _price(trained: Zonal, tested: Zonal, n: float, noise_std: float) -> Row:
    risk = mismatch_risk(trained, tested, n, noise_std)
    return with_error(
        risk.total / optimal_window(tested, n, noise_std).risk, 2 * risk.error
    )


def _other(kind: str, d: int, lipschitz: float) -> Zonal:
    """Return one of `OTHERS`."""
    return (
        Wave(d, lipschitz)
        if kind == "cosine with phase"
        else make_task(kind, d, lipschitz)
    )


def loss(
    trained: str,
    tested: str,
    d: int,
    n: float,
    noise_std: float,
    lipschitz: float = 1.0,
) -> Row:
    """Return the exact price on one of the `OTHERS` of the window of another: ``value`` and ``error``."""
    return _price(
        _other(trained, d, lipschitz), _other(tested, d, lipschitz), n, noise_std
    )


def windows_on_cosines(cosine: str, d: int, n: int, noise_std: float) -> Row:
    """Return the price on cosines of L = 1 of three best windows, ``value``, and its ``error``.

    ``trained`` and ``tested`` name the classes, and ``same`` says whether L is the same.
    """
    trained = {
        "affine, L = 1": Affine(d),
        "cosine, L = 0.1": _other(cosine, d, 0.1),
        "cosine, L = 10": _other(cosine, d, 10.0),
    }
    prices = pd.DataFrame(
        [
            _price(task, _other(cosine, d, 1.0), n, noise_std)
            for task in trained.values()
        ],
        dtype=float,
    )
    found = {
        "same": np.array([True, False, False]),
        "value": prices.value,
        "error": prices.error,
    }
    return {"trained": np.array(list(trained)), "tested": "cosine, L = 1"} | found


def trained_units(
    d: int, context_length: int, noise_std: float, how: Training, contexts: int
) -> pd.DataFrame:
    """Train units on affine, ReLU and cosine functions and test each on those of L = 1.

    Cosines without a phase are even, so that M = -w I, which looks at the opposite end of the sphere, is as
    good as M = w I: a unit that found it is turned around before it is tested. Units of one seed share
    training and test contexts, units of different seeds share none.

    Returns:
        One row for each class tested, unit and seed: ``tested``, ``trained``, ``seed``, the ``error``, its
        ``ratio`` to that of the unit trained on the class tested, and ``opposite``, the same ratio of the
        unit that looks at the opposite end.
    """
    tasks: dict[str, Zonal] = {"affine, L = 1": Affine(d), "ReLU, L = 1": ReLU(d)}
    tasks |= {f"cosine, L = {L:g}": Cosine(d, L) for L in (1.0, 0.1, 10.0)}
    problem, units = (
        (noise_std, context_length),
        grid(seed=range(how.seeds), trained=tasks),
    )
    members = [
        UnitConfig(tasks[unit.trained], *problem, unit.seed)
        for unit in units.itertuples()
    ]
    raw = pretrain(members, *how[1:], shared_tokens=True)
    signs = np.where(
        np.trace(raw.M, axis1=1, axis2=2) < 0, -1, 1
    )  # even functions have either sign

    def tested(name: str, turned: int) -> Array:
        unit = scale_scores(raw, (turned * signs).tolist())
        return np.asarray(
            evaluation_error(unit, tasks[name], *problem, contexts, seed=None)[-1]
        )

    parts = []
    for i, name in enumerate(list(tasks)[:3]):
        error, opposite = tested(name, 1), tested(name, -1)
        own = np.repeat(error[i :: len(tasks)], len(tasks))
        parts.append(
            units.assign(
                error=error, ratio=error / own, opposite=opposite / own, tested=name
            )
        )
    return pd.concat(parts, ignore_index=True)
