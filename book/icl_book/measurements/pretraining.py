"""What training finds: the growth of M, and the units in which all of W_V, W_K, W_Q are trained.

A full unit sees tokens z = (x, y), the query with an empty label slot, and predicts the last entry of
``W_V sum_i omega_i z_i``, with the softmax weights omega of the scores ``z_i' W_K' W_Q z_q``. Of W_V only
the last row ``(v', c)`` reaches the prediction, v for the tokens and the *corner* c for the labels. The
*token block* of ``W_K' W_Q``, its first d rows and columns, is M in a unit that has only this matrix, and w
is the window parameter of M = w I.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.interpolate import CubicSpline

from icl.attention import full_unit, softmax_weights
from icl.covariates import uniform_sphere
from icl.pretrain import train_grid
from icl.pretrain.metrics import spectral_norm
from icl.risk import optimal_window, population_flow
from icl.streams import stream
from icl.tasks import Affine, Function, QuadraticRisk, Task, Zonal
from icl.tasks.base import Rng
from icl_book.measurements import tabulate_record


@dataclass(frozen=True)
class Leaning(Affine):
    """Linear functions of the first coordinate, all with positive slope, so that their negatives never occur.

    The inherited covariance is not theirs.
    """

    def sample(self, rng: Rng, count: int) -> Function:
        low = self.lipschitz / 2
        high = 1.5 * self.lipschitz
        slope = torch.as_tensor(rng.uniform(low, high, (count, 1)))
        return lambda x: slope.to(x) * x[..., 0]


def trained_norms(
    tasks: Mapping[float, Task], *, record: Sequence[int], **training: Any
) -> pd.DataFrame:
    """Train units with steps of constant size from M = 0, until the last step of ``record``.

    ``tasks`` has the class for each Lipschitz constant, and there is a unit for each class and seed. Units of
    one seed see the same tokens and noise. ``training`` goes to `icl.pretrain.train_grid`.

    Returns:
        Columns ``lipschitz``, ``step``, ``seed`` and ``norm``, the spectral norm of M.
    """
    units = train_grid(
        list(tasks.values()), steps=record[-1], schedule="constant", record=record, **training
    )
    # The axes are recorded steps, classes and seeds.
    norm = spectral_norm(units.M_history)
    return pd.concat(
        [tabulate_record(record, norm=norm[:, i]).assign(lipschitz=L) for i, L in enumerate(tasks)],
        ignore_index=True,
    )


def norm_ratios(units: pd.DataFrame, *, steps: Sequence[int]) -> pd.DataFrame:
    """Compare the norms of `trained_norms` at each Lipschitz constant and at the next smaller one.

    Of the given steps the one counts at which the median of the log ratio over the seeds is smallest.

    Returns:
        A row for each pair of constants and seed: ``lipschitz``; ``smaller``, the next smaller constant;
        ``seed``; and ``log_ratio``, the logarithm of the norm at the larger constant over that at the smaller
        one.
    """
    looked_at = units[units.step.isin(steps)]
    log = np.log(looked_at.pivot(index=["step", "seed"], columns="lipschitz", values="norm"))
    parts = []
    for smaller, larger in pairwise(log.columns):
        difference = log[larger] - log[smaller]
        least_favorable = difference.groupby("step").median().idxmin()
        part = difference.loc[least_favorable].rename("log_ratio").reset_index()
        parts.append(part.assign(lipschitz=larger, smaller=smaller))
    return pd.concat(parts, ignore_index=True)


def train_full_units(
    tasks: Mapping[str, Task],
    *,
    dim: int,
    noise_std: float,
    width: int,
    seeds: int,
    **training: Any,
) -> pd.DataFrame:
    """Train units with all matrices free from random starts.

    All entries start as independent normal numbers. W_K and W_Q have ``width`` rows. Up to d + 1 rows the
    deviation is 0.3, and with more it is smaller, so that columns start with the same mean square length.
    ``tasks`` has classes by name; ``training`` goes to `icl.pretrain.train_grid`.

    Returns:
        A row for each class and seed: ``task``, ``dim``, ``noise_std``, ``width``, ``seed``, the entries
        ``scores`` (W_K' W_Q) and ``values`` ((v', c)), and

        - ``window``, the mean diagonal of the token block of W_K' W_Q, and ``corner``, |c|;
        - ``outside``, the norm of all entries outside the token block over that of the block, the last column
          taken as zero, which it would be after a start at zero;
        - ``last_column``, the norm of this column of W_Q after training over that before.
    """
    units = train_grid(
        list(tasks.values()),
        noise_std,
        seeds=seeds,
        width=width,
        initial_std=0.3 * min(1.0, ((dim + 1) / width) ** 0.5),
        record=[0],
        **training,
    )
    # Of the history only step 0 is recorded. Units of one class follow each other.
    (before,) = units.history
    after = units.parameters
    rows: list[dict[str, Any]] = []
    for i, task in enumerate(tasks):
        for seed in range(seeds):
            unit = i * seeds + seed
            W_Q = after[unit]["W_Q"]
            scores = after[unit]["W_K"].T @ W_Q
            values = after[unit]["W_V"].ravel()
            block = scores[:dim, :dim]
            outside_block = scores.copy()
            outside_block[:dim, :dim] = 0
            outside_block[:, dim] = 0
            last_column = np.linalg.norm(W_Q[:, dim])
            rows.append(
                {
                    "task": task,
                    "dim": dim,
                    "noise_std": noise_std,
                    "width": width,
                    "seed": seed,
                    "scores": scores,
                    "values": values,
                    "window": np.trace(block) / dim,
                    "corner": abs(values[-1]),
                    "outside": np.linalg.norm(outside_block) / np.linalg.norm(block),
                    "last_column": last_column / np.linalg.norm(before[unit]["W_Q"][:, dim]),
                }
            )
    return pd.DataFrame(rows)


def changed_predictions(*, dim: int, context_length: int) -> dict[str, float]:
    """Return the largest change of a random unit's predictions when a part of W_V is drawn anew.

    The parts are the first d ``rows``, which do not reach the prediction, and the first d ``columns``. The
    change is absolute, and the largest in 100 random contexts.
    """
    rng = stream(0, "evaluation")
    tokens = torch.from_numpy(rng.standard_normal((100, context_length + 1, dim + 1)))
    # The query has no label.
    tokens[:, -1, -1] = 0
    W_V, W_K, W_Q = torch.from_numpy(rng.standard_normal((3, dim + 1, dim + 1)))
    before = full_unit(tokens, W_V, W_K, W_Q)
    changes = {}
    for part in ("rows", "columns"):
        changed = W_V.clone()
        drawn = torch.from_numpy(rng.standard_normal((dim, dim + 1)))
        if part == "rows":
            changed[:dim] = drawn
        else:
            changed[:, :dim] = drawn.T
        after = full_unit(tokens, changed, W_K, W_Q)
        changes[part] = float((after - before)[:, -1].abs().max())
    return changes


def added_error(task: Zonal, *, noise_std: float, context_length: int) -> float:
    """Return what a random v adds to the squared error in random contexts and their mirror images.

    The mirror image of a context has the opposite labels and target. The unit ignores labels in its scores,
    so that v adds ``v' sum omega x`` to both predictions. The added error is divided by the mean of its
    square, and is one, since the cross terms cancel.
    """
    contexts = 200
    dim = task.dim
    rng = stream(0, "evaluation", 1)
    x = uniform_sphere(rng, contexts, context_length + 1, dim)
    f = task.sample(rng, contexts)(x)
    y = f + noise_std * torch.from_numpy(rng.standard_normal(f.shape))
    # The query has no label.
    y[:, -1] = 0
    W_V, W_K, W_Q = torch.from_numpy(rng.standard_normal((3, dim + 1, dim + 1)))
    # Without these columns labels do not enter the scores.
    W_K[:, -1] = 0
    W_Q[:, -1] = 0
    without_v = W_V.clone()
    # These entries are v.
    without_v[-1, :-1] = 0
    added = []
    moved = []
    for sign in (1, -1):
        z = torch.cat([x, sign * y[..., None]], dim=-1)
        prediction = full_unit(z, W_V, W_K, W_Q)[:, -1]
        prediction_without_v = full_unit(z, without_v, W_K, W_Q)[:, -1]
        target = sign * f[:, -1]
        added.append((prediction - target) ** 2 - (prediction_without_v - target) ** 2)
        moved.append((prediction - prediction_without_v) ** 2)
    return float(torch.stack(added).mean() / torch.stack(moved).mean())


def corner_optimum(
    task: Zonal, *, context_length: int, noise_stds: Sequence[float], contexts: int
) -> pd.DataFrame:
    """Return the population optimum of corner c and window w together, and of the window alone.

    The unit predicts ``c sum_i omega_i y_i``, and w is searched from 0 to 30. Labels are integrated out,
    tokens sampled: once for a grid of windows, which serves every noise.

    Returns:
        Columns ``noise_std``, the best ``c`` and ``w`` and their ``risk``; ``w_one`` and ``risk_one``, the
        best w at c = 1 and its risk.
    """
    moments = _spline_moments(task, context_length, contexts)
    power = task.second_moment
    w = np.linspace(0, 30, 3001)
    rows = []
    for noise_std in noise_stds:
        cross, square, spread = moments(w).T
        square = square + noise_std**2 * spread
        # The risk power - 2 c cross + c^2 square is least at the corner c = cross / square.
        free = power - cross**2 / square
        # This is the risk at c = 1.
        at_one = power - 2 * cross + square
        i = free.argmin()
        j = at_one.argmin()
        rows.append(
            {
                "noise_std": noise_std,
                "c": cross[i] / square[i],
                "w": w[i],
                "risk": free[i],
                "w_one": w[j],
                "risk_one": at_one[j],
            }
        )
    return pd.DataFrame(rows)


def _spline_moments(task: Zonal, context_length: int, contexts: int) -> CubicSpline:
    """Return a spline in w, from 0 to 30, of E omega' k_q, E omega' K omega and E |omega|^2, in this order.

    K are the covariances of the class between the examples, k_q those with the query.
    """
    windows = np.concatenate([np.linspace(0, 4, 21), np.geomspace(4.4, 30, 16)])
    rng = stream(0, "monte carlo")
    x = uniform_sphere(rng, contexts, context_length + 1, task.dim)
    form = QuadraticRisk.of(task, x, 0.0)
    identity = torch.eye(task.dim, dtype=torch.float64)
    means = []
    for w in windows:
        omega = softmax_weights(x[:, :-1], x[:, -1], w * identity)
        cross = form.gain(omega).mean()
        square = form.product(omega, omega).mean()
        spread = (omega**2).sum(-1).mean()
        means.append([float(cross), float(square), float(spread)])
    return CubicSpline(windows, means)


def windows_in_time(
    task: Zonal, *, noise_std: float, lengths: Sequence[int], times: Sequence[float]
) -> pd.DataFrame:
    """Return exact windows along the population flow from M = 0, `icl.risk.population_flow`.

    Columns ``n``, of ``lengths``; ``time``, one of ``times`` or infinite for the minimizer; and ``w``.
    """
    rows = []
    for n in lengths:
        flow = population_flow(task, n, noise_std, times)
        for time, w in zip(times, flow, strict=True):
            rows.append({"n": n, "time": time, "w": w})
        best = optimal_window(task, n, noise_std).w
        rows.append({"n": n, "time": np.inf, "w": best})
    return pd.DataFrame(rows)
