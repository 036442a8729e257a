"""Bad arguments of single functions give one line that names the argument, its value and what is allowed.

What a parameter refuses wherever it stands is a table of `test_fuzz`. The words of the messages stand in
``tests/data/refusals.txt``.
"""

import math
import re

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_array

from arguments import DATA, EYE, FUNCTIONS, UNIT, good_arguments
from icl import SoftmaxAttentionRegressor
from icl.checks import shown
from icl.covariates import Ellipsoid
from icl.pretrain import UnitConfig
from icl.streams import stream
from icl.tasks import Affine, ReLU, Spectrum, Zonal

X, Y = DATA["X"], DATA["y"]
MASK = np.arange(8) == 4
TENSOR = torch.ones(5, 6, 3).double()
MAP = np.ones((4, 8))


class Infinite(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), math.nan)


class Indefinite(Zonal):
    """Its coefficient of ``P_3`` is negative."""

    def covariance(self, cosine):
        return np.asarray(cosine) - 0.3 * np.asarray(cosine) ** 3


class Laplace(Zonal):
    """Positive definite, and too rough for the fit of a spectrum."""

    def covariance(self, cosine):
        return np.exp(-np.sqrt(np.maximum(2 - 2 * np.asarray(cosine), 0)))


class ForNumbers(Zonal):
    """A covariance that takes one number."""

    def covariance(self, cosine):
        return math.exp(cosine - 1)


class Drawn(Affine):
    """Functions that a test makes."""

    def sample(self, rng, count):
        return self.function


def drawn(function):
    return type("Drawn", (Drawn,), {"function": staticmethod(function)})(3)


class Undeclared(Zonal):
    def covariance(self, cosine):
        return ReLU(self.dim).covariance(cosine)


class Declared(Undeclared):
    singular_term = (2.0, 1.0)


def fit(X=X, y=Y, **parameters):
    return SoftmaxAttentionRegressor(**parameters).fit(X, y)


#: Calls whose bad argument goes to a constructor, or whose object must be made first.
CALLS = {name.removeprefix("icl."): call for name, call in FUNCTIONS.items()} | {
    "SoftmaxAttentionRegressor(...).fit": fit,
    "SoftmaxAttentionRegressor(place='as is').fit(X, y).predict": fit(place="as is").predict,
    "tasks.Spectrum(3, (0, 1), rest).sample": (
        lambda rest: Spectrum(3, (0.0, 1.0), rest).sample(stream(0, "tasks"), 2)
    ),
    "SoftmaxAttentionRegressor(w=1).fit(X[:1], y[:1]).predict": (
        lambda return_std: fit(X[:1], Y[:1], w=1.0, place="lift").predict(X, return_std)
    ),
}


def frame(column):
    return pd.DataFrame({"a": X[:, 0], "b": column})


