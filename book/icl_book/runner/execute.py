"""Execute a notebook through papermill: whole and as expected, or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from icl_book.files import write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import process
from icl_book.runner.pairs import settle
from icl_book.runner.plan import Run, address, defaults, verdicts
from icl_book.runner.record import extract_results, seal, surprising, whole

#: A run prints its progress at most once in this many seconds.
MIN_SECONDS_BETWEEN_LINES = 10.0
#: The name of a kernel that runs this interpreter, see `kernel_home`.
KERNEL = "icl-book"
#: The program of ``-m ipykernel_launcher``, inside `icl_book.lean`.
LAUNCHER = """
import runpy
from icl_book import lean
with lean.program():
    runpy.run_module("ipykernel_launcher", run_name="__main__")
"""
#: Of each notebook and preset, this many executed notebooks are kept.
MAX_KEPT = 5


def execute(run: Run, label: str = "") -> Path:
    """Execute a notebook through papermill, unless it is done; wait if another process does it already.

    ``label``, e.g. ``"1 of 2"``, is printed before each line.

    Returns:
        The path of the executed notebook.

    Raises:
        BadInput: If a cell fails or, for the book, writes to standard error; if the kernel dies, the
            notebook lacks its footer, a verdict is not the expected one, or the sources changed since the
            run was planned. What had been computed is then in ``<name>.<digest>.failed.ipynb``, the reason
            in the ``.txt`` beside it, and nothing else is touched.
        OSError: If a file cannot be written.
    """
    shown = f"[{label}] {run.name}" if label else run.name
    path = run.path
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()

    def wait() -> None:
        print(f"{shown}: another process runs it; waiting for its result", flush=True)

    with process.locked(path.with_name(f".{path.stem}.lock"), wait):
        if whole(path):
            print(f"{shown}: already done", flush=True)
            return path
        print(f"{shown}: started {run}", flush=True)
        try:
            node = _papermill(run, shown)
            if not run.exploring:
                _refuse_warnings(node)
            found = extract_results(node)
            surprises = _find_surprises(run, found["cards"])
            write_atomically(path, json.dumps(node, indent=1))
            _remove_old(run)
        except BadInput as error:
            reason = f"{error} (with {run})" if run.exploring else str(error)
            # The reason is printed below even if the disk is full or the folder is gone.
            with suppress(OSError):
                write_atomically(run.reason, reason)
            seconds, where = time.perf_counter() - start, os.path.relpath(run.failed)
            raise BadInput(
                f"{shown}: failed after {seconds:.0f} s: {reason} (see {where})"
            ) from None
    print(
        "; ".join([f"{shown}: done in {time.perf_counter() - start:.0f} s", *surprises]), flush=True
    )
    return path


def _refuse_warnings(node: Any) -> None:
    """Raise BadInput if a cell wrote to standard error, which pages must not show."""
    for number, cell in enumerate(node["cells"], 1):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                said = " ".join(str(output["text"]).split())
                raise BadInput(f"cell {number} wrote to standard error: {said}")


def _find_surprises(run: Run, cards: list[dict[str, Any]]) -> list[str]:
    """Return a line for each verdict that is not as its claim expects.

    Raises:
        BadInput: For such a verdict, unless the preset allows it or a reader explores; for a statement
            without a case, unless a reader explores; and if what the run depends on has changed since it was
            planned.
    """
    if address(run.name, run.overrides, run.root_seed, run.device) != run.digest:
        raise BadInput("notebook, code, lock or data changed since it was planned; run again")
    # The claims take long to import, and a run that is done already does not need them.
    from icl_book.claims.card import list_empty_parts

    allowed = verdicts(run.preset)
    found = surprising(cards, allowed)
    # A statement without a case fails even where the preset allows any verdict.
    unfit = allowed != "any" or any(map(list_empty_parts, cards))
    if found and unfit and not run.exploring:
        raise BadInput("; ".join(found))
    return found


def _papermill(run: Run, shown: str) -> Any:
    """Run all cells and return the notebook, sealed; BadInput says in one line what went wrong.

    ``shown`` begins each line of progress. The cells run so far are also written to ``run.failed``, which
    `execute` removes if all goes well.
    """
    import jupytext
    import papermill
    from traitlets.config import Config

    start = last = time.perf_counter()
    # These cells were begun, and have their outputs so far.
    begun: list[Any] = []

    def note_start(cell: Any, cell_index: int) -> None:
        nonlocal last
        begun.append(cell)
        if (now := time.perf_counter()) - last > MIN_SECONDS_BETWEEN_LINES:
            # Papermill adds a cell of parameters if there are any.
            count = len(node.cells) + bool(run.overrides)
            print(f"{shown}: cell {cell_index + 1} of {count}, {now - start:.0f} s", flush=True)
            last = now

    node = jupytext.read(ROOT / "notebooks" / f"{run.name}.py")
    # The record that `extract_results` reads begins with what the run was.
    node.metadata["icl"] = asdict(run) | {"parameters": defaults(run.name) | run.overrides}
    try:
        with kernel_home(run) as connection:
            # Papermill substitutes names in braces, so braces of the path are doubled.
            done = papermill.execute_notebook(
                node,
                re.sub("[{}]", r"\g<0>\g<0>", str(run.failed)),
                parameters=run.overrides,
                kernel_name=KERNEL,
                language="python",
                progress_bar=False,
                # Papermill would save the whole notebook twice for each cell.
                request_save_on_cell_execute=False,
                cwd=ROOT / "notebooks",
                config=Config(KernelManager=connection),
                extra_arguments=[
                    # The kernel says only what is critical, and keeps no history of its cells on the disk.
                    "--IPKernelApp.log_level=50",
                    "--HistoryManager.enabled=False",
                    # Output that a library writes past Python goes to the terminal.
                    "--IPKernelApp.capture_fd_output=False",
                ],
                on_cell_start=note_start,
            )
    except papermill.PapermillExecutionError as error:
        message = " ".join(str(error.evalue).split())
        raise BadInput(f"cell {error.cell_index + 1}: {error.ename}: {message}") from None
    except (RuntimeError, OSError) as error:
        # A dead kernel or a full disk is one line, too.
        node.cells = begun
        with suppress(OSError):
            write_atomically(run.failed, json.dumps(node, indent=1))
        raise BadInput(f"{type(error).__name__}: {' '.join(str(error).split())}") from None
    # Two runs should differ in their results only, not in timings and paths.
    done.metadata.pop("papermill", None)
    for cell in done.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    settle(done)
    seal(done)
    return done


@contextmanager
def kernel_home(run: Run) -> Iterator[dict[str, str]]:
    """Set up a kernel that shares nothing with its neighbors or with the user's settings.

    The kernel runs this interpreter, because ``python3`` may be another one in other folders. Matplotlib
    starts without the user's ``matplotlibrc``. The kernel inherits the environment of this process, which is
    changed inside the block and restored at its end.

    Yields:
        The connection settings: where paths are short enough, sockets in the kernel's own folder, because
        ports picked by kernels that start at the same moment can collide. The file with the kernel's key lies
        there, too.
    """
    from ipykernel.kernelspec import write_kernel_spec

    before = dict(os.environ)
    paths = filter(None, [str(ROOT), str(ROOT / "book"), before.get("PYTHONPATH")])
    with process.scratch("icl-kernel-") as folder:
        os.environ |= run.environment | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONHASHSEED": "0",
        }
        # Only runs for the book draw for phones, see `icl_book.figures.narrow`.
        os.environ["ICL_NARROW"] = "" if run.exploring else "1"
        os.environ |= {
            "IPYTHONDIR": folder,
            "JUPYTER_RUNTIME_DIR": folder,
            # Settings of this environment come before the user's.
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        command = [sys.executable, "-c", LAUNCHER, "-f", "{connection_file}"]
        write_kernel_spec(Path(folder, "kernels", KERNEL), {"argv": command})
        Path(folder, "matplotlibrc").touch()
        os.environ |= {"JUPYTER_PATH": folder, "MATPLOTLIBRC": f"{folder}/matplotlibrc"}
        # The debugger would warn of frozen modules on standard error.
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        # The kernel uses its inline backend, whatever the caller's is.
        os.environ.pop("MPLBACKEND", None)
        connection = {"connection_file": f"{folder}/kernel.json"}
        # The path of a socket may have 107 characters, with its name, so that a deep folder needs ports.
        if len(folder) < 90:
            connection |= {"transport": "ipc", "ip": f"{folder}/k"}
        try:
            yield connection
        finally:
            os.environ.clear()
            os.environ.update(before)


def _remove_old(run: Run) -> None:
    """Remove what papermill wrote, an earlier reason, and, for the book, all but the last `MAX_KEPT` runs.

    These are the runs of the same notebook and preset.
    """
    for failure in (run.failed, run.reason):
        failure.unlink(missing_ok=True)
    if not run.exploring:
        # A failed run has one more suffix.
        found = [p for p in run.path.parent.glob(f"{run.name}.*.ipynb") if len(p.suffixes) == 2]
        for old in sorted(found, key=lambda p: p.stat().st_mtime)[:-MAX_KEPT]:
            old.unlink(missing_ok=True)
