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
from icl_book.runner.record import whole

#: The memory of a run of the preset quick: the largest took 1.24 GB.
BYTES_OF_A_RUN = 1_300_000_000
#: Up to this many last lines of Snakemake's output are shown if no run says what failed.
MAX_SHOWN_LINES = 12
#: Matches Snakemake's words on a command that failed.
STATUS = re.compile(r"non-zero exit status (\d+)")


def schedule(runs: Sequence[Run], jobs: str, profile: str = "") -> int:
    """Let Snakemake run what is not done yet, in this order; see ``Snakefile``.

    Two processes that want the same run share it: the second waits, and finds it done. At most ``jobs`` run
    at a time, or if that is empty as many as the cores and the free memory of this machine allow. They run
    on the cluster whose settings are in the folder ``profile``, or without one on this machine.

    Returns:
        The exit status.

    Raises:
        BadInput: If jobs or profile is wrong, or for what `ready` finds; nothing has run then.
        OSError: If a file cannot be written.
    """
    _check_call(jobs, profile)
    calls = ROOT / "_build" / "calls"
    # A cluster's machines share this folder, but perhaps no locks: each tidies up after itself only.
    own_prefix = f"{platform.node()}-"
    # Calls that were killed leave folders, which go even if there is nothing to run now.
    process.sweep(own_prefix, calls)
    for prefix in ("icl-call-", "icl-kernel-"):
        process.sweep(prefix)
    # Runs with one path are one run.
    different = {run.path: run for run in runs}.values()
    to_do = [run for run in different if not whole(run.path)]
    jobs = jobs or str(_fit_jobs(len(to_do)))
    print(f"{runs[0].preset}: {len(runs)} runs, {len(to_do)} to do, {jobs} at a time", flush=True)
    if not to_do:
        return 0
    ready(to_do, profile)
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
    # Snakemake's plugins hand the path to a shell as it is.
    if profile and " " in sys.executable:
        raise BadInput(
            f"profile={profile!r}: needs a path of Python without a space, not {sys.executable!r}"
        )


def _fit_jobs(runs: int) -> int:
    """Return how many runs this machine has cores and free memory for; each has the user's threads or one."""
    threads = available() if os.environ.get("OMP_NUM_THREADS") else 1
    in_memory = int(psutil.virtual_memory().available) // BYTES_OF_A_RUN
    return max(1, min(runs, processors() // threads, in_memory))


def _make_snakemake_plan(to_do: Sequence[Run], jobs: int, profile: str) -> dict[str, Any]:
    """Return what ``Snakefile`` reads: a task for each run, and what all of them share.

    A task is the notebook's name and the arguments of ``python -m icl_book execute``. Its key is the name of
    the stamp by which Snakemake knows that it is done.
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
    """Run Snakemake on the plan in a folder; return its exit status and its words.

    On this machine the runs have their temporary files in the folder ``temporary``.
    """
    command = [sys.executable, "-m", "snakemake", "--cores", jobs]
    command += ["--jobs", jobs, "--profile", profile] if profile else []
    # Snakemake runs in the root of the repository, from which the folder is named.
    command += ["--config", f"folder={os.path.relpath(folder, ROOT)}"]
    # What the user set for Snakemake is for workflows of theirs.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SNAKEMAKE_")}
    # A run that is killed leaves its temporary files in a folder of this call. A cluster's machines have
    # folders of their own.
    environment |= {} if profile else {"TMPDIR": temporary}
    return process.run(command, ROOT, environment)


def _report(to_do: Sequence[Run], status: int, said: str, seconds: float, profile: str) -> int:
    """Print what failed and why, or that all is done; return the exit status.

    ``status`` and ``said`` are Snakemake's exit status and words.
    """
    undone = [run for run in to_do if not whole(run.path)]
    if status == 0 and not undone:
        print(f"done in {seconds:.0f} s", flush=True)
        return 0
    reasons = [
        f"{run.name}: {run.reason.read_text(encoding='utf-8')}"
        for run in to_do
        if run.reason.is_file()
    ]
    # Snakemake's words help unless some run left its reason, or all that failed ended with 1 and printed why.
    if not reasons and set(STATUS.findall(said)) != {"1"}:
        print(*filter(str.strip, said.splitlines()[-MAX_SHOWN_LINES:]), sep="\n")
    # A run that is killed does not leave a reason.
    if silent := len(undone) - len(reasons):
        logs = " and .snakemake/slurm_logs" if profile else ""
        reasons.append(f"{silent} of {len(to_do)} runs not done, see above{logs}")
    print(f"FAILED after {seconds:.0f} s: {'; '.join(reasons)}", flush=True)
    return status or 1


def _share_threads(jobs: int, profile: str) -> str:
    """Return the threads of a run, as a shell reads them: the user's number, or Slurm's, or a fair share."""
    if os.environ.get("OMP_NUM_THREADS"):
        return str(available())
    share = max(1, available() // jobs)
    return f"${{SLURM_CPUS_PER_TASK:-{share}}}" if profile else str(share)


def ready(runs: Sequence[Run], profile: str = "") -> None:
    """Raise BadInput for what would fail in every kernel: a mistake in the claims, a missing device.

    With the ``profile`` of a cluster, a device is looked for where the job runs, not here.
    """
    # The claims take long to import, and some commands do not need them.
    from icl_book.claims import registry

    try:
        registry()
    except ValueError as error:
        raise BadInput("; ".join(str(error).splitlines())) from None
    if not profile:
        for device in {run.device for run in runs} - {"cpu"}:
            provenance.device(device)
