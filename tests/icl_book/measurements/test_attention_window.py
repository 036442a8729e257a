import numpy as np
import pandas as pd
import pytest

from icl_book.measurements import attention_window


def test_weights_that_fall_with_the_distance_are_in_order_and_others_are_not():
    distance = np.array([0.1, 0.5, 1.0, 1.5])
    table = pd.DataFrame(
        {
            "tokens": "sphere",
            "dim": 3,
            "w": 4.0,
            "draw": [0] * 4 + [1] * 4,
            "distance": [*distance, *distance],
            "attention": [*np.exp(-2 * distance**2), 0.1, 0.4, 0.3, 0.2],
        }
    )
    found = attention_window.weights_by_distance(table)
    assert found.coefficient[0] == pytest.approx(2)
    assert found.disorder.tolist() == [0, 3 / 6]


def test_weights_concentrate_like_one_over_w():
    """At n = 2, one minus the sum of squares is sech^2(w (t_1 - t_2) / 2) / 2, of order 1 / w."""
    found = attention_window.concentration(dims=[2, 5], n_values=[2, 10])
    assert found.slope.to_numpy() == pytest.approx(-1, abs=0.2)
    assert (found.error < 1e-2).all()


def test_the_bias_of_the_estimator_falls():
    means = attention_window.bias_slopes(tasks=["affine", "ReLU"], dims=[3], n=20)
    assert (means.slope + means.error < 0).all()


def test_windows_follow_lipschitz_constant_and_noise():
    setting = {"tasks": ["ReLU"], "dims": [3], "n": 20}
    rough = attention_window.window_slopes(**setting, lipschitz=[1.0, 2.0, 4.0], noise_std=0.4)
    noisy = attention_window.window_slopes(**setting, noise_std=[0.1, 0.2, 0.4])
    assert rough.least[0] > 0 > noisy.greatest[0]
    # only L / sigma counts: L from 1 to 4 at sigma = 0.4 is sigma from 0.4 to 0.1 at L = 1
    assert rough.least[0] == pytest.approx(-noisy.greatest[0], rel=1e-6)
    assert rough.greatest[0] == pytest.approx(-noisy.least[0], rel=1e-6)
    ratio = attention_window.narrowing(**setting, noise_std=0.3, low=1.0, high=8.0)
    assert 0 < ratio.ratio[0] < 1


def test_the_figure_to_move_has_the_best_window_of_each_wave():
    curves, points = attention_window.circle_to_move()
    alike = curves[(curves.w == 0)].groupby("L").prediction.std()
    assert (alike < 1e-12).all(), "equal weights predict the mean of all labels"
    own = (curves.prediction - curves.target) ** 2
    best = (curves.best - curves.target) ** 2
    means = curves.assign(own=own, at=best).groupby(["L", "w"])[["own", "at"]].mean()
    assert (means["at"] < 1.6 * means.own.groupby("L").transform("min")).all()
    assert (curves.risk > curves.least).all()
    np.testing.assert_allclose(curves.blur + curves.scatter + curves.noise, curves.risk, rtol=1e-12)
    near = np.abs(np.log(np.maximum(curves.w, 1e-9) / curves.best_w)) < 0.3
    assert (curves.risk[near] < 1.1 * curves.least[near]).all() and near.any()
    sums = points.groupby(["w", "L", "query"])["size"].sum()
    assert sums.to_numpy() == pytest.approx(1)
