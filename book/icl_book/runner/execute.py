"""Executing a notebook through papermill: whole and as expected, or not at all."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icl.files import write_atomically
from icl_book import repository
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.folders import temporary_folder
from icl_book.runner.plan import Run, defaults, notebooks, root_seed
from icl_book.runner.preload import SETTINGS
from icl_book.runner.record import keep_whole, record, seal

HEARTBEAT = 10.0  # seconds between two lines of a run that is under way
HOSTED = (
    "import sys\n\n"
    'if "google.colab" in sys.modules:  # a hosted notebook starts without the package\n'
    '    get_ipython().run_line_magic("pip", "install -q icl[notebook]@git+{url}")'
)
KEPT = 5  # executed notebooks kept per notebook and preset


def execute(run: Run, label: str = "") -> Path:
    """Execute a notebook through papermill, unless it is done.

    Args:
        run: What to run, from `plan`.
        label: Printed before each line of progress, e.g. ``"1 of 2"``.

    Returns:
        The executed notebook, ``_build/runs/<preset>/<name>.<digest>.ipynb``; see `icl_book.runner.record`.

    Raises:
        BadInput: If a cell fails, the kernel dies, a verdict is not the expected one, or the
            sources changed meanwhile. What had been computed is then in
            ``<name>.<digest>.failed.ipynb``, and nothing else is touched.
        OSError: If a file cannot be written.
    """
    path, start = run.path, time.perf_counter()
    shown = f"[{label}] {run.name}" if label else run.name
    if keep_whole(path):
        print(f"{shown}: already done", flush=True)
        return path
    values = f" ({', '.join(f'{k}={v}' for k, v in run.overrides.items())})" if run.overrides else ""
    print(f"{shown}: started{values}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    parameters = defaults(run.name) | run.overrides
    node, problem = _papermill(run, shown, start)
    node.metadata["icl"] = {
        "name": run.name,
        "preset": run.preset,
        "parameters": parameters,
        "digest": path.name.split(".")[1],
        "root_seed": root_seed(),
        "exploring": run.exploring,
    }
    surprises = []
    if problem is None:
        try:
            found = record(node)
            surprises, problem = _judged(run, path, found["cards"])
        except BadInput as error:  # also if the notebook is gone
            problem = str(error)
    path.parent.mkdir(parents=True, exist_ok=True)  # somebody may have removed it meanwhile
    if problem is not None:
        if run.overrides and run.exploring:
            problem += f" (with {', '.join(f'{k}={v}' for k, v in run.overrides.items())})"
        node.metadata["icl"]["problem"] = problem
        failed = path.with_suffix(".failed.ipynb")
        try:
            write_atomically(failed, json.dumps(node, indent=1))
            where = f"(see {os.path.relpath(failed)})"
        except OSError as error:
            where = f"(its notebook could not be written: {error.strerror})"
        raise BadInput(f"{shown}: failed after {time.perf_counter() - start:.0f} s: {problem} {where}")
    seal(node)
    if run.preset == "paper" and not run.exploring:
        (ROOT / "results" / "paper").mkdir(parents=True, exist_ok=True)
        write_atomically(ROOT / "results" / "paper" / f"{run.name}.json", json.dumps(found, indent=1) + "\n")
    write_atomically(path, json.dumps(node, indent=1))
    _forget(run)
    print("; ".join([f"{shown}: done in {time.perf_counter() - start:.0f} s", *surprises]), flush=True)
    return path


def _judged(run: Run, path: Path, cards: list[dict]) -> tuple[list[str], str | None]:
    """Return the verdicts that were not expected, and what is wrong with a run that came to its end.

    What is expected are the verdicts of the book, `quick`; at other sizes a difference is a result.
    """
    surprises = [
        _surprise(c)
        for c in cards
        if not c["as_expected"] and not (run.preset == "smoke" and c["verdict"] in ("inconclusive", "open"))
    ]
    if unseen := run.unseen(c["id"] for c in cards):
        return [], f"judges {unseen}, an id that the notebook names nowhere: changes of it would go unseen"
    if run.path != path:
        return [], "notebook, code, lock or data changed while it ran; run again"
    fails = surprises and not run.exploring and run.preset in ("quick", "smoke")
    return surprises, "; ".join(surprises) if fails else None


def _surprise(card: dict) -> str:
    control = "" if card["control_passed"] else ", control not judged as it must be"
    return f"{card['id']}: {card['verdict']}, expected {card['expected']}{control}"


def _light_imports() -> None:
    """Keep a slow optional module out: jsonschema's check of web addresses, 1.5 s to import and unused."""
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def _papermill(run: Run, shown: str, start: float):
    """Run all cells; returns the notebook and what went wrong, in one line, or None."""
    _light_imports()
    import jupytext
    import papermill
    from papermill.engines import NBClientEngine, papermill_engines
    from traitlets.config import Config

    from icl_book.runner import provisioner

    node = jupytext.read(ROOT / "notebooks" / f"{run.name}.py")
    _settle(node)
    under_way = []

    class Watched(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **options):
            under_way.append(nb_man)
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    def heartbeat():
        while not finished.wait(HEARTBEAT):
            status = [c.metadata.papermill.status for c in under_way[0].nb.cells] if under_way else []
            at = status.index("running") + 1 if "running" in status else 0
            print(f"{shown}: cell {at} of {len(status)}, {time.perf_counter() - start:.0f} s", flush=True)

    papermill_engines.register("icl", Watched)
    provisioner.register()
    finished, problem = threading.Event(), None
    thread = threading.Thread(target=heartbeat, daemon=True)
    thread.start()
    try:
        with kernel_home() as connection, _prompt_interrupt(shown):
            papermill.execute_notebook(
                node,
                None,
                parameters=run.overrides,
                engine_name="icl",
                kernel_name="python3",
                language="python",
                progress_bar=False,
                cwd=ROOT / "notebooks",
                config=Config(KernelManager=connection),
                extra_arguments=["--IPKernelApp.log_level=50"],
            )
    except papermill.PapermillExecutionError as error:
        message = " ".join(str(error.evalue).split())
        problem = f"cell {error.cell_index + 1}: {error.ename}: {message}"
    except (RuntimeError, OSError) as error:  # a dead kernel, a full disk: still one line
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
    finally:
        finished.set()
        thread.join()
    if under_way:
        node = under_way[0].nb
    node.metadata.pop("papermill", None)  # timings and paths: two runs should differ in nothing but results
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
    _settle(node)
    return node, problem


