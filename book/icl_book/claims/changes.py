"""The record of changes to the rules: a rule changes only together with an entry that says what and why.

``book/changelog.yml`` lists the changes, the last one last. Each entry has the digest of all rules after it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
CHANGELOG = HERE.parents[1] / "changelog.yml"


def digest(folder: Path = HERE) -> str:
    """Return the digest of all claims and of the judge: of their code, not of its layout or docstrings."""
    total = hashlib.sha256()
    for path in [*sorted(folder.glob("paper*/*.py")), folder / "judge.py", folder / "case.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                if isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
                    body[0].value.value = ""
        total.update(f"{path.parent.name}/{path.name}\0{ast.dump(tree)}\0".encode())
    return total.hexdigest()[:16]


def seed() -> int:
    """Return the root of the random streams of a confirmatory run: it follows from the rules alone."""
    return int(digest(), 16) % (2**31 - 1) + 1


def changes() -> list[dict]:
    """Return the entries: ``date``, ``rules`` (the digest after it), ``change``, ``claims`` changed."""
    return yaml.safe_load(CHANGELOG.read_text(encoding="utf-8"))


def since(rules: str, entries: Sequence[Mapping]) -> set[str]:
    """Return the ids of the claims that are judged otherwise than by the rules of a digest.

    Args:
        rules: The digest after one of the entries; by a digest that no entry has, all listed claims changed.
        entries: See `changes`.
    """
    known = [i for i, entry in enumerate(entries) if entry["rules"] == rules]
    later = entries[known[-1] + 1 :] if known else entries
    return {claim for entry in later for claim in entry.get("claims", ())}


def problems() -> list[str]:
    """Find a change of the rules that has no entry."""
    now, last = digest(), changes()[-1]["rules"]
    if now == last:
        return []
    return [
        f"book/changelog.yml: the rules are {now}, the last entry is for {last}; say what changed and why"
    ]
