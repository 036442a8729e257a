"""Attention layers that imitate a gradient step, and a move of the weights that is far too long.

Symbols:
    A1, A2: Matrices of data, whose rows are the tokens.
    X: The matrix of weights.
    S: The scores, also called logits, ``S = A1 X A2'``.
    U, a, F: ``U = exp(S)``, its row sums a, and ``F = U / a``.
    B: The target of F. The loss is ``|F - B|^2 / 2`` (kind "normalized") or ``|U - a B|^2 / 2`` ("rescaled").
    R: The bound of the papers on the norms of data and weights.
"""

import math

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.streams import stream
from icl.tensor_trick import gradient
from icl.tensor_trick.formulas import row_loss

#: Values of the sharpness c of the attention layers. With "none" a layer has no attention.
SHARPNESS = ("none", "0", "0.25", "0.5", "1", "2", "4", "16")
#: The sharpness that the card judges.
JUDGED = "1"


def shifted_target(S: Tensor, S_next: Tensor, B: Tensor, kind: str) -> Tensor:
    """Compute a target B~ that has the same residual at the scores S as the target B has at the scores S'.

    A gradient step on the weights moves the scores from S to S', which is ``S_next``. A change of the data by
    attention does so, too. Papers of this line (arXiv 2304.13276, and arXiv 2307.02419 for matrices) compare
    such a move with a move of the target from B to B~. The residual is the same if::

        normalized     F(S') - B           =  F(S) - B~
        rescaled       U(S') - a(S') B     =  U(S) - a(S) B~

    Scores and targets are (..., n, m).
    """
    F = torch.softmax(S, -1)
    F_next = torch.softmax(S_next, -1)
    if kind == "normalized":
        return B + (F - F_next)
    # The ratio a(S') / a(S) is computed by logarithms, since a itself may overflow.
    log_ratio = S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)
    return F - log_ratio.exp() * (F_next - B)


def reverse_weights(*, R: float = 2.0, n: int = 8, reach: float = 16.0) -> pd.DataFrame:
    """Compare the move of the weights from x to -x with the move of the target that has the same residual.

    The problem is a single row with n scores A x. The vector x has the length ``reach * R``. One row of A has
    the length R, and the others are zero.

    Returns:
        A row for each ``kind``. ``shift`` is the log10 of ``|B~ - B|`` over the printed bound, which is
        ``n^1.5 e^(10 R^2)`` times the length of the move of x. ``loss`` is the log10 of d / 1e-6, where d is
        the relative difference between the loss after the move of x and the loss after the move of the
        target. The losses count as equal if d is below 1e-6. ``unmoved`` is the same for the loss without any
        move instead of the loss after the move of the target.
    """
    largest = reach * R**2
    scores = torch.zeros(1, n, dtype=torch.float64)
    # This is the score of the row that is not zero, if x points away from it.
    scores[0, 0] = -largest
    target = torch.zeros(1, n, dtype=torch.float64)
    target[0, 1] = 1.0
    # This is the log10 of the printed bound for a move of the length one.
    printed = 1.5 * math.log10(n) + 10 * R**2 / math.log(10)
    rows = []
    for kind in ("normalized", "rescaled"):
        moved = shifted_target(scores, -scores, target, kind)
        loss_after = float(row_loss(-scores, target, kind))
        loss_moved = float(row_loss(scores, moved, kind))
        loss_unmoved = float(row_loss(scores, target, kind))
        gap = abs(loss_after - loss_moved) / max(loss_after, loss_moved)
        gap_unmoved = abs(loss_after - loss_unmoved) / max(loss_after, loss_unmoved)
        # The move from x to -x has twice the length of x.
        ratio = float((moved - target).norm()) / (2 * reach * R)
        rows.append(
            {
                "kind": kind,
                "shift": math.log10(ratio) - printed,
                # A gap of zero has no logarithm.
                "loss": math.log10(max(gap, 1e-17) / 1e-6),
                "unmoved": math.log10(gap_unmoved / 1e-6),
                "error": n * float(np.spacing(largest)),
            }
        )
    return pd.DataFrame(rows)


