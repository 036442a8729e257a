"""What the audit and the front page show: each claim with its card and with what further runs found.

``templates/pages.md.j2`` counts and shows the entries; `as_json` writes them for machines, as
``book/_static/audit.schema.json`` describes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_book.claims import Authority, Claim
from icl_book.claims.card import statement_record
from icl_book.claims.changes import since
from icl_book.claims.claim import OWN, Grade
from icl_book.runner.again import moved
from icl_book.runner.record import read_json

Record = Mapping[str, Any]

#: Whose statements are counted together.
GROUPS = {
    "authors": OWN,
    "others": (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER),
    "book": (Authority.BOOK,),
}
#: What is counted apart from the verdicts: what no data could contradict, and what another claim implies.
APART = SURE, IMPLIED = "identities, and what cannot fail", "follow from these"


@dataclass(frozen=True)
class Entry:
    """A claim with what the notebooks found."""

    record: Record  # its card's, or for a claim that is not testable that of the statement alone
    notebook: str  # that judged it, without suffix; empty for none
    group: str  # whose statement it is, a key of `GROUPS`
    kind: str  # what it is counted as: its verdict, or one of `APART`
    registered: (
        Record | None
    )  # the card's record in the registered run, if there is one
    earlier: bool  # whether rule or measurement changed since that run
    differences: dict[
        str, list[str | None]
    ]  # between book and registered run, as `moved` gives them
    repeated: Sequence[
        Record
    ]  # verdict and readings in each replication by the present rule
    unstable: Sequence[str]  # the readings that changed in a replication
    same: int  # the number of replications in which no reading changed


def entries(
    registry: Mapping[str, Claim],
    runs: Iterable[Record],
    registered: Sequence[Record] = (),
    replications: Sequence[Record] = (),
    log: Sequence[Record] = (),
) -> list[Entry]:
    """Join the claims, in the registry's order, with their cards and what further runs found.

    ``runs`` are records as `icl_book.runner.record.collect` returns them. What was judged before a change of
    rules or measurements in the ``log`` says so, or is left out.
    """
    cards = {card["id"]: (card, run["name"]) for run in runs for card in run["cards"]}
    there = {
        card["id"]: (card, run["rules"]) for run in registered for card in run["cards"]
    }
    found = []
    for i, claim in registry.items():
        record, notebook = cards.get(i, (statement_record(claim), ""))
        card, rules = there.get(i, (None, ""))
        repeated = [
            r["claims"][i]
            for r in replications
            if i in r["claims"] and i not in since(r["rules"], log)
        ]
        changed = [moved(record, one) for one in repeated]
        sure = (
            claim.rule is not None and not claim.tested
        )  # judged though no data could contradict it
        entry = Entry(
            record=record,
            notebook=notebook,
            group=next(
                name for name, members in GROUPS.items() if claim.authority in members
            ),
            kind=IMPLIED if claim.implied_by else SURE if sure else record["verdict"],
            registered=card,
            earlier=card is not None and i in since(rules, log),
            differences=moved(record, card) if card else {},
            repeated=repeated,
            unstable=list(dict.fromkeys(name for one in changed for name in one)),
            same=changed.count({}),
        )
        found.append(entry)
    return found


def further(root: Path) -> dict[str, list[Record]]:
    """Return the records of the ``registered`` run and of the ``replications``, as committed."""
    kinds = ("registered", "replications")
    return {
        kind: [read_json(p) for p in sorted((root / "results" / kind).glob("*.json"))]
        for kind in kinds
    }


@dataclass(frozen=True)
class Count:
    """How many statements of one kind the registered run judged, and what came of them."""

    kind: str
    judged: int
    stayed: int  # the verdict is that of the book at its time, and the control was judged as it must be
    changed: int  # the verdict is another one
    control_failed: int  # the run decides nothing, whatever the verdict

    @classmethod
    def of(cls, kind: str, cards: Iterable[Record]) -> Count:
        """Count the ``cards`` of the registered run, which have the verdict that the plan expected."""
        same = [
            (card["verdict"] == card["expected"], bool(card["control_passed"]))
            for card in cards
        ]
        return cls(
            kind=kind,
            judged=len(same),
            stayed=same.count((True, True)),
            changed=sum(not verdict for verdict, _ in same),
            control_failed=sum(not control for _, control in same),
        )


#: Grades of statements on which another size or other random numbers have no influence.
FIXED = (Grade.IDENTITY, Grade.PROVED)


def registered_counts(registered: Iterable[Record]) -> dict[str, Count]:
    """Count what became of the verdicts of the registered run, against the book at its time.

    A rule that was changed since changes nothing here.

    Returns:
        A count for each grade that occurs, by its name, strongest first; ``"fixed"``, those that could not
        change, and ``"authors"``, independent statements of authors that data could contradict and that held.
    """
    cards = [card for run in registered for card in run["cards"]]
    counts = {
        str(grade): Count.of(
            str(grade), [card for card in cards if card["grade"] == grade]
        )
        for grade in Grade
    }
    counts = {name: count for name, count in counts.items() if count.judged}
    held = [
        card
        for card in cards
        if card["authority"] in OWN
        and card["expected"] == "holds"
        and card["tested"]
        and not card["implied_by"]
    ]
    fixed = [card for card in cards if card["grade"] in FIXED]
    return counts | {
        "fixed": Count.of("fixed", fixed),
        "authors": Count.of("authors", held),
    }


def cases(record: Record) -> list[Record]:
    """Return the cases of a card's record, of all readings and of the control."""
    groups = [
        record["cases"],
        record["control_cases"],
        *record["other_readings"].values(),
    ]
    return [case for rows in groups for case in rows]


def as_json(found: Sequence[Entry], rules: str) -> str:
    """Write all claims with their evidence as one JSON document."""
    claims = [{**e.record, "chapter": e.notebook} for e in found]
    document = {"$schema": "audit.schema.json", "rules": rules, "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
