"""Any argument of any public function gives finite numbers, a warning, or one line that says what is allowed.

Half of the arguments of a call are good, so that the others are seen. The module `arguments` lists the
functions.
"""

import dataclasses
import inspect
import math
import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from arguments import (
    CLASSES,
    EXEMPT,
    EYE,
    FUNCTIONS,
    GOOD,
    INSTEAD,
    OWN,
    PUBLIC,
    X,
    good_arguments,
    parameters_of,
    public_methods,
)
from icl.checks import shown

CALLS, SEED = 3000, 20240607

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
LEVEL = [-1.0, math.inf, math.nan, "1", True, 1e160]  # these numbers start at zero
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
#: Functions of tensors, which leave most checks to PyTorch; `test_argument_errors` has the others.
BY_PYTORCH = re.compile(r"icl\.(attention|tensor_trick)\.")


#: Words of an error that says what is allowed.
ALLOWED = "must|allowed|need|to_dense|shrink|no minimum|too large|agree|fill|finite|broadcast|has rows|known"


def is_masked(value):
    if isinstance(value, list | tuple):
        return any(map(is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def fault_of(name, call, given):
    """Return what is wrong with the outcome of a call, or an empty text."""
    # `train_grid` hands its lists on entry by entry.
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
                return ""  # the estimator raises the errors of scikit-learn
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


def test_the_tables_name_existing_functions_and_parameters():
    assert LAWS <= FUNCTIONS.keys()
    known = {key for call in FUNCTIONS.values() for key in parameters_of(call)}
    assert (GOOD.keys() | REFUSED.keys()) - known == set(), "no function has these"


def test_odd_arguments_give_finite_numbers_or_one_clear_line(tmp_path, monkeypatch):
    # Some texts would be names of files.
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
                    continue  # these are allowed, but take a week or eight gigabytes
                if callable(odd) and callable(given.get(key, parameter.default)):
                    continue  # the body of a user's function may raise anything
                given[key] = odd
        fault = fault_of(name, call, given)
        if fault:
            faults[shown_call(name, given)] = fault
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(f"{k} {v}" for k, v in faults.items())
