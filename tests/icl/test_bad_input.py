"""Any argument gives finite numbers, or an error of one line that names the parameter and its value.

Numbers of NumPy and of PyTorch are taken alike, whatever holds them. `icl.tensor_trick` is tested on its own.
"""

import fractions
import math
import re
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icl.checks import affordable, broadcast, flag, integer, matrix_rows, real, reals
from icl.covariates import Ellipsoid, LowRank, cap_quantile, restrict_to_cap, uniform_sphere
from icl.pretrain import UnitConfig, metrics, pretrain, train_grid
from icl.pretrain.finite import ReLUPool
from icl.risk import (
    asymptotics,
    bayes_linear_risk,
    certify_isotropy,
    gaussian_risk,
    gaussian_window,
    least_ball_limit,
    least_hermite_floor,
    linear_optimum,
    linear_risk,
    log_window_gap,
    low_rank_risk,
    matrix_risk,
    mismatch_risk,
    monte_carlo_risk,
    nearest_neighbor_risk,
    neighbors_risk,
    one_token_gap,
    optimal_window,
    population_flow,
    population_risk,
    ridge_risk,
    worst_case_risk,
)
from icl.risk.quadrature import meshes
from icl.statistics import local_slope, t_interval
from icl.streams import NativeStream, stream
from icl.tasks import (
    CLASSES,
    Affine,
    Cosine,
    Harmonic,
    Linear,
    Network,
    Projected,
    Quadratic,
    QuadraticRisk,
    ReLU,
    Tanh,
    Zonal,
    make_task,
)
from icl.tensor_trick import kron_block, loss, unvec
from icl.tensor_trick.lipschitz import log_jacobian_norm, log_norm, proven_constant, worst_logits

NAN, INF, UNIT = math.nan, math.inf, UnitConfig(Affine(3), 1.0, 4, 0)


class NaN(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), np.nan)


class Shapeless(Zonal):
    def covariance(self, cosine):
        return np.array(1.0)


def refused(call, good, **bad):
    """Rows of the table: each value of each parameter in ``bad``, the others as in ``good``."""
    return [
        (partial(call, **good | {name: value}), re.escape(f"{name}={value!r}"))
        for name, values in bad.items()
        for value in values
    ]


