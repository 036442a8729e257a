"""Units trained together equal units trained alone by the slow reference, and reach the exact optimum."""

import dataclasses
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from icl.attention import ACTIVATIONS, weights
from icl.covariates import Ellipsoid, LowRank
from icl.pretrain import UnitConfig, pretrain, trainer
from icl.pretrain.batches import BatchSampler, risk_gradient
from icl.pretrain.config import Settings
from icl.pretrain.model import ParameterLayout, gradient, predict
from icl.risk import population_flow
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, Projected, Quadratic, QuadraticRisk, ReLU
from icl_book.statistics import t_interval
from oracles.pretrain import pretrain as alone

BASIS = np.linalg.qr(stream(0, "evaluation").standard_normal((4, 2))).Q


def sampler(sets, batch_size, **settings):
    """The batches of `pretrain` with these settings."""
    names = inspect.signature(pretrain).parameters
    given = {f.name: names[f.name].default for f in dataclasses.fields(Settings)}
    settings = Settings(**given | dict(batch_size=batch_size) | settings)
    return BatchSampler(sets, settings, torch.device("cpu"))


def assert_same(fast, slow, rtol=1e-8):
    """Same parameters, up to ``rtol`` of their size: the stated tolerance for double precision."""
    assert fast.keys() == slow.keys()
    for name in slow:
        assert np.abs(fast[name] - slow[name]).max() <= rtol * np.abs(slow[name]).max(), name


@pytest.mark.parametrize("width", [None, 1, 5])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_unit_takes_the_path_of_the_slow_reference(activation, width):
    unit = UnitConfig(ReLU(3, 2.0), 0.2, 8, 1, activation=activation, width=width, initial_std=0.5)
    trained = pretrain([unit], 30, 32, 0.02)
    # where hardly any score is positive, normalized ReLU divides by almost zero and magnifies rounding
    tolerance = 1e-6 if activation == "normalized relu" else 1e-8
    assert_same(trained.parameters[0], alone(unit, 30, 32, 0.02), tolerance)
    assert not np.allclose(unit.initial(), unit.layout.pack(trained.parameters[0]), atol=0.05)


def test_any_mix_together_equals_each_alone():
    units = [
        UnitConfig(Affine(4), 0.2, 8, 0),
        UnitConfig(ReLU(4, 4.0), 0.1, 8, 1),
        UnitConfig(Cosine(4, 2.0), 0.1, 12, 2),
        UnitConfig(Affine(4), 0.2, 8, 3, learning_rate=0.3),
        UnitConfig(Linear(4, 1.0, 2.0), 0.2, 8, 4, activation="linear"),
        UnitConfig(Projected(Quadratic(2), BASIS.T), 0.1, 8, 5, LowRank(BASIS, 0.5)),
        UnitConfig(Affine(4), 0.2, 8, 6, Ellipsoid(np.diag([1, 2, 0.5, 1]))),
        UnitConfig(ReLU(4), 0.2, 8, 7, width=5, initial_std=0.3),
        UnitConfig(ReLU(4), 0.2, 8, 8, width=5, initial_std=0.3),
    ]
    together = pretrain(units, steps=40, batch_size=32, learning_rate=0.1)
    for k, unit in enumerate(units):
        assert_same(together.parameters[k], alone(unit, 40, 32, 0.1))
    assert together.contexts == 40 * 32 and not together.diverged


def test_shared_tokens_are_the_same_numbers():
    """Classes proportional to L are evaluated once for all L; noise and tokens are shared."""
    units = [
        UnitConfig(task, noise, 8, seed)
        for seed in (0, 5)
        for noise in (0.1, 0.4)
        for task in (ReLU(3, 1.0), ReLU(3, 3.0), Cosine(3, 1.0), Cosine(3, 3.0))
    ]
    together = pretrain(units, 40, 32, 0.1, shared_tokens=True)
    assert together.settings.shared_tokens
    for k in (0, 1, 3, 6, 9):
        assert_same(together.parameters[k], alone(units[k], 40, 32, 0.1))


