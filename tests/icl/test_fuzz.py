"""Any argument of any public function gives finite numbers, a warning, or one line that says what is allowed.

Public are the names in the ``__all__`` of every module of `icl`, those of modules that lie in no package and
have none, and the methods of public classes. Each is called, or is in `EXEMPT` with the reason.

Three thousand calls with a fixed seed. Half of the arguments of a call are good, so that the others are seen.
"""

import dataclasses
import importlib
import inspect
import math
import pkgutil
import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import icl
from icl.checks import integer, shown
from icl.covariates import uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.streams import stream
from icl.tasks import Affine, QuadraticRisk, ReLU, Zonal

CALLS, SEED = 3000, 20240607
EYE, X = torch.eye(3).double(), torch.arange(120.0).reshape(8, 5, 3).double().cos()
UNIT = UnitConfig(Affine(3), 1.0, 4, 0)
TRAINED = pretrain([UNIT], 1, 4)
TOKENS = uniform_sphere(stream(0, "noise"), 2, 5, 3)
DATA = dict(X=X[:, 0].numpy(), y=X[:, 1, 0].numpy())
CLASSES = DATA | dict(y=np.arange(8) % 2)
# six tokens and more: a third is held out
MANY = np.random.default_rng(0).standard_normal((7, 3))
MAP = np.cos(np.arange(32.0)).reshape(4, 8)
FORM = QuadraticRisk.of(ReLU(3), TOKENS, 1.0)

RESULT = "a result, made by functions that check their arguments"
LOOP = "numba compiles it, and what calls it checks the arguments"

#: Public names that are not called, and why.
EXEMPT = {
    "icl.checks.affordable": "a part of checks, asked with what is checked",
    "icl.checks.broadcast": "a part of checks, asked with what is checked",
    "icl.checks.column_names": "returns None for what is no data frame",
    "icl.checks.device": "a check, which the functions with a device try here",
    "icl.checks.choice": "a check, which test_bad_input tries value by value",
    "icl.checks.flag": "a check, which test_bad_input tries value by value",
    "icl.checks.integer": "a check, which test_bad_input tries value by value",
    "icl.checks.matrices": "a check, which test_bad_input tries value by value",
    "icl.checks.matrix_rows": "a check, which test_bad_input tries value by value",
    "icl.checks.real": "a check, which test_bad_input tries value by value",
    "icl.checks.reals": "a check, which test_bad_input tries value by value",
    "icl.checks.same_columns": "a check, which test_data tries, and which lets all but data frames pass",
    "icl.checks.sequence": "returns None for what is no sequence",
    "icl.checks.shown": "returns the text of anything",
    "icl.checks.table": "a check, which test_data tries value by value",
    "icl.checks.tensor": "a check, which the functions of tensors try here",
    "icl.checks.masked_as_nan": "returns NaN for what is masked, and anything else as it is",
    "icl.checks.without_text": "a check, which test_regressor tries, and which lets all but text pass",
    "icl.compiled.can_compile": "takes nothing",
    "icl.compiled.jit.compiled": LOOP,
    "icl.compiled.normal.normal": LOOP,
    "icl.compiled.polynomials.take": LOOP,
    "icl.compiled.training.take_steps": LOOP,
    "icl.data.BestWindow": RESULT,
    "icl.data.BestWindow.plot": "axes are matplotlib's, which says what is wrong with them",
    "icl.directions.BestMatrix": RESULT,
    "icl.pretrain.Pretrained": RESULT,
    "icl.risk.GaussianDistance": RESULT,
    "icl.risk.GaussianWindow": RESULT,
    "icl.risk.Heads": RESULT,
    "icl.risk.KrigingBounds": RESULT,
    "icl.risk.LinearOptimum": RESULT,
    "icl.risk.MatrixRisk": RESULT,
    "icl.risk.MonteCarlo": RESULT,
    "icl.risk.OptimalWindow": RESULT,
    "icl.risk.Risk": RESULT,
    "icl.risk.SplitRisk": RESULT,
    "icl.risk.WindowRisk": RESULT,
    "icl.risk.asymptotics.WindowLaw": RESULT,
    "icl.regressor.SoftmaxAttentionClassifier": "scikit-learn asks that `fit` checks them",
    "icl.regressor.SoftmaxAttentionRegressor": "scikit-learn asks that `fit` checks them",
    "icl.tasks.Function": "a type for annotations",
    "icl.tasks.QuadraticRisk": RESULT,
    "icl.tasks.Task": "a protocol: what pretraining asks of a class",
    "icl.tasks.Task.sample": "a protocol: what pretraining asks of a class",
    "icl.tasks.Zonal.covariance": "each class has its own",
    "icl.tasks.Zonal.sample": "each class has its own",
    "icl.tasks.check_task": "a check, which every function of a class tries here",
}


