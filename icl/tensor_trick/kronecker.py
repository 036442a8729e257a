"""The tensor trick through the explicit Kronecker product: the slow reference of `icl.tensor_trick`."""

from __future__ import annotations

import torch
from torch import Tensor


def kron_logits(A1: Tensor, A2: Tensor, X: Tensor) -> Tensor:
    """(A1 (x) A2) vec(X), a vector of n * m logits, through the explicit n m x d e matrix."""
    return torch.kron(A1, A2) @ X.reshape(-1)


def kron_loss(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """`icl.tensor_trick.loss` as printed: a sum over the blocks A_j of single regressions.

    Args:
        A1: (n, d).
        A2: (m, e).
        X: (d, e).
        B: (n, m) targets, whose row j is b_j; None where the kind has none.
        kind: One of the five kinds.

    Returns:
        The loss, a scalar that autograd can differentiate.
    """
    A, x, m = torch.kron(A1, A2), X.reshape(-1), A2.shape[0]
    total = X.new_zeros(())
    for j in range(A1.shape[0]):
        u = torch.exp(A[j * m : (j + 1) * m] @ x)
        alpha = u.sum()
        f = u / alpha
        if kind == "normalized":
            total = total + 0.5 * ((f - B[j]) ** 2).sum()
        elif kind == "rescaled":
            total = total + 0.5 * ((u - alpha * B[j]) ** 2).sum()
        elif kind == "sparse":
            total = total + alpha
        elif kind == "cross_entropy":
            total = total - (B[j] * f.log()).sum()
        elif kind == "entropy":
            total = total - (f * f.log()).sum()
        else:
            raise ValueError(f"kind is {kind!r}")
    return total


def kron_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """The gradient of `kron_loss` in X by autograd through the explicit Kronecker product; (d, e)."""
    return torch.func.grad(lambda Y: kron_loss(A1, A2, Y, B, kind))(X)


def kron_hvp(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor, kind: str = "normalized"
) -> Tensor:
    """The Hessian of `kron_loss` in X times V, by forward over reverse autograd; (d, e)."""
    return torch.func.jvp(lambda Y: kron_gradient(A1, A2, Y, B, kind), (X,), (V,))[1]
