"""Measurements on what training finds: the growth of M, and how it falls short of the minimizer.

Units are trained by constant steps from M = 0 and looked at on their way (`grow`), on finitely many contexts
or functions (`finite_contexts`, `finite_functions`), for a finite time (`windows_in_time`), and with a loss
at every position (`every_position`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gamma, jv
from torch import Tensor

from icl.adam import minimize
from icl.covariates import Ellipsoid, uniform_sphere
from icl.experiments.tables import measured
from icl.pretrain import UnitConfig, draw_contexts, pretrain, train_grid
from icl.pretrain.architectures import predict_every_label, sample_contexts
from icl.pretrain.finite import ReLUPool, context_losses, fit_matrix, fit_window
from icl.pretrain.metrics import spectral_norm
from icl.risk import optimal_window, population_flow, population_risk
from icl.streams import NativeStream, stream
from icl.tasks import Cosine, Function, Projected, QuadraticRisk, ReLU, Zonal
from icl.tasks.base import Rng

Array = NDArray[np.float64]
#: What "non-isotropic" may mean: functions symmetric in the whitened coordinates, or those of the sphere.
LAWS = ("isotropic", "non-isotropic", "non-isotropic, same functions")

#: The fastest way to train, as in `icl.pretrain.train_grid`.
FAST: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}


@dataclass(frozen=True)
class Wave(Zonal):
    """``f(x) = cos(L u.x + phase)`` with a phase uniform on the circle."""

    lipschitz: float = 1.0
    label = "wave"

    def covariance(self, cosine: ArrayLike) -> Array:
        r = np.maximum(self.lipschitz * np.sqrt(2 - 2 * np.clip(cosine, -1, 1)), 1e-8)
        nu = self.dim / 2 - 1
        return np.asarray(gamma(nu + 1) * (2 / r) ** nu * jv(nu, r) / 2)

    def sample(self, rng: Rng, count: int) -> Function:
        u = torch.as_tensor(rng.standard_normal((count, self.dim)))
        u = u / u.norm(dim=1, keepdim=True)
        phase = torch.as_tensor(rng.uniform(0, 2 * np.pi, (count, 1)))
        return lambda x: (self.lipschitz * torch.einsum("bd,bnd->bn", u.to(x), x) + phase.to(x)).cos()


KINDS: dict[str, type[ReLU | Cosine | Wave]] = {"ReLU": ReLU, "cosine": Cosine, "wave": Wave}


@dataclass(frozen=True)
class Setting:
    """What the units of this page share: d, n, sigma, the constants L, the batch and the device."""

    dim: int
    context_length: int
    noise_std: float
    lipschitz_values: Sequence[float]
    batch_size: int
    device: torch.device | str = "cpu"

    @property
    def axes(self) -> Array:
        """Lengths of the axes of Sigma^(1/2) of non-isotropic tokens."""
        return np.linspace(1.5, 0.5, self.dim)

    def windows(self, kinds: Sequence[str] = tuple(KINDS)) -> pd.DataFrame:
        """Return the exact best windows on the sphere: ``kind``, ``L``, ``w``."""

        def one(kind: str, L: float) -> float:
            return float(optimal_window(KINDS[kind](self.dim, L), self.context_length, self.noise_std).w)

        return measured(one, ["w"], kind=kinds, L=self.lipschitz_values)


# ---------------------------------------------------------------- how M grows


def recorded(steps: int, early: int = 20) -> tuple[int, ...]:
    """Return the steps at which units are looked at: 17 from zero to the last, and an early one."""
    wanted = [min(early, steps), *np.linspace(0, steps, 17).round()]
    return tuple(int(step) for step in np.unique(wanted))


def grow(
    setting: Setting,
    kind: str,
    law: str,
    seeds: int,
    record: Sequence[int],
    rate: float,
    optimizer: str = "sgd",
) -> pd.DataFrame:
    """Train units with steps of constant size from M = 0, for as many steps as the last of ``record``.

    Units of one seed see the same tokens and noise for all L.

    Returns:
        Columns ``kind``, ``law``, ``step``, ``L``, ``seed``, ``norm`` (spectral) and ``diagonal`` (its mean).
    """
    root: Any = np.diag(setting.axes)
    tasks: list[Any] = [KINDS[kind](setting.dim, L) for L in setting.lipschitz_values]
    inverse: Any = np.linalg.inv(root)
    if law == LAWS[1]:
        tasks = [Projected(task, inverse) for task in tasks]
    grid = train_grid(
        tasks,
        setting.noise_std,
        setting.context_length,
        seeds,
        record[-1],
        setting.batch_size,
        rate,
        setting.device,
        covariates=None if law == LAWS[0] else Ellipsoid(root),
        optimizer=optimizer,
        schedule="constant",
        record=record,
    )
    index = {"step": record, "L": setting.lipschitz_values, "seed": range(seeds)}
    frame = pd.MultiIndex.from_product(index.values(), names=index.keys()).to_frame(index=False)
    M = grid.M_history
    diagonal = np.trace(M, axis1=-2, axis2=-1).ravel() / setting.dim
    return frame.assign(kind=kind, law=law, norm=spectral_norm(M).ravel(), diagonal=diagonal)


def flow(setting: Setting, record: Sequence[int], rate: float) -> pd.DataFrame:
    """Return the exact population flow of the ReLU class: ``L``, ``step``, ``w``."""
    times = rate * np.array(record)

    def one(L: float) -> tuple[Any, ...]:
        task = ReLU(setting.dim, L)
        return np.array(record), population_flow(task, setting.context_length, setting.noise_std, times)

    return measured(one, ["step", "w"], L=setting.lipschitz_values)


def over_flow(units: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return the mean diagonal over the flow, averaged over the last three quarters: ``L, seed, ratio``."""
    late = units[4 * units.step >= units.step.max()].merge(exact, on=["L", "step"])
    return late.assign(ratio=late.diagonal / late.w).groupby(["L", "seed"], as_index=False).ratio.mean()


