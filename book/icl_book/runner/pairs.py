"""Pairs: ``notebooks/<name>.py``, which is run, and ``<name>.ipynb``, which others open.

JupyterLab saves both together. Another editor changes one of them: `sync` then writes the other, and before
a run `take_edits` brings into the ``.py`` what stands in the ``.ipynb`` only. Where each has an edit that the
other lacks, both stay as they are, and one line says so. What was edited follows from the cells: those of the
other file, of the last time both agreed, and of what is committed. Time stamps count for nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Iterator
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
VERSIONS = 50  # committed versions of a notebook that are looked at

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
    write_atomically(source, _percent(own))
    _remember(name)
    return [source]


def _only_target_edited(name: str, own: Cells, other: Cells) -> bool:
    """Return whether the edit is in the ``.ipynb``, with cells ``other``, or in the ``.py``, with ``own``.

    Both are compared with what they last agreed on, here or in the last commit.

    Raises:
        BadInput: If both have an edit.
    """
    for version in (*_agreed(name), *_agreed_in_commit(name)):
        if version == other:
            return False
        if version == own:
            return True
    if other in _committed(name):
        return False  # an older .py: the .ipynb was not written since, and has nothing of its own
    raise BadInput(
        f"notebooks/{name}.py and its .ipynb: both were edited, and both are left as they are; keep one: "
        f"delete the .ipynb, or run .venv/bin/jupytext --to py:percent notebooks/{name}.ipynb; "
        "then: make sync"
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


def _agreed(name: str) -> Iterator[Cells]:
    """Yield the cells on which both files last agreed, if they are known."""
    copy = _kept(name)[0]
    if copy.is_file():
        yield _cells(_read(copy))


def _agreed_in_commit(name: str) -> Iterator[Cells]:
    """Yield the cells of the last commit, if both files agree there."""
    source, target = (_committed_cells("HEAD", name, suffix) for suffix in (".py", ".ipynb"))
    if source is not None and source == target:
        yield source


def _committed(name: str) -> Iterator[Cells | None]:
    """Yield the cells of the committed versions of a ``.py``, the newest first."""
    words = [
        "log",
        "--all",
        f"--max-count={VERSIONS}",
        "--format=%H",
        "--",
        f"./notebooks/{name}.py",
    ]
    for commit in _git(*words).split():
        yield _committed_cells(commit, name, ".py")


def _committed_cells(commit: str, name: str, suffix: str) -> Cells | None:
    text = _git("show", f"{commit}:./notebooks/{name}{suffix}")
    node = _parse(text, suffix) if text else None
    return None if node is None else _cells(node)


def _git(*words: str) -> str:
    """Return what git says about this tree; nothing where it cannot say."""
    try:
        return repository.git(ROOT, *words)
    except (OSError, subprocess.SubprocessError):
        return ""
