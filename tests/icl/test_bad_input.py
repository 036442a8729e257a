"""Any argument gives finite numbers, or an error of one line that names the parameter and its value.

Numbers of NumPy and of PyTorch are taken alike, whatever holds them. `icl.tensor_trick` is tested on its own.
"""

import fractions
import inspect
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
from icl.checks import integer, matrix_rows, real, reals
from icl.covariates import (
    Ellipsoid,
    LowRank,
    cap_quantile,
    restrict_to_cap,
    uniform_sphere,
)
from icl.pretrain import UnitConfig, metrics, pretrain, train_grid
from icl.pretrain.finite import ReLUPool
from icl.risk import (
    asymptotics,
    matrix_risk,
    monte_carlo_risk,
    population_flow,
    population_risk,
)
from icl.risk.quadrature import meshes
from icl.streams import NativeStream, stream
from icl.tasks import (
    CLASSES,
    Affine,
    Cosine,
    Harmonic,
    Projected,
    QuadraticRisk,
    ReLU,
    Zonal,
)
from icl.tensor_trick import kron_block, lipschitz, loss, unvec

NAN, INF, UNIT = math.nan, math.inf, UnitConfig(Affine(3), 1.0, 4, 0)

# ------------------------------------------------------------------------- what each name refuses
COUNT = [0, 2.5, "20", True, NAN, 10**400]
LEVEL = [-1.0, INF, NAN, "1", True, 1e160]  # numbers from zero on
SCALE = [0.0, *LEVEL]
RATE = [v for v in SCALE if v != 1e160]
SEED = [-1, 1.5, True, np.bool_(1), 2**64]
FLAG = ["no", "false", 0, 1, None, NAN, [], torch.tensor(True)]

#: Values of each parameter of which every function that has it refuses every one by name and value.
REFUSED = dict(
    learning_rate=RATE, seed=SEED, step=SEED, integrate_labels=FLAG, shared_tokens=FLAG
)
REFUSED |= dict.fromkeys(
    ["dim", "n", "k", "rank", "degree", "hidden", "size", "width", "contexts"], COUNT
)
REFUSED |= dict.fromkeys(["steps", "batch_size", "context_length", "seeds"], COUNT)
REFUSED |= dict.fromkeys(["w", "noise_std", "c", "initial_std", "log_n"], LEVEL)
REFUSED |= dict.fromkeys(["lipschitz", "steepness", "penalty", "R"], SCALE)
REFUSED |= dict.fromkeys(["m", "e", "outside"], [INF, NAN, "1", True])

#: A good value of each.
GOOD = dict(
    task=ReLU(3),
    trained=ReLU(3),
    tested=ReLU(3),
    tasks=ReLU(3),
    units=[UNIT],
    M=np.eye(3),
)
GOOD |= dict(
    dim=5,
    rank=2,
    lipschitz=2.0,
    w=1.0,
    c=1.0,
    e=0.0,
    m=1.0,
    n=20,
    k=2,
    noise_std=0.1,
    penalty=1.0,
)
GOOD |= dict(
    log_n=20, times=[0, 1], ratio=2.0, coefficients=[1.0, 2.0], function="alpha", R=1.0
)
GOOD |= dict(
    seed=0,
    seeds=2,
    size=4,
    name="noise",
    context_length=4,
    steps=2,
    batch_size=4,
    initial_std=1.0,
)
GOOD |= dict(basis=np.eye(3)[:, :1], x=torch.zeros(4), A1=torch.eye(2), A2=torch.eye(2))


def arguments(call):
    """Good arguments of a function."""
    return {
        name: GOOD[name] for name in inspect.signature(call).parameters if name in GOOD
    }


FUNCTIONS = [getattr(risk, name) for name in risk.__all__ if name.islower()]
FUNCTIONS += [
    asymptotics.resultant_length,
    asymptotics.effective_fraction,
    asymptotics.sharp_context,
]
FUNCTIONS += [
    *CLASSES.values(),
    Harmonic,
    tasks.Tanh,
    tasks.Network,
    ReLUPool,
    LowRank,
    stream,
    NativeStream,
]
FUNCTIONS += [UnitConfig, pretrain, train_grid, lipschitz.proven_constant]
LAWS = (
    asymptotics.many_token_risk,
    asymptotics.many_token_window,
    asymptotics.sharp_window,
)

