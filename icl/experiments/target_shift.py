"""Moves of weights and data beside moves of the target, and attention layers that imitate a gradient step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.experiments.curvature import safe_step
from icl.experiments.tables import measured
from icl.streams import stream
from icl.tensor_trick import gradient, hvp, loss, supremum_search, vec
from icl.tensor_trick.formulas import row_gradient, row_loss
from icl.tensor_trick.lipschitz import witness, worst_logits
from icl.tensor_trick.target_shift import (
    data_move,
    linear_attention_layer,
    self_attention_weights,
    shifted_target,
)

Rng = np.random.Generator
#: A1, A2, X and B of one problem or of a batch.
Problem = tuple[Tensor, Tensor, Tensor, Tensor]
KINDS = ("normalized", "rescaled")
_LN10 = math.log(10)


def problems(n: int, d: int, count: int, rng: Rng) -> Problem:
    """Draw normal tokens, X around the identity (mostly well away from singular), B in the simplex."""
    shapes = (n, d), (n, d), (d, d), (n, n)
    A1, A2, X, logits = (torch.from_numpy(rng.standard_normal((count, *shape))) for shape in shapes)
    return A1, A2, torch.eye(d, dtype=X.dtype) + X / d, logits.softmax(-1)


def relative(left: Tensor, right: Tensor) -> float:
    """Compute the difference over the larger of the two norms."""
    return float((left - right).norm() / torch.maximum(left.norm(), right.norm()))


# ---------------------------------------------------------------- along a path of gradient descent


@dataclass(frozen=True)
class Path:
    """Gradient descent on one problem: the weights X_0, X_1, ... and the step sizes between them."""

    A1: Tensor
    A2: Tensor
    B: Tensor
    kind: str
    X: list[Tensor]
    eta: list[float]

    def scores(self, X: Tensor, queries: Tensor | None = None) -> Tensor:
        """Compute A1 X A2', or with other queries in place of A1."""
        return (self.A1 if queries is None else queries) @ X @ self.A2.mT

    @property
    def steps(self) -> list[tuple[Tensor, Tensor]]:
        """The weights before and after each step."""
        return list(zip(self.X, self.X[1:], strict=False))


def descend(problem: Problem, kind: str, steps: int) -> Path:
    """Follow gradient descent; each step size is one over the Hessian's largest absolute eigenvalue."""
    A1, A2, X, B = problem
    d = X.shape[-1]
    unit = torch.eye(d * d, dtype=X.dtype).reshape(d * d, d, d)
    path, etas = [X], []
    for _ in range(steps):
        H = vec(hvp(A1, A2, X, B, unit, kind))
        etas.append(1 / torch.linalg.eigvalsh((H + H.mT) / 2).abs().max().item())
        X = X - etas[-1] * gradient(A1, A2, X, B, kind)
        path.append(X)
    return Path(A1, A2, B, kind, path, etas)


def gaps(paths: Sequence[Path]) -> pd.DataFrame:
    """Compare each step with a move of the target instead, relative differences.

    Returns:
        Columns ``kind``, ``step``, and of the loss and its gradient after the weights moved ``value`` and
        ``gradient``; of the loss after A1 moved to the same scores ``data``.
    """
    rows = []
    for p in paths:
        for k, (X, X_next) in enumerate(p.steps):
            moved = data_move(p.A1, X, X_next)
            B = shifted_target(p.scores(X), p.scores(X_next), p.B, p.kind)
            B_data = shifted_target(p.scores(X), p.scores(X, moved), p.B, p.kind)
            before, after = (p.A1, p.A2, X, B, p.kind), (p.A1, p.A2, X_next, p.B, p.kind)
            data = loss(moved, p.A2, X, p.B, p.kind), loss(p.A1, p.A2, X, B_data, p.kind)
            both = relative(loss(*before), loss(*after)), relative(gradient(*before), gradient(*after))
            rows.append((p.kind, k, *both, relative(*data)))
    return pd.DataFrame(rows, columns=["kind", "step", "value", "gradient", "data"])


def shift_sizes(path: Path) -> tuple[float, float]:
    """Return the largest shift of a step over its bound |A1| |A2| |dX| / 2, and how well all shifts add up.

    The second is the relative difference of their sum from F(X_0) - F(X_T).
    """
    half = torch.linalg.matrix_norm(path.A1, 2) * torch.linalg.matrix_norm(path.A2, 2) / 2
    target, moves, ratios = path.B, [], []
    for X, X_next in path.steps:
        new = shifted_target(path.scores(X), path.scores(X_next), target, path.kind)
        moves.append(new - target)
        ratios.append(float(moves[-1].norm() / (half * (X_next - X).norm())))
        target = new
    ends = path.scores(path.X[0]).softmax(-1) - path.scores(path.X[-1]).softmax(-1)
    return max(ratios), relative(torch.stack(moves).sum(0), ends)


