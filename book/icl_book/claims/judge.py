"""Compare measured cases with a claim's rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from icl_book.claims.card import Card
from icl_book.claims.claim import Case, Claim, Range, Verdict
from icl_book.claims.registry import registry

Cases = Case | Iterable["Cases"]


def _reading(case: Case, permitted: Range, resolution: float) -> str:
    low, high = case.interval
    if high < permitted[0] or low > permitted[1] or math.isnan(case.measured):
        return "contradicts"
    inside = permitted[0] <= low and high <= permitted[1]
    return "agrees" if inside or (high - low) / 2 <= resolution else "undecided"


def _together(readings: Sequence[str]) -> str:
    if "contradicts" in readings:
        return "contradicts"
    return "undecided" if "undecided" in readings or not readings else "agrees"


def _flat(cases: Cases) -> Iterator[Case]:
    if isinstance(cases, Case):
        yield cases
    else:
        for some in cases:
            yield from _flat(some)


def judge(claim: Claim | str, cases: Cases, control: Cases) -> Card:
    """Judge a claim by its evidence.

    Args:
        claim: A claim, or its id in the `registry`.
        cases: The evidence, at least one case; a case, or any nesting of lists of them.
        control: The negative control's cases, at least one, the same way.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If evidence or control is missing, or the claim is not testable.
        KeyError: If the id is unknown.
    """
    if isinstance(claim, str):
        claim = registry()[claim]
    cases, control = list(_flat(cases)), list(_flat(control))
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is not testable: {claim.why_not}")
    if not cases or not control:
        raise ValueError(f"claim {claim.id}: needs at least one case and one control case")
    printed = _together([_reading(c, claim.rule(c.parameters), claim.resolution) for c in cases])
    if printed == "agrees":
        verdict = Verdict.HOLDS
    elif printed == "undecided":
        verdict = Verdict.INCONCLUSIVE
    elif claim.corrected_rule is None:
        verdict = Verdict.FAILS
    else:
        corrected = _together(
            [_reading(c, claim.corrected_rule(c.parameters), claim.resolution) for c in cases]
        )
        verdict = {
            "agrees": Verdict.CORRECTED,
            "contradicts": Verdict.FAILS,
            "undecided": Verdict.INCONCLUSIVE,
        }[corrected]
    # The control speaks about the statement we stand by: the corrected one if there is one.
    stand_by = claim.corrected_rule or claim.rule
    readings = {_reading(c, stand_by(c.parameters), claim.resolution) for c in control}
    return Card(claim, verdict, tuple(cases), tuple(control), readings == {claim.control_reading})
