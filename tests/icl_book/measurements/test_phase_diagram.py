import ast

import numpy as np
import pytest

from icl.risk import optimal_window
from icl.risk.asymptotics import window_law
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU
from icl_book.claims import exact_cases, judge
from icl_book.measurements import phase_diagram
from icl_book.provenance import ROOT
from icl_book.runner import plan

FAR = np.array([1e9, 1e10])


def test_windows_of_which_one_is_zero_lie_infinitely_far_apart():
    found = phase_diagram.class_spread(dims=[8], n_values=[20], noise_std=0.2)
    assert found.value[0] == np.inf and found.error[0] == 0
    found = phase_diagram.class_spread(dims=[3], n_values=[1000], noise_std=0.2)
    assert 1 < found.value[0] < np.inf


def test_slope_and_curvature_of_known_functions():
    dim = 5
    L = 2.0
    linear = phase_diagram.energies(Linear(dim, L))
    assert linear == pytest.approx((L**2 * (dim - 1) / dim, L**2 * (dim - 1) ** 2 / dim))
    quadratic = phase_diagram.energies(Quadratic(dim, L))[1]
    assert quadratic == pytest.approx(8 * (dim - 1) * L**2 / (dim + 2))
    # sin(Lt) = Lt
    assert phase_diagram.largest_slope(0.01) == pytest.approx(0.01**2 / 2, rel=1e-3)


def test_windows_of_equal_slope_differ_as_their_laplacians_do():
    wave = Cosine(2, 4.0)
    linear = phase_diagram.linear_of_equal_slope(2, 4.0)
    for equal, slope in (
        ("slope in space", 4.0),
        ("largest slope", phase_diagram.largest_slope(4.0)),
    ):
        ratio = optimal_window(wave, 1e12, 0.5).w / optimal_window(linear[equal], 1e12, 0.5).w
        law = (2 * phase_diagram.energies(wave)[1] / slope**2) ** (2 / 5)
        assert ratio == pytest.approx(law, rel=0.01)


def test_windows_follow_their_law_unless_the_noise_grows_along():
    setting = {"tasks": ["affine"], "dims": [3], "lengths": FAR}
    found = phase_diagram.smallest_slopes_in_length(**setting)
    assert found.value[0] == pytest.approx(window_law(Affine(3)).exponent, abs=0.02)
    assert 0 < found.error[0] < 1e-3
    kept = phase_diagram.smallest_slopes_in_length(**setting, noise_stds=np.sqrt(FAR))
    assert kept.value[0] == pytest.approx(0, abs=1e-6)


def test_much_noise_widens_the_window_like_its_inverse_square():
    found = phase_diagram.slopes_at_much_noise(dim=3, n=20)
    assert found.value.to_numpy() == pytest.approx(-2, abs=0.01)


def test_tokens_in_the_window_are_those_that_its_width_leaves():
    # a window of bandwidth w^(-1/2) holds n w^(-(d-1)/2) tokens, and w grows like n^(2/(d+3))
    found = phase_diagram.slopes_of_the_number_of_tokens(dims=[3], lengths=FAR)
    assert found.value[0] == pytest.approx(1 - 2 / 2 * 2 / 6, abs=1e-3)
    narrow = phase_diagram.slopes_of_the_number_of_tokens(
        dims=[3], lengths=np.array([10.0, 100.0]), windows=lambda n: n**4 / 100
    )
    # from few tokens to a single one
    assert -0.1 < narrow.value[0] < -0.01


def test_a_strong_signal_stops_moving_the_window_of_a_short_context():
    found = phase_diagram.slopes_of_a_strong_signal(dims=[2, 5], n_values=[20])
    silent = [optimal_window(make(d), 20, 0.0).w for make in (Affine, ReLU) for d in (2, 5)]
    loud = [optimal_window(make(d), 20, 1e-4).w for make in (Affine, ReLU) for d in (2, 5)]
    assert found.value.between(0, 1e-4).all()
    assert loud == pytest.approx(silent, rel=1e-4)


def test_the_law_of_smooth_classes_has_the_right_constant():
    found = phase_diagram.smooth_windows_over_law(dims=[3], noise_std=0.1)
    assert found.value.to_numpy() == pytest.approx(1, abs=0.02)
    assert (found.error < 1e-3).all()


@pytest.mark.parametrize("dim", [3, 20, 100])
def test_linear_functions_have_the_widest_window_of_one_mean_squared_gradient(dim):
    found = phase_diagram.limits_of_waves_over_linear(dims=[dim]).set_index("equal")
    least = found.value - found.error
    assert least["mean squared gradient"] > 1
    assert np.max(np.abs(np.log(found.value))) < 4 / dim
    # in many dimensions the window of waves is the wider one
    assert (found.value["largest slope"] > 1) == (dim <= 20)


def test_with_the_dimensions_of_paper_the_verdict_beyond_the_lipschitz_constant_is_that_of_the_book():
    (run,) = plan.plan("paper", "phase_diagram")
    chapter = (ROOT / "notebooks" / "phase_diagram.py").read_text()
    (cell,) = [c for c in chapter.split("\n# %%") if '"P1.PD.beyond"' in c]
    parameters = plan.read_defaults("phase_diagram") | run.overrides
    tree = ast.parse(cell.partition("\n")[2])
    tree.body[-1] = ast.Assign([ast.Name("card", ast.Store())], tree.body[-1].value)
    names = {"phase_diagram": phase_diagram, "exact_cases": exact_cases, "judge": judge}
    names |= parameters
    exec(compile(ast.fix_missing_locations(tree), "chapter", "exec"), names)
    assert names["card"].record()["as_expected"], str(names["card"])