SETTING = dict(n=20, noise_std=0.1)
BAD_VALUES = [
    # classes, tokens, streams
    *refused(Affine, dict(dim=3), dim=[1, 2.5, 10**18], lipschitz=[-1.0]),
    *refused(ReLU, dict(dim=3), lipschitz=[0.0, "1", True]),
    *refused(Cosine, dict(dim=3), lipschitz=[NAN, 1e3]),
    *refused(Harmonic, dict(dim=3), degree=[0]),
    *refused(Tanh, dict(dim=3), steepness=[0.0, 21.0]),
    *refused(Network, dict(dim=3), hidden=[0]),
    (lambda: make_task("rleu", 3), "task='rleu'"),
    (lambda: Projected(Linear(3), np.eye(2, 4)), "rows"),
    (lambda: NaN(2).spectrum(1), r"NaN\(dim=2\): covariance"),
    (lambda: QuadraticRisk.of(Affine(3), torch.zeros(4, 5, 2), 0.1), r"tokens of shape \(4, 5, 2\): must be"),
    (lambda: uniform_sphere(stream(0, "covariates"), 3, 1), "dim=1"),
    (lambda: restrict_to_cap(torch.ones(1, 4, 3), -1, np.ones((1, 3))), "limit=-1"),
    (lambda: Ellipsoid(np.ones((2, 3))), "matrix"),
    (lambda: LowRank(np.ones((3, 2))), "basis"),
    (lambda: LowRank(np.eye(3)), "basis"),
    (lambda: LowRank(np.eye(3)[:, :1], INF), "outside=inf"),
    *((partial(matrix_rows, matrix, "matrix"), "matrix") for matrix in ([1.0], [[NAN]])),
    *(
        row
        for kind in (stream, NativeStream)
        for row in refused(
            kind,
            dict(seed=0, name="noise", step=0),
            seed=[-1, 1.5, True, np.bool_(1), 2**64],
            name=["nois"],
            step=[-2],
        )
    ),
    (lambda: NativeStream(0, "noise", 2**32), "step"),  # it would begin again
    # the risk on the sphere
    *refused(
        population_risk,
        dict(task=Affine(3), w=1.0) | SETTING,
        w=[-1.0, NAN],
        n=[0, 2.5, "20"],
        noise_std=[-0.1, INF, 1e160],
    ),
    (lambda: population_risk(ReLU(2), 1e12, 1e30, 0.1), "w is too large for ReLU"),
    (lambda: population_risk(ReLU(2), 1e50, 1e30, 0.1), "w is too large for ReLU|w=1e"),
    (lambda: population_risk(Affine(3), [1, 2], [1, 2, 3], 0.1), "must broadcast"),
    (lambda: population_risk(NaN(5), 1.0, 5, 0.1), r"NaN\(dim=5\): covariance"),
    (lambda: population_risk(Shapeless(5), 1.0, 5, 0.1), r"Shapeless\(dim=5\): covariance"),
    (lambda: optimal_window(Affine(5), 20, 1e6), r"noise_std=1e\+06"),
    (lambda: mismatch_risk(ReLU(5), ReLU(4), 100, 0.3), "tested.dim=4"),
    (lambda: population_flow(ReLU(5), 20, 0.1, [1.0, 0.5]), "times="),
    (lambda: population_flow(ReLU(3), 20, 0.5, [0, 1], 1e18), r"^start=1e\+18: w=1e\+18: too large"),
    (lambda: matrix_risk(ReLU(3), np.eye(2), 20, 0.1), r"M: shape \(2, 2\), must be \(3, 3\)"),
    (lambda: matrix_risk(ReLU(3), 3.0, 20, 0.1), "M=3.0: must be a matrix"),
    (lambda: matrix_risk(ReLU(3), np.full((3, 3), NAN), 20, 0.1), "M=.*must be a matrix of finite numbers"),
    (lambda: matrix_risk(ReLU(3), 1e300 * np.eye(3), 20, 0.1), "M: shape .* entries at most 1e"),
    (lambda: matrix_risk(ReLU(3), 1e9 * np.eye(3), 20, 0.1), "too large"),
    (lambda: certify_isotropy(Harmonic(3, 3), 20), "must have a part of degree 1"),
    *refused(certify_isotropy, dict(task=ReLU(3)), n=[1, 2.5]),
    *refused(
        low_rank_risk, dict(dim=5, rank=2, c=1.0, e=0.0) | SETTING, rank=[5, 0], c=[-1.0], e=[NAN], n=[0]
    ),
    (lambda: low_rank_risk(6, 3, 1000, 1000, 20, 0.1), "c=1000, e=1000: too large"),
    (lambda: worst_case_risk(10**4, 3.0, 5, 0.5), "dim=10000"),
    (lambda: worst_case_risk(3, [3.0, 1.0], 5, 0.5), "w="),
    *refused(worst_case_risk, dict(dim=3) | SETTING, w=[-1.0]),
    # other predictors, Gaussian tokens, limits, sampling
    *refused(linear_risk, dict(task=Affine(3), m=1.0) | SETTING, n=[0]),
    *refused(linear_optimum, dict(task=Affine(3)) | SETTING, noise_std=[-1.0]),
    *refused(nearest_neighbor_risk, dict(task=Affine(3)) | SETTING, n=[2.5]),
    *refused(neighbors_risk, dict(task=Affine(3), n=5, noise_std=0.1), k=[6]),
    *refused(ridge_risk, dict(task=Affine(3)) | SETTING, penalty=[0.0, "1"]),
    *refused(gaussian_risk, dict(dim=5, w=1.0) | SETTING, dim=[0], w=[-1.0]),
    (lambda: gaussian_risk(5, [1, 2], [1, 2, 3], 0.1), "must broadcast"),
    *refused(gaussian_window, dict(dim=5) | SETTING, n=[2.5]),
    *((partial(least_hermite_floor, given), "coefficients of shape") for given in ([], [[1.0]])),
    *refused(log_window_gap, dict(dim=5), log_n=[0]),
    *refused(one_token_gap, dict(dim=5, noise_std=0.1), log_n=[3.0]),
    *refused(least_ball_limit, {}, dim=[65]),
    (lambda: t_interval([1.0]), "at least 2"),
    (lambda: local_slope([1.0, 2.0], [1.0, 2.0]), "at least 3 points"),
    *((lambda k=k: local_slope(np.arange(1.0, 5.0), np.ones(k)), "as many in both") for k in (3, 5)),
    (lambda: affordable(2.0, 1.0, "contexts", 3, "numbers"), "contexts=3: too large"),
    (lambda: monte_carlo_risk(ReLU(3), 3.0, 20, 0.5, 10**9), "contexts=1000000000"),
    (lambda: monte_carlo_risk(ReLU(300), 3.0, 200, 0.5, 10**8), "contexts=100000000: too large"),
    (lambda: monte_carlo_risk(ReLU(10**4), 3.0, 10**7, 0.5, 9), "n=10000000: too large"),
    (lambda: monte_carlo_risk(ReLU(3), 3.0, 10**5, 0.5, 9, integrate_labels=True), "n=100000: too large"),
    (lambda: monte_carlo_risk(ReLU(3), 3.0, 5, 0.5, 9, integrate_labels="no"), "integrate_labels='no'"),
    (lambda: bayes_linear_risk(ReLU(3), 10**4, 0.5, 10**6), "contexts=1000000: too large"),
    # pretraining
    *refused(
        UnitConfig,
        dict(task=Affine(3), noise_std=1.0, context_length=4, seed=0, initial_std=1.0),
        noise_std=[-1.0, "0.1", True, 1e200],
        learning_rate=[-1.0, True],
        seed=[-1, False],
        covariates=["sphere", Ellipsoid(np.eye(2))],
        context_length=[0, 10**12],
        task=["affine"],
        activation=["exp"],
        width=[0],
        initial_std=[-1.0],
    ),
    *(
        (partial(UnitConfig, Affine(3), 1.0, 4, 0, **k), "initial_std=0")
        for k in ({"width": 3}, {"activation": "relu"})
    ),
    *refused(
        pretrain,
        dict(units=[UNIT], steps=2, batch_size=4),
        steps=[0, True, 10**12],
        batch_size=[0, 10**9],
        learning_rate=[0.0, "0.1"],
        stream=["fast"],
        dtype=["half"],
        optimizer=["lion"],
        schedule=["cosine"],
        record=[(3,), (2, 1)],
        shared_tokens=["no"],
        integrate_labels=[1],
        device=["gpu"],
    ),
    (lambda: pretrain([UNIT], steps=10**9, batch_size=10**6), "steps=1000000000: too large"),
    (lambda: pretrain([], 2, 4), "dimension"),
    (lambda: pretrain([UnitConfig(Affine(d), 1.0, 4, d) for d in (3, 4)], 2, 4), "dimension"),
    (
        lambda: pretrain([UnitConfig(Affine(3), 1.0, n, 0) for n in (3, 4)], 2, 4),
        "units 0 and 1 both have seed=0",
    ),
    (
        lambda: train_grid([ReLU(3), Affine(3)], [0.1, 0.2, 0.3], 8, 3),
        "different lengths: {'task': 2, 'noise_std': 3}",
    ),
    (lambda: train_grid(ReLU(3), 0.1, 8, 0), "seeds=0"),
    *refused(ReLUPool, dict(dim=3, lipschitz=2.0, seed=0), size=[0]),
    (lambda: metrics.evaluation_error(pretrain([UNIT], 1, 4), Affine(3), 0.1, 8, contexts=0), "contexts=0"),
    # the tensor trick
    (lambda: log_jacobian_norm("q", *torch.zeros(2, 3)), "function is 'q'; allowed: u, alpha, 1/alpha, f"),
    (lambda: log_norm("q", torch.zeros(3)), "function is 'q'; allowed: u, alpha, 1/alpha, f"),
    *((partial(f, "q", 3, 1.0), "function is 'q'; allowed: u") for f in (proven_constant, worst_logits)),
    (lambda: proven_constant("f", 3, "1"), "R='1'"),
    (lambda: proven_constant("alpha", 1, 1.0), "n=1"),
    (lambda: worst_logits("f", 10**6, 1.0), "n=1000000: too large"),
    (lambda: unvec(torch.zeros(4), rows="2"), "rows='2'"),
    (lambda: kron_block(torch.eye(2), torch.eye(2), 0.5), "j=0.5"),
]


