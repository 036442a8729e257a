"""Numbers of NumPy and of PyTorch are taken alike, whatever holds them; all else is refused in one line."""

import fractions
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icl.checks import affordable, broadcast, flag, integer, matrix_rows, real, reals
from icl.pretrain import UnitConfig, pretrain
from icl.risk import (
    bayes_linear_risk,
    flow,
    monte_carlo_risk,
    population_flow,
    population_risk,
    ridge_risk,
    worst_case_risk,
)
from icl.tasks import ReLU, Zonal
from icl.tensor_trick import kron_block, loss, unvec
from icl.tensor_trick.lipschitz import proven_constant, worst_logits

SCALARS = [
    2,
    2.0,
    fractions.Fraction(2),
    *(kind(2) for kind in (np.int8, np.uint64, np.float16, np.float32, np.longdouble)),
    np.array(2),
    np.ma.masked_array(2, False),
    *(torch.tensor(2, dtype=kind) for kind in (torch.uint8, torch.int64, torch.float16, torch.bfloat16)),
    torch.tensor(2.0, requires_grad=True),
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_a_number_is_taken_whatever_holds_it(value):
    assert type(integer(value, "n", 1)) is int and integer(value, "n", 1) == 2
    assert type(real(value, "x")) is float and real(value, "x") == 2.0
    for many in (value, [value, 3], [[value], [value]]):
        assert reals(many, "x", 0).dtype == np.float64 and reals(many, "x", 0).flat[0] == 2.0


@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.ma.masked,
        torch.tensor([True, False]),
        torch.tensor([1j]),
        torch.tensor([math.nan]),
        torch.tensor([math.inf], requires_grad=True),
        [torch.tensor(True), 1.0],
        [[1, 2], [3]],
        [1, [2]],
        np.array(["1"]),
        np.array([b"1"]),
        np.array([np.datetime64(1, "s")]),
        {1: 2},
        {1.0},
        "12",
        b"12",
        None,
        int,
        10**400,
        10**5000,  # Python refuses to write it out
        np.longdouble("1e400"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_holds_no_finite_number_is_refused_in_one_line(value):
    for check in (integer, real, lambda v, name: reals(v, name, -math.inf)):
        if check is integer and isinstance(value, int | np.longdouble):
            continue  # a large integer is one
        with pytest.raises(ValueError, match=r"^x=.*must be (an integer|a finite number)$") as caught:
            check(value, "x")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_tensors_lose_their_gradient_and_their_layout_on_the_way_in():
    x = torch.tensor([[1.0, 2.0], [0.0, 4.0]], requires_grad=True)
    assert reals(x, "x", 0).tolist() == reals(x.detach().to_sparse(), "x", 0).tolist() == x.tolist()
    assert matrix_rows(x, "x") == ((1.0, 2.0), (0.0, 4.0))
    mine = np.array([1.0])
    assert reals(mine, "x", 0) is not mine, "the caller's array is not handed on"
    given, expected = (population_risk(ReLU(d), w, n, 0.1) for d, w, n in _alike())
    assert given == expected


def _alike():
    w = torch.tensor(2.0, dtype=torch.bfloat16, requires_grad=True)
    return [(torch.tensor(3), w, torch.tensor(7)), (3, 2.0, 7)]


@pytest.mark.parametrize("value", [0, 1, "no", "false", None, math.nan, [], object(), torch.tensor(True)])
def test_a_flag_is_true_or_false_and_nothing_that_counts_as_either(value):
    with pytest.raises(ValueError, match=r"^given=.*: must be True or False$"):
        flag(value, "given")
    assert flag(np.True_, "given") is True and flag(False, "given") is False


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"^shapes \(2,\), \(3,\) of n, w: must broadcast$"):
        broadcast(n=np.zeros(2), w=np.zeros(3))
    n, w = broadcast(n=np.zeros(2), w=np.zeros((3, 1)))
    assert n.shape == w.shape == (3, 2)


UNIT = UnitConfig(ReLU(3), 0.1, 8, 0)


class NaN(Zonal):
    def covariance(self, cosine):
        return np.full(np.shape(cosine), np.nan)


class Shapeless(Zonal):
    def covariance(self, cosine):
        return np.array(1.0)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: affordable(2.0, 1.0, "contexts", 3, "numbers"), "contexts=3: too large"),
        (lambda: monte_carlo_risk(ReLU(3), 3.0, 20, 0.5, 10**9), "contexts=1000000000"),
        (lambda: monte_carlo_risk(ReLU(300), 3.0, 200, 0.5, 10**8), "contexts=100000000: too large"),
        (lambda: monte_carlo_risk(ReLU(10**4), 3.0, 10**7, 0.5, 9), "n=10000000: too large"),
        (lambda: monte_carlo_risk(ReLU(3), 3.0, 10**5, 0.5, 9, integrate_labels=True), "n=100000: too large"),
        (lambda: monte_carlo_risk(ReLU(3), 3.0, 5, 0.5, 9, integrate_labels="no"), "integrate_labels='no'"),
        (lambda: bayes_linear_risk(ReLU(3), 10**4, 0.5, 10**6), "contexts=1000000: too large"),
        (lambda: ridge_risk(ReLU(3), 5, 0.5, "1", 9), "penalty='1'"),
        (lambda: population_flow(ReLU(3), 20, 0.5, [0, 1], 1e18), r"^start=1e\+18: w=1e\+18: too large"),
        (lambda: worst_case_risk(10**4, 3.0, 5, 0.5), "dim=10000"),
        (lambda: worst_case_risk(3, [3.0, 1.0], 5, 0.5), "w="),
        (lambda: population_risk(NaN(2), 1.0, 5, 0.1), r"NaN\(dim=2\): covariance"),
        (lambda: population_risk(NaN(5), 1.0, 5, 0.1), r"NaN\(dim=5\): covariance"),
        (lambda: population_risk(Shapeless(5), 1.0, 5, 0.1), r"Shapeless\(dim=5\): covariance"),
        (lambda: pretrain([UNIT], steps=10**12), "steps=1000000000000"),
        (lambda: pretrain([UNIT], steps=10**9, batch_size=10**6), "steps=1000000000: too large"),
        (lambda: pretrain([UNIT], batch_size=10**9), "batch_size=1000000000"),
        (lambda: pretrain([UNIT], shared_tokens="no"), "shared_tokens='no'"),
        (lambda: pretrain([UNIT], integrate_labels=1), "integrate_labels=1"),
        (lambda: UnitConfig(ReLU(3), 1e200, 8, 0), r"noise_std=1e\+200"),
        (lambda: UnitConfig(ReLU(3), 0.1, 10**12, 0), "context_length=1000000000000"),
        (lambda: proven_constant("f", 3, "1"), "R='1'"),
        (lambda: proven_constant("alpha", 1, 1.0), "n=1"),
        (lambda: worst_logits("f", 10**6, 1.0), "n=1000000: too large"),
        (lambda: unvec(torch.zeros(4), rows="2"), "rows='2'"),
        (lambda: kron_block(torch.eye(2), torch.eye(2), 0.5), "j=0.5"),
    ],
)
def test_what_would_take_days_or_is_no_number_is_refused_at_once(call, named):
    with pytest.raises(ValueError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["covariance", "sample"])
