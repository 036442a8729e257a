"""What there is to run, and the address of each run.

A run is a notebook with parameters. Its address is a digest of all that its numbers
depend on (`closure` says which code): a run whose file exists is done, an edit of what it
depends on changes the address, so no stale number survives and reverting an edit costs
nothing. Nothing slow is imported here.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import re
import reprlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import yaml

from icl_book.parameters import BadInput, number, validate
from icl_book.provenance import ROOT
from icl_book.runner.closure import contents, names_claim, reach

#: The preset of the confirmatory run: other dimensions and context lengths, more seeds.
CONFIRMATORY = "confirmatory"
#: The packages that numbers depend on, beside the lock file: what is installed need not follow it.
COMPUTING = ("numpy", "scipy", "torch", "numba")


@dataclass(frozen=True)
class Run:
    """One notebook with one set of parameters.

    Attributes:
        name: The notebook, ``notebooks/<name>.py``.
        preset: Name of the preset, ``presets/<preset>.yml``.
        overrides: Values that replace the notebook's own, from the preset and the caller.
        exploring: Whether the caller changed the preset's values or the random streams, or the
            preset is that of the confirmatory run. Such a run never reaches the book, so its verdicts are
            reported but do not fail it.
    """

    name: str
    preset: str
    overrides: dict
    exploring: bool = False

    @property
    def digest(self) -> str:
        """Digest of notebook, parameters, code it can reach, installed versions, device setting and data."""
        text = source(self.name)
        files = {ROOT / "requirements.lock"} | reach(text, f"notebooks/{self.name}.py", ROOT)
        total = hashlib.sha256(
            json.dumps(
                [text, self.overrides, os.environ.get("ICL_DEVICE", ""), installed(), root_seed()],
                sort_keys=True,
            ).encode()
        )
        for path in sorted(files):
            content = path.read_bytes() if path.is_file() else b"missing"
            total.update(f"\0{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(content).digest())
        return total.hexdigest()[:16]

    def unseen(self, claims: Iterable[str]) -> str | None:
        """Return the first of these claims that the notebook neither makes nor names, if any."""
        found = contents(source(self.name), f"notebooks/{self.name}.py")
        return next((c for c in claims if not (found.own_claim or names_claim(found, c))), None)

    @property
    def judges(self) -> bool:
        """Whether the notebook names a claim."""
        found = contents(source(self.name), f"notebooks/{self.name}.py")
        return bool(found.ids or found.beginnings or found.own_claim)

    @property
    def path(self) -> Path:
        """Where the executed notebook is once the run has succeeded."""
        folder = ROOT / "_build" / "runs" / self.preset / ("sweep" if self.exploring else "")
        return folder / f"{self.name}.{self.digest}.ipynb"


def root_seed() -> int:
    """Return the root of all random streams; see `icl.streams`.

    Raises:
        BadInput: If ``ICL_SEED`` is set and no such root.
    """
    try:
        from icl import streams  # here: it imports NumPy

        return streams.root_seed()
    except ValueError as error:
        raise BadInput(str(error)) from None


def for_book(preset: str) -> None:
    """Refuse to make a book of what may not reach it.

    Raises:
        BadInput: If the preset is that of the confirmatory run, or ``ICL_SEED`` moves the random streams.
    """
    if preset == CONFIRMATORY:
        raise BadInput(f"preset {preset!r}: makes no book; make confirm runs it")
    if seed := root_seed():
        raise BadInput(f"ICL_SEED={seed}: the book has the root seed 0; for other streams: make replicate")


@cache
def installed() -> list[str]:
    """Return the versions of Python and of the packages that numbers depend on, as they are installed."""
    return [sys.version, *map(version, COMPUTING)]


def notebooks() -> list[str]:
    """Names of all notebooks."""
    return sorted(p.stem for p in (ROOT / "notebooks").glob("*.py"))


def threads(jobs: int) -> int:
    """Return how many threads a run computes with while ``jobs`` of them share the cores."""
    return max(1, (os.cpu_count() or 1) // jobs)


def source(name: str) -> str:
    """Return a notebook's source; BadInput if there is no such notebook."""
    if name not in notebooks():
        raise BadInput(f"notebook {name!r}: does not exist; there are {', '.join(notebooks()) or 'none'}")
    return (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")


def defaults(name: str) -> dict:
    """The parameters cell's values, read without running anything."""
    cells = re.split(r"^(?=# %%)", source(name), flags=re.MULTILINE)
    cell = next((c for c in cells if re.match(r'# %%.*tags=\[[^]]*"parameters"', c)), None)
    if cell is None:
        raise BadInput(f'notebook {name}: has no cell tagged "parameters"')
    try:
        return {line.targets[0].id: ast.literal_eval(line.value) for line in ast.parse(cell).body}
    except (AttributeError, ValueError, SyntaxError):
        raise BadInput(f"notebook {name}: its parameters cell must be lines: name = literal") from None


@cache
def _yaml(text: str) -> object:
    return yaml.safe_load(text)


def _entries(preset: str) -> dict:
    """A preset's entries by notebook; no entry at all is an empty preset."""
    path = ROOT / "presets" / f"{preset}.yml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yml")))
        raise BadInput(f"preset {preset!r}: does not exist; there are {known}")
    try:
        values = _yaml(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise BadInput(f"presets/{preset}.yml: not YAML: {' '.join(str(error).split())}") from None
    return values if isinstance(values, dict) else {}


def _preset(preset: str, name: str) -> dict:
    """A preset's values for one notebook."""
    values = _entries(preset).get(name)
    if not isinstance(values, dict):
        raise BadInput(f"presets/{preset}.yml: needs an entry '{name}:' with parameters, or '{name}: {{}}'")
    return {k: number(v) for k, v in values.items()}


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
    own, values, changes = (validate(part, own) for part in (own, values, changes))
    wanted = {**own, **values, **changes}
    overrides = {k: v for k, v in wanted.items() if v != own[k]}
    exploring = wanted != {**own, **values} or preset == CONFIRMATORY or root_seed() > 0
    return Run(name, preset, overrides, exploring)


def literal(text: str) -> object:
    """Read a number, a list or a word as YAML writes them; see `icl_book.parameters.number`.

    Raises:
        BadInput: If it is not YAML, or nested without end.
    """
    try:
        if text.count("[") > 100:
            raise RecursionError
        return number(yaml.load(text, yaml.BaseLoader))  # everything is text or a list of it
    except (yaml.YAMLError, RecursionError):
        raise BadInput(f"{reprlib.repr(text)}: must be a number or a list of numbers") from None


def read_grid(grid: str) -> dict[str, list]:
    """Read the values that a sweep tries in all combinations.

    Args:
        grid: Words, ``"noise_std=0.5,1 seed=0,1"``, where a list is one value of a list parameter,
            ``"dims=[2,3],[5]"``; or the path of a YAML file with the same, ``noise_std: [0.5, 1]``.

    Returns:
        The values by parameter, each once.

    Raises:
        BadInput: If it reads otherwise or names a parameter twice.
    """
    if grid.endswith((".yml", ".yaml")):
        path = ROOT / grid
        if not path.is_file():
            raise BadInput(f"grid {grid!r}: no such file in {ROOT}")
        try:
            axes = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
        except (yaml.YAMLError, RecursionError, ValueError):
            axes = None
        if not (isinstance(axes, dict) and axes and all(isinstance(v, list) and v for v in axes.values())):
            raise BadInput(f"grid {grid!r}: must be YAML with lines name: [value, value]")
        return {key: _once(number(values)) for key, values in axes.items()}
    axes = {}
    for word in re.sub(r",\s+", ",", grid).split():
        key, _, text = word.partition("=")
        try:
            values = literal(f"[{text}]")
        except BadInput:
            values = []
        if not (isinstance(values, list) and values and all(value != "" for value in values)):
            raise BadInput(f"grid {word!r}: must look like name=value,value")
        if key in axes:
            raise BadInput(f"grid {word!r}: names {key} a second time")
        axes[key] = _once(values)
    return axes


def _once(values: list) -> list:
    return [value for i, value in enumerate(values) if value not in values[:i]]


def plan(preset: str, name: str | None = None, grid: str = "") -> list[Run]:
    """The runs of a book, or of a sweep of one notebook; all checked, nothing started.

    Args:
        preset: Name of the preset.
        name: One notebook; without it all of them.
        grid: Values to try in all combinations, see `read_grid`.

    Returns:
        The runs in the order in which they start: that of the preset's entries, and of the grid.

    Raises:
        BadInput: If notebook, preset, or a parameter's name, type or value is wrong.
    """
    axes = [[(key, value) for value in values] for key, values in read_grid(grid).items()]
    found, entries = [], list(_entries(preset))
    for notebook in [name] if name else sorted(notebooks(), key=(entries + notebooks()).index):
        for point in itertools.product(*axes):
            found.append(configure(notebook, preset, dict(point)))
    return found
