"""What there is to run, and the address of each run.

A run is a notebook with parameters, a root seed and a device. Its address is a digest of all that its numbers
depend on: a run whose file exists is done, an edit of what it depends on changes the address, so no stale
number survives and reverting an edit costs nothing. Time stamps count for nothing.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import itertools
import json
import os
import re
import reprlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from icl_book import provenance
from icl_book.parameters import BadInput, literals, parse_number, validate
from icl_book.provenance import ROOT, bare
from icl_book.runner.reach import parse, reached

#: Matches the id of a claim in a notebook.
ID = re.compile(r'"(P[12]\.[^"\s]+)"')


@dataclass(frozen=True)
class Run:
    """One notebook with one set of parameters."""

    #: The notebook is notebooks/<name>.py.
    name: str
    #: The preset is presets/<preset>.yml.
    preset: str
    #: Values that replace the notebook's own, from the preset and the caller.
    overrides: dict[str, Any]
    #: Whether the caller changed the preset's values or the random streams. Such a run never reaches the
    #: book, so its verdicts are reported but do not fail it.
    exploring: bool
    #: The root of the random streams, see `icl.streams`.
    root_seed: int
    #: The value of ICL_DEVICE with which the run computes.
    device: str
    #: The digest of all that the run depends on, see `address`.
    digest: str

    @property
    def path(self) -> Path:
        """Return the path of the executed notebook, which exists once the run has succeeded."""
        folder = ROOT / "_build" / "runs" / self.preset / ("sweep" if self.exploring else "")
        return folder / f"{self.name}.{self.digest}.ipynb"

    @property
    def failed(self) -> Path:
        """Return the path that papermill writes; a run that fails or is killed leaves its file."""
        return self.path.with_suffix(".failed.ipynb")

    @property
    def reason(self) -> Path:
        """Return the path of a line that says why the run failed."""
        return self.path.with_suffix(".failed.txt")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that the run depends on."""
        return {"ICL_SEED": str(self.root_seed), "ICL_DEVICE": self.device}

    @property
    def words(self) -> str:
        """Return the arguments of ``python -m icl_book execute``, on any machine, quoted for a shell."""
        return shlex.join([self.name, "--run", json.dumps(asdict(self))])

    def __str__(self) -> str:
        seed = {"ICL_SEED": self.root_seed} if self.root_seed else {}
        return ", ".join(f"{k}={v}" for k, v in (self.overrides | seed).items())


def root_seed() -> int:
    """Return the root of all random streams that ``ICL_SEED`` asks for, 0 if it is not set.

    Raises:
        BadInput: If it is not a root.
    """
    try:
        # The import reads ``ICL_SEED``, too, so that it can raise.
        from icl import streams

        return streams.root_seed()
    except ValueError as error:
        raise BadInput(str(error)) from None


def device() -> str:
    """Return where runs compute: what ``ICL_DEVICE`` says, else CUDA where PyTorch sees it, else the CPU.

    Raises:
        BadInput: If ``ICL_DEVICE`` is not the name of a device. `icl_book.runner.schedule.ready` checks
            whether the device exists.
    """
    if wanted := os.environ.get("ICL_DEVICE"):
        if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", wanted, re.ASCII):
            raise BadInput(
                f"ICL_DEVICE={wanted!r}: must be cpu, cuda, or cuda: and a number, e.g. cuda:1"
            )
        # The device need not exist here: a node of a cluster may have it.
        return wanted
    # A build for CPUs is known without importing PyTorch, which takes long.
    return "cpu" if version("torch").endswith("+cpu") else str(provenance.device())


def for_book() -> None:
    """Raise BadInput for an ``ICL_SEED`` whose results must not enter the book."""
    if seed := root_seed():
        raise BadInput(
            f"ICL_SEED={seed}: the book has the root seed 0; for other streams: make replicate"
        )


def sources(name: str) -> list[Any]:
    """Return what a notebook's numbers depend on beside its parameters, random streams and device.

    That is the code of its cells, the modules that it reaches (`icl_book.runner.reach`), the lock file,
    Python, and the installed versions, which may differ from the lock. Comments and docstrings of modules
    change no number. Texts, verdicts and the look of pages are made when pages are staged.
    """
    cells = code(name)
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in reached(ROOT, "\n".join(cells))
    }
    modules = {
        where: _bare(text) if where.endswith(".py") else text for where, text in files.items()
    }
    locked = provenance.fingerprint(ROOT, ["requirements.lock"])
    return [cells, modules, locked, sys.version, provenance.versions()]


