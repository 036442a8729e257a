"""The record of changes to the rules: a rule changes only together with an entry that says what and why.

``book/changelog.yml`` lists the changes, the last one last. Each entry has the digest of all rules after it.
The rules are what can change a verdict: the code that judges, and of each claim its id, authority, quantity,
rule, corrected rule, resolution, grade, whether it has a control, and name, rule and lateness of every
alternative reading. A claim's other words can be corrected without an entry.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import yaml

from icl_book.claims.claim import Claim
from icl_book.claims.registry import load

ROOT = Path(__file__).resolve().parents[3]
CHANGELOG = ROOT / "book" / "changelog.yml"

#: What judges, and what it calls of `icl.statistics`.
JUDGES = ("rules.py", "case.py", "judge.py")
CALLED = {"FALSE_ALARM_RATE", "LARGEST_MISS", "median_interval"}

#: In what versions of Python differ when they write a syntax tree, and layout.
_VARIES = re.compile(r"\w+=\[\]|ctx=Load\(\)|Constant\(value=''\)|[\s,]")


def digest(root: Path = ROOT) -> str:
    """Return the digest of all rules: of the claims' data, and of the code that judges, not of its layout."""
    data = [_rules(claim) for claim in load(root / "book" / "claims").values()]
    code = [canonical((root / "book/icl_book/claims" / name).read_text(encoding="utf-8")) for name in JUDGES]
    code.append(canonical((root / "icl/statistics.py").read_text(encoding="utf-8"), CALLED))
    return hashlib.sha256(json.dumps([data, code], sort_keys=True).encode()).hexdigest()[:16]


def _rules(claim: Claim) -> dict[str, Any]:
    """Return what of a claim can change its verdict."""
    names = ("id", "authority", "quantity", "rule", "corrected_rule", "resolution", "grade")
    readings = [[a.name, _plain(a.rule), a.late] for a in claim.alternatives]
    data = {name: _plain(getattr(claim, name)) for name in names}
    return data | {"control": bool(claim.control), "readings": readings}


def _plain(spec: Any) -> Any:
    """Return the data of a rule, with texts for keys."""
    spec = getattr(spec, "spec", spec)
    return {str(k): _plain(v) for k, v in spec.items()} if isinstance(spec, Mapping) else spec


def canonical(source: str, names: Set[str] = frozenset()) -> str:
    """Return code without types, as every Python from 3.11 on writes it; of some names what defines them."""
    tree = ast.parse(source)
    if names:
        tree.body = [node for node in tree.body if names & _defined(node)]
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                node.body = node.body[ast.get_docstring(node) is not None :]
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
    return _VARIES.sub("", ast.dump(tree))


def _defined(node: ast.stmt) -> set[str]:
    targets = getattr(node, "targets", [node])
    return {getattr(one, "id", getattr(one, "name", "")) for one in targets}


def seed() -> int:
    """Return the root of the random streams of a confirmatory run: it follows from the rules alone."""
    return int(digest(), 16) % (2**31 - 1) + 1


def changes() -> list[dict[str, Any]]:
    """Return the entries: ``date``, ``rules`` (the digest after it), ``change``, ``claims`` changed."""
    entries: list[dict[str, Any]] = yaml.safe_load(CHANGELOG.read_text(encoding="utf-8"))
    return entries


def since(rules: str, entries: Sequence[Mapping[str, Any]]) -> set[str]:
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
