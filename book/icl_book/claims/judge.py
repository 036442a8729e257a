"""Compare measured cases with what a claim permits, in every reading of it.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. An extrapolated case whose error is larger than
what the card has to tell apart is undecided. One contradicting case contradicts a statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from icl_book.claims.card import Card, plain, row, stability, statement_record
from icl_book.claims.case import Case, cases
from icl_book.claims.claim import Claim, Grade, Rule, Verdict
from icl_book.claims.registry import registry

#: A tidy table, or what `cases` makes of it, in any nesting of lists.
Evidence = pd.DataFrame | Case | Iterable["Evidence"]

AGREES, CONTRADICTS, UNDECIDED = "agrees", "contradicts", "undecided"
OURS = "as we read it"


def judge(
    claim: Claim | str,
    evidence: Evidence,
    control: Evidence = (),
    readings: Mapping[str, Evidence] = {},
    *,
    folded: bool = False,
    **columns: Any,
) -> Card:
    """Judge a claim by its evidence.

    Args:
        claim: A claim, or its id in the `registry`.
        evidence: A tidy table, one row a case, labels as columns; what `cases` makes of a table, where
            tables have other columns; or a list of both.
        control: The negative control, the same way, if the claim has one: the rule must contradict each of
            its cases.
        readings: The evidence for each alternative reading that is not just another rule, by its name.
        folded: Whether a page shows only the card's head until it is opened; a card that objects is shown.
        **columns: Which columns of the tables are what, e.g. ``value="slope", error="error"``; see `cases`.

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
    ours, controls = list(_flat(evidence, columns)), list(_flat(control, columns))
    given = {name: list(_flat(some, columns)) for name, some in readings.items()}
    if not ours:
        raise ValueError(f"claim {claim.id}: needs at least one case")
    if bool(controls) != bool(claim.control):
        raise ValueError(f"claim {claim.id}: control cases go with a control in words, and only with it")
    if unknown := given.keys() - {a.name for a in claim.alternatives}:
        raise ValueError(f"claim {claim.id}: no alternative is called {min(unknown)!r}")
    for alternative in claim.alternatives:
        if not given.get(alternative.name) and alternative.rule is None:
            raise ValueError(f"claim {claim.id}: cases of the reading {alternative.name!r} are missing")
    for case in (case for some in (ours, controls, *given.values()) for case in some):
        _check(claim, case)

    others = {a.name: (given.get(a.name) or ours, a.rule or claim.rule) for a in claim.alternatives}
    each = {name: _read(claim, name, *how) for name, how in {OURS: (ours, claim.rule), **others}.items()}
    outcomes = {name: _together(found) for name, found in each.items()}
    late = {a.name for a in claim.alternatives if a.late}
    verdict = _verdict(claim, ours, [found for name, found in outcomes.items() if name not in late])
    if verdict in (Verdict.HOLDS, Verdict.ESTABLISHED):  # all that a reading added after its data can change
        verdict = _verdict(claim, ours, list(outcomes.values()))
    # The control speaks about the statement we stand by. If the rule rejects the evidence and there is no
    # correction, the control shows that it can accept: a situation in which the statement is true.
    stand_by = claim.corrected_rule or claim.rule
    must = AGREES if outcomes[OURS] == CONTRADICTS and claim.corrected_rule is None else CONTRADICTS
    tried = [outcome(claim, c, stand_by) for c in controls]
    agrees = _together([outcome(claim, c, stand_by) for c in ours]) == AGREES
    best, least = detection_limits(ours, stand_by) if agrees else (None, None)
    passed = all(found == must for found in tried)
    as_expected = verdict is claim.expected and passed

    def rows(some: Sequence[Case], found: Sequence[str]) -> list[dict[str, Any]]:
        fixed = claim.corrected_rule
        return [
            row(c, claim.rule, found, (fixed, outcome(claim, c, fixed)) if fixed else None)
            for c, found in zip(some, found, strict=True)
        ]

    return Card(
        statement_record(claim)
        | {
            "verdict": str(verdict),
            "as_expected": as_expected,
            "objects": verdict not in (Verdict.HOLDS, Verdict.ESTABLISHED) or not as_expected,
            "folded": folded,
            "stability": stability(list(outcomes.values())),
            "readings": outcomes,
            "detection_limit": None if best is None else plain(best),
            "detection_limit_least": None if least is None else plain(least),
            "control_must": must,
            "control_passed": passed,
            "cases": rows(ours, each[OURS]),
            "control_cases": rows(controls, tried),
            "other_readings": {
                name: [row(c, rule, found) for c, found in zip(some, each[name], strict=True)]
                for name, (some, rule) in others.items()
            },
        }
    )


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
    corrected = _together(_read(claim, "", cases, claim.corrected_rule))
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


def _read(claim: Claim, name: str, cases: Sequence[Case], rule: Rule) -> list[str]:
    """Return the outcome of each case in a reading."""
    ends = {sum(map(math.isfinite, rule(c.parameters))) for c in cases}
    if 0 in ends or ends == {1, 2}:
        raise ValueError(f"claim {claim.id}: the reading {name!r} permits everything in some cases")
    return [outcome(claim, c, rule) for c in cases]


def _together(outcomes: Sequence[str]) -> str:
    return next((word for word in (CONTRADICTS, UNDECIDED) if word in outcomes), AGREES)


def _flat(evidence: Evidence, columns: Mapping[str, Any]) -> Iterator[Case]:
    if isinstance(evidence, Case):
        yield evidence
    elif isinstance(evidence, pd.DataFrame):
        yield from cases(evidence, **columns)
    else:
        for some in evidence:
            yield from _flat(some, columns)