@pytest.mark.parametrize("kind", ["portable", "native"])
def test_a_step_does_not_depend_on_other_steps_or_on_company(kind):
    sets = [[UnitConfig(ReLU(3, L), 0.1, 8, seed) for L in (1.0, 2.0)] for seed in range(3)]
    options = dict(stream=kind, dtype="float32")
    whole, one = sampler(sets, 32, **options), sampler(sets[2:], 32, **options)
    for step in (0, 13, 7, 40):
        x, y = whole.batch(step)
        own_x, own_y = one.batch(step)
        assert torch.equal(x[2:], own_x) and torch.equal(y[2:], own_y)
        assert not torch.equal(x[0], x[1])
    seen = {part.sum().item() for step in range(20) for part in one.batch(step)}
    assert len(seen) == 40  # every step has numbers of its own


def test_native_training_follows_the_reference_on_the_same_numbers():
    """Single precision; the reference reads its batches from the native stream."""
    unit = UnitConfig(ReLU(3, 2.0), 0.2, 8, 1)
    source = sampler([[unit]], 32, stream="native")

    def draw(_, step, batch_size):
        x, y = source.batch(step)
        return x[0, 0].permute(2, 1, 0), y[0, 0].T

    slow = alone(unit, 30, 32, 0.02, draw=draw)
    options = dict(stream="native", shared_tokens=True)
    assert_same(pretrain([unit], 30, 32, 0.02, **options).parameters[0], slow)
    company = [unit, UnitConfig(Affine(3), 0.2, 8, 1), UnitConfig(ReLU(3, 2.0), 0.2, 8, 2)]
    assert_same(
        pretrain(company, 30, 32, 0.02, dtype="float32", **options).parameters[0], slow, 1e-4
    )


def test_batches_too_large_for_memory_are_taken_in_pieces(monkeypatch):
    unit = UnitConfig(ReLU(3), 0.2, 8, 1)
    whole = pretrain([unit], 5, 50, 0.1)
    monkeypatch.setattr(trainer, "_LARGEST", 16 * 3 * 9)  # of 50 contexts 16 at a time
    assert_same(pretrain([unit], 5, 50, 0.1).parameters[0], whole.parameters[0], 1e-12)


def test_plain_gradient_steps_and_their_history():
    unit = UnitConfig(Affine(3), 0.2, 8, 0)
    fast = pretrain([unit], 20, 32, 0.5, optimizer="sgd", record=(0, 5, 20))
    assert_same(fast.parameters[0], alone(unit, 20, 32, 0.5, optimizer="sgd"))
    assert fast.M_history.shape == (3, 1, 3, 3) and not fast.M_history[0].any()
    assert np.array_equal(fast.M_history[2], fast.M)


@pytest.mark.parametrize(
    "task", [Affine(4, 2.0), Linear(4), ReLU(4, 2.0), Cosine(4, 3.0), Quadratic(4)], ids=str
)
@pytest.mark.parametrize("activation", ["softmax", "linear", "normalized sigmoid"])
def test_integrated_labels_have_the_gradient_of_the_quadratic_risk(task, activation):
    sets = [[UnitConfig(task, 0.3, 6, 0), UnitConfig(task, 0.1, 6, 0)]]
    x, none = sampler(sets, 10, integrate_labels=True).batch(0)
    assert none is None
    theta = torch.from_numpy(stream(0, "initialization").standard_normal((1, 2, 16)))
    fast = gradient(ParameterLayout(4, None), theta, activation, x, None, risk_gradient(sets, x))
    tokens = x[0, 0].permute(2, 1, 0)
    for k, noise_std in enumerate((0.3, 0.1)):
        M = theta[0, k].reshape(4, 4).requires_grad_()
        omega = weights(
            (tokens[:, :-1] * (tokens[:, -1] @ M.T).unsqueeze(1)).sum(-1), activation, -1
        )[0]
        (slow,) = torch.autograd.grad(
            QuadraticRisk.of(task, tokens, noise_std).risk(omega).mean(), M
        )
        assert torch.allclose(
            fast[0, k].reshape(4, 4), slow, rtol=1e-8, atol=1e-10 * slow.abs().max()
        )


def test_integrated_labels_are_refused_where_there_is_no_covariance():
    for unit in (
        UnitConfig(Affine(3), 0.1, 4, 0, width=3, initial_std=0.1),
        UnitConfig(Affine(3), 0.1, 4, 0, Ellipsoid(np.diag([1, 2, 3]))),
        UnitConfig(Projected(Affine(2), np.eye(2, 3)), 0.1, 4, 0),
    ):
        with pytest.raises(ValueError, match="integrate_labels"):
            pretrain([unit], 2, 4, integrate_labels=True)


