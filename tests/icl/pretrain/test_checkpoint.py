"""A sweep that was stopped goes on with the same numbers, from its own file alone; units begin where told."""

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import icl
from icl.pretrain import UnitConfig, pretrain, train_grid
from icl.tasks import Affine, Cosine, Globe, ReLU
from icl.tasks.spectrum import globe

SWEEP = """
import os, signal, sys
from icl.covariates import Ellipsoid
from icl.pretrain import UnitConfig, pretrain
from icl.tasks import Affine, ReLU

def sweep(**options):
    units = [UnitConfig(ReLU(3, L), 0.1, 8, seed) for seed in (0, 1) for L in (1, 4)]
    units.append(UnitConfig(Affine(3), 0.2, 12, 0, Ellipsoid([[1, 0, 0], [0, 2, 0], [0, 0, 3]])))
    units.append(UnitConfig(ReLU(3), 0.2, 8, 5, activation="tanh"))
    units.append(UnitConfig(ReLU(3), 0.2, 8, 6, width=2, initial_std=0.5))
    return pretrain(units, 230, 16, shared_tokens=True, record=(0, 7, 100, 190, 230), **options)
"""
KILLED = """
def kill(step, steps):
    if step >= 150:
        os.kill(os.getpid(), signal.SIGKILL)

sweep(checkpoint=sys.argv[1], progress=kill, **FAST)
"""
FAST = {"stream": "native", "dtype": "float32"}


def one(**options):
    return pretrain([UnitConfig(ReLU(3), 0.1, 8, 0)], 20, 8, **options)


