"""Compare measured cases with what a claim permits, in every reading of it.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. One contradicting case contradicts a statement.

All readings of what others say count alike, whenever they were found: one that was added after its data can
take a *holds* from an author, and a *false* as well. Of this book's own results a later reading can only make
us less sure: it turns *established* into *open*, and never *refuted* into *open*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import pandas as pd

from icl_book.claims.card import Card, statement_record
from icl_book.claims.case import Case, Range, cases
from icl_book.claims.claim import Claim, Grade, Rule, Verdict
from icl_book.claims.registry import find

#: A tidy table, or what `cases` makes of it, in any nesting of lists.
Evidence: TypeAlias = "pd.DataFrame | Case | Iterable[Evidence]"
#: A judged case as plain data.
Row = dict[str, Any]

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
        readings: The evidence for each alternative reading that is not just another rule, by its key.
        folded: Whether a page shows only the card's head until it is opened; a card that objects is shown.
        **columns: Which columns of the tables are what, e.g. ``value="slope", error="error"``; see `cases`.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If evidence, the control or an alternative's cases are missing or unexpected, the claim is
            not testable, or an exact case of an exact claim has no error.
        BadInput: If the id is unknown; ids like it are named.
    """
    if isinstance(claim, str):
        claim = find(claim)
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is not testable: {claim.why_not}")
    ours, controls = list(_flat(evidence, columns)), list(_flat(control, columns))
    given = {key: list(_flat(some, columns)) for key, some in readings.items()}
    if not ours:
        raise ValueError(f"claim {claim.id}: needs at least one case")
    if bool(controls) != bool(claim.control):
        raise ValueError(
            f"claim {claim.id}: control cases go with a control in words, and only with it"
        )
    if unknown := given.keys() - {a.key for a in claim.alternatives}:
        raise ValueError(
            f"claim {claim.id}: no alternative has the key {min(unknown)!r}"
        )

    fixed = claim.corrected_rule
    rows = {OURS: [_row(claim, case, claim.rule, fixed) for case in ours]}
    for alternative in claim.alternatives:
        mine = given.get(alternative.key, [])
        if not mine and alternative.rule is None:
            raise ValueError(
                f"claim {claim.id}: cases of the reading {alternative.key!r} are missing"
            )
        rows[alternative.name] = [
            _row(claim, c, alternative.rule or claim.rule) for c in mine or ours
        ]
    for name, some in rows.items():
        ends = {
            sum(math.isfinite(float(end)) for end in row["permitted"]) for row in some
        }
        if 0 in ends or ends == {1, 2}:
            raise ValueError(
                f"claim {claim.id}: the reading {name!r} permits everything in some cases"
            )
    return Card(
        _decided(
            claim,
            rows,
            [_row(claim, case, claim.rule, fixed) for case in controls],
            folded,
        )
    )


def _decided(
    claim: Claim, rows: dict[str, list[Row]], tried: Sequence[Row], folded: bool
) -> Row:
    """Return the record of a claim with its judged cases by reading, ours first, and those of the control."""
    outcomes = {name: _together(some) for name, some in rows.items()}
    # The control speaks about the statement we stand by. If the rule rejects the evidence and there is no
    # correction, the control shows that it can accept: a situation in which the statement is true.
    stand_by = "_corrected" if claim.corrected_rule else ""
    corrected = _together(rows[OURS], stand_by)
    must = (
        AGREES
        if outcomes[OURS] == CONTRADICTS and not claim.corrected_rule
        else CONTRADICTS
    )
    tried = [row | {"outcome": row[f"outcome{stand_by}"]} for row in tried]
    passed = all(row["outcome"] == must for row in tried)

    verdict = _verdict(claim, set(outcomes.values()), corrected)
    if claim.own:  # a reading that we found after its data does not rescue what we said
        late = {
            alternative.name for alternative in claim.alternatives if alternative.late
        }
        in_time = {found for name, found in outcomes.items() if name not in late}
        if in_time == {CONTRADICTS}:
            verdict = _verdict(claim, in_time, corrected)
    as_expected = verdict is claim.expected and passed
    limits: list[float] = []
    distances: list[float] = []
    if corrected == AGREES:
        for row in rows[OURS]:
            first, last = map(float, row[f"permitted{stand_by}"])
            if math.isfinite(first) and math.isfinite(last):
                limits.append(_limit(row, (first, last)))
            else:
                bound = first if math.isfinite(first) else last
                distances.append(abs(float(row["measured"]) - bound))
    return statement_record(claim) | {
        "verdict": str(verdict),
        "as_expected": as_expected,
        "objects": verdict not in (Verdict.HOLDS, Verdict.ESTABLISHED)
        or not as_expected,
        "folded": folded,
        "stability": _stability(list(outcomes.values())),
        "readings": outcomes,
        "detection_limit": _plain(min(limits)) if limits else None,
        "detection_limit_least": _plain(max(limits)) if limits else None,
        "distance": _plain((min(distances), max(distances))) if distances else None,
        "control_must": must,
        "control_passed": passed,
        "cases": rows[OURS],
        "control_cases": tried,
        "other_readings": {name: some for name, some in rows.items() if name != OURS},
    }


