"""Any argument gives finite numbers, or an error of one line that names the parameter and its value.

Numbers of NumPy and of PyTorch are taken alike, whatever holds them. What a parameter refuses wherever it
stands is a table of `test_fuzz`, which enumerates the public functions; here is what belongs to one function.
"""

import fractions
import math
from functools import partial

import numpy as np
import pytest
import torch

from icl import risk
from icl.checks import integer, matrix_rows, real, reals
from icl.covariates import Ellipsoid, cap_quantile
from icl.pretrain import UnitConfig, pretrain, train_grid
from icl.risk import matrix_risk, monte_carlo_risk, population_risk
from icl.risk.numerics.quadrature import meshes
from icl.tasks import Affine, Projected, ReLU, Zonal

NAN = math.nan
UNIT = UnitConfig(Affine(3), 1.0, 4, 0)


# ---------------------------------------------------------------- what is refused for another reason
class Infinite(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), NAN)


class Indefinite(Zonal):
    """Its coefficient of ``P_3`` is negative."""

    def covariance(self, cosine):
        return np.asarray(cosine) - 0.3 * np.asarray(cosine) ** 3


class OneValue(Affine):
    def sample(self, rng, count):
        return lambda x: torch.ones(len(x))


REFUSALS = [
    # classes
    (lambda: Projected(ReLU(3), np.eye(2, 4)), "rows"),
    (lambda: Ellipsoid(np.ones((2, 3))), "matrix"),
    (lambda: matrix_rows([[NAN]], "matrix"), "matrix"),
    (lambda: monte_carlo_risk(OneValue(3), 1.0, 5, 0.1, 10), "finite numbers of shape"),
    (lambda: population_risk(Infinite(5), 1.0, 5, 0.1), "covariance"),
    *(
        (lambda dim=dim: Indefinite(dim).spectrum(10), "not positive definite")
        for dim in (2, 3, 5, 64)
    ),
    # what would give no number, or not end
    (lambda: population_risk(ReLU(2), 1e12, 1e30, 0.1), "w is too large for ReLU"),
    (
        lambda: risk.optimal_window(ReLU(3), 1e20, 0.1),
        "n=1.*: no minimum found up to w=.*too large",
    ),
    (lambda: matrix_risk(ReLU(3), 1e9 * np.eye(3), 20, 0.1), "too large"),
    (lambda: monte_carlo_risk(ReLU(300), 3.0, 10**6, 0.5, 10), "n=1000000: too large"),
    (lambda: pretrain([UNIT], 1, 10**10), "batch_size=10000000000: must be"),
    # shapes and dimensions that do not fit
    (lambda: population_risk(Affine(3), [1, 2], [1, 2, 3], 0.1), "must broadcast"),
    (lambda: matrix_risk(ReLU(3), np.eye(2), 20, 0.1), r"must be \(3, 3\)"),
    (lambda: risk.mismatch_risk(ReLU(5), ReLU(4), 100, 0.3), "tested.dim=4"),
    # training
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, activation="exp"), "activation='exp'"),
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, activation="relu"), "initial_std=0"),
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, width=3), "initial_std=0"),
    (lambda: UnitConfig(Affine(3), 1.0, 4, 0, Ellipsoid(np.eye(2))), "dimension 3"),
    (lambda: pretrain([UNIT], record=(2, 1)), "record=.*increasing"),
    (lambda: pretrain([UNIT], stream="fast"), "stream='fast'"),
    (lambda: pretrain([UNIT], device="gpu"), "device='gpu'"),
    (lambda: pretrain(UNIT), "must be a sequence"),
    (lambda: pretrain([]), "dimensions none"),
    (lambda: pretrain([UNIT, UnitConfig(ReLU(4), 1.0, 4, 1)]), r"dimensions \[3, 4\]"),
    (lambda: pretrain([UNIT, UNIT]), "units 0 and 1 both have seed=0"),
    (lambda: train_grid([ReLU(3)] * 2, [0.1] * 3, 8, 3), "different lengths"),
]


@pytest.mark.parametrize("call, words", REFUSALS)
def test_what_cannot_be_computed_is_refused_in_one_line(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        partial(population_risk, "affine", 1.0, 20, 0.1),
        partial(risk.mismatch_risk, ReLU(5), "affine", 20, 0.1),
    ],
)
def test_what_is_no_class_is_a_type_error(call):
    with pytest.raises(TypeError, match="='affine': must be a rotation-invariant"):
        call()


def test_a_class_without_what_is_asked_for_names_it():
    with pytest.raises(NotImplementedError, match=r"must define sample\(rng, count\)"):
        monte_carlo_risk(Zonal(3), 1.0, 5, 0.1, 10)


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
