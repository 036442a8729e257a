"""The record of changes to the rules: a rule changes only together with an entry that says what and why.

``book/changelog.yml`` lists the changes, the last one last. Each entry has the digest of all rules after it.
The rules are what can change a verdict: the code that judges, and of each claim its id, authority, reading,
quantity, rule, corrected rule, resolution, grade, whether it has a control, and name, rule and lateness of
every alternative reading. A claim's other words can be corrected without an entry. An entry may also have the
digests of measurements after it, by chapter; see `icl_book.runner.protocol`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import yaml

from icl_book.claims.claim import Claim
from icl_book.claims.registry import load
from icl_book.provenance import ROOT, bare

CHANGELOG = ROOT / "book" / "changelog.yml"

#: What judges, and what of a claim it reads.
CODE = (
    *(f"book/icl_book/claims/{name}.py" for name in ("rules", "case", "judge")),
    "icl/statistics.py",
)
DATA = (
    "id",
    "authority",
    "reading",
    "quantity",
    "rule",
    "corrected_rule",
    "resolution",
    "grade",
    "alternatives",
)


def digest(root: Path = ROOT) -> str:
    """Return the digest of all rules: of the claims' data, and of the code that judges, not of its layout."""
    data = [_data(claim) for claim in load(root / "book" / "claims").values()]
    code = [bare((root / name).read_text(encoding="utf-8")) for name in CODE]
    return hashlib.sha256(repr([data, code]).encode()).hexdigest()[:16]


def of_claim(claim: Claim) -> str:
    """Return the digest of what can change the verdict on one claim, but for the code that judges."""
    return hashlib.sha256(repr(_data(claim)).encode()).hexdigest()[:8]


def _data(claim: Claim) -> tuple[Any, ...]:
    return (*attrgetter(*DATA)(claim), bool(claim.control))


def changes() -> list[dict[str, Any]]:
    """Return the entries: ``date``, ``rules``, ``change``, and maybe ``claims`` and ``measurements``."""
    entries: list[dict[str, Any]] = yaml.safe_load(
        CHANGELOG.read_text(encoding="utf-8")
    )
    return entries


def since(rules: str, entries: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the ids of the claims that are judged otherwise than by the rules of a digest.

    By a digest that none of the `changes` has, all claims listed in them are.
    """
    known = [i for i, entry in enumerate(entries) if entry["rules"] == rules]
    later = entries[known[-1] + 1 :] if known else entries
    return {claim for entry in later for claim in entry.get("claims", ())}


def problems() -> list[str]:
    """Find a change of the rules that has no entry."""
    now, last = digest(), changes()[-1]["rules"]
    said = f"book/changelog.yml: the rules are {now}, the last entry is for {last}; say what changed and why"
    return [said] if now != last else []
