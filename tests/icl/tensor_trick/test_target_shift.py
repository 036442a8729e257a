"""The shift of the target against its definition, and the data moves against gradient descent."""

import pytest
import torch

from icl.tensor_trick import gradient, loss
from icl.tensor_trick.formulas import row_gradient
from icl.tensor_trick.target_shift import (
    data_move,
    linear_attention_layer,
    shifted_target,
)


def problem(n=6, d=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    A1, A2, X, B = (
        torch.randn(*shape, generator=g, dtype=torch.float64)
        for shape in ((n, d), (n, d), (d, d), (n, n))
    )
    return A1, A2, X + 2 * torch.eye(d), B.softmax(-1)


@pytest.mark.parametrize("kind", ["normalized", "rescaled"])
@pytest.mark.parametrize("moving", ["weights", "data"])
def test_residual_and_loss_are_preserved(kind, moving):
    A1, A2, X, B = problem()
    step = 0.1 * torch.randn(
        X.shape, generator=torch.Generator().manual_seed(1), dtype=X.dtype
    )
    other = (A1, X + step) if moving == "weights" else (data_move(A1, X, X + step), X)
    S, S_next = A1 @ X @ A2.T, other[0] @ other[1] @ A2.T
    moved = shifted_target(S, S_next, B, kind)
    assert torch.equal(
        shifted_target(*(torch.stack([T, T]) for T in (S, S_next, B)), kind)[1], moved
    )
    U, V = S.exp(), S_next.exp()
    if kind == "normalized":
        wanted = S_next.softmax(-1) - B
        ours = S.softmax(-1) - moved
    else:
        wanted, ours = (
            V - V.sum(-1, keepdim=True) * B,
            U - U.sum(-1, keepdim=True) * moved,
        )
    assert torch.allclose(
        ours, wanted, rtol=1e-12, atol=1e-12 * wanted.abs().max().item()
    )
    assert torch.allclose(
        loss(A1, A2, X, moved, kind),
        loss(*(other[0], A2, other[1]), B, kind),
        rtol=1e-12,
    )
    assert torch.allclose(
        moved.sum(-1), torch.ones(6, dtype=X.dtype)
    )  # rows of B sum to one
    assert not torch.allclose(
        row_gradient(S, moved, kind), row_gradient(S_next, B, kind), rtol=1e-2
    )


def test_rescaled_shift_survives_large_logits():
    S = torch.tensor([[700.0, 699.0]], dtype=torch.float64)
    moved = shifted_target(
        S, S + 1, torch.tensor([[0.5, 0.5]], dtype=torch.float64), "rescaled"
    )
    assert torch.isfinite(moved).all()
    with pytest.raises(
        ValueError, match="kind is 'sparse'; allowed: normalized, rescaled"
    ):
        shifted_target(S, S, S, "sparse")


def test_linear_attention_is_a_gradient_step():
    A1, A2, X, B = problem(seed=2)
    eta = 0.3
    P = row_gradient(A1 @ X @ A2.T, B, "normalized")
    layer = linear_attention_layer(A1, P @ A2 @ torch.linalg.inv(X), eta)
    wanted = data_move(A1, X, X - eta * gradient(A1, A2, X, B))
    assert torch.allclose(layer, wanted, rtol=1e-10)
    assert torch.allclose(
        layer @ X @ A2.T, A1 @ (X - eta * gradient(A1, A2, X, B)) @ A2.T, rtol=1e-10
    )
