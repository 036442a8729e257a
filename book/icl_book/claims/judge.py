"""The comparison of measurements with what a claim permits, in every reading of it.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise. A reading contradicts if one of its cases does. Otherwise it is undecided if one of its
cases is, and agrees if all of them agree.

A reading is *late* if it was added after its data were seen. For the statements of others, late readings
count like all others. For a result of this book a late reading can turn *established* into *open*, but it
cannot turn *refuted* into *open*.

A reading may have cases of its own. If they contradict it, it counts only if it agrees in another situation,
which is measured, too. Otherwise perhaps no data could satisfy it. Such a reading is *refused*: its outcome
becomes undecided.

At parameters that a user of the notebook has chosen, a reading may have no case. The reading is then
undecided. In a run for the book that is an error, which `icl_book.runner.record.describe_surprises` finds.
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
        evidence: A tidy table, with a row for each case or sample and with labels as columns; cases that
            `icl_book.claims.evidence` made of a table; or a list of tables and cases.
        control: The evidence of the negative control. Each of its cases must contradict the rule, or the
            corrected rule if there is one. If ``evidence`` contradicts the only rule, each must agree
            instead.
        readings: Evidence of each alternative reading that has cases of its own, by the key of the reading.
        could: Evidence of the situation in which an alternative reading holds, by the key of the reading, for
            each with the attribute ``could``.
        **columns: What the columns of the tables are, e.g. ``value="slope", error="error"``. These are
            arguments of `sampled_cases` if ``samples`` is among them, otherwise of `exact_cases`.

    Raises:
        ValueError: If evidence that the claim needs is missing, or belongs to no part of the claim; if the
            claim has no rule; if a reading permits everything or nothing; if a case lacks an error.
        BadInput: If the id is unknown.
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


def _store_cases(cases: Iterable[Case]) -> list[JsonObject]:
    return [as_data(case) for case in cases]


def _read_cases(stored: Iterable[JsonObject]) -> list[Case]:
    return [from_data(case) for case in stored]


def decide(claim: Claim, evidence: Mapping[str, Any]) -> JsonObject:
    """Return the record of a claim, which a `Card` shows, from the evidence for it.

    An executed notebook holds the evidence, and pages call this function again. So a claim can be edited
    without another run of its notebook.

    Args:
        claim: The claim.
        evidence: Cases as plain data: lists ``cases`` and ``control``, which may be None, and mappings
            ``readings`` and ``could`` from keys of readings to lists.

    Raises:
        ValueError: As in `judge`.
    """
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is {claim.expected}: {claim.why_not}")
    ours = _read_cases(evidence["cases"])
    controls = _read_cases(evidence["control"] or ())
    of_readings = {key: _read_cases(stored) for key, stored in evidence["readings"].items()}
    of_situations = {key: _read_cases(stored) for key, stored in evidence["could"].items()}
    _check_offer(claim, evidence["control"] is not None, controls, of_readings, of_situations)

    corrected = claim.corrected_rule
    # Among the readings, only ours is also judged by the corrected rule.
    cases = {OURS: [_judge_case(claim, case, claim.rule, corrected) for case in ours]}
    # These are the judged cases of situations in which readings hold.
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
    # At parameters of a user a control may have no case. It is then not passed.
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
        # `_measure_room` replaces the values of these two.
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
    """Raise ValueError unless the evidence has what the claim's control and readings need.

    A control may be given, at parameters of a user, and have no case.
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

    A reading that bounds both sides in some cases and one side in others is wrong, too, because it may excuse
    cases that contradict the statement.
    """
    # Without a finite end a range permits everything.
    finite_counts = {sum(map(math.isfinite, ends)) for ends in permitted}
    if 0 in finite_counts or finite_counts == {1, 2}:
        raise ValueError(
            f"claim {claim.id}: the reading {name!r} permits everything on one side in some cases"
        )
    if any(least > most for least, most in permitted):
        raise ValueError(f"claim {claim.id}: the reading {name!r} permits nothing in some cases")


def _decide_in_time(
    claim: Claim, outcomes: Mapping[str, str], cases: Mapping[str, Sequence[JsonObject]]
) -> Verdict:
    """Return the verdict. Late readings do not count if all others contradict a statement of this book."""
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

    Usually every case must contradict. If our reading of the evidence contradicts and the claim has no
    corrected rule, the control is a situation in which the statement is true, and every case must agree.
    """
    assert claim.rule is not None
    must = AGREES if ours == CONTRADICTS and not claim.corrected_rule else CONTRADICTS
    judged = [_judge_case(claim, case, claim.rule, claim.corrected_rule) for case in controls]
    return [case | {"outcome": case[f"outcome{_find_ending(claim)}"]} for case in judged], must