class Own(Zonal):
    """A class of one's own, which gives its covariance alone."""

    def covariance(self, cosine):
        return 1 + np.asarray(cosine) + np.asarray(cosine) ** 2


def sampled(task):
    """Return the method `sample`, followed by a call of the functions, whose numbers count."""

    def sample(rng, count):
        functions = task.sample(rng, count)
        points = torch.ones(integer(count, "count"), 1, task.dim).double()
        return functions(points / task.dim**0.5)

    return sample


def uniform_points(rng, count):
    return uniform_sphere(rng, count, 3)


#: What is called in place of a public name, so that the fuzz sees names of arguments and numbers.
INSTEAD = {"icl.covariates.uniform_sphere": uniform_points}

#: Instances whose methods are called; other classes are made of good arguments.
INSTANCES = {
    "icl.regressor.SoftmaxAttentionClassifier": icl.SoftmaxAttentionClassifier(),
    "icl.regressor.SoftmaxAttentionRegressor": icl.SoftmaxAttentionRegressor(),
    "icl.tasks.QuadraticRisk": FORM,
    "icl.tasks.Zonal": Own(3),
}

#: A good value of each parameter; where functions disagree, in `OWN`.
GOOD = {
    **dict.fromkeys(["dim", "n", "context_length", "contexts", "batch_size", "count"], 5),
    **dict.fromkeys(["rank", "steps", "seeds", "degree", "nodes", "hidden", "rows", "cols"], 2),
    **dict.fromkeys(["w", "noise_std", "lipschitz", "ratio", "c", "step"], 1.0),
    **dict.fromkeys(["m", "e", "initial_std", "steepness", "mass"], 0.5),
    **dict.fromkeys(["task", "trained", "tested", "tasks"], ReLU(3)),
    **dict.fromkeys(["A1", "A2", "X", "B", "V"], EYE),
    **dict.fromkeys(["M", "W_V", "W_K", "W_Q", "matrix"], EYE),
    **dict.fromkeys(["cosine", "theta"], [0.1, 0.5]),
    **dict.fromkeys(["tokens", "values", "normal"], X),
    **dict.fromkeys(["weights", "a", "b"], FORM.kriging()),
    "shared_tokens": False,
    "basis": np.eye(3)[:, :1],
    "times": [0.0, 1.0],
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
    "rng": stream(0, "noise"),
    "low": 0.0,
    "high": 1.0,
    "shape": (2, 3),
    "queries": X[:, 0].numpy(),
    "optimizer": "adam",
    "schedule": "linear",
    "stream": "portable",
    "dtype": "float64",
}

OWN = {
    "icl.attention.full_unit": dict(tokens=X),
    "icl.covariates.Sphere": dict(dim=3),
    "icl.data.best_window": DATA | dict(groups=[0, 1] * 4),
    "icl.directions.best_matrix": {"X": MANY, "y": MANY[:, 0], "kind": "full"},
    "icl.data.predict": DATA,
    "icl.pretrain.metrics.evaluation_error": dict(M=np.eye(3)),
    "icl.pretrain.pretrain": dict(steps=1),
    "icl.pretrain.train_grid": dict(steps=1),
    **dict.fromkeys(
        [
            f"icl.regressor.SoftmaxAttentionClassifier.{name}"
            for name in ("fit", "predict", "predict_proba", "score")
        ],
        CLASSES,
    ),
    "icl.regressor.SoftmaxAttentionRegressor.fit": DATA,
    "icl.regressor.SoftmaxAttentionRegressor.predict": DATA,
    "icl.regressor.SoftmaxAttentionRegressor.score": DATA,
    "icl.risk.heads_risk": dict(windows=[2.0, -1.0], values=[1.2, -0.3]),
    "icl.risk.length_price": dict(n0=5, N=50, rule="log n"),
    "icl.risk.low_rank_risk": dict(dim=5, rank=2),
    "icl.streams.NativeStream": dict(name="noise"),
    "icl.streams.stream": dict(name="noise"),
    "icl.tasks.Globe": dict(dim=3, values=MAP),
    "icl.tasks.Projected": dict(matrix=np.eye(3)),
    "icl.tasks.globe": dict(values=MAP),
    "icl.tasks.QuadraticRisk.of": dict(tokens=TOKENS),
    "icl.tensor_trick.gradient": dict(B=EYE),
    "icl.tensor_trick.loss": dict(B=EYE),
    "icl.tensor_trick.unvec": dict(x=X[0, 0, :1], rows=None, cols=None),
}