@pytest.mark.gpu
@pytest.mark.parametrize("integrate_labels", [False, True])
def test_same_numbers_on_the_gpu(integrate_labels):
    units = [UnitConfig(Affine(3), 0.2, 8, s) for s in range(3)]
    cpu, gpu = (
        pretrain(units, 100, 64, 0.1, device, integrate_labels=integrate_labels)
        for device in ("cpu", "cuda")
    )
    assert np.allclose(cpu.M, gpu.M, rtol=1e-6, atol=1e-8)
    assert pretrain(units, 20, 64, 0.1, "cuda", stream="native", dtype="float32").device == "cuda"


@pytest.mark.slow
@pytest.mark.parametrize("integrate_labels", [False, True])
def test_the_mean_training_curve_follows_the_population_flow(integrate_labels):
    task, n, noise_std, rate, record = ReLU(3, 2.0), 10, 0.3, 1.0, (5, 20, 60, 150)
    units = [UnitConfig(task, noise_std, n, seed) for seed in range(24)]
    plain = {"optimizer": "sgd", "schedule": "constant", "integrate_labels": integrate_labels}
    trained = pretrain(units, 150, 64, rate, record=record, **plain)
    w = np.trace(trained.M_history, axis1=-2, axis2=-1) / 3
    flow = population_flow(task, n, noise_std, rate * np.array(record))
    for t in range(len(record)):
        _, low, high = t_interval(w[t])
        # finite steps and noise bend the curve by up to 3 %, declared
        assert low <= 1.03 * flow[t] and high >= 0.97 * flow[t] and high - low < 0.35 * flow[t]


@pytest.mark.parametrize(
    "options", [{}, {"stream": "native", "dtype": "float32"}], ids=["double", "single"]
)
def test_a_diverging_unit_is_named_and_leaves_the_others_alone(options):
    good = UnitConfig(Affine(3), 0.2, 8, 1)
    bad = dataclasses.replace(good, learning_rate=1e308)
    with pytest.warns(RuntimeWarning, match="learning_rate=1e.308"):
        both = pretrain([good, bad], 30, 4, 0.1, shared_tokens=True, **options)
    assert both.diverged == (bad,) and np.isfinite(both.M[0]).all()
    assert np.array_equal(both.M[0], pretrain([good], 30, 4, 0.1, **options).M[0])


@pytest.mark.parametrize("error", [RuntimeError("planted"), KeyboardInterrupt("planted")])
def test_a_failure_stops_all_threads_and_the_process_keeps_its_settings(error, monkeypatch):
    """The first of three threads fails at step 3; two threads more than the tests run with."""
    draw, fail, seen = BatchSampler.batch, True, []

    def batch(self, step):
        seen.append((torch.get_num_threads(), sys.getswitchinterval()))
        if step == 3 and fail and self.sets[0][0].seed == 0:
            raise error
        return draw(self, step)

    monkeypatch.setattr(BatchSampler, "batch", batch)
    threads, switch = torch.get_num_threads(), sys.getswitchinterval()
    torch.set_num_threads(3)
    try:
        units = [UnitConfig(Affine(3), 0.2, 8, s) for s in range(3)]
        with pytest.raises(type(error), match="planted"):
            pretrain(units, 20_000, 8)
        assert len(seen) < 10_000, "the others stopped, too"
        fail = False
        assert pretrain(units, 4, 8).M.any() and set(seen) == {(1, switch)}
        with ThreadPoolExecutor(1) as later:
            assert torch.get_num_threads() == later.submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(threads)


def test_predictions_and_a_single_token():
    unit = UnitConfig(ReLU(3), 0.2, 1, 1)
    x, y = sampler([[unit]], 5).batch(0)
    theta = torch.randn(1, 1, 9, dtype=torch.float64)
    assert torch.allclose(predict(unit.layout, theta, "softmax", x, y), y[:, :, 0])
    # its weight is one whatever M is
    assert not gradient(unit.layout, theta, "softmax", x, y).any()
