"""Files that exist whole or not at all, however the program that writes them ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Write a file under another name and give it its own once it is complete.

    Whoever reads ``path`` meanwhile, and whoever comes after a failure, finds what was there before.

    Args:
        path: The file; its folder must exist.

    Yields:
        Where to write: ``.<name>.<process>.part`` in the same folder, so that renaming is one step. It is
        removed if the body raises.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path | str, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8, all of it or, if that fails, nothing."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")
