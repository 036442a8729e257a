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
    found = attention_window.concentration_slopes(dims=[2, 5], n_values=[2, 10])
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
    ratio = attention_window.compare_half_widths(**setting, noise_std=0.3, low=1.0, high=8.0)
    assert 0 < ratio.ratio[0] < 1


def test_the_figure_to_move_adds_its_errors_and_looks_closer_as_w_grows():
    errors, circle = attention_window.circle_to_move(query=60)
    np.testing.assert_allclose(errors.blur + errors.scatter + errors.noise, errors.risk, rtol=1e-12)
    least = errors.risk.argmin()
    assert 5 < least < len(errors) - 5, "the reader can find it"
    assert [*circle.shown] == [*errors.w]
    wide, narrow = (circle.shown[w] for w in (min(circle.shown), max(circle.shown)))
    assert wide[1].max() < 0.1 < 0.5 < narrow[1].max()
    assert [sum(weights) for _, weights in circle.shown.values()] == pytest.approx(
        [1] * len(errors)
    )
    (at_query,) = np.flatnonzero(circle.around == 60)
    for prediction, weights in circle.shown.values():
        assert prediction[at_query] == pytest.approx(weights @ circle.labels)
