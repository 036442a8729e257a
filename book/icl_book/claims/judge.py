"""Compare measured cases with what a claim permits, in every reading of it.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. An extrapolated case whose error is larger than
what the card has to tell apart is undecided. One contradicting case contradicts a statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from icl_book.claims.card import Card, Reading
from icl_book.claims.case import Case
from icl_book.claims.claim import Claim, Grade, Rule, Verdict
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
        ValueError: If evidence, the control or an alternative's cases are missing or unexpected, the claim is
            not testable, an exact case of an exact claim has no error, or an extrapolated one no resolution.
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
        others.append(_read(claim, alternative.name, mine, rule))
    if given:
        raise ValueError(f"claim {claim.id}: no alternative is called {min(given)!r}")
    for case in [*cases, *control, *(c for r in others for c in r.cases)]:
        _check(claim, case)
    ours = _read(claim, "as we read it", cases, claim.rule)
    printed = ours.outcome
    late = [a.late for a in claim.alternatives]
    first = [printed, *(r.outcome for r, added in zip(others, late, strict=True) if not added)]
    verdict = _verdict(claim, cases, first)
    if verdict in (Verdict.HOLDS, Verdict.ESTABLISHED):  # all that a reading added after its data can change
        verdict = _verdict(claim, cases, [printed, *(r.outcome for r in others)])
    # The control speaks about the statement we stand by. If the rule rejects the evidence and there is no
    # correction, the control shows that it can accept: a situation in which the statement is true.
    stand_by = claim.corrected_rule or claim.rule
    must = AGREES if printed == CONTRADICTS and claim.corrected_rule is None else CONTRADICTS
    tried = tuple(outcome(claim, c, stand_by) for c in control)
    agrees = _together(outcome(claim, c, stand_by) for c in cases) == AGREES
    limits = detection_limits(cases, stand_by) if agrees else None
    return Card(claim, verdict, (ours, *others), control, tried, must, limits)


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
    corrected = _read(claim, "", cases, claim.corrected_rule).outcome
    return {AGREES: Verdict.CORRECTED, CONTRADICTS: Verdict.FAILS, UNDECIDED: Verdict.INCONCLUSIVE}[corrected]


def detection_limits(cases: Sequence[Case], rule: Rule) -> tuple[float, float]:
    """Return the smallest error that would have been seen, in the most and in the least sensitive case.

    An error is planted in one number: it is seen if the number then contradicts. An error of either sign that
    the rule can contradict must be seen; the larger of the two counts. For a one-sided bound it is the room
    left.

    Args:
        cases: The evidence.
        rule: The rule that it agrees with.

    Returns:
        The least and the largest over the cases, in the unit of the measured quantity; infinite if no error
        would be seen.
    """
    limits = []
    for case in cases:
        (low, high), (first, last) = case.interval, rule(case.parameters)
        finite = [max(0.0, x) for x in (last - low, high - first) if math.isfinite(x)]
        limits.append(max(finite, default=math.inf))
    return min(limits), max(limits)


def _check(claim: Claim, case: Case) -> None:
    """Refuse a case without the error, or a claim without the resolution, that its kind needs."""
    where = f"claim {claim.id}: case {case.name!r}"
    if case.kind == "extrapolated" and claim.resolution is None:
        raise ValueError(f"{where} is extrapolated, but the claim has no resolution")
    whole = math.isinf(case.measured) or case.measured == round(case.measured)
    if case.kind == "exact" and claim.grade in (Grade.EXACT, Grade.CERTIFIED) and not whole:
        if case.interval[0] == case.interval[1]:
            raise ValueError(f"{where} needs the error that the code computed")


def outcome(claim: Claim, case: Case, rule: Rule) -> str:
    """Return what a case says of a rule: ``"agrees"``, ``"contradicts"`` or ``"undecided"``."""
    (low, high), (first, last) = case.interval, rule(case.parameters)
    if case.kind == "extrapolated":
        tells = claim.resolution(case.parameters) if callable(claim.resolution) else claim.resolution
        if (high - low) / 2 > tells:
            return UNDECIDED
    if high < first or low > last:
        return CONTRADICTS
    return AGREES if first <= low and high <= last else UNDECIDED


def _read(claim: Claim, name: str, cases: tuple[Case, ...], rule: Rule) -> Reading:
    ends = {sum(map(math.isfinite, rule(c.parameters))) for c in cases}
    if 0 in ends or ends == {1, 2}:
        raise ValueError(f"claim {claim.id}: the reading {name!r} permits everything in some cases")
    outcomes = tuple(outcome(claim, c, rule) for c in cases)
    return Reading(name, _together(outcomes), cases, rule, outcomes)


def _together(outcomes: Iterable[str]) -> str:
    seen = set(outcomes)
    return CONTRADICTS if CONTRADICTS in seen else UNDECIDED if UNDECIDED in seen else AGREES


def _flat(cases: Cases) -> Iterator[Case]:
    if isinstance(cases, Case):
        yield cases
    else:
        for some in cases:
            yield from _flat(some)
