"""What a notebook can reach: the files that its numbers may depend on.

Imports of both packages are followed by reading source; nothing is imported. Every import statement
counts, wherever it stands: inside a function, under ``if TYPE_CHECKING`` (a package that loads lazily
names its contents there), and in a string that is code, which a notebook may hand to a fresh process.

Claims are reached by id: each file of claims that has an id which the notebook names.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from icl_book.parameters import BadInput

FOLDERS = {"icl": ".", "icl_book": "book"}  # where each package lies in the repository
_ID, _ID_START = re.compile(r"P\d(\.[\w-]+)+"), re.compile(r"P\d\.")
_ENTRY = re.compile(r"^(P\d\.[\w.-]+):", re.MULTILINE)


class Contents(NamedTuple):
    """What a source file names: modules, ids of claims, beginnings of ids (f-strings), data files."""

    modules: frozenset[str]
    ids: frozenset[str]
    beginnings: frozenset[str]
    data: frozenset[str]
    own_claim: bool


@cache
def contents(text: str, where: str, package: str = "") -> Contents:
    """Read what a source file names.

    Args:
        text: The source.
        where: The file, for the error message.
        package: The package that relative imports start from.

    Raises:
        BadInput: If the source is not Python, or ``notebook.data`` is called with anything but a literal.
    """
    try:
        nodes = list(_nodes(ast.parse(text)))
    except SyntaxError as error:
        raise BadInput(f"{where}, line {error.lineno}: {error.msg}") from None
    modules, ids, beginnings, data, pieces, own_claim = set(), set(), set(), set(), set(), False
    for node in nodes:
        match node:
            case ast.Import():
                modules |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                origin = resolve_name("." * node.level + (node.module or ""), package)
                modules |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
            case ast.JoinedStr(values=[ast.Constant(value=start), *_]):
                pieces |= {id(value) for value in node.values}
                if _ID_START.match(start):
                    beginnings.add(start)
            case ast.Constant(value=str(value)):
                if id(node) not in pieces and _ID.fullmatch(value):
                    ids.add(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="notebook"), attr="data"), args=arguments):
                match arguments:
                    case [ast.Constant(value=str(path))]:
                        data.add(path)
                    case _:
                        raise BadInput(f"{where}: notebook.data needs one literal path, or changes go unseen")
            case ast.Name(id="Claim") | ast.Attribute(attr="Claim"):
                own_claim = True
    parents = {p for m in modules for p in accumulate(m.split("."), "{}.{}".format)}
    reached = frozenset(p for p in parents if p.partition(".")[0] in FOLDERS)
    return Contents(reached, frozenset(ids), frozenset(beginnings), frozenset(data), own_claim)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):  # parents before children
        yield node
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            with suppress(SyntaxError, ValueError):
                yield from _nodes(ast.parse(textwrap.dedent(node.value)))


def names_claim(found: Contents, claim: str) -> bool:
    """Whether a source file names this id, in full or by an f-string that begins like it."""
    return claim in found.ids or any(claim.startswith(b) for b in found.beginnings)


def _file(module: str, root: Path) -> Path | None:
    base = root / FOLDERS[module.partition(".")[0]] / module.replace(".", "/")
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None)


def _module(module: str, path: Path, root: Path) -> Contents:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return contents(path.read_text(encoding="utf-8"), str(path.relative_to(root)), package)


def _claims(notebook: Contents, where: str, root: Path) -> set[Path]:
    """The files of claims that have an id which the notebook names."""
    files = {
        p: set(_ENTRY.findall(p.read_text(encoding="utf-8"))) for p in (root / "book/claims").glob("*.yml")
    }
    for name in sorted(notebook.ids):
        if not notebook.own_claim and not any(name in ids for ids in files.values()):
            raise BadInput(f"{where}: names the claim {name!r}, which is not in book/claims")
    return {path for path, ids in files.items() if any(names_claim(notebook, i) for i in ids)}


def reach(source: str, where: str, root: Path) -> set[Path]:
    """Return the files that a notebook can reach.

    Args:
        source: The notebook's source.
        where: Its path, for error messages.
        root: The repository.

    Returns:
        The modules of both packages, whatever else than modules lies in their folders, and the data files
        that the notebook names, whether they exist or not.

    Raises:
        BadInput: If a source file is not Python, or the notebook names a claim that does not exist or a
            data file without a literal.
    """
    notebook = contents(source, where)
    todo = set(notebook.modules)
    seen: dict[str, Path | None] = {}
    while todo:
        module = todo.pop()
        seen[module] = path = _file(module, root)
        if path:
            todo |= _module(module, path, root).modules - seen.keys()
    modules = {path for path in seen.values() if path}
    data = {p for folder in {m.parent for m in modules} for p in folder.iterdir() if p.is_file()}
    data = {p for p in data if p.suffix != ".py"} | {root / p for p in notebook.data}
    return modules | data | _claims(notebook, where, root)
