"""Measurements offered as evidence, and their comparison with what a claim permits, in every reading of it.

A `Case` carries a measured value with an interval, and says where the interval comes from: *exact* numbers
have a numerical error, *found* ones are the best of a search and bound a supremum or an infimum from one
side, *sampled* ones have a distribution-free interval for the median over seeds. `cases` makes them of a tidy
table, and `judge` a card of them.

A case *agrees* if its interval lies inside the permitted range, *contradicts* if the two are disjoint, and is
*undecided* otherwise; every tolerance is part of the range. One contradicting case contradicts a statement.

All readings of what others say count alike, whenever they were found: one that was added after its data can
take a *holds* from an author, and a *false* as well. Of this book's own results a later reading can only make
us less sure: it turns *established* into *open*, and never *refuted* into *open*.

A reading that is contradicted by cases of its own counts only if it agrees in another situation that is
measured. Otherwise it may be that no data could satisfy it, as if the slope to the right of a minimum had to
be negative. It then decides nothing, and is taken as undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.statistics import median_interval
from icl_book.claims.card import Card, agreement, decisive, statement_record
from icl_book.claims.claim import Claim, Grade, Rule, Verdict, find

Range = tuple[float, float]
#: A column of a table, by its name, or one number for all rows.
Column = str | float
Numbers = NDArray[np.float64]

#: How far rounding may put a found number beyond what is proved, relative to the larger of that and one.
ROUNDING = 1e-12
#: A tidy table, or what `cases` makes of it, in any nesting of lists.
Evidence: TypeAlias = "pd.DataFrame | Case | Iterable[Evidence]"
#: A judged case as plain data.
Row = dict[str, Any]

AGREES, CONTRADICTS, UNDECIDED = "agrees", "contradicts", "undecided"
OURS = "as we read it"


@dataclass(frozen=True)
class Case:
    """One measurement offered as evidence.

    Attributes:
        name: What was measured where, e.g. ``"ReLU, d = 3"``.
        measured: The number.
        interval: ``(low, high)`` around it.
        parameters: What the claim's rule needs, e.g. ``{"dim": 3}``.
        samples: Independent samples behind the interval; None if nothing was sampled.
        kind: Where the interval comes from: ``"exact"``, ``"found"`` or ``"sampled"``.
        miss: Probability that a sampled interval misses the median; zero for the others.
    """

    name: str
    measured: float
    interval: Range
    parameters: dict[str, Any] = field(default_factory=dict)
    samples: int | None = None
    kind: str = "exact"
    miss: float = 0.0

    def __post_init__(self) -> None:
        low, high = self.interval
        if not low <= self.measured <= high:
            raise ValueError(
                f"case {self.name!r}: measured {self.measured} outside interval {self.interval}"
            )


def cases(
    frame: pd.DataFrame,
    value: str = "value",
    *,
    error: str | None = None,
    low: Column | None = None,
    high: Column | None = None,
    samples: str | None = None,
    kind: str = "exact",
    labels: list[str] | None = None,
    name: str | None = None,
) -> list[Case]:
    """Make a case of each row of a tidy table, or of the rows of each case's samples.

    Args:
        frame: The table. Columns that are not named below are labels: the claim's rule reads them.
        value: The column of the measured number.
        error: The column of the largest absolute error, computed or derived: an error bar is never typed.
        low: Lower end of an interval, in place of the error. Of found numbers it is what the infimum cannot
            pass, proved (``-math.inf`` without a proof), and the value is the smallest found.
        high: Upper end. Of found numbers it bounds the supremum, and the value is the largest found.
        samples: The column that tells independent values of one case apart, e.g. ``"seed"``: one row a case
            and seed. The case is their median, between two order statistics (`icl.statistics`).
        kind: ``"exact"`` or ``"found"``; with samples it is ``"sampled"``.
        labels: The columns that are labels, where the table has more.
        name: Template of the cases' names, e.g. ``"{task}, $n$ = {n:g}"``; by default every label.

    Returns:
        The cases in the order of the table. A label that a row lacks (None, NaN) is left out.

    Raises:
        ValueError: If a column is missing, the errors or ends do not go with the kind, a value lies outside
            its interval, or a case has fewer than two samples or one of them twice.
    """
    given = [value, error, low, high, samples]
    columns = [column for column in given if isinstance(column, str)]
    if error is not None and not isinstance(error, str):
        raise ValueError(
            f"error = {error}: must be a column; errors are computed, not typed by hand"
        )
    if labels is None:
        labels = [str(column) for column in frame.columns if column not in columns]
    if lacking := [
        column for column in [*columns, *labels] if column not in frame.columns
    ]:
        raise ValueError(
            f"column {lacking[0]!r}: the table has {', '.join(map(str, frame.columns))}"
        )
    if samples is not None:
        return _sampled(frame, value, samples, labels, name)

    def column(of: Column) -> Numbers:
        return np.asarray(
            frame[of] if isinstance(of, str) else np.full(len(frame), of), dtype=float
        )

    measured, ends = column(value), [low, high]
    if kind == "found" and ends == [None, None]:
        ends = [None, math.inf]
    if kind not in ("exact", "found") or (ends.count(None) == 1) != (kind == "found"):
        raise ValueError(
            f"kind = {kind!r}: exact numbers have an error or two ends, found ones one end"
        )
    if ends == [None, None]:
        half = column(0.0 if error is None else error)
        first, last = measured - half, measured + half
    else:
        first, last = (measured if end is None else column(end) for end in ends)
    notes = [""] * len(frame)
    if kind == "found":
        first, last, notes = _attained(measured, first, last)
    made = []
    rows = zip(
        _labels(frame, labels),
        measured.tolist(),
        first.tolist(),
        last.tolist(),
        notes,
        strict=True,
    )
    for some, x, a, b, note in rows:
        made.append(
            Case((_name(some, name) or value) + note, x, (a, b), some, kind=kind)
        )
    return made


def _attained(
    measured: Numbers, low: Numbers, high: Numbers
) -> tuple[Numbers, Numbers, list[str]]:
    """Return the intervals of found numbers, which are attained whatever is proved, and notes for names."""
    notes = []
    first, last = low.copy(), high.copy()
    for i, x in enumerate(measured):
        proved = low[i] if x < low[i] else high[i] if x > high[i] else x
        beyond = abs(x - proved) > ROUNDING * max(1.0, abs(proved))
        notes.append(f", beyond the proved {proved:.6g}" if beyond else "")
        if x < low[i]:
            first[i] = -math.inf if beyond else x
        if x > high[i]:
            last[i] = math.inf if beyond else x
    return first, last, notes


def _sampled(
    frame: pd.DataFrame, value: str, samples: str, labels: list[str], name: str | None
) -> list[Case]:
    if frame.duplicated([*labels, samples]).any():
        raise ValueError(
            f"{samples!r}: a case has one of its samples twice; labels are {', '.join(labels)}"
        )
    out = []
    for _, group in (
        frame.groupby(labels, sort=False, dropna=False) if labels else [((), frame)]
    ):
        middle, low, high, miss = (
            float(v) for v in median_interval(group[value].to_numpy(dtype=float))
        )
        (some,) = _labels(group.head(1), labels)
        out.append(
            Case(
                _name(some, name) or value,
                middle,
                (low, high),
                some,
                len(group),
                "sampled",
                miss,
            )
        )
    return out


def _labels(frame: pd.DataFrame, labels: list[str]) -> list[dict[str, Any]]:
    """Return the labels of each row, as plain Python values."""
    rows = (
        frame[labels].to_dict("records") if labels else [{} for _ in range(len(frame))]
    )
    return [
        {str(k): v for k, v in row.items() if v is not None and v == v} for row in rows
    ]


def _name(labels: dict[str, Any], template: str | None) -> str:
    """Name a case by its labels: words as they are, numbers with their names."""
    if template is not None:
        return template.format(**labels)
    return ", ".join(
        f"{key} = {x:g}"
        if isinstance(x, float)
        else f"{key} = {x}"
        if isinstance(x, int)
        else str(x)
        for key, x in labels.items()
    )


def judge(
    claim: Claim | str,
    evidence: Evidence,
    control: Evidence = (),
    readings: Mapping[str, Evidence] = {},
    could: Mapping[str, Evidence] = {},
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
        could: Cases of the situation in which an alternative reading holds, by its key, for those readings
            for which the claim names such a situation.
        **columns: Which columns of the tables are what, e.g. ``value="slope", error="error"``; see `cases`.

    Returns:
        The card; as the last value of a notebook cell it draws itself.

    Raises:
        ValueError: If evidence, the control or an alternative's cases are missing or unexpected, the claim is
            not tested, a reading permits everything or nothing, or an exact case of an exact claim has no
            error.
        BadInput: If the id is unknown; ids like it are named.
    """
    if isinstance(claim, str):
        claim = find(claim)
    if claim.rule is None:
        raise ValueError(f"claim {claim.id} is {claim.expected}: {claim.why_not}")
    ours, controls = list(_flat(evidence, columns)), list(_flat(control, columns))
    given = {key: list(_flat(some, columns)) for key, some in readings.items()}
    shown = {key: list(_flat(some, columns)) for key, some in could.items()}
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

    named = {a.key for a in claim.alternatives if a.could}
    if apart := named ^ {key for key, some in shown.items() if some}:
        raise ValueError(
            f"claim {claim.id}: cases in which the reading {min(apart)!r} holds go with "
            "words for them (could), and only with them"
        )

    fixed = claim.corrected_rule
    rows = {OURS: [_row(claim, case, claim.rule, fixed) for case in ours]}
    holding: dict[str, list[Row]] = {}
    for alternative in claim.alternatives:
        mine = given.get(alternative.key, [])
        if not mine and alternative.rule is None:
            raise ValueError(
                f"claim {claim.id}: cases of the reading {alternative.key!r} are missing"
            )
        rule = alternative.rule or claim.rule
        rows[alternative.name] = [_row(claim, case, rule) for case in mine or ours]
        if alternative.could:
            holding[alternative.name] = [
                _row(claim, case, rule) for case in shown[alternative.key]
            ]
    for name, some in [*rows.items(), *holding.items()]:
        permitted = [tuple(map(float, row["permitted"])) for row in some]
        ends = {sum(map(math.isfinite, both)) for both in permitted}
        if 0 in ends or ends == {1, 2}:
            raise ValueError(
                f"claim {claim.id}: the reading {name!r} permits everything in some cases"
            )
        if any(first > last for first, last in permitted):
            raise ValueError(
                f"claim {claim.id}: the reading {name!r} permits nothing in some cases"
            )
    tried = [_row(claim, case, claim.rule, fixed) for case in controls]
    refused = [
        a.name
        for a in claim.alternatives
        if given.get(a.key)
        and _together(rows[a.name]) == CONTRADICTS
        and (not a.could or _together(holding[a.name]) != AGREES)
    ]
    record = _decided(claim, rows, tried, refused)
    return Card(record | {"refused": refused, "holding": holding})


