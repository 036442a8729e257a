"""What a notebook calls: `check` after its parameters, `data` and `glue` in between, `footer` at its end."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from pathlib import Path

from icl_book import provenance
from icl_book.parameters import BadInput, validate
from icl_book.provenance import FOOTER_MIME, ROOT, device

__all__ = ["check", "data", "device", "footer", "glue"]

_started: dict = {}


def check(namespace: Mapping[str, object], *names: str) -> None:
    """Check a notebook's parameters; the first thing a notebook does after setting them.

    Args:
        namespace: The notebook's ``globals()``.
        names: The parameters it has.

    Raises:
        BadInput: For a wrong type or value, and for a public global holding plain data that
            is not among ``names``: a parameter papermill injected and nobody would read.
    """
    given = {n: namespace[n] for n in names if n in namespace}
    if missing := [n for n in names if n not in given]:
        raise BadInput(f"parameter {missing[0]}: checked, but the parameters cell does not set it")
    if "_icl_checked" not in namespace:  # later checks in a live kernel see the body's variables too
        plain = bool | int | float | complex | str | bytes | list | tuple | dict | set | None
        given |= {
            n: v
            for n, v in namespace.items()
            if not n.startswith("_") and n not in ("In", "Out") and isinstance(v, plain)
        }
    validate(given, names)
    if isinstance(namespace, dict):
        namespace["_icl_checked"] = True
    _started.update(time=time.perf_counter(), parameters={n: namespace[n] for n in names})


def footer() -> None:
    """Show what this run took and where it ran; the last thing a notebook does.

    Raises:
        BadInput: If the notebook did not call `check`.
    """
    if not _started:
        raise BadInput("notebook.footer() needs notebook.check(globals(), ...) after the parameters cell")
    record = {
        "seconds": round(time.perf_counter() - _started["time"], 2),
        "parameters": _started["parameters"],
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
    """A file of this repository that a notebook reads.

    The call must be written with a literal, ``notebook.data("results/paper/x.json")``: the
    runner finds it in the source and makes the file's content part of the run's address.

    Args:
        path: Path relative to the repository.

    Returns:
        The absolute path.

    Raises:
        BadInput: If there is no such file.
    """
    if not (ROOT / path).is_file():
        raise BadInput(f"data file {path!r}: not found in {ROOT}")
    return ROOT / path
