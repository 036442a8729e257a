"""Moves of weights and data beside moves of the target, and attention layers that imitate a gradient step."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.streams import stream
from icl.tensor_trick import gradient, hvp, loss, supremum_search, vec
from icl.tensor_trick.formulas import row_gradient, row_loss
from icl.tensor_trick.lipschitz import witness, worst_logits
from icl.tensor_trick.target_shift import (
    data_move,
    linear_attention_layer,
    self_attention_weights,
    shifted_target,
    target_move,
)
from icl_book.measurements.curvature import safe_step
from icl_book.measurements.tables import measured
from icl_book.measurements.tensor_trick import Problem, normal_problem

Rng = np.random.Generator
KINDS = ("normalized", "rescaled")
_LN10 = math.log(10)


def problems(n: int, d: int, rng: Rng, *count: int) -> Problem:
    """Draw one problem or a batch: X lies around the identity, mostly well away from singular."""
    A1, A2, X, B = normal_problem(n, d, rng, *count)
    return A1, A2, torch.eye(d, dtype=X.dtype) + X / d, B


def relative(left: Tensor, right: Tensor) -> float:
    """Compute the difference over the larger of the two norms."""
    return float((left - right).norm() / torch.maximum(left.norm(), right.norm()))


def descend(problem: Problem, kind: str, steps: int) -> pd.DataFrame:
    """Follow gradient descent and compare each step with a move of the target instead.

    Each step size is one over the Hessian's largest absolute eigenvalue.

    Returns:
        Columns ``kind`` and ``step``; relative differences ``value`` and ``gradient``, of the loss after the
        weights moved, and ``data``, of the loss after A1 moved to the same scores; ``shift``, of the target
        over its bound |A1| |A2| |dX| / 2; ``sum``, the relative difference of all shifts so far, added up,
        from F(X_0) - F(X); and how far an attention layer that is told the residual misses the move of the
        scores, ``linear`` or as a control ``softmax``, or the scores themselves (linear, ``scores``). The
        last three are NaN from the first step on that moves the scores by less than a millionth: there the
        difference of two scores is mostly rounding.
    """
    A1, A2, X, B = problem
    d, first, target, rows, large = len(X), A1 @ X @ A2.mT, B, [], True
    unit = torch.eye(d * d, dtype=X.dtype).reshape(d * d, d, d)
    half = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2) / 2
    for step in range(steps):
        H = vec(hvp(A1, A2, X, B, unit, kind))
        eta = 1 / torch.linalg.eigvalsh((H + H.mT) / 2).abs().max().item()
        X_next = X - eta * gradient(A1, A2, X, B, kind)
        S, S_next, moved = A1 @ X @ A2.mT, A1 @ X_next @ A2.mT, data_move(A1, X, X_next)
        before = A1, A2, X, shifted_target(S, S_next, B, kind), kind
        after = A1, A2, X_next, B, kind
        by_data = A1, A2, X, shifted_target(S, moved @ X @ A2.mT, B, kind), kind
        row = {
            "kind": kind,
            "step": step,
            "value": relative(loss(*before), loss(*after)),
        }
        row["gradient"] = relative(gradient(*before), gradient(*after))
        row["data"] = relative(loss(moved, A2, X, B, kind), loss(*by_data))
        step_of_X = X_next - X
        shift = target_move(S, A1 @ step_of_X @ A2.mT, target, kind)
        row["shift"] = float(shift.norm() / (half * step_of_X.norm()))
        target = shifted_target(S, S_next, target, kind)
        row["sum"] = relative(target - B, first.softmax(-1) - S_next.softmax(-1))
        if large := large and bool((S_next - S).norm() >= 1e-6 * S.norm()):
            values = told_values(A2, X, row_gradient(S, B, kind))
            linear = linear_attention_layer(A1, values, eta) @ X @ A2.mT
            softmax = (A1 - eta * self_attention_weights(A1, 1.0) @ values) @ X @ A2.mT
            row["scores"] = relative(linear, S_next)
            row["linear"], row["softmax"] = (
                relative(T - S, S_next - S) for T in (linear, softmax)
            )
        rows.append(row)
        X = X_next
    return pd.DataFrame(rows)


def told_values(A2: Tensor, X: Tensor, P: Tensor) -> Tensor:
    """Compute the values P A2 X^{-1} with which a linear layer makes a gradient step."""
    values: Tensor = torch.linalg.solve(X.mT, (P @ A2).mT).mT
    return values


def worst_moves(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return log10 of the shift after a small move from the worst data, over n^1.5 e^(10 R^2), R >= 4.

    Columns ``moving`` (weights, data), ``n``, ``R``, ``value`` and ``bound``: R / 2 over the same.
    """

    def one(moving: str, n: int, R: float) -> tuple[float, float]:
        A, x, v = witness(*worst_logits("f", n, R), R)
        b, h = torch.full((1, n), 1 / n, dtype=A.dtype), 1e-3
        move = h * (A @ v)
        if (
            moving == "data"
        ):  # A moves by h w x' / |x|, whose norm is h, with the unit vector w = A v / R
            move = move * x.norm() / R
        shift = float(target_move((A @ x)[None], move[None], b).norm())
        printed = 1.5 * math.log10(n) + 10 * R**2 / _LN10
        return math.log10(shift / h) - printed, math.log10(R / 2) - printed

    high = [R for R in radii if R >= 4]
    return measured(
        one, ["value", "bound"], moving=["weights", "data"], n=n_values, R=high
    )


