"""Keep the two files of each notebook alike: ``notebooks/<name>.py`` and ``notebooks/<name>.ipynb``.

The ``.py`` is the source, and only the ``.py`` is run. The ``.ipynb`` is a copy for programs that read
notebooks only. JupyterLab saves both files together, but other editors change only one of them. If an
``.ipynb`` was edited after its ``.py``, `sync` would lose the edit and a run would ignore it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Container
from pathlib import Path
from typing import Any

from icl_book import repository
from icl_book.files import write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import notebooks

#: The metadata of a paired notebook, as in notebooks/jupytext.toml: a save in JupyterLab then changes
#: nothing else.
METADATA = {
    "jupytext": {
        "cell_metadata_filter": "tags,mystnb,figure,jupyter,-all",
        "notebook_metadata_filter": "kernelspec,-all",
    },
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
}
#: The keys of a cell's metadata that these filters keep.
KEPT_METADATA = ("tags", "mystnb", "figure", "jupyter")


def sync() -> list[Path]:
    """Write each ``notebooks/*.ipynb`` that differs from its ``.py``, and return the files written.

    If the address of the repository is a placeholder, that of git's remote replaces it first.

    Raises:
        BadInput: If an ``.ipynb`` was edited after its ``.py``. Nothing is written then.
    """
    refuse_edited(notebooks())
    repository.adopt(ROOT)
    written = []
    for name in notebooks():
        source, target = _find_paths(name)
        text = _make_ipynb(source)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_atomically(target, text)
            # With the time stamp of its source the copy is newer only after an edit.
            os.utime(target, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
            written.append(target)
    for path in written:
        print(f"wrote {os.path.relpath(path)}")
    return written


def refuse_edited(names: Container[str]) -> None:
    """Raise BadInput if the ``.ipynb`` of one of these notebooks was edited after its ``.py``."""
    edited = [
        f"notebooks/{name}.ipynb" for name in notebooks() if name in names and _is_edited(name)
    ]
    if edited:
        files = " ".join(edited)
        raise BadInput(
            f"{files}: edited after the .py, which is what runs; to take the edit: "
            f".venv/bin/jupytext --to py:percent {files}; to drop it: rm {files}; then: make sync"
        )


def _is_edited(name: str) -> bool:
    """Return whether the ``.ipynb`` is newer than the ``.py`` and has other cells, or cannot be read."""
    source, target = _find_paths(name)
    if not target.is_file() or target.stat().st_mtime_ns <= source.stat().st_mtime_ns:
        return False
    try:
        return _read_cells(target) != _read_cells(source)
    except ValueError:
        # The file was cut short, or it has the marks of a merge conflict.
        return True


def _find_paths(name: str) -> tuple[Path, Path]:
    source = ROOT / "notebooks" / f"{name}.py"
    return source, source.with_suffix(".ipynb")


def _read_cells(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return type, text and kept metadata of each cell of a notebook."""
    import jupytext

    return [
        (
            cell.cell_type,
            cell.source,
            {k: v for k, v in cell.metadata.items() if k in KEPT_METADATA},
        )
        for cell in jupytext.read(path).cells
    ]


def _make_ipynb(source: Path) -> str:
    """Return the text of the ``.ipynb`` for a ``.py``, without outputs."""
    import jupytext

    node = jupytext.read(source)
    node.metadata = copy.deepcopy(METADATA)
    number_cells(node)
    return str(jupytext.writes(node, fmt="ipynb")).rstrip("\n") + "\n"


def number_cells(node: Any) -> None:
    """Give the cells the ids ``cell-00``, ``cell-01``, ..., because random ids would change with each run."""
    for i, cell in enumerate(node.cells):
        cell["id"] = f"cell-{i:02d}"
