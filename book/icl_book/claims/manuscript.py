"""What a reader has of a paper: PDF, TeX or text, or what arXiv hands out, an archive or a folder of TeX.

Nothing is unpacked onto the disk: members of an archive are read in memory, and a name in one of them leads
to another member or to nothing. On the disk a name in TeX leads to what lies in the folder of the file that
was given, or below it.
"""

from __future__ import annotations

import gzip
import io
import logging
import posixpath
import re
import stat
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from icl_book.parameters import BadInput

#: Bytes of a file, packed or not; characters of a document; documents of a folder or an archive.
MOST, MOST_TEXT, MOST_FILES = 100_000_000, 3_000_000, 1000
ALLOWED = "must be a PDF, TeX or text in UTF-8, or a folder or a .tar.gz of TeX"
#: What is read of a folder or an archive; the rest are figures, styles and references.
TEX, TEXTS = (".tex", ".ltx"), (".tex", ".ltx", ".txt")
#: How TeX reads another file: ``\input{file}``, ``\input file``, ``\subimport{folder}{file}`` and the like.
READS = re.compile(
    r"\\(?:input|include|subfile)\s*\{(?P<one>[^{}]*)\}"
    r"|\\input\s+(?P<word>[^\s{}\\]+)"
    r"|\\(?:sub)?import\s*\{(?P<folder>[^{}]*)\}\s*\{(?P<file>[^{}]*)\}"
)


@dataclass(frozen=True)
class Document:
    """The text of a file, page by page for a PDF and line by line for others."""

    name: str
    parts: list[str]
    pdf: bool = False


def read(files: Sequence[str]) -> tuple[list[Document], list[str]]:
    """Read files, folders and archives, and what their TeX reads.

    Returns:
        The documents, and a line for each file that TeX among them reads and that is not one of them.

    Raises:
        BadInput: If one is not there, is of another kind, is too large, is damaged, or has no text.
    """
    documents: list[Document] = []
    asked: dict[str, str] = {}
    for path in map(Path, files):
        try:
            some, absent = _read(path)
        except BadInput:
            raise
        # of a damaged file pypdf raises whatever its parts do
        except Exception as error:
            why = error.strerror if isinstance(error, OSError) else None
            raise BadInput(f"{path}: cannot be read: {why or error}") from None
        if not any(part.strip() for one in some for part in one.parts):
            raise BadInput(f"{path}: has no text, a scan perhaps")
        documents += some
        asked |= absent
    # a part of a paper may have been given as well
    ends = tuple(f"/{one.name}" for one in documents)
    missing = [
        line
        for name, line in asked.items()
        if not any(end.endswith((f"/{name}", f"/{name}.tex")) for end in ends)
    ]
    return documents, missing


def _read(path: Path) -> tuple[list[Document], dict[str, str]]:
    """Return the documents of one file, folder or archive, and what `_follow` says is missing."""
    own = path.resolve()
    if path.is_dir():
        places = (str(one) for one in own.rglob("*") if one.is_file())
        return _follow(_texts(places, path), _below(own, {}), str(own), f"{own.name}/")
    data = _content(path)
    if packed := data.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(data)) as file:
            data = _limited(file.read(MOST + 1), path)
    if data.startswith(b"%PDF") or path.suffix.lower() == ".pdf":
        return [_pdf(path.name, data)], {}
    if members := _members(data, path):
        return _follow(_texts(members, path), members.get, "/", f"{path.name}/")
    if packed or path.suffix.lower() in TEX:
        known = {str(own): data}
        return _follow(known, _below(own.parent, known), str(own.parent), "")
    return [_text(path.name, data)], {}