@pytest.mark.parametrize("call, named", BAD_VALUES)
def test_what_cannot_be_computed_is_refused_at_once_in_one_line(call, named):
    with pytest.raises(ValueError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: population_risk("affine", 1.0, 20, 0.1), "rotation-invariant"),
        (lambda: mismatch_risk("affine", ReLU(5), 20, 0.1), "trained='affine'"),
        (lambda: mismatch_risk(ReLU(5), "affine", 20, 0.1), "tested='affine'"),
        (lambda: loss(torch.eye(2).to_sparse(), *[torch.eye(2)] * 3), r"^A1 is sparse .*A1.to_dense\(\)$"),
    ],
)
def test_what_is_of_the_wrong_type_is_refused(call, named):
    with pytest.raises(TypeError, match=named):
        call()


def test_tokens_must_be_unit_vectors():
    x = uniform_sphere(stream(0, "covariates"), 3, 5, 3)
    for wrong in (3 * x, x + 1e-3, x * torch.nan):
        with pytest.raises(ValueError, match="tokens: must be unit vectors"):
            QuadraticRisk.of(Affine(3), wrong, 0.1)
    QuadraticRisk.of(Affine(3), x.float().double(), 0.1)  # unit to single precision


@pytest.mark.parametrize("dim", [2, 3, 5, 64])
def test_a_covariance_that_is_none_is_refused(dim):
    class Mine(Zonal):
        def covariance(self, cosine):
            return np.asarray(cosine) - 0.3 * np.asarray(cosine) ** 3  # a negative coefficient of P_3

    with pytest.raises(ValueError, match="not positive definite"):
        Mine(dim).spectrum(10)


