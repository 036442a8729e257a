"""Classes are equal exactly if all their values are equal, because results are cached by equality."""

import inspect
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch

from icl import tasks
from icl.streams import NativeStream, stream

MAP = np.random.default_rng(0).standard_normal((6, 12))
#: Another value of each field. A new field raises a KeyError until it gets a value here.
OTHER = {
    "dim": 4,
    "lipschitz": 2.0,
    "scale": 2.0,
    "offset": 1.0,
    "steepness": 2.0,
    "degree": 2,
    "hidden": 8,
    "power": (0.0, 2.0),
    "rest": 0.5,
    "values": -MAP,
    "task": tasks.ReLU(2),
    "matrix": np.eye(2, 3) * 2,
}


def one_of(kind):
    if kind is tasks.Globe:
        return tasks.globe(MAP, 2)
    if kind is tasks.Projected:
        return kind(tasks.Affine(2), np.eye(2, 3))
    return kind(3)


#: Every public class of `icl.tasks` whose values may be compared.
KINDS = [
    kind
    for kind in (getattr(tasks, name) for name in tasks.__all__)
    if is_dataclass(kind) and inspect.isclass(kind) and kind.__dataclass_params__.eq
]
CASES = [
    pytest.param(kind, field.name, id=f"{kind.__name__}-{field.name}")
    for kind in KINDS
    for field in fields(kind)
    if field.init and (kind, field.name) != (tasks.Globe, "dim")
]


@pytest.mark.parametrize("kind, name", CASES)
def test_a_class_with_one_other_value_is_another_class(kind, name):
    task = one_of(kind)
    other = replace(task, **{name: OTHER[name]})
    assert task == replace(task) and hash(task) == hash(replace(task))
    assert task != other and len({task, other}) == 2


ZONAL = [kind for kind in KINDS if issubclass(kind, tasks.Zonal) and kind is not tasks.Zonal]


@pytest.mark.parametrize("kind", ZONAL)
def test_an_invalid_number_of_functions_is_refused_in_one_line(kind):
    task = one_of(kind)
    for count in (None, 2.5, -1, "3", True, np.nan, [2], 10**9, 10**400):
        for rng in (stream(0, "tasks"), NativeStream(0, "tasks")):
            with pytest.raises(ValueError, match="^count=") as error:
                task.sample(rng, count)
            assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="^rng=None: must be a generator"):
        task.sample(None, 2)


@pytest.mark.parametrize("kind", ZONAL)
def test_a_whole_number_of_functions_is_drawn(kind):
    task = one_of(kind)
    x = torch.nn.functional.normalize(torch.ones(2, 4, task.dim).double(), dim=-1)
    for count in (2, 2.0, np.int8(2), torch.tensor(2)):
        assert task.sample(stream(0, "tasks"), count)(x).shape == (2, 4)
    assert task.sample(stream(0, "tasks"), 0)(x[:0]).shape == (0, 4)
