r"""Prepare what pages show of claims: audited claims, further runs, and numbers in prose.

A number in the prose of a page comes from a card, and is the text of a *judged link*. The book writes this
text anew, by today's cards. A judged link has one of these forms:

- ``[3.3](<judged:P1.T2.near|ReLU, d = 5|100*.1f>)`` names a claim, a case and a format. The text is the
  number of the case, here multiplied by 100. The factor may be left out.
- ``[✓](judged:P1.T2.upper)`` names a claim alone. The text is the mark of the claim's verdict.
- ``[holds](judged:P1.T2.upper)`` names a claim alone, too. The text is the verdict.
- A link that names a claim alone may also have other words, which stay.

In a table the bar is written ``\|``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_book.claims import Authority, Claim, Verdict
from icl_book.claims.card import statement_record
from icl_book.claims.claim import OWN
from icl_book.markup import MARKS, format_number, mark
from icl_book.parameters import BadInput
from icl_book.runner.record import group_by_claim, list_cases

Record = Mapping[str, Any]
Cards = Mapping[str, Record]

#: The authorities whose statements are counted together, by group, and the groups' names on pages.
GROUPS = {
    "authors": OWN,
    "others": (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER),
    "book": (Authority.BOOK,),
}
NAMES = {"authors": "authors", "others": "others", "book": "this book"}
#: Claims that are counted apart: those that no data could contradict, and those that another implies.
APART = SURE, IMPLIED = "cannot fail", "follow from others"


@dataclass(frozen=True)
class AuditedClaim:
    """A claim with its record and the notebook that judged it."""

    #: The record of the claim's card, or of the statement alone if no notebook judged it.
    record: Record
    #: The notebook that judged the claim; empty if none did.
    notebook: str
    group: str
    #: As what the claim is counted: its verdict, or one of `APART`.
    kind: str


def audit_claims(registry: Mapping[str, Claim], runs: Iterable[Record]) -> list[AuditedClaim]:
    """Return the audited claim of each claim of the registry. Of several results for one the first counts."""
    by_claim = group_by_claim(runs)
    found = []
    for claim_id, claim in registry.items():
        notebook, record = by_claim.get(claim_id, [("", statement_record(claim))])[0]
        kind = record["verdict"]
        # No data could contradict this claim.
        if claim.rule is not None and not claim.tested:
            kind = SURE
        if claim.implied_by:
            kind = IMPLIED
        audited = AuditedClaim(
            record=record,
            notebook=notebook,
            group=next(group for group, members in GROUPS.items() if claim.authority in members),
            kind=kind,
        )
        found.append(audited)
    return found


@dataclass(frozen=True)
class Rerun:
    """What further runs found of a statement: a line of ``results/replication.csv``.

    One of these runs, the *registered run*, had other sizes, by a plan that was committed before. The others
    had other random numbers.
    """

    statement: str
    #: Who made the statement: a value of `NAMES`.
    who: str
    #: Whether, at the time of the registered run, data could contradict the statement and no other implied
    #: it.
    independent: bool
    grade: str
    #: The verdict in the book at that time.
    then: str
    #: The verdict in the registered run.
    registered: str
    #: Whether the registered run judged the control as expected.
    control: bool
    #: The verdicts with other random numbers; empty if nothing is random.
    fresh: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Return whether the registered run has the verdict of the book."""
        return self.registered == self.then

    @property
    def stayed(self) -> bool:
        """Return whether the registered run has the verdict of the book, and its control is as expected."""
        return self.same and self.control


def read_reruns(root: Path) -> list[Rerun]:
    """Return what further runs found of each statement."""
    path = root / "results" / "replication.csv"
    # A verdict of the file has another name now.
    text = path.read_text(encoding="utf-8").replace("as printed", "as we have it")
    return [
        Rerun(
            statement=row["statement"],
            who=row["who"],
            independent=row["independent"] == "yes",
            grade=row["grade"],
            then=row["then"],
            registered=row["registered"],
            control=row["control"] == "passed",
            fresh=tuple(
                verdict for name, verdict in row.items() if name.startswith("fresh_") and verdict
            ),
        )
        for row in csv.DictReader(text.splitlines())
    ]


