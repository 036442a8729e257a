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

import warnings

import torch
from torch import Tensor

from icl.checks import real, shown
from icl.tensor_trick.inputs import check_matrices, require_finite

__all__ = [
    "data_move",
    "linear_attention_layer",
    "self_attention_weights",
    "shifted_target",
]


def _check(
    shapes: dict[str, tuple[int, int]] | None = None, /, **given: Tensor
) -> None:
    """Check that all are finite matrices of one type, and that those of ``shapes`` end in these."""
    check_matrices(**given)
    for name, wanted in (shapes or {}).items():
        if given[name].shape[-2:] != wanted:
            raise ValueError(
                f"{name} has shape {tuple(given[name].shape)}; it must end in {wanted}"
            )
    require_finite(**given)


def _in_range(result: Tensor, cause: str) -> Tensor:
    """Return a finite result; OverflowError for another."""
    try:
        require_finite(result=result)
    except ValueError:
        raise OverflowError(
            f"the result overflows {result.dtype}; {cause} must be smaller"
        ) from None
    return result


def shifted_target(
    S: Tensor, S_next: Tensor, B: Tensor, kind: str = "normalized"
) -> Tensor:
    """Compute the target with which the loss at the old logits is that at the new ones with the old target.

    Logits before and after the move are (..., n, m). The row sums of B are kept if kind is "normalized", and
    if they were 1; ValueError for a kind other than that and "rescaled". Computed from softmaxes and the
    ratio of row sums alone, so large logits do no harm as long as the ratio itself is in range; OverflowError
    where it is not. TypeError for what is no floating tensor, ValueError for shapes that do not fit, NaN and
    infinity.
    """
    if not isinstance(kind, str) or kind not in ("normalized", "rescaled"):
        raise ValueError(f"kind is {shown(kind)}; allowed: normalized, rescaled")
    check_matrices(S=S)
    shape = (S.shape[-2], S.shape[-1])
    _check({"S_next": shape, "B": shape}, S=S, S_next=S_next, B=B)
    F, F_next = torch.softmax(S, -1), torch.softmax(S_next, -1)
    if kind == "normalized":
        return B + (F - F_next)
    ratio = (S_next.logsumexp(-1, keepdim=True) - S.logsumexp(-1, keepdim=True)).exp()
    moved: Tensor = F - ratio * (F_next - B)
    return _in_range(moved, "S_next - S or B")


def target_move(S: Tensor, move: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    r"""Compute how far `shifted_target` moves the target when the logits move by ``move``.

    It is ``shifted_target(S, S + move, B, kind) - B``, with a rounding error that is small against the move,
    however short the move is. With f the softmax of S and ``m`` the mean of ``e^{move} - 1`` under f it is ::

        normalized     f (m - (e^{move} - 1)) / (1 + m)
        rescaled       m B - f (e^{move} - 1)

    Logits, moves and targets are (..., n, m) or (..., n) as in `shifted_target`, and so is the ValueError.
    """
    far = shifted_target(S, S + move, B, kind) - B
    near = move.abs().amax(-1, keepdim=True) <= 1
    f, grown = torch.softmax(S, -1), torch.expm1(move.clamp(-1, 1))
    mean = (f * grown).sum(-1, keepdim=True)
    by_series = (
        f * (mean - grown) / (1 + mean)
        if kind == "normalized"
        else mean * B - f * grown
    )
    return torch.where(near, by_series, far)


def data_move(A1: Tensor, X: Tensor, X_next: Tensor) -> Tensor:
    """Compute ``A = A1 X_next X^{-1}``, (..., n, d), which moves the data as X_next moves the weights.

    The logits A X A2' are those of A1 X_next A2'. X and X_next are (..., d, d), and X must be invertible:
    ValueError where its condition number is beyond 1 / epsilon of the dtype, and RuntimeWarning where it is
    beyond the square root of that, so that half of the digits are lost.
    """
    check_matrices(A1=A1)
    d = A1.shape[-1]
    _check({"X": (d, d), "X_next": (d, d)}, A1=A1, X=X, X_next=X_next)
    sizes = torch.linalg.svdvals(X.detach())
    condition = float(
        (sizes[..., 0] / sizes[..., -1]).max()
    )  # infinite if X is singular, NaN if it is zero
    digits = torch.finfo(X.dtype).eps
    if not condition < 1 / digits:
        raise ValueError(
            f"X has condition number {condition:.2g}; it must be invertible in {X.dtype}"
        )
    if condition > digits**-0.5:
        text = f"X has condition number {condition:.2g}: the move has few right digits in {X.dtype}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    quotient: Tensor = torch.linalg.solve(X.mT, X_next.mT).mT
    return _in_range(A1 @ quotient, "A1 or X_next")


def linear_attention_layer(tokens: Tensor, values: Tensor, step: float) -> Tensor:
    """Compute linear self-attention with residual, tokens - step * (tokens tokens') values, (..., n, d).

    Tokens and values are (..., n, d). With values = ``P A2 X^{-1}`` it is the `data_move` of a gradient step
    of that size.
    """
    check_matrices(tokens=tokens)
    _check(
        {"values": (tokens.shape[-2], tokens.shape[-1])}, tokens=tokens, values=values
    )
    return _in_range(
        tokens - real(step, "step") * (tokens @ tokens.mT) @ values,
        "tokens, values or step",
    )


def self_attention_weights(tokens: Tensor, sharpness: float) -> Tensor:
    """Compute softmax self-attention weights, (..., n, n), from scores sharpness * tokens tokens'."""
    _check(tokens=tokens)
    scores = real(sharpness, "sharpness") * tokens @ tokens.mT
    return torch.softmax(_in_range(scores, "tokens or sharpness"), -1)