@pytest.mark.parametrize("options", [{}, FAST], ids=["portable", "native"])
def test_a_killed_sweep_goes_on_with_the_same_bits(options, tmp_path):
    """Killed in a process of its own, 150 of 230 steps on the way, between what is recorded."""
    file = tmp_path / "sweep.npz"
    code = SWEEP + KILLED.replace("FAST", repr(options))
    env = os.environ | {"PYTHONPATH": str(Path(icl.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", code, file], env=env)
    assert run.returncode == -9
    with np.load(file, allow_pickle=False) as found:
        assert 150 <= found["step"] < 230
    here = {}
    exec(SWEEP, here)  # noqa: S102, the same sweep in this process
    seen = []
    resumed = here["sweep"](checkpoint=file, progress=lambda *at: seen.append(at), **options)
    whole = here["sweep"](**options)
    assert 150 < seen[0][0] < seen[-1][0] == 230
    for own, other in zip(resumed.parameters, whole.parameters, strict=True):
        assert all(np.array_equal(own[name], other[name]) for name in other)
    for own, other in zip(resumed.history, whole.history, strict=True):
        for unit, wanted in zip(own, other, strict=True):
            assert all(np.array_equal(unit[name], wanted[name]) for name in wanted)
    # what is finished is read
    seen.clear()
    again = here["sweep"](checkpoint=file, progress=lambda *at: seen.append(at), **options)
    assert np.array_equal(again.M_history, whole.M_history) and not seen
    assert np.array_equal(again.M, whole.M) and os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize(
    "change, named",
    [
        ({"learning_rate": 0.2}, "learning_rate=0.05"),
        ({"steps": 21}, "steps=20"),
        ({"record": (3,)}, r"record=\(\)"),
        ({"schedule": "constant"}, "schedule='linear'"),
        ({"start": np.eye(3)}, "another start"),
        ({"units": 2}, "of the units="),
        ({"noise_std": 0.2}, r"noise_std of the units=\[0.1\]"),
        ({"task": Affine(3)}, "other labels"),
        ({"task": ReLU(3, 1.01)}, "other labels"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_file_of_another_sweep_is_refused_in_one_line(change, named, tmp_path):
    file = tmp_path / "sweep.npz"
    one(checkpoint=file)
    before = file.read_bytes()
    task, noise = change.pop("task", ReLU(3)), change.pop("noise_std", 0.1)
    units = [UnitConfig(task, noise, 8, s) for s in range(change.pop("units", 1))]
    given = dict(steps=20, batch_size=8, checkpoint=file) | change
    with pytest.raises(ValueError, match=f"of another sweep, .*{named}") as refusal:
        pretrain(units, **given)
    assert "\n" not in str(refusal.value) and file.read_bytes() == before


@pytest.mark.parametrize("before, after", [(1, 4), (4, 1)])
def test_a_sweep_goes_on_with_another_number_of_threads(before, after, tmp_path):
    # two sets of three units: of four threads each has two, which take the steps of two units and of one
    units = [UnitConfig(ReLU(3, L), 0.1, 8, seed) for seed in (0, 1) for L in (1, 2, 4)]
    train = partial(pretrain, units, 30, 16, shared_tokens=True, record=(0, 10, 20, 30))
    threads = torch.get_num_threads()
    seen = []

    def stop(step, steps):
        if step == 20:
            raise InterruptedError

    try:
        torch.set_num_threads(before)
        with pytest.raises(InterruptedError):
            train(checkpoint=tmp_path / "sweep.npz", progress=stop)
        torch.set_num_threads(after)
        whole = train()
        resumed = train(checkpoint=tmp_path / "sweep.npz", progress=lambda *at: seen.append(at))
    finally:
        torch.set_num_threads(threads)
    assert seen[0] == (22 if after == 4 else 21, 30)  # two steps are drawn side by side
    np.testing.assert_array_equal(resumed.M_history, whole.M_history)


def test_two_maps_of_the_same_text_are_two_sweeps(tmp_path):
    maps = [globe(np.eye(4) + turn * np.ones((4, 4)).cumsum(1) ** 2, 3) for turn in (0, 1)]
    maps = [Globe(3, own.power, 0.0, values=own.values) for own in maps]
    assert repr(maps[0]) == repr(maps[1])
    first, second = ([UnitConfig(own, 0.1, 8, 0)] for own in maps)
    pretrain(first, 2, 8, checkpoint=tmp_path / "sweep.npz")
    with pytest.raises(ValueError, match="other labels"):
        pretrain(second, 2, 8, checkpoint=tmp_path / "sweep.npz")


def test_small_labels_tell_two_classes_apart(tmp_path):
    """Beside a unit with large ones."""
    large = UnitConfig(ReLU(3), 0.1, 8, 0)
    first, second = ([large, UnitConfig(kind(3, 1e-5), 0.0, 8, 1)] for kind in (ReLU, Affine))
    train = partial(pretrain, steps=2, batch_size=8, checkpoint=tmp_path / "sweep.npz")
    assert np.array_equal(train(first).M, train(first).M)
    with pytest.raises(ValueError, match="other labels"):
        train(second)


def test_what_is_no_checkpoint_is_refused_in_one_line(tmp_path):
    file = tmp_path / "sweep.npz"
    one(checkpoint=file)
    whole = file.read_bytes()
    np.savez(tmp_path / "other.npz", step=3)
    with (tmp_path / "array.npz").open("wb") as opened:
        np.save(opened, np.eye(3))
    np.savez(tmp_path / "objects.npz", step=np.array([{}], dtype=object))
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "folder.npz").mkdir()
    for name in ("other", "array", "objects", "cut", "empty", "folder"):
        with pytest.raises(ValueError, match="is no checkpoint of icl.pretrain$"):
            one(checkpoint=tmp_path / f"{name}.npz")
    for path in (3, tmp_path / "nowhere" / "sweep.npz", True):
        with pytest.raises(ValueError, match="must be a path in a folder that is there"):
            one(checkpoint=path)
    with zipfile.ZipFile(file) as arrays:
        assert not any(b"pickle" in arrays.read(name) for name in arrays.namelist())


def test_progress_is_told_about_a_hundred_times_and_at_what_is_recorded():
    seen = []
    tell = partial(pretrain, [UnitConfig(ReLU(3), 0.1, 4, 0)], batch_size=2)
    tell(steps=1000, record=(0, 3, 555), progress=lambda *at: seen.append(at))
    assert seen == [(step, 1000) for step in sorted({3, 555, *range(10, 1001, 10)})]
    seen.clear()
    tell(steps=1000, stream="native", progress=lambda *at: seen.append(at))
    assert seen == [(step, 1000) for step in (*range(16, 1000, 16), 1000)]
    with pytest.raises(ValueError, match="progress=3: must be a function or None"):
        tell(steps=1, progress=3)
    with pytest.raises(KeyboardInterrupt):
        tell(steps=1000, progress=interrupt)


def interrupt(step, steps):
    raise KeyboardInterrupt


def test_units_begin_where_they_are_told():
    tasks = [ReLU(3, 4.0), Cosine(3, 2.0)]
    start = np.arange(18.0).reshape(2, 3, 3) / 18
    grid = partial(train_grid, tasks, 0.1, 8, 1, 4, 8, record=(0,), dtype="float64")
    assert np.array_equal(grid(start=start).M_history[0, :, 0], start)
    assert np.array_equal(grid(start=start[0]).M_history[0, 1, 0], start[0])
    first = grid(start=start)
    assert np.array_equal(grid(start=first).M_history[0], first.M)
    # a start at the initial parameters changes nothing, and one step is that of the same parameters
    assert np.array_equal(grid(start=np.zeros((3, 3))).M, grid().M)
    full = [UnitConfig(ReLU(3), 0.1, 8, s, width=2, initial_std=0.5) for s in (0, 1)]
    before = pretrain(full, 3, 8)
    after = pretrain(full, 3, 8, start=before, record=(0,))
    for own, other in zip(after.history[0], before.parameters, strict=True):
        assert all(np.array_equal(own[name], other[name]) for name in other)
    copies = [{name: value.copy() for name, value in own.items()} for own in before.parameters]
    told = replace(before, parameters=tuple(copies))
    assert np.array_equal(pretrain(full, 3, 8, start=told).M, after.M)


def test_a_start_that_does_not_fit_is_refused_in_one_line():
    full = pretrain([UnitConfig(ReLU(3), 0.1, 8, 0, width=2, initial_std=0.5)], 1, 8)
    two = pretrain([UnitConfig(ReLU(3), 0.1, 8, s) for s in (0, 1)], 1, 8)
    with pytest.warns(RuntimeWarning, match="diverged"):
        lost = one(learning_rate=1e308)
    for start in (np.eye(4), np.zeros((2, 3, 3)), full, two, lost, np.zeros((9,))):
        with pytest.raises(ValueError, match="start") as refusal:
            one(start=start)
        assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="start"):
        one(start=np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="start"):
        pretrain([replace(full.units[0])], 1, 8, start=np.eye(3))