def _follow(
    places: Iterable[str], get: Callable[[str], bytes | None], root: str, prefix: str
) -> tuple[list[Document], dict[str, str]]:
    """Return the documents at some places and all that their TeX reads.

    Args:
        places: Absolute paths, on the disk or in an archive.
        get: Gives the content at a place, None if there is none.
        root: The folder in which TeX is started: a name begins there, or where the file lies that has it.
        prefix: What stands before a document's path from there in its name.

    Returns:
        The documents, and by its name what is not there, with a line that says so.
    """
    documents: list[Document] = []
    missing: dict[str, str] = {}
    queue = list(places)
    for place in queue:
        data = get(place)
        # a link that leads out of the folder
        if data is None:
            continue
        name = prefix + posixpath.relpath(place, root)
        document = _text(name, data, tex=not place.lower().endswith(".txt"))
        documents.append(document)
        text = "\n".join(document.parts)
        for match in READS.finditer(text):
            wanted = posixpath.join(
                match["folder"] or "", match["one"] or match["word"] or match["file"] or ""
            ).strip()
            options = [
                posixpath.normpath(posixpath.join(folder, wanted + ending))
                for folder in (posixpath.dirname(place), root)
                for ending in (".tex", "")
            ]
            found = next((one for one in options if get(one) is not None), None)
            if found is None:
                line = text.count("\n", 0, match.start()) + 1
                missing[wanted] = (
                    f"not read: {wanted}, which {name} reads in line {line}: no such file"
                )
            elif found not in queue:
                queue.append(found)
    return documents, missing


def _texts(places: Iterable[str], path: Path) -> list[str]:
    """Return those of some places in a folder or an archive that are TeX or text, in order."""
    found = []
    for place in places:
        if place.lower().endswith(TEXTS):
            found.append(place)
        if len(found) > MOST_FILES:
            raise BadInput(f"{path}: more than {MOST_FILES} files of TeX or text")
    if not found:
        raise BadInput(f"{path}: has no TeX or text in it: {ALLOWED}")
    return sorted(found)


def _below(folder: Path, known: Mapping[str, bytes]) -> Callable[[str], bytes | None]:
    """Return what gives the content of a file that is known or lies below a folder, else None."""

    def get(place: str) -> bytes | None:
        if place in known:
            return known[place]
        try:
            path = Path(place).resolve()
            inside = path.is_relative_to(folder) and path.is_file()
        # a name that is too long, or a circle of links
        except (OSError, RuntimeError):
            return None
        return _content(path) if inside else None

    return get


def _content(path: Path) -> bytes:
    """Return the content of a file."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise BadInput(f"{path}: is no file: {ALLOWED}")
    with path.open("rb") as file:
        return _limited(file.read(MOST + 1), path)


def _limited(data: bytes, path: Path) -> bytes:
    if len(data) > MOST:
        raise BadInput(f"{path}: is too large: must have at most {MOST:,} bytes")
    return data


def _members(data: bytes, path: Path) -> dict[str, bytes]:
    """Return the files of a tar archive by their paths in it, from a slash on; none if it is no archive."""
    try:
        archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:")
    except tarfile.ReadError:
        return {}
    with archive:
        files = [one for one in archive if one.isreg()]
        # a file with holes can say that it is larger than its archive
        if sum(max(one.size, 0) for one in files) > MOST:
            raise BadInput(f"{path}: is too large: must have at most {MOST:,} bytes")
        members = {}
        for one in files:
            place = posixpath.normpath(f"/{one.name.lstrip('/')}")
            content = archive.extractfile(one)
            members[place] = content.read() if content else b""
        return members


def _pdf(name: str, data: bytes) -> Document:
    """Return the pages of a PDF."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    parts = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    return _checked(Document(name, parts, pdf=True))


def _text(name: str, data: bytes, tex: bool = False) -> Document:
    """Return the lines of a text; those of TeX lose their comments."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadInput(f"{name}: cannot be read as text: {ALLOWED}")
    lines = text.splitlines()
    if tex:
        lines = [re.sub(r"(?<!\\)%.*", "", line) for line in lines]
    return _checked(Document(name, lines))


def _checked(document: Document) -> Document:
    if sum(map(len, document.parts)) > MOST_TEXT:
        raise BadInput(f"{document.name}: is too long: must have at most {MOST_TEXT:,} characters")
    return document
