r"""Numbers in a short answer or a finding: each is a case of a card, and links to it.

A text says ``{judged}`P1.T2.sharp | ReLU, d = 5 | .2f` `` where a number stands, with the claim, the case and
the format, a factor before it if need be (``100*.0f``), ``{judged}`P1.T2.sharp` `` where a number is typed,
such as an exponent of the statement, and ``{judged}`P1.T2.sharp | verdict` `` for the verdict. The findings
are the numbered list of the front page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from icl_book.parameters import BadInput
from icl_book.site.audit import Record, cases

Cards = Mapping[str, Record]
Number = tuple[
    str, str, str, float | str
]  # name of a run, claim, case, what it measured

ROLE = re.compile(r"\{judged\}`([^`]+)`")
_SHORT_ANSWER = re.compile(
    r"^\*\*Short answer\.\*\* .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL
)
_FINDINGS = re.compile(r"^## What we found\n+(.*?)(?=\n## )", re.MULTILINE | re.DOTALL)
_README = re.compile(
    r"(<!-- findings:begin -->\n).*?(<!-- findings:end -->)", re.DOTALL
)
_NUMBER = re.compile(r"10\^\{?(-?\d+)\}?|\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_WORDS = {
    "half": 0.5,
    "one": 1,
    "two": 2,
    "twice": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "ten": 10,
}
# Numbers that only name something, and roles that write their own
_NAMES = re.compile(
    r"\b(?:Theorem|Lemma|Fig(?:ure|\.)|Question|paper|Section)s? \d+(?:\.\d+)?|arXiv[ :]\d{4}\.\d{5}"
    r"|\{(?:numref|eq|cite:\w+|prf:ref|doc|ref|term)\}`[^`]*`|\]\([^)]*\)|^\d+\.(?: |$)",
    re.IGNORECASE,
)


def short_answer(content: Mapping[str, Any]) -> str:
    """Return the short answer of a notebook's content, empty if it has none."""
    texts = (
        "".join(cell["source"])
        for cell in content["cells"]
        if cell["cell_type"] == "markdown"
    )
    return next((m[0] for text in texts if (m := _SHORT_ANSWER.search(text))), "")


def findings(root: Path) -> list[str]:
    """Return the findings of the front page as they are written there, each on one line; maybe none."""
    found = _FINDINGS.search(
        (root / "book" / "introduction.md").read_text(encoding="utf-8")
    )
    items = re.split(r"^(?=\d+\. )", found[1], flags=re.MULTILINE) if found else []
    return [" ".join(item.split()) for item in items if item]


def readme(text: str, said: Sequence[str], cards: Cards) -> str:
    """Rewrite the findings in the README's text; the claims that judge one are named at its end."""

    def plain(finding: str) -> str:
        claims = ", ".join(
            dict.fromkeys(m[1].partition(" | ")[0] for m in ROLE.finditer(finding))
        )
        shown = re.sub(
            r" +(?=[ .,;:])", "", resolve(finding, cards, lambda claim, number: number)
        )
        return re.sub(
            r"\[Read on\]\(\.\./(.*)\)",
            rf"Judged by {claims}. [Read on](\1.ipynb)",
            shown,
        )

    return _README.sub(
        lambda m: m[1] + "".join(f"{plain(one)}\n" for one in said) + m[2], text
    )


def resolve(text: str, cards: Cards, link: Callable[[str, str], str]) -> str:
    """Replace the roles of a text; of a case that this run does not have, the claim alone is named.

    Args:
        text: Markdown.
        cards: Records of cards by claim.
        link: From a claim and the number shown, empty for a claim alone, to what stands on the page.

    Raises:
        BadInput: For a claim that is not judged.
    """

    def show(role: re.Match[str]) -> str:
        claim, case, form = _parts(role[1], cards)
        if role[1].endswith("| verdict"):
            return link(claim, cards[claim]["verdict"])
        values = _measured(cards[claim], case)
        return link(claim, _formatted(values[0], form) if values else "")

    return ROLE.sub(show, text)


