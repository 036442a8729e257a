"""The comparison of measurements with what a claim permits, in every reading of it.

`judge` makes a card of the evidence that a notebook offers (`icl_book.claims.evidence`), and `decide` makes
its record, for the notebook and once more for the pages.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise. The permitted range includes every tolerance. A reading contradicts if one of its cases
does. Otherwise it is undecided if one of its cases is, and agrees if all of them agree.

A reading is *late* if it was added after its data were seen. For the statements of others, late readings
count like all others: a late reading can end a *holds*, and also a *false*. For a result of this book a late
reading can turn *established* into *open*, but it cannot turn *refuted* into *open*.

A reading may have cases of its own. If they contradict it, it counts only if it agrees in another situation,
which is measured, too. Otherwise perhaps no data could satisfy it, for example if it asks for a negative
slope to the right of a minimum. Such a reading is *refused*: its outcome becomes undecided.

At parameters that a user of the notebook has chosen, a reading may have no case, for example because the
context is too short to resolve the waves of every cosine. The reading is then undecided, and the card says
so. In a run for the book that is an error, which `icl_book.runner.record.describe_surprises` finds.
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
        control: The evidence of the negative control, if the claim has one. Each of its cases must contradict
            the rule, or the corrected rule if the claim has one. If ``evidence`` contradicts the rule and the
            claim has no corrected rule, each must agree instead.
        readings: Maps the key of each alternative reading that has cases of its own to the evidence with
            these cases.
        could: Maps the key of each alternative reading with the attribute ``could`` to the evidence of the
            situation in which the reading holds.
        **columns: What the columns of the tables are, e.g. ``value="slope", error="error"``. These are
            arguments of `sampled_cases` if ``samples`` is among them, otherwise of `exact_cases`.

    Returns:
        The card, which a notebook shows if it is the last value of a cell.

    Raises:
        ValueError: If evidence that the claim needs is missing, or other evidence is given; if the claim has
            no rule; if a reading permits everything or nothing (`_check_ranges`); if a case lacks an error
            (`_judge_case`).
        BadInput: If the id is unknown. The message names similar ids.
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

    An executed notebook holds the evidence, and pages call this function again. So pages have the present
    words and rules of a claim, and a claim can be edited without another run of its notebook.

    Args:
        claim: The claim.
        evidence: Cases as plain data. ``cases`` and ``control`` are lists, and control is None if it was not
            given. ``readings`` and ``could`` map keys of readings to lists.

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
    # For a reading with the attribute `could`, these are the judged cases of the situation in which it holds.
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

    # A reading is refused if its own cases contradict it and no measured situation agrees with it.
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
    # At parameters that a user has chosen a control may have no case. It is then not passed.
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
        # `_measure_room` gives the values of these two. Here they get their place among the keys.
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

    ``has_control`` says whether a control was given. At parameters that a user has chosen, the control may be
    given and have no case. ``of_readings`` and ``of_situations`` have the cases of the arguments ``readings``
    and ``could`` of `judge`.
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

    It is an error, too, if the reading bounds both sides in some cases and one side in others, because it may
    then excuse cases that contradict the statement.
    """
    # A permitted range has 0, 1 or 2 finite ends. Without a finite end it permits everything.
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
    """Return the verdict. Late readings do not count if all others contradict a statement of this book.

    For the name of each reading, ``outcomes`` has its outcome, and ``cases`` has its judged cases.
    """
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

    If the claim has a corrected rule, ``outcome`` is the outcome under that rule. ``ours`` is the outcome of
    our reading of the evidence. Usually every case of the control must contradict. If our reading contradicts
    and the claim has no corrected rule, the control is a situation in which the statement is true, and every
    case must agree.
    """
    assert claim.rule is not None
    must = AGREES if ours == CONTRADICTS and not claim.corrected_rule else CONTRADICTS
    judged = [_judge_case(claim, case, claim.rule, claim.corrected_rule) for case in controls]
    return [case | {"outcome": case[f"outcome{_find_ending(claim)}"]} for case in judged], must


def _find_ending(claim: Claim) -> str:
    """Return the ending of the keys of a judged case that belong to the corrected rule, if there is one."""
    return "_corrected" if claim.corrected_rule else ""


def _measure_room(claim: Claim, cases: Sequence[JsonObject]) -> JsonObject:
    """Return how far the numbers are from a contradiction.

    Outcomes and permitted ranges are those of the corrected rule, if the claim has one.

    Returns:
        ``detects``, the least and the greatest detection limit (`_find_detection_limit`) of the cases whose
        permitted range has two finite ends. ``distance``, the least and the greatest distance between the
        measured number and the bound, of the cases whose range has one finite end. Each is None if there is
        not such a case, and both are None unless all cases agree.
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
    """Return a record as strict JSON; `to_json` writes the numbers and ranges in it."""
    return {key: _value_to_json(value) for key, value in record.items()}