def _find_ending(claim: Claim) -> str:
    """Return the ending of the keys of a judged case that belong to the corrected rule, if there is one."""
    return "_corrected" if claim.corrected_rule else ""


def _measure_room(claim: Claim, cases: Sequence[JsonObject]) -> JsonObject:
    """Return how far the numbers are from a contradiction, as a range over the cases.

    ``detects`` is about detection limits (`_find_detection_limit`), of cases with two finite bounds.
    ``distance`` is that between the measured number and the bound, of cases with one. A range without a case
    is None, and so are both unless all cases agree.
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
    """Return a record as strict JSON."""
    return {key: _value_to_json(value) for key, value in record.items()}


def _value_to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return _record_to_json(value)
    if isinstance(value, list):
        return [_value_to_json(some) for some in value]
    return to_json(value) if isinstance(value, float | tuple) else value


def _decide_verdict(claim: Claim, outcomes: set[str], corrected: str) -> Verdict:
    """Return the verdict from the outcomes of the readings, and the one of ours under the corrected rule."""
    if outcomes == {AGREES}:
        return Verdict.ESTABLISHED if claim.own else Verdict.HOLDS
    if {AGREES, CONTRADICTS} <= outcomes:
        return Verdict.OPEN if claim.own else Verdict.DEPENDS
    if outcomes != {CONTRADICTS}:
        return Verdict.OPEN if claim.own else Verdict.INCONCLUSIVE
    # All readings contradict.
    if claim.own:
        return Verdict.REFUTED
    return {AGREES: Verdict.CORRECTED, CONTRADICTS: Verdict.FAILS, UNDECIDED: Verdict.INCONCLUSIVE}[
        corrected
    ]


def _explain_verdict(
    verdict: Verdict, outcomes: Mapping[str, str], cases: Mapping[str, list[JsonObject]]
) -> str:
    """Describe the case that a verdict rests on. The text is empty if all readings agree."""
    found = set(outcomes.values())
    if found == {AGREES}:
        return ""
    # An inconclusive verdict rests on what is undecided, and so does an open one, unless readings differ.
    unclear = verdict is Verdict.INCONCLUSIVE or (
        verdict is Verdict.OPEN and not {AGREES, CONTRADICTS} <= found
    )
    word = UNDECIDED if unclear else CONTRADICTS
    # All readings contradict, and only the corrected rule is undecided.
    if word not in found:
        return f"the correction is unclear: {describe_decisive_case(cases[OURS], which='outcome_corrected')}"
    those = [name for name, outcome in outcomes.items() if outcome == word]
    name = next((name for name in those if not cases[name]), those[0])
    lead = "" if name == OURS else f"in the reading “{name}”, "
    if not cases[name]:
        return lead + NO_CASE
    count = f"; {count_outcomes(cases[name])}" if len(cases[name]) > 1 else ""
    return lead + describe_decisive_case(cases[name]) + count


def _find_detection_limit(interval: Range, permitted: Range) -> float:
    """Return how large an error of the number must be, of either sign, so that a contradiction shows.

    An error moves the whole interval, and a contradiction shows once the interval lies beyond an end of the
    permitted range.
    """
    low, high = interval
    least, most = permitted
    upwards = most - low
    downwards = high - least
    return max(upwards, downwards)


def _judge_case(claim: Claim, case: Case, rule: Rule, corrected: Rule | None = None) -> JsonObject:
    """Return a case with its outcome and its permitted range, by the rule and by the corrected rule.

    Raises:
        ValueError: If an exact case of an exact claim lacks its error.
    """
    where = f"claim {claim.id}: case {case.name!r}"
    # An integer is a count. A count and infinity have no error.
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
    """Return the outcome of a reading from the outcomes of its cases; undecided without a case."""
    found = [case[f"outcome{ending}"] for case in cases] or [UNDECIDED]
    for outcome in (CONTRADICTS, UNDECIDED):
        if outcome in found:
            return outcome
    return AGREES


def _count_readings(outcomes: Sequence[str]) -> str:
    """Say how many readings the evidence contradicts, or else with how many it agrees.

    For a single reading the text is empty.
    """
    if len(outcomes) == 1:
        return ""
    word, count = (
        ("contradicts", CONTRADICTS) if CONTRADICTS in outcomes else ("agrees with", AGREES)
    )
    return f"{word} the statement in {outcomes.count(count)} of {len(outcomes)} readings"