def ratios(units: pd.DataFrame, steps: Sequence[int]) -> pd.DataFrame:
    """Compare the spectral norms at each L and at the next smaller one, unit by unit.

    Returns:
        ``L``, ``other``, ``seed``, the ``ratio`` and its ``log``, at that of the steps at which the median
        over the seeds is smallest.
    """
    levels = sorted(units.L.unique())
    looked_at = units[units.step.isin(list(steps))]  # M = 0 at the first step has no logarithm
    log = np.log(looked_at.pivot(index=["step", "seed"], columns="L", values="norm"))
    parts = []
    for other, L in zip(levels[:-1], levels[1:], strict=True):
        some = log[L] - log[other]
        worst = some.loc[some.groupby("step").median().idxmin()]
        part = pd.DataFrame({"seed": worst.index, "log": worst.to_numpy(), "ratio": np.exp(worst.to_numpy())})
        parts.append(part.assign(L=L, other=other))
    return pd.concat(parts, ignore_index=True)


def resolved(windows: pd.DataFrame, kind: str, compared: pd.DataFrame) -> pd.DataFrame:
    """Keep the comparisons of `ratios` in which the exact best window of a class grows with L."""
    w = windows[windows.kind == kind].set_index("L").w
    return compared[w.loc[compared.L].to_numpy() > w.loc[compared.other].to_numpy()]


def cosine_edge(setting: Setting, largest: float = 12.0) -> pd.DataFrame:
    """Return exact windows of the cosine class over L: ``case`` (n and d), ``L``, ``w``."""
    n, d = setting.context_length, setting.dim
    cases = {
        f"n = {n}, d = {d}": (n, d),
        f"n = {5 * n}, d = {d}": (5 * n, d),
        f"n = {n}, d = {d + 2}": (n, d + 2),
    }

    def one(case: str, L: float) -> float:
        n, d = cases[case]
        return float(optimal_window(Cosine(d, L), n, setting.noise_std).w)

    return measured(one, ["w"], case=cases, L=np.linspace(0.5, largest, 24))


# ---------------------------------------------------------------- finitely many contexts and functions


class Excess:
    """The risk of units beyond that of the best window, relative to it, on fixed test tokens."""

    def __init__(self, task: Zonal, noise_std: float, context_length: int, contexts: int):
        self.best = optimal_window(task, context_length, noise_std)
        self.x = uniform_sphere(stream(1, "evaluation"), contexts, context_length + 1, task.dim)
        self.form = QuadraticRisk.of(task, self.x, noise_std)
        self.reference = self._risk(float(self.best.w) * np.eye(task.dim))

    def _risk(self, M: Array | Tensor) -> float:
        scores = torch.einsum("bnd,de,be->bn", self.x[:, :-1], torch.as_tensor(M).double(), self.x[:, -1])
        return float(self.form.risk(torch.softmax(scores, -1)).mean())

    def __call__(self, M: Array | Tensor) -> float:
        """Return the excess of a unit with matrix M, (d, d)."""
        return (self._risk(M) - self.reference) / float(self.best.risk)


def finite_contexts(
    task: Zonal, noise_std: float, context_length: int, sizes: Sequence[int], draws: int, contexts: int
) -> pd.DataFrame:
    """Minimize the empirical loss of T contexts, over the number w and over all matrices.

    Returns:
        Columns ``unit`` ("full matrix M", "one number w"), ``T``, ``draw`` and ``excess``, relative.
    """
    excess, n = Excess(task, noise_std, context_length, contexts), context_length
    start = float(excess.best.w) * torch.eye(task.dim).double()
    rows = []
    for T in sizes:
        for draw in range(draws):
            x, _, y = draw_contexts(task, noise_std, n, T, partial(stream, 1000 * T + draw))
            rows.append(("full matrix M", T, draw, excess(fit_matrix(x, y, start))))
            risk = float(population_risk(task, fit_window(x, y), n, noise_std).total)
            rows.append(("one number w", T, draw, risk / float(excess.best.risk) - 1))
    return pd.DataFrame(rows, columns=["unit", "T", "draw", "excess"])


