"""What a notebook can reach: the files that its numbers may depend on.

Imports of both packages are followed by reading source; nothing is imported. Every import statement
counts, wherever it stands: inside a function, under ``if TYPE_CHECKING`` (a package that loads lazily
names its contents there), and in a string that is code, which a notebook may hand to a fresh process.

Claims are reached by id. The modules that only collect claims are therefore not followed; instead, each
module of claims that has an id which the notebook names is reached, with what it imports.
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
COLLECTIONS = ("icl_book.claims.registry", "icl_book.claims.paper1", "icl_book.claims.paper2")
_ID, _ID_START = re.compile(r"P\d(\.[\w-]+)+"), re.compile(r"P\d\.")


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
            case ast.keyword(arg="implied_by", value=value):  # names claims, and needs none of their code
                pieces |= {id(inner) for inner in ast.walk(value)}
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


def _topics(notebook: Contents, where: str, root: Path) -> set[str]:
    """The modules of claims that have an id which the notebook names."""
    folder, known = root / FOLDERS["icl_book"], {}
    for path in sorted(folder.glob("icl_book/claims/paper*/*.py")):
        module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        known[module] = _module(module, path, root)
    for name in sorted(notebook.ids):
        if not notebook.own_claim and not any(names_claim(topic, name) for topic in known.values()):
            raise BadInput(f"{where}: names the claim {name!r}, which is not in icl_book.claims")
    return {
        module
        for module, topic in known.items()
        if any(names_claim(topic, name) for name in notebook.ids)
        or any(names_claim(notebook, name) for name in topic.ids)
        or any(a.startswith(b) or b.startswith(a) for a in notebook.beginnings for b in topic.beginnings)
    }


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
    for topic in _topics(notebook, where, root):
        todo |= set(accumulate(topic.split("."), "{}.{}".format))
    seen: dict[str, Path | None] = {}
    while todo:
        module = todo.pop()
        seen[module] = path = _file(module, root)
        if path and module not in COLLECTIONS:
            todo |= _module(module, path, root).modules - seen.keys()
    modules = {path for path in seen.values() if path}
    data = {p for folder in {m.parent for m in modules} for p in folder.iterdir() if p.is_file()}
    return modules | {p for p in data if p.suffix != ".py"} | {root / p for p in notebook.data}
