"""A grid is `pretrain` on its units one by one; contexts are those of the streams."""

import numpy as np
import torch

from icl.covariates import Ellipsoid, uniform_sphere
from icl.pretrain import UnitConfig, draw_contexts, pretrain, train_grid
from icl.streams import stream
from icl.tasks import Affine, ReLU


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
    units += [UnitConfig(Affine(3), 0.4, 8, s, tokens, learning_rate=0.2) for s in range(3)]
    plain = pretrain(
        units, 20, 16, shared_tokens=True, stream="native", dtype="float32", record=(5, 20)
    )
    assert grid.units == plain.units and grid.shape == (2, 3)
    assert np.array_equal(grid.M.reshape(plain.M.shape), plain.M)
    assert np.array_equal(grid.M[1, 2], plain.M[5]) and np.array_equal(
        grid.windows[1], plain.windows[3:]
    )
    assert np.array_equal(grid.M_history[0, 1, 0], plain.M_history[0, 3])
    portable = train_grid(ReLU(3), 0.1, 8, 2, 5, 16, 0.3, stream="portable", dtype="float64")
    assert np.array_equal(
        portable.M[0, 1], pretrain([UnitConfig(ReLU(3), 0.1, 8, 1)], 5, 16, 0.3).M[0]
    )
    assert portable.settings.learning_rate == 0.3


def test_contexts_are_drawn_from_the_streams():
    setting = {"noise_std": 0.5, "n": 6, "batch_size": 40, "seed": 7, "step": 2}
    tokens, labels = draw_contexts(ReLU(3, 2.0), **setting)
    assert tokens.shape == (40, 7, 3) and labels.shape == (40, 7)
    assert tokens.dtype == labels.dtype == torch.float64
    assert torch.equal(tokens, uniform_sphere(stream(7, "covariates", 2), 40, 7, 3))
    values = ReLU(3, 2.0).sample(stream(7, "tasks", 2), 40)(tokens)
    noise = torch.from_numpy(stream(7, "noise", 2).standard_normal((40, 7)))
    assert torch.equal(labels, values + 0.5 * noise)
