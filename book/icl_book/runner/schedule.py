"""Let Snakemake execute the missing runs, here or on a cluster, and say what failed and why."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from icl.threads import available, processors
from icl_book import provenance
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import process
from icl_book.runner.plan import Run
from icl_book.runner.record import check_whole

#: The largest run of the preset quick needs nearly this much memory.
BYTES_OF_A_RUN = 1_300_000_000
MAX_SHOWN_LINES = 12
#: Matches Snakemake's words on a command that failed.
STATUS = re.compile(r"non-zero exit status (\d+)")


def schedule(runs: Sequence[Run], jobs: str, profile: str = "") -> int:
    """Let Snakemake execute the runs that are not done yet, in this order, and return the exit status.

    Args:
        runs: At least one run. All have the same preset.
        jobs: How many runs are executed at a time, at most; if empty, as many as cores and memory allow.
        profile: A folder with the settings of a cluster; if empty, the runs are executed on this machine.

    Raises:
        BadInput: If jobs or profile is wrong, or for what `check_ready` finds; nothing has run then.
    """
    _check_call(jobs, profile)
    calls = ROOT / "_build" / "calls"
    # The machines of a cluster share this folder, but perhaps not its locks.
    own_prefix = f"{platform.node()}-"
    process.sweep(own_prefix, calls)
    for prefix in ("icl-call-", "icl-kernel-"):
        process.sweep(prefix)
    # Two runs with the same path are the same run.
    different = {run.path: run for run in runs}.values()
    to_do = [run for run in different if not check_whole(run.path)]
    jobs = jobs or str(_fit_jobs(len(to_do)))
    print(f"{runs[0].preset}: {len(runs)} runs, {len(to_do)} to do, {jobs} at a time", flush=True)
    if not to_do:
        return 0
    check_ready(to_do, profile)
    for run in to_do:
        run.reason.unlink(missing_ok=True)
    start = time.perf_counter()
    calls.mkdir(parents=True, exist_ok=True)
    with process.scratch(own_prefix, calls) as folder, process.scratch("icl-call-") as temporary:
        content = json.dumps(_make_snakemake_plan(to_do, int(jobs), profile))
        Path(folder, "plan.json").write_text(content, encoding="utf-8")
        status, said = _run_snakemake(folder, temporary, jobs, profile)
    return _report(to_do, status, said, time.perf_counter() - start, profile)


def _check_call(jobs: str, profile: str) -> None:
    """Raise BadInput unless jobs and profile are as `schedule` needs them."""
    if jobs and (not jobs.isdecimal() or int(jobs) < 1):
        raise BadInput(f"jobs={jobs!r}: must be an integer >= 1")
    if profile and not (ROOT / profile / "config.yaml").is_file():
        raise BadInput(
            f"profile={profile!r}: must be a folder with a config.yaml, e.g. profiles/slurm"
        )
    # Snakemake's plugins hand the path of Python to a shell without quotes.
    if profile and " " in sys.executable:
        raise BadInput(
            f"profile={profile!r}: needs a path of Python without a space, not {sys.executable!r}"
        )


def _fit_jobs(runs: int) -> int:
    """Return how many of ``runs`` runs the cores and the free memory of this machine allow at a time."""
    threads = available() if os.environ.get("OMP_NUM_THREADS") else 1
    in_memory = int(psutil.virtual_memory().available) // BYTES_OF_A_RUN
    return max(1, min(runs, processors() // threads, in_memory))


def _make_snakemake_plan(to_do: Sequence[Run], jobs: int, profile: str) -> dict[str, Any]:
    """Return what ``Snakefile`` reads: the path of Python, the threads of a run, and a task for each run.

    A task is the notebook's name and the arguments of ``python -m icl_book execute``, by the name of its
    stamp, an empty file by which Snakemake knows that the task is done.
    """
    tasks = {
        f"{run.name}.{run.digest}": [run.name, f"--label '{i} of {len(to_do)}' {run.words}"]
        for i, run in enumerate(to_do, 1)
    }
    return {
        "python": sys.executable,
        "threads": _share_threads(jobs, profile),
        "tasks": tasks,
    }


def _run_snakemake(folder: str, temporary: str, jobs: str, profile: str) -> tuple[int, str]:
    """Run Snakemake on the plan in ``folder``; return its exit status and its standard error."""
    command = [sys.executable, "-m", "snakemake", "--cores", jobs]
    command += ["--jobs", jobs, "--profile", profile] if profile else []
    # Snakemake runs in the root of the repository.
    command += ["--config", f"folder={os.path.relpath(folder, ROOT)}"]
    # The user's settings of Snakemake are for other workflows.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SNAKEMAKE_")}
    # The caller removes this folder, with what killed runs leave in it. The machines of a cluster lack it.
    if not profile:
        environment["TMPDIR"] = temporary
    return process.run(command, ROOT, environment)


def _report(to_do: Sequence[Run], status: int, said: str, seconds: float, profile: str) -> int:
    """Print that all runs are done, or what failed and why; return the exit status."""
    undone = [run for run in to_do if not check_whole(run.path)]
    if status == 0 and not undone:
        print(f"done in {seconds:.0f} s", flush=True)
        return 0
    reasons = [
        f"{run.name}: {run.reason.read_text(encoding='utf-8')}"
        for run in to_do
        if run.reason.is_file()
    ]
    # A failed run leaves its reason, and a command that ended with the status 1 has printed why.
    if not reasons and set(STATUS.findall(said)) != {"1"}:
        print(*filter(str.strip, said.splitlines()[-MAX_SHOWN_LINES:]), sep="\n")
    # A killed run does not leave a reason.
    if silent := len(undone) - len(reasons):
        logs = " and .snakemake/slurm_logs" if profile else ""
        reasons.append(f"{silent} of {len(to_do)} runs not done, see above{logs}")
    print(f"FAILED after {seconds:.0f} s: {'; '.join(reasons)}", flush=True)
    return status or 1


def _share_threads(jobs: int, profile: str) -> str:
    """Return the number of threads of a run, as a text that a shell evaluates.

    Without ``OMP_NUM_THREADS`` it is the number that Slurm gives the run, or an equal share of the
    processors.
    """
    if os.environ.get("OMP_NUM_THREADS"):
        return str(available())
    share = max(1, available() // jobs)
    return f"${{SLURM_CPUS_PER_TASK:-{share}}}" if profile else str(share)


def check_ready(runs: Sequence[Run], profile: str = "") -> None:
    """Raise BadInput if the claims have a mistake or this machine, without a ``profile``, lacks a device."""
    # The claims take long to import.
    from icl_book.claims import registry

    try:
        registry()
    except ValueError as error:
        raise BadInput("; ".join(str(error).splitlines())) from None
    if not profile:
        for device in {run.device for run in runs} - {"cpu"}:
            provenance.device(device)
