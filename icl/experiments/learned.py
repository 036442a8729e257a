"""Measurements on full units, in which all of W_V, W_K, W_Q are trained: their form, and the corner of W_V.

A full unit sees tokens z = (x, y), the query with an empty label slot, and predicts the last entry of
``W_V sum_i omega_i z_i`` with weights from the scores ``z_i' W_K' W_Q z_q``. Of W_V only the last row
``(v', c)`` reaches the prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from torch import Tensor

from icl.attention import full_unit, softmax_weights
from icl.covariates import uniform_sphere
from icl.experiments.tables import measured
from icl.pretrain import UnitConfig, pretrain
from icl.streams import stream
from icl.tasks import Affine, Function, Linear, ReLU
from icl.tasks.base import Rng

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Leaning(Affine):
    """Linear functions of the first coordinate, all with positive slope; the covariance is not theirs."""

    def sample(self, rng: Rng, count: int) -> Function:
        slope = torch.as_tensor(rng.uniform(self.lipschitz / 2, 1.5 * self.lipschitz, (count, 1)))
        return lambda x: slope.to(x) * x[..., 0]


#: What units learn from; "leaning" functions are not as likely as their negatives.
KINDS: dict[str, type[Affine | ReLU | Linear]] = {
    "affine": Affine,
    "ReLU": ReLU,
    "linear": Linear,
    "leaning": Leaning,
}


@dataclass(frozen=True)
class FullUnit:
    """A setting: class, dimension d, noise, and the rows of W_K and W_Q."""

    kind: str
    d: int
    noise_std: float
    width: int


def settings(
    dims: Sequence[int], noise_std: float, noise_stds: Sequence[float], widths: Sequence[int] = ()
) -> list[FullUnit]:
    """List the settings of the chapter, each once.

    ReLU and leaning functions in all dimensions; in the middle one of the list also affine functions, all
    noises, and ReLU functions in all widths.
    """
    d = dims[len(dims) // 2]
    every = [FullUnit(kind, k, noise_std, k + 1) for k in dims for kind in ("ReLU", "leaning")]
    every += [FullUnit(kind, d, sigma, d + 1) for kind in ("affine", "ReLU") for sigma in noise_stds]
    every += [FullUnit("ReLU", d, noise_std, width) for width in widths]
    return list(dict.fromkeys(every))


def train_full(
    every: Sequence[FullUnit],
    lipschitz: float,
    context_length: int,
    seeds: int,
    steps: int,
    batch_size: int,
    device: torch.device | str = "cpu",
    learning_rate: float = 0.03,
) -> pd.DataFrame:
    """Train full units from random starts: independent normal numbers, of deviation 0.3 at width d + 1.

    With more rows the deviation is smaller, so that W_K' W_Q starts at the same size.

    Returns:
        A row for each setting and seed: its ``kind``, ``d``, ``sigma``, ``width``, ``seed``, the entries
        ``scores`` (W_K' W_Q) and ``values`` ((v', c)), and

        - ``window``, the mean diagonal of the token block of W_K' W_Q; ``corner``, |c|; ``leak``, |v| / |c|;
        - ``outside``, the norm of all but the token block over that of the block, with zeros in the last
          column, as in a unit that started with zeros there;
        - ``last`` and ``first``, the norms of these columns of W_Q over what they were at the start.
    """
    frames = []
    for d in dict.fromkeys(unit.d for unit in every):  # a call trains units of one dimension
        some = [unit for unit in every if unit.d == d]
        members = [
            UnitConfig(
                KINDS[unit.kind](d, lipschitz),
                unit.noise_std,
                context_length,
                seed,
                width=unit.width,
                initial_std=0.3 * min(1.0, ((d + 1) / unit.width) ** 0.5),
            )
            for unit in some
            for seed in range(seeds)
        ]
        fast: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
        trained = pretrain(members, steps, batch_size, learning_rate, device, **fast)
        rows = [_measures(p, m) for p, m in zip(trained.parameters, members, strict=True)]
        named = [(unit.kind, d, unit.noise_std, unit.width, seed) for unit in some for seed in range(seeds)]
        columns = pd.DataFrame(named, columns=["kind", "d", "sigma", "width", "seed"])
        frames.append(columns.join(pd.DataFrame(rows)))
    return pd.concat(frames, ignore_index=True)


def _measures(parameters: dict[str, Array], unit: UnitConfig) -> dict[str, Any]:
    A, values, d = parameters["W_K"].T @ parameters["W_Q"], parameters["W_V"].ravel(), unit.task.dim
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


def redrawn(d: int, context_length: int) -> dict[str, float]:
    """Return the largest change of random units' predictions when a part of W_V is drawn anew.

    The parts are the first d "rows" and the first d "columns".
    """
    rng = stream(0, "evaluation")
    tokens = torch.from_numpy(rng.standard_normal((100, context_length + 1, d + 1)))
    tokens[:, -1, -1] = 0
    W = torch.from_numpy(rng.standard_normal((3, d + 1, d + 1)))
    changes = {}
    for part in ("rows", "columns"):
        V = W[0].clone()
        changed = V[:d] if part == "rows" else V[:, :d]
        changed[:] = torch.from_numpy(rng.standard_normal(tuple(changed.shape)))
        after, before = full_unit(tokens, V, *W[1:]), full_unit(tokens, *W)
        changes[part] = float((after - before)[:, -1].abs().max())
    return changes


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
        f = KINDS[label](d, lipschitz).sample(rng, 200)(x)
        y = f + noise_std * torch.from_numpy(rng.standard_normal(f.shape))
        W_V, W_K, W_Q = torch.from_numpy(rng.standard_normal((3, d + 1, d + 1)))
        W_K[:, -1] = W_Q[:, -1] = 0  # labels are ignored
        without = W_V.clone()
        without[-1, :-1] = 0  # v = 0

        def prediction(sign: int, V: Tensor) -> Tensor:
            z = torch.cat([x, sign * y.unsqueeze(-1)], -1)
            z[:, -1, -1] = 0
            return full_unit(z, V, W_K, W_Q)[:, -1]

        def error(sign: int, V: Tensor) -> Tensor:
            return ((prediction(sign, V) - sign * f[:, -1]) ** 2).mean()

        added = sum((error(sign, W_V) - error(sign, without) for sign in (1, -1)), torch.zeros(())) / 2
        return float(added / ((prediction(1, W_V) - prediction(1, without)) ** 2).mean())

    return measured(one, ["value"], label=("affine", "ReLU"), d=dims)


def corner_optimum(
    kinds: Sequence[str],
    d: int,
    lipschitz: float,
    context_length: int,
    noise_stds: Sequence[float],
    contexts: int,
) -> pd.DataFrame:
    """Return the population optimum of corner and window together, and of the window alone.

    Labels are integrated out, tokens sampled: once for a grid of windows, which serves every noise.

    Returns:
        Columns ``kind``, ``sigma``, the best ``c`` and ``w`` and their ``risk``; ``w_one`` and ``risk_one``
        at c = 1.
    """
    fine = np.linspace(0, 30, 3001)
    splines = {kind: _moments(KINDS[kind](d, lipschitz), context_length, contexts) for kind in kinds}

    def one(kind: str, sigma: float) -> tuple[float, ...]:
        cross, square, spread = splines[kind](fine).T
        square = square + sigma**2 * spread
        power = float(KINDS[kind](d, lipschitz).covariance(np.array(1.0)))
        free, fixed = power - cross**2 / square, power - 2 * cross + square
        i, j = free.argmin(), fixed.argmin()
        return cross[i] / square[i], fine[i], free[i], fine[j], fixed[j]

    return measured(one, ["c", "w", "risk", "w_one", "risk_one"], kind=kinds, sigma=noise_stds)


def _moments(task: Affine | ReLU | Linear, context_length: int, contexts: int) -> CubicSpline:
    """Return a spline in w of E omega' k_q, E omega' K omega and E |omega|^2."""
    grid = np.concatenate([np.linspace(0, 4, 21), np.geomspace(4.4, 30, 16)])
    x = uniform_sphere(stream(0, "monte carlo"), contexts, context_length + 1, task.dim)
    K = torch.from_numpy(task.covariance((x @ x.mT).clamp(-1, 1).numpy()))
    eye, means = torch.eye(task.dim, dtype=torch.float64), []
    for w in grid:
        omega = softmax_weights(x[:, :-1], x[:, -1], w * eye)
        cross = (omega * K[:, :-1, -1]).sum(-1)
        square = ((K[:, :-1, :-1] @ omega.unsqueeze(-1)).squeeze(-1) * omega).sum(-1)
        means.append([float(v.mean()) for v in (cross, square, (omega**2).sum(-1))])
    return CubicSpline(grid, means)
