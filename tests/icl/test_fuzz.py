"""Any argument of any public function gives finite numbers, a warning, or one line that says what is allowed.

Three thousand calls with a fixed seed. Half of the arguments of a call are good, so that the others are seen.
"""

import dataclasses
import inspect
import math
import re
import warnings

import numpy as np
import pytest
import torch

from icl import attention, covariates, risk, statistics, tasks
from icl.checks import shown
from icl.pretrain import (
    Settings,
    UnitConfig,
    draw_contexts,
    metrics,
    pretrain,
    train_grid,
)
from icl.streams import stream
from icl.tasks import Affine, ReLU
from icl.tensor_trick import (
    gradient,
    hvp,
    kron_block,
    lipschitz,
    loss,
    target_shift,
    unvec,
    vec,
)

CALLS, SEED = 3000, 20240607
EYE, X = torch.eye(3).double(), torch.arange(120.0).reshape(8, 5, 3).double().cos()
UNIT = UnitConfig(Affine(3), 1.0, 4, 0)
TRAINED = pretrain([UNIT], 1, 4)
TOKENS = covariates.uniform_sphere(stream(0, "noise"), 2, 5, 3)

#: A good value of each parameter; where functions disagree, in `OWN`.
GOOD = {
    **dict.fromkeys(
        ["dim", "n", "context_length", "contexts", "batch_size", "count"], 5
    ),
    **dict.fromkeys(
        [
            "rank",
            "k",
            "steps",
            "seeds",
            "degree",
            "nodes",
            "size",
            "hidden",
            "rows",
            "cols",
        ],
        2,
    ),
    **dict.fromkeys(
        ["w", "noise_std", "lipschitz", "R", "reach", "ratio", "penalty", "c", "step"],
        1.0,
    ),
    **dict.fromkeys(
        ["m", "e", "initial_std", "sharpness", "steepness", "outside", "limit", "mass"],
        0.5,
    ),
    **dict.fromkeys(["task", "trained", "tested", "tasks"], ReLU(3)),
    **dict.fromkeys(["A1", "A2", "X", "X_next", "S", "S_next", "B", "V", "start"], EYE),
    **dict.fromkeys(["M", "W_V", "W_K", "W_Q", "matrix"], EYE),
    **dict.fromkeys(["cosine", "theta"], [0.1, 0.5]),
    **dict.fromkeys(["tokens", "values"], X),
    **dict.fromkeys(["basis"], np.eye(3)[:, :1]),
    "log_n": 20.0,
    "times": [0.0, 1.0],
    "coefficients": [1.0, 2.0],
    "function": "alpha",
    "kind": "normalized",
    "activation": "tanh",
    "name": "relu",
    "seed": 0,
    "j": 1,
    "axis": -1,
    "learning_rate": 0.05,
    "units": [UNIT],
    "record": (),
    "x": X,
    "y": X[..., 0],
    "x_q": X[:, 0],
    "scores": X[..., 0],
    "s": X[0, :, 0],
    "rtol": 1e-6,
}


def uniform_points(count):
    return covariates.uniform_sphere(stream(0, "noise"), count, 3)


def covariances(cosine):
    return [task.covariance(cosine) for task in TASKS]


def variograms(theta):
    return [task.variogram(theta) for task in TASKS]


def spectra(degree):
    return [task.spectrum(degree) for task in TASKS]


def quadratic_risk(task, tokens, noise_std):
    form = tasks.QuadraticRisk.of(task, tokens, noise_std)
    return form.risk(form.kriging())


OWN = [
    (attention.softmax_attention, dict(x=X, y=X[..., 0], x_q=X[:, 0], M=EYE)),
    (attention.full_unit, dict(tokens=X)),
    (unvec, dict(x=X[0, 0, :1], rows=None, cols=None)),
    (loss, dict(A1=EYE, A2=EYE, X=EYE, B=EYE)),
    (gradient, dict(A1=EYE, A2=EYE, X=EYE, B=EYE)),
    (vec, dict(X=X)),
    (covariates.restrict_to_cap, dict(x=TOKENS, u=np.full((2, 4), 0.5))),
    (metrics.scale_scores, dict(trained=TRAINED, factors=[2.0])),
    (metrics.evaluation_error, dict(M=np.eye(3))),
    (statistics.t_interval, dict(values=[1.0, 2.0, 3.0])),
    (statistics.median_interval, dict(values=[float(k) for k in range(20)])),
    (quadratic_risk, dict(tokens=TOKENS)),
    (tasks.Projected, dict(matrix=np.eye(3))),
    (risk.low_rank_risk, dict(dim=5, rank=2)),
    (risk.population_flow, dict(start=0.0)),
    (pretrain, dict(steps=1)),
    (train_grid, dict(steps=1)),
]