@pytest.mark.parametrize("method", ["covariance", "sample"])
def test_a_class_that_lacks_a_method_says_which(method):
    with pytest.raises(NotImplementedError, match=rf"Zonal\(dim=3\).*must define {method}"):
        monte_carlo_risk(Zonal(3), 1.0, 5, 0.1, integrate_labels=method == "covariance")


def test_a_flow_that_would_not_end_is_refused(monkeypatch):
    monkeypatch.setattr("icl.risk.matrix._EVALUATIONS", 100)
    with pytest.raises(ValueError, match=r"times up to 1e\+30: the flow of ReLU"):
        population_flow(ReLU(3), 20, 0.5, [0, 1e30])


def test_no_setting_that_is_accepted_needs_many_nodes():
    rng, counts = np.random.default_rng(0), []
    while len(counts) < 100:
        dim = int(10 ** rng.uniform(0.31, 4))
        n = np.array([np.floor(10 ** rng.uniform(0.31, rng.choice([6, 20, 100])))])
        w = 10 ** rng.uniform(-3, rng.choice([3, 10, 40, 100]))
        if w * cap_quantile(dim, 1 / n[0]) < 1e12:  # else it is refused, see `integrate`
            degree = rng.choice([1, 30, 4096, np.inf])
            counts.append(sum(mesh.theta.size for mesh in meshes(dim, w, n, degree)))
    assert max(counts) < 2**23


