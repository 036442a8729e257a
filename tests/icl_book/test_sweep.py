"""Sweeps, run for real in a copy of the tree: apart from the book, resumable, and killed in every way."""

import csv
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest
from pyarrow import parquet

from icl_book.runner.record import collect
from smallbook import HANGING, Copy, gone, until


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    with Copy(tmp_path_factory.mktemp("a tree with spaces") / "in its path").kernels() as copy:
        yield copy


@pytest.mark.parametrize(
    "i, whom, how, alone",
    [
        (1, "all", signal.SIGKILL, True),
        (2, "all", signal.SIGINT, False),
        (3, "runner", signal.SIGKILL, True),
        (4, "runner", signal.SIGTERM, False),
        (5, "snakemake", signal.SIGKILL, False),
        (6, "server", signal.SIGKILL, True),
    ],
)
def test_a_killed_sweep_ends_its_runs_and_leaves_nothing_behind_that_needs_a_hand(copy, i, whom, how, alone):
    sweep = ("sweep", "tiny", "--grid", f"seed=9 noise_std=3.{i}")
    process = copy.start(*sweep, alone=alone, start_new_session=True)
    kernel, runner = copy.asleep(process), psutil.Process(process.pid)
    server = kernel.parent()
    (snakemake,) = (child for child in runner.children() if "snakemake" in child.cmdline())
    if whom == "all":
        os.killpg(process.pid, how)
    else:
        {"runner": runner, "snakemake": snakemake, "server": server}[whom].send_signal(how)
    assert process.wait(timeout=HANGING) != 0
    process.stdout.close()
    until(lambda: gone(kernel) and (gone(server) or not alone))
    copy.until_nothing_is_left()
    with copy.awake():
        status, said = copy.run(*sweep)
    assert status == 0 and "[1 of 1] tiny: done" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(3))
def test_a_sweep_killed_at_a_random_moment_finishes_with_the_numbers_of_an_undisturbed_one(copy, moment):
    random, grid = Random(moment), f"seed=0,1,2 noise_std=2.{moment}"
    sweep = ("sweep", "tiny", "--grid", grid, "--jobs", "2")
    process = copy.start(*sweep, start_new_session=True)
    time.sleep(random.uniform(0, 12))
    victims = copy.processes()
    whom = random.choice(["all", *victims])
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        if whom == "all":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            whom.kill()
    process.communicate(timeout=HANGING)
    copy.until_nothing_is_left()
    status, said = copy.run(*sweep)
    assert status == 0 and "unlock" not in said, said
    again = {path: collect(path) for path in copy.done("tiny", "quick/sweep")}
    found = [found for found in again.values() if found["parameters"]["noise_std"] == float(f"2.{moment}")]
    assert sorted(one["parameters"]["seed"] for one in found) == [0, 1, 2]
    assert all(one["cards"][0]["cases"] == found[0]["cards"][0]["cases"] for one in found)


def test_an_error_of_snakemake_reaches_the_user_and_the_last_line_names_what_failed(copy):
    copy.edit("Snakefile", "rule all:", "1 / 0\n\n\nrule all:")
    status, said = copy.run("sweep", "tiny", "--grid", "seed=3")
    assert status != 0 and "division by zero" in said, said
    assert re.match(r"FAILED after \d+ s: 1 of 1 runs not done, see above$", said.splitlines()[-1]), said
    copy.edit("Snakefile", "1 / 0\n\n\nrule all:", "rule all:")
    status, said = copy.run("sweep", "tiny", "--grid", "seed=8,3")
    last = said.splitlines()[-1]
    assert status != 0 and re.match(r"FAILED after \d+ s: tiny: cell 7: RuntimeError: planted", last), said
    assert "seed=8" in last and "Error in rule" not in said


def test_a_kernel_s_key_lies_in_its_own_folder_and_goes_with_it(copy):
    process = copy.start("execute", "tiny", "-p", "seed=9", alone=True)
    kernel = copy.asleep(process)
    (folder,) = copy.temporary.iterdir()
    assert (folder / "kernel.json").stat().st_mode & 0o077 == 0
    process.kill()
    process.communicate()
    until(lambda: gone(kernel))
    copy.until_nothing_is_left()


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
    folder = copy.root / Path(said.splitlines()[-1].split()[3].rstrip(",")).parent
    rows = list(csv.DictReader((folder / "table.csv").open()))
    assert [(r["noise_std"], r["seed"], r["X"], r["X one"]) for r in rows] == [
        (noise_std, seed, *judged)
        for noise_std in ("0.5", "1.5")
        for seed, judged in (("0", ("established", "1.0")), ("7", ("refuted", "-1.0")))
    ]
    typed = parquet.read_table(folder / "table.parquet").to_pylist()
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in typed] == rows
    assert [type(typed[0][name]) for name in ("noise_std", "seed", "X", "X one")] == [float, int, str, float]
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 1 and "<td>refuted</td>" in page
    for row, link in zip(rows, re.findall(r'<a href="([^"]+ipynb)"', page), strict=True):
        assert row["notebook"] == link and collect(folder / link)["digest"] == row["digest"]
        assert float(row["seconds"]) == collect(folder / link)["seconds"]