def as_json(found: Sequence[AuditedClaim]) -> str:
    """Return all claims with their evidence as JSON, in the form of ``book/_static/audit.schema.json``."""
    claims = []
    for audited in found:
        address = f"book/audit.html#{audited.record['id']}"
        claims.append({**audited.record, "chapter": audited.notebook, "address": address})
    document = {"$schema": "audit.schema.json", "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


#: Matches a judged link: its text, an angle bracket or nothing, and what it names.
JUDGED = re.compile(r"\[([^][]*)\]\((<)?judged:([^<>]*?)(?(2)>)\)")


def resolve(text: str, cards: Cards, link: Callable[[Record, str, str], str]) -> str:
    """Return a text in which each judged link is replaced by what ``link`` returns for it.

    A link whose case the card lacks shows the verdict.

    Args:
        text: Markdown.
        cards: The records of cards by claim.
        link: Called with the record of a card, the text that the link shows, and the name of a case, which is
            empty if the text is not the number of a case.

    Raises:
        BadInput: If ``cards`` lacks a claim, or if a link has another form.
    """

    def show(found: re.Match[str]) -> str:
        claim_id, case, form = _check(found[3], cards)
        card = cards[claim_id]
        # The number of our reading comes first, if several readings have a case of this name.
        values = _find_measured(card, case)
        if values:
            return link(card, _format(values[0], form), case)
        if case:
            return link(card, card["verdict"], "")
        return link(card, _say(found[1], card["verdict"]), "")

    return JUDGED.sub(show, text)


def renumber(text: str, cards: Cards) -> str:
    """Return Markdown, or the ``.py`` of a notebook, with the text of each judged link written anew.

    A link whose case the card lacks keeps its text.
    """

    def write(found: re.Match[str]) -> str:
        claim_id, case, form = _check(found[3], cards)
        # The number of our reading comes first, if several readings have a case of this name.
        values = _find_measured(cards[claim_id], case)
        if case and not values:
            return found[0]
        if case:
            shown = _format(values[0], form)
        else:
            shown = _say(found[1], cards[claim_id]["verdict"])
        if _join(found[1]) == shown:
            return found[0]
        target = found[0].removeprefix(f"[{found[1]}]")
        return f"[{shown}]{target}"

    return JUDGED.sub(write, text)


def _say(text: str, verdict: str) -> str:
    """Return what a link with a claim alone shows after ``text``: a mark, a verdict, or the same words."""
    words = _join(text)
    if words in MARKS:
        return mark(verdict)
    return verdict if words in list(map(str, Verdict)) else words


def _join(text: str) -> str:
    """Return the text of a link on one line, without the line breaks and ``#`` of a page or a comment."""
    return re.sub(r"\n#?\s*", " ", text)


def split(named: str) -> list[str]:
    """Return the parts of what a judged link names, which bars divide."""
    return re.split(r"\\?\|", named)


def _check(named: str, cards: Cards) -> tuple[str, str, str]:
    """Return the claim, the case and the format that a judged link names, or empty texts for them."""
    claim_id, *rest = split(named)
    if claim_id not in cards:
        raise BadInput(f"judged:{named}: no card of {claim_id} is on this page")
    if not rest:
        return claim_id, "", ""
    if len(rest) != 2:
        raise BadInput(f"judged:{named}: must be a claim, or a claim, a case and a format")
    return claim_id, rest[0], rest[1]


def _find_measured(card: Mapping[str, Any], case: str) -> list[float | str]:
    return [one["measured"] for one in list_cases(card) if one["name"] == case]


def _format(value: float | str, form: str) -> str:
    factor, star, spec = form.rpartition("*")
    text = format_number(float(value) * (float(factor) if star else 1), spec)
    return text.replace("-", "\u2212", 1) if text.startswith("-") else text


def find_broken_links(text: str, cards: Cards) -> list[str]:
    """Return an error message for each judged link of a text that leads nowhere."""
    found = []
    for _, _, named in JUDGED.findall(text):
        try:
            claim_id, case, _ = _check(named, cards)
        except BadInput as error:
            found.append(str(error))
            continue
        if case and not _find_measured(cards[claim_id], case):
            found.append(f"judged:{named}: {claim_id} has no case of this name")
    return found
