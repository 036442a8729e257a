"""Atomic writes: a file exists whole or not at all, however the program that writes it ends."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, for a new file that replaces ``path`` unless the body raises.

    If ``path`` is a symbolic link, the file to which it leads is replaced. The new file gets the mode of the
    old one. The temporary name is random, because another machine that shares the folder may have a process
    of the same number.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path | str, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8, all of it or nothing."""
    with atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")
