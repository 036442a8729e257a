"""How many threads the process may use."""

from __future__ import annotations

import os


def available() -> int:
    """Return how many threads to start: the number in ``OMP_NUM_THREADS``, or else that of `processors`.

    OpenMP allows a list, with one number for each level of nested threads. The first counts here.
    """
    number = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    # Python refuses to convert thousands of digits
    if number.isdecimal() and len(number) < 10 and int(number) > 0:
        return int(number)
    return processors()


def processors() -> int:
    """Return how many processors the process may use: ``taskset`` or a scheduler may confine the process."""
    # macOS and Windows do not have this function
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