def fit_imitations(
    *, context_length: int, dim: int, draws: int, seeds: int, seed: int
) -> pd.DataFrame:
    """Fit attention layers to gradient steps on random problems.

    A layer changes the tokens A1 to ``A1 + softmax(c A1 A1') A1 V``. It should move the scores as a gradient
    step on X does. A layer for one problem has a V of its own. A shared layer has one V for all of ``draws``
    problems, and is tested on as many other problems. ``cosine`` is the median over the test problems of the
    cosine between the move of the scores by the layer and that by the step. Only for the layer "its matrix
    against -1" it is the cosine between the V of the shared layer and minus the identity.
    """
    rows = []
    for repetition in range(seeds):
        rng = stream(seed, "evaluation", repetition)
        A1_seen, A2_seen, X_seen, B_seen = draw_problems(context_length, dim, rng, draws)
        A1, A2, X, B = draw_problems(context_length, dim, rng, draws)
        goals_seen = compute_wanted_move(A1_seen, A2_seen, X_seen, B_seen)
        goals = compute_wanted_move(A1, A2, X, B)

        # With these targets the weights 2 X have the loss zero.
        grown = (2 * A1 @ X @ A2.mT).softmax(-1)
        found = [("every token shrunk", "none", median_cosine(-A1, goals, A2, X))]
        for sharpness in SHARPNESS:
            tokens = average_tokens(A1, sharpness)
            own = tokens @ fit_each(tokens, goals)
            V = fit_shared(average_tokens(A1_seen, sharpness), goals_seen)
            shared = tokens @ V
            found += [
                ("fitted to one problem", sharpness, median_cosine(own, goals, A2, X)),
                ("one layer for all problems", sharpness, median_cosine(shared, goals, A2, X)),
            ]
            if sharpness != JUDGED:
                continue
            minus_one = -torch.eye(dim, dtype=V.dtype)
            another = tokens @ fit_each(tokens, goals.roll(1, 0))
            goals_grown = compute_wanted_move(A1, A2, X, grown)
            found += [
                ("its matrix against -1", sharpness, float(cosine(V, minus_one))),
                ("fitted to another's step", sharpness, median_cosine(another, goals, A2, X)),
                ("tested on targets of 2X", sharpness, median_cosine(shared, goals_grown, A2, X)),
            ]
        for layer, sharpness, value in found:
            rows.append(
                {"layer": layer, "sharpness": sharpness, "seed": repetition, "cosine": value}
            )
    return pd.DataFrame(rows)


def draw_problems(
    n: int, dim: int, rng: np.random.Generator, draws: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw ``draws`` problems A1, A2, X, B with n tokens each."""
    A1 = torch.from_numpy(rng.standard_normal((draws, n, dim)))
    A2 = torch.from_numpy(rng.standard_normal((draws, n, dim)))
    X = torch.from_numpy(rng.standard_normal((draws, dim, dim)))
    B = torch.from_numpy(rng.standard_normal((draws, n, n)))
    return A1, A2, torch.eye(dim, dtype=X.dtype) + X / dim, B.softmax(-1)


def compute_wanted_move(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the move of A1 that changes the scores as a gradient step of size one does."""
    slope = gradient(A1, A2, X, B)
    # This is the slope times the inverse of X.
    quotient: Tensor = torch.linalg.solve(X.mT, slope.mT).mT
    return -A1 @ quotient


def average_tokens(A1: Tensor, sharpness: str) -> Tensor:
    """Compute softmax averages of the tokens, or the tokens themselves for the sharpness "none"."""
    if sharpness == "none":
        return A1
    return torch.softmax(float(sharpness) * A1 @ A1.mT, -1) @ A1


def fit_each(tokens: Tensor, goals: Tensor) -> Tensor:
    """Compute the V with the least ``|tokens V - goals|`` of each problem."""
    solution: Tensor = torch.linalg.lstsq(tokens, goals, driver="gelsd").solution
    return solution


def fit_shared(tokens: Tensor, goals: Tensor) -> Tensor:
    """Fit one V to all problems, with each goal divided by its Frobenius norm."""
    lengths = torch.linalg.matrix_norm(goals)[:, None, None]
    return fit_each(tokens.flatten(0, 1), (goals / lengths).flatten(0, 1))


def median_cosine(move: Tensor, goals: Tensor, A2: Tensor, X: Tensor) -> float:
    """Compute the median over problems of the cosine between two moves of scores, given as moves of A1."""
    return float(cosine(move @ X @ A2.mT, goals @ X @ A2.mT).median())


def cosine(U: Tensor, V: Tensor) -> Tensor:
    """Compute the cosine between two matrices as vectors, (...)."""
    return torch.nn.functional.cosine_similarity(U.flatten(-2), V.flatten(-2), dim=-1)
