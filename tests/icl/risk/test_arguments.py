"""Any numeric argument gives finite numbers or a one-line error that names the parameter."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icl.checks import integer, real, reals
from icl.covariates import cap_quantile
from icl.risk import (
    asymptotics,
    gaussian_risk,
    linear_risk,
    low_rank_risk,
    mismatch_risk,
    monte_carlo_risk,
    nearest_neighbor_risk,
    optimal_window,
    population_flow,
    population_risk,
)
from icl.risk.quadrature import meshes
from icl.tasks import Affine, Cosine, Harmonic, Linear, Network, Quadratic, ReLU, Tanh, Zonal

numbers = st.one_of(
    st.floats(),
    st.floats(1e-3, 1e3),
    st.integers(-3, 40),
    st.integers(),
    st.sampled_from([True, np.bool_(True), None, "3", 1j, 10**20, 10**400, 1e160, 5e-324]),
    st.sampled_from([np.int64(7), np.uint8(200), np.float32(2), np.float64(1e9), np.array(3), [1, 2.5]]),
)
classes = st.sampled_from([Affine, ReLU, Cosine, Linear, Quadratic, Network, Tanh])
bounded = settings(max_examples=100, deadline=None, derandomize=True)


def finite_or_refused(call, *parameters):
    """Whether ``call`` gave finite numbers; if not, it must have refused a parameter in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = call()
        except (ValueError, TypeError) as error:
            text = str(error)
            named = re.search(r"\b(" + "|".join(parameters) + r")\b", text)
            assert "\n" not in text and len(text) < 600 and named, text
            return False
    values = vars(result).values() if hasattr(result, "__dataclass_fields__") else [result]
    assert all(np.all(np.isfinite(value)) for value in values), result
    return True


@pytest.mark.slow
@bounded
@given(classes, numbers, numbers, numbers, numbers, numbers)
def test_population_risk(cls, dim, lipschitz, w, n, noise_std):
    names = ("dim", "lipschitz", "w", "n", "noise_std")
    finite_or_refused(lambda: population_risk(cls(dim, lipschitz), w, n, noise_std), *names)
    finite_or_refused(lambda: population_risk(cls(3), w, 20, 0.1), *names)
    finite_or_refused(lambda: population_risk(cls(5), 7.0, n, 0.1), *names)
    finite_or_refused(lambda: population_risk(cls(3, lipschitz), 7.0, 20, 0.1), *names)


@pytest.mark.slow
@bounded
@given(classes, numbers, numbers)
def test_optimal_window(cls, n, noise_std):
    finite_or_refused(lambda: optimal_window(cls(3), n, 0.5), "n")
    finite_or_refused(lambda: optimal_window(cls(3), 20, noise_std), "noise_std")


@pytest.mark.slow
@bounded
@given(numbers, numbers, numbers)
def test_baselines_and_laws(a, n, noise_std):
    for task in (Affine(3), ReLU(4)):
        finite_or_refused(lambda t=task: linear_risk(t, a, n, noise_std), "m", "n", "noise_std")
        finite_or_refused(lambda t=task: nearest_neighbor_risk(t, n, noise_std), "n", "noise_std")
        finite_or_refused(lambda t=task: asymptotics.sharp_window(t, n, noise_std), "n", "noise_std")
        finite_or_refused(lambda t=task: asymptotics.mismatch_penalty(t, a), "ratio")
    finite_or_refused(lambda: asymptotics.effective_fraction(3, a), "w")
    finite_or_refused(lambda: asymptotics.resultant_length(3, a), "w")
    finite_or_refused(lambda: low_rank_risk(5, 2, 3.0, 0.0, n, noise_std), "n", "noise_std")
    finite_or_refused(lambda: low_rank_risk(5, a, 3.0, 0.0, 10, 0.1), "rank")
    finite_or_refused(lambda: Harmonic(3, a).spectrum(1)[0], "degree")
    finite_or_refused(lambda: population_flow(Affine(3), 5, 0.1, [0.0, 1.0], a), "start", "w")


