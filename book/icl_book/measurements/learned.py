"""Measurements on full units, in which all of W_V, W_K, W_Q are trained: their form, and the corner of W_V.

A full unit sees tokens z = (x, y), the query with an empty label slot, and predicts the last entry of
``W_V sum_i omega_i z_i`` with weights from the scores ``z_i' W_K' W_Q z_q``. Of W_V only the last row
``(v', c)`` reaches the prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.interpolate import CubicSpline

from icl.attention import full_unit, softmax_weights
from icl.covariates import uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.streams import stream
from icl.tasks import Affine, Function, QuadraticRisk, Zonal, make_task
from icl.tasks.base import Rng
from icl_book.measurements.tables import FAST, Array, Training, grid, measured


@dataclass(frozen=True)
class Leaning(Affine):
    """Linear functions of the first coordinate, all with positive slope; the covariance is not theirs."""

    def sample(self, rng: Rng, count: int) -> Function:
        slope = torch.as_tensor(
            rng.uniform(self.lipschitz / 2, 1.5 * self.lipschitz, (count, 1))
        )
        return lambda x: slope.to(x) * x[..., 0]


#: What units learn from; "leaning" functions are not as likely as their negatives.
KINDS = ("affine", "ReLU", "leaning")


def _task(kind: str, d: int, lipschitz: float) -> Zonal:
    return Leaning(d, lipschitz) if kind == "leaning" else make_task(kind, d, lipschitz)


def settings(
    dims: Sequence[int],
    noise_std: float,
    noise_stds: Sequence[float],
    widths: Sequence[int] = (),
) -> pd.DataFrame:
    """List the settings of the chapter, each once: ``kind``, ``d``, ``sigma``, ``width`` (rows of W_K, W_Q).

    ReLU and leaning functions in all dimensions; in the middle one of the list also affine functions, all
    noises, and ReLU functions in all widths.
    """
    d = dims[len(dims) // 2]
    every = [(kind, k, noise_std, k + 1) for k in dims for kind in ("ReLU", "leaning")]
    every += [
        (kind, d, sigma, d + 1) for kind in ("affine", "ReLU") for sigma in noise_stds
    ]
    every += [("ReLU", d, noise_std, width) for width in widths]
    return pd.DataFrame(
        every, columns=["kind", "d", "sigma", "width"]
    ).drop_duplicates()


def train_full(
    every: pd.DataFrame, lipschitz: float, context_length: int, how: Training
) -> pd.DataFrame:
    """Train full units from random starts: independent normal numbers, of deviation 0.3 at width d + 1.

    With more rows the deviation is smaller, so that W_K' W_Q starts at the same size.

    Returns:
        A row for each of the `settings` and seed: its columns, ``seed``, the entries ``scores`` (W_K' W_Q)
        and ``values`` ((v', c)), and

        - ``window``, the mean diagonal of the token block of W_K' W_Q; ``corner``, |c|; ``leak``, |v| / |c|;
        - ``outside``, the norm of all but the token block over that of the block, with zeros in the last
          column, as in a unit that started with zeros there;
        - ``last`` and ``first``, the norms of these columns of W_Q over what they were at the start.
    """
    frames = []
    for _, some in every.groupby(
        "d", sort=False
    ):  # a call trains units of one dimension
        units = some.merge(grid(seed=range(how.seeds)), how="cross")
        members = []
        for unit in units.itertuples():
            problem = _task(unit.kind, unit.d, lipschitz), unit.sigma, context_length
            std = 0.3 * min(1.0, ((unit.d + 1) / unit.width) ** 0.5)
            members.append(
                UnitConfig(*problem, unit.seed, width=unit.width, initial_std=std)
            )
        trained = pretrain(members, *how[1:], **FAST)
        rows = [
            _measures(p, m) for p, m in zip(trained.parameters, members, strict=True)
        ]
        frames.append(units.join(pd.DataFrame(rows)))
    return pd.concat(frames, ignore_index=True)


def _measures(parameters: dict[str, Array], unit: UnitConfig) -> dict[str, Any]:
    A, values, d = (
        parameters["W_K"].T @ parameters["W_Q"],
        parameters["W_V"].ravel(),
        unit.task.dim,
    )
    block, rest = A[:d, :d], A.copy()
    rest[:, d] = 0
    rest[:d, :d] = 0
    before = unit.layout.unpack(unit.initial())["W_Q"].astype(np.float32)
    grown = np.linalg.norm(parameters["W_Q"], axis=0) / np.linalg.norm(before, axis=0)
    return {
        "scores": A,
        "values": values,
        "window": np.trace(block) / d,
        "corner": abs(values[-1]),
        "leak": np.linalg.norm(values[:-1]) / abs(values[-1]),
        "outside": np.linalg.norm(rest) / np.linalg.norm(block),
        "last": grown[-1],
        "first": grown[0],
    }


def redrawn(d: int, context_length: int) -> pd.DataFrame:
    """Return the largest change of random units' predictions when a part of W_V is drawn anew.

    One row; the parts are the first d ``rows`` and the first d ``columns``.
    """
    rng = stream(0, "evaluation")
    tokens = torch.from_numpy(rng.standard_normal((100, context_length + 1, d + 1)))
    tokens[:, -1, -1] = 0
    W = torch.from_numpy(rng.standard_normal((3, d + 1, d + 1)))
    before, changes = full_unit(tokens, *W), {}
    for part, where in (("rows", np.s_[:d]), ("columns", np.s_[:, :d])):
        V = W[0].clone()
        V[where] = torch.from_numpy(rng.standard_normal(tuple(V[where].shape)))
        changes[part] = [
            float((full_unit(tokens, V, *W[1:]) - before)[:, -1].abs().max())
        ]
    return pd.DataFrame(changes)


def added_errors(
    dims: Sequence[int], lipschitz: float, noise_std: float, context_length: int
) -> pd.DataFrame:
    """Return what a random v adds to the error of random contexts and their mirror images.

    The mirror image has all labels reversed. Units ignore labels in their scores. The added error is divided
    by the mean of (v' sum omega x)^2: columns ``label`` (class), ``d``, ``value``.
    """

    def one(label: str, d: int) -> float:
        rng = stream(0, "evaluation", 1)
        x = uniform_sphere(rng, 200, context_length + 1, d)
        f = _task(label, d, lipschitz).sample(rng, 200)(x)
        y = f + noise_std * torch.from_numpy(rng.standard_normal(f.shape))
        W_V, W_K, W_Q = torch.from_numpy(rng.standard_normal((3, d + 1, d + 1)))
        W_K[:, -1] = W_Q[:, -1] = 0  # labels are ignored
        without = W_V.clone()
        without[-1, :-1] = 0  # v = 0
        sign = torch.tensor([1.0, -1.0], dtype=torch.float64)[:, None]
        labels = sign[..., None] * torch.cat(
            [y[:, :-1], y.new_zeros(200, 1)], 1
        )  # the query has none
        z = torch.cat([x.expand(2, *x.shape), labels[..., None]], -1)
        p, bare = (full_unit(z, V, W_K, W_Q)[..., -1] for V in (W_V, without))
        added = (p - sign * f[:, -1]) ** 2 - (bare - sign * f[:, -1]) ** 2
        return float(added.mean() / ((p - bare)[0] ** 2).mean())

    return measured(one, ["value"], label=("affine", "ReLU"), d=dims)


def corner_optimum(
    kinds: Sequence[str],
    d: int,
    lipschitz: float,
    n: int,
    noise_stds: Sequence[float],
    contexts: int,
) -> pd.DataFrame:
    """Return the population optimum of corner and window together, and of the window alone.

    Labels are integrated out, tokens sampled: once for a grid of windows, which serves every noise.

    Returns:
        Columns ``kind``, ``sigma``, the best ``c`` and ``w`` and their ``risk``; ``w_one`` and ``risk_one``
        at c = 1.
    """
    fine, tasks = (
        np.linspace(0, 30, 3001),
        {kind: _task(kind, d, lipschitz) for kind in kinds},
    )
    splines = {kind: _moments(task, n, contexts) for kind, task in tasks.items()}

    def one(kind: str, sigma: float) -> tuple[float, ...]:
        cross, square, spread = splines[kind](fine).T
        square = square + sigma**2 * spread
        power = float(tasks[kind].covariance(np.array(1.0)))
        free, fixed = power - cross**2 / square, power - 2 * cross + square
        i, j = free.argmin(), fixed.argmin()
        return cross[i] / square[i], fine[i], free[i], fine[j], fixed[j]

    return measured(
        one, ["c", "w", "risk", "w_one", "risk_one"], kind=kinds, sigma=noise_stds
    )


def _moments(task: Zonal, context_length: int, contexts: int) -> CubicSpline:
    """Return a spline in w of E omega' k_q, E omega' K omega and E |omega|^2."""
    grid_w = np.concatenate([np.linspace(0, 4, 21), np.geomspace(4.4, 30, 16)])
    x = uniform_sphere(stream(0, "monte carlo"), contexts, context_length + 1, task.dim)
    form, eye, means = (
        QuadraticRisk.of(task, x, 0.0),
        torch.eye(task.dim, dtype=torch.float64),
        [],
    )
    for w in grid_w:
        omega = softmax_weights(x[:, :-1], x[:, -1], w * eye)
        parts = form.gain(omega), form.product(omega, omega), (omega**2).sum(-1)
        means.append([float(v.mean()) for v in parts])
    return CubicSpline(grid_w, means)
