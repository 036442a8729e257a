"""Write verdict cards as HTML, each from its record, by the template ``card.html.j2``."""

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

_VERBS = {"agrees": "holds", "contradicts": "fails", "undecided": "is undecided"}


def load_macros() -> Any:
    """Return the macros of the template as a module."""
    return environment().get_template("site/card.html.j2").module


def render(record: Mapping[str, Any], on_a_page: bool = False) -> str:
    """Return a card as HTML. ``on_a_page`` adds a link to the audit page."""
    return str(load_macros().card(record, on_a_page))


def choose_headline(cases: Cases) -> dict[str, str]:
    """Choose what a closed card shows: the range of the numbers of all cases, or the number of one case.

    The range is shown if all cases have the same permitted range. Otherwise the case is the one whose number
    lies farthest outside its permitted range, or nearest to an end of it.

    Returns:
        Three texts: ``measured``, ``permitted``, and ``where``, the name of the case, which is empty for the
        range.
    """
    if len({tuple(case["permitted"]) for case in cases}) == 1:
        values = sorted(float(case["measured"]) for case in cases)
        # Ends that are written alike become one.
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


def describe_result(record: Mapping[str, Any]) -> str:
    """Return what a closed card says after its title: the number in words, and the name of its case."""
    shown = choose_headline(record["cases"])
    text = str(record["result"]).replace("{}", shown["measured"])
    return text + (f" ({shown['where']})" if shown["where"] else "")


def _measure_inside(case: Mapping[str, Any]) -> float:
    """Return the distance of a case's number from the nearer permitted end, negative if it lies outside."""
    low, high = map(float, case["permitted"])
    return min(float(case["measured"]) - low, high - float(case["measured"]))


def _format_size(size: float | str) -> str:
    """Format a positive number with two significant digits: 210, not 2.1e+02."""
    x = float(size)
    if math.isinf(x):
        return "infinity"
    # From 99.5 on the format .2g writes an exponent, which is shorter from 1e5 on.
    return format_number(f"{x:.2g}", ".0f" if 99.5 <= x < 1e5 else ".2g")


def count_readings(readings: Mapping[str, str]) -> str:
    """Return e.g. "It holds in this reading and fails in both others", where the first reading is ours."""
    ours, *others = readings.values()
    text = f"It {_VERBS[ours]} in this reading"
    # All other readings have the same outcome.
    if len(set(others)) == 1:
        names = {1: "the other one", 2: "both others"}
        every = names.get(len(others), f"all {len(others)} others")
        return f"{text} and {_VERBS[others[0]]} in {every}"
    parts = [
        f"{verb} in {others.count(outcome)}"
        for outcome, verb in _VERBS.items()
        if outcome in others
    ]
    listed = ", ".join(parts[:-1]) + f" and {parts[-1]}"
    return f"{text}, while of the {len(others)} others it {listed}"


def split_sentences(text: str) -> tuple[str, str]:
    """Return the first sentence of a text without its period, and the other sentences."""
    first, _, others = text.partition(". ")
    return first, others


environment().filters |= {
    "agreement": count_outcomes,
    "asked": describe_measurement,
    "badge": badge,
    "contradiction": describe_contradiction,
    "decisive": describe_decisive_case,
    "divided": count_readings,
    "headline": choose_headline,
    "refusal": explain_refusal,
    "result": describe_result,
    "sentences": split_sentences,
    "size": _format_size,
    "spread": describe_interval,
}