#: The same for what some functions alone refuse.
OWN = [
    *(
        (law, dict(n=[0.5, NAN, "20"], noise_std=LEVEL)) for law in LAWS
    ),  # of any real n
    (ReLU, dict(dim=[1])),
    (Cosine, dict(lipschitz=[1e3])),
    (tasks.Tanh, dict(steepness=[21.0])),
    (NativeStream, dict(name=["nois"], step=[2**32])),
    (risk.low_rank_risk, dict(rank=[5])),
    (risk.worst_case_risk, dict(w=[[3.0, 1.0]], dim=[10**4])),
    (risk.neighbors_risk, dict(k=[21])),
    (risk.ridge_risk, dict(contexts=[10**9])),
    (risk.log_window_gap, dict(log_n=[0])),
    (risk.gaussian_law, dict(w=[0.0, 2e3], log_n=[0])),
    (risk.distance_exponent, dict(w=[0.0, -1.0])),
    (risk.one_token_gap, dict(log_n=[3.0])),
    (risk.least_ball_limit, dict(dim=[65])),
    (
        UnitConfig,
        dict(
            task=["affine"],
            activation=["exp"],
            covariates=["sphere", Ellipsoid(np.eye(2))],
        ),
    ),
    (
        pretrain,
        dict(
            steps=[10**12], batch_size=[10**9], record=[(3,), (2, 1)], stream=["fast"]
        ),
    ),
    (
        pretrain,
        dict(dtype=["half"], optimizer=["lion"], schedule=["cosine"], device=["gpu"]),
    ),
    (lipschitz.proven_constant, dict(n=[1])),
    (unvec, dict(rows=["2", -1])),
    (kron_block, dict(j=[0.5])),
]


class NaN(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), NAN)


class Shapeless(Zonal):
    def covariance(self, cosine):
        return np.array(1.0)


@pytest.mark.parametrize(
    "call, name, values",
    [
        pytest.param(call, name, values, id=f"{call.__name__}-{name}")
        for call, bad in [(call, REFUSED) for call in FUNCTIONS] + OWN
        for name, values in bad.items()
        if name in inspect.signature(call).parameters
    ],
)
def test_what_cannot_be_computed_is_refused_at_once_in_one_line(call, name, values):
    for value in values:
        with pytest.raises(
            ValueError, match=re.escape(f"{name}={value!r}"[:100])
        ) as caught:
            call(**arguments(call) | {name: value})
        assert "\n" not in str(caught.value)


class OneValue(Affine):
    def sample(self, rng, count):
        return lambda x: torch.ones(len(x))


class NotFinite(Affine):
    def sample(self, rng, count):
        return lambda x: x[..., 0] / 0


class NoCovariance(Zonal):
    def covariance(self, cosine):
        return (
            np.asarray(cosine) - 0.3 * np.asarray(cosine) ** 3
        )  # a negative coefficient of P_3


X = uniform_sphere(stream(0, "covariates"), 3, 5, 3)
START_AT_ZERO = (None, None, "relu"), (None, None, "softmax", 3)  # activation, width
UNKNOWN = "function is 'q'; allowed: "
SHAPE = r"tensor of finite numbers of shape \(10, 6\), not"

