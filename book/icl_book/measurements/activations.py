"""Measurements of attention with other activations: exact floors, risks over w, trained units.

With M = w I, scores ``s = w t`` and ``t = x_i . x_q``, an activation phi predicts with the weights
``phi(w t_i)``, divided by their sum ("normalized") or times a gain. By Funk and Hecke it multiplies the
harmonics of degree l by ``m_l = E phi(w t) P_l(t)``.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl.covariates import uniform_sphere
from icl.pretrain import train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import QuadraticRisk, ReLU, Zonal, angle_quadrature
from icl.tasks.gegenbauer import Polynomials
from icl_book.measurements.tables import Array, Training, grid, measured

#: phi(w t), up to a factor that gain or normalization takes out.
KERNELS: dict[str, Callable[[Array, float], Array]] = {
    "exp": lambda s, w: np.exp(s - w),
    "sigmoid": lambda s, w: 1 / (1 + np.exp(-s)),
    "ReLU": lambda s, w: np.maximum(s, 0),
    "tanh": lambda s, w: np.tanh(s),
    "linear": lambda s, w: s,
}
#: Activations by the names that the page prints: phi, whether normalized, what `icl.pretrain` calls it. Odd
#: ones are not normalized, since their sums may be near zero.
ACTIVATIONS: dict[str, tuple[str, bool, str]] = {
    "softmax": ("exp", True, "softmax"),
    "exp": ("exp", False, ""),
    "normalized sigmoid": ("sigmoid", True, "normalized sigmoid"),
    "sigmoid": ("sigmoid", False, "sigmoid"),
    "normalized ReLU": ("ReLU", True, "normalized relu"),
    "ReLU": ("ReLU", False, "relu"),
    "tanh": ("tanh", False, "tanh"),
    "linear": ("linear", False, "linear"),
}
#: Window parameters of all sweeps.
GRID = np.geomspace(0.05, 400, 60)
DEGREE = 120


@lru_cache(maxsize=8)
def _harmonics(d: int) -> tuple[Array, Array, Array]:
    """Return nodes in t, their masses, and P_0, ..., P_DEGREE there."""
    theta, density = angle_quadrature(d, 400)
    return np.cos(theta), density, 1 - Polynomials(d, theta).take(DEGREE + 1)


def moments(phi: str, w: float, d: int) -> tuple[Array, float]:
    """Return m_0, ..., m_DEGREE and E phi^2."""
    t, density, P = _harmonics(d)
    values = KERNELS[phi](w * t, w)
    return P @ (density * values), float(density @ values**2)


def coefficients(task: Zonal) -> Array:
    """Return a_0, ..., a_DEGREE of a class; what lies beyond is lost on every kernel, and in the last."""
    a, rest = task.spectrum(DEGREE)
    a[-1] += rest
    return np.concatenate([[float(task.covariance(np.array(1.0))) - a.sum()], a])


def floors(task: Zonal) -> pd.DataFrame:
    """Return what an infinite context leaves at the best w and gain, over the class's variance.

    Columns ``activation`` and ``floor``.
    """
    a = coefficients(task)

    def one(activation: str) -> float:
        phi, normalized, _ = ACTIVATIONS[activation]
        m = np.array([moments(phi, w, task.dim)[0] for w in GRID])
        gain = 1 / m[:, :1] if normalized else ((m @ a) / (m**2 @ a))[:, None]
        return float(((1 - gain * m) ** 2 @ a).min() / a[1:].sum())

    return measured(one, ["floor"], activation=ACTIVATIONS)


def gain_risk(phi: str, task: Zonal, w: float, n: int, noise_std: float) -> float:
    """Return the exact risk at the best gain, without normalization."""
    a, (m, square) = coefficients(task), moments(phi, w, task.dim)
    fluctuation = ((n - 1) * (a @ m**2) + (a.sum() + noise_std**2) * square) / n
    return float(a.sum() - (a @ m) ** 2 / fluctuation)


class Tokens:
    """Sampled contexts with the labels of a class integrated out: the risk of any weights there."""

    def __init__(
        self, task: Zonal, noise_std: float, context_length: int, contexts: int
    ):
        x = uniform_sphere(
            stream(0, "monte carlo"), contexts, context_length + 1, task.dim
        )
        self.cosine = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1]).numpy()
        self.form = QuadraticRisk.of(task, x, noise_std)

    def normalized(self, values: Array) -> Array:
        """Return the risks of predictors with weights proportional to ``values``, (contexts,)."""
        total = values.sum(1, keepdims=True)
        weights = torch.from_numpy(values / np.where(total == 0, 1, total))
        return np.asarray(self.form.risk(weights).numpy())


def risk_curves(
    d: int,
    lipschitz_values: Sequence[float],
    noise_std: float,
    context_length: int,
    contexts: int,
) -> pd.DataFrame:
    """Return the risk over w for every activation and L, ReLU class.

    Columns ``activation``, ``L``, ``w``, ``risk``, and the ends ``low`` and ``high`` of an interval: exact,
    except for normalized sigmoid and ReLU, whose tokens are sampled.
    """
    tokens = {
        L: Tokens(ReLU(d, L), noise_std, context_length, contexts)
        for L in lipschitz_values
    }

    def one(activation: str, L: float, w: float) -> tuple[float, ...]:
        (phi, normalized, _), task, n = (
            ACTIVATIONS[activation],
            ReLU(d, L),
            context_length,
        )
        if activation == "softmax":
            return (float(population_risk(task, w, n, noise_std).total),) * 3
        if not normalized:
            return (gain_risk(phi, task, w, n, noise_std),) * 3
        mean, low, high = t_interval(
            tokens[L].normalized(KERNELS[phi](w * tokens[L].cosine, w))
        )
        return float(mean), float(low), float(high)

    columns = ["risk", "low", "high"]
    return measured(
        one, columns, activation=ACTIVATIONS, L=lipschitz_values, w=GRID[::2]
    )


def adaptation(curves: pd.DataFrame) -> pd.DataFrame:
    """Return what the window does for each activation: ``activation``, ``over_softmax``, ``price``.

    The least risk over softmax's at the largest L; and the risk there with the w that is best for the
    smallest L, over the least: one means that there was nothing to adapt.
    """
    few, many = (curves[curves.L == L] for L in (curves.L.min(), curves.L.max()))
    risk, before = (
        part.pivot(index="activation", columns="w", values="risk")
        for part in (many, few)
    )
    least = risk.min(axis=1)
    kept = pd.Series(
        {name: risk.loc[name, w] for name, w in before.idxmin(axis=1).items()}
    )
    table = {"over_softmax": least / least["softmax"], "price": kept / least}
    return pd.DataFrame(table).rename_axis("activation").reset_index()


def shifted(
    task: Zonal,
    noise_std: float,
    context_length: int,
    contexts: int,
    shifts: Sequence[float],
) -> pd.DataFrame:
    """Return the least risk of the normalized sigmoid of ``s - shift`` over softmax's: ``shift, ratio``."""
    tokens, some = (
        Tokens(task, noise_std, context_length, contexts),
        GRID[::2][GRID[::2] < 60],
    )

    def least(kernel: Callable[[Array], Array]) -> float:
        return float(
            min(tokens.normalized(kernel(w * tokens.cosine)).mean() for w in some)
        )

    def sigmoid(shift: float) -> float:
        return least(lambda s: 1 / (1 + np.exp(shift - s)))

    softmax = least(lambda s: np.exp(s - s.max()))
    return pd.DataFrame(
        {"shift": shifts, "ratio": [sigmoid(shift) / softmax for shift in shifts]}
    )


def train_activations(
    task: Zonal, noise_std: float, context_length: int, how: Training
) -> pd.DataFrame:
    """Train full units with each activation and test each seed on contexts of its own.

    Returns:
        Columns ``activation``, ``seed``, ``error`` and ``ratio``, the error over the softmax unit's.
    """
    names = {
        name: activation for name, (*_, activation) in ACTIVATIONS.items() if activation
    }
    start: dict[str, Any] = {"width": task.dim + 1, "initial_std": 0.3}
    units = train_grid(
        task, noise_std, context_length, *how, activation=list(names.values()), **start
    )
    errors = units.by_setting(
        evaluation_error(units.trained, task, noise_std, context_length, seed=None)[-1]
    )
    frame = grid(activation=names, seed=range(how.seeds)).assign(error=errors.ravel())
    return frame.assign(ratio=(errors / errors[list(names).index("softmax")]).ravel())