def searched_shift(
    kind: str,
    n: int,
    R: float,
    starts: int,
    rng: Rng,
    limit: float | None = None,
    steps: int = 200,
) -> float:
    """Search log10 of the largest |b~ - b| / |move of x| over data, weights and targets.

    With ``limit`` the scores move by at most that much, and the ratio is to |A dx|.
    """

    def objective(M: Tensor, y: Tensor, z: Tensor, t: Tensor) -> Tensor:
        norm = torch.linalg.eigvalsh(M.mT @ M)[..., -1].sqrt()[..., None, None]
        A, b = R * M / norm, supremum_search.simplex(t)
        x, x_next = supremum_search.ball(y, R), supremum_search.ball(z, R)
        s, step = (A @ x[..., None]).squeeze(-1), x_next - x
        move = (A @ step[..., None]).squeeze(
            -1
        )  # not a difference of scores, which rounding would spoil
        if limit is not None:
            longest = move.abs().amax(-1, keepdim=True)
            step = move = move * (limit / longest).clamp(max=1)
        shift = target_move(s, move, b, kind)
        ratio: Tensor = shift.norm(dim=-1).log() - step.norm(dim=-1).log()
        return ratio

    many = supremum_search.SCREEN * starts
    shapes = (n, 2), (2,), (2,), (n,)
    drawn = [
        torch.from_numpy(rng.standard_normal((1, many, *shape))) for shape in shapes
    ]
    chosen = supremum_search.screened(objective, drawn, starts)
    return supremum_search.ascend(objective, chosen, steps).best.item()


def rescaled_ratios(
    starts: int, rng: Rng, n: int = 8, R: float = 6.0, steps: int = 200
) -> pd.DataFrame:
    """Return the largest rescaled shift found over sqrt(2) e^delta |A dx|.

    Columns ``delta``, ``value``, and, as a control, ``without`` the factor e^delta.
    """

    def one(delta: float) -> tuple[float, float]:
        ratio = 10 ** searched_shift(
            "rescaled", n, R, starts, rng, delta, steps
        ) / math.sqrt(2)
        return ratio / math.exp(delta), ratio

    return measured(one, ["value", "without"], delta=(0.01, 0.1, 1.0))


