"""Compare numbers of pages with their second computations, which the scripts of ``book/checks`` have printed.

A script prints a line for each number, as ``P1.G.ball | dim=5 what='floor' | 0.015504 | 0.00001``: the claim,
parameters of the case, the number, and by how much the card's number may differ.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_book.runner.record import list_cases
from icl_book.site.audit import JUDGED, Cards, split

#: Each number of a card on these pages needs a second computation.
PAGES = ("introduction", "path", "findings", "second")


@dataclass(frozen=True)
class Line:
    """A number that a script computed, with the three other parts of its line."""

    claim: str
    #: Parameters that tell the case from the other cases of the claim, not necessarily all of them.
    labels: dict[str, Any]
    number: float
    #: The largest difference from the card's number.
    error: float


def read_lines(text: str) -> list[Line]:
    """Return a `Line` for each line of ``text``, the output of a script."""
    found = []
    for line in text.splitlines():
        claim, case, number, error = line.split(" | ")
        # A text stands in single quotes, and may contain spaces.
        pairs = re.findall(r"(\w+)=('[^']*'|\S+)", case)
        labels = {key: ast.literal_eval(value) for key, value in pairs}
        found.append(Line(claim, labels, float(number), float(error)))
    return found


def read_committed(root: Path) -> list[Line]:
    """Return the lines that all scripts have printed, from the ``.txt`` files beside the scripts."""
    texts = (p.read_text(encoding="utf-8") for p in sorted((root / "book/checks").glob("*.txt")))
    return [line for text in texts for line in read_lines(text)]


def find_unconfirmed(text: str, cards: Cards, computed: Iterable[Line]) -> list[str]:
    """Return problems of the numbers in a page's judged links that the scripts do not confirm.

    Each judged link of ``text`` must lead to a card, and to a case if it names one.
    """
    computed = list(computed)
    found = []
    for _, _, named in JUDGED.findall(text):
        claim_id, *rest = split(named)
        # A link that names a claim alone does not show a number.
        if not rest:
            continue
        case = next(c for c in list_cases(cards[claim_id]) if c["name"] == rest[0])
        matching = [
            line
            for line in computed
            if line.claim == claim_id and line.labels.items() <= case["parameters"].items()
        ]
        if not matching:
            found.append(f"judged:{named}: no script of book/checks computes {case['parameters']}")
        found += [
            f"judged:{named}: {case['measured']:g} on the card, {line.number:g} by a script,"
            f" which may be {line.error:g} away"
            for line in matching
            # NaN is a problem, too.
            if not abs(line.number - case["measured"]) <= line.error
        ]
    return found
