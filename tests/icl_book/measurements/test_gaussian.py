import numpy as np
import pytest

from icl.risk import distance_exponent, gaussian_risk, optimal_window
from icl.tasks import Linear
from icl_book.measurements import gaussian
from icl_book.measurements.tables import each


def test_windows_stop_at_one_on_gaussian_tokens_and_grow_on_the_sphere():
    table = each(
        gaussian.window,
        d=3,
        lengths=np.array([100, 10000]),
        sigmas=np.array([0.0, 0.5]),
    )
    assert table[["n", "sigma"]].values.tolist() == [
        [100, 0],
        [100, 0.5],
        [10000, 0],
        [10000, 0.5],
    ]
    assert (table.w < 1).all() and np.allclose(table.gap, 1 - table.w)
    sphere = gaussian.window_on_sphere(3, np.array([100, 10000]), 0.5)["w"].ravel()
    # f(x) = b.x at |x|^2 = 3 is the slope 3^(1/2) of x / 3^(1/2), whose score 3 w t has the parameter 3 w
    assert np.allclose(
        sphere * 3, optimal_window(Linear(3, 3**0.5), np.array([100, 10000]), 0.5).w
    )
    assert sphere[0] < sphere[1]


def test_exponents_of_the_distance_are_those_of_the_theorem():
    table = each(
        gaussian.distance_exponents, d=[1, 4], w=np.array([0.5, 0.8, 1.0, 1.25])
    )
    assert np.allclose(table.value, distance_exponent(table.w), atol=0.005)
    assert (table.error < 1e-9).all()
    # without the power of log n, and at queries of one length, they are others
    above = table[table.w > 0.75]
    assert np.allclose(
        above.value - above.plain, above.d / 2 * np.log(30 / 28) / np.log(100)
    )
    assert np.allclose(table.plain[table.w == 0.5], 1) and np.allclose(
        table.wrong, 1, atol=1e-3
    )


def test_sampled_risks_are_those_of_the_exact_formula():
    risks = each(
        gaussian.sampled_risk, f=["linear", "He_2"], n=[50], seed=range(60), most=100
    )
    means = gaussian.mean_risks(risks).set_index("f")
    exact = gaussian_risk(1, 1.0, 50, 0.0).total
    assert means.low["linear"] < exact < means.high["linear"]
    excess = risks[risks.f == "He_2"]
    limit = gaussian.functions()["He_2"].limit / gaussian.functions()["He_2"].power
    assert limit == pytest.approx(1 / 3) and np.allclose(
        excess.risk - excess.excess, limit
    )


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


def test_linear_attention_wins_unless_there_is_an_intercept():
    assert gaussian.over_linear(3, 1000, 0.5)["value"] > 1
    assert gaussian.over_linear(3, 1000, 0.5, intercept=1.0)["value"] < 1
    boundary = gaussian.intercept_boundary(3, 1000, 0.5)["b"]
    assert gaussian.over_linear(3, 1000, 0.5, intercept=boundary)[
        "value"
    ] == pytest.approx(1)