@bounded
@given(numbers, numbers, numbers, numbers, numbers)
def test_gaussian_risk(dim, w, n, noise_std, lipschitz):
    names = ("dim", "w", "n", "noise_std", "lipschitz")
    finite_or_refused(lambda: gaussian_risk(dim, w, n, noise_std, lipschitz), *names)


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.uint8(3), np.float32(3), np.array(3)])
def test_whole_numbers_of_any_type_are_integers(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 3
    assert type(real(value, "x")) is float and reals(value, "x", 0) == 3.0


@pytest.mark.parametrize("value", [True, np.bool_(False), "3", None, 3j, [3], np.array([3])])
def test_what_is_no_number_is_refused(value):
    for check in (lambda: integer(value, "n", 0), lambda: real(value, "n")):
        with pytest.raises(ValueError, match="^n=.*: must be"):
            check()


def test_numpy_numbers_are_stored_as_python_numbers():
    task = ReLU(np.uint8(200), np.uint8(200))
    assert task == ReLU(200, 200) and type(task.dim) is int and type(task.lipschitz) is float
    assert task.spectrum(3)[0].tolist() == ReLU(200, 200.0).spectrum(3)[0].tolist()
    with pytest.raises(ValueError, match="lipschitz=True"):
        ReLU(3, True)


def test_long_contexts_may_be_integers_beyond_64_bits():
    assert optimal_window(ReLU(5), 10**20, 0.1).w == optimal_window(ReLU(5), 1e20, 0.1).w
    assert monte_carlo_risk(Affine(3), 1.0, 1e2, 0.1, 50) == monte_carlo_risk(Affine(3), 1.0, 100, 0.1, 50)


class Constants(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), 2.0)


@pytest.mark.parametrize("dim", [2, 5])
def test_constants_are_predicted_without_bias(dim):
    task = Constants(dim)
    r = population_risk(task, 3.0, [1, 5, 100], 0.3)
    assert r.bias.tolist() == [0, 0, 0]
    assert r.noise == pytest.approx(population_risk(Affine(dim), 3.0, [1, 5, 100], 0.3).noise, rel=1e-9)
    assert optimal_window(task, 5, 0.3).w == 0 and optimal_window(task, 5, 0.0).risk == 0
    assert nearest_neighbor_risk(task, 5, 0.3).total == pytest.approx(0.09)


def test_flows_without_time():
    assert population_flow(ReLU(5), 20, 0.1, []).shape == (0,)
    assert population_flow(ReLU(5), 20, 0.1, [0.0], 2.0).tolist() == [2.0]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: mismatch_risk("affine", ReLU(5), 20, 0.1), TypeError, "trained='affine'"),
        (lambda: mismatch_risk(ReLU(5), "affine", 20, 0.1), TypeError, "tested='affine'"),
        (lambda: low_rank_risk(6, 3, 1000, 1000, 20, 0.1), ValueError, "c=1000, e=1000: too large"),
        (lambda: Affine(10**18), ValueError, "dim=1000000000000000000"),
        (lambda: Cosine(3, 1e3), ValueError, "lipschitz=1000.0"),
        (lambda: population_risk(Affine(3), 1.0, 5, 1e160), ValueError, r"noise_std=1e\+160"),
        (lambda: population_risk(ReLU(2), 1e50, 1e30, 0.1), ValueError, "w is too large for ReLU|w=1e"),
        (lambda: optimal_window(Affine(5), 20, 1e6), ValueError, r"noise_std=1e\+06"),
        (lambda: population_risk(Affine(3), [1, 2], [1, 2, 3], 0.1), ValueError, "must broadcast"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_line(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_no_setting_that_is_accepted_needs_many_nodes():
    rng, counts = np.random.default_rng(0), []
    while len(counts) < 400:
        dim = int(10 ** rng.uniform(0.31, 4))
        n = np.array([np.floor(10 ** rng.uniform(0.31, rng.choice([6, 20, 100])))])
        w = 10 ** rng.uniform(-3, rng.choice([3, 10, 40, 100]))
        if w * cap_quantile(dim, 1 / n[0]) < 1e12:  # else it is refused, see `integrate`
            degree = rng.choice([1, 30, 4096, np.inf])
            counts.append(sum(mesh.theta.size for mesh in meshes(dim, w, n, degree)))
    assert max(counts) < 2**23
