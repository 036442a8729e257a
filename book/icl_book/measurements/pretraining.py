"""Measurements on what training finds: the growth of M, and how it falls short of the minimizer.

Units are trained by constant steps from M = 0 and looked at on their way (`grow`), on finitely many contexts
or functions (`finite_contexts`, `finite_functions`), and for a finite time (`windows_in_time`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.covariates import Ellipsoid, uniform_sphere
from icl.pretrain import UnitConfig, draw_contexts, pretrain, train_grid
from icl.pretrain.finite import ReLUPool, context_losses, fit_matrix, fit_window
from icl.pretrain.metrics import spectral_norm
from icl.risk import optimal_window, population_flow, population_risk
from icl.streams import stream
from icl.tasks import Cosine, Projected, QuadraticRisk, ReLU, Zonal, make_task
from icl_book.measurements.beyond import Wave
from icl_book.measurements.tables import FAST, Array, Training, grid, measured

#: What "non-isotropic" may mean: functions symmetric in the whitened coordinates, or those of the sphere.
LAWS = ("isotropic", "non-isotropic", "non-isotropic, same functions")


KINDS = ("ReLU", "cosine", "wave")


def _task(kind: str, d: int, lipschitz: float) -> Zonal:
    return Wave(d, lipschitz) if kind == "wave" else make_task(kind, d, lipschitz)


@dataclass(frozen=True)
class Setting:
    """What the units of this page share: d, n, sigma, the constants L, the batch and the device."""

    dim: int
    context_length: int
    noise_std: float
    lipschitz_values: Sequence[float]
    batch_size: int
    device: torch.device | str = "cpu"

    def windows(self) -> pd.DataFrame:
        """Return the exact best windows on the sphere: ``kind``, ``L``, ``w``."""

        def one(kind: str, L: float) -> float:
            return float(
                optimal_window(
                    _task(kind, self.dim, L), self.context_length, self.noise_std
                ).w
            )

        return measured(one, ["w"], kind=KINDS, L=self.lipschitz_values)


def grow(
    setting: Setting,
    kind: str,
    law: str,
    seeds: int,
    record: Sequence[int],
    rate: float,
    method: str = "sgd",
) -> pd.DataFrame:
    """Train units with steps of constant size from M = 0, for as many steps as the last of ``record``.

    Units of one seed see the same tokens and noise for all L.

    Returns:
        Columns ``kind``, ``law``, ``step``, ``L``, ``seed``, ``norm`` (spectral) and ``diagonal`` (its mean).
    """
    root: Any = np.diag(
        np.linspace(1.5, 0.5, setting.dim)
    )  # axes of non-isotropic tokens
    tasks: list[Any] = [_task(kind, setting.dim, L) for L in setting.lipschitz_values]
    if law == LAWS[1]:
        inverse: Any = np.linalg.inv(root)
        tasks = [Projected(task, inverse) for task in tasks]
    options: dict[str, Any] = {
        "optimizer": method,
        "schedule": "constant",
        "record": record,
    }
    options["covariates"] = None if law == LAWS[0] else Ellipsoid(root)
    training = Training(seeds, record[-1], setting.batch_size, rate, setting.device)
    M = train_grid(
        tasks, setting.noise_std, setting.context_length, *training, **options
    ).M_history
    frame = grid(
        kind=[kind],
        law=[law],
        step=record,
        L=setting.lipschitz_values,
        seed=range(seeds),
    )
    diagonal = np.trace(M, axis1=-2, axis2=-1).ravel() / setting.dim
    return frame.assign(norm=spectral_norm(M).ravel(), diagonal=diagonal)


def flow(setting: Setting, record: Sequence[int], rate: float) -> pd.DataFrame:
    """Return the exact population flow of the ReLU class: ``L``, ``step``, ``w``."""

    def one(L: float) -> tuple[Any, ...]:
        task, times = ReLU(setting.dim, L), rate * np.array(record)
        return record, population_flow(
            task, setting.context_length, setting.noise_std, times
        )

    return measured(one, ["step", "w"], L=setting.lipschitz_values)


def over_flow(units: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return the mean diagonal over the flow, averaged over the last three quarters: ``L, seed, ratio``."""
    late = units[4 * units.step >= units.step.max()].merge(exact, on=["L", "step"])
    return (
        late.assign(ratio=late.diagonal / late.w)
        .groupby(["L", "seed"], as_index=False)
        .ratio.mean()
    )


def ratios(units: pd.DataFrame, steps: Sequence[int]) -> pd.DataFrame:
    """Compare the spectral norms at each L and at the next smaller one, unit by unit.

    Returns:
        ``L``, ``other``, ``seed``, the ``ratio`` and its ``log``, at that of the steps at which the median
        over the seeds is smallest.
    """
    looked_at = units[
        units.step.isin(list(steps))
    ]  # M = 0 at the first step has no logarithm
    log = np.log(looked_at.pivot(index=["step", "seed"], columns="L", values="norm"))
    parts = []
    for other, L in pairwise(log.columns):
        some = log[L] - log[other]
        worst = some.loc[some.groupby("step").median().idxmin()]
        parts.append(worst.rename("log").reset_index().assign(L=L, other=other))
    return pd.concat(parts, ignore_index=True).assign(
        ratio=lambda frame: np.exp(frame["log"])
    )


