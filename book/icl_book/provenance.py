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
#: Media type of a verdict card in an executed notebook.
CARD_MIME = "application/vnd.icl.card+json"
#: Media type of the drawing of a figure for a phone, see `icl_book.figures.narrow`.
NARROW_MIME = "application/vnd.icl.narrow+svg"
#: MyST-NB hides media types that begin like this. Under one of them a notebook keeps its tables, as JSON.
HIDDEN = "application/papermill.record/"
TABLES_MIME = f"{HIDDEN}text/plain"


def device(wanted: str | None = None) -> torch.device:
    """Return the torch device that notebooks compute on.

    Args:
        wanted: A value of ``ICL_DEVICE``: ``cpu``, ``cuda`` or ``cuda:1``, ...; by default that of the
            environment, if it is set, else a GPU where there is one, else the CPU.

    Raises:
        BadInput: If it is another text, or a device that this machine does not have.
    """
    import torch

    gpus = torch.cuda.device_count()
    wanted = wanted or os.environ.get("ICL_DEVICE") or ("cuda" if gpus else "cpu")
    options = ["cpu", *(["cuda"] if gpus else []), *(f"cuda:{i}" for i in range(gpus))]
    if wanted not in options:
        raise BadInput(
            f"ICL_DEVICE={wanted!r}: must be one of {', '.join(options)} on this machine"
        )
    return torch.device(wanted)


def device_name() -> str:
    """Return the device in words, e.g. ``"cuda (NVIDIA H200)"``; ``"cpu"`` if no other was used."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or (chosen := device()).type == "cpu":
        return "cpu"
    return f"{chosen} ({torch.cuda.get_device_name(chosen)})"


def machine() -> dict[str, str | int | None]:
    """Return the CPU model, the number of cores this process may use (off Linux of all), and the system."""
    # Only Linux has this file, and on ARM it does not name the model.
    path = Path("/proc/cpuinfo")
    line = re.search(
        r"^model name\s*: (.*\S)", path.read_text() if path.is_file() else "", re.MULTILINE
    )
    model = line[1] if line else platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": model, "cores": cores, "system": platform.platform(terse=True)}


def resident_bytes() -> int:
    """Return this process's resident memory at its highest; 0 off Linux."""
    path = Path("/proc/self/status")
    line = re.search(
        r"^VmHWM:\s*(\d+) kB", path.read_text() if path.is_file() else "", re.MULTILINE
    )
    return int(line[1]) * 1024 if line else 0


def check_tree(folder: Path) -> None:
    """Raise unless Python imports the packages of the repository that ``folder`` lies in, if it lies in one.

    An environment remembers the folder that it was made for. In a copy of that folder, or after a move, the
    same commands would read and write the original.

    Args:
        folder: The working directory.

    Raises:
        BadInput: If it lies in another tree than `icl` or `icl_book` were imported from, or if the path of
            the repository or of Python cannot be written in UTF-8, as results are.
    """
    import icl

    for path in (str(ROOT), sys.executable):
        try:
            path.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{path!r}: this name is not UTF-8, as it must be: rename it") from None

    trees = (parent for parent in (folder.resolve(), *folder.resolve().parents) if _is_tree(parent))
    tree = next(trees, None)
    if tree is None:
        # The folder does not lie in a copy of this repository.
        return
    for name, source in (("icl", Path(icl.__file__).resolve().parents[1]), ("icl_book", ROOT)):
        if source != tree:
            raise BadInput(
                f"{name} is imported from {source}, not from {tree}: the environment was made for another "
                "folder; remove .venv here, then: make .venv/.installed"
            )


def _is_tree(folder: Path) -> bool:
    return (folder / "book" / "icl_book" / "__main__.py").is_file() and (
        folder / "notebooks"
    ).is_dir()


def fingerprint(root: Path, patterns: Iterable[str]) -> str:
    """Return a digest of the names and contents of files below ``root`` that match one of these globs.

    Files that Python and pip generate are left out.
    """
    total = hashlib.sha256()
    generated = re.compile(r"__pycache__|\.egg-info/")
    for path in sorted({p for pattern in patterns for p in root.glob(pattern)}):
        if path.is_file() and not generated.search(path.as_posix()):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"\0{path.relative_to(root).as_posix()}\0{content}".encode())
    return total.hexdigest()


#: The parts of a dumped syntax tree that differ between versions of Python, and its layout.
_VARIES = re.compile(r"\w+=\[\]|ctx=Load\(\)|Constant\(value=''\)|[\s,]")


def bare(source: str) -> str:
    """Return the syntax tree of a file's code as text, without docstrings.

    Comments and layout do not change it, nor does the version of Python, from 3.11 on.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kept = []
            # A statement that is only a string, such as a docstring, does nothing.
            for statement in node.body:
                alone = statement.value if isinstance(statement, ast.Expr) else None
                if not (isinstance(alone, ast.Constant) and isinstance(alone.value, str)):
                    kept.append(statement)
            # A body that had only a docstring becomes that of an empty function, since it needs a statement.
            node.body = kept or [ast.Pass()]
    return _VARIES.sub("", ast.dump(tree))


#: The packages on whose versions numbers and figures depend.
PACKAGES = (
    *("numpy", "scipy", "torch", "numba", "pandas", "scikit-learn", "statsmodels", "python-flint"),
    *("matplotlib", "seaborn"),
)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers and figures depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def commit() -> dict[str, str | bool] | None:
    """Return the commit of this tree, ``id``, and whether files differ from it, ``dirty``.

    It is None where git cannot say.

    Files in ``results`` and ``benchmarks/results`` do not count, because runs write them: one run would
    mark the next as changed.
    """
    try:
        if Path(git(ROOT, "rev-parse", "--show-toplevel").strip()).resolve() != ROOT:
            # The package is installed inside another repository.
            return None
        changed = git(
            ROOT,
            "status",
            "--porcelain",
            # This overrides the user's settings.
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
    """Return machine, versions and commit, as every record of a measurement begins."""
    return {"machine": machine(), "versions": versions(), "commit": commit()}
