import jupytext
import numpy as np
import pandas as pd
import pytest
import torch

from icl.pretrain import UnitConfig, pretrain
from icl.risk import optimal_window, population_risk
from icl.tasks import Affine, ReLU
from icl_book.measurements import log_slope, theorem2_scaling
from icl_book.provenance import ROOT


def test_a_power_law_has_its_slope_and_the_errors_of_its_values():
    slope, error = log_slope([10.0, 1000.0], [5.0, 5e6], [0.1, 0.3])
    assert slope == pytest.approx(3)
    assert error == pytest.approx(0.4 / np.log(100))
    assert log_slope([10.0, 1.0], [1.0, 0.1], 0.1)[1] > 0


def test_slopes_of_windows_lie_between_their_lengths():
    windows = theorem2_scaling.exact_windows(
        tasks=["affine", "ReLU"], dims=[3], lengths=[1e8, 1e9, 1e10], lipschitz=1.0, noise_std=1.0
    )
    affine = windows[windows.task == "affine"]
    assert np.allclose(affine.ratio, 1, atol=0.02)
    assert np.allclose(affine.ratio, affine.w / affine.law)
    slopes = theorem2_scaling.local_slopes(windows)
    assert slopes.task.tolist() == ["affine"] * 2 + ["ReLU"] * 2
    assert np.allclose(slopes.n, [10**8.5, 10**9.5] * 2)
    assert np.allclose(slopes.slope, [1 / 3] * 2 + [0.4] * 2, atol=0.01)
    assert (0 < slopes.error).all() and (slopes.error < 1e-6).all()


EXACT = {"lipschitz": 2.0, "noise_std": 2.0}


def test_far_out_windows_and_slopes_are_near_the_law():
    far = theorem2_scaling.far_windows(tasks=["affine", "ReLU", "sign"], dims=[3], **EXACT)
    assert np.allclose(far.law, [3e4, 1e5] * 3, rtol=1e-6)
    assert np.allclose(far.ratio, 1, atol=0.01)
    slopes = theorem2_scaling.local_slopes(far)
    assert np.allclose(slopes.slope, [1 / 3, 2 / 5, 2 / 3], atol=0.002)
    in_signal = theorem2_scaling.slopes_in_signal(task="ReLU", dims=[3], **EXACT)
    assert in_signal.slope[0] == pytest.approx(4 / 5, abs=0.005)


def test_a_window_that_follows_the_nearest_token():
    """The nearest of n tokens on a circle is at an angle of the order of 1 / n, on a sphere of its root."""
    found = theorem2_scaling.nearest_token_slopes(dims=[2, 3], lengths=[1e2, 1e8, 1e9])
    assert np.allclose(found.slope, [2, 1], atol=1e-3)


def test_the_ingredients_of_the_sketch_have_their_exponents():
    dims = [3, 5]
    noise = theorem2_scaling.term_slopes(term="noise", tasks=["affine"], dims=dims)
    assert np.allclose(noise.slope, [1, 2], atol=1e-3)
    bias = theorem2_scaling.term_slopes(term="bias", tasks=["affine", "ReLU"], dims=dims)
    assert np.allclose(bias.slope, [-2, -2, -1.5, -1.5], atol=0.02)
    # of a bias w^-a the ratio to 1 / w is w^(1 - a), largest at the root of the best window
    growth = theorem2_scaling.bias_growth(tasks=["affine", "ReLU"], dims=dims, noise_std=1.0)
    assert np.allclose(growth.slope, [-1 / 6, -1 / 8, -1 / 10, -1 / 14], atol=0.02)
    narrow = theorem2_scaling.narrow_bias_growth(dims=dims)
    assert np.allclose(narrow.slope, [0, 1 / 2], atol=0.01)


@pytest.mark.parametrize("dim", [2, 5])
def test_the_narrowest_window_averages_many_tokens(dim):
    """The remaining noise is the sum of the squared weights, one over their number."""
    n = theorem2_scaling.many_tokens(dim)
    left = population_risk(Affine(dim), 1e5, n, noise_std=1.0).noise
    assert left == pytest.approx(1e-12, rel=1e-3)


def test_adam_needs_more_steps_in_longer_contexts_because_it_remembers_the_start():
    """This runs the chapter's cell."""
    cells = jupytext.read(ROOT / "notebooks/theorem2_scaling.py").cells
    (cell,) = (c.source for c in cells if c.cell_type == "code" and "betas=" in c.source)
    names = {"np": np, "pd": pd, "torch": torch, "steps": 800, "learning_rate": 0.1}
    names |= {"optimal_window": optimal_window, "population_risk": population_risk}
    exec(cell, names | {"task": ReLU(5, lipschitz=4.0)}, names)
    by_memory = names["remembered"].groupby(["n", "beta_2"]).ratio.last().unstack()
    assert by_memory.loc[[100, 1000], 0.999].to_numpy() == pytest.approx([0.856, 0.452], abs=0.01)
    assert by_memory[0.9].to_numpy() == pytest.approx(1, abs=0.002)


def test_training_ends_within_about_one_percent_of_the_best_window():
    """With twenty seeds that no chapter uses, the standard error of the mean is 0.3 %."""
    fresh = [UnitConfig(ReLU(5, lipschitz=4.0), 1.0, 20, seed=1000 + seed) for seed in range(20)]
    fast = {"stream": "native", "dtype": "float32"}
    trained = pretrain(fresh, steps=800, batch_size=128, learning_rate=0.1, **fast)
    best = optimal_window(fresh[0].task, 20, 1.0).w
    ratio = trained.M.trace(axis1=-2, axis2=-1) / 5 / best
    assert np.median(ratio) == pytest.approx(1, abs=0.015)
