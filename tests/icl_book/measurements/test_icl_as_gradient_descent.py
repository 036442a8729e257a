import math

import numpy as np
import pytest
import torch

from icl.tensor_trick import gradient, loss
from icl.tensor_trick.formulas import row_gradient
from icl_book.measurements import icl_as_gradient_descent as measured
from icl_book.measurements.icl_as_gradient_descent import shifted_target


def test_the_wanted_move_of_the_tokens_is_a_gradient_step():
    A1, A2, X, B = measured.draw_problems(5, 2, np.random.default_rng(0), draws=3)
    move = measured.compute_wanted_move(A1, A2, X, B)
    stepped = A1 @ (X - gradient(A1, A2, X, B)) @ A2.mT
    assert torch.allclose((A1 + move) @ X @ A2.mT, stepped, rtol=1e-10, atol=1e-10)


def test_layers_that_imitate_a_step():
    """A matrix on each token makes it, a softmax layer with a fitted V nearly, and another V does not."""
    found = measured.fit_imitations(context_length=6, dim=2, draws=60, seeds=2, seed=0)
    assert found.seed.unique().tolist() == [0, 1]
    assert not found.duplicated(["layer", "sharpness", "seed"]).any()
    cosine = found.groupby(["layer", "sharpness"]).cosine.median()
    own = cosine["fitted to one problem"]
    assert own["none"] == pytest.approx(1, abs=1e-9)
    assert 0.7 < own[measured.JUDGED] < 1 - 1e-6
    assert abs(cosine["fitted to another's step"].item()) < 0.5
    shared = cosine["one layer for all problems"]
    assert (shared <= own.reindex(shared.index) + 1e-9).all()
    assert cosine["tested on targets of 2X"].item() < 0 < cosine["every token shrunk"].item()


def test_least_squares_is_the_best_matrix():
    rng = np.random.default_rng(1)
    tokens = torch.from_numpy(rng.standard_normal((4, 6, 2)))
    goals = torch.from_numpy(rng.standard_normal((4, 6, 2)))
    V = measured.fit_shared(tokens, goals)
    lengths = goals.square().sum((1, 2)).sqrt()[:, None, None]
    residual = tokens @ V - goals / lengths
    # the residual is orthogonal to what the layer can reach
    assert (tokens.mT @ residual).sum(0).abs().max() < 1e-12


def test_reversed_weights_against_the_numbers_by_hand():
    """With one score s and zeros elsewhere, row sums are e^s + n - 1; the target is the second token."""
    R, n, reach = 1.0, 3, 2.0
    found = measured.reverse_weights(R=R, n=n, reach=reach).set_index("kind")
    low = np.exp([-2.0, 0, 0])
    high = np.exp([2.0, 0, 0])
    f = low / low.sum()
    f_next = high / high.sum()
    b = np.array([0, 1, 0])
    printed = 1.5 * math.log10(n) + 10 / math.log(10)
    normalized = np.linalg.norm(f - f_next)
    ratio = high.sum() / low.sum()
    rescaled = np.linalg.norm(f - ratio * (f_next - b) - b)
    for kind, move in (("normalized", normalized), ("rescaled", rescaled)):
        wanted = math.log10(move / (2 * reach * R)) - printed
        assert found.loc[kind, "shift"] == pytest.approx(wanted)
        assert found.loc[kind, "loss"] < -6
    losses = [((some - b) ** 2).sum() for some in (f, f_next)]
    still = abs(losses[1] - losses[0]) / max(losses)
    assert found.loc["normalized", "unmoved"] == pytest.approx(math.log10(still / 1e-6))


# --------------------------------------------------------------------------- the shift of the target
def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["normalized", "rescaled"])
@pytest.mark.parametrize("moving", ["weights", "data"])
def test_residual_and_loss_are_preserved(kind, moving):
    A1, A2, B = normal(6, 3), normal(6, 3, seed=1), normal(6, 6, seed=2).softmax(-1)
    X = normal(3, 3, seed=3) + 2 * torch.eye(3)
    X_next = X + 0.1 * normal(3, 3, seed=4)
    # moved in this way the data give the scores of the moved weights
    after = (A1, X_next) if moving == "weights" else (A1 @ X_next @ X.inverse(), X)
    S, S_next = A1 @ X @ A2.T, after[0] @ after[1] @ A2.T
    moved = shifted_target(S, S_next, B, kind)
    batch = [torch.stack([T, T]) for T in (S, S_next, B)]
    assert torch.equal(shifted_target(*batch, kind)[1], moved)
    if kind == "normalized":
        wanted = S_next.softmax(-1) - B
        ours = S.softmax(-1) - moved
    else:
        U, U_next = S.exp(), S_next.exp()
        wanted = U_next - U_next.sum(-1, keepdim=True) * B
        ours = U - U.sum(-1, keepdim=True) * moved
    rounding = 1e-12 * wanted.abs().max().item()
    assert torch.allclose(ours, wanted, rtol=1e-12, atol=rounding)
    instead = loss(A1, A2, X, moved, kind)
    assert torch.allclose(instead, loss(after[0], A2, after[1], B, kind), rtol=1e-12)
    assert torch.allclose(moved.sum(-1), torch.ones(6, dtype=X.dtype))
    there = row_gradient(S_next, B, kind)
    assert not torch.allclose(row_gradient(S, moved, kind), there, rtol=1e-2)


@pytest.mark.parametrize("length", [1e-3, 0.1, 1.0, 5.0])
def test_the_target_moves_no_farther_than_proved(length):
    """This holds at random scores and at the worst small moves, where (e_i - e_k) e_i' has norm sqrt 2."""
    S, move = normal(500, 4), length * normal(500, 4, seed=1)
    B = (3 * normal(500, 4, seed=2)).softmax(-1)
    S[0] = torch.tensor([40.0, 0, 0, 0])
    B[0] = torch.tensor([0, 1.0, 0, 0])
    move[0] = torch.tensor([length, 0, 0, 0])
    steps = move.norm(dim=-1)
    normalized = (shifted_target(S, S + move, B, "normalized") - B).norm(dim=-1)
    assert (normalized <= 0.5 * steps * (1 + 1e-9)).all()
    rescaled = (shifted_target(S, S + move, B, "rescaled") - B).norm(dim=-1)
    bound = math.sqrt(2) * move.abs().amax(-1).exp() * steps
    assert (rescaled <= bound * (1 + 1e-9)).all()
    if length <= 1e-3:
        assert rescaled[0] > 0.99 * bound[0]


def test_successive_shifts_add_up_in_the_normalized_problem_alone():
    first, second, third = (normal(5, 3, seed=k) for k in range(3))
    B = normal(5, 3, seed=3).softmax(-1)
    for kind in ("normalized", "rescaled"):
        once = shifted_target(first, third, B, kind)
        between = shifted_target(first, second, B, kind)
        twice = shifted_target(second, third, between, kind)
        assert torch.allclose(once, twice) == (kind == "normalized")


def test_rescaled_shift_survives_large_logits():
    S = torch.tensor([[700.0, 699.0]], dtype=torch.float64)
    B = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    assert torch.isfinite(shifted_target(S, S + 1, B, "rescaled")).all()
