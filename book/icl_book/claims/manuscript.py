"""Read a paper that a reader has: a PDF, TeX or plain text."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from icl_book.parameters import BadInput


@dataclass(frozen=True)
class Document:
    """The text of a file, page by page for a PDF and line by line for others."""

    name: str
    parts: list[str]
    pdf: bool = False


def read(files: Sequence[str]) -> list[Document]:
    """Read files. A file that a TeX file includes is read only if it is one of ``files``.

    Raises:
        BadInput: If a file cannot be read, or has no text.
    """
    return [_read(Path(file)) for file in files]


def _read(path: Path) -> Document:
    """Read one file, as a PDF if its suffix is ``.pdf``."""
    try:
        if path.suffix.lower() == ".pdf":
            document = _read_pdf(path)
        else:
            document = _read_text(path)
    # For a damaged file pypdf raises errors of any kind.
    except Exception as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(
            f"{path}: cannot be read: {why}; must be a PDF, TeX or text in UTF-8"
        ) from None
    if not any(part.strip() for part in document.parts):
        raise BadInput(f"{path}: has no text, a scan perhaps")
    return document


def _read_pdf(path: Path) -> Document:
    """Read the pages of a PDF."""
    from pypdf import PdfReader

    # Pypdf logs flaws with which it can still read a PDF.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    return Document(path.name, [page.extract_text() for page in PdfReader(path).pages], pdf=True)


def _read_text(path: Path) -> Document:
    """Read the lines of a text, without the comments of TeX."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix.lower() == ".tex":
        lines = [re.sub(r"(?<!\\)%.*", "", line) for line in lines]
    return Document(path.name, lines)
