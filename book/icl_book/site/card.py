"""The verdict card as HTML: from its record by one template, when pages are staged.

The record is all that a card, the audit and the front page show; ``card.html.j2`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from icl_book.claims.card import (
    Cases,
    badge,
    count_outcomes,
    describe_contradiction,
    describe_decisive_case,
    describe_interval,
    describe_measurement,
    explain_refusal,
)
from icl_book.markup import environment, format_interval, format_number

#: Verbs for a statement in a reading, by the outcome of the evidence.
_VERBS = {"agrees": "holds", "contradicts": "fails", "undecided": "is undecided"}


def macros() -> Any:
    """Return the macros of the template, for pages that show parts of a record."""
    return environment().get_template("site/card.html.j2").module


def render(record: Mapping[str, Any], on_a_page: bool = False) -> str:
    """Write a card as HTML, from its record; on a page it links to the audit."""
    return str(macros().card(record, on_a_page))


def headline(cases: Cases) -> dict[str, str]:
    """Choose the number that a card shows at once: the range of all cases, or the least favorable case.

    Where all cases permit the same, the numbers are one range. Where each has its own limit, the case whose
    number is nearest to it, or farthest beyond it, says most.

    Returns:
        ``measured``, ``permitted`` and ``where``, which names the case, or is empty for all.
    """
    if len({tuple(case["permitted"]) for case in cases}) == 1:
        values = sorted(float(case["measured"]) for case in cases)
        # Two ends that are written alike become one.
        ends = list(dict.fromkeys(format_number(x, ".4g") for x in (values[0], values[-1])))
        where = ""
    else:
        cases = [min(cases, key=_measure_inside)]
        ends = [format_number(cases[0]["measured"], ".4g")]
        where = cases[0]["name"]
    return {
        "measured": " to ".join(ends),
        "permitted": format_interval(cases[0]["permitted"]),
        "where": where,
    }


def result(record: Mapping[str, Any]) -> str:
    """Return what a closed card says after its title: the number in words, and of which case it is."""
    shown = headline(record["cases"])
    text = str(record["result"]).replace("{}", shown["measured"])
    return text + (f" ({shown['where']})" if shown["where"] else "")


def _measure_inside(case: Mapping[str, Any]) -> float:
    """Return how far a number lies within what is permitted; negative beyond it."""
    low, high = map(float, case["permitted"])
    return min(float(case["measured"]) - low, high - float(case["measured"]))


def _format_size(limit: float | str) -> str:
    """Format a distance with two digits: 210, not 2.1e+02."""
    x = float(limit)
    if math.isinf(x):
        return "infinity"
    return format_number(f"{x:.2g}", ".0f" if 99.5 <= x < 1e5 else ".2g")


def divided(readings: Mapping[str, str]) -> str:
    """Return a sentence, without its period, on a verdict that depends on the reading.

    It counts the outcomes of the readings, of which the first is ours, and there is at least one other.
    """
    ours, *others = readings.values()
    text = f"It {_VERBS[ours]} in this reading"
    if len(set(others)) == 1:
        every = {1: "the other one", 2: "both others"}.get(len(others), f"all {len(others)} others")
        return f"{text} and {_VERBS[others[0]]} in {every}"
    parts = [
        f"{verb} in {others.count(outcome)}"
        for outcome, verb in _VERBS.items()
        if outcome in others
    ]
    listed = ", ".join(parts[:-1]) + f" and {parts[-1]}"
    return f"{text}, while of the {len(others)} others it {listed}"


def sentences(text: str) -> tuple[str, str]:
    """Split off the first sentence of what is measured, which a card shows at once, from the others."""
    first, _, others = text.partition(". ")
    return first, others


environment().filters |= {
    "agreement": count_outcomes,
    "asked": describe_measurement,
    "badge": badge,
    "contradiction": describe_contradiction,
    "decisive": describe_decisive_case,
    "divided": divided,
    "headline": headline,
    "refusal": explain_refusal,
    "result": result,
    "sentences": sentences,
    "size": _format_size,
    "spread": describe_interval,
}
