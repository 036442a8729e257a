import numpy as np
import pytest

from icl.experiments import kernel
from icl.experiments.tables import each
from icl.risk import optimal_window, population_risk
from icl.tasks import Affine, Cosine, ReLU


@pytest.mark.parametrize("d", [2, 5])
def test_weights_are_the_kernel_on_the_sphere_only(d):
    here, off = (kernel.weights(d, 20, 3, 0, 4.0, on_sphere=where) for where in (True, False))
    assert here["gap"] < 1e-12 and here["disorder"] == 0
    assert here["coefficient"] == pytest.approx(0.5, abs=1e-9)
    assert off["gap"] > 0.1 and off["disorder"] > 0.01


@pytest.mark.parametrize("library", kernel.LIBRARIES)
def test_libraries_predict_the_same(library):
    assert kernel.library_gap(library, 3, 15, 2, 0.2, 0)["gap"] < 1e-9


def test_a_window_of_zero_attends_to_all_and_a_narrow_one_to_one():
    found = kernel.parts(ReLU(3), [1e-6, 1e6], 10, 0.5)
    assert found.points.to_numpy() == pytest.approx([10, 1], rel=1e-2)
    assert found.noise[0] == pytest.approx(0.25 / 10)
    assert found.risk.to_numpy() == pytest.approx((found.bias + found.noise).to_numpy())
    weight = np.exp(-1e6 / 2 * found.half[1] ** 2)
    assert weight == pytest.approx(0.5)


@pytest.mark.parametrize("kind", kernel.CLASSES)
def test_the_estimators_bias_falls(kind):
    found = kernel.bias_slope(kind, 3, 10)
    assert found["value"] < 0 and found["error"] < 1e-6


def test_the_squared_error_turns():
    turns = kernel.bias_turns("affine", 3, 10)
    assert (np.sign(turns["slope"]) == np.where(turns["beyond"], 1, -1)).all()


def test_one_example_gets_all_the_weight_like_one_over_w():
    found = kernel.concentration(3, 20)
    assert found["value"] == pytest.approx(-1, abs=0.01) and found["truth"] == -1
    assert kernel.noise_growth(3, 10)["value"] > 0


def test_best_windows_follow_the_laws_of_the_circle():
    w = [float(optimal_window(Affine(2, L), 40, 0.2).w) for L in (1.0, 4.0)]
    assert kernel.narrowing("affine", 2, 40, 0.2, 1.0, 4.0)["value"] == pytest.approx((w[0] / w[1]) ** 0.5)
    assert kernel.error_exponent(1.0, 0.2)["value"] == pytest.approx(-4 / 5, abs=0.02)
    assert kernel.error_exponent(1.0, 0.2, short=100)["value"] == pytest.approx(0, abs=0.02)


def test_windows_widen_with_noise_and_narrow_with_proportional_functions():
    assert kernel.slope_in_lipschitz("affine", 2, 40, 0.2)["value"] > 0
    assert kernel.slope_in_noise("affine", 2, 40)["value"] < 0
    w = [float(optimal_window(Cosine(2, L), 40, 0.2).w) for L in (1.0, 16.0)]
    waves = kernel.slope_in_lipschitz("cosine", 2, 40, 0.2)["value"]
    assert waves == pytest.approx(np.log(max(w[1], 1e-6) / w[0]) / np.log(16))


def test_the_adapted_window_has_the_least_error():
    lipschitz = {"L": [1.0, 8.0], "window": [1.0, 8.0]}
    found = each(kernel.error_on_circle, **lipschitz, lengths=40, noise_std=0.2)
    errors = found.set_index(["L", "window"]).error
    assert errors[1.0, 1.0] < errors[1.0, 8.0] and errors[8.0, 8.0] < errors[8.0, 1.0]
    w = optimal_window(Cosine(2, 8.0), 40, 0.2).w
    assert errors[1.0, 8.0] == pytest.approx(float(population_risk(Cosine(2, 1.0), w, 40, 0.2).total))


def test_the_figure_that_moves_has_the_best_window_of_each_wave():
    curves, points = kernel.circle_tables()
    alike = curves[(curves.w == 0)].groupby("L").prediction.std()
    assert (alike < 1e-12).all(), "equal weights predict the mean of all labels"
    miss = curves.assign(own=(curves.prediction - curves.target) ** 2, at=(curves.best - curves.target) ** 2)
    means = miss.groupby(["L", "w"])[["own", "at"]].mean()
    assert (means["at"] < 1.6 * means.own.groupby("L").transform("min")).all()
    assert points.groupby(["w", "L", "query"])["size"].sum().to_numpy() == pytest.approx(1)
