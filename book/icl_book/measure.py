"""Measure seconds and peak memory of statements, each in a process of its own.

Memory freed by an earlier call stays with the allocator, so a peak is meaningful only in a process that has
done nothing else. Peaks need Linux, where a process can forget how much memory it once held.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icl_book.provenance import resident_bytes

if TYPE_CHECKING:
    import pandas as pd

#: Where Linux lets a process forget its peak.
RESET = Path("/proc/self/clear_refs")

#: What was prepared, in the process that is forked for each job.
_names: dict[str, Any] = {}


def table(
    settings: pd.DataFrame, statement: str, setup: str, prepare: str, repeats: int = 1
) -> pd.DataFrame:
    """Measure in every row of a table of settings, each in a fork of a new Python process.

    The first execution is measured for memory, the following ones for time. Let the set-up run the same code
    once on a small problem: loading code also takes memory.

    Args:
        settings: One row a setting; its columns fill the templates of statement and set-up.
        statement: What is measured, e.g. ``"torch.kron(A1, A2)"``.
        setup: What is executed before it and not measured.
        prepare: Python code executed once, before all forks, usually imports. It must not start threads.
        repeats: Timed repetitions, at least 1, of which the fastest counts.

    Returns:
        The table with two more columns: ``seconds``, and ``peak``, the bytes of resident memory above what
        was held just before; NaN where a process died for want of memory.

    Raises:
        ValueError: If repeats is below 1.
        RuntimeError: If a statement fails for another reason, or the system cannot reset a peak.
        Exception: What ``prepare`` raises.
    """
    import pandas as pd  # slow to import, and every new process imports this module

    if repeats < 1:
        raise ValueError(f"repeats={repeats}: must be at least 1")
    jobs = [
        (statement.format(**row), setup.format(**row))
        for row in settings.to_dict("records")
    ]
    main = vars(sys.modules["__main__"])
    script = main.pop(
        "__file__", None
    )  # or the new process would first run the caller's script again
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as new:
            costs = new.submit(_in_forks, jobs, prepare, repeats).result()
    finally:
        if script is not None:
            main["__file__"] = script
    return settings.join(
        pd.DataFrame(costs, columns=["seconds", "peak"], index=settings.index)
    )


def _in_forks(
    jobs: Sequence[tuple[str, str]], prepare: str, repeats: int
) -> list[tuple[float, float]]:
    """Measure each statement after its set-up in a fork of this process."""
    exec(prepare, _names)  # our own caller's code, as all that is executed here
    costs = []
    for statement, setup in jobs:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as fork:
            try:
                costs.append(fork.submit(_measure, statement, setup, repeats).result())
            except (
                Exception
            ) as error:  # PyTorch's want of memory has no type of its own
                died = isinstance(error, (BrokenProcessPool, MemoryError))
                if not died and "memory" not in str(error).lower():
                    raise RuntimeError(
                        f"{statement}: {type(error).__name__}: {error}"
                    ) from None
                costs.append((math.nan, math.nan))
    return costs


def limit_memory(more: int) -> None:
    """Limit this process to ``more`` bytes of address space beyond what it has now.

    The limit is relative because builds of PyTorch differ by gigabytes in what they map.
    """
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf(
        "SC_PAGE_SIZE"
    )
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


def _measure(statement: str, setup: str, repeats: int) -> tuple[float, float]:
    """Return seconds and peak of a statement in this process."""
    exec(setup, _names)
    code = compile(statement, "<statement>", "exec")
    try:
        RESET.write_text("5")  # forget how high it was during set-up
    except OSError as error:
        raise RuntimeError(
            f"{RESET} cannot be written, so that no peak is measurable here"
        ) from error
    before = resident_bytes("VmRSS")
    exec(code, _names)
    peak = resident_bytes() - before
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        exec(code, _names)
        seconds.append(time.perf_counter() - start)
    return min(seconds), max(peak, 0)