def layer_gaps(path: Path, weights: str, whole: bool = False) -> list[float]:
    """Compare steps with an attention layer that is told the residual, in the moves of the scores.

    Args:
        path: Steps up to the first that moves the scores by less than a millionth are compared: after it
            the difference of two scores is mostly rounding.
        weights: "linear", or "softmax" as a control.
        whole: Compare the scores themselves instead of their moves.
    """
    out = []
    for (X, X_next), eta in zip(path.steps, path.eta, strict=True):
        start = path.scores(X)
        move = path.scores(X_next) - start
        if move.norm() < 1e-6 * start.norm():
            break
        values = told_values(path.A2, X, row_gradient(start, path.B, path.kind))
        tokens = linear_attention_layer(path.A1, values, eta)
        if weights == "softmax":
            tokens = path.A1 - eta * self_attention_weights(path.A1, 1.0) @ values
        less = torch.zeros_like(start) if whole else start
        out.append(relative(path.scores(X, tokens) - less, path.scores(X_next) - less))
    return out


def told_values(A2: Tensor, X: Tensor, P: Tensor) -> Tensor:
    """Compute the values P A2 X^{-1} with which a linear layer makes a gradient step."""
    values: Tensor = torch.linalg.solve(X.mT, (P @ A2).mT).mT
    return values


# ---------------------------------------------------------------- how large the shift can be


