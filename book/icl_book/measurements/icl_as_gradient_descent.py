"""Layers that imitate a gradient step, and a move of the weights that is far too long.

Tokens are the rows of A1 and A2, weights X, and scores, also called logits, ``S = A1 X A2'``. The loss is
``|F - B|^2 / 2`` (kind "normalized") or ``|U - a B|^2 / 2`` ("rescaled"), with U = exp(S), a its row sums,
F = U / a and a target B. Papers of this line bound the norms of data and weights by R.
"""

import math

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.streams import stream
from icl.tensor_trick import gradient
from icl.tensor_trick.formulas import row_loss

#: Sharpness c of the attention layers, or "none" without attention; and the one that the card judges.
SHARPNESS = ("none", "0", "0.25", "0.5", "1", "2", "4", "16")
JUDGED = "1"


def shifted_target(S: Tensor, S_next: Tensor, B: Tensor, kind: str) -> Tensor:
    """Compute the target B~ with which the loss at the logits S is that at the logits S' with the target B.

    Papers of this line (arXiv 2304.13276, and arXiv 2307.02419 for matrices) compare a gradient step on the
    weights and a change of the data by attention, both of which move S to S' (``S_next``), with a move of the
    target from B to B~ that gives the same residual::

        normalized     F(S') - B           =  F(S) - B~
        rescaled       U(S') - a(S') B     =  U(S) - a(S) B~        (U = exp, a = row sums)

    Logits and target are (..., n, m). B~ has the row sums of B if kind is "normalized"; if it is "rescaled",
    only where they are 1. Large logits do no harm as long as the ratio of the row sums a is in range.
    """
    F = torch.softmax(S, -1)
    F_next = torch.softmax(S_next, -1)
    if kind == "normalized":
        return B + (F - F_next)
    log_ratio = S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)
    return F - log_ratio.exp() * (F_next - B)


def reversed_weights(*, R: float = 2.0, n: int = 8, reach: float = 16.0) -> pd.DataFrame:
    """Move the target as the move from x to -x does, for an x of length ``reach * R``.

    The problem is a single row with n scores A x, in which only one token of A is not zero.

    Returns:
        A row for each ``kind``: ``shift``, the log10 of the target's move over n^1.5 e^(10 R^2) times the
        move of x, which is the printed bound; ``loss``, the log10 of the relative difference between the loss
        after the move of x and that after the move of the target, over 1e-6; ``unmoved``, the same with the
        target where it was; and ``error``, the rounding of the largest score.
    """
    largest = reach * R**2
    scores = torch.zeros(1, n, dtype=torch.float64)
    # One row of A is not zero and has length R; x goes to -x.
    scores[0, 0] = -largest
    target = torch.zeros(1, n, dtype=torch.float64)
    target[0, 1] = 1.0
    printed = 1.5 * math.log10(n) + 10 * R**2 / math.log(10)
    rows = []
    for kind in ("normalized", "rescaled"):
        moved = shifted_target(scores, -scores, target, kind)
        loss_after = float(row_loss(-scores, target, kind))
        loss_moved = float(row_loss(scores, moved, kind))
        loss_unmoved = float(row_loss(scores, target, kind))
        gap = abs(loss_after - loss_moved) / max(loss_after, loss_moved)
        # The move of x from one end to the other is twice its length.
        ratio = float((moved - target).norm()) / (2 * reach * R)
        rows.append(
            {
                "kind": kind,
                "shift": math.log10(ratio) - printed,
                # A gap of zero has no logarithm.
                "loss": math.log10(max(gap, 1e-17) / 1e-6),
                "unmoved": math.log10(
                    abs(loss_after - loss_unmoved) / max(loss_after, loss_unmoved) / 1e-6
                ),
                "error": n * float(np.spacing(largest)),
            }
        )
    return pd.DataFrame(rows)


