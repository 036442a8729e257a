"""The comparison of measurements with what a claim permits, in every reading of it.

`judge` makes a card of the evidence that a notebook offers (`icl_book.claims.evidence`), and `decide` makes
its record, for the notebook and once more for the pages.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. One contradicting case contradicts a statement.

All readings of what others say count alike, whenever they were found: one that was added after its data can
take a *holds* from an author, and a *false* as well. Of this book's own results a later reading can only make
us less sure: it turns *established* into *open*, and never *refuted* into *open*.

A reading that is contradicted by cases of its own counts only if it agrees in another situation that is
measured. Otherwise it may be that no data could satisfy it, as if the slope to the right of a minimum had to
be negative. It then decides nothing, and is taken as undecided.

At parameters that a reader has chosen a statement may have no case, for example because the context resolves
no cosine's waves. A reading without a case is undecided, and the card says so. In a run for the book that is
an error, which `icl_book.runner.record.surprising` finds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from icl_book.claims.card import Card, count_outcomes, describe_decisive_case, statement_record
from icl_book.claims.claim import Claim, Grade, Rule, Verdict, find
from icl_book.claims.evidence import (
    Case,
    Evidence,
    JsonObject,
    Range,
    as_data,
    from_data,
    to_json,
    yield_cases,
)

AGREES, CONTRADICTS, UNDECIDED = "agrees", "contradicts", "undecided"
OURS = "as we read it"
NO_CASE = "no case at these parameters"


def judge(
    claim: Claim | str,
    evidence: Evidence,
    control: Evidence | None = None,
    readings: Mapping[str, Evidence] = {},
    could: Mapping[str, Evidence] = {},
    **columns: Any,
) -> Card:
    """Judge a claim by its evidence.

    Args:
        claim: A claim, or its id in the `registry`.
        evidence: A tidy table, one row a case (or a sample), labels as columns; the cases that
            `icl_book.claims.evidence` makes of a table; or a list of both.
        control: The negative control, the same way, if the claim has one: the rule must contradict each of
            its cases. If the rule contradicts ``evidence``, and the claim has no correction, it must agree
            with each instead.
        readings: The evidence for each alternative reading that is not just another rule, by its key.
        could: Cases of the situation in which an alternative reading holds, by its key, for those readings
            for which the claim names such a situation.
        **columns: Which columns of the tables are what, e.g. ``value="slope", error="error"``: the arguments
            of `sampled_cases` if they name samples, else of `exact_cases`.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If the control or an alternative's cases are not given or unexpected, the claim is not
            tested, a reading permits everything or nothing, or an exact case of an exact claim has no error.
        BadInput: If the id is unknown; ids like it are named.
    """
    if isinstance(claim, str):
        claim = find(claim)
    all_evidence = {
        "id": claim.id,
        "cases": _store_cases(yield_cases(evidence, columns)),
        "control": None if control is None else _store_cases(yield_cases(control, columns)),
        "readings": {k: _store_cases(yield_cases(some, columns)) for k, some in readings.items()},
        "could": {k: _store_cases(yield_cases(some, columns)) for k, some in could.items()},
    }
    return Card(decide(claim, all_evidence), all_evidence)


def _store_cases(some: Iterable[Case]) -> list[JsonObject]:
    return [as_data(case) for case in some]


def decide(claim: Claim, evidence: Mapping[str, Any]) -> JsonObject:
    """Return the record of a claim from its evidence, which a `Card` keeps beside it.

    An executed notebook holds the evidence. Pages decide anew, so that they have the words and the rules
    that a claim has today, and an edit of these runs no notebook. ``evidence`` is what `judge` makes of
    its arguments, cases as plain data under ``cases``, ``control``, ``readings`` and ``could``. ValueError as
    `judge`.
    """
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is {claim.expected}: {claim.why_not}")
    ours, controls = (list(map(from_data, evidence[k] or ())) for k in ("cases", "control"))
    of_readings, of_situations = (
        {key: list(map(from_data, some)) for key, some in evidence[k].items()}
        for k in ("readings", "could")
    )
    _check_offer(claim, evidence["control"] is not None, controls, of_readings, of_situations)

    corrected = claim.corrected_rule
    cases = {OURS: [_judge_case(claim, case, claim.rule, corrected) for case in ours]}
    holding: dict[str, list[JsonObject]] = {}
    for alternative in claim.alternatives:
        rule = alternative.rule or claim.rule
        own_cases = of_readings.get(alternative.key, ours)
        cases[alternative.name] = [_judge_case(claim, case, rule) for case in own_cases]
        if alternative.could:
            holding[alternative.name] = [
                _judge_case(claim, case, rule) for case in of_situations[alternative.key]
            ]
    for name, some in [*cases.items(), *holding.items()]:
        _check_ranges(claim, name, [case["permitted"] for case in some])

    # These are the readings that perhaps no data could satisfy.
    refused = [
        a.name
        for a in claim.alternatives
        if of_readings.get(a.key)
        and _combine(cases[a.name]) == CONTRADICTS
        and (not a.could or _combine(holding[a.name]) != AGREES)
    ]
    outcomes = {name: _combine(some) for name, some in cases.items()}
    outcomes |= dict.fromkeys(refused, UNDECIDED)
    verdict = _decide_in_time(claim, outcomes, cases)
    tried, must = _judge_control(claim, controls, outcomes[OURS])
    # A control without a case, at parameters that a reader has chosen, is not passed.
    passed = all(case["outcome"] == must for case in tried) and bool(tried) == bool(claim.control)
    because = [_explain_verdict(verdict, outcomes, cases)]
    if not passed:
        verb = "rejected" if must == CONTRADICTS else "accepted"
        named = (
            describe_decisive_case(tried, must, f"outcome{_find_ending(claim)}")
            if tried
            else NO_CASE
        )
        because.append(f"its control is not {verb}: {named}")
    record = {
        "verdict": str(verdict),
        "as_expected": verdict is claim.expected and passed and not refused,
        "decided_by": "; ".join(filter(None, because)),
        "stability": _count_readings(list(outcomes.values())),
        "readings": outcomes,
        # `_measure_room` finds these two; here they have their place in the record.
        "detects": None,
        "distance": None,
        "control_must": must,
        "control_passed": passed,
        "cases": cases[OURS],
        "control_cases": tried,
        "other_readings": {name: some for name, some in cases.items() if name != OURS},
        "refused": refused,
        "holding": holding,
    }
    return statement_record(claim) | _record_to_json(record | _measure_room(claim, cases[OURS]))


def _check_offer(
    claim: Claim,
    has_control: bool,
    controls: Sequence[Case],
    of_readings: Mapping[str, Sequence[Case]],
    of_situations: Mapping[str, Sequence[Case]],
) -> None:
    """Raise ValueError unless the evidence has what the claim's control and readings need, and no more.

    ``has_control`` says whether a control was given, which at a reader's parameters may be without a case.
    """
    if (controls and not claim.control) or (claim.control and not has_control):
        raise ValueError(
            f"claim {claim.id}: control cases go with a control in words, and only with it"
        )
    if unknown := of_readings.keys() - {a.key for a in claim.alternatives}:
        raise ValueError(f"claim {claim.id}: no alternative has the key {min(unknown)!r}")
    for alternative in claim.alternatives:
        if alternative.rule is None and alternative.key not in of_readings:
            raise ValueError(
                f"claim {claim.id}: cases of the reading {alternative.key!r} are missing"
            )
    if apart := {a.key for a in claim.alternatives if a.could} ^ of_situations.keys():
        raise ValueError(
            f"claim {claim.id}: cases in which the reading {min(apart)!r} holds go with "
            "words for them (could), and only with them"
        )


def _check_ranges(claim: Claim, name: str, permitted: Sequence[Range]) -> None:
    """Raise ValueError if a reading permits nothing, or everything, in one of its cases.

    It is an error, too, if it bounds both sides in some cases and one side in others.
    """
    finite_counts = {sum(map(math.isfinite, ends)) for ends in permitted}
    # A case without a finite end permits everything, and one with a single end everything on one side.
    if 0 in finite_counts or finite_counts == {1, 2}:
        raise ValueError(
            f"claim {claim.id}: the reading {name!r} permits everything on one side in some cases"
        )
    if any(least > most for least, most in permitted):
        raise ValueError(f"claim {claim.id}: the reading {name!r} permits nothing in some cases")


def _decide_in_time(
    claim: Claim, outcomes: Mapping[str, str], cases: Mapping[str, Sequence[JsonObject]]
) -> Verdict:
    """Return the verdict; a reading found after its data does not rescue a statement of this book."""
    corrected = _combine(cases[OURS], _find_ending(claim))
    if claim.own:
        late = {alternative.name for alternative in claim.alternatives if alternative.late}
        in_time = {found for name, found in outcomes.items() if name not in late}
        if in_time == {CONTRADICTS}:
            return _decide_verdict(claim, in_time, corrected)
    return _decide_verdict(claim, set(outcomes.values()), corrected)


def _judge_control(
    claim: Claim, controls: Sequence[Case], ours: str
) -> tuple[list[JsonObject], str]:
    """Return the judged cases of the control, and the outcome that each must have.

    The control speaks about the statement that we stand by, so that an ``outcome`` is that of the corrected
    rule if there is one. If the rule rejects the evidence and there is no correction, the control shows that
    the rule can accept: a situation in which the statement is true. ``ours`` is the outcome of our reading.
    """
    assert claim.rule is not None
    must = AGREES if ours == CONTRADICTS and not claim.corrected_rule else CONTRADICTS
    judged = [_judge_case(claim, case, claim.rule, claim.corrected_rule) for case in controls]
    return [case | {"outcome": case[f"outcome{_find_ending(claim)}"]} for case in judged], must


def _find_ending(claim: Claim) -> str:
    """Return the ending of the keys of a judged case that belong to the statement that we stand by."""
    return "_corrected" if claim.corrected_rule else ""


def _measure_room(claim: Claim, cases: Sequence[JsonObject]) -> JsonObject:
    """Return how large an error must be to show, and how far numbers are from their bound.

    ``detects`` is the least and the greatest size from which an error shows (`_find_detection_limit`), among
    the cases that permit a range with two ends, and ``distance`` the least and the greatest distance of a
    number from its bound, among those with a single one. Each is None if there are none of these cases, and
    both are unless all cases agree.
    """
    limits: list[float] = []
    distances: list[float] = []
    if _combine(cases, _find_ending(claim)) == AGREES:
        for case in cases:
            least, most = case[f"permitted{_find_ending(claim)}"]
            if math.isfinite(least) and math.isfinite(most):
                limits.append(_find_detection_limit(case["interval"], (least, most)))
            else:
                bound = least if math.isfinite(least) else most
                distances.append(abs(case["measured"] - bound))
    return {
        "detects": (min(limits), max(limits)) if limits else None,
        "distance": (min(distances), max(distances)) if distances else None,
    }


def _record_to_json(record: JsonObject) -> JsonObject:
    """Return a record as strict JSON, in which infinities and ranges are as `to_json` writes them."""
    return {key: _value_to_json(value) for key, value in record.items()}


def _value_to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return _record_to_json(value)
    if isinstance(value, list):
        return [_value_to_json(some) for some in value]
    return to_json(value) if isinstance(value, float | tuple) else value


def _decide_verdict(claim: Claim, outcomes: set[str], corrected: str) -> Verdict:
    """Return the verdict that all readings together, and the correction if there is one, support.

    ``outcomes`` are those of the readings, ``corrected`` is that of our reading under the corrected rule.
    Without a correction it is that under the rule itself: where all readings contradict, it does too.
    """
    if outcomes == {AGREES}:
        return Verdict.ESTABLISHED if claim.own else Verdict.HOLDS
    if {AGREES, CONTRADICTS} <= outcomes:
        return Verdict.OPEN if claim.own else Verdict.DEPENDS
    if outcomes != {CONTRADICTS}:
        return Verdict.OPEN if claim.own else Verdict.INCONCLUSIVE
    if claim.own:
        return Verdict.REFUTED
    return {AGREES: Verdict.CORRECTED, CONTRADICTS: Verdict.FAILS, UNDECIDED: Verdict.INCONCLUSIVE}[
        corrected
    ]


def _explain_verdict(
    verdict: Verdict, outcomes: Mapping[str, str], cases: Mapping[str, list[JsonObject]]
) -> str:
    """Name the setting and the interval that a verdict rests on; empty where all cases agree."""
    found = set(outcomes.values())
    if found == {AGREES}:
        return ""
    unclear = verdict is Verdict.INCONCLUSIVE or (
        verdict is Verdict.OPEN and not {AGREES, CONTRADICTS} <= found
    )
    word = UNDECIDED if unclear else CONTRADICTS
    # Where no reading has this outcome, all are contradicted, and the correction alone is undecided.
    if word not in found:
        return f"the correction is unclear: {describe_decisive_case(cases[OURS], which='outcome_corrected')}"
    those = [name for name, outcome in outcomes.items() if outcome == word]
    # A reading without a case is named before others.
    name = next((name for name in those if not cases[name]), those[0])
    lead = "" if name == OURS else f"in the reading “{name}”, "
    if not cases[name]:
        return lead + NO_CASE
    count = f"; {count_outcomes(cases[name])}" if len(cases[name]) > 1 else ""
    return lead + describe_decisive_case(cases[name]) + count


def _find_detection_limit(interval: Range, permitted: Range) -> float:
    """Return the size from which an error of either sign would have shown, for a number between two ends.

    An error moves the interval of the number, and shows once all of it lies beyond an end: upwards beyond the
    largest permitted value, downwards beyond the smallest. The larger of the two moves counts. The interval
    lies inside the permitted range, so that both are at least zero.
    """
    low, high = interval
    least, most = permitted
    upwards = most - low
    downwards = high - least
    return max(upwards, downwards)


def _judge_case(claim: Claim, case: Case, rule: Rule, corrected: Rule | None = None) -> JsonObject:
    """Return a case with its outcome and what is permitted, by a rule and, with ``_corrected``, by another.

    Raises:
        ValueError: If the case lacks the error that its claim needs.
    """
    where = f"claim {claim.id}: case {case.name!r}"
    # A count and infinity are known without an error.
    needs_no_error = math.isinf(case.measured) or case.measured == round(case.measured)
    if (
        case.kind == "exact"
        and claim.grade in (Grade.EXACT, Grade.CERTIFIED, Grade.EXTRAPOLATED)
        and not needs_no_error
        and case.interval[0] == case.interval[1]
    ):
        raise ValueError(f"{where} needs the error that the code computed")
    permitted = rule(case.parameters)
    permitted_corrected = corrected(case.parameters) if corrected else None
    return asdict(case) | {
        "outcome": _compare(case, permitted),
        "permitted": permitted,
        "outcome_corrected": _compare(case, permitted_corrected) if permitted_corrected else None,
        "permitted_corrected": permitted_corrected,
    }


def _compare(case: Case, permitted: Range) -> str:
    low, high = case.interval
    least, most = permitted
    if high < least or low > most:
        return CONTRADICTS
    return AGREES if least <= low and high <= most else UNDECIDED


def _combine(cases: Sequence[JsonObject], ending: str = "") -> str:
    """Return the outcome of a reading from those of its cases; ``ending`` is that of `_find_ending`."""
    found = [case[f"outcome{ending}"] for case in cases] or [UNDECIDED]
    return next((word for word in (CONTRADICTS, UNDECIDED) if word in found), AGREES)


def _count_readings(outcomes: Sequence[str]) -> str:
    """Say in how many readings the evidence contradicts, or else agrees; empty for one reading.

    For example ``"contradicts the statement in 2 of 3 readings"``.
    """
    if len(outcomes) == 1:
        return ""
    word, count = (
        ("contradicts", CONTRADICTS) if CONTRADICTS in outcomes else ("agrees with", AGREES)
    )
    return f"{word} the statement in {outcomes.count(count)} of {len(outcomes)} readings"