def resolved(windows: pd.DataFrame, kind: str, compared: pd.DataFrame) -> pd.DataFrame:
    """Keep the comparisons of `ratios` in which the exact best window of a class grows with L."""
    w = windows[windows.kind == kind].set_index("L").w
    return compared[w.loc[compared.L].to_numpy() > w.loc[compared.other].to_numpy()]


def cosine_edge(setting: Setting) -> pd.DataFrame:
    """Return exact windows of the cosine class over L: ``case`` (n and d), ``L``, ``w``."""
    n, d = setting.context_length, setting.dim
    cases = {f"n = {m}, d = {k}": (m, k) for m, k in ((n, d), (5 * n, d), (n, d + 2))}

    def one(case: str, L: float) -> float:
        n, d = cases[case]
        return float(optimal_window(Cosine(d, L), n, setting.noise_std).w)

    return measured(one, ["w"], case=cases, L=np.linspace(0.5, 12.0, 24))


class Excess:
    """The risk of units beyond that of the best window, relative to it, on fixed test tokens."""

    def __init__(
        self, task: Zonal, noise_std: float, context_length: int, contexts: int
    ):
        self.best = optimal_window(task, context_length, noise_std)
        self.x = uniform_sphere(
            stream(1, "evaluation"), contexts, context_length + 1, task.dim
        )
        self.form = QuadraticRisk.of(task, self.x, noise_std)
        self.reference = self._risk(float(self.best.w) * np.eye(task.dim))

    def _risk(self, M: Array | Tensor) -> float:
        scores = torch.einsum(
            "bnd,de,be->bn", self.x[:, :-1], torch.as_tensor(M).double(), self.x[:, -1]
        )
        return float(self.form.risk(torch.softmax(scores, -1)).mean())

    def __call__(self, M: Array | Tensor) -> float:
        """Return the excess of a unit with matrix M, (d, d)."""
        return (self._risk(M) - self.reference) / float(self.best.risk)


def finite_contexts(
    task: Zonal,
    noise_std: float,
    context_length: int,
    sizes: Sequence[int],
    draws: int,
    contexts: int,
) -> pd.DataFrame:
    """Minimize the empirical loss of T contexts, over the number w and over all matrices.

    Returns:
        Columns ``unit`` ("full matrix M", "one number w"), ``T``, ``draw`` and ``excess``, relative.
    """
    excess, n = Excess(task, noise_std, context_length, contexts), context_length
    start = float(excess.best.w) * torch.eye(task.dim, dtype=torch.float64)

    def one(T: int, draw: int) -> tuple[Any, ...]:
        x, y = draw_contexts(
            task, noise_std=noise_std, n=n, batch_size=T, seed=1000 * T + draw
        )
        risk = float(population_risk(task, fit_window(x, y), n, noise_std).total)
        lost = excess(fit_matrix(x, y, start)), risk / float(excess.best.risk) - 1
        return ["full matrix M", "one number w"], lost

    return measured(one, ["unit", "excess"], T=sizes, draw=range(draws))


def score_constant(
    task: Zonal, noise_std: float, context_length: int, contexts: int = 20000
) -> float:
    """Return c of the relative excess c / T of the best w on T contexts, from the variance of the score."""
    best = optimal_window(task, context_length, noise_std)
    x, y = draw_contexts(
        task, noise_std=noise_std, n=context_length, batch_size=contexts, seed=5
    )
    w, step, eye = float(best.w), 1e-3, torch.eye(task.dim, dtype=torch.float64)
    high, low = (context_losses((w + sign * step) * eye, x, y) for sign in (1, -1))
    beside = w * np.array([0.99, 1.01])
    curvature = np.diff(population_risk(task, beside, context_length, noise_std).slope)[
        0
    ] / (0.02 * w)
    return float(((high - low) / (2 * step)).var()) / (
        2 * float(curvature) * float(best.risk)
    )


def finite_functions(
    setting: Setting,
    L: float,
    sizes: Sequence[int],
    seeds: int,
    steps: int,
    rate: float,
    contexts: int,
) -> pd.DataFrame:
    """Train units on fixed pools of ReLU functions, one for each seed, and on fresh functions.

    Returns:
        Columns ``T`` (functions in the pool, infinite for fresh ones), ``seed``, ``unit`` ("full matrix M")
        and ``excess``, relative.
    """
    task, n, sigma = ReLU(setting.dim, L), setting.context_length, setting.noise_std
    excess, cases = (
        Excess(task, sigma, n, contexts),
        grid(T=(*sizes, np.inf), seed=range(seeds)),
    )

    def unit(T: float, seed: int) -> UnitConfig:
        pool: Any = task if T == np.inf else ReLUPool(task.dim, L, int(T), seed)
        return UnitConfig(pool, sigma, n, seed)

    units = [unit(*case) for case in cases.itertuples(index=False)]
    trained = pretrain(units, steps, setting.batch_size, rate, setting.device, **FAST)
    return cases.assign(unit="full matrix M", excess=[excess(M) for M in trained.M])


def windows_in_time(
    task: Zonal, noise_std: float, lengths: Sequence[float], times: Sequence[float]
) -> pd.DataFrame:
    """Return exact windows along the population flow: ``n``, ``time`` (infinite for the minimizer), ``w``."""

    def one(n: float) -> tuple[Any, ...]:
        path = population_flow(task, int(n), noise_std, [0.0, *times])[1:]
        return [*times, np.inf], [*path, float(optimal_window(task, n, noise_std).w)]

    return measured(one, ["time", "w"], n=lengths)