def code(name: str) -> list[str]:
    """Return the code cells of a notebook; their tags, which only hide them, are left out.

    Raises:
        BadInput: If the notebook does not exist, or if a cell is not Python.
    """
    found = []
    # Before the first mark stand the settings of jupytext.
    cells = re.split(r"^# %%", source(name), flags=re.MULTILINE)[1:]
    for place, cell in enumerate(cells, 1):
        head, _, body = cell.partition("\n")
        if "[markdown]" not in head:
            found.append(body.strip())
            # The tree is not used: this raises for a cell that is not Python.
            parse(found[-1], f"notebooks/{name}.py, cell {place}")
    return found


#: Chapters share most modules, so that each is parsed once.
_bare = cache(bare)


def claims(text: str) -> dict[str, Any]:
    """Return the entries of ``book/claims/*.yml`` that a notebook names, by id, as they are written there."""
    entries: dict[str, Any] = {}
    for path in sorted((ROOT / "book" / "claims").glob("*.yml")):
        entries |= _read_statements(path.read_text(encoding="utf-8"))
    return {name: entries[name] for name in ID.findall(text) if name in entries}


@cache
def _read_statements(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, yaml.CBaseLoader) or {})


def notebooks() -> list[str]:
    """Return the names of all notebooks."""
    return sorted(p.stem for p in (ROOT / "notebooks").glob("*.py"))


