"""List the runs of the book or of a sweep, and give each run its address.

A run is a notebook with parameters, a root seed and a device. Its address is a digest of everything on which
its numbers depend. The file of a finished run has the address in its name, and a run whose file exists is
done. An edit of anything in the digest changes the address, so that the notebook runs again.
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
from icl_book.provenance import ROOT, dump_code
from icl_book.runner.reach import find_reached, parse

ID = re.compile(r'"(P[12]\.[^"\s]+)"')


@dataclass(frozen=True)
class Run:
    """One notebook with one set of parameters."""

    name: str
    #: The name of the preset.
    preset: str
    #: The parameters whose values, from the preset or the caller, are not the notebook's own.
    overrides: dict[str, Any]
    #: Whether the caller changed the preset's values or the root seed. Such a run never enters the book, and
    #: may have any verdict.
    exploring: bool
    #: The seed of all random streams.
    root_seed: int
    #: The value of ICL_DEVICE.
    device: str
    digest: str

    @property
    def path(self) -> Path:
        """Return the path of the executed notebook, which exists once the run has succeeded."""
        folder = ROOT / "_build" / "runs" / self.preset / ("sweep" if self.exploring else "")
        return folder / f"{self.name}.{self.digest}.ipynb"

    @property
    def failed(self) -> Path:
        """Return the path of the unfinished notebook, which stays if the run fails or is killed."""
        return self.path.with_suffix(".failed.ipynb")

    @property
    def reason(self) -> Path:
        """Return the path of a text file with one line, which says why the run failed."""
        return self.path.with_suffix(".failed.txt")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that the run depends on."""
        return {"ICL_SEED": str(self.root_seed), "ICL_DEVICE": self.device}

    @property
    def words(self) -> str:
        """Return the arguments of ``python -m icl_book execute`` for this run, quoted for a shell."""
        return shlex.join([self.name, "--run", json.dumps(asdict(self))])

    def __str__(self) -> str:
        seed = {"ICL_SEED": self.root_seed} if self.root_seed else {}
        return ", ".join(f"{k}={v}" for k, v in (self.overrides | seed).items())


def root_seed() -> int:
    """Return the value of ``ICL_SEED``, by default 0.

    Raises:
        BadInput: If the value is not an integer from 0 to 2**31 - 1.
    """
    try:
        # The import reads ``ICL_SEED``, and raises if the value is wrong.
        from icl import streams

        return streams.root_seed()
    except ValueError as error:
        raise BadInput(str(error)) from None


def device() -> str:
    """Return the name of the device on which runs compute: ``ICL_DEVICE``, or ``cuda`` if there is a GPU.

    Raises:
        BadInput: If ``ICL_DEVICE`` is not the name of a device.
    """
    if wanted := os.environ.get("ICL_DEVICE"):
        if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", wanted, re.ASCII):
            raise BadInput(
                f"ICL_DEVICE={wanted!r}: must be cpu, cuda, or cuda: and a number, e.g. cuda:1"
            )
        # The device need not exist here, because the runs may go to a cluster.
        return wanted
    # The import of a PyTorch for CPUs only is not needed, and takes long.
    return "cpu" if version("torch").endswith("+cpu") else str(provenance.device())


def refuse_other_seeds() -> None:
    """Raise BadInput for an ``ICL_SEED`` whose results must not enter the book."""
    if seed := root_seed():
        raise BadInput(
            f"ICL_SEED={seed}: the book has the root seed 0; for other streams: make replicate"
        )


def list_dependencies(name: str) -> list[Any]:
    """Return what a notebook's numbers depend on, except for its parameters, root seed and device.

    These are the notebook's code; the modules and data files that this code reaches (`find_reached`), without
    comments and docstrings; the lock file; and the installed versions, which may differ from the lock file.
    """
    cells = read_code(name)
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in find_reached(ROOT, "\n".join(cells))
    }
    modules = {
        where: _dump_code(text) if where.endswith(".py") else text for where, text in files.items()
    }
    locked = provenance.fingerprint(ROOT, ["requirements.lock"])
    return [cells, modules, locked, sys.version, provenance.versions()]


def read_code(name: str) -> list[str]:
    """Return the text of each code cell of a notebook.

    Raises:
        BadInput: If the notebook does not exist, or if a cell is not Python.
    """
    found = []
    # The settings of jupytext stand before the first cell.
    cells = re.split(r"^# %%", read_source(name), flags=re.MULTILINE)[1:]
    for place, cell in enumerate(cells, 1):
        head, _, body = cell.partition("\n")
        if "[markdown]" not in head:
            found.append(body.strip())
            # The call raises BadInput if the cell is not Python.
            parse(found[-1], f"notebooks/{name}.py, cell {place}")
    return found


#: Chapters share most modules.
_dump_code = cache(dump_code)


def find_entries(text: str) -> dict[str, Any]:
    """Return the entries of ``book/claims/*.yml`` whose ids stand in a notebook's ``text``, by id."""
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