#: What is refused for another reason than one number: a call, its arguments, and words of the error.
SPECIAL = {
    ValueError: [
        # classes, tokens, streams
        (tasks.make_task, "rleu", 3, "name='rleu'"),
        (Projected, "relu", np.eye(3), "task='relu': must have dim and sample"),
        (Projected, ReLU(3), np.eye(2, 4), "rows"),
        *(
            (monte_carlo_risk, own(3), 1.0, 5, 0.1, 10, SHAPE)
            for own in (OneValue, NotFinite)
        ),
        (NaN(2).spectrum, 1, r"NaN\(dim=2\): covariance"),
        *(
            (NoCovariance(dim).spectrum, 10, "not positive definite")
            for dim in (2, 3, 5, 64)
        ),
        (
            QuadraticRisk.of,
            Affine(3),
            torch.zeros(4, 5, 2),
            0.1,
            r"tokens of shape \(4, 5, 2\): must be",
        ),
        *(
            (QuadraticRisk.of, Affine(3), x, 0.1, "tokens: must be unit")
            for x in (3 * X, X + 1e-3, X * NAN)
        ),
        (uniform_sphere, stream(0, "covariates"), 3, 1, "dim=1"),
        (restrict_to_cap, torch.ones(1, 4, 3), -1, np.ones((1, 3)), "limit=-1"),
        (Ellipsoid, np.ones((2, 3)), "matrix"),
        *((LowRank, basis, "basis") for basis in (np.ones((3, 2)), np.eye(3))),
        *((matrix_rows, matrix, "matrix", "matrix") for matrix in ([1.0], [[NAN]])),
        # the risk on the sphere
        (population_risk, ReLU(2), 1e12, 1e30, 0.1, "w is too large for ReLU"),
        (
            population_risk,
            Affine(3),
            [1, 2],
            [1, 2, 3],
            0.1,
            r"\(3,\), .* of w, n, .*: must broadcast$",
        ),
        *(
            (population_risk, own(5), 1.0, 5, 0.1, r"\(dim=5\): covariance")
            for own in (NaN, Shapeless)
        ),
        (risk.optimal_window, Affine(5), 20, 1e6, r"noise_std=1e\+06"),
        (risk.mismatch_risk, ReLU(5), ReLU(4), 100, 0.3, "tested.dim=4"),
        *(
            (risk.optimal_window, ReLU(3), *v, "n=1.*: too large for ReLU")
            for v in ((1e30, 0.1), (1e10, 0))
        ),
        (risk.optimal_window, Cosine(2, 4.0), 1e100, 0.5, "known to .* only"),
        *(
            (population_flow, ReLU(5), 20, 0.1, times, "times=")
            for times in ([1.0, 0.5], [0, 1e30])
        ),
        (
            population_flow,
            ReLU(3),
            20,
            0.5,
            [0, 1],
            1e18,
            r"^start=1e\+18: w=1e\+18: too large",
        ),
        (
            matrix_risk,
            ReLU(3),
            np.eye(2),
            20,
            0.1,
            r"M: shape \(2, 2\), must be \(3, 3\)",
        ),
        (
            matrix_risk,
            ReLU(3),
            3.0,
            20,
            0.1,
            "M=3.0: must be a matrix of finite numbers",
        ),
        (
            matrix_risk,
            ReLU(3),
            1e300 * np.eye(3),
            20,
            0.1,
            "M: shape .* entries at most 1e",
        ),
        (matrix_risk, ReLU(3), 1e9 * np.eye(3), 20, 0.1, "too large"),
        (
            asymptotics.many_token_window,
            Affine(2),
            1e60,
            1.0,
            "no minimum between 1e-9 and 1e7",
        ),
        (risk.low_rank_risk, 6, 3, 1000, 1000, 20, 0.1, "c=1000, e=1000: too large"),
        # other predictors, limits, sampling
        *(
            (risk.least_hermite_floor, given, "coefficients of shape")
            for given in ([], [[1.0]])
        ),
        (statistics.t_interval, [1.0], "at least 2"),
        (statistics.local_slope, [1.0, 2.0], [1.0, 2.0], "at least 3 points"),
        *(
            (statistics.local_slope, np.arange(1.0, 5.0), np.ones(k), "as many in both")
            for k in (3, 5)
        ),
        (
            monte_carlo_risk,
            ReLU(300),
            3.0,
            200,
            0.5,
            10**8,
            "contexts=100000000: too large",
        ),
        (monte_carlo_risk, ReLU(10**4), 3.0, 10**7, 0.5, 9, "n=10000000: too large"),
        (monte_carlo_risk, ReLU(3), 3.0, 10**5, 0.5, 9, 0, True, "n=100000: too large"),
        (
            risk.bayes_linear_risk,
            ReLU(3),
            10**4,
            0.5,
            10**6,
            "contexts=1000000: too large",
        ),
        # pretraining
        *(
            (UnitConfig, Affine(3), 1.0, 4, 0, *given, "initial_std=0")
            for given in START_AT_ZERO
        ),
        (pretrain, [UNIT], 10**9, 10**6, "steps=1000000000: too large"),
        (
            pretrain,
            [UNIT, UnitConfig(ReLU(4), 1.0, 4, 1)],
            2,
            4,
            r"units have dimensions \[3, 4\]",
        ),
        (pretrain, [], 2, 4, "units have dimensions none"),
        (pretrain, UNIT, 2, 4, "units=UnitConfig.*must be a sequence"),
        (pretrain, [UNIT, "unit"], 2, 4, "units has 'unit': must be a UnitConfig"),
        (partial(pretrain, record=0), [UNIT], 2, 4, "record=0: must be a sequence"),
        (
            pretrain,
            [UNIT, UnitConfig(ReLU(3), 1.0, 3, 0)],
            2,
            4,
            "units 0 and 1 both have seed=0",
        ),
        (
            train_grid,
            [ReLU(3)] * 2,
            [0.1] * 3,
            8,
            3,
            "different lengths: {'task': 2, 'noise_std': 3}",
        ),
        (
            lambda: metrics.evaluation_error(
                pretrain([UNIT], 1, 4), Affine(3), 0.1, 8, 0
            ),
            "contexts=0",
        ),
        # the tensor trick
        (
            lipschitz.log_jacobian_norm,
            "q",
            *torch.zeros(2, 3),
            f"{UNKNOWN}u, alpha, 1/alpha, f",
        ),
        (lipschitz.log_norm, "q", torch.zeros(3), UNKNOWN),
        *(
            (f, "q", 3, 1.0, UNKNOWN)
            for f in (lipschitz.proven_constant, lipschitz.worst_logits)
        ),
        (lipschitz.worst_logits, "f", 10**6, 1.0, "n=1000000: too large"),
    ],
    TypeError: [
        (population_risk, "affine", 1.0, 20, 0.1, "rotation-invariant"),
        (risk.mismatch_risk, "affine", ReLU(5), 20, 0.1, "trained='affine'"),
        (risk.mismatch_risk, ReLU(5), "affine", 20, 0.1, "tested='affine'"),
        (
            loss,
            torch.eye(2).to_sparse(),
            *[torch.eye(2)] * 3,
            r"^A1 is sparse .*A1.to_dense\(\)$",
        ),
    ],
    NotImplementedError: [
        (
            monte_carlo_risk,
            Zonal(3),
            1.0,
            5,
            0.1,
            10,
            r"Zonal\(dim=3\).*must define sample",
        ),
        (
            monte_carlo_risk,
            Zonal(3),
            1.0,
            5,
            0.1,
            10,
            0,
            True,
            r"Zonal\(dim=3\).*must define covariance",
        ),
    ],
}


