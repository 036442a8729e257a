r"""What pages show of claims and their cards: audited claims, further runs, numbers in prose.

``pages.md.j2`` counts and shows the audited claims; `as_json` writes them for machines, as
``book/_static/audit.schema.json`` describes it.

A number in a short answer or a finding is a case of a card, and links to it. Its link has the claim, the
case and the format, with a factor before it if need be: ``[3.3](<judged:P1.T2.near|ReLU, d = 5|100*.1f>)``.
A link with the claim alone is a mark of its verdict, ``[✓](judged:P1.T2.upper)``, or the verdict in words,
``[holds](judged:P1.T2.upper)``, both of which are today's, or has other words, which stay. In a table a bar
is written ``\\|``.
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
from icl_book.runner.record import judged, list_cases

Record = Mapping[str, Any]
Cards = Mapping[str, Record]

#: Groups of authorities whose statements are counted together, and their names on pages.
GROUPS = {
    "authors": OWN,
    "others": (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER),
    "book": (Authority.BOOK,),
}
NAMES = {"authors": "authors", "others": "others", "book": "this book"}
#: Kinds that are counted apart from verdicts: claims that no data could contradict, or that another implies.
APART = SURE, IMPLIED = "cannot fail", "follow from others"


@dataclass(frozen=True)
class AuditedClaim:
    """A claim with what the notebooks found."""

    #: The record of the card, or for a claim that is not testable that of the statement.
    record: Record
    #: The notebook that judged the claim, without suffix; empty if none did.
    notebook: str
    #: The key of `GROUPS` that has the claim's authority.
    group: str
    #: The verdict, or one of `APART`, as which the claim is counted.
    kind: str


def audit_claims(registry: Mapping[str, Claim], runs: Iterable[Record]) -> list[AuditedClaim]:
    """Join the claims, in the registry's order, with their cards.

    ``runs`` are records as `icl_book.runner.record.collect` returns them.
    """
    by_claim = judged(runs)
    found = []
    for claim_id, claim in registry.items():
        notebook, record = by_claim.get(claim_id, [("", statement_record(claim))])[0]
        kind = record["verdict"]
        # A claim may be judged although no data could contradict it.
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
    """What further runs found of a statement; a line of ``results/replication.csv``."""

    statement: str
    #: Who made the statement, one of `NAMES`.
    who: str
    #: Whether data could contradict the statement at that time, and no other statement implied it.
    independent: bool
    #: The grade at that time.
    grade: str
    #: The verdict of the book at that time.
    then: str
    #: The verdict in the registered run.
    registered: str
    #: Whether the registered run judged the control as expected.
    control: bool
    #: Verdicts with fresh seeds; empty if nothing is random.
    fresh: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Return whether the registered run has the same verdict."""
        return self.registered == self.then

    @property
    def stayed(self) -> bool:
        """Return whether the registered run confirms the verdict."""
        return self.same and self.control


def reruns(root: Path) -> list[Rerun]:
    """Return what further runs found, in the order of the file, with the names that verdicts have now."""
    path = root / "results" / "replication.csv"
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
    """Return all claims with their evidence as the text of one JSON document."""
    claims = []
    for audited in found:
        address = f"book/audit.html#{audited.record['id']}"
        claims.append({**audited.record, "chapter": audited.notebook, "address": address})
    document = {"$schema": "audit.schema.json", "claims": claims}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------- numbers in prose

#: Matches a link whose text a card decides: the text, a bracket, and what the link names.
JUDGED = re.compile(r"\[([^][]*)\]\((<)?judged:([^<>]*?)(?(2)>)\)")


def resolve(text: str, cards: Cards, link: Callable[[Record, str, str], str]) -> str:
    """Return a text with ``link`` called for each judged link; one whose case the cards lack is the verdict.

    Args:
        text: Markdown.
        cards: Records of cards by claim.
        link: Returns what stands on the page, from the record of a card, what is shown (a number, a mark, a
            verdict or words), and the name of the case, which is empty unless a number is shown.

    Raises:
        BadInput: For a claim that is not judged, and for a link that has neither one part nor three.
    """

    def show(found: re.Match[str]) -> str:
        claim_id, case, form = _check(found[3], cards)
        card = cards[claim_id]
        values = _find_measured(card, case)
        if values:
            return link(card, _format(values[0], form), case)
        return link(card, card["verdict"] if case else _say(found[1], card["verdict"]), "")

    return JUDGED.sub(show, text)


def renumber(text: str, cards: Cards) -> str:
    """Return a text with the numbers, marks and verdicts of these cards in its judged links.

    The text may be a notebook's ``.py``. A link whose case the cards lack keeps its text.

    Raises:
        BadInput: As `resolve`.
    """

    def write(found: re.Match[str]) -> str:
        claim_id, case, form = _check(found[3], cards)
        values = _find_measured(cards[claim_id], case)
        if case and not values:
            return found[0]
        verdict = cards[claim_id]["verdict"]
        shown = _format(values[0], form) if values else _say(found[1], verdict)
        # A text that goes on in the next line keeps its break.
        if _join(found[1]) == shown:
            return found[0]
        target = found[0].removeprefix(f"[{found[1]}]")
        return f"[{shown}]{target}"

    return JUDGED.sub(write, text)


def _say(text: str, verdict: str) -> str:
    """Return today's mark in place of a mark, today's verdict in place of a verdict, or the words."""
    words = _join(text)
    if words in MARKS:
        return mark(verdict)
    return verdict if words in list(map(str, Verdict)) else words


def _join(text: str) -> str:
    """Return the text of a link, which may go on in the next line of a page or of a comment, on one line."""
    return re.sub(r"\n#?\s*", " ", text)


def split(named: str) -> list[str]:
    """Return the parts of what a judged link names: a claim, or a claim, a case and a format."""
    return re.split(r"\\?\|", named)


def _check(named: str, cards: Cards) -> tuple[str, str, str]:
    """Return claim, case and format of a judged link; the last two are empty if it names a claim alone.

    Raises:
        BadInput: If the claim has no card here, or the link has neither one part nor three.
    """
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


def lost(text: str, cards: Cards) -> list[str]:
    """Return a line for each judged link of a text that names a claim without a card here.

    A link whose case the card lacks gets a line, too, and so does one with neither one part nor three.
    """
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
