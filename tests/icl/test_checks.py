"""Numbers of NumPy and of PyTorch are taken alike, whatever holds them, and anything else is refused."""

import fractions
import math

import numpy as np
import pytest
import torch

from icl.checks import integer, real, reals
from icl.covariates import cap_quantile
from icl.pretrain import UnitConfig
from icl.risk.numerics.quadrature import meshes
from icl.tasks import Affine, ReLU

NAN = math.nan
UNIT = UnitConfig(Affine(3), 1.0, 4, 0)


def test_no_setting_that_is_accepted_needs_many_nodes():
    rng = np.random.default_rng(0)
    counts = []
    while len(counts) < 100:
        dim = int(10 ** rng.uniform(0.31, 4))
        n = np.array([np.floor(10 ** rng.uniform(0.31, rng.choice([6, 20, 100])))])
        w = 10 ** rng.uniform(-3, rng.choice([3, 10, 40, 100]))
        accepted = w * cap_quantile(dim, 1 / n[0]) < 1e12  # see `integrate`
        if accepted:
            degree = rng.choice([1, 30, 4096, np.inf])
            counts.append(sum(mesh.theta.size for mesh in meshes(dim, w, n, degree)))
    assert max(counts) < 2**23


# ------------------------------------------------------------------------- what numbers are held by
NUMBERS = [
    kind(2) for kind in (int, float, np.int8, np.uint64, np.float16, np.float32, np.longdouble)
]
NUMBERS += [
    fractions.Fraction(2),
    np.array(2),
    torch.tensor(2.0, requires_grad=True),
    torch.tensor(2, dtype=torch.uint8),
    torch.tensor(2.0, dtype=torch.bfloat16),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_a_number_is_taken_whatever_holds_it(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 2
    assert type(real(value, "x")) is float and real(value, "x") == 2.0
    for many in (value, [value, 3], [[value], [value]]):
        numbers = reals(many, "x", 0)
        assert numbers.dtype == np.float64 and numbers.flat[0] == 2.0
    assert ReLU(value, value) == ReLU(2, 2.0)


NO_NUMBERS = [True, 3j, "12", None, int, {1: 2}, [[1, 2], [3]], [True, 2], 10**5000]
NO_NUMBERS += [np.bool_(False), np.array(["1"]), np.longdouble("1e400")]
NO_NUMBERS += [torch.tensor(True), torch.tensor(1j), [torch.tensor(True), 1.0]]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_holds_no_finite_number_is_refused_in_one_line(value):
    for check in (integer, real, lambda v, name: reals(v, name, -math.inf)):
        with pytest.raises(ValueError, match=r"^x=.*must be a") as caught:
            check(value, "x")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_the_callers_array_is_not_handed_on():
    mine = np.array([1.0])
    assert reals(mine, "x", 0) is not mine


def test_equal_units_have_equal_text():
    plain = UnitConfig(Affine(3), 0.5, 8, 2, learning_rate=0.25)
    other = UnitConfig(Affine(3), np.float32(0.5), np.int64(8), np.uint8(2), None, np.float64(0.25))
    assert other == plain and repr(other) == repr(plain)
