"""Letting Snakemake run what is not done yet, here or on a cluster, and saying what failed and why."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from icl_book import process, provenance
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import Run
from icl_book.runner.record import whole

SHOWN = 12  # lines of Snakemake's own words that are shown, if no run says what failed


def schedule(runs: Sequence[Run], jobs: str, profile: str = "") -> int:
    """Let Snakemake run what is not done yet, in this order; see ``Snakefile``.

    Two processes that want the same run share it: the second waits, and finds it done. At most ``jobs`` run
    at a time, on the cluster whose settings are in the folder ``profile``, or without one on this machine.

    Returns:
        The exit status.

    Raises:
        BadInput: If jobs or profile is wrong; nothing has run then.
        OSError: If a file cannot be written.
    """
    if not jobs.isdecimal() or int(jobs) < 1:
        raise BadInput(f"jobs={jobs!r}: must be an integer >= 1")
    if profile and not (ROOT / profile / "config.yaml").is_file():
        raise BadInput(
            f"profile={profile!r}: must be a folder with a config.yaml, e.g. profiles/slurm"
        )
    if (
        profile and " " in sys.executable
    ):  # Snakemake's plugins hand it to a shell as it is
        raise BadInput(
            f"profile={profile!r}: needs a path of Python without a space, not {sys.executable!r}"
        )
    left = [
        run for run in {run.path: run for run in runs}.values() if not whole(run.path)
    ]
    print(
        f"{runs[0].preset}: {len(runs)} runs, {len(left)} to do, {jobs} at a time",
        flush=True,
    )
    if not left:
        return 0
    ready(left, profile)
    for run in left:
        run.reason.unlink(missing_ok=True)
    start, calls = time.perf_counter(), ROOT / "_build" / "calls"
    calls.mkdir(parents=True, exist_ok=True)
    # A cluster's machines share this folder, but perhaps no locks: each tidies up after itself only.
    with process.scratch(f"{platform.node()}-", calls) as folder:
        tasks = {
            f"{run.name}.{run.digest}": [
                run.name,
                f"--label '{i} of {len(left)}' {run.words}",
            ]
            for i, run in enumerate(left, 1)
        }
        threads = max(1, (os.cpu_count() or 1) // int(jobs))
        environment = [
            f"{k}={v}" for k, v in left[0].environment.items()
        ]  # the same for all runs of a call
        content = {
            "python": sys.executable,
            "environment": environment,
            "threads": threads,
            "tasks": tasks,
        }
        Path(folder, "plan.json").write_text(json.dumps(content), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--cores", jobs]
        command += ["--jobs", jobs, "--profile", profile] if profile else []
        command += ["--config", f"folder={os.path.relpath(folder, ROOT)}"]
        status, said = process.run(command, ROOT)
    seconds = time.perf_counter() - start
    if status == 0:
        print(f"done in {seconds:.0f} s", flush=True)
        return 0
    reasons = [
        f"{r.name}: {f.read_text(encoding='utf-8')}"
        for r in left
        if (f := r.reason).is_file()
    ]
    if not reasons:
        print(*filter(str.strip, said.splitlines()[-SHOWN:]), sep="\n")
    if silent := sum(not whole(run.path) for run in left) - len(reasons):
        logs = " and .snakemake/slurm_logs" if profile else ""
        reasons.append(f"{silent} of {len(left)} runs not done, see above{logs}")
    print(f"FAILED after {seconds:.0f} s: {'; '.join(reasons)}", flush=True)
    return status


def ready(runs: Sequence[Run], profile: str = "") -> None:
    """Raise BadInput for what would fail in every kernel: a mistake in the claims, a device that is not here.

    On a cluster, ``profile``, a device is looked for where the job runs.
    """
    from icl_book.claims import registry  # takes long to import

    try:
        registry()
    except ValueError as error:
        raise BadInput("; ".join(str(error).splitlines())) from None
    if not profile:
        for device in {run.device for run in runs} - {"cpu"}:
            provenance.device(device)
