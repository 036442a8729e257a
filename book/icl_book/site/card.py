"""The verdict card as HTML: from its record by one template, when pages are staged.

The record is all that a card, the audit and the front page show; ``templates/card.html.j2`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from icl_book.claims.card import Rows, agreement, decisive, refusal, spread
from icl_book.markup import environment, interval, number

#: What one reading, or several, say of a statement, by the outcome of their evidence.
_VERBS = {
    "agrees": ("holds", "hold"),
    "contradicts": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
}


def macros() -> Any:
    """Return the macros of the template, for pages that show parts of a record."""
    return environment().get_template("card.html.j2").module


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


def contradiction(rows: Rows, main: bool = False) -> str:
    """Say in one sentence which measured values would contradict the statement, as the rule has it.

    Where readings differ in their verdicts, the sentence says that it is about the `main` one.
    """
    ranges = sorted({(float(a), float(b)) for a, b in (r["permitted"] for r in rows)})
    lows = [low for low, _ in ranges if math.isfinite(low)]
    highs = sorted(high for _, high in ranges if math.isfinite(high))
    same = len(ranges) == 1
    if len(lows) == len(highs) == len(ranges):
        first, last = interval(ranges[0]), interval(ranges[-1])
        if same and lows == highs:
            where = f"other than {first}"
        elif same:
            where = f"outside {first}"
        elif all(low == high for low, high in ranges):
            where = f"other than the permitted one of its setting ({first} to {last})"
        else:
            where = f"outside the range for its setting ({first} to {last})"
    else:
        sides = [("below", 0, lows), ("above", 1, highs)]
        said = []
        for side, end, ends in sides:
            if not ends:
                continue
            if same or number(ends[0]) == number(ends[-1]):
                text = f"{side} {number(ends[0])}"
            else:
                span = f"{number(ends[0])} to {number(ends[-1])}"
                text = f"{side} the limit for its setting ({span})"
            if lows and highs and not same:  # some cases have this limit, others that
                limited = [r for r in rows if math.isfinite(float(r["permitted"][end]))]
                one = len(limited) == 1
                text += (
                    f" at one setting ({limited[0]['name']})"
                    if one
                    else f" at any of {len(limited)} settings"
                )
            said.append(text)
        where = " or ".join(said)
    value = "In our main reading, a value" if main else "A value"
    return f"{value} {where} would contradict the statement."


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