def public_names():
    """Return what each public name of `icl` is; the first name of what has several."""
    found = {}
    for info in [*pkgutil.walk_packages(icl.__path__, "icl.")]:
        module = importlib.import_module(info.name)
        package = importlib.import_module(info.name.rpartition(".")[0])
        names = getattr(module, "__all__", None)
        if names is None and (package is icl or not hasattr(package, "__all__")):
            names = [
                name
                for name, value in vars(module).items()
                if getattr(value, "__module__", "") == info.name and name[0] != "_"
            ]
        for name in names or []:
            value = getattr(module, name)
            if callable(value) and value not in found:
                found[value] = f"{info.name}.{name}"
    return {name: value for value, name in found.items()}


def public_methods(kind):
    """Return the names of the methods of a class that this package defines."""
    return [
        name
        for name, value in inspect.getmembers(kind, callable)
        if name[0] != "_" and getattr(value, "__module__", "").startswith("icl.")
    ]


def parameters_of(call):
    """Return the parameters of a function that have a name."""
    return {
        key: parameter
        for key, parameter in inspect.signature(call).parameters.items()
        if parameter.kind != inspect.Parameter.VAR_KEYWORD
    }


def good_arguments(name, call, rng=None):
    """Return a good value of every parameter that has one; the rest keep their defaults."""
    own, given = OWN.get(name, {}), {}
    for key, parameter in inspect.signature(call).parameters.items():
        if key in own or (key in GOOD and parameter.default is inspect.Parameter.empty):
            given[key] = own.get(key, GOOD.get(key))
    if rng is not None and given.get("task") is GOOD["task"] and rng.random() < 0.3:
        given["task"] = TASKS[rng.integers(len(TASKS))]
    return given


def instance(name, kind):
    """Return an object of a public class."""
    return INSTANCES.get(name) or kind(**good_arguments(name, kind))


def methods(name, kind):
    """Yield the name and the bound method of each public method of a public class, unless it is exempt."""
    for method in public_methods(kind):
        full = f"{name}.{method}"
        if full not in EXEMPT:
            made = instance(name, kind)
            yield full, sampled(made) if method == "sample" else getattr(made, method)


PUBLIC = public_names()
INSTANCES["icl.regressor.SoftmaxAttentionClassifier"].fit(**CLASSES)
INSTANCES["icl.regressor.SoftmaxAttentionRegressor"].fit(**DATA)
FUNCTIONS = {name: INSTEAD.get(name, value) for name, value in PUBLIC.items() if name not in EXEMPT}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
for name, kind in CLASSES.items():
    FUNCTIONS.update(methods(name, kind))