def _value_to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return _record_to_json(value)
    if isinstance(value, list):
        return [_value_to_json(some) for some in value]
    return to_json(value) if isinstance(value, float | tuple) else value


def _decide_verdict(claim: Claim, outcomes: set[str], corrected: str) -> Verdict:
    """Return the verdict.

    ``outcomes`` are the outcomes of the readings. ``corrected`` is the outcome of our reading under the
    corrected rule, or under the rule itself if the claim has no correction.
    """
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
    """Describe the case that a verdict rests on. The text is empty if all readings agree.

    For the name of each reading, ``outcomes`` has its outcome, and ``cases`` has its judged cases.
    """
    found = set(outcomes.values())
    if found == {AGREES}:
        return ""
    # An inconclusive verdict rests on what is undecided. So does an open one, unless one reading agrees and
    # another contradicts the statement.
    unclear = verdict is Verdict.INCONCLUSIVE or (
        verdict is Verdict.OPEN and not {AGREES, CONTRADICTS} <= found
    )
    word = UNDECIDED if unclear else CONTRADICTS
    # No reading is undecided, so all of them contradict, and only the corrected rule is undecided.
    if word not in found:
        return f"the correction is unclear: {describe_decisive_case(cases[OURS], which='outcome_corrected')}"
    those = [name for name, outcome in outcomes.items() if outcome == word]
    # A reading without a case is named first.
    name = next((name for name in those if not cases[name]), those[0])
    lead = "" if name == OURS else f"in the reading “{name}”, "
    if not cases[name]:
        return lead + NO_CASE
    count = f"; {count_outcomes(cases[name])}" if len(cases[name]) > 1 else ""
    return lead + describe_decisive_case(cases[name]) + count


def _find_detection_limit(interval: Range, permitted: Range) -> float:
    """Return how large an error of the number must be, of either sign, so that a contradiction shows.

    An error moves the whole interval. A contradiction shows once the interval lies beyond an end of the
    permitted range, either above ``most`` or below ``least``. The larger of these two moves is returned. It
    is at least zero, since the interval lies inside the permitted range.
    """
    low, high = interval
    least, most = permitted
    upwards = most - low
    downwards = high - least
    return max(upwards, downwards)


def _judge_case(claim: Claim, case: Case, rule: Rule, corrected: Rule | None = None) -> JsonObject:
    """Return a case as a mapping, with its ``outcome`` and the range that the rule has ``permitted``.

    Its ``outcome_corrected`` and ``permitted_corrected`` are those of the rule ``corrected``, or None.

    Raises:
        ValueError: If the claim's grade is exact, certified or extrapolated, and an exact case has no error
            although its number is neither an integer nor infinite.
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
    """Return the outcome of a reading from the outcomes of its cases; undecided without a case.

    ``ending`` is what `_find_ending` returns.
    """
    found = [case[f"outcome{ending}"] for case in cases] or [UNDECIDED]
    for outcome in (CONTRADICTS, UNDECIDED):
        if outcome in found:
            return outcome
    return AGREES


def _count_readings(outcomes: Sequence[str]) -> str:
    """Say how many readings the evidence contradicts, e.g. "contradicts the statement in 2 of 3 readings".

    If it contradicts none, say with how many it agrees. For a single reading the text is empty.
    """
    if len(outcomes) == 1:
        return ""
    # `count` is the outcome that is counted.
    word, count = (
        ("contradicts", CONTRADICTS) if CONTRADICTS in outcomes else ("agrees with", AGREES)
    )
    return f"{word} the statement in {outcomes.count(count)} of {len(outcomes)} readings"