#: Each function with bad arguments of it, of which the first is at fault.
REFUSED = {
    ValueError: {
        "data.predict": [
            dict(X=X[0]),
            dict(X=X[:0], y=Y[:0]),
            dict(X=np.where(X < X.max(), X, math.inf)),
            dict(X=X > 0),
            dict(X=[[1.0, 2.0], [3.0]], y=[0, 1]),
            dict(X=csr_array(X)),
            dict(X=X.view("f8,f8,f8")),
            dict(X=torch.ones(8, 3, device="meta")),
            dict(X=frame([True] * 8)),
            dict(X=frame(["ford"] * 8)),
            dict(X=frame(pd.Categorical(["x"] * 8))),
            dict(X=frame(pd.to_datetime(["2020-01-31"] * 8))),
            dict(X=frame([1, *[None] * 7])),
            dict(X=frame(pd.array([1, 2, *[None] * 6], "Int64"))),
            dict(X=np.ma.masked_array(X, np.outer(MASK, [0, 1, 1]))),
            dict(X=list(np.ma.masked_array(X, X == X[4, 1]))),
            dict(X=1e61 * X),
            dict(X=1e-70 * X),
            dict(X=X * [1, 1e-300, 1]),
            dict(y=Y[:-1]),
            dict(y=5.0),
            dict(y=None),
            dict(y="abc"),
            dict(y=["a"] * 8),
            dict(y=[*Y[1:], None]),
            dict(y=[*Y[1:], 10**400]),
            dict(y=Y + 1j),
            dict(y=np.where(Y > Y.min(), Y, math.nan)),
            dict(y=np.ma.masked_array(Y, MASK)),
            dict(y=list(np.ma.masked_array(Y, MASK))),
            dict(y=1e61 * Y),
            dict(y=1e-170 * Y),
            dict(queries=X[:, :2]),
            dict(queries=np.ma.masked_array(X[0], [0, 0, 1])),
            dict(w=1e151),
            dict(w=np.ma.masked),
        ],
        "data.best_window": [
            dict(X=X[:1], y=Y[:1], groups=None),
            dict(groups=[0] * 8),
            dict(groups=[0, 1]),
            dict(groups=[0, "a", None, *range(5)]),
            dict(groups=[1, "1", *range(6)]),
            dict(groups=[0.0, math.nan, *range(6)]),
            dict(groups=["a", math.nan, *"abcdef"]),
            dict(groups=np.array(["2026-11-27", *["NaT"] * 7], "M8[D]")),
        ],
        "directions.best_matrix": [
            dict(kind="round"),
            dict(X=np.eye(7)[:5], y=np.arange(5.0)),
            dict(groups=[0, 1, 2, 3, 4, 4, 4]),
            dict(same_unit="no"),
            dict(X=np.eye(7) * [1e-160, *[1] * 6], y=np.arange(7.0)),
            dict(y=np.arange(5.0)),
        ],
        "SoftmaxAttentionRegressor(...).fit": [
            dict(w=-1.0, place="lift"),
            dict(w=1.0),
            dict(w=1e200),
            dict(w=math.inf),
            dict(place="moon"),
            dict(X=X[:, :1], place="center"),
            dict(metric="L1"),
            dict(metric="full", place="center"),
            dict(X=1e200 * X, place="as is"),
            dict(X=1e200 * X, place="as is", w=1.0),
            dict(X=1e-170 * X, place="lift"),
            dict(y=1e200 * Y, place="lift", w=1.0),
        ],
        "SoftmaxAttentionRegressor(place='as is').fit(X, y).predict": [dict(X=1e200 * X)],
        "SoftmaxAttentionRegressor(w=1).fit(X[:1], y[:1]).predict": [dict(return_std=True)],
        # PyTorch would broadcast these shapes.
        "attention.softmax_attention": [
            dict(y=TENSOR[..., :1]),
            dict(y=TENSOR[:, :1, 0], x=TENSOR, x_q=TENSOR[:, 0]),
        ],
        "attention.scores": [dict(x=TENSOR[..., :1]), dict(M=EYE[:2]), dict(x_q=TENSOR[0, 0, :1])],
        "attention.weights": [dict(activation="softmx")],
        **dict.fromkeys(
            ["tensor_trick.hvp", "tensor_trick.gradient", "tensor_trick.loss"],
            [
                dict(kind="softmax"),
                dict(B=None),
                *(dict(B=torch.ones(shape).double()) for shape in ((4, 3), (3, 1), (1, 3), (3,))),
            ],
        ),
        "tasks.Projected": [dict(matrix=np.eye(2, 4))],
        "covariates.Ellipsoid": [
            dict(matrix=np.ones((2, 3))),
            dict(matrix=[[math.nan]]),
        ],
        **dict.fromkeys(
            [f"covariates.{law}.from_normal" for law in ("Sphere", "Ellipsoid", "LowRank")],
            [dict(normal=np.ones(3)), dict(normal=torch.ones(2, 4))],
        ),
        "covariates.cap_quantile": [dict(dim=1), dict(mass=-1.0), dict(mass=math.nan)],
        "tasks.Affine.spectrum": [dict(degree=10**9)],
        "tasks.ReLU.spectrum": [dict(degree=10**9)],
        "tasks.Affine.sample": [
            dict(rng=None),
            *(dict(count=count) for count in (None, 2.5, "3", True, [2], 10**9, 10**400)),
        ],
        "tasks.Tanh.covariance": [dict(cosine=c) for c in (3.0, -1.1, math.nan)],
        "tasks.Tanh.variogram": [dict(theta=theta) for theta in (-1.0, 4.0, math.nan)],
        "tasks.Globe": [
            dict(dim=5),
            dict(values=[[0.0] * 8, [math.nan] * 8]),
            dict(values=[1.0] * 8),
        ],
        "tasks.Spectrum": [
            *(
                dict(power=power)
                for power in (
                    (0.0,),
                    2.5,
                    True,
                    {0: 0.0, 1: 1.0},
                    torch.tensor(1.0),
                    np.ones((2, 2)),
                    (0.0, -1.0),
                    (0.0, "1"),
                    (0.0, True),
                    (0.0, 1j),
                    (0.0, math.nan),
                    np.ma.masked_array([0, 1, 1], [0, 0, 1]),
                )
            ),
            dict(rest=-1.0, power=(0.0, 1.0)),
        ],
        "tasks.Spectrum(3, (0, 1), rest).sample": [dict(rest=0.1)],
        "tasks.globe": [
            *(
                dict(values=values)
                for values in (
                    np.ones((4, 8, 2)),
                    [[0.0] * 8, [1.0] * 4 + [math.nan] * 4],
                    np.ma.masked_array(np.eye(4, 8), np.eye(4, 8)),
                    1e60 * MAP,
                    [["1"] * 8] * 4,
                    [[1.0] * 8, [1.0] * 7],
                    {1: 2},
                    MAP > 0,
                    MAP * 1j,
                )
            ),
            dict(degree=5),
        ],
        "tasks.QuadraticRisk.of": [dict(tokens=TENSOR.numpy())],
        "tasks.QuadraticRisk.risk": [dict(weights=TENSOR)],
        "tasks.QuadraticRisk.product": [dict(b=None)],
        "tasks.angle_quadrature": [
            dict(dim=10**30),
            dict(nodes=10**9),
        ],
        "tasks.make_task": [dict(name="plane"), dict(name=None)],
        # Some of these risks give no number, or would not end.
        "risk.population_risk": [
            dict(w=1e12, n=1e30, task=ReLU(2)),
            dict(w=[1, 2], n=[1, 2, 3]),
            dict(task=Infinite(5)),
            dict(task=ForNumbers(3)),
            dict(task=Laplace(3)),
            *(dict(task=Indefinite(dim)) for dim in (2, 3, 5, 64)),
        ],
        "risk.optimal_window": [dict(n=1e20, noise_std=0.1)],
        "risk.matrix_risk": [
            dict(M=1e9 * EYE),
            dict(M=np.eye(2)),
            dict(M=np.diag(np.linspace(2, 8, 7)), task=ReLU(7)),
        ],
        "risk.monte_carlo_risk": [
            dict(n=10**6, task=ReLU(300), contexts=10),
            dict(task=drawn(lambda x: torch.ones(len(x)))),
            dict(task=drawn(lambda x: math.nan * x[..., 0])),
            dict(task=drawn(lambda x: "values")),
            dict(task=drawn(lambda x: None)),
        ],
        "risk.mismatch_risk": [dict(tested=ReLU(4), trained=ReLU(5))],
        "risk.length_price": [
            dict(rule="yarn"),
            dict(rule=-1.0),
            dict(rule=1e30),
            dict(N=2),
            dict(n0=1),
        ],
        "risk.heads_risk": [
            dict(windows=[1.0, 2.0], values=[1.0]),
            dict(windows=[[1.0]], values=[[1.0]]),
            dict(windows=math.nan),
            dict(windows=300.0, values=1.0, n=20),
            dict(windows=[3.0, 3.0 + 1e-7], values=[1e7, 1 - 1e7]),
        ],
        "risk.asymptotics.printed_exponents": [dict(dim=-1), dict(dim=1j)],
        "risk.asymptotics.effective_fraction": [dict(w=1e8, dim=10**4)],
        "risk.asymptotics.window_penalty": [
            *(dict(ratio=ratio) for ratio in (0.0, -1.0, math.nan, math.inf, 1e200)),
            dict(ratio=[1.0, 1e100], task=ReLU(50)),
        ],
        "risk.asymptotics.window_law": [dict(task=Declared(3))],
        "pretrain.UnitConfig": [
            dict(activation="exp"),
            dict(activation=torch.sigmoid),
            dict(initial_std=0.0, activation="relu"),
            dict(initial_std=0.0, width=3),
            dict(covariates=Ellipsoid(np.eye(2)), initial_std=0.0),
        ],
        "pretrain.pretrain": [
            dict(batch_size=10**10),
            dict(record=(2, 1), steps=5),
            dict(stream="fast"),
            dict(device="gpu"),
            dict(units=UNIT),
            dict(units=[]),
            dict(units=[UNIT, UnitConfig(ReLU(4), 1.0, 4, 1)]),
            dict(units=[UNIT, UNIT]),
        ],
        "pretrain.train_grid": [dict(noise_std=[0.1] * 3, tasks=[ReLU(3)] * 2)],
        "pretrain.draw_contexts": [dict(batch_size=10**9)],
        "pretrain.metrics.spectral_norm": [dict(M=math.nan * np.eye(3)), dict(M=[1.0])],
        "pretrain.metrics.evaluation_error": [dict(task=drawn(lambda x: x[:1, :, 0]))],
        "streams.NativeStream": [dict(device="gpu")],
        "streams.NativeStream.standard_normal": [
            dict(shape=shape) for shape in (2.5, (2, -1), None, "3")
        ],
        "streams.NativeStream.uniform": [
            dict(high=math.nan),
            dict(high=0.0, low=1.0),
            dict(low=-1e300),
        ],
    },
    TypeError: {
        "risk.population_risk": [dict(task="affine")],
        "risk.mismatch_risk": [dict(tested="affine")],
        "risk.asymptotics.window_law": [dict(task=Undeclared(3))],
        "tasks.check_class": [dict(task="sine")],
    },
    NotImplementedError: {"risk.monte_carlo_risk": [dict(task=Zonal(3))]},
}


