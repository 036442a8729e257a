"""A grid is `pretrain` on its units one by one; contexts are those of the streams."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch

from icl.covariates import Ellipsoid, uniform_sphere
from icl.pretrain import UnitConfig, draw_contexts, pretrain, train_grid
from icl.streams import NativeStream, stream
from icl.tasks import Affine, Cosine, ReLU


def test_a_grid_is_trained_setting_by_setting_and_seed_by_seed():
    tokens = Ellipsoid(np.diag([1.0, 2, 3]))
    grid = train_grid(
        [ReLU(3), Affine(3)],
        [0.1, 0.4],
        8,
        3,
        20,
        16,
        [0.1, 0.2],
        covariates=[None, tokens],
        record=(5, 20),
    )
    units = [UnitConfig(ReLU(3), 0.1, 8, s, learning_rate=0.1) for s in range(3)]
    units += [
        UnitConfig(Affine(3), 0.4, 8, s, tokens, learning_rate=0.2) for s in range(3)
    ]
    plain = pretrain(
        units,
        20,
        16,
        shared_tokens=True,
        stream="native",
        dtype="float32",
        record=(5, 20),
    )
    assert grid.trained.units == plain.units and np.array_equal(grid.trained.M, plain.M)
    assert np.array_equal(grid.M[1, 2], plain.M[5]) and np.array_equal(
        grid.windows[1], plain.windows[3:]
    )
    assert (
        np.array_equal(grid.M_history[0, 1, 0], plain.M_history[0, 3])
        and grid.seeds == 3
    )
    portable = train_grid(
        ReLU(3), 0.1, 8, 2, 5, 16, 0.3, stream="portable", dtype="float64"
    )
    assert np.array_equal(
        portable.M[0, 1], pretrain([UnitConfig(ReLU(3), 0.1, 8, 1)], 5, 16, 0.3).M[0]
    )
    assert portable.trained.settings.learning_rate == 0.3


@pytest.mark.parametrize(
    "kind, dtype", [(stream, torch.float64), (NativeStream, torch.float32)]
)
def test_contexts_are_drawn_from_the_streams(kind, dtype):
    x, f, y = draw_contexts(ReLU(3, 2.0), 0.5, 6, 40, partial(kind, 7))
    assert (
        x.shape == (40, 7, 3)
        and f.shape == y.shape == (40, 7)
        and x.dtype == y.dtype == dtype
    )
    assert torch.equal(x, uniform_sphere(kind(7, "covariates"), 40, 7, 3))
    assert torch.equal(f, ReLU(3, 2.0).sample(kind(7, "tasks"), 40)(x))
    noise = torch.as_tensor(
        kind(7, "noise").standard_normal((40, 7) if kind is stream else (7, 40))
    )
    assert torch.equal(y, f + 0.5 * (noise if kind is stream else noise.T))
    tokens = Ellipsoid(np.diag([1.0, 2, 3]))
    moved, *_ = draw_contexts(ReLU(3), 0.5, 6, 40, partial(kind, 7), tokens)
    assert torch.allclose(moved, x * x.new_tensor([1.0, 2, 3]))


def test_windows_of_even_functions_warn_of_their_signs():
    units = [
        UnitConfig(task, 0.1, 16, s, initial_std=0.5)
        for task in (Cosine(3, 4.0), ReLU(3))
        for s in range(4)
    ]
    trained = pretrain(
        units, 1, 16, 1e-3, shared_tokens=True
    )  # still at their random starts
    with pytest.warns(UserWarning, match="even functions have either sign"):
        assert np.any(trained.windows[:4] < 0) and np.any(trained.windows[:4] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sizes = trained.window_sizes
        odd = pretrain(units[4:], 1, 16, 1e-3).windows
    assert np.array_equal(sizes, np.abs(np.trace(trained.M, axis1=1, axis2=2)) / 3)
    assert np.array_equal(np.abs(odd), sizes[4:])
