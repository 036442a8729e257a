"""What training finds: the growth of M, and the units in which all of W_V, W_K, W_Q are trained.

A simple unit has one matrix M, and its scores are ``x_i' M x_q``. w is the window parameter of M = w I.

A *full unit* sees z = (x, y), a token with its label, where the query has the label 0. Its softmax weights
omega have the scores ``z_i' W_K' W_Q z_q``. Its prediction is the last entry of ``W_V sum_i omega_i z_i``.

- Of W_V only the last row ``(v', c)`` reaches the prediction. v is for the tokens. c, the *corner*, is for
  the labels.
- The *token block* of ``W_K' W_Q`` is its first d rows and columns. It takes the place of M.
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
    """Functions s x_1 with a positive slope s, uniform from L / 2 to 3 L / 2.

    Only `sample` is right for them. The inherited covariance is that of the affine class.
    """

    def sample(self, rng: Rng, count: int) -> Function:
        low = self.lipschitz / 2
        high = 1.5 * self.lipschitz
        slope = torch.as_tensor(rng.uniform(low, high, (count, 1)))
        return lambda x: slope.to(x) * x[..., 0]


def trained_norms(
    tasks: Mapping[float, Task], *, record: Sequence[int], **training: Any
) -> pd.DataFrame:
    """Train units from M = 0 with steps of constant size, and return the spectral norms of M.

    Units of one seed see the same tokens and noise. ``tasks`` has the classes by their Lipschitz constant,
    and ``record`` the steps at which the norm is recorded. The training ends at the last of them.
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
    """Compare the norm of M at each Lipschitz constant with the norm at the next smaller constant.

    ``log_ratio`` is the log of a quotient: the norm at the larger constant over that at the smaller one, at
    the same step. Each pair of constants has its own step: the step of ``steps`` at which the median over the
    seeds of ``log_ratio`` is smallest.
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
    """Train full units from random starts.

    All entries of W_V, W_K and W_Q start as independent normal numbers with the standard deviation 0.3. If
    W_K and W_Q have a ``width`` of more than d + 1 rows, the deviation is smaller. Their columns then have
    the same mean square length as with d + 1 rows.

    Returns:
        A row for each class and seed, with

        - ``scores``, the matrix W_K' W_Q after training, and ``values``, the last row (v', c) of W_V;
        - ``window``, the mean of the diagonal of the token block, and ``corner``, |c|;
        - ``outside``, the norm of the entries of W_K' W_Q outside the token block, except the last column,
          divided by the norm of the block;
        - ``last_column``, the norm of the last column of W_Q after training, divided by its norm before.
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
            # The label of the query is 0, so that the last column does not reach the scores.
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
    """Return by how much the predictions of a random full unit change when a part of W_V is drawn anew.

    The part is the first d ``rows``, which do not reach the prediction, or the first d ``columns``. The
    change is the largest absolute one in 100 random contexts.
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
    """Return what a random v adds to the squared error of a full unit, in units of the mean of (v'm)^2.

    v adds ``v'm`` to the prediction, where ``m = sum_i omega_i x_i``. Each of 200 random contexts is taken
    twice, the second time with all labels and the target multiplied by -1. The scores of the unit ignore
    labels, so that v adds the same number both times. The cross terms cancel, and the result is one.
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
    # With zeros in these columns labels do not enter the scores.
    W_K[:, -1] = 0
    W_Q[:, -1] = 0
    without_v = W_V.clone()
    # These entries are v.
    without_v[-1, :-1] = 0
    # The first list has what v adds to the squared error, the second (v'm)^2.
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
    """Return the corner c and the window w of the least risk, and the best window for c = 1.

    The prediction is ``c sum_i omega_i y_i``. The mean over labels is a formula. The mean over tokens is
    sampled, with the same contexts for every noise.
    """
    moments = _spline_moments(task, context_length, contexts)
    # This is E f(x)^2, the risk of the prediction 0.
    power = task.second_moment
    w = np.linspace(0, 30, 3001)
    rows = []
    for noise_std in noise_stds:
        cross, square, spread = moments(w).T
        square = square + noise_std**2 * spread
        # The risk is power - 2 c cross + c^2 square. It is least at c = cross / square.
        free = power - cross**2 / square
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

    K is the matrix of the covariances E f(x_i) f(x_j), and k_q the vector of the E f(x_i) f(x_q). The means
    are over sampled contexts.
    """
    windows = np.concatenate([np.linspace(0, 4, 21), np.geomspace(4.4, 30, 16)])
    rng = stream(0, "monte carlo")
    x = uniform_sphere(rng, contexts, context_length + 1, task.dim)
    # Without noise the `gain` of this form is omega' k_q, and its `product` is omega' K omega.
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
    """Return the window w at several times of the gradient flow from M = 0, `icl.risk.population_flow`.

    The time infinity has the window of the least risk.
    """
    rows = []
    for n in lengths:
        flow = population_flow(task, n, noise_std, times)
        for time, w in zip(times, flow, strict=True):
            rows.append({"n": n, "time": time, "w": w})
        best = optimal_window(task, n, noise_std).w
        rows.append({"n": n, "time": np.inf, "w": best})
    return pd.DataFrame(rows)
