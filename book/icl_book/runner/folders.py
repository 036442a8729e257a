"""Temporary folders that do not outlive their process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

#: Waits until its input ends, then removes the folder; a kernel may write there for a moment more.
_REMOVER = """
import shutil, sys, time
sys.stdin.read()
for _ in range(20):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(0.5)
"""


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Make a temporary folder that is removed when the body ends or this process does, even by SIGKILL.

    A small process of a session of its own reads from a pipe that nobody writes to. It reads the end of it as
    soon as this process is gone.

    Yields:
        The folder's path.
    """
    with tempfile.TemporaryDirectory(prefix="icl-", ignore_cleanup_errors=True) as folder:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _REMOVER, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as remover:
            try:
                yield folder
            finally:
                remover.kill()
