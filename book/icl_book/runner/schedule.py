"""Letting Snakemake run what is not done yet, and saying what failed and why."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.cost import estimate, growth, memory, words
from icl_book.runner.folders import temporary_folder
from icl_book.runner.lock import alone
from icl_book.runner.plan import plan, threads
from icl_book.runner.preload import preloaded
from icl_book.runner.record import keep_whole

LOOK = 2.0  # seconds between two looks at what is done
SLURM_LOGS = ".snakemake/slurm_logs"  # where the plugin lets jobs of a cluster write
SHOWN = 12  # lines of Snakemake's own words that are shown, if no run says what failed


def schedule(settings: Mapping[str, str], jobs: str, profile: str = "", force: bool = False) -> int:
    """Let Snakemake run what is not done yet; see ``Snakefile``.

    A second process with the same preset and the same notebook waits until the first has ended. A result that
    is damaged is removed and runs again.

    Args:
        settings: Its ``preset``, and ``notebook`` and ``grid`` for a sweep.
        jobs: How many notebooks run at a time, a positive integer.
        profile: A folder with the settings of a cluster, ``profiles/slurm``; none runs on this machine.
        force: Whether to start what may take very long, see `icl_book.runner.cost`.

    Returns:
        The exit status.

    Raises:
        BadInput: If anything is wrong with the settings; nothing has run then.
        OSError: If a file cannot be written.
    """
    if not jobs.isdecimal() or int(jobs) < 1:
        raise BadInput(f"jobs={jobs!r}: must be an integer >= 1")
    if profile and not (ROOT / profile / "config.yaml").is_file():
        raise BadInput(f"profile={profile!r}: must be a folder with a config.yaml, e.g. profiles/slurm")
    if profile and " " in sys.executable:  # Snakemake's plugins hand it to a shell as it is
        raise BadInput(f"profile={profile!r}: needs a path of Python without a space, not {sys.executable!r}")
    name, grid = settings.get("notebook"), settings.get("grid", "")
    only = settings.get("only", "").split()
    found = [run for run in plan(settings["preset"], name, grid) if not only or run.name in only]
    work = f"{name or 'book'}-{settings['preset']}"
    with alone(ROOT / "_build" / f".lock-{work}", work):
        paths = {run.path: run for run in found}
        left = [run for path, run in paths.items() if not keep_whole(path)]
        waiting = {run.path: run.name for run in left}
        factors = [(run.name, growth(run)) for run in left]
        about = estimate(settings["preset"], factors, int(jobs), force) + memory(settings["preset"], factors)
        print(
            f"{settings['preset']}: {len(found)} runs, {len(waiting)} to do, {jobs} at a time{about}",
            flush=True,
        )
        if not waiting and ("notebook" in settings or only):
            return 0  # a book has pages to make even so
        here = waiting and not profile
        with temporary_folder() as folder, preloaded(thread_settings(int(jobs))) if here else nullcontext():
            # Snakemake leaves a folder behind when it is killed. A cluster's machines do not have this one.
            environment = os.environ if profile else os.environ | {"TMPDIR": folder}
            words = ["--cores", jobs, *(["--jobs", jobs, "--profile", profile] if profile else [])]
            words += ["--config", *(f"{k}={v}" for k, v in settings.items())]
            return _snakemake(words, environment, waiting, Path(folder) / "said")


def _snakemake(
    words: list[str], environment: Mapping[str, str], waiting: Mapping[Path, str], said: Path
) -> int:
    start, began = time.perf_counter(), time.time()
    command = [sys.executable, "-m", "snakemake", *words]
    # Runs speak on the standard output (Snakefile), so this is Snakemake's alone.
    with said.open("w", encoding="utf-8") as own:
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stderr=own, preexec_fn=partial(tie, signal.SIGKILL)
        ) as process:
            try:
                status = _wait(process, list(waiting))
            except KeyboardInterrupt:  # Snakemake and the runs got it too, and stop their kernels
                process.wait()
                print("interrupted; what is done is kept, the same command goes on from there", flush=True)
                return 130
    seconds = time.perf_counter() - start
    if status == 0:
        print(f"done in {seconds:.0f} s", flush=True)
        return 0
    left = [path for path in waiting if not path.is_file()]
    reasons = [f"{waiting[path]}: {problem}" for path in left if (problem := _problem(path, began))]
    if not reasons:
        lines = [line for line in said.read_text(encoding="utf-8").splitlines() if line.strip()]
        print("\n".join(lines[-SHOWN:]), flush=True)
    if silent := len(left) - len(reasons):
        logs = f" and {SLURM_LOGS}" if "--profile" in words and (ROOT / SLURM_LOGS).is_dir() else ""
        reasons.append(f"{silent} of {len(waiting)} runs not done, see above{logs}")
    print(f"FAILED after {seconds:.0f} s: {'; '.join(reasons) or 'the pages, see above'}", flush=True)
    return status


def _wait(process: subprocess.Popen, paths: Sequence[Path]) -> int:
    """Wait for Snakemake; say how many runs are done, and guess how long the others take."""
    start, before = time.perf_counter(), 0
    while True:
        try:
            return process.wait(timeout=LOOK)
        except subprocess.TimeoutExpired:
            done = sum(path.is_file() for path in paths)
            if before < done < len(paths):
                left = (time.perf_counter() - start) / done * (len(paths) - done)
                print(f"{done} of {len(paths)} done, about {words(left)} left", flush=True)
            before = done


def _problem(path: Path, began: float) -> str | None:
    """Return what a run that failed since then wrote about it, if it could."""
    failed = path.with_suffix(".failed.ipynb")
    try:
        if failed.stat().st_mtime < began:
            return None
        return json.loads(failed.read_text(encoding="utf-8"))["metadata"]["icl"]["problem"]
    except (OSError, ValueError, KeyError):
        return None


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