def read_source(name: str) -> str:
    """Return the text of a notebook's ``.py``; BadInput if the notebook does not exist."""
    if name not in notebooks():
        raise BadInput(
            f"notebook {name!r}: does not exist; there are {', '.join(notebooks()) or 'none'}"
        )
    return (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")


def check_collect(name: str, wanted: Sequence[str]) -> None:
    """Raise BadInput unless each wanted name is a claim or a variable of the notebook ``name``.

    Only a run shows which variables hold tables.
    """
    text = read_source(name)
    # `find_entries` finds the ids that begin with P1 or P2. Other ids stand in calls of `judge`.
    known = list(find_entries(text))
    variables = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            variables.add(node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "judge" and node.args:
            if isinstance(node.args[0], ast.Constant):
                known.append(str(node.args[0].value))
    for asked in wanted:
        if asked not in known and asked not in variables:
            close = difflib.get_close_matches(asked, [*known, *sorted(variables)])
            if close:
                hint = f"did you mean {' or '.join(close)}?"
            else:
                hint = f"its claims are {', '.join(known)}"
            raise BadInput(
                f"collect={asked!r}: {name} has no claim and no table of that name; {hint}"
            )


def read_defaults(name: str) -> dict[str, Any]:
    """Return the parameters of a notebook with its own values, from the cell with the tag ``parameters``.

    Raises:
        BadInput: If the notebook or this cell does not exist, or a line is not ``name = literal``.
    """
    cells = re.split(r"^(?=# %%)", read_source(name), flags=re.MULTILINE)
    cell = next((c for c in cells if re.match(r'# %%.*tags=\[[^]]*"parameters"', c)), None)
    if cell is None:
        raise BadInput(f'notebook {name}: has no cell tagged "parameters"')
    try:
        return literals(cell)
    except (ValueError, SyntaxError):
        raise BadInput(
            f"notebook {name}: its parameters cell must be lines: name = literal"
        ) from None


#: Which verdicts the runs of a preset may have: the values of its key ``verdicts``, by default the last.
VERDICTS = ("as expected", "as expected or open", "any")


def read_allowed_verdicts(preset: str) -> str:
    """Return which of `VERDICTS` a preset allows; BadInput if its file has another value."""
    found: str = _read_file(preset).get("verdicts", VERDICTS[-1])
    if found not in VERDICTS:
        raise BadInput(
            f"presets/{preset}.yml: verdicts={found!r}: must be one of {', '.join(VERDICTS)}"
        )
    return found


def _read_preset(preset: str) -> dict[str, Any]:
    """Return for each notebook of a preset the values of parameters that the preset sets."""
    # A wrong value of the key ``verdicts`` must raise here, too.
    read_allowed_verdicts(preset)
    return {k: v for k, v in _read_file(preset).items() if k != "verdicts"}


def _read_file(preset: str) -> dict[str, Any]:
    """Return the content of ``presets/<preset>.yml``; BadInput if it does not exist or is not YAML."""
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
    """Return for each parameter of a sweep the list of its values. The sweep tries all combinations.

    Args:
        grid: Either words such as ``"noise_std=0.5,1 seed=0,1"``, or the path of a YAML file with lines such
            as ``noise_std: [0.5, 1]``, from the root of the repository. If a parameter is itself a list, each
            of its values is written in brackets: ``"dims=[2,3],[5]"``.

    Raises:
        BadInput: If the grid has another form, if a parameter stands twice among the words, or if the file
            does not exist.
    """
    # Each word becomes a line of YAML.
    words = [word.partition("=") for word in re.sub(r",\s+", ",", grid).split()]
    text = "".join(f"{key}: [{values}]\n" for key, _, values in words)
    try:
        if grid.endswith((".yml", ".yaml")):
            # The path may have spaces.
            words = []
            text = (ROOT / grid).read_text(encoding="utf-8")
        # The base loader leaves numbers as texts, which `parse_number` reads.
        found = yaml.load(text, yaml.BaseLoader) if text else {}
        axes: dict[str, Any] = {key: parse_number(values) for key, values in found.items()}
        # If a name stands twice, there are fewer names than words. The last `except` catches BadInput, a
        # ValueError.
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
    # A value may be a list, which a set cannot hold.
    return {
        key: [v for i, v in enumerate(values) if v not in values[:i]]
        for key, values in axes.items()
    }


def digest(content: Any) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of plain data, whatever the order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[
        :16
    ]


def address(
    name: str, overrides: dict[str, Any], seed: int, device: str, code: Sequence[Any] = ()
) -> str:
    """Return the digest of everything that a run depends on.

    ``code`` is what `list_dependencies` returns for the notebook, and is computed if it is not given.
    """
    return digest([overrides, seed, device, code or list_dependencies(name)])


def plan(
    preset: str, name: str | None = None, grid: str = "", seed: int | None = None
) -> list[Run]:
    """Return the runs of a book, or of a sweep of one notebook, in the order in which they start.

    The notebooks have the order of the entries of ``presets/<preset>.yml``. Without ``name`` all of them run.
    `read_grid` reads ``grid``, whose values are tried in all combinations. Without ``seed`` the root seed is
    that of `root_seed`.

    Raises:
        BadInput: If notebook, preset, grid, device, root seed, or a parameter's name, type or value is wrong.
    """
    entries = _read_preset(preset)
    axes = read_grid(grid)
    chosen_device = device()
    seed = root_seed() if seed is None else seed
    # Notebooks without an entry come last, and raise BadInput below.
    names = [name] if name else sorted(notebooks(), key=[*entries, *notebooks()].index)
    runs = []
    for notebook in names:
        own = read_defaults(notebook)
        given = entries.get(notebook)
        if not isinstance(given, dict):
            raise BadInput(
                f"presets/{preset}.yml: needs an entry '{notebook}:' with parameters, or '{notebook}: {{}}'"
            )
        of_preset = own | {k: parse_number(v) for k, v in given.items()}
        depends_on = list_dependencies(notebook)
        for point in itertools.product(*axes.values()):
            wanted = validate(of_preset | dict(zip(axes, point, strict=True)), own)
            # The notebook's own value does not change the address.
            overrides = {k: v for k, v in wanted.items() if v != own[k]}
            exploring = wanted != of_preset or seed > 0
            run_digest = address(notebook, overrides, seed, chosen_device, depends_on)
            runs.append(
                Run(notebook, preset, overrides, exploring, seed, chosen_device, run_digest)
            )
    return runs
