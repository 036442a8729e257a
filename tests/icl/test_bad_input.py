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

from icl import risk, statistics, tasks
from icl.checks import affordable, broadcast, flag, integer, matrix_rows, real, reals
from icl.covariates import Ellipsoid, LowRank, cap_quantile, restrict_to_cap, uniform_sphere
from icl.pretrain import UnitConfig, metrics, pretrain, train_grid
from icl.pretrain.finite import ReLUPool
from icl.risk import asymptotics, matrix_risk, monte_carlo_risk, population_flow, population_risk
from icl.risk.quadrature import meshes
from icl.streams import NativeStream, stream
from icl.tasks import CLASSES, Affine, Cosine, Harmonic, Network, Projected, QuadraticRisk, ReLU, Tanh, Zonal
from icl.tensor_trick import kron_block, lipschitz, loss, unvec

NAN, INF, UNIT = math.nan, math.inf, UnitConfig(Affine(3), 1.0, 4, 0)

# ------------------------------------------------------------------------- what each kind refuses
COUNT = [0, 2.5, "20", True, NAN, 10**400]
LEVEL = [-1.0, INF, NAN, "1", True, 1e160]  # numbers from zero on
SCALE = [0.0, *LEVEL]
RATE = [v for v in SCALE if v != 1e160]
SEED = [-1, 1.5, True, np.bool_(1), 2**64]
FLAG = ["no", 1, None]
GOOD, BAD = dict(task=Affine(3), n=20, noise_std=0.1), dict(n=COUNT, noise_std=LEVEL)
BARE = dict(n=20, noise_std=0.1)


class NaN(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), NAN)


class Shapeless(Zonal):
    def covariance(self, cosine):
        return np.array(1.0)


#: Calls, good arguments, and values of each parameter of which every one is refused by name and value.
REFUSED = [
    # classes, tokens, streams
    (ReLU, dict(dim=3), dict(dim=[1, *COUNT], lipschitz=SCALE)),
    (Cosine, dict(dim=3), dict(lipschitz=[*SCALE, 1e3])),
    (Harmonic, dict(dim=3), dict(degree=COUNT)),
    (Tanh, dict(dim=3), dict(steepness=[*SCALE, 21.0])),
    (Network, dict(dim=3), dict(hidden=COUNT)),
    (ReLUPool, dict(dim=3, lipschitz=2.0, seed=0, size=4), dict(lipschitz=SCALE, seed=SEED, size=COUNT)),
    (stream, dict(seed=0, name="noise"), dict(seed=SEED, name=["nois"], step=SEED)),
    (NativeStream, dict(seed=0, name="noise"), dict(seed=SEED, name=["nois"], step=[*SEED, 2**32])),
    # the risk on the sphere
    (population_risk, GOOD | dict(w=1.0), BAD | dict(w=LEVEL)),
    (matrix_risk, GOOD | dict(M=np.eye(3)), BAD),
    (risk.certify_isotropy, dict(task=ReLU(3)), dict(n=[1, *COUNT])),
    (
        risk.low_rank_risk,
        BARE | dict(dim=5, rank=2, c=1, e=0),
        BAD | dict(rank=[5, *COUNT], c=LEVEL, e=[NAN]),
    ),
    (risk.worst_case_risk, BARE | dict(dim=3, w=3.0), BAD | dict(w=[[3.0, 1.0], *LEVEL], dim=[10**4])),
    # other predictors, Gaussian tokens, limits, sampling
    (risk.linear_risk, GOOD | dict(m=1.0), BAD),
    (risk.linear_optimum, GOOD, BAD),
    (risk.nearest_neighbor_risk, GOOD, BAD),
    (risk.neighbors_risk, GOOD | dict(k=2), BAD | dict(k=[21, *COUNT])),
    (risk.ridge_risk, GOOD | dict(penalty=1.0), BAD | dict(penalty=SCALE, contexts=[*COUNT, 10**9])),
    (monte_carlo_risk, GOOD | dict(w=1.0), BAD | dict(w=LEVEL, contexts=COUNT, integrate_labels=FLAG)),
    (risk.gaussian_risk, BARE | dict(dim=5, w=1.0), BAD | dict(dim=COUNT, w=LEVEL)),
    (risk.gaussian_window, BARE | dict(dim=5), BAD | dict(dim=COUNT)),
    (risk.log_window_gap, dict(dim=5, log_n=20), dict(dim=COUNT, log_n=[0, *LEVEL])),
    (risk.one_token_gap, dict(dim=5, log_n=20, noise_std=0.1), dict(dim=COUNT, log_n=[3.0], noise_std=LEVEL)),
    (risk.least_ball_limit, {}, dict(dim=[65, *COUNT])),
    # pretraining
    (
        UnitConfig,
        dict(task=Affine(3), noise_std=1.0, context_length=4, seed=0, initial_std=1.0),
        dict(noise_std=LEVEL, context_length=COUNT, seed=SEED, learning_rate=RATE, width=COUNT)
        | dict(initial_std=LEVEL, task=["affine"], activation=["exp"])
        | dict(covariates=["sphere", Ellipsoid(np.eye(2))]),
    ),
    (
        pretrain,
        dict(units=[UNIT], steps=2, batch_size=4),
        dict(steps=[*COUNT, 10**12], batch_size=[*COUNT, 10**9], learning_rate=RATE, record=[(3,), (2, 1)])
        | dict(stream=["fast"], dtype=["half"], optimizer=["lion"], schedule=["cosine"], device=["gpu"])
        | dict(shared_tokens=FLAG, integrate_labels=FLAG),
    ),
    (train_grid, dict(tasks=ReLU(3), noise_std=0.1, context_length=8, seeds=2), dict(seeds=COUNT)),
    # the tensor trick
    (lipschitz.proven_constant, dict(function="alpha", n=3, R=1.0), dict(n=[1, *COUNT], R=SCALE)),
    (unvec, dict(x=torch.zeros(4)), dict(rows=["2", -1])),
    (kron_block, dict(A1=torch.eye(2), A2=torch.eye(2)), dict(j=[0.5])),
]


