"""Execute a notebook through papermill, and keep the result only if all went well."""

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
from icl_book.runner.pairs import number_cells
from icl_book.runner.plan import Run, address, read_allowed_verdicts, read_defaults
from icl_book.runner.record import check_whole, describe_surprises, extract_results, seal

MIN_SECONDS_BETWEEN_LINES = 10.0
#: The name of the kernel of `kernel_home`.
KERNEL = "icl-book"
#: The program of the kernel: ``python -m ipykernel_launcher`` inside `icl_book.lean.program`.
LAUNCHER = """
import runpy
from icl_book import lean
with lean.program():
    runpy.run_module("ipykernel_launcher", run_name="__main__")
"""
#: Of each notebook and preset, so many executed notebooks are kept.
MAX_KEPT = 5


def execute(run: Run, label: str = "") -> Path:
    """Execute a notebook through papermill, unless this run is already done; return the path of the result.

    If another process is executing the same run, this one waits for its result.

    Raises:
        BadInput: If a cell fails, the kernel dies, the notebook lacks its footer, the sources have changed
            since the run was planned, or a verdict is not allowed; for the book also if a cell writes to
            standard error. The cells run so far are then in ``<name>.<digest>.failed.ipynb``, and the reason
            is in the ``.failed.txt`` beside it.
    """
    shown = f"[{label}] {run.name}" if label else run.name
    path = run.path
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()

    def wait() -> None:
        print(f"{shown}: another process runs it; waiting for its result", flush=True)

    with process.locked(path.with_name(f".{path.stem}.lock"), wait):
        if check_whole(path):
            print(f"{shown}: already done", flush=True)
            return path
        print(f"{shown}: started {run}", flush=True)
        try:
            node = _papermill(run, shown)
            # Readers may have warnings, but the book may not.
            if not run.exploring:
                _refuse_warnings(node)
            found = extract_results(node)
            surprises = _find_surprises(run, found["cards"])
            write_atomically(path, json.dumps(node, indent=1))
            _remove_old(run)
        except BadInput as error:
            reason = f"{error} (with {run})" if run.exploring else str(error)
            # If the disk is full or the folder is gone, the reason is only in the error below.
            with suppress(OSError):
                write_atomically(run.reason, reason)
            seconds = time.perf_counter() - start
            where = os.path.relpath(run.failed)
            raise BadInput(
                f"{shown}: failed after {seconds:.0f} s: {reason} (see {where})"
            ) from None
    seconds = time.perf_counter() - start
    print("; ".join([f"{shown}: done in {seconds:.0f} s", *surprises]), flush=True)
    return path


def _refuse_warnings(node: Any) -> None:
    """Raise BadInput if a cell wrote to standard error, which pages must not show."""
    for number, cell in enumerate(node["cells"], 1):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                said = " ".join(str(output["text"]).split())
                raise BadInput(f"cell {number} wrote to standard error: {said}")


def _find_surprises(run: Run, cards: list[dict[str, Any]]) -> list[str]:
    """Return a line for each unexpected verdict.

    Raises:
        BadInput: If the sources have changed since the run was planned, or if a verdict is not one that the
            preset allows. A run with values of a reader may have any.
    """
    if address(run.name, run.overrides, run.root_seed, run.device) != run.digest:
        raise BadInput("notebook, code, lock or data changed since it was planned; run again")
    # This import takes long, and a run that is already done does not need it.
    from icl_book.claims.card import list_empty_parts

    allowed = read_allowed_verdicts(run.preset)
    found = describe_surprises(cards, allowed)
    # A card that lacks cases is a slip of the chapter, which would hide behind "any".
    unfit = allowed != "any" or any(list_empty_parts(card) for card in cards)
    if found and unfit and not run.exploring:
        raise BadInput("; ".join(found))
    return found


