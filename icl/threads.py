"""How many threads the process may use."""

from __future__ import annotations

import os


def available() -> int:
    """Return how many threads to start: what ``OMP_NUM_THREADS`` says, else the processors that are allowed.

    OpenMP allows a list in that variable, one number for each level of nesting; the first is the one of a
    program that is not nested. Text that is not a positive integer is ignored. The processors are those that
    the process is confined to, by ``taskset`` or a scheduler of jobs, which may be fewer than the machine's.
    """
    # ten digits are not a number of threads, and thousands of them Python refuses to convert
    number = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if number.isdecimal() and len(number) < 10 and int(number) > 0:
        return int(number)
    return processors()


def processors() -> int:
    """Return how many processors the process may use, whatever ``OMP_NUM_THREADS`` says."""
    # macOS and Windows have no such function
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
