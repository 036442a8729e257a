r"""Moves of weights and data as moves of the target: what "in-context learning = gradient descent" says.

Papers of this line (arXiv 2304.13276, and arXiv 2307.02419 for matrices) compare two moves of the logits
S -> S', a gradient step on the weights and a change of the data by attention, with a move of the
target B -> B~ that leaves the residual, and so the value of the loss, what it becomes:

    normalized     F(S') - B           =  F(S) - B~
    rescaled       U(S') - a(S') B     =  U(S) - a(S) B~        (U = exp, a = row sums)

Only the residual is matched. The gradients at (S', B) and (S, B~) differ, because they are
the same residual multiplied by different derivatives.
"""

from __future__ import annotations

import torch
from torch import Tensor


def shifted_target(S: Tensor, S_next: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    """Compute the target with which the loss at the old logits is that at the new ones with the old target.

    Logits before and after the move are (..., n, m). The row sums of B are kept if kind is "normalized", and
    if they were 1; ValueError for a kind other than that and "rescaled". Computed from softmaxes and the
    ratio of row sums alone, so large logits do no harm as long as the ratio itself is in range.
    """
    F, F_next = torch.softmax(S, -1), torch.softmax(S_next, -1)
    match kind:
        case "normalized":
            return B + (F - F_next)
        case "rescaled":
            ratio = (S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)).exp()
            return F - ratio * (F_next - B)
    raise ValueError(f"kind is {kind!r}; allowed: normalized, rescaled")


def target_move(S: Tensor, move: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    r"""Compute how far `shifted_target` moves the target when the logits move by ``move``.

    It is ``shifted_target(S, S + move, B, kind) - B``, with a rounding error that is small against the move,
    however short the move is. With f the softmax of S and ``m`` the mean of ``e^{move} - 1`` under f it is

        normalized     f (m - (e^{move} - 1)) / (1 + m)
        rescaled       m B - f (e^{move} - 1)

    Logits, moves and targets are (..., n, m) or (..., n) as in `shifted_target`, and so is the ValueError.
    """
    far = shifted_target(S, S + move, B, kind) - B
    near = move.abs().amax(-1, keepdim=True) <= 1
    f, grown = torch.softmax(S, -1), torch.expm1(move.clamp(-1, 1))
    mean = (f * grown).sum(-1, keepdim=True)
    by_series = f * (mean - grown) / (1 + mean) if kind == "normalized" else mean * B - f * grown
    return torch.where(near, by_series, far)


def data_move(A1: Tensor, X: Tensor, X_next: Tensor) -> Tensor:
    """Compute ``A = A1 X_next X^{-1}``, (..., n, d), which moves the data as X_next moves the weights.

    The logits A X A2' are those of A1 X_next A2'. X must be invertible.
    """
    quotient: Tensor = torch.linalg.solve(X.mT, X_next.mT).mT
    return A1 @ quotient


def linear_attention_layer(tokens: Tensor, values: Tensor, step: float) -> Tensor:
    """Compute linear self-attention with residual, tokens - step * (tokens tokens') values, (..., n, d).

    With values = ``P A2 X^{-1}`` it is the `data_move` of a gradient step of that size.
    """
    return tokens - step * (tokens @ tokens.mT) @ values


def self_attention_weights(tokens: Tensor, sharpness: float) -> Tensor:
    """Compute softmax self-attention weights, (..., n, n), from scores sharpness * tokens tokens'."""
    return torch.softmax(sharpness * tokens @ tokens.mT, -1)
