"""The fine variance of a class, the ``rest`` of a map: every function that takes a class knows it.

With ``f = g + h``, h of variance u and independent from place to place, every predictor that is linear in the
labels has the risk that it has on g with label noise of variance ``sigma^2 + u``, plus u.
"""

import math

import numpy as np
import pytest
import torch

import every_risk
from icl.risk import (
    bayes_linear_risk,
    linear_optimum,
    linear_risk,
    matrix_risk,
    mismatch_risk,
    nearest_neighbor_risk,
    optimal_window,
    population_flow,
    population_risk,
)
from icl.tasks import QuadraticRisk, Spectrum, Zonal, globe
from icl_book.measurements.linear_attention import neighbors_risk
from icl_book.measurements.planet import mean_risks

POWER, FINE, SIGMA, N = (0.0, 1.0, 0.5), 0.3, 0.5, 20
SMOOTH, ROUGH = Spectrum(3, POWER), Spectrum(3, POWER, rest=FINE)
# maximal standard errors of a stochastic comparison: the false-alarm rate is 6e-7
MAX_SIGMAS = 5


class Own(Zonal):
    unresolved = FINE

    def covariance(self, cosine):
        return ROUGH.covariance(cosine)

    def sample(self, rng, count):
        return ROUGH.sample(rng, count)


def rough_map():
    """Return a map of independent values 1 and -1."""
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(60, 120))


EARTH = globe(rough_map(), 3)
#: A user-defined class has the numbers of its spectrum by `test_own_classes`.
PAIRS = {
    "spectrum": (SMOOTH, ROUGH),
    "map": (Spectrum(3, EARTH.power), EARTH),
}


def test_the_enumeration_finds_the_functions():
    names = {call.__name__ for call in every_risk.ALL}
    assert {"population_risk", "monte_carlo_risk"} < names
    assert {"nearest_neighbor_risk", "bayes_linear_risk"} < names
    assert not names & {"gaussian_risk", "low_rank_risk", "distance_exponent"}


#: All functions with all pairs, except samples of a map, since two maps have unlike errors.
CASES = [
    pytest.param(call, kind, id=f"{call.__name__}-{kind}")
    for call in every_risk.ALL
    for kind in PAIRS
    if kind != "map" or call.__name__ != "monte_carlo_risk"
]


