"""What the audit and the front page show: each claim with its card, and what further runs found.

``templates/pages.md.j2`` counts and shows the entries; `as_json` writes them for machines, as
``book/_static/audit.schema.json`` describes it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_book.claims import Authority, Claim
from icl_book.claims.card import statement_record
from icl_book.claims.claim import OWN

Record = Mapping[str, Any]

#: Whose statements are counted together; and in words.
GROUPS = {
    "authors": OWN,
    "others": (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER),
    "book": (Authority.BOOK,),
}
NAMES = {"authors": "authors", "others": "others", "book": "this book"}
#: What is counted apart from the verdicts: what no data could contradict, and what another claim implies.
APART = SURE, IMPLIED = "cannot fail", "follow from others"


@dataclass(frozen=True)
class Entry:
    """A claim with what the notebooks found."""

    record: Record  # its card's, or for a claim that is not testable that of the statement alone
    notebook: str  # that judged it, without suffix; empty for none
    group: str  # whose statement it is, a key of `GROUPS`
    kind: str  # what it is counted as: its verdict, or one of `APART`


def entries(registry: Mapping[str, Claim], runs: Iterable[Record]) -> list[Entry]:
    """Join the claims, in the registry's order, with their cards.

    ``runs`` are records as `icl_book.runner.record.collect` returns them.
    """
    cards = {card["id"]: (card, run["name"]) for run in runs for card in run["cards"]}
    found = []
    for name, claim in registry.items():
        record, notebook = cards.get(name, (statement_record(claim), ""))
        # judged though no data could contradict it
        sure = claim.rule is not None and not claim.tested
        entry = Entry(
            record=record,
            notebook=notebook,
            group=next(
                group for group, members in GROUPS.items() if claim.authority in members
            ),
            kind=IMPLIED if claim.implied_by else SURE if sure else record["verdict"],
        )
        found.append(entry)
    return found


@dataclass(frozen=True)
class Rerun:
    """What further runs found of a statement; a line of ``results/replication.csv``."""

    statement: str
    grade: str  # that it had at that time
    then: str  # the verdict of the book at that time
    registered: str  # the verdict in the registered run
    control: bool  # whether its control was judged there as expected
    fresh: tuple[str, ...]  # verdicts with fresh seeds; none if nothing is random

    @property
    def stayed(self) -> bool:
        """Whether the registered run confirms the verdict."""
        return self.registered == self.then and self.control


def reruns(root: Path) -> list[Rerun]:
    """Return what further runs found, in the order of the file, with the names that verdicts have now."""
    path = root / "results" / "replication.csv"
    text = path.read_text(encoding="utf-8").replace("as printed", "as we have it")
    return [
        Rerun(
            statement=row["statement"],
            grade=row["grade"],
            then=row["then"],
            registered=row["registered"],
            control=row["control"] == "passed",
            fresh=tuple(
                verdict
                for name, verdict in row.items()
                if name.startswith("fresh_") and verdict
            ),
        )
        for row in csv.DictReader(text.splitlines())
    ]


def as_json(found: Sequence[Entry]) -> str:
    """Write all claims with their evidence as one JSON document."""
    claims = []
    for entry in found:
        address = f"book/audit.html#{entry.record['id']}"
        claims.append({**entry.record, "chapter": entry.notebook, "address": address})
    document = {"$schema": "audit.schema.json", "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