def _papermill(run: Run, shown: str) -> Any:
    """Run all cells of a notebook, and return the notebook with its outputs and a checksum.

    The cells run so far are also written to ``run.failed``, which `execute` removes if all goes well.
    """
    import jupytext
    import papermill
    from traitlets.config import Config

    start = last = time.perf_counter()
    begun: list[Any] = []

    def note_start(cell: Any, cell_index: int) -> None:
        nonlocal last
        begun.append(cell)
        now = time.perf_counter()
        if now - last > MIN_SECONDS_BETWEEN_LINES:
            # Papermill adds a cell for parameters.
            count = len(node.cells) + bool(run.overrides)
            print(f"{shown}: cell {cell_index + 1} of {count}, {now - start:.0f} s", flush=True)
            last = now

    node = jupytext.read(ROOT / "notebooks" / f"{run.name}.py")
    # `extract_results` reads this record of the run.
    node.metadata["icl"] = asdict(run) | {"parameters": read_defaults(run.name) | run.overrides}
    try:
        with kernel_home(run) as connection:
            # Papermill would replace a name in braces, and writes a doubled brace as one.
            failed = re.sub("[{}]", r"\g<0>\g<0>", str(run.failed))
            done = papermill.execute_notebook(
                node,
                failed,
                parameters=run.overrides,
                kernel_name=KERNEL,
                language="python",
                progress_bar=False,
                # Papermill would save the whole notebook twice for each cell.
                request_save_on_cell_execute=False,
                cwd=ROOT / "notebooks",
                config=Config(KernelManager=connection),
                extra_arguments=[
                    "--IPKernelApp.log_level=50",
                    "--HistoryManager.enabled=False",
                    # What C code writes goes to the terminal.
                    "--IPKernelApp.capture_fd_output=False",
                ],
                on_cell_start=note_start,
            )
    except papermill.PapermillExecutionError as error:
        message = " ".join(str(error.evalue).split())
        raise BadInput(f"cell {error.cell_index + 1}: {error.ename}: {message}") from None
    except (RuntimeError, OSError) as error:
        # The kernel is dead, or the disk full. Papermill may not have written the cells.
        node.cells = begun
        with suppress(OSError):
            write_atomically(run.failed, json.dumps(node, indent=1))
        raise BadInput(f"{type(error).__name__}: {' '.join(str(error).split())}") from None
    # The metadata of papermill have times and paths, in which two equal runs differ.
    done.metadata.pop("papermill", None)
    for cell in done.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    number_cells(done)
    seal(done)
    return done


@contextmanager
def kernel_home(run: Run) -> Iterator[dict[str, str]]:
    """Set up a kernel with its own folder, apart from other kernels and from the settings of the user.

    The kernel runs this Python interpreter, because ``python3`` may be another one. The kernel inherits the
    environment variables of this process, which are changed inside the ``with`` block.

    Yields:
        The settings of the connection to the kernel, through sockets in its folder, because kernels that
        start at the same moment can pick the same port.
    """
    from ipykernel.kernelspec import write_kernel_spec

    before = dict(os.environ)
    paths = filter(None, [str(ROOT), str(ROOT / "book"), before.get("PYTHONPATH")])
    with process.scratch("icl-kernel-") as folder:
        os.environ |= run.environment | {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONHASHSEED": "0",
        }
        # Only runs for the book have figures for phones.
        os.environ["ICL_NARROW"] = "" if run.exploring else "1"
        os.environ |= {
            "IPYTHONDIR": folder,
            "JUPYTER_RUNTIME_DIR": folder,
            # The settings of the Python environment come before those of the user.
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        command = [sys.executable, "-c", LAUNCHER, "-f", "{connection_file}"]
        write_kernel_spec(Path(folder, "kernels", KERNEL), {"argv": command})
        # An empty file replaces the user's settings of Matplotlib.
        Path(folder, "matplotlibrc").touch()
        os.environ |= {"JUPYTER_PATH": folder, "MATPLOTLIBRC": f"{folder}/matplotlibrc"}
        # The debugger would warn of frozen modules on standard error.
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        # Without this variable the kernel uses its inline backend.
        os.environ.pop("MPLBACKEND", None)
        connection = {"connection_file": f"{folder}/kernel.json"}
        # The path of a socket, the folder and a short name, may have at most 107 characters. Ports replace it
        # otherwise.
        if len(folder) < 90:
            connection |= {"transport": "ipc", "ip": f"{folder}/k"}
        try:
            yield connection
        finally:
            os.environ.clear()
            os.environ.update(before)


def _remove_old(run: Run) -> None:
    """Remove what failures left of this run, and all but the book's last `MAX_KEPT` runs of its notebook."""
    for failure in (run.failed, run.reason):
        failure.unlink(missing_ok=True)
    if not run.exploring:
        # The file of a failed run has a third suffix.
        found = [p for p in run.path.parent.glob(f"{run.name}.*.ipynb") if len(p.suffixes) == 2]
        for old in sorted(found, key=lambda p: p.stat().st_mtime)[:-MAX_KEPT]:
            old.unlink(missing_ok=True)
