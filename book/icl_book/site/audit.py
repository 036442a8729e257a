"""What the audit and the front page show: each claim with its card and with what further runs found.

`context` is handed to the templates of `icl_book.site.stage`; `as_json` writes the same for machines, as
``book/_static/audit.schema.json`` describes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_book.claims import Authority, Claim, Verdict
from icl_book.claims.card import sides, statement_record
from icl_book.claims.changes import since
from icl_book.claims.claim import OWN
from icl_book.claims.quotes import NAMES, source
from icl_book.runner.again import moved
from icl_book.runner.record import read_json

Record = Mapping[str, Any]

PAPERS = {
    "P1": "Paper 1: Softmax Attention Adapts to Function Lipschitzness",
    "P2": "Paper 2: From Single to Multiple Softmax Regression via a Tensor Trick",
}
#: Whose statements are counted together.
GROUPS = {
    "authors": OWN,
    "others": (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER),
    "book": (Authority.BOOK,),
}


@dataclass(frozen=True)
class Entry:
    """A claim with what the notebooks found.

    Attributes:
        record: Its card's record, or for a claim that is not testable that of the statement alone.
        notebook: The notebook that judged it, without suffix; empty for none.
        group: Whose statement it is, a key of `GROUPS`.
        sure: Whether it was judged though no data could have contradicted it.
        registered: The card's record in the registered run, if there is one.
        repeated: Verdict and readings in each replication by the present rule.
        earlier: Whether rule or measurement changed since the registered run.
    """

    record: Record
    notebook: str
    group: str
    sure: bool
    registered: Record | None
    repeated: tuple[Record, ...]
    earlier: bool

    @property
    def differences(self) -> dict[str, list[Any]]:
        """Return the verdict and readings in which the registered run differs, here and there."""
        return moved(self.record, self.registered) if self.registered else {}

    @property
    def unstable(self) -> list[str]:
        """Return the readings that changed in a replication."""
        return list(dict.fromkeys(name for again in self.repeated for name in moved(self.record, again)))

    @property
    def same(self) -> int:
        """Return the number of replications in which no reading changed."""
        return sum(not moved(self.record, again) for again in self.repeated)


def entries(
    registry: Mapping[str, Claim],
    runs: Iterable[Record],
    registered: Sequence[Record] = (),
    replications: Sequence[Record] = (),
    log: Sequence[Record] = (),
) -> list[Entry]:
    """Join the claims, in the registry's order, with their cards and what further runs found.

    Args:
        registry: All claims by id.
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        registered: Records of the registered run.
        replications: Records of the replications.
        log: The changes of rules and measurements: what was judged before one says so, or is left out.
    """
    cards = {card["id"]: (card, run["name"]) for run in runs for card in run["cards"]}
    again = {card["id"]: card for run in registered for card in run["cards"]}
    old = {
        card["id"] for run in registered for card in run["cards"] if card["id"] in since(run["rules"], log)
    }
    found = []
    for i, claim in registry.items():
        card, notebook = cards.get(i, (statement_record(claim), ""))
        group = next(name for name, members in GROUPS.items() if claim.authority in members)
        valid = [r["claims"][i] for r in replications if i in r["claims"] and i not in since(r["rules"], log)]
        sure = claim.rule is not None and not claim.tested
        found.append(Entry(card, notebook, group, sure, again.get(i), tuple(valid), i in old))
    return found


def further(root: Path) -> tuple[list[Record], list[Record]]:
    """Return the records of the registered run and of the replications, as committed."""
    registered, replications = (
        [read_json(path) for path in sorted((root / "results" / kind).glob("*.json"))]
        for kind in ("registered", "replications")
    )
    return registered, replications


def tally(found: Sequence[Entry], group: str) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """Count the claims of a group by verdict and paper.

    What follows from another claim, and what no data could contradict, is counted in a line of its own.

    Returns:
        The papers, and lines: a verdict or what else is counted, and a number for each paper.
    """
    mine = [e for e in found if e.group == group]
    roots = [e for e in mine if not e.record["implied_by"]]
    kinds = {str(v): [e for e in roots if e.record["verdict"] == v and not e.sure] for v in Verdict}
    kinds["identities, and what cannot fail"] = [e for e in roots if e.sure]
    kinds["follow from these"] = [e for e in mine if e.record["implied_by"]]
    papers = sorted({e.record["paper"] for e in mine})
    lines = [
        (kind, [sum(e.record["paper"] == p for e in some) for p in papers]) for kind, some in kinds.items()
    ]
    return papers, [(kind, counts) for kind, counts in lines if any(counts)]


def cases(record: Record) -> list[Record]:
    """Return the cases of a card's record, of all readings and of the control."""
    groups = [record["cases"], record.get("control_cases", ()), *record.get("other_readings", {}).values()]
    return [case for rows in groups for case in rows]


def context(
    found: Sequence[Entry], registered: Sequence[Record], replications: Sequence[Record]
) -> dict[str, Any]:
    """Return what the templates of audit and front page show."""
    shown = [case for e in found for case in cases(e.record)]
    again = [e for e in found if e.notebook and e.registered and not e.earlier]
    there = [case for run in registered for card in run["cards"] for case in cases(card)]
    return {
        "entries": found,
        "papers": PAPERS,
        "tally": {group: tally(found, group) for group in GROUPS},
        "refused": [
            e
            for e in found
            if e.group == "authors" and e.record["verdict"] not in (Verdict.HOLDS, Verdict.NOT_TESTABLE)
        ],
        "numbers": {"this book": shown} | ({"the registered run": there} if there else {}),
        "again": again,
        "moved": [e for e in again if e.differences],
        "moved_before": [e for e in found if e.notebook and e.earlier and e.differences],
        "verdicts_moved": sum("verdict" in e.differences for e in again),
        "here": sides([case for e in again for case in e.record["cases"]]),
        "there": sides([case for e in again if e.registered for case in e.registered["cases"]]),
        "registered": registered,
        "replications": sorted(replications, key=lambda run: run["seed"]),
        "sources": {name: source(key) for key, name in NAMES.items()},
    }


def as_json(found: Sequence[Entry], rules: str) -> str:
    """Write all claims with their evidence as one JSON document."""
    claims = [{**e.record, "chapter": e.notebook} for e in found]
    document = {"$schema": "audit.schema.json", "rules": rules, "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
