"""Curvature of the normalized loss, and what it gives: a regularizer, step sizes, passes to a solution."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from torch import Tensor

from icl.tensor_trick import gradient, hvp, loss, unvec, vec
from icl.tensor_trick.formulas import row_hvp
from icl.tensor_trick.supremum_search import search_loss
from icl_book.measurements.tables import Array, grid, measured

Rng = np.random.Generator


def two_tokens(p: ArrayLike) -> Array:
    """Compute the second derivative 4 g(p) of p^2 along the unit direction that separates two tokens."""
    p = np.asarray(p, dtype=float)
    return np.asarray(4 * p**2 * (1 - p) * (2 - 3 * p))


#: Where it is largest and most negative, and the two values.
P_LOW, P_HIGH = (15 - math.sqrt(33)) / 24, (15 + math.sqrt(33)) / 24
SMOOTH, CONCAVE = float(two_tokens(P_LOW)), float(two_tokens(P_HIGH))
#: Loss at which a problem counts as solved, over the first one; and the largest number of steps.
GOAL, CAP = 1e-6, 1_000_000


def normal(rng: Rng, *shape: int) -> Tensor:
    """Draw standard normal numbers."""
    return torch.from_numpy(rng.standard_normal(shape))


def extremes(
    n_values: Sequence[int],
    starts: int,
    rng: Rng,
    kind: str = "normalized",
    steps: int = 250,
) -> pd.DataFrame:
    """Search the extreme second derivatives of a row over scores and directions, target e_1.

    Returns:
        Columns ``n``, ``which``, ``value`` in units of the two-token ends, and ``most``, which it is proved
        not to exceed: one, up to rounding (`icl_rigor.curvature`); of the convex cross-entropy, zero for the
        most negative, nothing for the largest.
    """

    def curvature(s: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return (row_hvp(s, w, b, kind) * w).sum(-1)

    proved = (math.inf, 1e-12) if kind == "cross_entropy" else (1 + 1e-12, 1 + 1e-12)
    ends = {
        "largest": (1.0, SMOOTH, proved[0]),
        "most negative": (-1.0, -CONCAVE, proved[1]),
    }

    def one(n: int, which: str) -> tuple[float, float]:
        (sign, end, most), corner = ends[which], torch.eye(n, dtype=torch.float64)[0]
        found = search_loss(
            curvature, 1, n, 36.0, starts, steps, rng, sign, targets=lambda t: corner
        )
        return 10 ** found.best.item() / end, most

    return measured(one, ["value", "most"], n=n_values, which=ends)


def _smallest(A: Tensor, x: Tensor, b: Tensor, w2: float, sparse: bool) -> float:
    """Compute the least eigenvalue of the Hessian in x of L_exp + |diag(w) A x|^2 / 2, plus L_sparse."""
    s, eye = A @ x, torch.eye(len(A), dtype=A.dtype)
    H = row_hvp(s, eye, b, "normalized") + (torch.diag(s.exp()) if sparse else 0.0)
    return float(torch.linalg.eigvalsh(A.T @ (H + w2 * eye) @ A)[0])


def regularized(lows: Sequence[float], rng: Rng, problems: int = 200) -> pd.DataFrame:
    """Return the least eigenvalue over l (``low``), with the ``printed`` regularizer and ``without``."""

    def one(low: float) -> tuple[float, ...]:
        pairs = []
        for _ in range(problems):
            A, x, b = normal(rng, 8, 3), 3 * normal(rng, 3), normal(rng, 8).softmax(-1)
            needed = 20 + low / torch.linalg.svdvals(A)[-1].item() ** 2
            pairs.append(
                [_smallest(A, x, b, needed, True), _smallest(A, x, b, 0.0, True)]
            )
        return tuple(np.min(pairs, axis=0) / low)

    return measured(one, ["printed", "without"], low=lows)


def regularizer_needed(low: float = 1e-3) -> float:
    """Return the least eigenvalue over l at the worst data of two tokens, with the constant -4 g(p_+)."""
    A = torch.tensor([[1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64) / math.sqrt(2)
    x = torch.tensor(
        [math.log(P_HIGH / (1 - P_HIGH)) / math.sqrt(2), 0.0], dtype=torch.float64
    )
    b = torch.tensor([0.0, 1.0], dtype=torch.float64)
    return _smallest(A, x, b, -CONCAVE + low, False) / low


def safe_step(A1: Tensor, A2: Tensor) -> Tensor:
    """Compute the step size 1 / (4 g(p_-) |A1|^2 |A2|^2) of every problem."""
    norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
    step: Tensor = 1 / (SMOOTH * norms**2)
    return step


def descend(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, steps: int, factor: float = 1.0
) -> Tensor:
    """Return the losses of gradient descent at ``factor`` times the safe step, (steps + 1, problems)."""
    eta = factor * safe_step(A1, A2)[..., None, None]
    losses = [loss(A1, A2, X, B)]
    for _ in range(steps):
        X = X - eta * gradient(A1, A2, X, B)
        losses.append(loss(A1, A2, X, B))
    return torch.stack(losses)


def rises(
    n: int,
    d: int,
    draws: int,
    rng: Rng,
    steps: int = 300,
    scales: Sequence[float] = (0.1, 1.0, 5.0),
) -> pd.DataFrame:
    """Return the largest rise of the loss in a step: ``s``, the size of the start, ``factor``, ``value``.

    Steps are the safe one times ``factor``: 1, and as a control 1000 (of no use from the last start, which is
    saturated, where the loss is flat).
    """
    A1, A2, B = (
        normal(rng, draws, n, d),
        normal(rng, draws, n, d),
        normal(rng, draws, n, n).softmax(-1),
    )
    starts = {s: s * normal(rng, draws, d, d) for s in scales}

    def one(s: float, factor: float) -> float:
        losses = descend(A1, A2, starts[s], B, steps, factor)
        return float((losses.diff(dim=0) / losses[0]).max())

    return measured(one, ["value"], s=scales, factor=(1.0, 1000.0))


def descents(
    n: int, d: int, rng: Rng, steps: int = 3000
) -> tuple[pd.DataFrame, Tensor]:
    """Follow gradient descent on one problem from three starts: ``start``, ``step``, ``loss``.

    Returns:
        The losses, and the weights of the target that can be fitted.
    """
    a1, a2, X_true = normal(rng, n, d), normal(rng, n, d), normal(rng, d, d) / 2
    fit, random = torch.softmax(a1 @ X_true @ a2.mT, -1), normal(rng, n, n).softmax(-1)
    zero, far = torch.zeros(d, d, dtype=torch.float64), 4 * normal(rng, d, d)
    starts = {
        "fitted, from 0": (zero, fit),
        "fitted, far start": (far, fit),
        "random target, from 0": (zero, random),
    }
    X, B = (torch.stack(t) for t in zip(*starts.values(), strict=True))
    losses = descend(a1.expand(3, n, d), a2.expand(3, n, d), X, B, steps)
    frame = grid(start=starts, step=range(1, steps + 2))
    return frame.assign(loss=losses.T.numpy().ravel()), X_true


def _steps_needed(A1: Tensor, A2: Tensor, B: Tensor, preconditioned: bool) -> list[int]:
    """Count the steps of each problem to the goal, looking at every tenth."""
    d = A1.shape[-1]
    X = A1.new_zeros(len(A1), d, d)
    left = safe_step(A1, A2)[:, None, None] * torch.eye(d, dtype=A1.dtype)
    right = torch.eye(d, dtype=A1.dtype)
    if preconditioned:
        left, right = (
            torch.linalg.inv(A1.mT @ A1) / SMOOTH,
            torch.linalg.inv(A2.mT @ A2),
        )
    goal = GOAL * loss(A1, A2, X, B)
    needed = np.full(len(A1), CAP)
    for k in range(CAP):
        if k % 10 == 0:
            reached = (loss(A1, A2, X, B) <= goal).numpy()
            needed[reached] = np.minimum(needed[reached], k)
            if reached.all():
                break
        step = left @ gradient(A1, A2, X, B)
        X = X - (step @ right if preconditioned else step)
    return [int(k) for k in needed]


def _newton(A1: Tensor, A2: Tensor, B: Tensor) -> int:
    """Count the passes (gradients and Hessian products) of trust-region Newton-CG to the goal."""
    shape = A1.shape[-1], A2.shape[-1]
    losses = []  # after each pass

    def matrix(x: Array) -> Tensor:
        return unvec(torch.from_numpy(x), *shape)

    def value(x: Array) -> float:
        return float(loss(A1, A2, matrix(x), B))

    def slope(x: Array) -> Array:
        losses.append(value(x))
        return np.asarray(vec(gradient(A1, A2, matrix(x), B)))

    def product(x: Array, v: Array) -> Array:
        losses.append(losses[-1])
        return np.asarray(vec(hvp(A1, A2, matrix(x), B, matrix(v))))

    options = {
        "gtol": 1e-9,
        "maxiter": 500,
        "initial_trust_radius": 1.0,
        "max_trust_radius": 1e3,
    }
    x0 = np.zeros(math.prod(shape))
    minimize(value, x0, jac=slope, hessp=product, method="trust-ncg", options=options)
    return next((k for k, v in enumerate(losses, 1) if v <= GOAL * losses[0]), CAP)


def passes(
    n: int, conditions: Sequence[float], X_true: Tensor, rng: Rng
) -> pd.DataFrame:
    """Count passes to the goal on one problem, its data stretched to condition numbers with the same scores.

    Columns ``c``, ``descent`` and ``preconditioned`` (steps, looked at every tenth) and ``newton``.
    """
    d = len(X_true)
    Q1, Q2 = (math.sqrt(n) * torch.linalg.qr(normal(rng, n, d)).Q for _ in range(2))
    scores = Q1 @ X_true @ Q2.T / 2
    powers = torch.linspace(0, 1, d, dtype=torch.float64)
    stretch = torch.diag_embed(
        torch.tensor(conditions, dtype=torch.float64)[:, None] ** -powers
    )
    problems = Q1 @ stretch, Q2 @ stretch, scores.softmax(-1).expand(len(stretch), n, n)
    counts = {
        "c": conditions,
        "descent": _steps_needed(*problems, preconditioned=False),
    }
    counts |= {"preconditioned": _steps_needed(*problems, preconditioned=True)}
    return pd.DataFrame(
        counts | {"newton": [_newton(*one) for one in zip(*problems, strict=True)]}
    )
