"""What a notebook's numbers and cards can depend on: the code that its imports reach, and its claims.

An edit of code that a notebook does not reach, of a comment or of a docstring makes no run stale. A name
imported from a package is followed to the module that the package has it from.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from icl_book.provenance import ROOT, bare

Name = tuple[str, str]  # a module, and a name imported from it; empty for all of it
#: The ids of claims in a notebook, which may be f-strings.
IDS = re.compile(r'"(P[12]\.[^"\s]+)"')


def code(source: str, root: Path = ROOT) -> dict[str, str]:
    """Return the code of all modules of this repository that a source imports, directly or not, by module."""
    found, seen, left = dict[str, str](), set[Name](), list(_imports(source))
    while left:
        here = module, name = left.pop()
        if here in seen or module.partition(".")[0] not in ("icl", "icl_book"):
            continue
        seen.add(here)
        if name and _text(f"{module}.{name}", root):
            left.append((f"{module}.{name}", ""))
            continue
        text = _text(module, root)
        origin = [(m, n) for m, n in _imports(text) if n == name]
        if name and origin and _path(module, root).is_dir():
            left += origin
        else:
            found[module] = _bare(text)
            left += _imports(text)
    return found


def claims(source: str, root: Path = ROOT) -> dict[str, Any]:
    """Return the entries of ``book/claims/*.yml`` that a notebook names, by id, as they are written there.

    What ``book/claims/texts/*.yml`` lay over them is among them, by paper and id.
    """
    named = [
        re.sub(r"\\\{.*?\\\}", ".+", re.escape(text)) for text in IDS.findall(source)
    ]
    pattern = re.compile("|".join(named) or "(?!)")
    files = sorted((root / "book" / "claims").glob("*.yml"))
    entries = {
        k: v
        for path in files
        for k, v in _entries(path.read_text(encoding="utf-8")).items()
    }
    for path in sorted((root / "book" / "claims" / "texts").glob("*.yml")):
        layer = _entries(path.read_text(encoding="utf-8")).get("claims", {})
        entries |= {f"{path.stem}:{name}": entry for name, entry in layer.items()}
    return {
        name: entry
        for name, entry in entries.items()
        if pattern.fullmatch(name.rpartition(":")[2])
    }


@cache
def _entries(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, yaml.CBaseLoader) or {})


_bare = cache(bare)


@cache
def _imports(source: str) -> list[Name]:
    """Return what a source imports anywhere, in functions too."""
    found = list[Name]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return found


def _path(module: str, root: Path) -> Path:
    return (
        root
        / ("book" if module.startswith("icl_book") else "")
        / module.replace(".", "/")
    )


def _text(module: str, root: Path) -> str:
    """Return the source of a module, empty if there is none; a package's is that of its ``__init__``."""
    path = _path(module, root)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8") if file.is_file() else ""
