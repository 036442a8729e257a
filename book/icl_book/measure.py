"""Measure seconds and peak memory of statements, each in a process of its own.

Memory freed by an earlier call stays with the allocator, so a peak is meaningful only in a process that has
done nothing else. Peaks need Linux, where a process can forget how much memory it once held.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from icl_book.provenance import ROOT, resident_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Where Linux lets a process forget its peak.
RESET = Path("/proc/self/clear_refs")

#: What was prepared, in the process that is forked for each job.
_names: dict[str, Any] = {}


class Cost(NamedTuple):
    """Seconds of the fastest repetition, and the peak of resident memory above what was held just before."""

    seconds: float
    peak_bytes: int


def in_subprocesses(
    jobs: Sequence[tuple[str, str]], prepare: str = "pass", repeats: int = 3
) -> list[Cost | None]:
    """Measure statements, each in a fork of a new Python process that has executed ``prepare``.

    The first execution of a statement is measured for memory, the following ones for time. Let its set-up
    run the same code once on a small problem: loading code also takes memory.

    Args:
        jobs: Pairs of a statement, e.g. ``"torch.kron(A1, A2)"``, and its set-up, which is not measured.
        prepare: Python code executed once, usually imports. It must not start threads.
        repeats: Timed repetitions, at least 1.

    Returns:
        One cost a job; None for a job that died for want of memory.

    Raises:
        ValueError: If repeats is below 1.
        RuntimeError: If a job fails for another reason, or the system cannot reset a peak; the message ends
            with the last line of error output.
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: must be at least 1")
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "book"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "icl_book.measure"],
        input=json.dumps([jobs, prepare, repeats]),
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"measuring: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    outcomes = json.loads(done.stdout.splitlines()[-1])
    for (statement, _), outcome in zip(jobs, outcomes, strict=True):
        if isinstance(outcome, str) and "memory" not in outcome.lower():
            raise RuntimeError(f"{statement}: {outcome}")
    return [None if isinstance(outcome, str) else Cost(*outcome) for outcome in outcomes]


def table(settings: pd.DataFrame, statement: str, setup: str, prepare: str, repeats: int = 1) -> pd.DataFrame:
    """Measure in every row of a table of settings; its columns fill the templates of statement and set-up.

    Returns:
        The table with two more columns: ``seconds`` and ``peak`` in bytes, NaN where a process died for
        want of memory. The rest is as in `in_subprocesses`.
    """
    import pandas as pd  # slow to import, and every new process imports this module

    rows = settings.to_dict("records")
    jobs = [(statement.format(**row), setup.format(**row)) for row in rows]
    costs = [cost or (math.nan, math.nan) for cost in in_subprocesses(jobs, prepare, repeats)]
    return settings.join(pd.DataFrame(costs, columns=["seconds", "peak"], index=settings.index))


def limit_memory(more: int) -> None:
    """Limit this process to ``more`` bytes of address space beyond what it has now.

    The limit is relative because builds of PyTorch differ by gigabytes in what they map.
    """
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


def memory_total() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _measure(statement: str, setup: str, repeats: int) -> tuple[float, int]:
    """Return seconds and peak memory of a statement in this process."""
    exec(setup, _names)  # our own caller's code, in a process of its own
    code = compile(statement, "<statement>", "exec")
    try:
        RESET.write_text("5")  # forget how high it was during set-up
    except OSError as error:
        raise RuntimeError(f"{RESET} cannot be written, so that no peak is measurable here") from error
    before = resident_bytes("VmRSS")
    exec(code, _names)
    peak = resident_bytes() - before
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        exec(code, _names)
        seconds.append(time.perf_counter() - start)
    return min(seconds), max(peak, 0)


def _main() -> None:
    jobs, prepare, repeats = json.load(sys.stdin)
    exec(prepare, _names)
    outcomes: list[Any] = []
    for statement, setup in jobs:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as fork:
            try:
                outcomes.append(fork.submit(_measure, statement, setup, repeats).result())
            except BrokenProcessPool:
                outcomes.append("killed; out of memory?")
            except BaseException as error:  # told to the caller, whatever it is
                outcomes.append(" ".join(f"{type(error).__name__}: {error}".split()))
    print(json.dumps(outcomes))


if __name__ == "__main__":
    _main()
