"""Three formulas of other papers, as noted and as repaired, against derivatives by autograd."""

from collections.abc import Iterator

import pandas as pd
import torch
from torch import Tensor

from icl.tensor_trick import kron_block, vec
from icl_book.measurements.identities import Identities, Row, apply, of_each

SLIP = "the slip is in our notes, and the paper has the repaired formula"


def evidence(
    frame: pd.DataFrame, formula: str
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return the rows of one of `FORMULAS` as printed and as repaired, and the row of each other reading.

    The reading that was added later, a slip of our notes, has the repaired formula in place of the printed.
    ``frame`` is from `icl_book.measurements.identities.differences`.
    """
    mine = frame[frame.identity == formula].assign(which="printed")
    others = dict(list(mine[2:].groupby("what", sort=False)))
    return mine[:2].assign(which=["printed", "repaired"]), others | {SLIP: mine[1:2]}


def _sign(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    def loss(x: Tensor, A: Tensor, b: Tensor) -> Tensor:
        return 0.5 * (torch.softmax(A @ x, -1) - b).square().sum()

    A, x, b = kron_block(A1, A2, 0), vec(X), B[:, 0]
    f = torch.softmax(apply(A, x), -1)
    wanted = of_each(torch.func.grad(loss), x, A, b)
    inner = ((f - b) * f).sum(-1, keepdim=True)
    scale = apply(A.mT.abs(), f * (f - b).abs())
    plus, minus = (apply(A.mT, f * (f - b) + sign * f * inner) for sign in (1, -1))
    yield "as printed", False, plus, wanted, scale
    yield "repaired", False, minus, wanted, scale
    yield "the loss without the factor 1/2", False, plus, 2 * wanted, scale
    yield "minus the gradient", False, plus, -wanted, scale


def _factors(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    U, V, r = A1, A2, B[..., 0]  # any factors and any diagonal
    f, scale, printed = U @ V.mT, U.abs() @ V.abs().mT, U @ (r[..., None] * V).mT
    yield "as printed", False, printed, r[..., None] * f, scale
    yield "repaired", False, (r[..., None] * U) @ V.mT, r[..., None] * f, scale
    yield (
        r"$f$ stored by columns: $f^\top=U_1V_1^\top$",
        False,
        printed,
        r[..., None] * f.mT,
        scale,
    )
    yield (
        "up to 1 % of the largest number summed",
        False,
        printed,
        r[..., None] * f,
        scale,
    )


def _noted_hessian(
    s: Tensor, v: Tensor, e: Tensor, first_noted: bool, coefficient_noted: bool
) -> Tensor:
    """Return the noted Hessian in the scores, or one with either of its two odd terms repaired."""
    f = torch.softmax(s, -1)
    g, fv = (f * v).sum(-1)[:, None, None], f * v
    c = g - e[:, None, None]
    ff, mixed, last = (
        a.unsqueeze(-1) * b.unsqueeze(-2) for a, b in ((f, f), (fv, f), (fv, fv))
    )
    first = (
        (1 - g) * c * fv.diag_embed()
        if first_noted
        else c * (fv.diag_embed() - g * f.diag_embed())
    )
    coefficient = 2 * g + c if coefficient_noted else g + c
    return first - coefficient * (mixed + mixed.mT) + (2 * g * c + g**2) * ff + last


def _hessian(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    def loss(s: Tensor, v: Tensor, e: Tensor) -> Tensor:
        return 0.5 * (torch.softmax(s, -1) @ v - e) ** 2

    s, v, e = (A1 @ X @ A2.mT)[:, 0], A1[..., 0], A2[:, 0, 0]  # any s, v and e
    wanted = of_each(torch.func.hessian(loss), s, v, e)
    scale = wanted.abs()
    yield "as printed", False, _noted_hessian(s, v, e, True, True), wanted, scale
    yield "repaired", False, _noted_hessian(s, v, e, False, False), wanted, scale
    yield (
        "only the first term as printed",
        False,
        _noted_hessian(s, v, e, True, False),
        wanted,
        scale,
    )
    yield (
        "only the coefficient as printed",
        False,
        _noted_hessian(s, v, e, False, True),
        wanted,
        scale,
    )
    yield (
        "the loss without its factor 1/2",
        False,
        _noted_hessian(s, v, e, True, True),
        2 * wanted,
        scale,
    )


FORMULAS: Identities = {"sign": _sign, "factors": _factors, "hessian": _hessian}