@pytest.mark.parametrize(
    "kind, call, given, words",
    [
        (kind, call, given, words)
        for kind, rows in SPECIAL.items()
        for call, *given, words in rows
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(kind, call, given, words):
    with pytest.raises(kind, match=words) as caught:
        call(*given)
    assert "\n" not in str(caught.value)


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
        if (
            w * cap_quantile(dim, 1 / n[0]) < 1e12
        ):  # else it is refused, see `integrate`
            degree = rng.choice([1, 30, 4096, np.inf])
            counts.append(sum(mesh.theta.size for mesh in meshes(dim, w, n, degree)))
    assert max(counts) < 2**23


# ------------------------------------------------------------------------- what numbers are held by
KINDS = [
    np.int8,
    np.uint64,
    np.float16,
    np.float32,
    np.longdouble,
    fractions.Fraction,
    int,
    float,
    np.array,
]
SCALARS = [kind(2) for kind in KINDS] + [
    np.ma.masked_array(2, False),
    torch.tensor(2.0, requires_grad=True),
]
SCALARS += [
    torch.tensor(2, dtype=kind)
    for kind in (torch.uint8, torch.int64, torch.float16, torch.bfloat16)
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_a_number_is_taken_whatever_holds_it(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 2
    assert type(real(value, "x")) is float and real(value, "x") == 2.0
    for many in (value, [value, 3], [[value], [value]]):
        assert (
            reals(many, "x", 0).dtype == np.float64
            and reals(many, "x", 0).flat[0] == 2.0
        )
    task = ReLU(value, value)
    assert (
        task == ReLU(2, 2.0) and type(task.dim) is int and type(task.lipschitz) is float
    )


NO_NUMBERS = [True, 3j, {1: 2}, {1.0}, "12", b"12", None, int, [[1, 2], [3]], [1, [2]]]
NO_NUMBERS += [
    10**400,
    10**5000,
    np.longdouble("1e400"),
]  # Python refuses to write out the second
NO_NUMBERS += [
    np.bool_(False),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.ma.masked,
]
NO_NUMBERS += [np.array(["1"]), np.array([b"1"]), np.array([np.datetime64(1, "s")])]
NO_NUMBERS += [torch.tensor([value]) for value in (True, 1j, NAN, INF)] + [
    [torch.tensor(True), 1.0]
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_holds_no_finite_number_is_refused_in_one_line(value):
    for check in (integer, real, lambda v, name: reals(v, name, -math.inf)):
        if (
            check is integer
            and isinstance(value, int | np.longdouble)
            and value is not True
        ):
            continue  # a large integer is one
        with pytest.raises(
            ValueError, match=r"^x=.*must be (an integer|a finite number)$"
        ) as caught:
            check(value, "x")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_tensors_lose_their_gradient_and_their_layout_on_the_way_in():
    x = torch.tensor([[1.0, 2.0], [0.0, 4.0]], requires_grad=True)
    assert (
        reals(x, "x", 0).tolist()
        == reals(x.detach().to_sparse(), "x", 0).tolist()
        == x.tolist()
    )
    assert matrix_rows(x, "x") == ((1.0, 2.0), (0.0, 4.0))
    QuadraticRisk.of(
        Affine(3), X.float().double(), 0.1
    )  # unit vectors to single precision
    mine = np.array([1.0])
    assert reals(mine, "x", 0) is not mine, "the caller's array is not handed on"
    w = torch.tensor(2.0, dtype=torch.bfloat16, requires_grad=True)
    ours = population_risk(ReLU(torch.tensor(3)), w, torch.tensor(7), 0.1)
    assert vars(ours) == vars(population_risk(ReLU(3), 2.0, 7, 0.1))


def test_functions_use_the_number_whatever_holds_it():
    assert (
        risk.optimal_window(ReLU(5), 10**20, 0.1).w
        == risk.optimal_window(ReLU(5), 1e20, 0.1).w
    )
    ours = monte_carlo_risk(Affine(3), 1.0, 1e2, 0.1, 50, integrate_labels=np.True_)
    assert ours == monte_carlo_risk(Affine(3), 1.0, 100, 0.1, 50, integrate_labels=True)
    plain = UnitConfig(
        Affine(3), 0.5, 8, 2, learning_rate=0.25, width=2, initial_std=1.0
    )
    numbers = np.float32(0.5), np.int64(8), np.uint8(2)
    other = UnitConfig(
        Affine(3), *numbers, None, np.float64(0.25), width=np.int32(2), initial_std=1
    )
    assert other == plain and repr(other) == repr(plain)


# ------------------------------------------------------------------------------- numbers at random
numbers = st.one_of(
    st.floats(),
    st.floats(1e-3, 1e3),
    st.integers(-3, 40),
    st.integers(),
    st.sampled_from(
        [True, np.bool_(True), None, "3", 1j, 10**20, 10**400, 1e160, 5e-324]
    ),
    st.sampled_from(
        [
            np.int64(7),
            np.uint8(200),
            np.float32(2),
            np.float64(1e9),
            np.array(3),
            [1, 2.5],
        ]
    ),
)


def risk_of_class(cls, dim, lipschitz, w, n, noise_std):
    return population_risk(cls(dim, lipschitz), w, n, noise_std)


#: Functions that are cheap for all numbers, or for all of these parameters.
AT_RANDOM = [
    *(
        partial(risk_of_class, cls)
        for cls in (*CLASSES.values(), tasks.Network, tasks.Tanh)
    ),
    *(
        risk.gaussian_risk,
        risk.linear_risk,
        risk.nearest_neighbor_risk,
        risk.log_window_gap,
        risk.gaussian_law,
    ),
    *(
        asymptotics.sharp_window,
        asymptotics.mismatch_penalty,
        asymptotics.resultant_length,
    ),
    partial(population_risk, Cosine(5), noise_std=0.1),
    partial(risk.optimal_window, tasks.Tanh(3), noise_std=0.5),
    partial(risk.optimal_window, ReLU(3), 20),
    partial(risk.low_rank_risk, dim=5, c=3.0, e=0.0),
    lambda degree: Harmonic(3, degree).spectrum(1)[0],
    lambda start: population_flow(Affine(3), 5, 0.1, [0.0, 1.0], start),
]


@pytest.mark.slow
@pytest.mark.parametrize("call", AT_RANDOM)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_number_gives_finite_ones_or_is_refused_by_name(call, data):
    """Half of the numbers are good, so that the others are seen."""
    names = (
        inspect.signature(call).parameters.keys()
        - getattr(call, "keywords", {}).keys()
        - {"task"}
    )
    given = {
        name: data.draw(numbers)
        for name in sorted(names)
        if name not in GOOD or data.draw(st.booleans())
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = call(**arguments(call) | given)
        except (ValueError, TypeError) as error:
            text = str(error)
            assert "\n" not in text and len(text) < 600, text
            allowed = (
                names | {"scale"} if tasks.Sign in getattr(call, "args", ()) else names
            )
            assert re.search(rf"\b({'|'.join(allowed)})\b", text), text
            return
    values = (
        vars(result).values() if hasattr(result, "__dataclass_fields__") else [result]
    )
    assert all(np.all(np.isfinite(value)) for value in values), result
