"""Every public function that takes a class, of `icl.risk` and of its laws, found by its signature."""

import inspect
import re

import numpy as np

from icl import risk
from icl.risk import asymptotics

#: A value of each parameter but the class; what a function has more is a KeyError, so that it is put here.
GOOD = {
    "w": 5.0,
    "n": 20,
    "noise_std": 0.5,
    "m": 1.5,
    "M": np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.5], [0.5, 0.0, 1.0]]),
    "times": [0.0, 1.0, 300.0],
    "ratio": 2.0,
    "contexts": 100,
    "seed": 0,
    "windows": [4.0, -1.0],
    "values": [1.2, -0.3],
    "heads": 2,
}
RISKS = {"total", "mean", "risk", "floor", "lower", "upper"}
SETTINGS = {"w", "m", "slope", "gradient", "order", "constant"}
SETTINGS |= {"windows", "values"}
#: What `total` and `slope` are sums of, how well a number is known, and what is not a number of the class.
PARTS = {"bias", "noise", "bias_slope", "noise_slope", "error", "standard_error"}
PARTS |= {"blur", "scatter"}
PARTS |= {"contexts", "interval", "dim", "exponent", "noise_over_bias"}


def classes_of(call):
    parameters = inspect.signature(call).parameters.values()
    return [p.name for p in parameters if p.annotation == "Zonal"]


def functions(*modules):
    found = []
    for module in modules:
        public = [getattr(module, name) for name in module.__all__]
        # a price is a quotient of two risks, and both are in the list
        public = [call for call in public if call is not risk.length_price]
        found += [call for call in public if inspect.isfunction(call) and classes_of(call)]
    return found


ALL = functions(risk, asymptotics)


def numbers(call, task, **other):
    """Return what a function says of a class: its risks by name, and all else by name.

    A refusal that names the fine variance is an empty result.
    """
    given = dict.fromkeys(classes_of(call), task)
    for name, parameter in inspect.signature(call).parameters.items():
        if name not in given:
            given[name] = (GOOD | other)[name]
            assert parameter.kind == parameter.POSITIONAL_OR_KEYWORD
    try:
        result = call(**given)
    except ValueError as refusal:
        assert re.search("rest=|unresolved=", str(refusal)), refusal
        assert "\n" not in str(refusal)
        return {}, {}
    if isinstance(result, tuple):
        return {"total": sum(result)}, {}
    if isinstance(result, np.ndarray | np.floating):
        named = {"value": np.asarray(result)}
        return (named, {}) if call.__name__.endswith("_risk") else ({}, named)
    names = {name for name in dir(result) if not name.startswith("_")}
    assert names <= RISKS | SETTINGS | PARTS, names
    return (
        {name: np.asarray(getattr(result, name)) for name in names & RISKS},
        {name: np.asarray(getattr(result, name)) for name in names & SETTINGS},
    )