def worst_moves(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return log10 of the shift after a small move from the worst data, over n^1.5 e^(10 R^2), R >= 4.

    Columns ``moving`` (weights, data), ``n``, ``R``, ``value`` and ``bound``: R / 2 over the same.
    """

    def one(moving: str, n: int, R: float) -> tuple[float, float]:
        A, x, v = witness(*worst_logits("f", n, R), R)
        b, h = torch.full((1, n), 1 / n, dtype=A.dtype), 1e-3  # rounding is far below
        s, s_next = A @ x, A @ (x + h * v)
        if moving == "data":  # w x' / |x| has norm 1 and moves the scores along w
            s_next = (A + h * torch.outer(A @ v / R, x / x.norm())) @ x
        shift = float((shifted_target(s[None], s_next[None], b) - b).norm())
        printed = 1.5 * math.log10(n) + 10 * R**2 / _LN10
        return math.log10(shift / h) - printed, math.log10(R / 2) - printed

    high = [R for R in radii if R >= 4]
    return measured(one, ["value", "bound"], moving=["weights", "data"], n=n_values, R=high)


def searched_shift(kind: str, n: int, R: float, starts: int, rng: Rng, limit: float | None = None) -> float:
    """Search log10 of the largest |b~ - b| / |move of x| over data, weights and targets.

    With ``limit`` the scores move by at most that much, and the ratio is to |A dx|.
    """

    def objective(M: Tensor, y: Tensor, z: Tensor, t: Tensor) -> Tensor:
        norm = torch.linalg.eigvalsh(M.mT @ M)[..., -1].sqrt()[..., None, None]
        A, b = R * M / norm, supremum_search.simplex(t)
        x, x_next = supremum_search.ball(y, R), supremum_search.ball(z, R)
        s, s_next = (A @ x[..., None]).squeeze(-1), (A @ x_next[..., None]).squeeze(-1)
        move = x_next - x
        if limit is not None:
            longest = (s_next - s).abs().amax(-1, keepdim=True)
            move = (s_next - s) * (limit / longest).clamp(max=1)
            s_next = s + move
        shift = shifted_target(s, s_next, b, kind) - b
        ratio: Tensor = shift.norm(dim=-1).log() - move.norm(dim=-1).log()
        return ratio

    many = supremum_search.SCREEN * starts
    shapes = (n, 2), (2,), (2,), (n,)
    drawn = [torch.from_numpy(rng.standard_normal((1, many, *shape))) for shape in shapes]
    with torch.no_grad():
        chosen = objective(*drawn)[0].topk(starts).indices
    return supremum_search.ascend(objective, [t[:, chosen] for t in drawn], 200).best.item()


def rescaled_ratios(
    starts: int, rng: Rng, n: int = 8, R: float = 6.0, deltas: Sequence[float] = (0.01, 0.1, 1.0)
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the largest rescaled shift found over sqrt(2) e^delta |A dx|: ``delta``, ``value``.

    The second table, a control, leaves e^delta out at the largest delta.
    """
    found = measured(
        lambda delta: 10 ** searched_shift("rescaled", n, R, starts, rng, delta), ["found"], delta=deltas
    )
    ratio = found.found / math.sqrt(2)
    ours = found[["delta"]].assign(value=ratio / np.exp(found.delta))
    return ours, found[["delta"]].assign(value=ratio).tail(1)


def separation(radii: Sequence[float], starts: int, rng: Rng, n: int = 8) -> pd.DataFrame:
    """Search the worst shift for each unit of weight change: ``kind``, ``R``, ``found`` (log10), ``value``.

    The value is, rescaled, the natural logarithm over R^2, and normalized the ratio over R, which is proved
    not to exceed ``bound``, one half.
    """

    def one(kind: str, R: float) -> tuple[float, float, float]:
        found = searched_shift(kind, n, R, starts, rng)
        if kind == "rescaled":
            return found, found * _LN10 / R**2, math.inf
        return found, 10**found / R, 0.5 + 1e-9

    return measured(one, ["found", "value", "bound"], kind=KINDS, R=radii)


def stretched(kind: str, R: float = 2.0, n: int = 8, reach: float = 16.0) -> pd.DataFrame:
    """Turn round an x that is ``reach`` times as long as R, with one token that counts.

    Returns:
        One row: ``kind``, ``shift`` (log10 over n^1.5 e^(10 R^2) times the move), ``value`` (log10 of the
        relative difference of the two losses over 1e-6) and ``error``, the rounding of the largest score.
    """
    S = torch.zeros(1, n, dtype=torch.float64)
    S[0, 0] = -reach * R**2  # A has one row that is not zero, of length R; x goes to -x
    b = torch.eye(n, dtype=torch.float64)[1:2]
    target = shifted_target(S, -S, b, kind)
    printed = 1.5 * math.log10(n) + 10 * R**2 / _LN10
    shift = math.log10(float((target - b).norm()) / (2 * reach * R)) - printed
    gap = relative(row_loss(S, target, kind), row_loss(-S, b, kind))
    value, error = math.log10(max(gap, 1e-17) / 1e-6), float(n * np.spacing(reach * R**2))
    return pd.DataFrame({"kind": [kind], "shift": shift, "value": value, "error": error})


# ---------------------------------------------------------------- layers that are not told


#: Sharpness of the layers tried, or no attention; the one that the cards judge.
LAYERS, JUDGED = ("none", "0", "0.25", "0.5", "1", "2", "4", "16"), "1"


def next_weights(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Make one step of gradient descent on the normalized loss at the safe step size of two tokens."""
    return X - safe_step(A1, A2)[..., None, None] * gradient(A1, A2, X, B)


def wanted_move(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the move of A1 that gives the scores of that step."""
    return data_move(A1, X, next_weights(A1, A2, X, B)) - A1


def growing(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Problem:
    """Change the targets to those that the weights 2 X fit."""
    return A1, A2, X, (2 * A1 @ X @ A2.mT).softmax(-1)


def cosine(U: Tensor, V: Tensor) -> Tensor:
    """Compute the cosine of matrices, (...)."""
    product: Tensor = torch.linalg.vecdot(U.flatten(-2), V.flatten(-2))
    out: Tensor = product / (torch.linalg.matrix_norm(U) * torch.linalg.matrix_norm(V))
    return out


def averaged(A1: Tensor, layer: str) -> Tensor:
    """Compute what a layer's values are applied to: softmax averages of the tokens, or the tokens."""
    return A1 if layer == "none" else self_attention_weights(A1, float(layer)) @ A1


def _solved(features: Tensor, goals: Tensor) -> Tensor:
    solution: Tensor = torch.linalg.lstsq(features, goals, driver="gelsd").solution
    return solution


def for_all(A1: Tensor, goals: Tensor, layer: str) -> Tensor:
    """Fit one V to all problems, each goal divided by its length."""
    lengths = torch.linalg.matrix_norm(goals)[:, None, None]
    return _solved(averaged(A1, layer).flatten(0, 1), (goals / lengths).flatten(0, 1))


def imitations(n: int, d: int, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """Fit layers to gradient steps on random problems, in independent streams.

    Returns:
        A row for each ``title`` (what is fitted and tested), ``layer`` and ``stream``. The ``value`` is the
        median cosine with the step over new problems, for ``card`` "imitates", or the cosine of V with -1,
        for "shrinks". ``what`` is the name of the rule, ``control`` whether it is meant to differ.
    """
    rows: list[tuple[Any, ...]] = []
    for k in range(seeds):
        rng = stream(seed, "evaluation", k)
        seen, new = problems(n, d, draws, rng), problems(n, d, draws, rng)
        rows += [(*row[:-1], k, row[-1]) for row in _imitation(seen, new)]
    return pd.DataFrame(rows, columns=["card", "title", "what", "control", "layer", "stream", "value"])


def _imitation(seen: Problem, new: Problem) -> list[tuple[Any, ...]]:
    A1, A2, X, _ = new
    told, bigger = wanted_move(*seen), wanted_move(*growing(*seen))
    goal, grown = wanted_move(*new), wanted_move(*growing(*new))
    minus = -torch.eye(X.shape[-1], dtype=X.dtype)

    def median(move: Tensor, goal: Tensor = goal) -> float:
        return float(cosine(move @ X @ A2.mT, goal @ X @ A2.mT).median())

    features = {layer: averaged(A1, layer) for layer in LAYERS}
    shared = {layer: for_all(seen[0], told, layer) for layer in LAYERS}
    another = features[JUDGED] @ _solved(features[JUDGED], goal.roll(1, 0))
    own, all_ = "fitted to one problem", "one layer for all problems"
    rows: list[tuple[Any, ...]] = []
    for layer, f in features.items():
        fitted = median(f @ _solved(f, goal))
        exact = ("fitted to one problem, no attention", "exact") if layer == "none" else (own, "own")
        rows.append(("imitates", *exact, False, layer, fitted))
    rows += [("imitates", all_, "shared", False, c, median(features[c] @ V)) for c, V in shared.items()]
    rows.append(("imitates", "every token shrunk", "shared", False, JUDGED, median(-A1)))
    rows.append(("imitates", "fitted to another's step", "own", True, JUDGED, median(another)))
    on_grown = median(features[JUDGED] @ shared[JUDGED], grown)
    rows.append(("imitates", "tested on targets of 2X", "shared", True, JUDGED, on_grown))
    for layer, title in ((JUDGED, all_), ("none", "the same without attention")):
        rows.append(("shrinks", title, "shrinks", False, layer, float(cosine(shared[layer], minus))))
    stretching = float(cosine(for_all(seen[0], bigger, JUDGED), minus))
    rows.append(("shrinks", "targets of 2X", "shrinks", True, JUDGED, stretching))
    return rows


#: Titles and their tables.
Titled = list[tuple[str, pd.DataFrame]]


def judged(table: pd.DataFrame, card: str) -> tuple[Titled, Titled]:
    """Return what a card judges of `imitations`, and its control, by their titles."""
    bare = ("fitted to one problem, no attention", "the same without attention")
    mine = table[(table.card == card) & ((table.layer == JUDGED) | table.title.isin(bare))]
    order = ["fitted to one problem", "one layer for all problems", *bare]
    place = mine.title.map(lambda title: order.index(title) if title in order else len(order))
    mine = mine.iloc[place.argsort(kind="stable")]
    ours, control = (list(mine[mine.control == it].groupby("title", sort=False)) for it in (False, True))
    return ours, control


def turned(problem: Problem, rng: Rng) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make moves of the data as long as a gradient step's: ``name``, ``value`` (cosine), ``cosine`` (wanted).

    Two that obey the same bounds and do something else, and as a control the linear layer.
    """
    A1, A2, X, B = problem
    goal = wanted_move(*problem)

    def moved(move: Tensor) -> Tensor:
        return move @ X @ A2.mT

    # the cosine is linear in the move: subtract its gradient until none is left
    pull = moved(goal) @ A2 @ X.mT
    upright = torch.from_numpy(rng.standard_normal(tuple(A1.shape)))
    upright = upright - (upright * pull).sum() / pull.square().sum() * pull
    values = told_values(A2, X, row_gradient(A1 @ X @ A2.mT, B, "normalized"))
    linear = linear_attention_layer(A1, values, 1.0) - A1
    moves = {
        "at a right angle": (upright * goal.norm() / upright.norm(), 0.0),
        "opposite": (-goal, -1.0),
        "linear attention layer": (linear, 0.0),
    }
    rows = [(name, float(cosine(moved(m), moved(goal))), wanted) for name, (m, wanted) in moves.items()]
    frame = pd.DataFrame(rows, columns=["name", "value", "cosine"])
    return frame[:-1], frame[-1:]
