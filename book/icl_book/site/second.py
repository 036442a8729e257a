"""Numbers of pages beside their second computations, which the scripts of ``book/checks`` have printed.

In one line such a script says which claim it computes, the parameters of the case, the number and its error,
as in ``P1.G.ball | dim=5 what='floor' | 0.015504 | 0.00001``. The error is how far the card's number may be
away.
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

#: On these pages every number of a card needs a second computation.
PAGES = ("introduction", "path", "findings", "second")


@dataclass(frozen=True)
class Line:
    """A number that a script computed."""

    claim: str
    #: Some or all parameters of the case.
    labels: dict[str, Any]
    number: float
    error: float


def lines(text: str) -> list[Line]:
    """Return the numbers in what a script has printed, whose form the module's docstring describes."""
    found = []
    for line in text.splitlines():
        claim, case, number, error = line.split(" | ")
        pairs = re.findall(r"(\w+)=('[^']*'|\S+)", case)
        labels = {key: ast.literal_eval(value) for key, value in pairs}
        found.append(Line(claim, labels, float(number), float(error)))
    return found


def committed(root: Path) -> list[Line]:
    """Return what all scripts have printed."""
    texts = (p.read_text(encoding="utf-8") for p in sorted((root / "book/checks").glob("*.txt")))
    return [line for text in texts for line in lines(text)]


def apart(text: str, cards: Cards, computed: Iterable[Line]) -> list[str]:
    """Return a line for each judged number of a text without a second computation within its error.

    Each link names a case of these cards, as `icl_book.site.audit.lost` checks. Links with a claim alone show
    a verdict, not a number.
    """
    computed = list(computed)
    found = []
    for _, _, named in JUDGED.findall(text):
        claim_id, *rest = split(named)
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
            # A number that is NaN gets a line, too.
            if not abs(line.number - case["measured"]) <= line.error
        ]
    return found