def separation(
    radii: Sequence[float], starts: int, rng: Rng, n: int = 8, steps: int = 200
) -> pd.DataFrame:
    """Search the worst shift for each unit of weight change: ``kind``, ``R``, ``found`` (log10), ``value``.

    The value is, rescaled, the natural logarithm over R^2, and normalized the ratio over R, which is proved
    not to exceed ``bound``, one half.
    """

    def one(kind: str, R: float) -> tuple[float, float, float]:
        found = searched_shift(kind, n, R, starts, rng, steps=steps)
        if kind == "rescaled":
            return found, found * _LN10 / R**2, math.inf
        return found, 10**found / R, 0.5

    return measured(one, ["found", "value", "bound"], kind=KINDS, R=radii)


def stretched(R: float = 2.0, n: int = 8, reach: float = 16.0) -> pd.DataFrame:
    """Turn round an x that is ``reach`` times as long as R, with one token that counts.

    Returns:
        A row for each ``kind``: ``shift`` (log10 over n^1.5 e^(10 R^2) times the move), ``value`` (log10 of
        the relative difference of the two losses over 1e-6) and ``error``, the rounding of the largest score.
    """
    S = torch.zeros(1, n, dtype=torch.float64)
    S[0, 0] = -reach * R**2  # A has one row that is not zero, of length R; x goes to -x
    b = torch.eye(n, dtype=torch.float64)[1:2]
    printed = 1.5 * math.log10(n) + 10 * R**2 / _LN10

    def one(kind: str) -> tuple[float, ...]:
        target = shifted_target(S, -S, b, kind)
        gap = relative(row_loss(S, target, kind), row_loss(-S, b, kind))
        shift = math.log10(float((target - b).norm()) / (2 * reach * R)) - printed
        return (
            shift,
            math.log10(max(gap, 1e-17) / 1e-6),
            n * float(np.spacing(reach * R**2)),
        )

    return measured(one, ["shift", "value", "error"], kind=KINDS)


#: Sharpness of the layers tried, or no attention; the one that the cards judge.
LAYERS, JUDGED = ("none", "0", "0.25", "0.5", "1", "2", "4", "16"), "1"