# ------------------------------------------------------------------------- what numbers are held by
SCALARS = [
    2,
    2.0,
    fractions.Fraction(2),
    *(kind(2) for kind in (np.int8, np.uint64, np.float16, np.float32, np.longdouble)),
    np.array(2),
    np.ma.masked_array(2, False),
    *(torch.tensor(2, dtype=kind) for kind in (torch.uint8, torch.int64, torch.float16, torch.bfloat16)),
    torch.tensor(2.0, requires_grad=True),
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_a_number_is_taken_whatever_holds_it(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 2
    assert type(real(value, "x")) is float and real(value, "x") == 2.0
    for many in (value, [value, 3], [[value], [value]]):
        assert reals(many, "x", 0).dtype == np.float64 and reals(many, "x", 0).flat[0] == 2.0
    task = ReLU(value, value)
    assert task == ReLU(2, 2.0) and type(task.dim) is int and type(task.lipschitz) is float


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.bool_(False),
        3j,
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.ma.masked,
        torch.tensor([True, False]),
        torch.tensor([1j]),
        torch.tensor([NAN]),
        torch.tensor([INF], requires_grad=True),
        [torch.tensor(True), 1.0],
        [[1, 2], [3]],
        [1, [2]],
        np.array(["1"]),
        np.array([b"1"]),
        np.array([np.datetime64(1, "s")]),
        {1: 2},
        {1.0},
        "12",
        b"12",
        None,
        int,
        10**400,
        10**5000,  # Python refuses to write it out
        np.longdouble("1e400"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_holds_no_finite_number_is_refused_in_one_line(value):
    for check in (integer, real, lambda v, name: reals(v, name, -math.inf)):
        if check is integer and isinstance(value, int | np.longdouble) and value is not True:
            continue  # a large integer is one
        with pytest.raises(ValueError, match=r"^x=.*must be (an integer|a finite number)$") as caught:
            check(value, "x")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_tensors_lose_their_gradient_and_their_layout_on_the_way_in():
    x = torch.tensor([[1.0, 2.0], [0.0, 4.0]], requires_grad=True)
    assert reals(x, "x", 0).tolist() == reals(x.detach().to_sparse(), "x", 0).tolist() == x.tolist()
    assert matrix_rows(x, "x") == ((1.0, 2.0), (0.0, 4.0))
    mine = np.array([1.0])
    assert reals(mine, "x", 0) is not mine, "the caller's array is not handed on"
    w = torch.tensor(2.0, dtype=torch.bfloat16, requires_grad=True)
    ours = population_risk(ReLU(torch.tensor(3)), w, torch.tensor(7), 0.1)
    assert ours == population_risk(ReLU(3), 2.0, 7, 0.1)


@pytest.mark.parametrize("value", [0, 1, "no", "false", None, NAN, [], object(), torch.tensor(True)])
def test_a_flag_is_true_or_false_and_nothing_that_counts_as_either(value):
    with pytest.raises(ValueError, match=r"^given=.*: must be True or False$"):
        flag(value, "given")
    assert flag(np.True_, "given") is True and flag(False, "given") is False


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"^shapes \(2,\), \(3,\) of n, w: must broadcast$"):
        broadcast(n=np.zeros(2), w=np.zeros(3))
    n, w = broadcast(n=np.zeros(2), w=np.zeros((3, 1)))
    assert n.shape == w.shape == (3, 2)


def test_long_contexts_may_be_integers_beyond_64_bits():
    assert optimal_window(ReLU(5), 10**20, 0.1).w == optimal_window(ReLU(5), 1e20, 0.1).w
    assert monte_carlo_risk(Affine(3), 1.0, 1e2, 0.1, 50) == monte_carlo_risk(Affine(3), 1.0, 100, 0.1, 50)


def test_numpy_scalars_are_the_numbers_that_they_hold():
    plain = UnitConfig(Affine(3), 0.5, 8, 2, learning_rate=0.25, width=2, initial_std=1.0)
    numbers = np.float32(0.5), np.int64(8), np.uint8(2)
    other = UnitConfig(Affine(3), *numbers, None, np.float64(0.25), width=np.int32(2), initial_std=1)
    assert other == plain and repr(other) == repr(plain)
    held = pretrain([plain], np.int64(2), np.int16(4), np.float32(0.5), record=[np.int8(1)])
    assert held.settings == pretrain([plain], 2, 4, 0.5, record=(1,)).settings
    one, same = (metrics.evaluation_error(held, ReLU(3), 0.2, *size) for size in ((10, 100), (1e1, 1e2)))
    assert np.array_equal(one, same)


# ------------------------------------------------------------------------------- numbers at random
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


@pytest.mark.slow
@bounded
@given(numbers, numbers, numbers, numbers, numbers)
def test_gaussian_risk(dim, w, n, noise_std, lipschitz):
    names = ("dim", "w", "n", "noise_std", "lipschitz")
    finite_or_refused(lambda: gaussian_risk(dim, w, n, noise_std, lipschitz), *names)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.sampled_from(["affine", "relu", "cosine", "tanh"]),
    st.integers(2, 12),
    st.floats(0.0, 50.0),
    st.integers(1, 10**6),
    st.floats(0.0, 3.0),
)
def test_valid_numbers_give_a_finite_risk_with_the_order_that_is_proved(name, dim, w, n, noise_std):
    """The noise term lies between those of equal weights and of one token, and never falls in w."""
    task = CLASSES.get(name, Tanh)(dim)
    try:
        here = population_risk(task, w, [n, n + 1], noise_std)
        wider = population_risk(task, 1.3 * w + 0.1, [n, n + 1], noise_std)
    except ValueError as error:
        assert str(error).startswith("w=") and "too large" in str(error)
        return
    assert all(np.all(np.isfinite(part)) for part in vars(here).values())
    slack = 1 + 1e-9
    assert np.all(here.bias >= 0) and np.all(here.noise >= noise_std**2 / np.array([n, n + 1]) / slack)
    assert np.all(here.noise <= noise_std**2 * slack) and np.all(wider.noise * slack >= here.noise)
    assert np.all(population_risk(task, w, [n, n + 1], 0.0).bias == here.bias)
