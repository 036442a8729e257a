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
from icl_book.parameters import PARAMETERS, BadInput, parse_injected, validate
from icl_book.provenance import FOOTER_MIME, HIDDEN, TABLES_MIME, device

__all__ = ["device", "footer", "setup"]

#: A run keeps tables of up to this many rows for sweeps.
MAX_TABLE_ROWS = 2000

_started: dict[str, Any] = {}


def setup(namespace: MutableMapping[str, Any], **entries: int | str) -> None:
    """Start a notebook: set the style of figures, check the parameters, start the clock.

    A notebook calls this once, after its imports. Its parameters are those of its names that
    `icl_book.parameters.PARAMETERS` has.

    Args:
        namespace: The notebook's ``globals()``, into which the checked parameters are written.
        entries: Further conditions, by the name of a parameter that is a list. With a number the list must
            have at least so many entries, in increasing order. With a text, the name of another list, both
            lists must have the same length.

    Raises:
        BadInput: If no parameter is defined yet, a parameter or a condition is wrong, or the notebook lies in
            another copy of the repository.
    """
    provenance.check_tree(Path.cwd())
    _draw_into_notebook(get_ipython())
    plots.style()
    # Only runs for the book set this variable.
    if os.environ.get("ICL_NARROW"):
        narrow.attach(get_ipython())
    names = [name for name in PARAMETERS if name in namespace]
    if not names:
        raise BadInput("notebook.setup(globals()): no parameters cell was executed before it")
    # Papermill writes numbers of NumPy as text.
    values = validate({name: parse_injected(namespace[name]) for name in names}, names)
    namespace.update(values)
    for name, need in entries.items():
        _check_entries(namespace, name, need)
    # A plain script lacks `In`, which IPython defines.
    if "In" not in namespace and callable(namespace.get("judge")):
        namespace["judge"] = _print_verdicts(namespace["judge"])
    _started.update(time=time.perf_counter(), parameters=values, namespace=namespace)


def _check_entries(namespace: MutableMapping[str, Any], name: str, need: int | str) -> None:
    """Raise BadInput unless the list ``name`` fulfils ``need``, a condition of `setup`."""
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
    """Show figures in the notebook ``shell``, even if ``MPLBACKEND`` names a backend for scripts.

    Clusters set this variable. A backend that the notebook itself has chosen stays.
    """
    # Without the variable `wanted` is empty, a name that no backend has.
    wanted = os.environ.get("MPLBACKEND", "").lower()
    for_scripts = not wanted.startswith("module://")
    still_used = matplotlib.get_backend().lower() == wanted
    if hasattr(shell, "kernel") and for_scripts and still_used:
        shell.enable_matplotlib("inline")


def _print_verdicts(judge: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does what ``judge`` does, and prints the verdict: a script shows no card."""

    @functools.wraps(judge)
    def judge_and_print(*evidence: Any, **options: Any) -> Any:
        card = judge(*evidence, **options)
        print(card)
        return card

    return judge_and_print


def footer() -> None:
    """Show how long this run took and where it ran, and keep the notebook's tables.

    A notebook ends with this call. A plain script only prints one line.

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
        # `ROOT_SEED` is the value of ICL_SEED times 2^32.
        "root_seed": ROOT_SEED >> 32,
        "device": provenance.device_name(),
        **provenance.origin(),
    }
    text = _describe(about_run)
    if not get_ipython():
        print(text)
        return
    page = f'<p class="icl-footer">{html.escape(text)}</p>'
    display({"text/html": page, "text/plain": text, FOOTER_MIME: about_run}, raw=True)
    tables = _write_tables(_started["namespace"])
    # MyST-NB does not show an output with this mark on the page.
    hidden = {"scrapbook": {"name": "tables", "mime_prefix": HIDDEN}}
    display({TABLES_MIME: json.dumps(tables)}, raw=True, metadata=hidden)


def _describe(about_run: Mapping[str, Any]) -> str:
    """Return in one sentence how long a run took and where it ran."""
    machine = about_run["machine"]
    commit = about_run["commit"]
    versions = ", ".join(f"{name} {version}" for name, version in about_run["versions"].items())
    text = (
        f"Computed in {about_run['seconds']:.1f} s on {machine['cpu']} ({machine['cores']} cores), "
        f"device {about_run['device']}, with {versions}"
    )
    if commit:
        text += f", commit {commit['id'][:10]}"
        if commit["dirty"]:
            text += " with local changes"
    return text


def _write_tables(namespace: Mapping[str, Any]) -> dict[str, str]:
    """Return the data frames of a notebook as CSV, by name.

    Private, empty and long frames are left out.
    """
    tables = {}
    for name, frame in namespace.items():
        if isinstance(frame, pd.DataFrame) and not name.startswith("_"):
            if 0 < len(frame) <= MAX_TABLE_ROWS:
                # An index without a name only counts the rows.
                has_labels = frame.index.names != [None]
                tables[name] = frame.to_csv(index=has_labels)
    return tables