def _decided(
    claim: Claim,
    rows: dict[str, list[Row]],
    tried: Sequence[Row],
    refused: Sequence[str],
) -> Row:
    """Return the record of a claim with its judged cases by reading, ours first, and those of the control."""
    outcomes = {name: _together(some) for name, some in rows.items()}
    outcomes |= dict.fromkeys(refused, UNDECIDED)
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
    as_expected = verdict is claim.expected and passed and not refused
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
    decided_by = _decided_by(verdict, outcomes, rows)
    if not passed:
        verb = "rejected" if must == CONTRADICTS else "accepted"
        named = decisive(tried, must, f"outcome{stand_by}")
        decided_by += f"{'; ' if decided_by else ''}its control is not {verb}: {named}"
    return statement_record(claim) | {
        "verdict": str(verdict),
        "as_expected": as_expected,
        "decided_by": decided_by,
        "stability": _stability(list(outcomes.values())),
        "readings": outcomes,
        "detects": _plain((min(limits), max(limits))) if limits else None,
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


def _decided_by(
    verdict: Verdict, outcomes: Mapping[str, str], rows: Mapping[str, list[Row]]
) -> str:
    """Name the setting and the interval that a verdict rests on; empty where all cases agree."""
    found = set(outcomes.values())
    if found == {AGREES}:
        return ""
    unclear = verdict is Verdict.INCONCLUSIVE or (
        verdict is Verdict.OPEN and not {AGREES, CONTRADICTS} <= found
    )
    word = UNDECIDED if unclear else CONTRADICTS
    if word not in found:
        return f"the correction is unclear: {decisive(rows[OURS], which='outcome_corrected')}"
    name = next(name for name, outcome in outcomes.items() if outcome == word)
    lead = "" if name == OURS else f"in the reading “{name}”, "
    count = f"; {agreement(rows[name])}" if len(rows[name]) > 1 else ""
    return lead + decisive(rows[name]) + count


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
    """Say how readings agree, ``"contradicts the statement in 2 of 3 readings"``; empty for a single one."""
    if len(outcomes) == 1:
        return ""
    word, count = (
        ("contradicts", CONTRADICTS)
        if CONTRADICTS in outcomes
        else ("agrees with", AGREES)
    )
    return (
        f"{word} the statement in {outcomes.count(count)} of {len(outcomes)} readings"
    )


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
