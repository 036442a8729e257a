r"""Moves of weights and data as moves of the target: what "in-context learning = gradient descent" says.

Papers of this line (arXiv 2304.13276, and arXiv 2307.02419 for matrices) compare two moves of the logits
S -> S', a gradient step on the weights and a change of the data by attention, with a move of the
target B -> B~ that leaves the residual, and so the value of the loss, what it becomes::

    normalized     F(S') - B           =  F(S) - B~
    rescaled       U(S') - a(S') B     =  U(S) - a(S) B~        (U = exp, a = row sums)

Only the residual is matched. The gradients at (S', B) and (S, B~) differ, because they are
the same residual multiplied by different derivatives.
"""

from __future__ import annotations

import torch
from torch import Tensor

from icl.checks import choice, tensor

__all__ = ["shifted_target"]


def shifted_target(S: Tensor, S_next: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    """Compute the target with which the loss at the old logits is that at the new ones with the old target.

    Logits before and after the move and the target are (..., n, m). The row sums of B are kept if kind is
    "normalized", and if they were 1; ValueError for a kind other than that and "rescaled", for what is no
    floating tensor, for shapes that do not fit, NaN and infinity.

    Computed from softmaxes and the ratio of row sums alone, so large logits do no harm as long as the ratio
    itself is in range; OverflowError where it is not.
    """
    choice(kind, "kind", ("normalized", "rescaled"))
    tensor(S, "S", "n", "m")
    tensor(S_next, "S_next", *S.shape[-2:])
    tensor(B, "B", *S.shape[-2:])
    F = torch.softmax(S, -1)
    F_next = torch.softmax(S_next, -1)
    if kind == "normalized":
        return B + (F - F_next)
    log_ratio = S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)
    moved: Tensor = F - log_ratio.exp() * (F_next - B)
    if not bool(moved.isfinite().all()):
        raise OverflowError(f"the result overflows {moved.dtype}; S_next - S or B must be smaller")
    return moved
