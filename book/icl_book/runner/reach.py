"""Which modules of this repository the numbers of a notebook can depend on, by its import lines.

Imports are followed name by name: what a package only hands on is looked for where it is made, so that a
new function of `icl.risk` changes no chapter. They are followed into functions, too, but not to what cannot
change a number.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from icl_book.parameters import BadInput

#: Folders of the packages, from the root of the repository.
HOMES = {"icl": ".", "icl_book": "book", "icl_rigor": "book"}
#: Modules that change no number and no figure: pages judge the evidence anew, by today's claims, and the rest
#: says where a number comes from, or who asks git.
APART = {
    "icl_book.claims.card",
    "icl_book.claims.claim",
    "icl_book.claims.judge",
    "icl_book.claims.rules",
    "icl_book.provenance",
    "icl_book.repository",
}
#: Files that a module reads, beside its code.
READS = {
    "icl_book.figures.interactive": [
        "book/icl_book/figures/interactive.css",
        "book/icl_book/figures/interactive.js",
    ],
    "icl_book.figures.plots": ["book/icl_book/figures/table.html.j2"],
    "icl_book.measurements.length": ["book/real_heads/table.json"],
}


def reached(root: Path, text: str) -> list[Path]:
    """Return the files that a notebook's code reaches, sorted."""
    found: dict[str, Path] = {}
    left = list(_imported(root, ast.parse(text)))
    while left:
        module = left.pop()
        path = _file(root, module)
        if path is None or module in found or module in APART:
            continue
        found[module] = path
        left += _imported_by(root, path, path.stat().st_mtime_ns)
    read = [root / name for module in found for name in READS.get(module, [])]
    return sorted({*found.values(), *read})


@cache
def _imported_by(root: Path, path: Path, changed: int) -> list[str]:
    """Return the modules that a file imports from, found again once it has ``changed``."""
    return list(_imported(root, _tree(path, changed)))


def _imported(root: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the modules that hold what a piece of code imports."""
    served = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "icl"
    }
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield _maker(root, node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "icl":
                    yield from (_maker(root, "icl", name) for name in served)
                else:
                    yield alias.name


def _maker(root: Path, module: str, name: str) -> str:
    """Return the module in which a name is made that another one hands on."""
    if _file(root, f"{module}.{name}"):
        return f"{module}.{name}"
    path = _file(root, module)
    if path is None or path.name != "__init__.py":
        return module
    for node in ast.walk(_tree(path, path.stat().st_mtime_ns)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return _maker(root, node.module, alias.name)
    return module


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _statements(node)


def _file(root: Path, module: str) -> Path | None:
    """Return the file of a module of this repository."""
    package, *rest = module.split(".")
    if package not in HOMES:
        return None
    place = root.joinpath(HOMES[package], package, *rest)
    files = [place / "__init__.py", place.with_suffix(".py")]
    return next((path for path in files if path.is_file()), None)


@cache
def _tree(path: Path, changed: int) -> ast.Module:
    """Return the syntax tree of a file, parsed again once it has ``changed``."""
    return parse(path.read_text(encoding="utf-8"), os.path.relpath(path))


def parse(source: str, where: str) -> ast.Module:
    """Return the syntax tree of a piece of code; BadInput, with place and line, if it is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise BadInput(f"{where}, line {error.lineno}: {error.msg}") from None
