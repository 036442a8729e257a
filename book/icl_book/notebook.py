"""What a notebook calls: `setup` after its parameters, `data` and `glue` in between, `footer` at its end."""

from __future__ import annotations

import ast
import html
import itertools
import time
from collections.abc import Mapping
from pathlib import Path

from icl.streams import ROOT_SEED
from icl_book import provenance
from icl_book.parameters import BadInput, validate
from icl_book.provenance import FOOTER_MIME, ROOT, device

__all__ = ["data", "device", "footer", "glue", "setup"]

_started: dict = {}


def setup(namespace: Mapping[str, object], **entries: int | str) -> None:
    """Start a notebook: set the figures' style, check the parameters, start the clock.

    Called once, after the parameters cell, with all imports done. The parameters' names are read from the
    notebook itself: the first executed cell that holds nothing but ``name = literal`` lines is the
    parameters cell, a later one that shares a name with it is what a reader made of it, and one that begins
    with ``# Parameters`` is what papermill injected after it.

    Args:
        namespace: The notebook's ``globals()``.
        entries: What this notebook needs of a list, beyond the vocabulary: the least number of entries, each
            larger than the one before, or the name of another list with as many entries.

    Raises:
        BadInput: For a wrong type or value, and for an injected name that the parameters cell does not have.
    """
    from icl_book import plots

    plots.style()
    sources = list(namespace.get("In", []))
    cells = [assignments(source) for source in sources]
    injected, names = [], []
    for source, found in zip(sources, cells, strict=True):
        if source.startswith("# Parameters"):  # papermill's mark
            injected += found
        elif not names or set(found) & set(names):
            names = found
    if not names:
        raise BadInput("notebook.setup(globals()): no parameters cell was executed before it")
    validate({name: namespace[name] for name in injected}, names)
    validate({name: namespace[name] for name in names}, names)
    for name, need in entries.items():
        _check_entries(name, namespace[name], need, namespace)
    _started.update(time=time.perf_counter(), parameters={name: namespace[name] for name in names})


def _check_entries(name: str, values: list, need: int | str, namespace: Mapping[str, object]) -> None:
    if isinstance(need, str):
        good, allowed = len(values) == len(namespace[need]), f"as many entries as {need}={namespace[need]!r}"
    else:
        ordered = all(a < b for a, b in itertools.pairwise(values))
        good, allowed = ordered and len(values) >= need, f"{need} or more entries in increasing order"
    if not good:
        raise BadInput(f"{name}={values!r}: must have {allowed}")


def assignments(source: str) -> list[str]:
    """Return the names that a cell assigns literals to; empty if it does anything else."""
    try:
        body = ast.parse(source).body
        for line in body:
            ast.literal_eval(line.value)
        return [line.targets[0].id for line in body]
    except (AttributeError, SyntaxError, ValueError):
        return []


def footer() -> None:
    """Show what this run took and where it ran; the last thing a notebook does.

    Raises:
        BadInput: If the notebook did not call `setup`.
    """
    if not _started:
        raise BadInput("notebook.footer() needs notebook.setup(globals()) after the parameters cell")
    record = {
        "seconds": round(time.perf_counter() - _started["time"], 2),
        "peak_memory": provenance.resident_memory()[0],
        "parameters": _started["parameters"],
        "root_seed": ROOT_SEED >> 32,
        "device": provenance.device_name(),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "commit": provenance.commit(),
    }
    where, commit = record["machine"], record["commit"]
    text = (
        f"Computed in {record['seconds']:.1f} s on {where['cpu']} ({where['cores']} cores), device "
        f"{record['device']}, with " + ", ".join(f"{n} {v}" for n, v in record["versions"].items())
    )
    if commit:
        text += f", commit {commit['id'][:10]}" + (" with local changes" if commit["dirty"] else "")
    from IPython.display import display

    display(
        {
            "text/html": f'<p class="icl-footer">{html.escape(text)}</p>',
            "text/plain": text,
            FOOTER_MIME: record,
        },
        raw=True,
    )


def glue(name: str, value: object) -> None:
    """Keep a value under a name, for the role ``glue:text`` in prose; shows nothing here.

    The same record that ``myst_nb.glue`` leaves, without needing the book's packages: a
    notebook also runs where only ``icl`` is installed.

    Args:
        name: Unique within the notebook.
        value: What to keep, usually a number or a text.
    """
    from IPython.display import display

    value = value.item() if hasattr(value, "item") else value  # a NumPy or torch scalar
    prefix = "application/papermill.record/"
    display(
        {f"{prefix}text/plain": repr(value)},
        raw=True,
        metadata={"scrapbook": {"name": name, "mime_prefix": prefix}},
    )


def data(path: str) -> Path:
    """A file of this repository that a notebook reads; the installed package carries what chapters need.

    The call must be written with a literal, ``notebook.data("results/paper/x.json")``: the
    runner finds it in the source and makes the file's content part of the run's address.

    Args:
        path: Path relative to the repository.

    Returns:
        The absolute path.

    Raises:
        BadInput: If there is no such file.
    """
    for folder in (ROOT, Path(__file__).parent):
        if (folder / path).is_file():
            return folder / path
    raise BadInput(f"data file {path!r}: not found in {ROOT}")
