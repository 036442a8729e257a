"""Which modules of this repository the numbers of a notebook can depend on, by its import lines.

Imports are followed name by name: a name that a package re-exports is looked up where it is defined, so that
a new function of `icl.risk` changes no chapter. Imports inside functions count, too. Modules that cannot
change a number do not (`APART`).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from icl_book.parameters import BadInput

#: The folder of each package, from the root of the repository.
HOMES = {"icl": ".", "icl_book": "book", "icl_rigor": "book"}
#: Modules that change neither numbers nor figures. Pages judge the evidence anew, by today's claims; the
#: others record where a number comes from, and call git.
APART = {
    "icl_book.claims.card",
    "icl_book.claims.claim",
    "icl_book.claims.judge",
    "icl_book.claims.rules",
    "icl_book.provenance",
    "icl_book.repository",
}
#: Data files that a module reads.
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


def reached(root: Path, text: str) -> list[Path]:
    """Return the files that a notebook's code reaches, and the data files that these read, sorted."""
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
    """Return the modules that a file imports from; the time of its last change is a key of the cache."""
    return list(_list_imports(root, _parse_file(path, changed)))


def _list_imports(root: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the modules that define what a piece of code imports."""
    # These are the names that the code takes from the package itself, as in ``icl.risk``.
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "icl"
    }
    for node in _walk_statements(tree):
        # Only a relative import, which this repository does not use, can lack a module.
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
    """Return the module that defines ``name``, or is it, where code imports it from ``module``."""
    if _find_file(root, f"{module}.{name}"):
        return f"{module}.{name}"
    path = _find_file(root, module)
    if path is None or path.name != "__init__.py":
        return module
    # The lines for type checkers count here: `icl` re-exports by them, and imports on first use.
    for node in ast.walk(_parse_file(path, path.stat().st_mtime_ns)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return _find_maker(root, node.module, alias.name)
    return module


def _walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _walk_statements(node)


def _find_file(root: Path, module: str) -> Path | None:
    """Return the file of a module of this repository; None for any other."""
    package, *rest = module.split(".")
    if package not in HOMES:
        return None
    place = root.joinpath(HOMES[package], package, *rest)
    files = [place / "__init__.py", place.with_suffix(".py")]
    return next((path for path in files if path.is_file()), None)


@cache
def _parse_file(path: Path, changed: int) -> ast.Module:
    """Return the syntax tree of a file; the time of its last change is a key of the cache."""
    return parse(path.read_text(encoding="utf-8"), os.path.relpath(path))


def parse(source: str, where: str) -> ast.Module:
    """Return the syntax tree of a piece of code; BadInput, with place and line, if it is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise BadInput(f"{where}, line {error.lineno}: {error.msg}") from None
