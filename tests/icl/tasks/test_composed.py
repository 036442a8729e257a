"""Projected classes and random networks; both memory layouts give the same functions and tokens."""

import numpy as np
import pytest
import torch

from icl.covariates import Ellipsoid, LowRank, Sphere, normalize, reversed_axes
from icl.streams import NativeStream, stream
from icl.tasks import Affine, Cosine, Linear, Network, Projected, Quadratic, ReLU

BASIS = np.linalg.qr(stream(0, "evaluation").standard_normal((4, 2))).Q
TASKS = [
    Affine(4, 2.0),
    ReLU(4, 2.0),
    Cosine(4, 2.0),
    Linear(4, 2.0, 1.0),
    Quadratic(4),
    Network(4, 2.0, 5),
]
TASKS += [Projected(Cosine(2, 4.0), BASIS.T)]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_functions_do_not_depend_on_the_memory_layout(task):
    rows = normalize(torch.from_numpy(stream(0, "covariates").standard_normal((6, 7, 4))))
    f = task.sample(stream(0, "tasks"), 6)
    strided = reversed_axes(reversed_axes(rows).contiguous())
    assert strided.stride() == (1, 6, 42) and torch.equal(strided, rows)
    assert torch.allclose(f(rows), f(strided), rtol=1e-13, atol=1e-13)
    values = task.sample(NativeStream(0, "tasks"), 6)(rows.float())
    assert values.shape == (6, 7) and values.dtype == torch.float32


@pytest.mark.parametrize(
    "law", [Sphere(4), LowRank(BASIS), Ellipsoid(np.arange(16.0).reshape(4, 4))]
)
def test_tokens_do_not_depend_on_the_memory_layout(law):
    normal = torch.from_numpy(stream(0, "covariates").standard_normal((6, 7, 4)))
    strided = reversed_axes(reversed_axes(normal).contiguous())
    assert torch.allclose(law.from_normal(normal), law.from_normal(strided), rtol=1e-12, atol=1e-12)


def test_projected_functions():
    task = Projected(Linear(2, 1.0, 2.0), BASIS.T)
    x = torch.from_numpy(stream(0, "covariates").standard_normal((6, 7, 4)))
    a = Linear(2).sample(stream(0, "tasks"), 6)
    assert torch.allclose(task.sample(stream(0, "tasks"), 6)(x), a(x @ torch.from_numpy(BASIS)) + 2)
    assert hash(task) == hash(Projected(Linear(2, 1.0, 2.0), BASIS.T)) and task.dim == 4
