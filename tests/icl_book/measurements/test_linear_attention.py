import numpy as np
import pytest
import torch

from icl.covariates import uniform_sphere
from icl.risk import (
    linear_optimum,
    linear_risk,
    nearest_neighbor_risk,
    optimal_window,
    population_risk,
)
from icl.risk.asymptotics import window_law
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, ReLU, Spectrum
from icl_book.measurements import linear_attention
from icl_book.measurements.linear_attention import Tokens, floors, gain_risk, neighbors_risk
from icl_book.statistics import t_interval


def test_a_class_without_its_constant_keeps_everything_else():
    task = linear_attention.Centered(3, ReLU(3))
    power = float(ReLU(3).covariance(1.0))
    (one,), rest = ReLU(3).spectrum(1)
    assert float(task.covariance(1.0)) == pytest.approx(one + rest)
    assert one + rest < power / 2
    assert linear_optimum(task, 10**9, 0.3).risk == pytest.approx(rest, rel=1e-6)


def test_the_gap_grows_as_softmax_attention_learns():
    setting = {"dims": [3], "lipschitz": 1.0, "noise_std": 0.3}
    found = linear_attention.growth_slopes(tasks=["ReLU"], **setting, intercept=False)
    law = window_law(ReLU(3))
    assert found.slope[0] == pytest.approx(law.order * law.exponent / 2, abs=0.02)
    lines = linear_attention.growth_slopes(tasks=["linear"], **setting, intercept=True)
    assert lines.slope[0] < 0


def test_the_best_number_of_neighbors_is_the_best():
    found = linear_attention.compare_with_neighbors(Affine(3), 20, 0.3)
    unit = float(optimal_window(Affine(3), 20, 0.3).risk)
    every = neighbors_risk(Affine(3), np.arange(1, 21), 20, 0.3).total
    assert found["k"] == 1 + every.argmin() > 1
    assert found["value"] == pytest.approx(unit / every.min(), rel=1e-9)


def test_the_price_of_softmax_weights_is_below_e_squared_over_four():
    prices = [linear_attention.price_of_softmax(d) for d in (2, 3, 4, 5, 8, 16)]
    known = [(9 / np.pi**2) ** (1 / 5), 1, 1.029, 1.061, 1.150, 1.316]
    assert prices == pytest.approx(known, abs=6e-4)
    rising = [linear_attention.price_of_softmax(d) for d in range(2, 2000)]
    assert np.all(np.diff(rising) > 0) and rising[-1] < np.e**2 / 4
    assert linear_attention.price_of_softmax(10**8) == pytest.approx(np.e**2 / 4)


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_the_distance_from_this_price_falls_like_one_over_w(dim):
    """The distance from a wrong limit would not fall, so this test needs no fitted tolerance."""
    found = linear_attention.compare_in_long_contexts(
        tasks=["affine"], dims=[dim], w_values=[1e4, 1e5], noise_std=0.3
    )
    near, far = found.value / found.limit - 1
    assert near / far == pytest.approx(10, rel=0.01)


def test_the_identity_with_a_gain_is_linear_attention():
    task = ReLU(3, 2.0)
    n = 15
    least = float(linear_optimum(task, n, 0.3).risk)
    assert gain_risk("linear", task, 1.0, n, 0.3) == pytest.approx(least)
    assert linear_risk(task, 0.0, n, 0.3) > gain_risk("linear", task, 7.0, n, 0.3)


def test_floors_of_affine_functions_by_hand():
    """A half sphere shows half of the slope, (1 - 1/2)^2. tanh and the identity lose the constant."""
    found = floors(Affine(3)).set_index("activation").floor
    assert found["normalized sigmoid"] == pytest.approx(1 / 4, rel=0.01)
    # the constant over the variance, L^2 / 3 over L^2 / 9
    assert found["linear"] == pytest.approx(3)
    assert floors(Linear(3)).set_index("activation").floor["tanh"] < 1e-9
    assert found["softmax"] < 1e-3