def score_constant(task: Zonal, noise_std: float, context_length: int, contexts: int = 20000) -> float:
    """Return c of the relative excess c / T of the best w on T contexts, from the variance of the score."""
    best = optimal_window(task, context_length, noise_std)
    x, _, y = draw_contexts(task, noise_std, context_length, contexts, partial(stream, 5))
    w, step, eye = float(best.w), 1e-3, torch.eye(task.dim).double()
    high, low = (context_losses((w + sign * step) * eye, x, y) for sign in (1, -1))
    beside = w * np.array([0.99, 1.01])
    curvature = np.diff(population_risk(task, beside, context_length, noise_std).slope)[0] / (0.02 * w)
    return float(((high - low) / (2 * step)).var()) / (2 * float(curvature) * float(best.risk))


def finite_functions(
    setting: Setting, L: float, sizes: Sequence[int], seeds: int, steps: int, rate: float, contexts: int
) -> pd.DataFrame:
    """Train units on fixed pools of ReLU functions, one for each seed, and on fresh functions.

    Returns:
        Columns ``unit`` ("full matrix M"), ``T`` (functions in the pool, infinite for fresh ones), ``seed``
        and ``excess``, relative.
    """
    task, n, sigma = ReLU(setting.dim, L), setting.context_length, setting.noise_std
    excess = Excess(task, sigma, n, contexts)
    cases = [(T, seed) for T in (*sizes, np.inf) for seed in range(seeds)]
    pools: list[Any] = [task if T == np.inf else ReLUPool(setting.dim, L, int(T), seed) for T, seed in cases]
    units = [UnitConfig(pool, sigma, n, seed) for pool, (_, seed) in zip(pools, cases, strict=True)]
    trained = pretrain(units, steps, setting.batch_size, rate, setting.device, **FAST)
    found = pd.DataFrame(cases, columns=["T", "seed"])
    return found.assign(unit="full matrix M", excess=[excess(M) for M in trained.M])


# ---------------------------------------------------------------- finite time, and every position


def windows_in_time(
    task: Zonal, noise_std: float, lengths: Sequence[float], times: Sequence[float]
) -> pd.DataFrame:
    """Return exact windows along the population flow: ``n``, ``time`` (infinite for the minimizer), ``w``."""

    def one(n: float) -> tuple[Any, ...]:
        path = population_flow(task, int(n), noise_std, [0.0, *times])[1:]
        return np.array([*times, np.inf]), np.append(path, optimal_window(task, n, noise_std).w)

    return measured(one, ["time", "w"], n=lengths)


def every_position(task: Zonal, noise_std: float, context_length: int) -> pd.DataFrame:
    """Compare one window for all lengths m = 1, ..., n with a window for each.

    Returns:
        Columns ``m``, ``own`` (the best window of the length), ``shared`` (the best for the mean risk over
        all lengths) and ``price``: how much more than its own window's the shared one's risk is, relative.
    """
    lengths = np.arange(1, context_length + 1)

    def risk(w: Any) -> Array:
        return np.asarray(population_risk(task, w, lengths, noise_std).total)

    found = minimize_scalar(
        lambda u: risk(np.exp(u)).mean(), bounds=(-3, 4), method="bounded", options={"xatol": 1e-6}
    )
    best, shared = optimal_window(task, lengths, noise_std), float(np.exp(found.x))
    price = risk(shared) / best.risk - 1
    return pd.DataFrame({"m": lengths, "own": best.w, "shared": shared, "price": price})


def train_every_position(
    task: Zonal, setting: Setting, seeds: int, steps: int, rate: float, batch_size: int = 32
) -> Array:
    """Train units with a causal mask and a loss at every position; return their mean diagonals, (seeds,)."""
    n, d = setting.context_length, setting.dim

    def tokens(rng: NativeStream, count: int) -> Tensor:
        return uniform_sphere(rng, count, n + 1, d)

    def loss(step: int, M: Tensor) -> Tensor:
        x, _, y = sample_contexts(task, tokens, setting.noise_std, seeds, batch_size, 2, step)
        return ((predict_every_label(M, x, y) - y[..., 1:]) ** 2).mean((1, 2))

    (M,), _ = minimize(loss, [torch.zeros(seeds, d, d)], steps, rate)
    return np.asarray(torch.diagonal(M, dim1=1, dim2=2).mean(1).numpy(), dtype=float)
