"""What an executed notebook found, and whether its file is as it was written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from icl_book.parameters import BadInput
from icl_book.provenance import CARD_MIME, FOOTER_MIME

_GLUED = "application/papermill.record/text/plain"


def seal(node: Mapping) -> None:
    """Write a checksum of all else into an executed notebook's metadata."""
    node["metadata"]["icl"]["checksum"] = _checksum(node)


def _checksum(node: Mapping) -> str:
    own = {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
    text = json.dumps([node["cells"], own], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: Path | str) -> object:
    """Read a JSON file.

    Args:
        path: The file.

    Raises:
        BadInput: If it cannot be read or is not JSON, naming it.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{os.path.relpath(path)}: {error.strerror}") from None
    except ValueError:  # not JSON, or not UTF-8
        raise BadInput(f"{os.path.relpath(path)}: damaged, not JSON") from None


def read(path: Path | str) -> dict:
    """Read a notebook that this runner executed to its end.

    Args:
        path: The executed notebook.

    Returns:
        Its content.

    Raises:
        BadInput: If it is damaged, was changed since, or was not executed by this runner.
    """
    node = read_json(path)
    try:
        sealed = node["metadata"]["icl"]["checksum"]
        whole = sealed == _checksum(node)
    except (KeyError, TypeError):
        raise BadInput(f"{os.path.relpath(path)}: not executed to its end by icl_book") from None
    if not whole:
        raise BadInput(f"{os.path.relpath(path)}: damaged or edited, its checksum does not agree")
    return node


def collect(path: Path | str) -> dict:
    """Read what an executed notebook found.

    Args:
        path: The executed notebook.

    Returns:
        ``name``, ``preset``, ``parameters``, ``digest``, ``root_seed``, ``exploring``, ``seconds``,
        ``device``, ``machine``, ``versions``, ``peak_memory`` in bytes, ``commit``, ``cards``, the records of
        all verdict cards, and ``numbers``, what was glued, by name.

    Raises:
        BadInput: As `read`, or if the notebook does not end with one ``notebook.footer()``.
    """
    node = read(path)
    try:
        return record(node)
    except BadInput as error:
        raise BadInput(f"{os.path.relpath(path)}: {error}") from None


def record(node: Mapping) -> dict:
    """Return the same from a notebook's content."""
    outputs = [o for c in node["cells"] for o in c.get("outputs", [])]
    shown = [o.get("data", {}) for o in outputs]
    footers = [d[FOOTER_MIME] for d in shown if FOOTER_MIME in d]
    if "icl" not in node["metadata"] or len(footers) != 1:
        raise BadInput("needs one notebook.footer(), executed by icl_book")
    numbers = {
        o["metadata"]["scrapbook"]["name"]: o["data"][_GLUED] for o in outputs if _GLUED in o.get("data", {})
    }
    return (
        {k: v for k, v in node["metadata"]["icl"].items() if k != "checksum"}
        | {k: v for k, v in footers[0].items() if k != "parameters"}
        | {"cards": [d[CARD_MIME] for d in shown if CARD_MIME in d], "numbers": numbers}
    )


def keep_whole(path: Path) -> bool:
    """Return whether an executed notebook is there and whole; remove it, and say so, if it is damaged."""
    if not path.is_file():
        return False
    try:
        read(path)
    except BadInput as error:
        print(f"{error}; it will run again", flush=True)
        path.unlink(missing_ok=True)
        return False
    return True
