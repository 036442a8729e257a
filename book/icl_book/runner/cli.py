"""The command line: ``python -m icl_book book | execute | sweep | rules | confirm | replicate | sync``."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial

import yaml

from icl_book.parameters import BadInput, number
from icl_book.provenance import ROOT
from icl_book.runner import again
from icl_book.runner.execute import execute, sync
from icl_book.runner.lock import alone
from icl_book.runner.plan import Run, configure, plan, threads
from icl_book.runner.preload import preloaded


def schedule(settings: Mapping[str, str], jobs: str) -> int:
    """Let Snakemake run what is not done yet; see ``Snakefile``.

    A second process with the same preset and the same notebook waits until the first has ended.

    Args:
        settings: Its ``preset``, and ``notebook`` and ``grid`` for a sweep.
        jobs: How many notebooks run at a time, a positive integer.

    Returns:
        The exit status.

    Raises:
        BadInput: If anything is wrong with the settings; nothing has run then.
    """
    if not jobs.isdecimal() or int(jobs) < 1:
        raise BadInput(f"jobs={jobs!r}: must be an integer >= 1")
    name, grid = settings.get("notebook"), settings.get("grid", "")
    only = settings.get("only", "").split()
    found = [run for run in plan(settings["preset"], name, grid) if not only or run.name in only]
    work = f"{name or 'book'}-{settings['preset']}"
    with alone(ROOT / "_build" / f".lock-{work}", work):
        waiting = sum(not run.path.is_file() for run in found)
        print(f"{settings['preset']}: {len(found)} runs, {waiting} to do, {jobs} at a time", flush=True)
        with preloaded(thread_settings(int(jobs))) if waiting else nullcontext():
            return _snakemake(settings, jobs)


def _snakemake(settings: Mapping[str, str], jobs: str) -> int:
    start = time.perf_counter()
    words = ["--cores", jobs, "--config", *(f"{k}={v}" for k, v in settings.items())]
    command = [sys.executable, "-m", "snakemake", *words]
    with subprocess.Popen(command, cwd=ROOT, preexec_fn=partial(tie, signal.SIGKILL)) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # Snakemake and the runs got it too, and stop their kernels
            process.wait()
            print("interrupted; what is done is kept, the same command goes on from there", flush=True)
            return 130
    seconds = time.perf_counter() - start
    if status == 0:
        print(f"done in {seconds:.0f} s", flush=True)
    else:
        logs = sorted((ROOT / ".snakemake" / "log").glob("*.log")) or ["-"]
        print(f"FAILED after {seconds:.0f} s; Snakemake's log: {os.path.relpath(logs[-1])}", flush=True)
    return status


def thread_settings(jobs: int) -> dict[str, str]:
    """Return what ``Snakefile`` and Snakemake itself tell a run about threads, as environment variables."""
    blas = dict.fromkeys(("GOTO_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return blas | {"OMP_NUM_THREADS": str(threads(jobs))}


def tie(signal_number: int) -> None:
    """Ask Linux to send this process a signal when its parent ends; elsewhere do nothing.

    Whoever kills a book's or a sweep's process alone ends all that it started: Snakemake is killed, which
    is safe because outputs are whole or absent, and its runs are interrupted.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal_number)  # PR_SET_PDEATHSIG


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m icl_book", description="Execute and sync notebooks.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("execute", help="execute one notebook")
    one.add_argument("-p", dest="values", action="append", default=[], metavar="NAME=VALUE")
    one.add_argument("--label", default="", help="printed before each line, e.g. '1 of 2'")
    one.add_argument("--tied", action="store_true", help="end when the process that started this one ends")
    book = commands.add_parser("book", help="execute what is not done and build the book")
    sweep = commands.add_parser("sweep", help="execute one notebook over a grid of parameters")
    sweep.add_argument("--grid", default="", help="e.g. 'noise_std=0.5,1 seed=0,1'")
    for command in (one, sweep):
        command.add_argument("name")
    for command in (one, book, sweep):
        command.add_argument("--preset", default="quick")
    for command in (book, sweep):
        command.add_argument("--jobs", default="2")
    confirm = commands.add_parser("confirm", help="run the confirmatory preset and write its results")
    repeat = commands.add_parser("replicate", help="judge every sampled verdict with fresh random streams")
    repeat.add_argument("--seed", type=int, required=True, help="root of the streams, a positive integer")
    for command in (confirm, repeat):
        command.add_argument("--jobs", default="2")
    commands.add_parser("rules", help="print the digest of the rules, for book/changelog.yml")
    commands.add_parser("sync", help="rewrite notebooks/*.ipynb from notebooks/*.py")
    options = parser.parse_args(arguments)
    try:
        match options.command:
            case "sync":
                for path in sync():
                    print(f"wrote {os.path.relpath(path)}")
            case "book":
                return schedule({"preset": options.preset}, options.jobs)
            case "sweep":
                if not options.grid:
                    raise BadInput(
                        "sweep needs a notebook and a grid: "
                        'make sweep NOTEBOOK=theorem2_scaling GRID="seed=0,1"'
                    )
                return schedule(
                    {"preset": options.preset, "notebook": options.name, "grid": options.grid}, options.jobs
                )
            case "rules":
                from icl_book.claims import changes

                print(changes.digest())
            case "confirm":
                return again.confirm(schedule, options.jobs)
            case "replicate":
                return again.replicate(schedule, options.seed, options.jobs)
            case "execute":
                if options.tied:
                    tie(signal.SIGINT)
                execute(_changed(options.name, options.preset, options.values), options.label)
    except KeyboardInterrupt:
        return 130
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _changed(name: str, preset: str, words: list[str]) -> Run:
    """A preset's run with ``name=value`` words applied to it."""
    changes = {}
    for word in words:
        key, equals, value = word.partition("=")
        try:
            changes[key] = number(yaml.safe_load(value))
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise BadInput(f"-p {word!r}: must look like name=value")
    return configure(name, preset, changes)
