"""Streams are pure functions of (seed, name, step), and no two purposes share one."""

import pytest
import torch
from scipy.stats import beta, kstest

import icl.streams
from icl.covariates import normalize, reversed_axes
from icl.pretrain import UnitConfig, pretrain, train_grid
from icl.pretrain.metrics import evaluation_error as error_on_fresh_contexts
from icl.risk import bayes_linear_risk, monte_carlo_risk
from icl.streams import STREAMS, NativeStream, stream
from icl.tasks import Affine, Cosine, Network, Quadratic, ReLU
from icl_book.statistics import FALSE_ALARM_RATE


def test_streams_of_different_seed_name_and_step_differ():
    first = {
        (seed, name, step): stream(seed, name, step).integers(2**63)
        for seed in range(3)
        for name in STREAMS
        for step in range(3)
    }
    assert len(set(first.values())) == len(first)


def test_known_values():
    """The portable stream must never change: results of old runs are compared with new ones."""
    assert stream(1, "covariates", 2).integers(2**63, size=2).tolist() == [
        6932379900233523315,
        8801019763620080157,
    ]


def test_large_seeds_and_steps_have_different_streams():
    """NumPy converts a list of integers to floats if some are at least 2**63 and others small."""
    large = (2**63, 2**63 + 1, 2**64 - 1)
    places = [(0, 0), *((seed, 0) for seed in large), *((0, step) for step in large)]
    drawn = [stream(seed, "noise", step).integers(2**63) for seed, step in places]
    assert len(set(drawn)) == len(drawn)


def test_no_two_purposes_share_a_stream(monkeypatch):
    address, drawn = icl.streams._check_address, set()

    def recorded(*arguments):
        drawn.add(arguments)
        return address(*arguments)

    def addresses(call):
        drawn.clear()
        call()
        return set(drawn)

    monkeypatch.setattr(icl.streams, "_check_address", recorded)
    task, units = Affine(3), [UnitConfig(Affine(3), 0.1, 4, seed=0, initial_std=0.1)]
    trained = pretrain(units, steps=3, batch_size=8)
    purposes = [
        addresses(lambda: pretrain(units, steps=3, batch_size=8))
        | addresses(
            lambda: pretrain(units, steps=3, batch_size=8, stream="native", dtype="float32")
        ),
        addresses(lambda: error_on_fresh_contexts(trained, task, 0.1, 4, contexts=8)),
        addresses(lambda: monte_carlo_risk(task, 1.0, 4, 0.1, 8))
        | addresses(lambda: bayes_linear_risk(task, 4, 0.1, 8)),
    ]
    assert all(purposes) and len(set.union(*purposes)) == sum(map(len, purposes))
    assert {name for purpose in purposes for _, name, *_ in purpose} == set(STREAMS)


def test_native_streams_are_pure_functions_of_their_address():
    rng = NativeStream(3, "noise", 7)
    first, second = rng.standard_normal((1000,)), rng.standard_normal((1000,))
    assert torch.equal(first, NativeStream(3, "noise", 7).standard_normal((1000,)))
    addresses = ((4, "noise", 7), (3, "tasks", 7), (3, "noise", 8), (3 + 2**32, "noise", 7))
    for other in (
        second,
        *(NativeStream(*address).standard_normal((1000,)) for address in addresses),
    ):
        assert not torch.equal(first, other)
        assert abs(float((first * other).mean())) < 6 / 1000**0.5


def test_native_streams_have_the_laws_they_claim():
    rng = NativeStream(0, "noise")
    uniform = rng.uniform(-2, 3, (100, 500))
    assert uniform.dtype == rng.standard_normal((2,)).dtype == torch.float32
    assert kstest(uniform.ravel().numpy(), "uniform", (-2, 5)).pvalue > FALSE_ALARM_RATE
    x = normalize(reversed_axes(rng.standard_normal((5, 20, 1000))))
    assert torch.allclose(x.norm(dim=-1), torch.ones(1000, 20))
    assert kstest((1 + x[..., 2].ravel().numpy()) / 2, beta(2, 2).cdf).pvalue > FALSE_ALARM_RATE


@pytest.mark.parametrize("default", [torch.float64, torch.float16])
def test_the_default_dtype_of_pytorch_changes_no_number(default):
    """Numbers that are drawn, trained or predicted have a fixed dtype."""

    def numbers():
        rng = NativeStream(0, "noise")
        found = [rng.standard_normal((5, 3)), rng.uniform(0.0, 1.0, (7,))]
        points = NativeStream(0, "covariates").standard_normal((4, 3, 2))
        for task in (Affine(3), ReLU(3), Cosine(3, 2.0), Network(3, 1.0, 4), Quadratic(3)):
            portable = train_grid(task, 0.5, 4, seeds=2, steps=3, batch_size=4)
            native = train_grid(
                task, 0.5, 4, seeds=2, steps=3, batch_size=4, stream="native", dtype="float32"
            )
            found += [torch.as_tensor(portable.windows), torch.as_tensor(native.windows)]
            x = normalize(NativeStream(1, "covariates").standard_normal((4, 5, 3)))
            found.append(task.sample(NativeStream(1, "tasks"), 4)(x))
        found.append(
            torch.tensor(monte_carlo_risk(ReLU(3), 2.0, 5, 0.5, 50, 0).mean, dtype=torch.float64)
        )
        return [points, *found]

    before = numbers()
    torch.set_default_dtype(default)
    try:
        after = numbers()
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(before, after, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)
