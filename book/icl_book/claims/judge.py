"""Compare measured cases with what a claim permits, in every reading of it.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. One contradicting case contradicts a statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from icl_book.claims.card import Card, Reading
from icl_book.claims.case import Case, Range
from icl_book.claims.claim import Claim, Rule, Verdict
from icl_book.claims.registry import registry

Cases = Case | Iterable["Cases"]

AGREES, CONTRADICTS, UNDECIDED = "agrees", "contradicts", "undecided"


def judge(claim: Claim | str, cases: Cases, control: Cases = (), readings: Mapping[str, Cases] = {}) -> Card:
    """Judge a claim by its evidence.

    Args:
        claim: A claim, or its id in the `registry`.
        cases: The evidence, at least one case; a case, or any nesting of lists of them.
        control: The negative control's cases, the same way, if the claim has one: the rule must contradict
            each of them.
        readings: The cases of each alternative reading that is not just another rule, by its name.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If evidence, the control or an alternative's cases are missing or unexpected, or the claim
            is not testable.
        KeyError: If the id is unknown.
    """
    if isinstance(claim, str):
        claim = registry()[claim]
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is not testable: {claim.why_not}")
    cases, control = tuple(_flat(cases)), tuple(_flat(control))
    if not cases:
        raise ValueError(f"claim {claim.id}: needs at least one case")
    if bool(control) != bool(claim.control):
        raise ValueError(f"claim {claim.id}: control cases go with a control in words, and only with it")
    given = {name: tuple(_flat(some)) for name, some in readings.items()}
    others = []
    for alternative in claim.alternatives:
        mine = given.pop(alternative.name, ())
        if not mine and alternative.rule is None:
            raise ValueError(f"claim {claim.id}: cases of the reading {alternative.name!r} are missing")
        mine = mine or cases
        rule = alternative.rule or claim.rule
        others.append(Reading(alternative.name, _together(mine, rule), mine, rule))
    if given:
        raise ValueError(f"claim {claim.id}: no alternative is called {min(given)!r}")
    printed = _together(cases, claim.rule)
    verdict = _verdict(claim, cases, [printed, *(r.outcome for r in others)])
    # The control speaks about the statement we stand by. If the rule rejects the evidence and there is no
    # correction, the control shows that it can accept: a situation in which the statement is true.
    stand_by = claim.corrected_rule or claim.rule
    must = AGREES if printed == CONTRADICTS and claim.corrected_rule is None else CONTRADICTS
    passed = all(_reading(c, stand_by(c.parameters)) == must for c in control)
    limit = detection_limit(cases, stand_by) if _together(cases, stand_by) == AGREES else None
    ours = Reading("as we read it", printed, cases, claim.rule)
    return Card(claim, verdict, (ours, *others), control, passed, must, limit)


def _verdict(claim: Claim, cases: Sequence[Case], outcomes: Sequence[str]) -> Verdict:
    """Return the verdict that all readings together support."""
    seen = set(outcomes)
    if seen == {AGREES}:
        return Verdict.ESTABLISHED if claim.own else Verdict.HOLDS
    if {AGREES, CONTRADICTS} <= seen:
        return Verdict.OPEN if claim.own else Verdict.DEPENDS
    if seen != {CONTRADICTS}:
        return Verdict.OPEN if claim.own else Verdict.INCONCLUSIVE
    if claim.own:
        return Verdict.REFUTED
    if claim.corrected_rule is None:
        return Verdict.FAILS
    corrected = _together(cases, claim.corrected_rule)
    return {AGREES: Verdict.CORRECTED, CONTRADICTS: Verdict.FAILS, UNDECIDED: Verdict.INCONCLUSIVE}[corrected]


def detection_limit(cases: Sequence[Case], rule: Rule) -> float:
    """Return the smallest error that would have been seen: added to every measured number, it contradicts.

    An error of either sign that the rule can contradict must be seen; the larger of the two counts. For a
    one-sided bound it is the room left, the slack.

    Args:
        cases: The evidence.
        rule: The rule that it agrees with.

    Returns:
        The error, in the unit of the measured quantity; infinite if no error would be seen.
    """
    limits = []
    for side in (-1.0, 1.0):
        room = []
        for case in cases:
            (low, high), (first, last) = case.interval, rule(case.parameters)
            room.append(last - low if side > 0 else high - first)
        limits.append(max(0.0, min(room)))
    finite = [x for x in limits if math.isfinite(x)]
    return max(finite) if finite else math.inf


def _reading(case: Case, permitted: Range) -> str:
    (low, high), (first, last) = case.interval, permitted
    if high < first or low > last or math.isnan(case.measured):
        return CONTRADICTS
    return AGREES if first <= low and high <= last else UNDECIDED


def _together(cases: Sequence[Case], rule: Rule) -> str:
    readings = {_reading(c, rule(c.parameters)) for c in cases}
    return CONTRADICTS if CONTRADICTS in readings else UNDECIDED if UNDECIDED in readings else AGREES


def _flat(cases: Cases) -> Iterator[Case]:
    if isinstance(cases, Case):
        yield cases
    else:
        for some in cases:
            yield from _flat(some)