@contextmanager
def _prompt_interrupt(shown: str) -> Iterator[None]:
    """End the run at once on Ctrl-C.

    The executor's event loop can swallow an interrupt while a kernel starts and then wait for
    the cell. Nothing is lost by leaving: outputs are only written when a run is complete, and a
    kernel and a temporary folder whose process is gone end themselves.
    """

    def leave(*_):
        print(f"{shown}: interrupted", flush=True)
        os._exit(130)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def kernel_home() -> Iterator[dict[str, str]]:
    """Set up a kernel that shares nothing with its neighbors or with the user's settings.

    Yields:
        The connection settings: sockets in the kernel's own folder, because ports picked by kernels that
        start at the same moment can collide. The file with the kernel's key lies there, too.
    """
    before = dict(os.environ)
    with temporary_folder() as folder:
        os.environ.update(
            {
                "IPYTHONDIR": folder,
                "JUPYTER_RUNTIME_DIR": folder,
                "JUPYTER_PREFER_ENV_PATH": "1",
                "PYTHONPATH": os.pathsep.join(
                    filter(None, [str(ROOT), str(ROOT / "book"), before.get("PYTHONPATH")])
                ),
            }
            | SETTINGS
        )
        os.environ.pop("MPLBACKEND", None)  # the kernel's inline backend, whatever the caller's is
        connection = {"connection_file": f"{folder}/kernel.json"}
        try:
            # A socket's path may have 107 characters; in a deeper temporary folder ports must do.
            yield connection | ({"transport": "ipc", "ip": f"{folder}/k"} if len(folder) < 90 else {})
        finally:
            os.environ.clear()
            os.environ.update(before)


def _forget(run: Run) -> None:
    """Drop all but the last few outputs of a notebook, and what failed before it succeeded.

    Of a sweep nothing is dropped but the failure of the same run.
    """
    folder = run.path.parent
    which = run.path.stem if run.exploring else f"{run.name}.*"
    for left_over in folder.glob(f"{which}.failed.ipynb"):
        left_over.unlink(missing_ok=True)
    if not run.exploring:
        done = sorted(folder.glob(f"{run.name}.*.ipynb"), key=lambda p: p.stat().st_mtime)
        for old in done[:-KEPT]:
            old.unlink(missing_ok=True)


def _settle(node) -> None:
    """Give cells ids that do not change from run to run."""
    for i, cell in enumerate(node.cells):
        cell["id"] = f"cell-{i:02d}"


def sync() -> list[Path]:
    """Rewrite each ``notebooks/*.ipynb`` that differs from its ``.py``, the source.

    A hosted notebook starts without the package: each .ipynb has a cell that installs it there, from the
    repository's address in ``_config.yml``. While that is the placeholder, the address of git's remote is
    written there first.

    Returns:
        The files written.
    """
    _light_imports()
    import jupytext
    from nbformat.v4 import new_code_cell

    repository.adopt(ROOT)
    url = repository.declared(ROOT)
    written = []
    for name in notebooks():
        source = ROOT / "notebooks" / f"{name}.py"
        node = jupytext.read(source)
        node.metadata = {"kernelspec": node.metadata["kernelspec"]}
        node.cells.insert(1, new_code_cell(HOSTED.format(url=url), metadata={"tags": ["remove-cell"]}))
        _settle(node)
        text, target = jupytext.writes(node, fmt="ipynb"), source.with_suffix(".ipynb")
        text = text.rstrip("\n") + "\n"
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_atomically(target, text)
            written.append(target)
    return written
