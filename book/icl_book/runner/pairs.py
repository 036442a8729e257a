"""Pairs: ``notebooks/<name>.py``, which is the source and is run, and ``<name>.ipynb``, which others open.

JupyterLab saves both together. Another editor changes one of them: `sync` writes the ``.ipynb`` from the
``.py``, and before it does, as before a run, an edit that stands in the ``.ipynb`` only is written back.
That it stands there only is known because the ``.py`` is still what both files last agreed on, here or in
the last commit. Where that is not known, both stay as they are, and one line says so. Time stamps count
for nothing.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Container
from pathlib import Path
from typing import Any, TypeAlias

from icl_book import repository
from icl_book.files import write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import notebooks

#: What stands in the metadata of a paired notebook, as in notebooks/jupytext.toml: a save in JupyterLab
#: then changes nothing else.
FILTERS = {
    "cell_metadata_filter": "tags,mystnb,-all",
    "notebook_metadata_filter": "kernelspec,-all",
}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEPT_METADATA = ("tags", "mystnb")  # of a cell, by these filters

#: What counts of a notebook's cells: type, text, and metadata.
Cells: TypeAlias = list[tuple[str, str, dict[str, Any]]]


def sync() -> list[Path]:
    """Bring each ``notebooks/*.py`` and its ``.ipynb`` to agree, and print the files written.

    While the address in ``_config.yml`` is the placeholder, that of git's remote is written there
    and into the notebooks first: a hosted notebook installs the package from it.

    Returns:
        The files written.

    Raises:
        BadInput: For the pairs of which both were edited, after all others were written.
    """
    written = []
    refused = {}
    for name in notebooks():
        try:
            written += _write_source(name)
        except BadInput as error:
            refused[name] = str(error)
    repository.adopt(ROOT)
    for name in notebooks():
        if name in refused:
            continue
        source, target = _paths(name)
        text = _ipynb(_read(source))
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_atomically(target, text)
            written.append(target)
        if not _remembered(name):
            _remember(name)
    for path in written:
        print(f"wrote {os.path.relpath(path)}")
    if refused:
        raise BadInput("; ".join(refused.values()))
    return written


def take_edits(names: Container[str]) -> list[Path]:
    """Write the edits that only an ``.ipynb`` has into its ``.py``; return the files written.

    Raises:
        BadInput: For a pair of which both were edited; it is left as it is.
    """
    return [path for name in notebooks() if name in names for path in _write_source(name)]


def _write_source(name: str) -> list[Path]:
    """Write the ``.py`` if only the ``.ipynb`` was edited; return the files written."""
    source, target = _paths(name)
    if not target.is_file() or _remembered(name):
        return []
    own = _read(source)
    other = _read(target)
    if _cells(own) == _cells(other):
        _remember(name)
        return []
    if not _only_target_edited(name, _cells(own), _cells(other)):
        return []
    own.cells = other.cells
    text = _percent(own)
    _check_way_back(name, _parse(text, ".py"), other)
    write_atomically(source, text)
    _remember(name)
    return [source]


def _check_way_back(name: str, read: Any, meant: Any) -> None:
    """Raise BadInput for a cell that would be another one when it is read from the ``.py``."""
    cells = read.cells if read else []
    for place, (one, other) in enumerate(itertools.zip_longest(meant.cells, cells), 1):
        same = one and other and one.source.strip() == other.source.strip()
        # also in a string
        if not same or (one.cell_type == "code" and re.search("^# %%", one.source, re.MULTILINE)):
            raise BadInput(
                f"notebooks/{name}.ipynb: its cell {place} would be another one in the .py, where each line "
                "that begins with # %% begins a cell; both files are left as they are"
            )


def _only_target_edited(name: str, own: Cells, other: Cells) -> bool:
    """Return whether the edit is in the ``.ipynb``, with cells ``other``, or in the ``.py``, with ``own``.

    Raises:
        BadInput: If both differ from what they are known to have agreed on.
    """
    for agreed in (_agreed_here(name), _agreed_in_commit(name)):
        if agreed == other:
            return False
        if agreed == own:
            return True
    raise BadInput(
        f"notebooks/{name}.py and its .ipynb: both were edited, or it is not known which, and both are left "
        "as they are; keep one: delete the .ipynb, or run "
        f".venv/bin/jupytext --to py:percent notebooks/{name}.ipynb; then: make sync"
    )


def _paths(name: str) -> tuple[Path, Path]:
    source = ROOT / "notebooks" / f"{name}.py"
    return source, source.with_suffix(".ipynb")


def _read(path: Path) -> Any:
    node = _parse(path.read_text(encoding="utf-8"), path.suffix)
    if node is None:
        raise BadInput(
            f"{os.path.relpath(path)}: damaged, no notebook; to write it anew delete it, then: make sync"
        )
    return node


def _parse(text: str, suffix: str) -> Any:
    """Return a notebook; None if the text is none."""
    import jupytext

    try:
        return jupytext.reads(text, fmt="ipynb" if suffix == ".ipynb" else "py:percent")
    except Exception:  # whatever the format's validation raises
        return None


def _cells(node: Any) -> Cells:
    """Return what counts of the cells: type, text, and the metadata that a ``.py`` keeps."""
    return [
        (
            cell.cell_type,
            cell.source,
            {k: v for k, v in cell.metadata.items() if k in KEPT_METADATA},
        )
        for cell in node.cells
    ]


def _percent(node: Any) -> str:
    """Return the text of the ``.py`` of a notebook."""
    import jupytext

    _settle_metadata(node)
    return str(jupytext.writes(node, fmt="py:percent"))


def _ipynb(node: Any) -> str:
    """Return the text of the ``.ipynb`` of a notebook: no outputs, and ids that stay."""
    import jupytext

    _settle_metadata(node)
    settle(node)
    return str(jupytext.writes(node, fmt="ipynb")).rstrip("\n") + "\n"


def _settle_metadata(node: Any) -> None:
    """Leave in a notebook's own metadata what a pair keeps."""
    node.metadata = {
        "jupytext": dict(FILTERS),
        "kernelspec": node.metadata.get("kernelspec", KERNEL),
    }


def settle(node: Any) -> None:
    """Give cells ids that do not change from run to run."""
    for i, cell in enumerate(node.cells):
        cell["id"] = f"cell-{i:02d}"


def _kept(name: str) -> list[Path]:
    """Where copies of both files are kept, as they were when they last agreed."""
    folder = ROOT / "_build" / "pairs"
    return [folder / f"{name}.py", folder / f"{name}.ipynb"]


def _remember(name: str) -> None:
    for path, copy in zip(_paths(name), _kept(name), strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(copy, path.read_text(encoding="utf-8"))


def _remembered(name: str) -> bool:
    """Return whether both files are as when they last agreed."""
    pairs = zip(_paths(name), _kept(name), strict=True)
    return all(copy.is_file() and copy.read_bytes() == path.read_bytes() for path, copy in pairs)


def _agreed_here(name: str) -> Cells | None:
    """Return the cells on which both files agreed when they were last looked at here; None if unknown."""
    copy = _kept(name)[0]
    return _cells(_read(copy)) if copy.is_file() else None


def _agreed_in_commit(name: str) -> Cells | None:
    """Return the cells of the last commit; None if the files do not agree there."""
    texts = {s: _git("show", f"HEAD:./notebooks/{name}{s}") for s in (".py", ".ipynb")}
    nodes = [_parse(text, suffix) for suffix, text in texts.items() if text]
    if len(nodes) < 2 or None in nodes:
        return None
    own, other = map(_cells, nodes)
    return own if own == other else None


def _git(*words: str) -> str:
    """Return what git says about this tree; nothing where it cannot say."""
    try:
        return repository.git(ROOT, *words)
    except (OSError, subprocess.SubprocessError):
        return ""
