"""Running notebooks: what a notebook calls, and the command line of the runner.

A notebook calls `check` after its parameters, `device` and `data` where it needs them and
`footer` at its end. ``python -m icl.runs execute NAME --preset quick`` executes one.
"""

from __future__ import annotations

import argparse
import html
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import yaml

from icl import provenance
from icl.addresses import Run, configure, notebooks, plan
from icl.executor import collect, execute, sync
from icl.parameters import PARAMETERS, BadInput, number, validate
from icl.provenance import FOOTER_MIME, ROOT, device

__all__ = ["PARAMETERS", "BadInput", "Run", "check", "collect", "data", "device", "execute", "footer", "glue",
           "main", "notebooks", "plan", "schedule", "sync"]

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
        given |= {n: v for n, v in namespace.items()
                  if not n.startswith("_") and n not in ("In", "Out") and isinstance(v, plain)}
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
        raise BadInput("runs.footer() needs runs.check(globals(), ...) after the parameters cell")
    record = {"seconds": round(time.perf_counter() - _started["time"], 2),
              "parameters": _started["parameters"], "device": provenance.device_name(),
              "machine": provenance.machine(), "versions": provenance.versions(),
              "commit": provenance.commit()}
    where, commit = record["machine"], record["commit"]
    text = (f"Computed in {record['seconds']:.1f} s on {where['cpu']} ({where['cores']} cores), device "
            f"{record['device']}, with " + ", ".join(f"{n} {v}" for n, v in record["versions"].items()))
    if commit:
        text += f", commit {commit['id'][:10]}" + (" with local changes" if commit["dirty"] else "")
    from IPython.display import display

    display({"text/html": f'<p class="icl-footer">{html.escape(text)}</p>', "text/plain": text,
             FOOTER_MIME: record}, raw=True)


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
    display({f"{prefix}text/plain": repr(value)}, raw=True,
            metadata={"scrapbook": {"name": name, "mime_prefix": prefix}})


def data(path: str) -> Path:
    """A file of this repository that a notebook reads.

    The call must be written with a literal, ``runs.data("results/paper/x.json")``: the
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


def schedule(settings: Mapping[str, str], jobs: str) -> int:
    """Let Snakemake run what is not done yet; see ``Snakefile``.

    Args:
        settings: Its ``preset``, and ``notebook`` and ``grid`` for a sweep.
        jobs: How many notebooks run at a time, a positive integer.

    Returns:
        The exit status.

    Raises:
        BadInput: If anything is wrong with the settings; nothing has run then.
    """
    if not jobs.isdecimal() or int(jobs) < 1:
        raise BadInput(f"jobs={jobs!r}: must be an integer >= 1")
    start = time.perf_counter()
    found = plan(settings["preset"], settings.get("notebook"), settings.get("grid", ""))
    waiting = sum(not run.path.is_file() for run in found)
    print(f"{settings['preset']}: {len(found)} runs, {waiting} to do, {jobs} at a time", flush=True)
    words = ["--cores", jobs, "--config", *(f"{k}={v}" for k, v in settings.items())]
    with subprocess.Popen([sys.executable, "-m", "snakemake", *words], cwd=ROOT) as process:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # Snakemake and the runs got it too, and stop their kernels
            process.wait()
            print("interrupted; what is done is kept, the same command goes on from there", flush=True)
            return 130
    seconds = time.perf_counter() - start
    if status == 0:
        print(f"done in {seconds:.0f} s", flush=True)
    else:
        logs = sorted((ROOT / ".snakemake" / "log").glob("*.log")) or ["-"]
        print(f"FAILED after {seconds:.0f} s; Snakemake's log: {os.path.relpath(logs[-1])}", flush=True)
    return status


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m icl.runs", description="Execute and sync notebooks.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("execute", help="execute one notebook")
    one.add_argument("-p", dest="values", action="append", default=[], metavar="NAME=VALUE")
    one.add_argument("--label", default="", help="printed before each line, e.g. '1 of 2'")
    book = commands.add_parser("book", help="execute what is not done and build the book")
    sweep = commands.add_parser("sweep", help="execute one notebook over a grid of parameters")
    sweep.add_argument("--grid", default="", help="e.g. 'noise_std=0.5,1 seed=0,1'")
    for command in (one, sweep):
        command.add_argument("name")
    for command in (one, book, sweep):
        command.add_argument("--preset", default="quick")
    for command in (book, sweep):
        command.add_argument("--jobs", default="2")
    commands.add_parser("sync", help="rewrite notebooks/*.ipynb from notebooks/*.py")
    options = parser.parse_args(arguments)
    try:
        match options.command:
            case "sync":
                for path in sync():
                    print(f"wrote {os.path.relpath(path)}")
            case "book":
                return schedule({"preset": options.preset}, options.jobs)
            case "sweep":
                if not options.grid:
                    raise BadInput("sweep needs a notebook and a grid: "
                                   'make sweep NOTEBOOK=theorem2_scaling GRID="seed=0,1"')
                return schedule({"preset": options.preset, "notebook": options.name, "grid": options.grid},
                                options.jobs)
            case "execute":
                execute(_changed(options.name, options.preset, options.values), options.label)
    except KeyboardInterrupt:
        return 130
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _changed(name: str, preset: str, words: list[str]) -> Run:
    """A preset's run with ``name=value`` words applied to it."""
    changes = {}
    for word in words:
        key, equals, value = word.partition("=")
        try:
            changes[key] = number(yaml.safe_load(value))
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise BadInput(f"-p {word!r}: must look like name=value")
    return configure(name, preset, changes)


if __name__ == "__main__":
    # Run as icl.runs, not as __main__, so that errors have one class.
    from icl import runs

    sys.exit(runs.main())
