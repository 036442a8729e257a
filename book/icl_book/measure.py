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
from dataclasses import dataclass
from pathlib import Path

from icl_book.provenance import ROOT


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
        RuntimeError: If the process fails; the message ends with its last line of error output.
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: must be at least 1")
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "book"), os.environ.get("PYTHONPATH")]))
    job = json.dumps([statement, setup, repeats])
    done = subprocess.run(
        [sys.executable, "-m", "icl_book.measure"],
        input=job,
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    if done.returncode < 0:
        raise RuntimeError(f"{statement}: killed by signal {-done.returncode}; out of memory?")
    if done.returncode:
        raise RuntimeError(f"{statement}: {done.stderr.strip().splitlines()[-1]}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


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


def _peak_and_current() -> tuple[int, int]:
    """Return the highest and the current resident bytes; off Linux the highest stands for both."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return tuple(int(lines[key].split()[0]) * 1024 for key in ("VmHWM", "VmRSS"))
    except (OSError, KeyError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return peak, peak


def _main() -> None:
    statement, setup, repeats = json.load(sys.stdin)
    names: dict = {}
    exec(setup, names)  # our own caller's code, in a process of its own
    code = compile(statement, "<statement>", "exec")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget how high memory was during set-up
    except OSError:
        pass
    before = _peak_and_current()[1]
    exec(code, names)
    peak = _peak_and_current()[0] - before
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        exec(code, names)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(seconds), "peak_bytes": max(peak, 0)}))


if __name__ == "__main__":
    _main()