TASKS = [
    instance(name, kind)
    for name, kind in CLASSES.items()
    if name not in {*EXEMPT, *INSTANCES} and issubclass(kind, Zonal)
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
ODD += [np.array(1.0), np.array([]), np.array([1.0, math.nan]), np.eye(2), np.eye(3, dtype=complex)]
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


ODD += [
    np.float32(2.5),
    np.int8(3),
    np.arange(3),
    np.eye(3, dtype=int),
    pd.DataFrame(np.eye(3)),
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    pd.DataFrame({"a": [True, False]}),
    pd.Series([1.0, 2.0]),
    pd.Series([1, None], dtype="Int64"),
]
#: What holds a masked entry, of which no number is known.
MASKED = [
    np.ma.masked,
    np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    np.ma.masked_array(np.eye(3), mask=np.eye(3)),
    np.ma.masked_array(X.numpy(), mask=X.numpy() > 0.9),
    [1.0, np.ma.masked],
    [[1.0, 2.0], np.ma.masked_array([1.0, 2.0], mask=[1, 0])],
]
ODD += MASKED


def names_a_value(text, given):
    """Return whether an error quotes an argument, or says what its shape, type or entries are."""
    quoted = any(shown(value)[:12] in text for value in given.values())
    kinds = (
        r"shape|dtype|is torch|is an? |entr(y|ies)|sparse|length|numbers|rows|columns"
        r"|zero|vectors|broadcast|len\("
    )
    return quoted or re.search(rf"{kinds}|\w(\[[\d, ]+\])?=", text)


def numbers_of(value):
    """Yield all arrays of a result."""
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        yield dense.double().numpy()
    elif isinstance(value, np.ndarray | float | np.floating):
        number = np.asarray(value).dtype.kind in "biufc"
        yield np.abs(value) if number else np.array(math.nan)
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from numbers_of(entry)
    elif dataclasses.is_dataclass(value):
        yield from numbers_of([getattr(value, field.name) for field in dataclasses.fields(value)])


COUNT = [0, 2.5, "20", True, math.nan, 10**400]
LEVEL = [-1.0, math.inf, math.nan, "1", True, 1e160]  # numbers from zero on
SCALE = [0.0, *LEVEL]
SEEDS = [-1, 1.5, True, np.bool_(1), 2**64]
FLAG = ["no", 0, None, [], torch.tensor(True)]
#: Values of each parameter that every function which has it refuses.
REFUSED = {
    **dict.fromkeys(["batch_size", "contexts", "context_length", "n", "steps", "seeds"], COUNT),
    **dict.fromkeys(["dim", "hidden", "rank", "width", "n0", "N"], COUNT),
    **dict.fromkeys(["c", "initial_std", "noise_std", "w"], LEVEL),
    **dict.fromkeys(["lipschitz", "steepness"], SCALE),
    **dict.fromkeys(["seed", "step"], SEEDS),
    "shared_tokens": FLAG,
    "degree": [-1, *COUNT[1:]],
    "learning_rate": [value for value in SCALE if value != 1e160],
}
#: Laws of long contexts, which take any number of tokens.
LAWS = {"icl.risk.asymptotics.sharp_window"}

#: Functions whose documentation says that they do not look at entries, or may give infinity.
DOCUMENTED = re.compile(
    r"icl\.(attention\.|covariates\.\w+\.from_normal|tasks\.QuadraticRisk\.|tensor_trick\.)"
)
#: Functions of tensors, which leave all but some shapes to PyTorch; `test_doors` has these.
BY_PYTORCH = re.compile(r"icl\.(attention|tensor_trick)\.")


#: Words of an error that says what is allowed.
ALLOWED = "must|allowed|need|to_dense|shrink|no minimum|too large|agree|fill|finite|broadcast|has rows|known"


def is_masked(value):
    """Return whether a value is or holds a masked entry."""
    if isinstance(value, list | tuple):
        return any(map(is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def fault_of(name, call, given):
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
        except (ValueError, TypeError, IndexError, OverflowError, NotImplementedError) as error:
            if BY_PYTORCH.match(name):
                return ""
            text = str(error)
            frames = traceback.walk_tb(error.__traceback__)
            packages = [f.f_globals["__name__"].partition(".")[0] for f, _ in frames]
            if [p for p in packages if p in ("icl", "sklearn")][-1:] == ["sklearn"]:
                return ""  # the estimator refuses as all of scikit-learn's do
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
            if BY_PYTORCH.match(name):
                return ""
            return f"ends in {type(error).__name__}: {error}"
    if any(map(is_masked, given.values())) and not BY_PYTORCH.match(name):
        return f"takes a masked entry and returns {result!r}"
    unnoticed = not any(issubclass(w.category, RuntimeWarning | UserWarning) for w in said)
    if (
        not DOCUMENTED.match(name)
        and unnoticed
        and not all(np.isfinite(a).all() for a in numbers_of(result))
    ):
        return f"returns {result!r}"
    foreign = [w for w in said if re.search(r"encountered in|divide by zero", str(w.message))]
    return f"warns of {foreign[0].message}" if foreign else ""


def shown_call(name, given):
    return f"{name}({', '.join(f'{k}={str(v)[:60]!r}' for k, v in given.items())})"


def test_every_public_name_is_called_or_exempt_with_a_reason():
    known = {*PUBLIC, *(f"{c}.{m}" for c in CLASSES for m in public_methods(CLASSES[c]))}
    assert set(EXEMPT) <= known and all(map(str.strip, EXEMPT.values()))
    assert known - set(EXEMPT) == set(FUNCTIONS) - set(EXEMPT)
    assert set(OWN) <= set(FUNCTIONS) and set(INSTEAD) <= set(FUNCTIONS)
    assert {"icl.data.predict", "icl.tasks.globe", "icl.tasks.Sign.sample"} <= known


@pytest.mark.parametrize("name", FUNCTIONS)
def test_good_arguments_are_taken(name):
    FUNCTIONS[name](**good_arguments(name, FUNCTIONS[name]))


def is_taken(call, given):
    try:
        call(**given)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not BY_PYTORCH.match(name)])
def test_a_masked_entry_is_refused_and_a_mask_without_one_is_not(name):
    call = FUNCTIONS[name]
    good = good_arguments(name, call)
    for key in parameters_of(call):
        given = good | {key: np.ma.masked}
        assert not (fault := fault_of(name, call, given)), shown_call(name, given) + fault
        try:
            plain = np.asarray(good.get(key), dtype=float)
        except (TypeError, ValueError):
            continue
        if plain.ndim == 0 or plain.size == 0:
            continue
        masked = np.ma.masked_array(plain, np.arange(plain.size).reshape(plain.shape) < 1)
        for value in (masked, [*masked]):
            given = good | {key: value}
            fault = fault_of(name, call, given)
            assert not fault, f"{shown_call(name, given)} {fault}"
        if is_taken(call, good | {key: plain}):
            assert is_taken(call, good | {key: np.ma.masked_array(plain)})


def refusals():
    """Yield each public function with each of its parameters that `REFUSED` names."""
    for name, call in FUNCTIONS.items():
        for key in filter(REFUSED.__contains__, parameters_of(call)):
            yield pytest.param(name, key, id=f"{name.removeprefix('icl.')}-{key}")


@pytest.mark.parametrize("name, key", [*refusals()])
def test_a_number_out_of_range_is_refused_in_one_line(name, key):
    call = FUNCTIONS[name]
    for value in REFUSED[key]:
        if key == "n" and value == 2.5 and name in LAWS:
            continue
        with pytest.raises(ValueError, match=re.escape(f"{key}={value!r}"[:100])) as caught:
            call(**good_arguments(name, call) | {key: value})
        assert "\n" not in str(caught.value)


def test_the_tables_name_functions_and_parameters_that_there_are():
    """Names of functions that were gone had stayed in them."""
    assert LAWS <= FUNCTIONS.keys()
    known = {key for call in FUNCTIONS.values() for key in parameters_of(call)}
    assert (GOOD.keys() | REFUSED.keys()) - known == set(), "no function has these"


def test_odd_arguments_give_finite_numbers_or_one_clear_line(tmp_path, monkeypatch):
    # texts are among them, which are taken for names of files
    monkeypatch.chdir(tmp_path)
    rng, faults = np.random.default_rng(SEED), {}
    names = list(FUNCTIONS)
    for _ in range(CALLS):
        name = names[rng.integers(len(names))]
        call = FUNCTIONS[name]
        given = good_arguments(name, call, rng)
        parameters = parameters_of(call)
        for key, parameter in parameters.items():
            if rng.random() < 1.2 / len(parameters) or (
                key not in given and parameter.default is inspect.Parameter.empty
            ):
                odd = ODD[rng.integers(len(ODD))]
                if key in ("steps", "shape") and odd is ODD_SIZE:
                    continue  # allowed, and takes a week, or eight gigabytes
                if callable(odd) and callable(given.get(key, parameter.default)):
                    continue  # what a function raises is its own affair
                given[key] = odd
        fault = fault_of(name, call, given)
        if fault:
            faults[shown_call(name, given)] = fault
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(f"{k} {v}" for k, v in faults.items())