def _parts(role: str, cards: Cards) -> tuple[str, str, str]:
    """Return claim, case and format of a role; the last two are empty if it names a claim or its verdict."""
    claim, *rest = (part.strip() for part in role.split(" | "))
    if claim not in cards:
        raise BadInput(f"{{judged}}`{role}`: no card of {claim} is on this page")
    if rest in ([], ["verdict"]):
        return claim, "", ""
    if len(rest) != 2:
        raise BadInput(
            f"{{judged}}`{role}`: must be a claim, its verdict, or a claim, a case and a format"
        )
    return claim, rest[0], rest[1]


def _measured(card: Mapping[str, Any], case: str) -> list[float | str]:
    return [row["measured"] for row in cases(card) if row["name"] == case]


def _formatted(value: float | str, form: str) -> str:
    factor, star, spec = form.rpartition("*")
    return format(float(value) * (float(factor) if star else 1), spec)


def sentences(text: str) -> list[str]:
    """Split prose into sentences; a full stop inside a formula or a role ends none."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    bare = re.sub(r"\{[\w:]+\}`[^`]*`|\$[^$]*\$", keep, " ".join(text.split()))
    parts = re.split(r"(?<=[.!?:])\**\s+(?=[A-Z*\0{])", bare)
    return [re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], part) for part in parts]


def digits(text: str) -> set[float]:
    """Return the numbers that a text has in digits, but for those that only name something."""
    found = _NUMBER.finditer(_NAMES.sub(" ", text))
    return {float(m[0]) if m[1] is None else 10.0 ** int(m[1]) for m in found}


def words(text: str) -> set[float]:
    """Return the numbers that a text has in words."""
    return {
        float(v)
        for word, v in _WORDS.items()
        if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    }


def _said(card: Mapping[str, Any]) -> str:
    fields = ("statement", "quote", "quantity", "quantifier", "corrected")
    parts = [card.get(k) or "" for k in fields] + [
        *card["readings"],
        *card["depends_on"],
    ]
    return " ".join([*parts, *(row["name"] for row in cases(card))])


def problems(
    where: str, text: str, cards: Cards, others: Sequence[Number] = ()
) -> list[str]:
    """Find numbers that no card judges, sizes that a sentence leaves out, and numbers that move.

    Args:
        where: What the text is, for the message.
        text: A short answer, or a finding.
        cards: Records of the cards that it may name.
        others: Numbers of other runs; a case of the same name must round to the same number.
    """
    found = []
    for sentence in sentences(text):
        start = f"{where}: {sentence[:60]!r}..."
        sizes: set[float] = set()
        allowed: set[float] = set()
        for match in ROLE.finditer(sentence):
            try:
                claim, case, form = _parts(match[1], cards)
            except BadInput as error:
                found.append(f"{where}: {error}")
                continue
            allowed |= digits(_said(cards[claim])) | words(_said(cards[claim]))
            values = _measured(cards[claim], case)
            if case and not values:
                found.append(
                    f"{where}: {{judged}}`{match[1]}`: {claim} has no case of this name"
                )
            elif case:
                sizes |= digits(case)
                shown = _formatted(values[0], form)
                found += [
                    f"{start}: {claim}, {case}: {shown} here, {now} in {run}"
                    for run, *which, value in others
                    if which == [claim, case]
                    and (now := _formatted(value, form)) != shown
                ]
        bare = ROLE.sub(" ", sentence)
        if unknown := digits(bare) - allowed:
            found.append(
                f"{start}: {min(unknown):g} is in no claim that the sentence names"
            )
        if missing := sizes - digits(bare) - words(bare):
            found.append(
                f"{start}: {min(missing):g} is a size of the case, but not in the sentence"
            )
    return found


def other_runs(
    registered: Iterable[Record], replications: Iterable[Record]
) -> Iterator[Number]:
    """Yield the numbers of the registered run and of the replications."""
    for run in registered:
        for card in run["cards"]:
            for row in cases(card):
                yield "the registered run", card["id"], row["name"], row["measured"]
    for run in replications:
        for claim, card in run["claims"].items():
            for name, value in card["cases"].items():
                yield f"seed {run['seed']}", claim, name, value
