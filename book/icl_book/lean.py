"""Run a program without the cleaning up that only a longer life would need.

The libraries, pages and figures of a chapter or of the book are millions of small objects that are needed to
the end. By default Python searches them for garbage again and again, and in the end frees them one by one.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def begin() -> None:
    """Search for garbage rarely, and skip the import of an unused grammar.

    Building jsonschema's grammar of addresses would take a second.
    """
    # The first number is how many new objects start a search. Python's own is far smaller.
    gc.set_threshold(50_000, 50, 20)
    # The import of a module that is None fails, and jsonschema then does without it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


@contextmanager
def program() -> Iterator[None]:
    """Do `begin`, and end the process after the block as it would end, but free nothing.

    Threads are waited for, functions of `atexit` that are registered from now on are called, and the exit
    status is that of the block.
    """
    begin()
    # An uncaught exception leaves this status.
    status = 1

    def leave() -> None:
        # What cannot be written, to a closed pipe for example, is lost.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)

    # The function that is registered first is called last.
    atexit.register(leave)
    try:
        yield
        status = 0
    except SystemExit as end:
        said = 0 if end.code is None else end.code
        status = said if isinstance(said, int) else 1
        raise