def refusal(name, arguments):
    """Return the error of a call with bad arguments in place of good ones, or what it returned."""
    call = CALLS[name]
    try:
        return call(**good_arguments(f"icl.{name}", call) | arguments)
    except Exception as error:
        return error


def fault_of(found, error, name, value):
    """Return what is wrong with a refusal of an argument, or an empty text."""
    text = str(found)
    if type(found) is not error:
        return f"is not a {error.__name__}"
    if "\n" in text:
        return "is not one line"
    quoted = shown(value)[:20] in text
    described = rf"\b{name}\b.*(=| is | has | have |shape)|shapes .*\b{name}\b|'{name}': "
    return "" if quoted or re.search(described, text) else f"does not name {name} and its value"


def without_digits_of_rounding(text):
    """Return an error without addresses in memory and numbers that are rounding errors."""
    return re.sub(r"(?<= at )0x\w+|(?<=differ by )\S+|(?<=misfit )[^,]+", "...", text)


def test_bad_arguments_are_refused_by_name_and_value_in_approved_words(approved):
    faults, text = [], ""
    for error, calls in REFUSED.items():
        for name, cases in calls.items():
            text += f"== {name}, {error.__name__}\n"
            for arguments in cases:
                found = refusal(name, arguments)
                key, value = next(iter(arguments.items()))
                fault = fault_of(found, error, key, value)
                faults += [f"{name}({key}={shown(value)}) {fault}: {found!r}"] if fault else []
                text += f"{without_digits_of_rounding(str(found))}\n"
            text += "\n"
    assert not faults, "\n".join(faults)
    approved("refusals.txt", text)
