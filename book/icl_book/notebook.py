"""What a notebook calls: `setup` after its parameters, `footer` at its end."""

from __future__ import annotations

import functools
import html
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from IPython import get_ipython
from IPython.display import display

from icl.streams import ROOT_SEED
from icl_book import provenance
from icl_book.figures import narrow, plots
from icl_book.parameters import PARAMETERS, BadInput, spelled, validate
from icl_book.provenance import FOOTER_MIME, HIDDEN, TABLES_MIME, device

__all__ = ["device", "footer", "setup"]

#: A run keeps tables of up to this many rows for sweeps.
MAX_TABLE_ROWS = 2000

_started: dict[str, Any] = {}


def setup(namespace: MutableMapping[str, Any], **entries: int | str) -> None:
    """Start a notebook: set the figures' style, check the parameters, start the clock.

    Called once, after the parameters cell, with all imports done. The parameters are the names of the book's
    vocabulary (`icl_book.parameters.PARAMETERS`) that the notebook has by then.

    Args:
        namespace: The notebook's ``globals()``. Parameters are written back, integers also where they were
            written as ``1e3``, and in a plain script ``judge`` becomes a function that prints its verdict,
            too.
        entries: What this notebook needs of a list, beyond the vocabulary, by its name: a number is the
            smallest number of entries, which must then increase, and text is the name of another list, which
            must have the same length.

    Raises:
        BadInput: If there is not a parameter yet, for a wrong type or value, and as
            `icl_book.provenance.check_tree`.
    """
    provenance.check_tree(Path.cwd())
    _draw_into_notebook(get_ipython())
    plots.style()
    # Only runs for the book have figures for a phone.
    if os.environ.get("ICL_NARROW"):
        narrow.attach(get_ipython())
    names = [name for name in PARAMETERS if name in namespace]
    if not names:
        raise BadInput("notebook.setup(globals()): no parameters cell was executed before it")
    # Papermill writes numbers of NumPy as text.
    values = validate({name: spelled(namespace[name]) for name in names}, names)
    namespace.update(values)
    for name, need in entries.items():
        _check_entries(namespace, name, need)
    # IPython defines `In`, which a plain script lacks.
    if "In" not in namespace and callable(namespace.get("judge")):
        namespace["judge"] = _print_verdicts(namespace["judge"])
    _started.update(time=time.perf_counter(), parameters=values, namespace=namespace)


def _check_entries(namespace: MutableMapping[str, Any], name: str, need: int | str) -> None:
    """Raise BadInput unless the list ``name`` has the entries that `setup` is told of by ``name=need``."""
    entry = namespace[name]
    if isinstance(need, str):
        good = len(entry) == len(namespace[need])
        allowed = f"as many entries as {need}={namespace[need]!r}"
    else:
        good = len(entry) >= need and all(a < b for a, b in itertools.pairwise(entry))
        allowed = f"{need} or more entries in increasing order"
    if not good:
        raise BadInput(f"{name}={entry!r}: must have {allowed}")


def _draw_into_notebook(shell: Any) -> None:
    """Show figures in the notebook though ``MPLBACKEND`` says otherwise, as clusters set it for scripts.

    Another backend that was chosen in the notebook stays, and so does that of a plain script.

    Args:
        shell: IPython's shell, which has a kernel in a notebook, or None in a plain script.
    """
    wanted = os.environ.get("MPLBACKEND", "").lower()
    # The backends of notebooks have such names, for example module://matplotlib_inline.backend_inline.
    foreign = not wanted.startswith("module://")
    if hasattr(shell, "kernel") and foreign and matplotlib.get_backend().lower() == wanted:
        shell.enable_matplotlib("inline")


def _print_verdicts(judge: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``judge`` for a plain script, which does not show the card that it returns: it is printed."""

    @functools.wraps(judge)
    def printed(*evidence: Any, **options: Any) -> Any:
        card = judge(*evidence, **options)
        print(card)
        return card

    return printed


def footer() -> None:
    """Show what this run took and where it ran, and keep its tables; the last thing a notebook does.

    Each data frame that the notebook has by then is kept under its name, see `icl_book.runner.table`, unless
    it is private, empty or large. A plain script prints one line and keeps nothing.

    Raises:
        BadInput: If the notebook did not call `setup`.
    """
    if not _started:
        raise BadInput(
            "notebook.footer() needs notebook.setup(globals()) after the parameters cell"
        )
    about_run = {
        "seconds": round(time.perf_counter() - _started["time"], 2),
        "peak_memory": provenance.resident_bytes(),
        "parameters": _started["parameters"],
        # `icl.streams` adds the root in units of 2^32.
        "root_seed": ROOT_SEED >> 32,
        "device": provenance.device_name(),
        **provenance.origin(),
    }
    text = _describe(about_run)
    # A plain script has no page to display on.
    if not get_ipython():
        print(text)
        return
    page = f'<p class="icl-footer">{html.escape(text)}</p>'
    display({"text/html": page, "text/plain": text, FOOTER_MIME: about_run}, raw=True)
    tables = _write_tables(_started["namespace"])
    # The glue of MyST-NB marks an output like this that the page does not show.
    hidden = {"scrapbook": {"name": "tables", "mime_prefix": HIDDEN}}
    display({TABLES_MIME: json.dumps(tables)}, raw=True, metadata=hidden)


def _describe(about_run: Mapping[str, Any]) -> str:
    """Return what a run took and where it ran, in one sentence."""
    machine, commit = about_run["machine"], about_run["commit"]
    versions = ", ".join(f"{name} {version}" for name, version in about_run["versions"].items())
    text = (
        f"Computed in {about_run['seconds']:.1f} s on {machine['cpu']} ({machine['cores']} cores), "
        f"device {about_run['device']}, with {versions}"
    )
    if commit:
        text += f", commit {commit['id'][:10]}"
        text += " with local changes" if commit["dirty"] else ""
    return text


def _write_tables(namespace: Mapping[str, Any]) -> dict[str, str]:
    """Return the data frames of a notebook as CSV, by name, but for private, empty and large ones.

    The name of a private one begins with an underscore, and a large one has more than `MAX_TABLE_ROWS` rows.
    """
    tables = {}
    for name, frame in namespace.items():
        if isinstance(frame, pd.DataFrame) and not name.startswith("_"):
            if 0 < len(frame) <= MAX_TABLE_ROWS:
                # An index without a name only counts the rows.
                has_labels = frame.index.names != [None]
                tables[name] = frame.to_csv(index=has_labels)
    return tables
