"""Units trained together equal units trained alone by the slow reference, and reach the exact optimum."""

import dataclasses
import itertools
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from icl.attention import ACTIVATIONS
from icl.covariates import Ellipsoid, LowRank, Sphere
from icl.pretrain import UnitConfig, batches, draw_contexts, pretrain, sweep, train_grid
from icl.pretrain.batches import TokenSets, make_token_sets
from icl.pretrain.config import Settings
from icl.pretrain.model import gradient, predict, take_step
from icl.pretrain.sweep import Stack, Sweep
from icl.risk import population_flow
from icl.streams import stream
from icl.tasks import (
    Affine,
    Cosine,
    Linear,
    Network,
    PhasedCosine,
    Projected,
    Quadratic,
    ReLU,
    Sign,
    Spectrum,
    Tanh,
)
from icl_book.statistics import FALSE_ALARM_RATE, t_interval
from oracles.pretrain import pretrain as alone

BASIS = np.linalg.qr(stream(0, "evaluation").standard_normal((4, 2))).Q
FAST = {"stream": "native", "dtype": "float32"}


def token_set(units, batch_size, stream="portable", dtype="float64"):
    return TokenSets([units], batch_size, stream, dtype)


def batch(tokens, step):
    block, place = divmod(step, tokens.steps)
    x, y = tokens.draw(block)
    return x[place, 0], y[place, 0]


def trained_by(engine, monkeypatch, *given, **options):
    """Train units where "eager" hides the compilers."""
    with monkeypatch.context() as hidden:
        if engine == "eager":
            hidden.setattr(sweep, "is_compiled", lambda unit, device: False)
        return pretrain(*given, **options)


def assert_same(fast, slow, rtol=1e-8):
    assert fast.keys() == slow.keys()
    for name in slow:
        assert np.abs(fast[name] - slow[name]).max() <= rtol * np.abs(slow[name]).max(), name


