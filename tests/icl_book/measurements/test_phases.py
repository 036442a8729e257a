import numpy as np
import pytest

from icl.risk.asymptotics import window_law
from icl.tasks import Affine, Cosine, Linear, Quadratic
from icl_book.measurements import phases
from icl_book.measurements.tables import each

FAR = np.array([1e9, 1e10])


def test_a_map_tells_equal_weights_from_few_tokens():
    found = phases.phase_map([3], [4, 64, 4096], [1.0, 8.0], 0.1)
    assert found.title.unique().tolist() == ["ReLU, d = 3", "cosine, d = 3"]
    narrow = found[
        found.w > 0.5
    ]  # by Archimedes, a cap of height 1 / w holds the share 1 / 2w of the sphere
    assert np.allclose(narrow.reach, narrow.n / (2 * narrow.w))
    assert (found.phase == np.select([found.w == 0, found.reach < 2], [0, 2], 1)).all()
    waves = found[found.kind == "cosine"].set_index(["rough", "n"])
    assert (
        waves.phase[8.0, 4] == 0
        and waves.reach[8.0, 4] == 4
        and waves.phase[1.0, 4096] == 1
    )
    strong = found[(found.kind == "ReLU") & (found.rough > 500) & (found.n == 4)]
    assert strong.phase.tolist() == [2, 2]


def test_curves_that_move_have_their_least_value_at_the_marked_window():
    curves = each(phases.wave_curves, d=3, L=8, noise_std=0.1)
    assert (curves.ratio >= 1 - 1e-9).all() and len(curves) == 12 * 41
    setting = curves[curves.n == 1024]
    at = np.log(setting.w[setting.ratio.idxmin()] / setting.best.iloc[0])
    assert abs(at) <= np.log(10) / 10  # a step of the grid
    assert curves.nearest.min() > 1 and (curves.equal[curves.n == 8] == 1).all()


def test_windows_of_which_one_is_zero_lie_infinitely_far_apart():
    assert phases.class_spread(8, 20, 0.2) == {"value": np.inf, "error": 0.0}
    assert 1 < phases.class_spread(3, 1000, 0.2)["value"] < np.inf


def test_slope_and_curvature_of_known_functions():
    d, L = 5, 2.0
    assert phases.energies(Linear(d, L)) == pytest.approx(
        (L**2 * (d - 1) / d, L**2 * (d - 1) ** 2 / d)
    )
    assert phases.energies(Quadratic(d, L))[1] == pytest.approx(
        8 * (d - 1) * L**2 / (d + 2)
    )
    assert phases.largest_slope(0.01) == pytest.approx(
        0.01**2 / 2, rel=1e-3
    )  # sin(Lt) = Lt


@pytest.mark.parametrize(
    ("equal", "slope"),
    [("slope in space", 4.0), ("largest slope", phases.largest_slope(4.0))],
)
def test_windows_of_equal_slope_differ_as_their_laplacians_do(equal, slope):
    wave = phases.energies(Cosine(2, 4.0))[1]
    found = phases.wave_over_linear(2, equal)["value"]
    assert found == pytest.approx((2 * wave / slope**2) ** (2 / 5), rel=0.01)


def test_windows_follow_their_law_unless_the_noise_grows_along():
    slope = phases.least_slope("affine", 3, FAR)["value"]
    assert slope == pytest.approx(window_law(Affine(3)).exponent, abs=0.02)
    bandwidth = phases.least_slope("affine", 3, FAR, power=-1 / 2)
    assert bandwidth["value"] == pytest.approx(-slope / 2) and bandwidth["error"] > 0
    assert phases.least_slope("affine", 3, FAR, np.sqrt(FAR))["value"] == pytest.approx(
        0, abs=1e-6
    )


def test_tokens_in_the_window_are_those_that_its_width_leaves():
    # a window of bandwidth w^(-1/2) holds n w^(-(d-1)/2) tokens, and w grows like n^(2/(d+3))
    assert phases.crowd("affine", 3, FAR)["value"] == pytest.approx(
        1 - 2 / 2 * 2 / 6, abs=1e-3
    )


@pytest.mark.parametrize("d", [3, 20, 100])
def test_linear_functions_have_the_widest_window_of_one_mean_squared_gradient_and_only_there(
    d,
):
    found = phases.wave_over_linear_limit(d, "mean squared gradient")
    assert found["value"] - found["error"] > 1
    near = [phases.wave_over_linear_limit(d, equal)["value"] for equal in phases.EQUAL]
    assert np.max(np.abs(np.log(near))) < 4 / d  # all tend to one
    steep = phases.wave_over_linear_limit(d, "largest slope")["value"]
    assert (steep > 1) == (d <= 20), (
        "in many dimensions the window of waves is the wider one"
    )
