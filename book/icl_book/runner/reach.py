"""Find the modules of this repository on which the numbers of a notebook can depend, by its import lines.

If a notebook imports a name from a package, only the module that defines the name counts. Imports inside
functions count, too. The modules of `APART` do not count, because they cannot change a number.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from icl_book.parameters import BadInput

#: The folder in which each package lies, from the root of the repository.
HOMES = {"icl": ".", "icl_book": "book", "icl_rigor": "book"}
#: Modules that change neither numbers nor figures.
APART = {
    "icl_book.claims.card",
    "icl_book.claims.claim",
    "icl_book.claims.judge",
    "icl_book.claims.rules",
    "icl_book.provenance",
    "icl_book.repository",
}
READS = {
    "icl_book.figures.interactive": [
        "book/icl_book/figures/interactive.css",
        "book/icl_book/figures/interactive.js",
    ],
    "icl_book.figures.plots": [
        "book/icl_book/figures/icl.mplstyle",
        "book/icl_book/figures/table.html.j2",
    ],
    "icl_book.measurements.length": ["book/real_heads/table.json"],
}


def find_reached(root: Path, text: str) -> list[Path]:
    """Return the files that code imports, directly or through other modules, and their data files, sorted."""
    found: dict[str, Path] = {}
    to_follow = list(_list_imports(root, ast.parse(text)))
    while to_follow:
        module = to_follow.pop()
        path = _find_file(root, module)
        if path is None or module in found or module in APART:
            continue
        found[module] = path
        to_follow += _list_imports_of(root, path, path.stat().st_mtime_ns)
    read = [root / name for module in found for name in READS.get(module, [])]
    return sorted({*found.values(), *read})


@cache
def _list_imports_of(root: Path, path: Path, changed: int) -> list[str]:
    """Return what `_list_imports` yields for a file; the time ``changed`` is a key of the cache only."""
    return list(_list_imports(root, _parse_file(path, changed)))


def _list_imports(root: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the modules that define what a piece of code imports."""
    # After ``import icl`` these names count, because `icl` imports its modules on first use.
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "icl"
    }
    for node in _walk_statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield _find_maker(root, node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "icl":
                    yield from (_find_maker(root, "icl", name) for name in attributes)
                else:
                    yield alias.name


def _find_maker(root: Path, module: str, name: str) -> str:
    """Return the module that defines ``name``, which code imports from ``module``."""
    if _find_file(root, f"{module}.{name}"):
        return f"{module}.{name}"
    path = _find_file(root, module)
    if path is None or path.name != "__init__.py":
        return module
    # Lines for type checkers count here, because `icl` has its re-exports only there.
    for node in ast.walk(_parse_file(path, path.stat().st_mtime_ns)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return _find_maker(root, node.module, alias.name)
    return module


def _walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes below ``tree``, except for those inside ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _walk_statements(node)


def _find_file(root: Path, module: str) -> Path | None:
    """Return the file of a module by its full name; None if this repository has no such module."""
    package, *rest = module.split(".")
    if package not in HOMES:
        return None
    place = root.joinpath(HOMES[package], package, *rest)
    files = [place / "__init__.py", place.with_suffix(".py")]
    return next((path for path in files if path.is_file()), None)


@cache
def _parse_file(path: Path, changed: int) -> ast.Module:
    """Return the syntax tree of a file; the time ``changed`` is a key of the cache only."""
    return parse(path.read_text(encoding="utf-8"), os.path.relpath(path))


def parse(source: str, where: str) -> ast.Module:
    """Return the syntax tree of a piece of code; BadInput, with place and line, if it is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise BadInput(f"{where}, line {error.lineno}: {error.msg}") from None