@pytest.mark.parametrize(
    "call, parameter",
    [
        pytest.param(partial(call, **good), (name, values), id=f"{call.__name__}-{name}")
        for call, good, bad in REFUSED
        for name, values in bad.items()
    ],
)
def test_what_cannot_be_computed_is_refused_at_once_in_one_line(call, parameter):
    name, values = parameter
    for value in values:
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}"[:100])) as caught:
            call(**{name: value})
        assert "\n" not in str(caught.value)


class OneValue(Affine):
    def sample(self, rng, count):
        return lambda x: torch.ones(len(x))


class NotFinite(Affine):
    def sample(self, rng, count):
        return lambda x: x[..., 0] / 0


UNKNOWN = "function is 'q'; allowed: "

#: What is refused for another reason than one number, and words of the error.
SPECIAL = [
    # classes, tokens, streams
    (lambda: tasks.make_task("rleu", 3), "name='rleu'"),
    (lambda: Projected("relu", np.eye(3)), "task='relu': must have dim and sample"),
    *(
        (
            partial(monte_carlo_risk, own(3), 1.0, 5, 0.1, 10),
            r"tensor of finite numbers of shape \(10, 6\), not",
        )
        for own in (OneValue, NotFinite)
    ),
    (lambda: Projected(ReLU(3), np.eye(2, 4)), "rows"),
    (lambda: NaN(2).spectrum(1), r"NaN\(dim=2\): covariance"),
    (lambda: QuadraticRisk.of(Affine(3), torch.zeros(4, 5, 2), 0.1), r"tokens of shape \(4, 5, 2\): must be"),
    (lambda: uniform_sphere(stream(0, "covariates"), 3, 1), "dim=1"),
    (lambda: restrict_to_cap(torch.ones(1, 4, 3), -1, np.ones((1, 3))), "limit=-1"),
    (lambda: Ellipsoid(np.ones((2, 3))), "matrix"),
    *((partial(LowRank, basis), "basis") for basis in (np.ones((3, 2)), np.eye(3))),
    (lambda: LowRank(np.eye(3)[:, :1], INF), "outside=inf"),
    *((partial(matrix_rows, matrix, "matrix"), "matrix") for matrix in ([1.0], [[NAN]])),
    # the risk on the sphere
    (lambda: population_risk(ReLU(2), 1e12, 1e30, 0.1), "w is too large for ReLU"),
    (lambda: population_risk(ReLU(2), 1e50, 1e30, 0.1), "w is too large for ReLU|w=1e"),
    (lambda: population_risk(Affine(3), [1, 2], [1, 2, 3], 0.1), "must broadcast"),
    (lambda: population_risk(NaN(5), 1.0, 5, 0.1), r"NaN\(dim=5\): covariance"),
    (lambda: population_risk(Shapeless(5), 1.0, 5, 0.1), r"Shapeless\(dim=5\): covariance"),
    (lambda: risk.optimal_window(Affine(5), 20, 1e6), r"noise_std=1e\+06"),
    (lambda: risk.mismatch_risk(ReLU(5), ReLU(4), 100, 0.3), "tested.dim=4"),
    (lambda: risk.optimal_window(ReLU(3), 1e30, 0.1), r"n=1e\+30: too large for ReLU"),
    (lambda: risk.optimal_window(ReLU(3), 1e10, 0), r"n=1e\+10: too large for ReLU"),
    (lambda: risk.optimal_window(Cosine(2, 4.0), 1e100, 0.5), "known to .* only"),
    *((partial(population_flow, ReLU(5), 20, 0.1, times), "times=") for times in ([1.0, 0.5], [0, 1e30])),
    (lambda: population_flow(ReLU(3), 20, 0.5, [0, 1], 1e18), r"^start=1e\+18: w=1e\+18: too large"),
    (lambda: matrix_risk(ReLU(3), np.eye(2), 20, 0.1), r"M: shape \(2, 2\), must be \(3, 3\)"),
    (lambda: matrix_risk(ReLU(3), 3.0, 20, 0.1), "M=3.0: must be a matrix"),
    (lambda: matrix_risk(ReLU(3), np.full((3, 3), NAN), 20, 0.1), "M=.*must be a matrix of finite numbers"),
    (lambda: matrix_risk(ReLU(3), 1e300 * np.eye(3), 20, 0.1), "M: shape .* entries at most 1e"),
    (lambda: matrix_risk(ReLU(3), 1e9 * np.eye(3), 20, 0.1), "too large"),
    (lambda: risk.certify_isotropy(Harmonic(3, 3), 20), "must have a part of degree 1"),
    (lambda: risk.low_rank_risk(6, 3, 1000, 1000, 20, 0.1), "c=1000, e=1000: too large"),
    (lambda: risk.low_rank_risk(3, 2, 1, 1e100, 20, 0.1), r"c=1, e=1e\+100: too large"),
    # other predictors, Gaussian tokens, limits, sampling
    (lambda: risk.gaussian_risk(5, [1, 2], [1, 2, 3], 0.1), "must broadcast"),
    *((partial(risk.least_hermite_floor, given), "coefficients of shape") for given in ([], [[1.0]])),
    (lambda: statistics.t_interval([1.0]), "at least 2"),
    (lambda: statistics.local_slope([1.0, 2.0], [1.0, 2.0]), "at least 3 points"),
    *((partial(statistics.local_slope, np.arange(1.0, 5.0), np.ones(k)), "as many in both") for k in (3, 5)),
    (lambda: affordable(2.0, 1.0, "contexts", 3, "numbers"), "contexts=3: too large"),
    (lambda: monte_carlo_risk(ReLU(300), 3.0, 200, 0.5, 10**8), "contexts=100000000: too large"),
    (lambda: monte_carlo_risk(ReLU(10**4), 3.0, 10**7, 0.5, 9), "n=10000000: too large"),
    (lambda: monte_carlo_risk(ReLU(3), 3.0, 10**5, 0.5, 9, integrate_labels=True), "n=100000: too large"),
    (lambda: risk.bayes_linear_risk(ReLU(3), 10**4, 0.5, 10**6), "contexts=1000000: too large"),
    # pretraining
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, width=3), "initial_std=0"),
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, activation="relu"), "initial_std=0"),
    (lambda: pretrain([UNIT], steps=10**9, batch_size=10**6), "steps=1000000000: too large"),
    *(
        (partial(pretrain, units, 2, 4), "dimension")
        for units in ([], [UNIT, UnitConfig(ReLU(4), 1.0, 4, 1)])
    ),
    (lambda: pretrain(UNIT, 2, 4), "units=UnitConfig.*must be a sequence"),
    (lambda: pretrain([UNIT, "unit"], 2, 4), "units has 'unit': must be a UnitConfig"),
    (lambda: pretrain([], 2, 4), "units have dimensions none"),
    (lambda: pretrain([UNIT], 2, 4, record=0), "record=0: must be a sequence"),
    (lambda: pretrain([UNIT, UnitConfig(ReLU(3), 1.0, 3, 0)], 2, 4), "units 0 and 1 both have seed=0"),
    (lambda: train_grid([ReLU(3)] * 2, [0.1] * 3, 8, 3), "different lengths: {'task': 2, 'noise_std': 3}"),
    (lambda: metrics.evaluation_error(pretrain([UNIT], 1, 4), Affine(3), 0.1, 8, contexts=0), "contexts=0"),
    # the tensor trick
    (lambda: lipschitz.log_jacobian_norm("q", *torch.zeros(2, 3)), f"{UNKNOWN}u, alpha, 1/alpha, f"),
    (lambda: lipschitz.log_norm("q", torch.zeros(3)), UNKNOWN),
    *((partial(f, "q", 3, 1.0), UNKNOWN) for f in (lipschitz.proven_constant, lipschitz.worst_logits)),
    (lambda: lipschitz.worst_logits("f", 10**6, 1.0), "n=1000000: too large"),
]


