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
ROOT = HERE.parents[2]

#: What the rules are: the claims, what judges them, and what both call for a number.
RULES = ("paper*/*.py", "claim.py", "case.py", "judge.py")
CALLED = ("icl/statistics.py", "icl/risk/asymptotics.py")


def digest(folder: Path = HERE, root: Path = ROOT) -> str:
    """Return the digest of all claims and of the judge: of their code, not of its layout or docstrings.

    Args:
        folder: The claims.
        root: The repository.
    """
    total = hashlib.sha256()
    rules = [path for pattern in RULES for path in sorted(folder.glob(pattern))]
    for path in [*rules, *(root / name for name in CALLED)]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        total.update(f"{path.parent.name}/{path.name}\0{_canonical(tree)}\0".encode())
    return total.hexdigest()[:16]


def _canonical(node: object) -> str:
    """Write a syntax tree without docstrings and empty fields, in which versions of Python differ."""
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    match fields.get("body"):
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            fields["body"] = rest
    if isinstance(node, ast.JoinedStr):  # one version puts an empty text after a nested field
        fields["values"] = [v for v in node.values if not (isinstance(v, ast.Constant) and v.value == "")]
    kept = (f"{k}={_canonical(v)}" for k, v in fields.items() if k == "value" or v not in (None, []))
    return f"{type(node).__name__}({','.join(kept)})"


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
