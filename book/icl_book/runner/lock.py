"""Locks between processes."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 10  # looks, one a second, between two lines of a process that waits


@contextmanager
def alone(path: Path, work: str) -> Iterator[None]:
    """Hold a lock on a file; wait, and say so, while another process holds it.

    The operating system releases the lock when the process ends, however it ends.

    Args:
        path: The file. It is made if there is none, and stays.
        work: What is done under the lock, for the line that is printed while waiting.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        looks = 0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if looks % PATIENCE == 0:
                    file.seek(0)
                    print(
                        f"waiting for process {file.read() or '?'}, which does the same: {work}", flush=True
                    )
                looks += 1
                time.sleep(1)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