def test_sampled_risk_agrees_with_the_exact_one_of_softmax():
    tokens = Tokens(ReLU(3, 4.0), noise_std=0.3, n=12, contexts=3000)
    w = 5.0
    found = tokens.compute_risks(np.exp(w * tokens.cosine))
    exact = float(population_risk(ReLU(3, 4.0), w, 12, 0.3).total)
    assert abs(found.mean() - exact) < 5 * found.std() / 3000**0.5 < exact / 5


def test_a_large_shift_turns_the_sigmoid_into_softmax():
    found = linear_attention.compare_shifted_sigmoid(
        ReLU(3, 8.0), noise_std=0.3, n=20, contexts=200, shifts=[0.0, 60.0]
    )
    assert found.ratio[0] > 1.5
    assert found.ratio[1] == pytest.approx(1, abs=1e-3)


NEIGHBORS = [(ReLU(3), 4, 10), (Cosine(5, 2.0), 7, 20), (Affine(2), 3, 4), (ReLU(5), 6, 6)]


@pytest.mark.parametrize("task, k, n", NEIGHBORS, ids=str)
def test_mean_over_neighbors_against_sampling(task, k, n):
    count = 20_000
    x = uniform_sphere(stream(3, "covariates"), count, n + 1, task.dim)
    f = task.sample(stream(3, "tasks"), count)(x)
    noise = torch.from_numpy(stream(3, "noise").standard_normal((count, n)))
    near = (x[:, :-1] @ x[:, -1:].mT).squeeze(-1).topk(k).indices
    loss = ((f[:, :-1] + 0.4 * noise).gather(1, near).mean(1) - f[:, -1]) ** 2
    risk = neighbors_risk(task, k, n, 0.4)
    _, low, high = t_interval(loss)
    assert low < risk.total < high
    assert risk.error < 1e-7


def test_any_number_of_neighbors_has_a_risk():
    """The bias depends on the share k / n alone, up to 1 / k."""
    for k, n in ((5.2e17, 4.5e24), (4.7e22, 4.5e24), (6.5e17, 6.2e29)):
        many = neighbors_risk(Affine(8), k, n, 0.0).bias
        fewer = neighbors_risk(Affine(8), k / 1e6, n / 1e6, 0.0).bias
        assert many == pytest.approx(fewer, rel=1e-9)
    # here all weights could vanish
    for k in (5.1987999135460416e17, 4.6924588684912485e22, 6.114872176567184e23):
        assert neighbors_risk(Affine(8), k, 4.5040107988911897e24, 0.0).bias > 0


def test_one_neighbor_is_the_nearest_and_vanishing_caps_say_so():
    n = np.array([2, 12, 1000])
    for task in (Affine(2), ReLU(5), Cosine(3, 2.0)):
        nearest = nearest_neighbor_risk(task, n, 0.3).total
        assert neighbors_risk(task, 1, n, 0.3).total == pytest.approx(nearest, rel=1e-12)
    # caps smaller than a wave of the last degree
    rough = neighbors_risk(ReLU(2), 1, 10**5, 0.0)
    assert rough.error > abs(nearest_neighbor_risk(ReLU(2), 10**5, 0.0).bias / rough.bias - 1) > 0.1


def test_fine_variance_stays_and_is_noise_of_the_labels():
    noise = Spectrum(4, (0.0, 0.0), rest=2.0)
    assert neighbors_risk(noise, 5, 20, 0.5).total == pytest.approx(2 + 2.25 / 5)
    rough, smooth = Spectrum(3, (0.0, 1.0, 0.5), rest=0.3), Spectrum(3, (0.0, 1.0, 0.5))
    wanted = neighbors_risk(smooth, 3, 20, np.sqrt(0.25 + 0.3)).total + 0.3
    assert neighbors_risk(rough, 3, 20, 0.5).total == pytest.approx(wanted, rel=1e-9)


def test_more_neighbors_than_tokens_are_refused():
    with pytest.raises(ValueError, match="k=6: must be at most n"):
        neighbors_risk(Affine(3), 6, 5, 0.5)