@pytest.mark.parametrize("call, kind", CASES)
def test_fine_variance_is_noise_of_the_labels_and_stays(call, kind):
    smooth, rough = PAIRS[kind]
    noisier = math.sqrt(SIGMA**2 + rough.unresolved)
    risks, settings = every_risk.numbers(call, rough)
    wanted, same = every_risk.numbers(call, smooth, noise_std=noisier)
    if not risks and not settings:
        assert call.__name__ in ("mismatch_penalty", "monte_carlo_risk", "window_penalty")
    for name in risks:
        expected = wanted[name] + rough.unresolved
        np.testing.assert_allclose(risks[name], expected, rtol=1e-7, err_msg=name)
    for name in settings:
        np.testing.assert_allclose(settings[name], same[name], rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("call", every_risk.ALL, ids=lambda call: call.__name__)
def test_an_invalid_fine_variance_is_refused_everywhere(call):
    for value in (-0.1, math.nan, math.inf, "1", True, None, [0.1, 2]):
        wrong = type("Wrong", (Own,), {"unresolved": value})(3)
        assert every_risk.numbers(call, wrong) == ({}, {})


# ------------------------------------------------------------------------- by hand
def test_one_token_by_hand():
    """Its label is copied, so ``E (f(x) + e - f(x_q))^2`` is twice the variance plus that of the noise."""
    for task, variance in ((ROUGH, 1.5 + FINE), (Own(3), 1.5 + FINE), (EARTH, 1.0)):
        copied = 2 * variance + SIGMA**2
        for risk in (
            population_risk(task, 7.0, 1, SIGMA).total,
            optimal_window(task, 1, SIGMA).risk,
            nearest_neighbor_risk(task, 1, SIGMA).total,
            mismatch_risk(task, task, 1, SIGMA).total,
            matrix_risk(task, np.diag([1.0, 2.0, 3.0]), 1, SIGMA).total,
        ):
            assert risk == pytest.approx(copied, rel=1e-3 if task is EARTH else 1e-9)
    m, first = 0.7, 1.0
    linear = 1.8 - 2 * m * first / 3 + m**2 * (1.8 + SIGMA**2) / 3
    assert linear_risk(ROUGH, m, 1, SIGMA) == pytest.approx(linear, rel=1e-12)
    token, query = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    t = token @ query
    k = t + 0.5 * (3 * t**2 - 1) / 2
    form = QuadraticRisk.of(ROUGH, torch.as_tensor(np.array([[token, query]])), SIGMA)
    least = 1.8 - k**2 / (1.8 + SIGMA**2)
    assert float(form.risk(form.kriging())) == pytest.approx(least, rel=1e-12)


def test_nothing_but_fine_variance_by_hand():
    """The mean of all labels is the best average, with ``u + (u + sigma^2) / n``; zero is still better."""
    noise = Spectrum(4, (0.0, 0.0), rest=2.0)
    best = optimal_window(noise, N, SIGMA)
    assert best.w == 0 and best.risk == pytest.approx(2 + 2.25 / N, rel=1e-12)
    assert nearest_neighbor_risk(noise, N, SIGMA).total == pytest.approx(4.25)
    assert linear_optimum(noise, N, SIGMA).risk == pytest.approx(2)
    assert linear_optimum(noise, N, SIGMA).floor == pytest.approx(2)
    assert bayes_linear_risk(noise, N, 0.0, 100).mean == pytest.approx(2)
    assert np.abs(population_flow(noise, N, SIGMA, [0, 10.0])).max() < 1e-12


def test_the_best_window_is_lost_in_rounding_in_one_line():
    with pytest.raises(ValueError, match="unresolved=1e\\+14: the best w .* rounding"):
        optimal_window(Spectrum(3, POWER, rest=1e28), N, SIGMA)


# ------------------------------------------------------------------------- by sampling, with NumPy alone
def predictions(x, y, query):
    cosine = np.einsum("bnd,bd->bn", x, query)
    order = np.argsort(-cosine, axis=1)
    weights = np.exp(5 * cosine)
    weights /= weights.sum(axis=1, keepdims=True)
    return {
        "softmax": (weights * y).sum(axis=1),
        "nearest": np.take_along_axis(y, order[:, :1], 1)[:, 0],
        "three": np.take_along_axis(y, order[:, :3], 1).mean(axis=1),
        "linear": 1.5 * (cosine * y).mean(axis=1),
    }


def exact(task, n):
    return {
        "softmax": float(population_risk(task, 5.0, n, SIGMA).total),
        "nearest": float(nearest_neighbor_risk(task, n, SIGMA).total),
        "three": float(neighbors_risk(task, 3, n, SIGMA).total),
        "linear": float(linear_risk(task, 1.5, n, SIGMA)),
    }


def sphere(rng, *shape):
    x = rng.standard_normal((*shape, 3))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_white_noise_on_linear_functions_against_sampling():
    rng, n, count = np.random.default_rng(1), 12, 100_000
    task = Spectrum(3, (0.0, 1.0), rest=0.6)
    x = sphere(rng, count, n + 1)
    f = math.sqrt(3) * np.einsum("bnd,bd->bn", x, sphere(rng, count))
    f = f + math.sqrt(0.6) * rng.standard_normal(f.shape)
    y = f[:, :-1] + SIGMA * rng.standard_normal((count, n))
    wanted = exact(task, n)
    for name, guess in predictions(x[:, :-1], y, x[:, -1]).items():
        loss = (guess - f[:, -1]) ** 2
        error = loss.std() / math.sqrt(count)
        assert abs(loss.mean() - wanted[name]) < MAX_SIGMAS * error, name
    # kriging with the labels that were drawn
    gram = x[:, :-1] @ x[:, :-1].swapaxes(1, 2) + (0.6 + SIGMA**2) * np.eye(n)
    k_q = x[:, :-1] @ x[:, -1:].swapaxes(1, 2)
    guess = (np.linalg.solve(gram, k_q)[..., 0] * y).sum(axis=1)
    loss = (guess - f[:, -1]) ** 2
    found = bayes_linear_risk(task, n, SIGMA, contexts=20_000)
    error = math.hypot(loss.std() / math.sqrt(count), found.standard_error)
    assert abs(loss.mean() - found.mean) < MAX_SIGMAS * error
    form = QuadraticRisk.of(task, torch.as_tensor(x[:50]), SIGMA)
    weights = torch.as_tensor(np.linalg.solve(gram, k_q)[:50, :, 0])
    assert torch.allclose(form.kriging(), weights, rtol=1e-9)


def test_the_map_itself_against_sampling():
    """Places are uniform, so that the map need not be turned."""
    rng, n, count = np.random.default_rng(2), 15, 100_000
    values = rough_map()
    x = sphere(rng, count, n + 1)
    row = (np.arccos(x[..., 2]) / math.pi * 60).astype(int).clip(0, 59)
    turn = (np.arctan2(x[..., 1], x[..., 0]) + math.pi) / (2 * math.pi)
    f = values[row, (turn * 120).astype(int).clip(0, 119)]
    y = f[:, :-1] + SIGMA * rng.standard_normal((count, n))
    wanted = exact(EARTH, n)
    for name, guess in predictions(x[:, :-1], y, x[:, -1]).items():
        loss = (guess - f[:, -1]) ** 2
        # the nearest token is in the cell of the query once in 500 contexts
        allowed = MAX_SIGMAS * loss.std() / math.sqrt(count) + 0.005
        assert abs(loss.mean() - wanted[name]) < allowed, name


# ------------------------------------------------------------------------- given places
def test_the_risk_given_places_has_it():
    rng = np.random.default_rng(3)
    places = sphere(rng, 12)
    form = QuadraticRisk.of(ROUGH, torch.as_tensor(places)[None], SIGMA)
    windows = np.array([0.5, 4.0])
    found = mean_risks(ROUGH, places[:-1], places[-1:], windows, SIGMA)
    for w, risk in zip(windows, found, strict=True):
        weights = torch.softmax(torch.as_tensor(w * places[:-1] @ places[-1]), 0)
        assert risk == pytest.approx(form.risk(weights[None]).item(), rel=1e-6)


def test_tokens_at_one_place_are_taken_for_different_places():
    place = torch.tensor([[[1.0, 0.0, 0.0]] * 3]).double()
    form = QuadraticRisk.of(ROUGH, place, 0.0)
    wanted = [[1.8, 1.5], [1.5, 1.8]]
    np.testing.assert_allclose(form.gram[0].numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(form.kernel_vector[0].numpy(), [1.5, 1.5], rtol=1e-12)
