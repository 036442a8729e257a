"""What there is to run, and the address of each run.

A run is a notebook with parameters. Its address is a digest of all that its numbers
depend on: a run whose file exists is done, an edit anywhere changes the address, so no
stale number survives and reverting an edit costs nothing. Nothing slow is imported here.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from icl_book.parameters import BadInput, number, validate
from icl_book.provenance import ROOT


@dataclass(frozen=True)
class Run:
    """One notebook with one set of parameters.

    Attributes:
        name: The notebook, ``notebooks/<name>.py``.
        preset: Name of the preset, ``presets/<preset>.yml``.
        overrides: Values that replace the notebook's own, from the preset and the caller.
        exploring: Whether the caller changed the preset's values. Such a run never reaches
            the book, so its verdicts are reported but do not fail it.
    """

    name: str
    preset: str
    overrides: dict
    exploring: bool = False

    @property
    def digest(self) -> str:
        """Digest of notebook, parameters, package, lock file, device setting and data read."""
        source = _source(self.name)
        files = [
            p
            for folder in ("icl", "book/icl_book")
            for p in (ROOT / folder).rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        ]
        files += [ROOT / "requirements.lock", *(ROOT / p for p in _data_read(self.name, source))]
        total = hashlib.sha256(
            json.dumps(
                [source, self.overrides, os.environ.get("ICL_DEVICE", ""), sys.version_info[:3]],
                sort_keys=True,
            ).encode()
        )
        for path in sorted(files):
            content = path.read_bytes() if path.is_file() else b"missing"
            total.update(f"\0{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(content).digest())
        return total.hexdigest()[:16]

    @property
    def path(self) -> Path:
        """Where the executed notebook is once the run has succeeded."""
        folder = ROOT / "_build" / "runs" / self.preset / ("sweep" if self.exploring else "")
        return folder / f"{self.name}.{self.digest}.ipynb"


def notebooks() -> list[str]:
    """Names of all notebooks."""
    return sorted(p.stem for p in (ROOT / "notebooks").glob("*.py"))


def _source(name: str) -> str:
    if name not in notebooks():
        raise BadInput(f"notebook {name!r}: does not exist; there are {', '.join(notebooks()) or 'none'}")
    return (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")


def _data_read(name: str, source: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise BadInput(f"notebooks/{name}.py, line {error.lineno}: {error.msg}") from None
    calls = [c for c in ast.walk(tree) if isinstance(c, ast.Call) and ast.unparse(c.func) == "notebook.data"]
    if not all(len(c.args) == 1 and isinstance(c.args[0], ast.Constant) for c in calls):
        raise BadInput(f"notebook {name}: notebook.data needs one literal path, or changes go unseen")
    return [c.args[0].value for c in calls]


def defaults(name: str) -> dict:
    """The parameters cell's values, read without running anything."""
    cells = re.split(r"^(?=# %%)", _source(name), flags=re.MULTILINE)
    cell = next((c for c in cells if re.match(r'# %%.*tags=\[[^]]*"parameters"', c)), None)
    if cell is None:
        raise BadInput(f'notebook {name}: has no cell tagged "parameters"')
    try:
        return {line.targets[0].id: ast.literal_eval(line.value) for line in ast.parse(cell).body}
    except (AttributeError, ValueError, SyntaxError):
        raise BadInput(f"notebook {name}: its parameters cell must be lines: name = literal") from None


def _preset(preset: str, name: str) -> dict:
    """A preset's values for one notebook."""
    path = ROOT / "presets" / f"{preset}.yml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yml")))
        raise BadInput(f"preset {preset!r}: does not exist; there are {known}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise BadInput(f"presets/{preset}.yml: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict) or not isinstance(values.get(name), dict):
        raise BadInput(f"presets/{preset}.yml: needs an entry '{name}:' with parameters, or '{name}: {{}}'")
    return {k: number(v) for k, v in values[name].items()}


def configure(name: str, preset: str, changes: Mapping[str, object]) -> Run:
    """A run with a preset's values and the caller's changes to them.

    Args:
        name: The notebook.
        preset: Name of the preset.
        changes: The caller's values.

    Returns:
        The run; what equals the notebook's own values is no override.

    Raises:
        BadInput: If notebook, preset, or a parameter's name, type or value is wrong.
    """
    own = defaults(name)
    values = _preset(preset, name)
    validate(own, own)
    validate(values, own)
    validate(changes, own)
    wanted = {**own, **values, **changes}
    overrides = {k: v for k, v in wanted.items() if v != own[k]}
    return Run(name, preset, overrides, exploring=wanted != {**own, **values})


def plan(preset: str, name: str | None = None, grid: str = "") -> list[Run]:
    """The runs of a book, or of a sweep of one notebook; all checked, nothing started.

    Args:
        preset: Name of the preset.
        name: One notebook; without it all of them.
        grid: Values to try in all combinations, e.g. ``"noise_std=0.5,1 seed=0,1"``; a list
            is one value of a list parameter: ``"dims=[2,3],[5]"``.

    Returns:
        The runs, in the order of names and of the grid.

    Raises:
        BadInput: If notebook, preset, or a parameter's name, type or value is wrong.
    """
    axes = []
    for word in grid.split():
        key, _, text = word.partition("=")
        try:
            axes.append([(key, number(v)) for v in yaml.safe_load(f"[{text}]")])
        except yaml.YAMLError:
            axes.append([])
        if not axes[-1]:
            raise BadInput(f"grid {word!r}: must look like name=value,value")
    found = []
    for notebook in [name] if name else notebooks():
        for point in itertools.product(*axes):
            found.append(configure(notebook, preset, dict(point)))
    return found
