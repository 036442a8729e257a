"""What we found, for the introduction and the README: every number is a case of a card."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from icl_book.site import judged

README_BLOCK = re.compile(r"(<!-- findings:begin -->\n).*?(<!-- findings:end -->)", re.DOTALL)

#: Each finding with the chapter that shows it.
FINDINGS: tuple[tuple[str, str], ...] = ()


def markdown(runs: Iterable[Mapping]) -> str:
    """Write the findings of the chapters that are given as a numbered list, each number a link to its card.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.

    Raises:
        BadInput: For a number that no card has.
    """
    runs = list(runs)
    where = {card["id"]: run["name"] for run in runs for card in run["cards"]}
    return _listed(
        runs,
        "../notebooks/{}.ipynb",
        lambda claim, text: judged.on_page(claim, text, f"../notebooks/{where[claim]}.html"),
    )


def readme(text: str, runs: Iterable[Mapping]) -> str:
    """Rewrite the findings in the README's text; the claims are named in parentheses."""
    found = _listed(list(runs), "notebooks/{}.ipynb", lambda claim, text: f"{text} ({claim})".strip())
    return README_BLOCK.sub(lambda m: m[1] + found + m[2], text)


def _listed(runs: list[Mapping], chapter: str, link: Callable[[str, str], str]) -> str:
    cards = {card["id"]: card for run in runs for card in run["cards"]}
    lines = []
    for name, finding in FINDINGS:
        if name in {run["name"] for run in runs}:
            text = judged.resolve(finding, cards, link)
            lines.append(f"{len(lines) + 1}. {text} [Read on]({chapter.format(name)})")
    return "\n".join(lines) + "\n"
