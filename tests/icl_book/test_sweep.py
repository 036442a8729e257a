"""Sweeps, run for real in a copy of the tree: apart from the book, resumable, and killed in every way."""

import os
import signal

import psutil
import pytest

from icl_book.runner.execute import collect
from smallbook import HANGING, Copy, gone, until


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    with Copy(tmp_path_factory.mktemp("a tree with spaces") / "in its path").kernels() as copy:
        yield copy


@pytest.mark.parametrize(
    "i, whom, how",
    [
        (1, "all", signal.SIGKILL),
        (2, "all", signal.SIGINT),
        (3, "runner", signal.SIGKILL),
        (4, "runner", signal.SIGTERM),
        (5, "snakemake", signal.SIGKILL),
        (6, "server", signal.SIGKILL),
    ],
)
def test_a_killed_sweep_ends_its_runs_and_leaves_nothing_behind_that_needs_a_hand(copy, i, whom, how):
    sweep = ("sweep", "tiny", "--grid", f"seed=9 noise_std=0.{i}")
    process = copy.start(*sweep, alone=True, start_new_session=True)
    kernel, runner = copy.asleep(), psutil.Process(process.pid)
    server = kernel.parent()
    (snakemake,) = set(runner.children()) - {server}
    if whom == "all":
        os.killpg(process.pid, how)
    else:
        {"runner": runner, "snakemake": snakemake, "server": server}[whom].send_signal(how)
    assert process.wait(timeout=HANGING) != 0
    process.stdout.close()
    until(lambda: gone(kernel) and gone(server))
    with copy.awake():
        status, said = copy.run(*sweep)
    assert status == 0 and "[1 of 1] tiny: done" in said, said


def test_a_sweep_is_apart_from_the_book_and_resumes(copy):
    assert copy.run("execute", "tiny")[0] == 0  # as the book does
    book, before = copy.done("tiny"), copy.done("tiny", "quick/sweep")
    assert len(book) == 1
    status, said = copy.run("sweep", "tiny", "--grid", "noise_std=0.5,1.5 seed=0,7", "--jobs", "2")
    assert status == 0 and "4 runs, 3 to do" in said, "the preset's own point is done already"
    assert "X: refuted, expected established" in said, "exploring reports a surprise and does not fail"
    new = copy.done("tiny", "quick/sweep") - before
    assert len(new) == 3 and copy.done("tiny") == book
    status, said = copy.run("sweep", "tiny", "--grid", "noise_std=0.5,1.5 seed=0,7")
    assert status == 0 and "0 to do" in said
    found = [collect(p)["parameters"]["noise_std"] for p in new]
    assert sorted(found) == [0.5, 1.5, 1.5]