def test_a_class_that_lacks_a_method_says_which(method):
    with pytest.raises(NotImplementedError, match=rf"Zonal\(dim=3\).*must define {method}"):
        monte_carlo_risk(Zonal(3), 1.0, 5, 0.1, integrate_labels=method == "covariance")


def test_a_flow_that_would_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(flow, "_EVALUATIONS", 100)
    with pytest.raises(ValueError, match=r"times up to 1e\+30: the flow of ReLU"):
        population_flow(ReLU(3), 20, 0.5, [0, 1e30])


def test_an_overflow_says_what_to_shrink_and_sparse_tensors_what_to_do():
    one, huge = torch.ones(2, 2), torch.full((2, 2), 3e38)
    with pytest.raises(OverflowError, match="shrink B or use"):
        loss(one, one, one, huge, "normalized")
    with pytest.raises(OverflowError, match="shrink X or use"):
        loss(one, one, 50 * one, one, "rescaled")
    with pytest.raises(TypeError, match=r"^A1 is sparse .*A1.to_dense\(\)$"):
        loss(one.to_sparse(), one, one, one)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.sampled_from(["affine", "relu", "cosine", "tanh"]),
    st.integers(2, 12),
    st.floats(0.0, 50.0),
    st.integers(1, 10**6),
    st.floats(0.0, 3.0),
)
def test_valid_numbers_give_a_finite_risk_with_the_order_that_is_proved(name, dim, w, n, noise_std):
    """The noise term lies between those of equal weights and of one token, and never falls in w."""
    from icl.tasks import CLASSES, Tanh

    task = CLASSES.get(name, Tanh)(dim)
    try:
        here = population_risk(task, w, [n, n + 1], noise_std)
        wider = population_risk(task, 1.3 * w + 0.1, [n, n + 1], noise_std)
    except ValueError as error:
        assert str(error).startswith("w=") and "too large" in str(error)
        return
    assert all(np.all(np.isfinite(part)) for part in vars(here).values())
    slack = 1 + 1e-9
    assert np.all(here.bias >= 0) and np.all(here.noise >= noise_std**2 / np.array([n, n + 1]) / slack)
    assert np.all(here.noise <= noise_std**2 * slack) and np.all(wider.noise * slack >= here.noise)
    assert np.all(population_risk(task, w, [n, n + 1], 0.0).bias == here.bias)