def _verdict(claim: Claim, outcomes: set[str], corrected: str) -> Verdict:
    """Return the verdict that all readings together, and the correction if there is one, support."""
    if outcomes == {AGREES}:
        return Verdict.ESTABLISHED if claim.own else Verdict.HOLDS
    if {AGREES, CONTRADICTS} <= outcomes:
        return Verdict.OPEN if claim.own else Verdict.DEPENDS
    if outcomes != {CONTRADICTS}:
        return Verdict.OPEN if claim.own else Verdict.INCONCLUSIVE
    if claim.own:
        return Verdict.REFUTED
    return {
        AGREES: Verdict.CORRECTED,
        CONTRADICTS: Verdict.FAILS,
        UNDECIDED: Verdict.INCONCLUSIVE,
    }[corrected]


def _limit(row: Row, permitted: Range) -> float:
    """Return the smallest error that would have been seen in one number that has to lie between two ends.

    A planted error is seen if the number then contradicts. An error of either sign must be seen; the larger
    of the two counts.
    """
    low, high = map(float, row["interval"])
    first, last = permitted
    return max(0.0, last - low, high - first)


def _row(claim: Claim, case: Case, rule: Rule, corrected: Rule | None = None) -> Row:
    """Judge one case by a rule and its correction.

    Raises:
        ValueError: If the case has not the error that its claim needs.
    """
    where = f"claim {claim.id}: case {case.name!r}"
    whole = math.isinf(case.measured) or case.measured == round(case.measured)
    if (
        case.kind == "exact"
        and claim.grade in (Grade.EXACT, Grade.CERTIFIED, Grade.EXTRAPOLATED)
        and not whole
    ):
        if case.interval[0] == case.interval[1]:
            raise ValueError(f"{where} needs the error that the code computed")
    permitted, fixed = (
        rule(case.parameters),
        corrected(case.parameters) if corrected else None,
    )
    return asdict(case) | {
        "measured": _plain(case.measured),
        "interval": _plain(case.interval),
        "outcome": _outcome(case, permitted),
        "permitted": _plain(permitted),
        "outcome_corrected": _outcome(case, fixed) if fixed else None,
        "permitted_corrected": _plain(fixed) if fixed else None,
    }


def _outcome(case: Case, permitted: Range) -> str:
    (low, high), (first, last) = case.interval, permitted
    if high < first or low > last:
        return CONTRADICTS
    return AGREES if first <= low and high <= last else UNDECIDED


def _together(rows: Sequence[Row], which: str = "") -> str:
    found = [row[f"outcome{which}"] for row in rows]
    return next((word for word in (CONTRADICTS, UNDECIDED) if word in found), AGREES)


def _stability(outcomes: Sequence[str]) -> str:
    """Describe how readings agree, e.g. ``"contradicted in 12 of 12 readings"``; empty for a single one."""
    if len(outcomes) == 1:
        return ""
    word, count = (
        ("contradicted", CONTRADICTS) if CONTRADICTS in outcomes else ("agrees", AGREES)
    )
    return f"{word} in {outcomes.count(count)} of {len(outcomes)} readings"


def _plain(x: float | Range) -> float | str | list[Any]:
    """Convert a number or a range to strict JSON, which has no infinity and no NaN: those become strings."""
    if isinstance(x, tuple):
        return [_plain(v) for v in x]
    return float(x) if math.isfinite(x) else str(float(x))


def _flat(evidence: Evidence, columns: Mapping[str, Any]) -> Iterator[Case]:
    if isinstance(evidence, Case):
        yield evidence
    elif isinstance(evidence, pd.DataFrame):
        yield from cases(evidence, **columns)
    else:
        for some in evidence:
            yield from _flat(some, columns)
