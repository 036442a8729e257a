"""Letting Snakemake run what is not done yet, here or on a cluster, and saying what failed and why."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from icl.threads import available
from icl_book import provenance
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import process
from icl_book.runner.plan import Run
from icl_book.runner.record import whole

SHOWN = 12  # lines of Snakemake's own words that are shown, if no run says what failed
#: What Snakemake says of a command that failed.
STATUS = re.compile(r"non-zero exit status (\d+)")


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
    # Snakemake's plugins hand it to a shell as it is
    if profile and " " in sys.executable:
        raise BadInput(
            f"profile={profile!r}: needs a path of Python without a space, not {sys.executable!r}"
        )
    calls = ROOT / "_build" / "calls"
    # A cluster's machines share this folder, but perhaps no locks: each tidies up after itself only.
    here = f"{platform.node()}-"
    process.sweep(here, calls)
    for prefix in ("icl-call-", "icl-kernel-"):
        process.sweep(prefix)
    left = [run for run in {run.path: run for run in runs}.values() if not whole(run.path)]
    print(f"{runs[0].preset}: {len(runs)} runs, {len(left)} to do, {jobs} at a time", flush=True)
    if not left:
        return 0
    ready(left, profile)
    for run in left:
        run.reason.unlink(missing_ok=True)
    start = time.perf_counter()
    calls.mkdir(parents=True, exist_ok=True)
    with process.scratch(here, calls) as folder, process.scratch("icl-call-") as temporary:
        tasks = {
            f"{run.name}.{run.digest}": [run.name, f"--label '{i} of {len(left)}' {run.words}"]
            for i, run in enumerate(left, 1)
        }
        # the same for all runs of a call
        environment = [f"{k}={v}" for k, v in left[0].environment.items()]
        content = {
            "python": sys.executable,
            "environment": environment,
            "threads": _threads(int(jobs), profile),
            "tasks": tasks,
        }
        Path(folder, "plan.json").write_text(json.dumps(content), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--cores", jobs]
        command += ["--jobs", jobs, "--profile", profile] if profile else []
        command += ["--config", f"folder={os.path.relpath(folder, ROOT)}"]
        # what the user set for Snakemake is for workflows of theirs
        own = {k: v for k, v in os.environ.items() if not k.startswith("SNAKEMAKE_")}
        # whatever is killed leaves its temporary files in a folder of this call's; a cluster's machines have
        # folders of their own
        own |= {} if profile else {"TMPDIR": temporary}
        status, said = process.run(command, ROOT, own)
    seconds = time.perf_counter() - start
    undone = [run for run in left if not whole(run.path)]
    if status == 0 and not undone:
        print(f"done in {seconds:.0f} s", flush=True)
        return 0
    reasons = [
        f"{r.name}: {f.read_text(encoding='utf-8')}" for r in left if (f := r.reason).is_file()
    ]
    # a run that ends with 1 has printed why
    if not reasons and set(STATUS.findall(said)) != {"1"}:
        print(*filter(str.strip, said.splitlines()[-SHOWN:]), sep="\n")
    if silent := len(undone) - len(reasons):
        logs = " and .snakemake/slurm_logs" if profile else ""
        reasons.append(f"{silent} of {len(left)} runs not done, see above{logs}")
    print(f"FAILED after {seconds:.0f} s: {'; '.join(reasons)}", flush=True)
    return status or 1


def _threads(jobs: int, profile: str) -> str:
    """Return the threads of a run, as a shell reads them: the user's own number, else a fair share."""
    if os.environ.get("OMP_NUM_THREADS"):
        return str(available())
    share = max(1, available() // jobs)
    return f"${{SLURM_CPUS_PER_TASK:-{share}}}" if profile else str(share)


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