def wanted_move(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the move of A1 that gives the scores of a gradient step at the safe step size of two tokens."""
    X_next = X - safe_step(A1, A2)[..., None, None] * gradient(A1, A2, X, B)
    return data_move(A1, X, X_next) - A1


def cosine(U: Tensor, V: Tensor) -> Tensor:
    """Compute the cosine of matrices, (...)."""
    return torch.nn.functional.cosine_similarity(U.flatten(-2), V.flatten(-2), dim=-1)


def averaged(A1: Tensor, layer: str) -> Tensor:
    """Compute what a layer's values are applied to: softmax averages of the tokens, or the tokens."""
    return A1 if layer == "none" else self_attention_weights(A1, float(layer)) @ A1


def fitted(features: Tensor, goals: Tensor) -> Tensor:
    """Compute the values V of a layer with the least |features V - goals|, of each problem."""
    solution: Tensor = torch.linalg.lstsq(features, goals, driver="gelsd").solution
    return solution


def for_all(A1: Tensor, goals: Tensor, layer: str) -> Tensor:
    """Fit one V to all problems, each goal divided by its length."""
    lengths = torch.linalg.matrix_norm(goals)[:, None, None]
    return fitted(averaged(A1, layer).flatten(0, 1), (goals / lengths).flatten(0, 1))


def imitations(n: int, d: int, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """Fit layers to gradient steps on random problems, in independent streams.

    Returns:
        A row for each ``title`` (what is fitted and tested), ``layer`` and ``stream``. The ``value`` is the
        median cosine with the step over new problems, or, for ``card`` "shrinks", the cosine of V with -1.
        What is judged has the name of a ``card``, and ``what``, that of its rule; ``control`` says whether
        it is meant to differ. "each" and "shared" are fits to each problem and to all, by every layer.
    """
    rows = []
    for k in range(seeds):
        rng = stream(seed, "evaluation", k)
        rows += [
            (*row, k)
            for row in _imitation(
                problems(n, d, rng, draws), problems(n, d, rng, draws)
            )
        ]
    return pd.DataFrame(
        rows, columns=["card", "title", "what", "control", "layer", "value", "stream"]
    )


def _imitation(seen: Problem, new: Problem) -> list[tuple[Any, ...]]:
    def grown(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Problem:
        return A1, A2, X, (2 * A1 @ X @ A2.mT).softmax(-1)  # the targets that 2 X fits

    A1, A2, X, _ = new
    goal, told = wanted_move(*new), wanted_move(*seen)
    stretching = for_all(seen[0], wanted_move(*grown(*seen)), JUDGED)

    def median(move: Tensor, goal: Tensor = goal) -> float:
        return float(cosine(move @ X @ A2.mT, goal @ X @ A2.mT).median())

    def shrinks(V: Tensor) -> float:
        return float(cosine(V, -torch.eye(len(V), dtype=V.dtype)))

    tokens = {layer: averaged(A1, layer) for layer in LAYERS}
    V = {layer: for_all(seen[0], told, layer) for layer in LAYERS}
    each = {layer: median(f @ fitted(f, goal)) for layer, f in tokens.items()}
    shared = {layer: median(f @ V[layer]) for layer, f in tokens.items()}
    f, all_ = tokens[JUDGED], "one layer for all problems"
    another = median(f @ fitted(f, goal.roll(1, 0)))
    on_grown = median(f @ V[JUDGED], wanted_move(*grown(*new)))
    return [
        ("imitates", "fitted to one problem", "own", False, JUDGED, each[JUDGED]),
        ("imitates", all_, "shared", False, JUDGED, shared[JUDGED]),
        (
            "imitates",
            "fitted to one problem, no attention",
            "exact",
            False,
            "none",
            each["none"],
        ),
        ("imitates", "every token shrunk", "shared", False, JUDGED, median(-A1)),
        ("imitates", "fitted to another's step", "own", True, JUDGED, another),
        ("imitates", "tested on targets of 2X", "shared", True, JUDGED, on_grown),
        ("shrinks", all_, "shrinks", False, JUDGED, shrinks(V[JUDGED])),
        (
            "shrinks",
            "the same without attention",
            "shrinks",
            False,
            "none",
            shrinks(V["none"]),
        ),
        ("shrinks", "targets of 2X", "shrinks", True, JUDGED, shrinks(stretching)),
        *(("", "each", "", False, layer, value) for layer, value in each.items()),
        *(("", "shared", "", False, layer, value) for layer, value in shared.items()),
    ]


def turned(problem: Problem, rng: Rng) -> pd.DataFrame:
    """Make moves of the data as long as a gradient step's: ``name``, ``value`` (cosine), ``cosine`` (wanted).

    Two that obey the same bounds and do something else, and as a control, last, the linear layer.
    """
    A1, A2, X, B = problem
    goal = wanted_move(*problem)
    # the cosine is linear in the move: subtract its gradient until none is left
    pull = goal @ X @ A2.mT @ A2 @ X.mT
    upright = torch.from_numpy(rng.standard_normal(tuple(A1.shape)))
    upright = upright - (upright * pull).sum() / pull.square().sum() * pull
    values = told_values(A2, X, row_gradient(A1 @ X @ A2.mT, B, "normalized"))
    moves = {
        "at a right angle": (upright * goal.norm() / upright.norm(), 0.0),
        "opposite": (-goal, -1.0),
        "linear attention layer": (linear_attention_layer(A1, values, 1.0) - A1, 0.0),
    }

    def one(name: str) -> tuple[float, float]:
        move, wanted = moves[name]
        return float(cosine(move @ X @ A2.mT, goal @ X @ A2.mT)), wanted

    return measured(one, ["value", "cosine"], name=moves)
