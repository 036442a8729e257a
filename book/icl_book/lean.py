"""Run a program without searching for garbage often, and without freeing its memory at the end.

The libraries, pages and figures of a chapter or of the book are millions of small objects, which are needed
to the end.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def begin() -> None:
    """Search for garbage rarely, and skip a grammar of jsonschema that takes a second to build."""
    # The first number is how many new objects start a search among them. Python's own numbers are smaller.
    gc.set_threshold(50_000, 50, 20)
    # Importing a name whose entry is None fails. Jsonschema then does without the grammar.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


@contextmanager
def program() -> Iterator[None]:
    """Call `begin`, run the block, and end the process without freeing its memory.

    Before that the process waits for threads and calls the functions of `atexit` that the block registered.
    """
    begin()
    status = 1

    def leave() -> None:
        # Text that cannot be written, as to a closed pipe, is lost.
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
        # As in Python, None is success, and a message is failure.
        code = 0 if end.code is None else end.code
        status = code if isinstance(code, int) else 1
        raise
