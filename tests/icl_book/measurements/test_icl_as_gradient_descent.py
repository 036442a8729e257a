import math

import numpy as np
import pytest
import torch

from icl.tensor_trick import gradient
from icl_book.measurements import icl_as_gradient_descent as measured


def test_the_wanted_move_of_the_tokens_is_a_gradient_step():
    A1, A2, X, B = measured.random_problems(5, 2, np.random.default_rng(0), draws=3)
    move = measured.wanted_move(A1, A2, X, B)
    stepped = A1 @ (X - gradient(A1, A2, X, B)) @ A2.mT
    assert torch.allclose((A1 + move) @ X @ A2.mT, stepped, rtol=1e-10, atol=1e-10)


def test_layers_that_imitate_a_step():
    """A matrix on each token makes it; a softmax layer with a V of its own nearly; another's V does not."""
    found = measured.imitations(context_length=6, dim=2, draws=60, seeds=2, seed=0)
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
    V = measured.shared_matrix(tokens, goals)
    lengths = goals.square().sum((1, 2)).sqrt()[:, None, None]
    residual = tokens @ V - goals / lengths
    # the residual is orthogonal to what the layer can reach
    assert (tokens.mT @ residual).sum(0).abs().max() < 1e-12


def test_reversed_weights_against_the_numbers_by_hand():
    """One score s and zeros elsewhere; row sums are e^s + n - 1, and the target is the second token."""
    R, n, reach = 1.0, 3, 2.0
    found = measured.reversed_weights(R=R, n=n, reach=reach).set_index("kind")
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