FUNCTIONS = [getattr(risk, name) for name in risk.__all__ if name.islower()]
FUNCTIONS += [
    getattr(module, name)
    for module in (lipschitz, target_shift)
    for name in module.__all__
]
FUNCTIONS += [getattr(attention, name) for name in attention.__all__]
FUNCTIONS += [
    getattr(covariates, name) for name in covariates.__all__ if name != "uniform_sphere"
]
FUNCTIONS += [getattr(statistics, name) for name in statistics.__all__]
FUNCTIONS += [getattr(metrics, name) for name in metrics.__all__]
FUNCTIONS += [getattr(risk.asymptotics, name) for name in risk.asymptotics.__all__]
FUNCTIONS += [
    loss,
    gradient,
    hvp,
    kron_block,
    vec,
    unvec,
    UnitConfig,
    Settings,
    draw_contexts,
    pretrain,
]
FUNCTIONS += [
    train_grid,
    tasks.angle_quadrature,
    tasks.make_task,
    tasks.Projected,
    uniform_points,
]
FUNCTIONS += [*tasks.CLASSES.values(), tasks.Harmonic, tasks.Network, tasks.Tanh]
FUNCTIONS += [covariances, variograms, spectra, quadratic_risk]
FUNCTIONS = [call for call in FUNCTIONS if callable(call)]
TASKS = [
    kind(3)
    for kind in (*tasks.CLASSES.values(), tasks.Network, tasks.Tanh, tasks.Harmonic)
]

ODD_SIZE = 1e9
ODD = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -1.0,
    0,
    0.0,
    1,
    2.5,
    1e300,
    -1e300,
    1e-300,
    10**30,
    10**400,
    3,
]
ODD += [
    True,
    False,
    None,
    "1",
    "softmax",
    b"1",
    1j,
    [],
    [1.0],
    [1, 2.5],
    [[1.0, 2.0], [3.0, 4.0]],
    {},
    int,
]
ODD += [
    np.array(1.0),
    np.array([]),
    np.array([1.0, math.nan]),
    np.eye(2),
    np.eye(3, dtype=complex),
]
ODD += [
    np.eye(3, dtype=np.float32),
    np.array(["a"]),
    np.ones((2, 3, 4)),
    np.array([1, None], dtype=object),
]
ODD += [
    torch.tensor(1.0),
    torch.tensor([]),
    torch.eye(3),
    torch.eye(3).int(),
    torch.eye(3).double() * math.nan,
]
ODD += [
    torch.eye(2).double(),
    torch.eye(3).double().to_sparse(),
    torch.ones(5, 3).double(),
    1e300 * EYE,
    X,
]
ODD += [
    EYE.to(torch.complex128),
    torch.zeros(0, 3).double(),
    torch.zeros(3, 3).double(),
    X[..., 0],
    ODD_SIZE,
    100,
]


def good_arguments(call, rng):
    """Return a good value of every parameter that has one; the rest keep their defaults."""
    own = next((values for function, values in OWN if function is call), {})
    given = {}
    for name, parameter in inspect.signature(call).parameters.items():
        if name in own or (
            name in GOOD and parameter.default is inspect.Parameter.empty
        ):
            given[name] = own.get(name, GOOD.get(name))
    if given.get("task") is GOOD["task"] and rng.random() < 0.3:
        given["task"] = TASKS[rng.integers(len(TASKS))]
    return given


def names_a_value(text, given):
    """Return whether an error quotes an argument, or says what its shape, type or entries are."""
    quoted = any(shown(value)[:12] in text for value in given.values())
    kinds = (
        r"shape|dtype|is torch|is an? |entr(y|ies)|sparse|length|numbers|rows|columns"
        r"|zero|vectors|broadcast"
    )
    return quoted or re.search(rf"{kinds}|\b({'|'.join(given)})=", text)


