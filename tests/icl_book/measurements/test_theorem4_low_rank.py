import numpy as np
import pandas as pd
import pytest

from icl.risk import low_rank_risk, optimal_window
from icl.tasks import Linear
from icl_book.measurements import theorem4_low_rank as low_rank
from icl_book.statistics import Z

LINK = {
    "dim": 4,
    "rank": 2,
    "noise_std": 0.1,
    "context_length": 8,
    "seeds": 3,
    "record": [1, 60],
    "batch_size": 32,
    "learning_rate": 0.03,
    "device": "cpu",
    "test_contexts": 400,
}


def test_best_multiple_of_the_identity_beats_its_neighbors():
    w, risk = low_rank.least_isotropic(4, 2, n=20, noise_std=0.5)
    for other in (0.9 * w, 1.1 * w):
        assert low_rank_risk(4, 2, other, other, 20, 0.5).total > risk
    assert optimal_window(Linear(2), 20, 0.5).risk < risk


def test_the_grid_is_least_at_the_known_best_c_without_the_complement():
    best = float(optimal_window(Linear(2), 20, 0.5).w)
    c = best * np.array([0.5, 1.0, 1.5])
    e = np.array([0.0, 0.5, 1.0])
    excess = low_rank.risks_over_grid(4, 2, n=20, noise_std=0.5, c=c, e=e)
    assert np.unravel_index(excess.argmin(), excess.shape) == (0, 1)
    assert abs(excess[0, 1]) < 1e-9


@pytest.mark.parametrize("n", [2, 20])
def test_the_risk_on_one_sphere_is_that_of_sampled_contexts(n):
    dim, rank, c, e, noise_std, contexts = 5, 3, 6.0, 2.0, 0.3, 40_000
    rng = np.random.default_rng(7)
    x = rng.standard_normal((contexts, n + 1, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    tokens, query = x[:, :-1], x[:, -1]
    scores = np.einsum("cnd,d,cd->cn", tokens, [c] * rank + [e] * (dim - rank), query)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    miss = np.einsum("cn,cnd->cd", weights, tokens) - query
    # the mean over the functions and over the noise is taken exactly
    errors = (miss[:, :rank] ** 2).sum(1) / rank + noise_std**2 * (weights**2).sum(1)
    risk, error = low_rank.one_sphere_risk(dim, rank, c, e, n, noise_std)
    assert error < 1e-6
    assert abs(errors.mean() - risk) < Z * errors.std() / contexts**0.5


def test_the_risk_on_one_sphere_in_the_limit_is_an_integral_in_three_dimensions():
    c, e = 4.0, 1.5
    height, weight = np.polynomial.legendre.leggauss(200)  # uniform by Archimedes
    squares = 1 - height**2
    K = np.sqrt(c**2 * squares + e**2 * height**2)
    factor = c * (1 / np.tanh(K) - 1 / K) / K
    by_hand = weight / 2 @ (squares * (1 - factor) ** 2) / 2
    assert low_rank.one_sphere_risk(3, 2, c, e, np.inf, 0.0)[0] == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("dim", "rank", "change", "best", "left"),
    [(2, 1, 2.55, 3.06, 0.0243), (3, 2, 4.29, 5.86, 0.0242), (5, 3, 7.58, 9.75, 0.0221)]
    + [(7, 5, 12.87, 18.9, 0.0155)],
)
def test_where_weight_on_irrelevant_directions_begins_to_help(dim, rank, change, best, left):
    # independent code computed these numbers
    assert low_rank.change_of_sign(dim, rank) == pytest.approx(change, abs=0.01)
    scale = low_rank.best_scale(dim, rank, np.inf, 0.0)
    assert scale == pytest.approx(best, rel=0.005)
    risk, _ = low_rank.one_sphere_risk(dim, rank, scale, 0.0, np.inf, 0.0)
    assert dim * risk == pytest.approx(left, abs=1e-4)


def test_on_one_sphere_irrelevant_directions_do_harm_up_to_d_and_help_at_the_best_c():
    settings = [(2, 0.5), (20, 0.0), (200, 0.0), (np.inf, 0.0)]
    up_to_d = low_rank.one_sphere_gains(5, 3, settings=settings, bound=5.0)
    assert (up_to_d.value > up_to_d.error).all()
    at_best = low_rank.one_sphere_gains(5, 3, settings=settings)
    assert (at_best.value[:2] > 0).all() and (at_best.value[2:] < -0.04).all()


def test_lipschitz_quotients_by_hand():
    assert low_rank.lipschitz_quotient(5, 2, inside=1.0) == pytest.approx(1)
    assert low_rank.lipschitz_quotient(5, 2, inside=0.0) == pytest.approx(0, abs=1e-12)
    assert low_rank.lipschitz_quotient(5, 2, inside=0.25) == pytest.approx(0.5)  # |B's|


def test_the_complement_costs_unless_the_functions_depend_on_it():
    settings = [(2, 0.0), (20, 0.5)]
    gains = low_rank.complement_gains(5, 2, settings=settings)
    assert gains.n.tolist() == [2, 20] and gains.noise_std.tolist() == [0.0, 0.5]
    assert (gains.value > gains.error).all() and (gains.error > 0).all()
    whole = low_rank.complement_gains(5, 2, settings=settings, whole=True)
    assert (whole.value < -0.01).all()


def test_the_smallest_gain_of_a_setting_is_found_on_the_grid():
    gains = low_rank.complement_gains(5, 2, settings=[(20, 0.5)])
    by_hand = min(
        low_rank_risk(5, 2, c, e, 20, 0.5).total / low_rank_risk(5, 2, c, 0.0, 20, 0.5).total
        for c in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
        for e in (0.25, 8.0)
    )
    assert gains.value[0] == pytest.approx(by_hand - 1)


def test_the_risk_falls_up_to_the_best_c():
    for noise_std in (0.0, 0.5):
        step = low_rank.steepest_step(2, n=20, noise_std=noise_std)
        assert step["value"] + step["error"] < 0


def test_the_projection_sets_the_slope_and_without_it_the_dimension_does():
    assert low_rank.risk_slope(2)["value"] == pytest.approx(-4 / 5, abs=1e-3)
    isotropic = low_rank.isotropic_slope(5, 2)
    assert isotropic["value"] == pytest.approx(-4 / 7, abs=0.05)
    assert 0 < isotropic["error"] < 1e-4


def test_linear_attention_needs_the_class_without_intercept():
    ends = {}
    for link in ("affine", "affine without +2"):
        curve = low_rank.train_behind_links([link], activation="linear", **LINK)
        assert len(curve) == 6 and (curve.unit == "linear").all()
        ends[link] = curve[curve.step == 60].error.mean()
    assert ends["affine without +2"] < 0.4 < 1 < ends["affine"]


def test_softmax_attention_comes_down_to_the_least_risk_of_the_projected_problem():
    curve = low_rank.train_behind_links(["affine"], activation="softmax", **LINK)
    least = float(optimal_window(Linear(2), 8, 0.1).risk)
    first, last = curve.groupby("step").error.mean()
    assert 0.9 * least < last < first and last < 2 * least


def test_exponents_are_those_of_a_power_law():
    small = pd.DataFrame({"link": "affine", "dim": 4, "rank": 2, "unit": "softmax", "seed": [0, 1]})
    small["share"] = [0.1, 0.2]
    large = small.assign(share=small.share * 16**-0.375)
    found = low_rank.batch_exponents(small, large, factor=16)
    assert found.exponent.to_numpy() == pytest.approx(-0.375)
    assert found.run.tolist() == [0, 1]
