"""The public functions of `icl` and a good value of each of their arguments, for tests that try bad ones.

Public are the names in the ``__all__`` of every module of `icl`, those of modules that lie in no package and
have none, and the methods of public classes. Each is called, or is in `EXEMPT` with the reason.
"""

import importlib
import inspect
import pkgutil

import numpy as np
import torch

import icl
from icl.checks import integer
from icl.covariates import uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.streams import stream
from icl.tasks import Affine, QuadraticRisk, ReLU, Zonal

EYE, X = torch.eye(3).double(), torch.arange(120.0).reshape(8, 5, 3).double().cos()
UNIT = UnitConfig(Affine(3), 1.0, 4, 0)
TRAINED = pretrain([UNIT], 1, 4)
TOKENS = uniform_sphere(stream(0, "noise"), 2, 5, 3)
DATA = dict(X=X[:, 0].numpy(), y=X[:, 1, 0].numpy())
LABELED = DATA | dict(y=np.arange(8) % 2)
MANY = np.random.default_rng(0).standard_normal((7, 3))
MAP = np.cos(np.arange(32.0)).reshape(4, 8)
FORM = QuadraticRisk.of(ReLU(3), TOKENS, 1.0)

RESULT = "a result, made by functions that check their arguments"
LOOP = "numba compiles it, and what calls it checks the arguments"

#: Public names that are not called, and why.
EXEMPT = {
    "icl.checks.affordable": "a part of checks, asked with what is checked",
    "icl.checks.broadcast": "a part of checks, asked with what is checked",
    "icl.checks.column_names": "returns None unless the value is a data frame",
    "icl.checks.device": "a check, which the functions with a device try here",
    "icl.checks.choice": "a check, which test_checks tries value by value",
    "icl.checks.flag": "a check, which test_checks tries value by value",
    "icl.checks.integer": "a check, which test_checks tries value by value",
    "icl.checks.matrices": "a check, which test_checks tries value by value",
    "icl.checks.matrix_rows": "a check, which test_checks tries value by value",
    "icl.checks.real": "a check, which test_checks tries value by value",
    "icl.checks.reals": "a check, which test_checks tries value by value",
    "icl.checks.same_columns": "a check, which test_data tries, and which lets all but data frames pass",
    "icl.checks.sequence": "returns None unless the value is a sequence",
    "icl.checks.shown": "returns the text of anything",
    "icl.checks.table": "a check, which test_data tries value by value",
    "icl.checks.tensor": "a check, which the functions of tensors try here",
    "icl.checks.masked_as_nan": "returns NaN for what is masked, and anything else as it is",
    "icl.checks.without_text": "a check, which test_regressor tries, and which lets all but text pass",
    "icl.compiled.can_compile": "takes nothing",
    "icl.compiled.batches.label": LOOP,
    "icl.compiled.batches.place": LOOP,
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
    """A user-defined class that gives its covariance alone."""

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
        LABELED,
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
    return [
        name
        for name, value in inspect.getmembers(kind, callable)
        if name[0] != "_" and getattr(value, "__module__", "").startswith("icl.")
    ]


def parameters_of(call):
    return {
        key: parameter
        for key, parameter in inspect.signature(call).parameters.items()
        if parameter.kind != inspect.Parameter.VAR_KEYWORD
    }


def good_arguments(name, call, rng=None):
    own, given = OWN.get(name, {}), {}
    for key, parameter in inspect.signature(call).parameters.items():
        if key in own or (key in GOOD and parameter.default is inspect.Parameter.empty):
            given[key] = own.get(key, GOOD.get(key))
    if rng is not None and given.get("task") is GOOD["task"] and rng.random() < 0.3:
        given["task"] = TASKS[rng.integers(len(TASKS))]
    return given


def instance(name, kind):
    return INSTANCES.get(name) or kind(**good_arguments(name, kind))


def methods(name, kind):
    """Yield the name and the bound method of each public method of a public class, unless it is exempt."""
    for method in public_methods(kind):
        full = f"{name}.{method}"
        if full not in EXEMPT:
            made = instance(name, kind)
            yield full, sampled(made) if method == "sample" else getattr(made, method)


PUBLIC = public_names()
INSTANCES["icl.regressor.SoftmaxAttentionClassifier"].fit(**LABELED)
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