#: The same for what is of the wrong type.
WRONG_TYPE = [
    (lambda: population_risk("affine", 1.0, 20, 0.1), "rotation-invariant"),
    (lambda: risk.mismatch_risk("affine", ReLU(5), 20, 0.1), "trained='affine'"),
    (lambda: risk.mismatch_risk(ReLU(5), "affine", 20, 0.1), "tested='affine'"),
    (lambda: loss(torch.eye(2).to_sparse(), *[torch.eye(2)] * 3), r"^A1 is sparse .*A1.to_dense\(\)$"),
]


@pytest.mark.parametrize("call, words", SPECIAL + WRONG_TYPE)
def test_what_does_not_fit_is_refused_in_one_line(call, words):
    with pytest.raises(TypeError if (call, words) in WRONG_TYPE else ValueError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


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
    with pytest.raises(ValueError, match=r"times up to 1e\+15: the flow of ReLU"):
        population_flow(ReLU(3), 20, 0.5, [0, 1e15])


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
KINDS = [np.int8, np.uint64, np.float16, np.float32, np.longdouble, fractions.Fraction, int, float, np.array]
SCALARS = [kind(2) for kind in KINDS] + [np.ma.masked_array(2, False), torch.tensor(2.0, requires_grad=True)]
SCALARS += [torch.tensor(2, dtype=kind) for kind in (torch.uint8, torch.int64, torch.float16, torch.bfloat16)]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_a_number_is_taken_whatever_holds_it(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 2
    assert type(real(value, "x")) is float and real(value, "x") == 2.0
    for many in (value, [value, 3], [[value], [value]]):
        assert reals(many, "x", 0).dtype == np.float64 and reals(many, "x", 0).flat[0] == 2.0
    task = ReLU(value, value)
    assert task == ReLU(2, 2.0) and type(task.dim) is int and type(task.lipschitz) is float


NO_NUMBERS = [True, 3j, {1: 2}, {1.0}, "12", b"12", None, int, [[1, 2], [3]], [1, [2]]]
NO_NUMBERS += [10**400, 10**5000, np.longdouble("1e400")]  # Python refuses to write out the second
NO_NUMBERS += [np.bool_(False), np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked]
NO_NUMBERS += [np.array(["1"]), np.array([b"1"]), np.array([np.datetime64(1, "s")])]
NO_NUMBERS += [torch.tensor([value]) for value in (True, 1j, NAN, INF)] + [[torch.tensor(True), 1.0]]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
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
    assert risk.optimal_window(ReLU(5), 10**20, 0.1).w == risk.optimal_window(ReLU(5), 1e20, 0.1).w
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

#: Names of parameters, and what is computed from as many numbers.
AT_RANDOM = [
    ("dim w n noise_std lipschitz", risk.gaussian_risk),
    *(
        ("dim lipschitz w n noise_std", lambda d, L, *rest, cls=cls: population_risk(cls(d, L), *rest))
        for cls in (*CLASSES.values(), Network, Tanh)
    ),
    ("w n", lambda w, n: population_risk(Cosine(5), w, n, 0.1)),
    ("lipschitz", lambda L: population_risk(ReLU(3, L), 7.0, 20, 0.1)),
    ("n", lambda n: risk.optimal_window(Tanh(3), n, 0.5)),
    ("noise_std", lambda noise_std: risk.optimal_window(ReLU(3), 20, noise_std)),
    ("m n noise_std", partial(risk.linear_risk, ReLU(4))),
    ("n noise_std", partial(risk.nearest_neighbor_risk, ReLU(4))),
    ("n noise_std", partial(risk.low_rank_risk, 5, 2, 3.0, 0.0)),
    ("n noise_std", partial(asymptotics.sharp_window, Affine(3))),
    ("rank", lambda rank: risk.low_rank_risk(5, rank, 3.0, 0.0, 10, 0.1)),
    ("ratio", partial(asymptotics.mismatch_penalty, ReLU(4))),
    ("w", partial(asymptotics.effective_fraction, 3)),
    ("w", partial(asymptotics.resultant_length, 3)),
    ("degree", lambda degree: Harmonic(3, degree).spectrum(1)[0]),
    ("start", partial(population_flow, Affine(3), 5, 0.1, [0.0, 1.0])),
]


@pytest.mark.slow
@pytest.mark.parametrize("parameters, call", AT_RANDOM)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.tuples(*[numbers] * 5))
def test_any_number_gives_finite_ones_or_is_refused_by_name(parameters, call, given):
    names = parameters.split()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = call(*given[: len(names)])
        except (ValueError, TypeError) as error:
            text = str(error)
            assert "\n" not in text and len(text) < 600, text
            assert re.search(rf"\b({'|'.join(names)})\b", text), text
            return
    values = vars(result).values() if hasattr(result, "__dataclass_fields__") else [result]
    assert all(np.all(np.isfinite(value)) for value in values), result
