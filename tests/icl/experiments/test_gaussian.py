import numpy as np
import pytest

from icl.experiments import gaussian
from icl.experiments.tables import each
from icl.risk import gaussian_linear_optimum, gaussian_risk, gaussian_window, optimal_window
from icl.tasks import Linear


def test_windows_stop_at_one_on_gaussian_tokens_and_grow_on_the_sphere():
    table = each(gaussian.window, d=3, lengths=np.array([100, 10000]), sigmas=np.array([0.0, 0.5]))
    assert table[["n", "sigma"]].values.tolist() == [[100, 0], [100, 0.5], [10000, 0], [10000, 0.5]]
    assert (table.w < 1).all() and np.allclose(table.gap, 1 - table.w)
    sphere = gaussian.window_on_sphere(3, np.array([100, 10000]), 0.5)["w"].ravel()
    # f(x) = b.x at |x|^2 = 3 is the slope 3^(1/2) of x / 3^(1/2), whose score 3 w t has the parameter 3 w
    assert np.allclose(sphere * 3, optimal_window(Linear(3, 3**0.5), np.array([100, 10000]), 0.5).w)
    assert sphere[0] < sphere[1]


def test_slopes_of_the_gap_tend_to_the_golden_ratio():
    lengths = 10.0 ** np.array([4, 11, 18, 24, 30])
    exact, late = (gaussian.gap_slopes(2, kind, lengths, 0.5) for kind in ("exact", "one heavy token"))
    assert exact["log_n"].max() < np.log(1e30) < late["log_n"].max()
    # where the two overlap they agree, and the law's powers of log n are what is missing at the end
    between = np.interp(exact["log_n"][-1], late["log_n"], late["slope"])
    assert exact["slope"][-1] == pytest.approx(between, abs=0.01)
    assert late["slope"][-1] - 2 / late["log_n"][-1] == pytest.approx(-gaussian.RATE, abs=1e-4)


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_both_steps_to_the_law_are_one_and_a_wrong_dimension_is_seen(sigma):
    steps = gaussian.rate_steps(2, sigma)
    assert [steps["first"], steps["second"]] == pytest.approx([1, 1], abs=0.01)
    assert steps["wrong"] < 0.1 and steps["first_error"] < 0.01


def test_the_window_widens_with_noise():
    slope = gaussian.signal_slope(3, 1000)
    assert slope["value"] > slope["error"] > 0


def test_two_tokens_summed_directly_have_the_exact_bias_only_without_the_query():
    found = gaussian.two_token_ratio(2)
    assert found["value"] == pytest.approx(1, abs=1e-8) and abs(found["wrong"] - 1) > 0.1


def test_a_floor_stays_in_the_ball_and_none_on_the_sphere():
    window, floor = gaussian.ball_limit(5)["value"]
    assert window < 100 and floor == pytest.approx(0.0155, abs=1e-4)
    # 1 - A(w) is about (d - 1) / 2 w
    assert gaussian.sphere_floor(5)["value"] == pytest.approx((2 / gaussian.WIDEST) ** 2, rel=1e-3)


def test_tokens_for_the_limit_grow_exponentially_and_its_error_like_one_over_n():
    needed = gaussian.tokens_needed(1.0, 2.0)
    assert 0.9**2 / 2 < needed["value"] < 1 and needed["error"] > 0
    assert np.allclose(gaussian.approach_slopes(3)["value"], -1, atol=1e-6)


def test_sampled_risks_are_those_of_the_exact_formula():
    risks = each(gaussian.sampled_risk, f=["linear", "He_2"], n=[50], seed=range(60), most=100)
    means = gaussian.mean_risks(risks).set_index("f")
    exact = gaussian_risk(1, 1.0, 50, 0.0).total
    assert means.low["linear"] < exact < means.high["linear"]
    excess = risks[risks.f == "He_2"]
    limit = gaussian.functions()["He_2"].limit / gaussian.functions()["He_2"].power
    many = {"f": "He_2", "n": 5000, "seed": range(9), "most": 5000}
    wider, narrower = (each(gaussian.sampled_risk, **many, w=w).risk.median() for w in (None, 1.0))
    assert wider < 0.45 < narrower  # the limits are 1/3 and 1/2
    assert limit == pytest.approx(1 / 3) and np.allclose(excess.risk - excess.excess, limit)


def test_the_best_window_of_relu_is_a_minimum_of_its_sampled_limit():
    known = gaussian.functions()["ReLU"]
    g = np.polynomial.hermite_e.hermegauss(60)
    t = np.linspace(-6, 6, 1201)
    law = np.exp(-t * t / 2) / np.exp(-t * t / 2).sum()

    def limit(w):
        smooth = np.maximum(w * t[:, None] + g[0], 0) @ g[1] / g[1].sum()
        return law @ (np.maximum(t, 0) - smooth) ** 2

    assert limit(known.w) == pytest.approx(known.limit, abs=2e-3)
    assert limit(known.w) < min(limit(0.8 * known.w), limit(1.2 * known.w))


@pytest.mark.parametrize("f", gaussian.RECOVERED)
def test_functions_that_the_limit_recovers(f):
    found = gaussian.recovered_limit(f)
    assert found["value"] + found["error"] < 1e-6


def test_linear_attention_wins_unless_there_is_an_intercept():
    plain = each(gaussian.over_linear, d=3, lengths=np.array([10, 1000]), sigmas=np.array([0.0, 0.5]))
    assert (plain["value"] > 1).all()
    assert plain.iloc[-1].linear == pytest.approx(gaussian_linear_optimum(3, 1000, 0.5).risk)
    assert plain.iloc[-1].softmax == pytest.approx(gaussian_window(3, 1000, 0.5).risk)
    assert gaussian.over_linear(3, 1000, 0.5, intercept=1.0)["value"] < 1
    boundary = gaussian.intercept_boundary(3, 1000, 0.5)["b"]
    assert gaussian.over_linear(3, 1000, 0.5, intercept=boundary)["value"] == pytest.approx(1)


def test_a_value_scale_restores_the_rate():
    found = gaussian.value_scale(2, 0.5)
    assert found["free"] == pytest.approx(1, abs=1e-3) and found["fixed"] > 100
