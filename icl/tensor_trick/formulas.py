r"""The five softmax regressions of paper 2 as plain formulas in the logits.

The logits are :math:`S=A_1XA_2^\top`, with the shape n x m. From them and the targets B come ::

    U = exp(S), entrywise,   a = row sums of U,   F = U / a.

Each row is a softmax regression of its own. Let u, f and b be the same row of U, F and B, and a the sum of u.
The loss of the row is, by kind, ::

    normalized     1/2 |f - b|^2      (paper 2's abstract has no 1/2: its loss is twice this one)
    rescaled       1/2 |u - a b|^2    (likewise)
    sparse         sum of u = a
    cross_entropy  -<b, log f>
    entropy        -<f, log f>

and the loss is the sum over rows. The gradient in X is :math:`A_1^\top PA_2` with P = dloss/dS. The Hessian
product with V is :math:`A_1^\top WA_2`, where W is the derivative of P along :math:`T=A_1VA_2^\top`.

Shapes and entries are not checked. PyTorch can differentiate and map the functions.
"""

from __future__ import annotations

from typing import cast

from icl.checks import shown
from icl.pytorch import Tensor, torch

KINDS = ("normalized", "rescaled", "sparse", "cross_entropy", "entropy")

#: The kinds that compare with a target B.
TARGETED = ("normalized", "rescaled", "cross_entropy")


def row_loss(S: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """Return the losses of the rows, (..., n), from logits S and targets B, both (..., n, m)."""
    B = check_target(B, kind)
    match kind:
        case "normalized":
            return 0.5 * (torch.softmax(S, -1) - B).square().sum(-1)
        case "rescaled":
            U = S.exp()
            return 0.5 * (U - U.sum(-1, keepdim=True) * B).square().sum(-1)
        case "sparse":
            return S.exp().sum(-1)
        case "cross_entropy":
            return -(B * torch.log_softmax(S, -1)).sum(-1)
        # the kind is entropy
        case _:
            log_F = torch.log_softmax(S, -1)
            return -(log_F.exp() * log_F).sum(-1)


def row_gradient(S: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """Return P = dloss/dS from logits S and targets B, all of shape (..., n, m)."""
    B = check_target(B, kind)
    match kind:
        case "normalized":
            F = torch.softmax(S, -1)
            C = F - B
            return F * (C - _dot(F, C))
        case "rescaled":
            U = S.exp()
            # Q is U - a B; through a it depends on every logit of the row
            Q = torch.addcmul(U, U.sum(-1, keepdim=True), B, value=-1)
            return U * (Q - _dot(Q, B))
        case "sparse":
            return S.exp()
        case "cross_entropy":
            return torch.softmax(S, -1) * B.sum(-1, keepdim=True) - B
        # the kind is entropy
        case _:
            log_F = torch.log_softmax(S, -1)
            F = log_F.exp()
            return -F * (log_F - _dot(F, log_F))


def row_hvp(S: Tensor, T: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """Return W, the derivative of `row_gradient` along T; S, T, B and W have the shape (..., n, m).

    In the code ``X_t`` is the derivative of ``X`` along T.
    """
    B = check_target(B, kind)
    match kind:
        case "normalized":
            F = torch.softmax(S, -1)
            C = F - B
            # F_t and C_t are F * log_F_t
            log_F_t = T - _dot(F, T)
            # (F . C)_t is F . turn, because F . log_F_t = 0
            turn = log_F_t * (C + F - _dot(F, C))
            return F * (turn - _dot(F, turn))
        case "rescaled":
            U = S.exp()
            U_t = U * T
            # Q is U - a B
            Q = torch.addcmul(U, U.sum(-1, keepdim=True), B, value=-1)
            Q_t = torch.addcmul(U_t, U_t.sum(-1, keepdim=True), B, value=-1)
            return U * torch.addcmul(Q_t - _dot(Q_t, B), T, Q - _dot(Q, B))
        case "sparse":
            return S.exp() * T
        case "cross_entropy":
            F = torch.softmax(S, -1)
            return F * (T - _dot(F, T)) * B.sum(-1, keepdim=True)
        # the kind is entropy
        case _:
            log_F = torch.log_softmax(S, -1)
            F = log_F.exp()
            # (F . log_F)_t is F_t . log_F, because F . log_F_t = 0
            log_F_t = T - _dot(F, T)
            F_t = F * log_F_t
            return -F_t * (log_F - _dot(F, log_F)) - F * (log_F_t - _dot(F_t, log_F))


def check_target(B: Tensor | None, kind: str) -> Tensor:
    """Return B; ValueError if the kind is unknown, or if it needs a target and B is None."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind is {shown(kind)}; allowed: {', '.join(KINDS)}")
    if B is None and kind in TARGETED:
        raise ValueError(f"B is None; kind {kind!r} needs targets of shape (..., n, m)")
    # B is None only for kinds that ignore it
    return cast(Tensor, B)


def _dot(Y: Tensor, Z: Tensor) -> Tensor:
    """Return the inner products of the rows of Y and Z as a column, (..., n, 1)."""
    products: Tensor = torch.linalg.vecdot(Y, Z)
    return products.unsqueeze(-1)