def imitations(*, context_length: int, dim: int, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """Fit layers A1 + softmax(c A1 A1') A1 V to gradient steps on random problems, in independent streams.

    A layer for one problem has a V of its own. A shared layer has one V for all of ``draws`` problems, and is
    tested on as many others.

    Returns:
        Columns ``layer`` (what is fitted, and tested on what), ``sharpness`` (the c of `SHARPNESS`),
        ``seed`` and ``cosine``: the median, over the problems of the test, of the cosine between the moves of
        the scores by the layer and by the step; of "its matrix against -1" the cosine between V of the shared
        layer and minus the identity.
    """
    rows = []
    for repetition in range(seeds):
        rng = stream(seed, "evaluation", repetition)
        A1_seen, A2_seen, X_seen, B_seen = random_problems(context_length, dim, rng, draws)
        A1, A2, X, B = random_problems(context_length, dim, rng, draws)
        goals_seen = wanted_move(A1_seen, A2_seen, X_seen, B_seen)
        goals = wanted_move(A1, A2, X, B)

        # At these targets 2 X has the loss zero.
        grown = (2 * A1 @ X @ A2.mT).softmax(-1)
        found = [("every token shrunk", "none", median_cosine(-A1, goals, A2, X))]
        for sharpness in SHARPNESS:
            tokens = attended(A1, sharpness)
            own = tokens @ least_squares(tokens, goals)
            V = shared_matrix(attended(A1_seen, sharpness), goals_seen)
            shared = tokens @ V
            found += [
                ("fitted to one problem", sharpness, median_cosine(own, goals, A2, X)),
                ("one layer for all problems", sharpness, median_cosine(shared, goals, A2, X)),
            ]
            # The controls are for the judged sharpness only.
            if sharpness != JUDGED:
                continue
            minus_one = -torch.eye(dim, dtype=V.dtype)
            another = tokens @ least_squares(tokens, goals.roll(1, 0))
            goals_grown = wanted_move(A1, A2, X, grown)
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


def random_problems(
    n: int, dim: int, rng: np.random.Generator, draws: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw problems A1, A2 standard normal, X the identity plus normal numbers of deviation 1 / dim, and B.

    Rows of B are softmaxes of standard normal numbers. There are ``draws`` problems, with n tokens each.
    """
    A1 = torch.from_numpy(rng.standard_normal((draws, n, dim)))
    A2 = torch.from_numpy(rng.standard_normal((draws, n, dim)))
    X = torch.from_numpy(rng.standard_normal((draws, dim, dim)))
    B = torch.from_numpy(rng.standard_normal((draws, n, n)))
    return A1, A2, torch.eye(dim, dtype=X.dtype) + X / dim, B.softmax(-1)


def wanted_move(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the move of A1 that changes the scores as a gradient step of size one does."""
    slope = gradient(A1, A2, X, B)
    # This is the slope times the inverse of X.
    quotient: Tensor = torch.linalg.solve(X.mT, slope.mT).mT
    return -A1 @ quotient


def attended(A1: Tensor, sharpness: str) -> Tensor:
    """Compute softmax averages of the tokens, or without attention the tokens themselves."""
    if sharpness == "none":
        return A1
    return torch.softmax(float(sharpness) * A1 @ A1.mT, -1) @ A1


def least_squares(tokens: Tensor, goals: Tensor) -> Tensor:
    """Compute the V with the least |tokens V - goals| of each problem."""
    solution: Tensor = torch.linalg.lstsq(tokens, goals, driver="gelsd").solution
    return solution


def shared_matrix(tokens: Tensor, goals: Tensor) -> Tensor:
    """Fit one V to all problems, each goal divided by its length."""
    lengths = torch.linalg.matrix_norm(goals)[:, None, None]
    return least_squares(tokens.flatten(0, 1), (goals / lengths).flatten(0, 1))


def median_cosine(move: Tensor, goals: Tensor, A2: Tensor, X: Tensor) -> float:
    """Compute the median, over problems, of the cosine between two moves of the scores A1 X A2'."""
    return float(cosine(move @ X @ A2.mT, goals @ X @ A2.mT).median())


def cosine(U: Tensor, V: Tensor) -> Tensor:
    """Compute the cosine of matrices, (...)."""
    return torch.nn.functional.cosine_similarity(U.flatten(-2), V.flatten(-2), dim=-1)