@pytest.mark.parametrize("engine", ["compiled", "eager"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_every_step_is_that_of_one_unit_in_plain_pytorch(engine, optimizer, monkeypatch):
    """Twelve lines of autograd on the contexts of `draw_contexts` give the parameters after every step."""
    unit = UnitConfig(ReLU(3, 2.0), 0.3, 6, seed=5)
    kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer]
    M = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    descent, path = kind([M], lr=0.1), []
    for step in range(20):
        path.append(M.detach().clone())
        x, y = draw_contexts(unit.task, noise_std=0.3, n=6, batch_size=16, seed=5, step=step)
        scores = torch.einsum("bnd,de,be->bn", x[:, :-1], M, x[:, -1])
        prediction = (torch.softmax(scores, -1) * y[:, :-1]).sum(-1)
        descent.zero_grad()
        ((prediction - y[:, -1]) ** 2).mean().backward()
        descent.step()
    options = dict(optimizer=optimizer, schedule="constant", record=tuple(range(20)))
    trained = trained_by(engine, monkeypatch, [unit], 20, 16, 0.1, **options)
    assert trained.engines == (engine,)
    assert np.allclose(trained.M_history[:, 0], torch.stack(path), 1e-10, 1e-12)


@pytest.mark.parametrize("options", [{}, FAST], ids=["double", "single"])
def test_both_engines_take_the_same_steps(options, monkeypatch):
    units = [
        UnitConfig(task, noise, n, seed, law)
        for seed in (0, 1)
        for task, noise, n, law in (
            (ReLU(4, 8.0), 0.1, 9, None),
            (Cosine(4, 2.0), 0.0, 9, None),
            (Affine(4), 0.3, 17, Ellipsoid(np.diag([1.0, 2, 3, 4]))),
            (Linear(4, 1e3), 10.0, 1, LowRank(BASIS)),
        )
    ]
    options = options | dict(shared_tokens=True, record=tuple(range(60)))
    loops, plain = (
        trained_by(engine, monkeypatch, units, 60, 33, 0.1, **options)
        for engine in ("compiled", "eager")
    )
    assert set(loops.engines) == {"compiled"} and set(plain.engines) == {"eager"}
    size = np.abs(plain.M_history).max()
    tolerance = 2e-5 if "dtype" in options else 1e-11
    assert np.abs(loops.M_history - plain.M_history).max() < tolerance * size
    assert np.abs(loops.M - plain.M).max() < tolerance * size


@pytest.mark.parametrize(
    "d, activation",
    [(3, "softmax"), (3, "sigmoid"), (3, "normalized relu"), (12, "softmax"), (40, "softmax")],
)
def test_the_step_of_a_gpu_is_one_graph_with_the_same_numbers(d, activation):
    """It is traced as `icl.pretrain.sweep` does for a GPU, since compiling it for a processor would need g++.

    The dimension decides which sums a library computes.
    """
    rng = stream(0, "evaluation")
    state, x, y = (
        torch.from_numpy(rng.standard_normal(shape))
        for shape in ((3, 2, 4, d, d), (2, 1, d, 8, 16), (2, 4, 8, 16))
    )
    state[2] = state[2] ** 2
    rates, factors = torch.full((2, 4, 1, 1), 0.1), torch.tensor([0.5, 0.1, 0.01])
    step = partial(take_step, width=None, activation=activation, adam=True)
    compiled = torch.compile(step, dynamic=False, fullgraph=True, backend="aot_eager")
    wanted = step(state, rates.double(), x, y, factors.double())
    found = compiled(state, rates.double(), x, y, factors.double())
    assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert not torch.allclose(wanted[0], state[0], atol=1e-3)


@pytest.mark.parametrize(
    "law",
    # the direction of two normal numbers near zero would be that of their rounding
    [Sphere(4), Ellipsoid(np.diag([1.0, 2, 3, 4])), LowRank(np.eye(4)[:, :3])],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.filterwarnings("ignore:To copy construct:UserWarning")
def test_the_batches_of_a_gpu_are_one_graph_with_the_same_numbers(law):
    """One trace of one graph draws rows of different seeds, noise and L as each is drawn alone."""
    tasks = [given(4) for given in (Affine, Cosine, Linear, Network, PhasedCosine, Quadratic)]
    tasks += [Sign(4), Tanh(4), Projected(Linear(2), np.eye(4)[:2])]
    rows = [
        [UnitConfig(task, 0.1 + seed, 5, seed, law) for task in (*tasks, ReLU(4, 3.0 + seed))]
        for seed in range(3)
    ]
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    options = {"compiled": True, "fullgraph": True, "backend": backend}
    (traced,) = make_token_sets(rows, 16, *FAST.values(), **options)
    alone = [token_set(row, 16, **FAST) for row in rows]
    for block in range(3):
        parts = zip(*(one.draw(block) for one in alone), strict=True)
        for found, wanted in zip(traced.draw(block), parts, strict=True):
            assert torch.allclose(found, torch.cat(wanted, 1), rtol=1e-4, atol=1e-5)
    assert len(graphs) == 1


class Cap(Sphere):
    """A user-defined law, which has what the law has that it derives from."""

    def from_normal(self, normal):
        return super().from_normal(normal).abs()


@pytest.mark.parametrize(
    "law",
    [Sphere(4), Ellipsoid(BASIS @ BASIS.T + np.triu(np.ones((4, 4)))), LowRank(BASIS), Cap(4)],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("size, steps", [(33, 16), (8000, 2), (9000, 1)])
def test_loops_fill_batches_as_pytorch_does(law, size, steps):
    tasks = ReLU(4, 3.0), ReLU(4), Network(4), Spectrum(4), Projected(Cosine(2), np.eye(4)[:2])
    units = [UnitConfig(task, noise, 7, 2, law) for task in tasks for noise in (0.0, 0.5)]
    loops, plain = (token_set(units, size, **FAST) for _ in range(2))
    assert loops.steps == steps and loops.fill is batches._fill_by_loops
    plain.fill = batches.fill
    for found, wanted in zip(loops.draw(1), plain.draw(1), strict=True):
        assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_host_samplers_and_unlike_classes_are_not_drawn_together():
    def row(task, seed, law=None):
        return [UnitConfig(task, 0.1, 5, seed, law)]

    one, other = row(ReLU(4), 0), row(ReLU(4, 2.0), 1)
    rows = [one, other, row(Affine(4), 2), row(Affine(4), 3, LowRank(BASIS)), row(Spectrum(4), 4)]
    rows += [row(Spectrum(4), 5), row(Projected(Spectrum(2), np.eye(4)[:2]), 6)]
    sets = make_token_sets(rows, 16, *FAST.values(), compiled=True)
    assert [one.rows for one in sets] == [rows[:2], *([row] for row in rows[2:])]
    traced = [isinstance(one._scales, torch.Tensor) for one in sets]
    assert traced == [True] * 3 + [False] * 3
    # ReLU draws arrays (3, contexts, 1)
    assert len(make_token_sets(rows[:2], 3, *FAST.values(), compiled=True)) == 2


def test_one_graph_takes_the_steps_at_all_places_of_a_block(monkeypatch):
    """As on a GPU, but without capture: stops within blocks compile nothing again and change no number."""
    units = [[UnitConfig(ReLU(3, L), 0.1, 8, seed) for L in (1.0, 2.0)] for seed in (0, 1)]
    settings = Settings(
        steps=41,
        batch_size=16,
        learning_rate=0.05,
        optimizer="adam",
        schedule="linear",
        shared_tokens=True,
        record=(),
        **FAST,
    )
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(sweep, "Graph", lambda call, _: call)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    torch._dynamo.reset()
    plain, traced = (Stack(units, settings, False, torch.zeros(3, 2, 2, 3, 3)) for _ in range(2))
    traced.sets = make_token_sets(units, 16, *FAST.values(), compiled=True)
    traced._compile()
    for first, stop in itertools.pairwise((0, 1, 3, 17, 41)):
        for stack in (plain, traced):
            stack.train(stop, threading.Event(), first)
        assert torch.allclose(plain.state, traced.state, rtol=1e-3, atol=1e-6)
    assert len(graphs) == 2


@pytest.mark.parametrize("max_numbers, taking_turns", [(10**9, False), (1, True)])
def test_stacks_of_a_gpu_share_its_memory(max_numbers, taking_turns, monkeypatch):
    """This is done on a processor as on a GPU: if memory is scarce, stacks draw in the place of others."""
    units = [UnitConfig(ReLU(3), 0.1, n, seed) for n in (8, 12) for seed in (0, 1)]
    given = {"batch_size": 16, "learning_rate": 0.05, "optimizer": "adam", "schedule": "linear"}
    settings = Settings(steps=41, shared_tokens=False, record=(3, 20), **given, **FAST)
    monkeypatch.setattr(sweep, "is_compiled", lambda unit, device: False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        plain, sharing = (Sweep(units, settings, torch.device("cpu")) for _ in "12")
        sharing._give_memory(max_numbers)
        assert [stack.shares for stack in sharing.stacks] == [taking_turns] * 2
        for one in (plain, sharing):
            one.train()
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(plain.state, sharing.state) and torch.equal(plain.history, sharing.history)
    assert plain.state.count_nonzero() == plain.state.numel()


def test_units_that_are_not_compiled_are_trained_eagerly_and_named():
    units = [
        UnitConfig(ReLU(3), 0.2, 8, 0),
        UnitConfig(ReLU(3), 0.2, 8, 1, activation="linear"),
        UnitConfig(ReLU(3), 0.2, 8, 2, width=4, initial_std=0.1),
    ]
    assert pretrain(units, 2, 4).engines == ("compiled", "eager", "eager")


@pytest.mark.slow
def test_without_numba_one_line_reports_it_and_the_numbers_are_the_same():
    code = """
import sys
sys.modules["numba"] = None
from icl.pretrain import train_grid
from icl.tasks import ReLU
trained = train_grid([ReLU(3, 4.0), ReLU(3)], 0.1, 20, 2, 100, 64, 0.1)
print(set(trained.engines), *trained.M.ravel())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("{'eager'} ")
    assert run.stderr.count("training takes longer, as its steps are not compiled") == 1
    here = train_grid([ReLU(3, 4.0), ReLU(3)], 0.1, 20, 2, 100, 64, 0.1).M
    there = np.array(run.stdout.split()[1:], float).reshape(here.shape)
    assert np.abs(here - there).max() < 2e-4 * np.abs(here).max()


@pytest.mark.parametrize("width", [None, 1, 5])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_unit_takes_the_path_of_the_slow_reference(activation, width):
    unit = UnitConfig(ReLU(3, 2.0), 0.2, 8, 1, activation=activation, width=width, initial_std=0.5)
    trained = pretrain([unit], 30, 32, 0.02)
    # where hardly any score is positive, normalized ReLU divides by almost zero and magnifies rounding
    tolerance = 1e-6 if activation == "normalized relu" else 1e-8
    assert_same(trained.parameters[0], alone(unit, 30, 32, 0.02), tolerance)
    end = np.vstack(list(trained.parameters[0].values()))
    assert not np.allclose(unit.initial(), end, atol=0.05)


def test_any_mix_together_equals_each_alone():
    units = [
        UnitConfig(Affine(4), 0.2, 8, 0),
        UnitConfig(ReLU(4, 4.0), 0.1, 8, 1),
        UnitConfig(Cosine(4, 2.0), 0.1, 12, 2),
        UnitConfig(Affine(4), 0.2, 8, 3, learning_rate=0.3),
        UnitConfig(Linear(4, 1.0, 2.0), 0.2, 8, 4, activation="linear"),
        UnitConfig(Projected(Quadratic(2), BASIS.T), 0.1, 8, 5, LowRank(BASIS)),
        UnitConfig(Affine(4), 0.2, 8, 6, Ellipsoid(np.diag([1, 2, 0.5, 1]))),
        UnitConfig(ReLU(4), 0.2, 8, 7, width=5, initial_std=0.3),
        UnitConfig(ReLU(4), 0.2, 8, 8, width=5, initial_std=0.3),
    ]
    together = pretrain(units, steps=40, batch_size=32, learning_rate=0.1)
    for k, unit in enumerate(units):
        assert_same(together.parameters[k], alone(unit, 40, 32, 0.1))
    assert not together.diverged


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
def test_a_step_does_not_depend_on_other_steps_or_other_units(kind):
    options = dict(stream=kind, dtype="float32")
    units = [UnitConfig(ReLU(3, L), 0.1, 8, 2) for L in (1.0, 2.0)]
    company = [UnitConfig(Cosine(3), 0.5, 8, 2), *units]
    alone, whole = token_set(units, 32, **options), token_set(company, 32, **options)
    other = token_set([UnitConfig(ReLU(3), 0.1, 8, 3)], 32, **options)
    for step in (0, 13, 7, 40):
        x, y = batch(whole, step)
        own_x, own_y = batch(alone, step)
        assert torch.equal(x, own_x) and torch.equal(y[1:], own_y)
        assert not torch.equal(x, batch(other, step)[0])
    seen = {part.sum().item() for step in range(20) for part in batch(alone, step)}
    assert len(seen) == 40  # the numbers of all steps differ


def test_batches_are_those_of_draw_contexts():
    units = [UnitConfig(ReLU(3, L), noise, 6, 7) for L, noise in ((1, 0), (4, 2))]
    x, y = batch(token_set(units, 40), 2)
    for unit, own in zip(units, y, strict=True):
        setting = {"noise_std": unit.noise_std, "n": 6, "batch_size": 40}
        tokens, labels = draw_contexts(unit.task, **setting, seed=7, step=2)
        assert torch.equal(tokens, x.permute(2, 1, 0))
        assert torch.allclose(labels, own.T, rtol=1e-12, atol=1e-14)


def test_native_training_follows_the_reference_on_the_same_numbers():
    """Both use single precision, and the reference reads its batches from the native stream."""
    unit = UnitConfig(ReLU(3, 2.0), 0.2, 8, 1)
    tokens = token_set([unit], 32, stream="native")

    def draw(_, step, batch_size):
        x, y = batch(tokens, step)
        return x.permute(2, 1, 0), y[0].T

    slow = alone(unit, 30, 32, 0.02, draw=draw)
    options = dict(stream="native", shared_tokens=True)
    assert_same(pretrain([unit], 30, 32, 0.02, **options).parameters[0], slow)
    company = [
        unit,
        UnitConfig(Affine(3), 0.2, 8, 1),
        UnitConfig(ReLU(3, 2.0), 0.2, 8, 2),
    ]
    assert_same(
        pretrain(company, 30, 32, 0.02, dtype="float32", **options).parameters[0],
        slow,
        1e-4,
    )


@pytest.mark.parametrize("engine", ["compiled", "eager"])
def test_results_do_not_depend_on_how_units_are_divided(engine, monkeypatch):
    units = [UnitConfig(ReLU(3, L), 0.2, 8, s) for s in (1, 2, 3) for L in (1.0, 2.0)]
    run = partial(trained_by, engine, monkeypatch, steps=5, batch_size=50, shared_tokens=True)
    whole = run(units).M
    tolerance = 0 if engine == "compiled" else 1e-14
    threads = torch.get_num_threads()
    torch.set_num_threads(7)
    try:
        for numbers in (sweep._MAX_BATCH_NUMBERS, 1):
            monkeypatch.setattr(sweep, "_MAX_BATCH_NUMBERS", numbers)
            for some in (6, 2, 1):
                assert np.abs(run(units[:some]).M - whole[:some]).max() <= tolerance
    finally:
        torch.set_num_threads(threads)


def test_plain_gradient_steps_and_their_history():
    unit = UnitConfig(Affine(3), 0.2, 8, 0)
    fast = pretrain([unit], 20, 32, 0.5, optimizer="sgd", record=(0, 5, 20))
    assert_same(fast.parameters[0], alone(unit, 20, 32, 0.5, optimizer="sgd"))
    assert fast.M_history.shape == (3, 1, 3, 3) and not fast.M_history[0].any()
    assert np.array_equal(fast.M_history[2], fast.M)


@pytest.mark.gpu
def test_same_numbers_on_the_gpu(monkeypatch):
    units = [UnitConfig(Affine(3), 0.2, 8, s) for s in range(3)]
    units.append(UnitConfig(Affine(3), 0.2, 8, 3, activation="linear"))
    cpu = pretrain(units, 100, 64, 0.1)
    for engine in ("compiled", "eager"):
        gpu = trained_by(engine, monkeypatch, units, 100, 64, 0.1, "cuda")
        assert gpu.device == "cuda" and set(gpu.engines) == {engine}
        assert np.allclose(cpu.M, gpu.M, rtol=1e-6, atol=1e-8)


@pytest.mark.gpu
@pytest.mark.parametrize("source, tolerance", [("native", 1e-3), ("portable", 1e-6)])
def test_every_class_and_every_law_trains_on_the_gpu(source, tolerance, monkeypatch):
    laws = [None, Sphere(4), Ellipsoid(np.diag([1.0, 2, 3, 4])), LowRank(BASIS)]
    tasks = [given(4) for given in (Affine, Cosine, Linear, Network, PhasedCosine)]
    tasks += [Quadratic(4), ReLU(4, 3.0), Sign(4), Spectrum(4), Tanh(4)]
    tasks += [Projected(Linear(2), np.eye(4)[:2])]
    units = [
        UnitConfig(task, 0.1, 8 + 4 * (at // 6), at // 3, laws[at // 3])
        for at, task in enumerate(tasks)
    ]
    options = dict(shared_tokens=True, stream=source, record=(3, 299, 300))
    fast, plain, again = (
        trained_by(engine, monkeypatch, units, 300, 32, 0.1, "cuda", **options)
        for engine in ("compiled", "eager", "compiled")
    )
    assert set(fast.engines) == {"compiled"} and not fast.diverged
    size = np.abs(plain.M_history).max((-2, -1), keepdims=True)
    assert (np.abs(fast.M_history - plain.M_history) < tolerance * size).all()
    assert np.array_equal(fast.M, again.M)


@pytest.mark.gpu
@pytest.mark.parametrize("shared", [True, False])
def test_gpu_results_do_not_depend_on_other_units(shared):
    """Token sets are drawn together on a GPU, with the numbers that each would have alone."""
    units = [
        UnitConfig(ReLU(5, L), 0.1 * L, 8, seed + 3 * at * (not shared))
        for seed in range(3)
        for at, L in enumerate((1.0, 4.0))
    ]
    run = partial(pretrain, steps=600, batch_size=32, device="cuda", shared_tokens=shared, **FAST)
    whole = run(units).M
    for at in (0, 3, 5):
        alone = run(units[at : at + 1]).M[0]
        assert np.abs(whole[at] - alone).max() < 1e-4 * np.abs(alone).max()


@pytest.mark.gpu
def test_native_numbers_of_the_gpu_train_to_the_same_windows():
    """These numbers differ from those of a CPU, so that windows agree in distribution only."""
    run = partial(train_grid, ReLU(3, 4.0), 0.2, 12, seeds=60, steps=150, batch_size=32)
    assert ks_2samp(run(device="cpu").windows[0], run(device="cuda").windows[0]).pvalue > (
        FALSE_ALARM_RATE
    )


@pytest.mark.slow
def test_the_mean_training_curve_follows_the_population_flow():
    task, n, noise_std, rate, record = ReLU(3, 2.0), 10, 0.3, 1.0, (5, 20, 60, 150)
    units = [UnitConfig(task, noise_std, n, seed) for seed in range(24)]
    plain = {"optimizer": "sgd", "schedule": "constant"}
    trained = pretrain(units, 150, 64, rate, record=record, **plain)
    w = np.trace(trained.M_history, axis1=-2, axis2=-1) / 3
    flow = population_flow(task, n, noise_std, rate * np.array(record))
    for t in range(len(record)):
        _, low, high = t_interval(w[t])
        # finite steps and noise bend the curve by up to 3 %, the declared tolerance
        assert low <= 1.03 * flow[t] and high >= 0.97 * flow[t] and high - low < 0.35 * flow[t]


@pytest.mark.parametrize("engine", ["compiled", "eager"])
@pytest.mark.parametrize("options", [{}, FAST], ids=["double", "single"])
def test_a_diverging_unit_is_named_and_leaves_the_others_alone(options, engine, monkeypatch):
    run = partial(trained_by, engine, monkeypatch)
    good = UnitConfig(Affine(3), 0.2, 8, 1)
    bad = dataclasses.replace(good, learning_rate=1e308)
    with pytest.warns(RuntimeWarning, match="learning_rate=1e.308"):
        both = run([good, bad], 30, 4, 0.1, shared_tokens=True, **options)
    assert both.diverged == (bad,) and np.isfinite(both.M[0]).all()
    assert np.array_equal(both.M[0], run([good], 30, 4, 0.1, **options).M[0])


@pytest.mark.parametrize("sets", [3, 1])
@pytest.mark.parametrize("error", [RuntimeError("planted"), KeyboardInterrupt("planted")])
def test_a_failure_stops_all_threads_and_the_process_keeps_its_settings(error, sets, monkeypatch):
    draw, fail, seen = TokenSets.draw, True, []

    def drawn(self, block, out):
        seen.append((torch.get_num_threads(), sys.getswitchinterval()))
        if block == 3 and fail and self.rows[0][0].seed == 0:
            raise error
        return draw(self, block, out)

    monkeypatch.setattr(TokenSets, "draw", drawn)
    threads, switch = torch.get_num_threads(), sys.getswitchinterval()
    torch.set_num_threads(3)
    try:
        units = [UnitConfig(Affine(3), 0.2, 8, s) for s in range(sets)]
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
    x, y = (part[None] for part in batch(token_set([unit], 5), 0))
    theta = torch.randn(1, 1, 3, 3, dtype=torch.float64)
    given = theta, x[:, None], y, None, "softmax"
    assert torch.allclose(predict(*given), y[:, :, 0])
    # its weight is one whatever M is
    assert not gradient(*given).any()
    assert not pretrain([unit], 3, 5).M.any()


def test_a_progress_bar_counts_every_step(capfd):
    train = partial(pretrain, [UnitConfig(ReLU(3), 0.1, 4, 0)], 1000, 2, record=(0, 3, 555))
    silent = train()
    assert capfd.readouterr().err == ""
    assert np.array_equal(train(progress=True).M_history, silent.M_history)
    assert "1000/1000" in capfd.readouterr().err
