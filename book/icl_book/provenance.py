"""The origin of a result: machine, versions, device, commit."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icl_book.parameters import BadInput
from icl_book.repository import git

if TYPE_CHECKING:
    import torch

#: The root of the repository that the package is imported from.
ROOT = Path(__file__).resolve().parents[2]
#: Media type of the record that a notebook's last cell displays.
FOOTER_MIME = "application/vnd.icl.footer+json"
CARD_MIME = "application/vnd.icl.card+json"
#: Media type of the drawing of a figure for a phone, see `icl_book.figures.narrow`.
NARROW_MIME = "application/vnd.icl.narrow+svg"
#: MyST-NB hides media types that begin like this.
HIDDEN = "application/papermill.record/"
#: Media type of the tables that a notebook keeps, as JSON.
TABLES_MIME = f"{HIDDEN}text/plain"


def device(wanted: str | None = None) -> torch.device:
    """Return the torch device that notebooks compute on.

    Args:
        wanted: ``cpu``, ``cuda``, or a GPU by its number, such as ``cuda:1``. The default is the value of the
            environment variable ``ICL_DEVICE``, or else a GPU if there is one.

    Raises:
        BadInput: If ``wanted`` or ``ICL_DEVICE`` is not a device of this machine.
    """
    import torch

    gpus = torch.cuda.device_count()
    options = ["cpu"]
    if gpus:
        options += ["cuda", *(f"cuda:{i}" for i in range(gpus))]
    wanted = wanted or os.environ.get("ICL_DEVICE") or ("cuda" if gpus else "cpu")
    if wanted not in options:
        raise BadInput(
            f"ICL_DEVICE={wanted!r}: must be one of {', '.join(options)} on this machine"
        )
    return torch.device(wanted)


def device_name() -> str:
    """Return `device` in words, e.g. ``"cuda (NVIDIA H200)"``; ``"cpu"`` if PyTorch has not used a GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return "cpu"
    chosen = device()
    if chosen.type == "cpu":
        return "cpu"
    return f"{chosen} ({torch.cuda.get_device_name(chosen)})"


def machine() -> dict[str, str | int | None]:
    """Return the model of the CPU, the number of ``cores``, and the operating ``system``."""
    # Only Linux has this file, and on ARM it does not name the model.
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.is_file() else ""
    line = re.search(r"^model name\s*: (.*\S)", text, re.MULTILINE)
    model = line[1] if line else platform.processor() or platform.machine()
    # Only Linux has this function, which counts the cores that this process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": model, "cores": cores, "system": platform.platform(terse=True)}


def resident_bytes() -> int:
    """Return the largest resident memory that this process has had, in bytes, or 0 if this is not Linux."""
    path = Path("/proc/self/status")
    text = path.read_text() if path.is_file() else ""
    line = re.search(r"^VmHWM:\s*(\d+) kB", text, re.MULTILINE)
    # Linux writes kB and means 1,024 bytes.
    return int(line[1]) * 1024 if line else 0


def check_tree(folder: Path) -> None:
    """Raise BadInput unless the packages come from the copy of the repository in which ``folder`` lies.

    In a copied folder the Python environment still imports from the original. A ``folder`` outside every copy
    is accepted. The paths of repository and Python must be UTF-8, in which results are written.
    """
    import icl

    for path in (str(ROOT), sys.executable):
        try:
            path.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{path!r}: this name is not UTF-8, as it must be: rename it") from None

    folder = folder.resolve()
    tree = next(filter(_is_tree, (folder, *folder.parents)), None)
    if tree is None:
        return
    sources = {"icl": Path(icl.__file__).resolve().parents[1], "icl_book": ROOT}
    for name, source in sources.items():
        if source != tree:
            raise BadInput(
                f"{name} is imported from {source}, not from {tree}: the environment was made for another "
                "folder; remove .venv here, then: make .venv/.installed"
            )


def _is_tree(folder: Path) -> bool:
    """Return whether a folder is the root of a copy of the repository."""
    return (folder / "book" / "icl_book" / "__main__.py").is_file() and (
        folder / "notebooks"
    ).is_dir()


def fingerprint(root: Path, patterns: Iterable[str]) -> str:
    """Return a digest of the names and contents of the files below ``root`` that match a glob pattern.

    Files that Python and pip generate are left out.
    """
    total = hashlib.sha256()
    generated = re.compile(r"__pycache__|\.egg-info/")
    for path in sorted({p for pattern in patterns for p in root.glob(pattern)}):
        if path.is_file() and not generated.search(path.as_posix()):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"\0{path.relative_to(root).as_posix()}\0{content}".encode())
    return total.hexdigest()


#: Matches each text, as its only group, which is kept. The other matches are removed from a dumped syntax
#: tree: white space, commas, and parts that differ between versions of Python.
_VARIES = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\w+=\[\]|ctx=Load\(\)|Constant\(value=''\)|[\s,]"""
)


def dump_code(source: str) -> str:
    """Return the syntax tree of a file's code as text, without docstrings.

    The text does not depend on the version of Python, from 3.11 on.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kept = []
            # A statement that is only a string does nothing.
            for statement in node.body:
                alone = statement.value if isinstance(statement, ast.Expr) else None
                if not (isinstance(alone, ast.Constant) and isinstance(alone.value, str)):
                    kept.append(statement)
            # A body needs a statement.
            node.body = kept or [ast.Pass()]
    return _VARIES.sub(r"\1", ast.dump(tree))


#: The packages on whose versions numbers and figures depend.
PACKAGES = (
    *("numpy", "scipy", "torch", "numba", "pandas", "scikit-learn", "statsmodels", "python-flint"),
    *("matplotlib", "seaborn"),
)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers and figures depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def commit() -> dict[str, str | bool] | None:
    """Return ``id``, the commit of this tree, and ``dirty``, whether files differ from the commit.

    The result is None if git does not know this tree. Files that runs write do not count for ``dirty``, so
    that one run does not mark the next one.
    """
    try:
        top = Path(git(ROOT, "rev-parse", "--show-toplevel").strip()).resolve()
        # If `top` and `ROOT` differ, the package is installed inside another repository.
        if top != ROOT:
            return None
        changed = git(
            ROOT,
            "status",
            "--porcelain",
            # Without this option a setting of the user could leave out new files.
            "--untracked-files=normal",
            "--",
            ".",
            ":(exclude)results",
            ":(exclude)benchmarks/results",
        )
        return {"id": git(ROOT, "rev-parse", "HEAD").strip(), "dirty": bool(changed)}
    except (OSError, subprocess.SubprocessError):
        return None


def origin() -> dict[str, Any]:
    """Return `machine`, `versions` and `commit`, with which every record of a measurement begins."""
    return {"machine": machine(), "versions": versions(), "commit": commit()}
