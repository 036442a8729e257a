"""What a notebook calls: `setup` after its parameters, `footer` at its end."""

from __future__ import annotations

import ast
import html
import itertools
import json
import sys
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from icl.streams import ROOT_SEED
from icl_book import provenance
from icl_book.parameters import BadInput, validate
from icl_book.provenance import FOOTER_MIME, HIDDEN, TABLES_MIME, device

__all__ = ["device", "footer", "setup"]

MOST_ROWS = 2000  # of a table that a run keeps for sweeps

_started: dict[str, Any] = {}


def setup(namespace: MutableMapping[str, Any], **entries: int | str) -> None:
    """Start a notebook: set the figures' style, check the parameters, start the clock.

    Called once, after the parameters cell, with all imports done. The parameters' names are read from the
    cells executed so far, or from the file of a plain script: the first cell that holds nothing but
    ``name = literal`` lines is the parameters cell, a later one that shares a name with it is what a reader
    made of it, and one that begins with ``# Parameters`` is what papermill injected after it. Integers
    written as ``1e3`` become integers.

    Args:
        namespace: The notebook's ``globals()``.
        entries: What this notebook needs of a list, beyond the vocabulary: the least number of entries, each
            larger than the one before, or the name of another list with as many entries.

    Raises:
        BadInput: For a wrong type or value, and for an injected name that the parameters cell does not have.
    """
    from icl_book import plots  # slow to import, and the runner imports this module

    plots.style()
    injected: list[str] = []
    names: list[str] = []
    for source in _cells(namespace):
        found = assignments(source)
        if source.startswith("# Parameters"):  # papermill's mark
            injected += found
        elif not names or set(found) & set(names):
            names = found
    if not names:
        raise BadInput("notebook.setup(globals()): no parameters cell was executed before it")
    values = validate({name: namespace[name] for name in [*injected, *names]}, names)
    namespace.update(values)
    for name, need in entries.items():
        entry = namespace[name]
        if isinstance(need, str):
            good = len(entry) == len(namespace[need])
            allowed = f"as many entries as {need}={namespace[need]!r}"
        else:
            good = len(entry) >= need and all(a < b for a, b in itertools.pairwise(entry))
            allowed = f"{need} or more entries in increasing order"
        if not good:
            raise BadInput(f"{name}={entry!r}: must have {allowed}")
    _started.update(time=time.perf_counter(), parameters=values, namespace=namespace)


def _cells(namespace: MutableMapping[str, Any]) -> list[str]:
    """Return the sources of the cells that were executed, or of those in the script that is run."""
    if "In" in namespace:
        return list(namespace["In"])
    script = Path(namespace["__file__"]).read_text(encoding="utf-8")
    return [cell.partition("\n")[2] for cell in f"\n{script}".split("\n# %%")]  # without the markers' lines


def assignments(source: str) -> list[str]:
    """Return the names that a cell assigns literals to; empty if it does anything else."""
    names = []
    try:
        for line in ast.parse(source).body:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                return []
            ast.literal_eval(line.value)
            names.append(line.targets[0].id)
    except (SyntaxError, ValueError):
        return []
    return names


def footer() -> None:
    """Show what this run took and where it ran, and keep its tables; the last thing a notebook does.

    Each data frame that the notebook has by then is kept under its name, see `icl_book.runner.table`.

    Raises:
        BadInput: If the notebook did not call `setup`.
    """
    if not _started:
        raise BadInput("notebook.footer() needs notebook.setup(globals()) after the parameters cell")
    record = {
        "seconds": round(time.perf_counter() - _started["time"], 2),
        "peak_memory": provenance.resident_bytes(),
        "parameters": _started["parameters"],
        "root_seed": ROOT_SEED >> 32,
        "device": provenance.device_name(),
        **provenance.origin(),
    }
    where, commit = record["machine"], record["commit"]
    text = (
        f"Computed in {record['seconds']:.1f} s on {where['cpu']} ({where['cores']} cores), device "
        f"{record['device']}, with " + ", ".join(f"{n} {v}" for n, v in record["versions"].items())
    )
    if commit:
        text += f", commit {commit['id'][:10]}" + (" with local changes" if commit["dirty"] else "")
    page = f'<p class="icl-footer">{html.escape(text)}</p>'
    _show({"text/html": page, "text/plain": text, FOOTER_MIME: record})
    _show(
        {TABLES_MIME: json.dumps(_tables(_started["namespace"]))},
        {"scrapbook": {"name": "tables", "mime_prefix": HIDDEN}},
    )


def _tables(namespace: MutableMapping[str, Any]) -> dict[str, str]:
    """Return the notebook's data frames of at most `MOST_ROWS` rows as CSV, by name."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return {}
    frames = {k: v for k, v in namespace.items() if isinstance(v, pandas.DataFrame) and k[:1] != "_"}
    return {
        name: frame.to_csv(index=frame.index.names != [None])
        for name, frame in frames.items()
        if 0 < len(frame) <= MOST_ROWS
    }


def _show(data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython():
        display(data, raw=True, metadata=metadata)
    elif "text/plain" in data:  # a plain script
        print(data["text/plain"])