def source(name: str) -> str:
    """Return a notebook's source; BadInput if it does not exist."""
    if name not in notebooks():
        raise BadInput(
            f"notebook {name!r}: does not exist; there are {', '.join(notebooks()) or 'none'}"
        )
    return (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")


def check_collect(name: str, wanted: Sequence[str]) -> None:
    """Raise BadInput unless each wanted name is a claim or a variable of a notebook.

    Which variables hold tables is known only once the notebook has run.
    """
    text = source(name)
    # `claims` finds the ids of the two papers, and the calls of `judge` below those of a further file.
    known = list(claims(text))
    tables = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            tables.add(node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "judge" and node.args:
            if isinstance(node.args[0], ast.Constant):
                known.append(str(node.args[0].value))
    for asked in wanted:
        if asked not in known and asked not in tables:
            close = difflib.get_close_matches(asked, [*known, *sorted(tables)])
            hint = (
                f"did you mean {' or '.join(close)}?"
                if close
                else f"its claims are {', '.join(known)}"
            )
            raise BadInput(
                f"collect={asked!r}: {name} has no claim and no table of that name; {hint}"
            )


def defaults(name: str) -> dict[str, Any]:
    """Return the values of the parameters cell, read without running it; BadInput if that is impossible."""
    cells = re.split(r"^(?=# %%)", source(name), flags=re.MULTILINE)
    cell = next((c for c in cells if re.match(r'# %%.*tags=\[[^]]*"parameters"', c)), None)
    if cell is None:
        raise BadInput(f'notebook {name}: has no cell tagged "parameters"')
    try:
        return literals(cell)
    except (ValueError, SyntaxError):
        raise BadInput(
            f"notebook {name}: its parameters cell must be lines: name = literal"
        ) from None


#: Which verdicts a preset allows: only those expected, open ones as well, or any. A preset that says nothing
#: allows any.
VERDICTS = ("as expected", "as expected or open", "any")


def verdicts(preset: str) -> str:
    """Return which of `VERDICTS` the runs of a preset may have; BadInput if its file says anything else."""
    found: str = _read_file(preset).get("verdicts", VERDICTS[-1])
    if found not in VERDICTS:
        raise BadInput(
            f"presets/{preset}.yml: verdicts={found!r}: must be one of {', '.join(VERDICTS)}"
        )
    return found


def _read_preset(preset: str) -> dict[str, Any]:
    """Return a preset's entries by notebook; `verdicts` checks its key of verdicts first."""
    verdicts(preset)
    return {k: v for k, v in _read_file(preset).items() if k != "verdicts"}


def _read_file(preset: str) -> dict[str, Any]:
    """Return the entries of the file of a preset; a file without keys has none."""
    path = ROOT / "presets" / f"{preset}.yml"
    known = sorted(p.stem for p in path.parent.glob("*.yml"))
    if preset not in known:
        raise BadInput(f"preset {preset!r}: does not exist; there are {', '.join(known)}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise BadInput(f"presets/{preset}.yml: not YAML: {' '.join(str(error).split())}") from None
    return values if isinstance(values, dict) else {}


def read_grid(grid: str) -> dict[str, list[Any]]:
    """Return by parameter the values that are tried in all combinations, each once; none for an empty grid.

    Args:
        grid: Words, ``"noise_std=0.5,1 seed=0,1"``, where a list is one value of a list parameter,
            ``"dims=[2,3],[5]"``; or the path, from the root of the repository, of a YAML file with the same,
            ``noise_std: [0.5, 1]``.

    Raises:
        BadInput: If the grid has another form, its words name a parameter twice, or there is no such file.
    """
    # A word may have blanks after its commas.
    words = [word.partition("=") for word in re.sub(r",\s+", ",", grid).split()]
    text = "".join(f"{key}: [{values}]\n" for key, _, values in words)
    try:
        if grid.endswith((".yml", ".yaml")):
            # The grid is one path, even if it has spaces.
            words = []
            text = (ROOT / grid).read_text(encoding="utf-8")
        # The base loader returns text, and lists and mappings of text.
        found = yaml.load(text, yaml.BaseLoader) if text else {}
        axes: dict[str, Any] = {key: parse_number(values) for key, values in found.items()}
        # A name stands twice among the words. A BadInput is a ValueError, and gets its message below.
        if len(axes) < len(words):
            raise BadInput
        if not all(
            isinstance(values, list) and values and "" not in values for values in axes.values()
        ):
            raise BadInput
    except FileNotFoundError:
        raise BadInput(f"grid={reprlib.repr(grid)}: there is no such file") from None
    except (AttributeError, OSError, RecursionError, ValueError, yaml.YAMLError):
        raise BadInput(
            f"values {reprlib.repr(grid)}: must be words name=value,value, each name once, or a YAML file "
            "with lines name: [value, value]"
        ) from None
    return {
        key: [v for i, v in enumerate(values) if v not in values[:i]]
        for key, values in axes.items()
    }


def digest(content: Any) -> str:
    """Return the digest of plain data, whatever the order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def address(
    name: str, overrides: dict[str, Any], seed: int, device: str, code: Sequence[Any] = ()
) -> str:
    """Return the digest of all that a run depends on; ``code`` is what `sources` returns, if it is known."""
    return digest([overrides, seed, device, code or sources(name)])


def plan(
    preset: str, name: str | None = None, grid: str = "", seed: int | None = None
) -> list[Run]:
    """Return the runs of a book, or of a sweep of one notebook; all are checked, and none is started.

    Without a name these are all notebooks. The root of the random streams is by default `root_seed`. Runs
    start in this order: that of the preset's entries, and of the grid, see `read_grid`. What equals the
    notebook's own values is not an override.

    Raises:
        BadInput: If notebook, preset, grid, device, root seed, or a parameter's name, type or value is wrong.
    """
    entries = _read_preset(preset)
    axes = read_grid(grid)
    chosen_device = device()
    seed = root_seed() if seed is None else seed
    # Notebooks without an entry come last, and are refused below.
    names = [name] if name else sorted(notebooks(), key=[*entries, *notebooks()].index)
    runs = []
    for notebook in names:
        own, given = defaults(notebook), entries.get(notebook)
        if not isinstance(given, dict):
            raise BadInput(
                f"presets/{preset}.yml: needs an entry '{notebook}:' with parameters, or '{notebook}: {{}}'"
            )
        usual = own | {k: parse_number(v) for k, v in given.items()}
        depends_on = sources(notebook)
        for point in itertools.product(*axes.values()):
            wanted = validate(usual | dict(zip(axes, point, strict=True)), own)
            overrides = {k: v for k, v in wanted.items() if v != own[k]}
            exploring = wanted != usual or seed > 0
            run_digest = address(notebook, overrides, seed, chosen_device, depends_on)
            runs.append(
                Run(notebook, preset, overrides, exploring, seed, chosen_device, run_digest)
            )
    return runs
