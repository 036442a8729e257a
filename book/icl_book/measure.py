"""Measure seconds and peak memory of a statement in a fresh process.

Memory freed by an earlier call stays with the allocator, so a peak is meaningful only in a process that has
done nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from icl_book.provenance import ROOT, resident_memory

#: Where Linux lets a process forget how much memory it once held.
RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Cost:
    """Time and memory of a statement.

    Attributes:
        seconds: Fastest of the timed repetitions.
        peak_bytes: Resident memory at its highest during the first execution, above what the
            process held just before it.
    """

    seconds: float
    peak_bytes: int


def in_subprocess(statement: str, setup: str = "pass", repeats: int = 3) -> Cost:
    """Measure a statement in a new Python process.

    The first execution is measured for memory, the following ones for time. Let ``setup`` run
    the same code once on a small problem: loading code also takes memory.

    Args:
        statement: Python code, e.g. ``"torch.kron(A1, A2)"``.
        setup: Python code executed before, not measured.
        repeats: Timed repetitions, at least 1.

    Returns:
        The cost.

    Raises:
        ValueError: If repeats is below 1.
        RuntimeError: If the process fails, or the system cannot reset a peak; the message ends with its last
            line of error output.
    """
    outcome = _outcomes([(statement, setup)], "pass", repeats)[0]
    if isinstance(outcome, str):
        raise RuntimeError(f"{statement}: {outcome}")
    return outcome


def in_subprocesses(
    jobs: Sequence[tuple[str, str]], prepare: str = "pass", repeats: int = 3
) -> list[Cost | None]:
    """Measure statements as `in_subprocess` does, each in a process of its own, and import modules once.

    A new Python process runs ``prepare`` and forks for each job. A fork holds what ``prepare`` loaded and
    nothing that another job did.

    Args:
        jobs: Pairs of a statement and its set-up.
        prepare: Python code executed once, usually imports. It must not start threads.
        repeats: Timed repetitions, at least 1.

    Returns:
        One cost a job; None for a job that died for want of memory.

    Raises:
        ValueError: If repeats is below 1.
        RuntimeError: If a job fails for another reason, or the system cannot reset a peak.
    """
    outcomes = _outcomes(jobs, prepare, repeats)
    for (statement, _), outcome in zip(jobs, outcomes, strict=True):
        if isinstance(outcome, str) and "memory" not in outcome.lower():
            raise RuntimeError(f"{statement}: {outcome}")
    return [None if isinstance(outcome, str) else outcome for outcome in outcomes]


def _outcomes(jobs: Sequence[tuple[str, str]], prepare: str, repeats: int) -> list[Cost | str]:
    """The cost of every job, or one line that says why it failed."""
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
    return [Cost(**outcome) if isinstance(outcome, dict) else outcome for outcome in outcomes]


def limit_memory(more: int) -> None:
    """Limit this process to ``more`` bytes of address space beyond what it has now.

    The limit is relative because builds of PyTorch differ by gigabytes in what they map.

    Args:
        more: Bytes.
    """
    try:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux
        size = 0
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


def memory_total() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _measured(statement: str, setup: str, repeats: int, names: dict) -> dict:
    """Seconds and peak memory of a statement in this process."""
    exec(setup, names)  # our own caller's code, in a process of its own
    code = compile(statement, "<statement>", "exec")
    try:
        RESET.write_text("5")  # forget how high it was during set-up
    except OSError as error:
        raise RuntimeError(f"{RESET} cannot be written, so that no peak is measurable here") from error
    before = resident_memory()[1]
    exec(code, names)
    peak = resident_memory()[0] - before
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        exec(code, names)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "peak_bytes": max(peak, 0)}


def _forked(job: Callable[[], dict]) -> dict | str:
    """The value of a function in a fork of this process, or one line that says why it failed."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            outcome = job()
        except BaseException as error:  # told to the parent, whatever it is
            outcome = " ".join("".join(traceback.format_exception_only(error)).split())
        with open(writing, "w") as pipe:
            json.dump(outcome, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    signal = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if text else f"killed by signal {-signal}; out of memory?"


def _main() -> None:
    jobs, prepare, repeats = json.load(sys.stdin)
    names: dict = {}
    exec(prepare, names)
    print(json.dumps([_forked(partial(_measured, *job, repeats, names)) for job in jobs]))


if __name__ == "__main__":
    _main()