def numbers_of(value):
    """Yield all arrays of a result."""
    if isinstance(value, torch.Tensor):
        dense = (
            value.detach().to_dense()
            if value.layout is not torch.strided
            else value.detach()
        )
        yield dense.double().numpy()
    elif isinstance(value, np.ndarray | float | np.floating):
        yield np.asarray(value if np.isrealobj(value) else np.abs(value), dtype=float)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from numbers_of(entry)
    elif dataclasses.is_dataclass(value):
        yield from numbers_of(
            [getattr(value, field.name) for field in dataclasses.fields(value)]
        )


#: Functions whose documentation says that they do not look at entries, or may give infinity.
DOCUMENTED = {
    *(getattr(attention, name) for name in attention.__all__ if name.islower())
}
DOCUMENTED |= {
    statistics.median_interval
}  # the whole line, where too few values are given


#: Words of an error that says what is allowed.
ALLOWED = "must|allowed|need|to_dense|shrink|no minimum|too large|agree|fill|finite|broadcast|has rows|known"


def fault_of(call, given):
    """Return what is wrong with the outcome of a call, or an empty text."""
    # `train_grid` hands its lists on entry by entry; what belongs to several arguments has other words
    names = [
        *inspect.signature(call).parameters,
        "task",
        "leading dimensions",
        "shapes?",
        "logits",
        "lists",
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = call(**given)
        except (
            ValueError,
            TypeError,
            IndexError,
            OverflowError,
            NotImplementedError,
        ) as error:
            text = str(error)
            if "\n" in text or len(text) > 700:
                return f"is not one line: {text!r}"
            if not re.search(rf"\b({'|'.join(names)})\b", text):
                return f"names no parameter: {type(error).__name__}: {text}"
            if not re.search(ALLOWED, text):
                return f"does not say what is allowed: {type(error).__name__}: {text}"
            if not names_a_value(text, given):
                return f"names no value: {type(error).__name__}: {text}"
            return ""
        except Exception as error:
            return f"ends in {type(error).__name__}: {error}"
    unnoticed = not any(
        issubclass(w.category, RuntimeWarning | UserWarning) for w in said
    )
    if (
        call not in DOCUMENTED
        and unnoticed
        and not all(np.isfinite(a).all() for a in numbers_of(result))
    ):
        return f"returns {result!r}"
    foreign = [
        w for w in said if re.search(r"encountered in|divide by zero", str(w.message))
    ]
    return f"warns of {foreign[0].message}" if foreign else ""


def shown_call(call, given):
    name = getattr(call, "__qualname__", repr(call))
    return f"{name}({', '.join(f'{k}={str(v)[:60]!r}' for k, v in given.items())})"


def test_good_arguments_are_taken():
    rng = np.random.default_rng(0)
    for call in dict.fromkeys(FUNCTIONS):
        given = good_arguments(call, rng)
        parameters = inspect.signature(call).parameters.values()
        if all(
            p.name in given or p.default is not p.empty or p.kind == p.VAR_KEYWORD
            for p in parameters
        ):
            try:
                call(**given)
            except Exception as error:
                pytest.fail(
                    f"{shown_call(call, given)}: {type(error).__name__}: {error}"
                )


def test_odd_arguments_give_finite_numbers_or_one_clear_line():
    rng, faults = np.random.default_rng(SEED), {}
    for _ in range(CALLS):
        call = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        given = good_arguments(call, rng)
        parameters = inspect.signature(call).parameters
        names = [
            name
            for name in parameters
            if parameters[name].kind != inspect.Parameter.VAR_KEYWORD
        ]
        for name in names:
            if rng.random() < 1.2 / len(names) or (
                name not in given
                and parameters[name].default is inspect.Parameter.empty
            ):
                odd = ODD[rng.integers(len(ODD))]
                if name == "steps" and odd is ODD_SIZE:
                    continue  # allowed, and takes a week
                given[name] = odd
        fault = fault_of(call, given)
        if fault:
            faults[shown_call(call, given)] = fault
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(
        f"{k} {v}" for k, v in faults.items()
    )
