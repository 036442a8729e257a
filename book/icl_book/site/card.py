"""The verdict card as HTML: from its record by one template, when pages are staged.

The record is all that a card, the audit and the front page show; ``card.html.j2`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from icl_book.claims.card import Rows, agreement, contradiction, decisive, refusal, spread
from icl_book.markup import environment, interval, number

#: What one reading, or several, say of a statement, by the outcome of their evidence.
_VERBS = {
    "agrees": ("holds", "hold"),
    "contradicts": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
}


def macros() -> Any:
    """Return the macros of the template, for pages that show parts of a record."""
    return environment().get_template("site/card.html.j2").module


def render(record: Mapping[str, Any], on_a_page: bool = False) -> str:
    """Write a card as HTML, from its record; on a page it links to the audit."""
    return str(macros().card(record, on_a_page))


def headline(rows: Rows) -> dict[str, str]:
    """Choose the number that a card shows at once: the range of all cases, or the least favorable case.

    Where all cases permit the same, the numbers are one range. Where each has its own limit, the case whose
    number is nearest to it, or farthest beyond it, says most.

    Returns:
        ``measured``, ``permitted`` and ``where``, which names the case, or is empty for all.
    """
    if len({tuple(row["permitted"]) for row in rows}) == 1:
        values = sorted(float(row["measured"]) for row in rows)
        ends = list(dict.fromkeys(number(x, ".4g") for x in (values[0], values[-1])))
        where = ""
    else:
        rows = [min(rows, key=_inside)]
        ends = [number(rows[0]["measured"], ".4g")]
        where = rows[0]["name"]
    return {
        "measured": " to ".join(ends),
        "permitted": interval(rows[0]["permitted"]),
        "where": where,
    }


def _inside(row: Mapping[str, Any]) -> float:
    """Return how far a number lies within what is permitted; negative beyond it."""
    low, high = map(float, row["permitted"])
    return min(float(row["measured"]) - low, high - float(row["measured"]))


def _size(limit: float | str) -> str:
    """Format a distance with two digits: 210, not 2.1e+02."""
    x = float(limit)
    if math.isinf(x):
        return "infinity"
    return number(f"{x:.2g}", ".0f" if 99.5 <= x < 1e5 else ".2g")


def divided(readings: Mapping[str, str]) -> str:
    """Say in which readings a statement holds and in which it fails, from their outcomes, ours first."""
    ours, *others = readings.values()
    text = f"The statement {_VERBS[ours][0]} in our main reading."
    if len(others) == 1:
        return f"{text} In the other reading it {_VERBS[others[0]][0]}."
    if len(set(others)) == 1:
        all_of = "Both" if len(others) == 2 else f"All {len(others)}"
        return f"{text} {all_of} other readings {_VERBS[others[0]][1]}."
    parts = []
    for outcome, (one, many) in _VERBS.items():
        if count := others.count(outcome):
            parts.append(f"{count} {one if count == 1 else many}")
    listed = ", ".join(parts[:-1]) + f" and {parts[-1]}"
    return f"{text} Of the {len(others)} other readings, {listed}."


def measured(quantity: str) -> tuple[str, str]:
    """Split what is measured into its first sentence, which a card shows at once, and the others."""
    first, _, others = quantity.partition(". ")
    return first, others


environment().filters |= {
    "agreement": agreement,
    "contradiction": contradiction,
    "decisive": decisive,
    "divided": divided,
    "headline": headline,
    "measured": measured,
    "refusal": refusal,
    "size": _size,
    "spread": spread,
}
