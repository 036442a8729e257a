r"""Numbers in a short answer or a finding: each is a case of a card, and links to it.

A chapter writes ``{judged}`P1.T2.sharp | ReLU, d = 5 | .2f` `` where a number stands, with the claim, the
case's name and the format, a factor before it if need be (``100*.0f``), and ``{judged}`P1.T2.sharp` `` where
a number is typed, such as an exponent of the statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from icl_book.parameters import BadInput

ROLE = re.compile(r"\{judged\}`([^`]+)`")
_SHORT_ANSWER = re.compile(r"^\*\*Short answer\.\*\* .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"10\^\{?(-?\d+)\}?|\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_WORDS = {"half": 0.5, "one": 1, "two": 2, "twice": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
# Numbers that only name something, and roles that write their own
_NAMES = re.compile(
    r"\b(?:Theorem|Lemma|Fig(?:ure|\.)|Question|paper|Section)s? \d+(?:\.\d+)?|arXiv[ :]\d{4}\.\d{5}"
    r"|\{(?:numref|eq|cite:\w+|prf:ref|doc|ref|term)\}`[^`]*`|\]\([^)]*\)",
    re.IGNORECASE,
)

Cards = Mapping[str, Mapping]


def rows(card: Mapping) -> Iterator[Mapping]:
    """Yield the measured cases of a card's record, of all readings and of the control."""
    yield from card["cases"]
    for others in card.get("other_readings", {}).values():
        yield from others
    yield from card.get("control_cases", ())


def short_answer(content: Mapping) -> str:
    """Return the short answer of a notebook's content, empty if it has none."""
    texts = ("".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "markdown")
    return next((m[0] for text in texts if (m := _SHORT_ANSWER.search(text))), "")


def _show(text: str, cards: Cards, lenient: bool = False) -> tuple[str, str]:
    """Return the claim that a role names, and the number it shows, empty without a case."""
    claim, *rest = (part.strip() for part in text.split(" | "))
    if claim not in cards:
        raise BadInput(f"{{judged}}`{text}`: no card of {claim} is on this page")
    if not rest:
        return claim, ""
    if len(rest) != 2:
        raise BadInput(f"{{judged}}`{text}`: must be a claim, or a claim, a case and a format")
    found = [row["measured"] for row in rows(cards[claim]) if row["name"] == rest[0]]
    if not found and lenient:
        return claim, ""
    if not found:
        raise BadInput(f"{{judged}}`{text}`: {claim} has no case of this name")
    return claim, _formatted(found[0], rest[1])


def _formatted(value: float | str, form: str) -> str:
    factor, star, spec = form.rpartition("*")
    return format(float(value) * (float(factor) if star else 1), spec)


def resolve(text: str, cards: Cards, link: Callable[[str, str], str]) -> str:
    """Replace the roles of a text; of a case that this run does not have, the claim alone is named.

    Args:
        text: Markdown.
        cards: Records of cards by claim.
        link: From a claim and the text shown, empty for a claim alone, to what stands on the page.

    Raises:
        BadInput: For a claim that is not judged.
    """
    return ROLE.sub(lambda m: link(*_show(m[1], cards, lenient=True)), text)


def on_page(claim: str, text: str, page: str = "") -> str:
    """Write a link to a card as inline HTML."""
    name = text or f"({claim})"
    return f'<a class="icl-judged" href="{page}#claim-{claim}" title="judged: {claim}">{name}</a>'


def sentences(text: str) -> list[str]:
    """Split prose into sentences; a full stop inside a formula or a role ends none."""
    kept: list[str] = []

    def keep(match: re.Match) -> str:
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
    return {float(v) for word, v in _WORDS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)}


def _said(card: Mapping) -> str:
    fields = ("statement", "quote", "quantity", "quantifier", "corrected")
    parts = [card.get(k) or "" for k in fields] + [*card["readings"], *card["depends_on"]]
    return " ".join([*parts, *(row["name"] for row in rows(card))])


def problems(where: str, text: str, cards: Cards, others: Iterable[Mapping] = ()) -> list[str]:
    """Find numbers that no card judges, sizes that a sentence leaves out, and numbers that move.

    Args:
        where: What the text is, for the message.
        text: A short answer, or a finding.
        cards: Records of the cards that it may name.
        others: Records of cards of other runs; a case of the same name must round to the same number.
    """
    found = []
    for sentence in sentences(text):
        start = f"{where}: {sentence[:60]!r}..."
        sizes: set[float] = set()
        allowed: set[float] = set()
        for match in ROLE.finditer(sentence):
            try:
                claim, shown = _show(match[1], cards)
            except BadInput as error:
                found.append(f"{where}: {error}")
                continue
            allowed |= digits(_said(cards[claim])) | words(_said(cards[claim]))
            if shown:
                _, case, form = (part.strip() for part in match[1].split(" | "))
                sizes |= digits(case)
                found += [
                    f"{start}: {claim}, {case}: {shown} here, {now} in {run}"
                    for run, value in elsewhere(others, claim, case)
                    if (now := _formatted(value, form)) != shown
                ]
        bare = ROLE.sub(" ", sentence)
        if unknown := digits(bare) - allowed:
            found.append(f"{start}: {min(unknown):g} is in no claim that the sentence names")
        if missing := sizes - digits(bare) - words(bare):
            found.append(f"{start}: {min(missing):g} is a size of the case, but not in the sentence")
    return found


def elsewhere(runs: Iterable[Mapping], claim: str, case: str) -> Iterator[tuple[str, float | str]]:
    """Yield where else a case of a claim was measured, and what."""
    for run in runs:
        for card in run["cards"]:
            if card["id"] == claim:
                yield from ((run["name"], row["measured"]) for row in rows(card) if row["name"] == case)


def book(
    answers: Mapping[str, str], runs: Sequence[Mapping], committed: Path, front: Mapping[str, str]
) -> list[str]:
    """Find problems of all short answers and findings.

    Args:
        answers: The short answer of each chapter, as its source has it.
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        committed: Folder of the results of other presets and other random streams.
        front: The findings, by what they are called in a message.
    """
    others = list(other_runs(committed))
    every = {card["id"]: card for run in runs for card in run["cards"]}
    found = []
    for run in runs:
        mine = {card["id"]: card for card in run["cards"]}
        found += problems(f"notebooks/{run['name']}", answers.get(run["name"], ""), mine, others)
    for where, text in front.items():
        found += problems(where, text, every, others)
    return found


def other_runs(committed: Path) -> Iterator[dict]:
    """Yield the cards of the committed results, with the name of the run."""
    for preset in ("paper", "confirmatory"):
        for path in sorted((committed / preset).glob("*.json")):
            yield {"name": preset, "cards": json.loads(path.read_text(encoding="utf-8"))["cards"]}
    for path in sorted((committed / "replications").glob("*.json")):
        claims = json.loads(path.read_text(encoding="utf-8")).get("claims", {})
        cards = [
            {"id": i, "cases": [{"name": k, "measured": v} for k, v in card["cases"].items()]}
            for i, card in claims.items()
        ]
        yield {"name": f"seed {path.stem}", "cards": cards}
