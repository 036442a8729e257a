"""Judging again: the confirmatory run, and replications with fresh random streams.

The confirmatory run uses the preset ``confirmatory``: sizes that the book does not use, and more seeds. They
were new in the first such run only. The root of its random streams follows from the rules
(`icl_book.claims.changes.seed`), so nobody can have picked it. A replication repeats every notebook whose
cards rest on sampled numbers. Both write small results, whatever they say, and runs are compared reading by
reading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from icl.files import write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import CONFIRMATORY, Run, for_book, plan
from icl_book.runner.record import collect
from icl_book.runner.table import save

Schedule = Callable[[Mapping[str, str], str], int]

#: What a small result keeps of a record, of a card and of a case.
RECORD = ("name", "preset", "parameters", "root_seed", "seconds", "device", "machine", "versions", "commit")
CARD = ("id", "verdict", "expected", "stability", "readings", "control_passed")
CARD += ("detection_limit", "detection_limit_least")
CASE = ("name", "measured", "interval", "outcome", "samples", "kind", "permitted", "permitted_corrected")


@contextmanager
def streams(seed: int) -> Iterable[None]:
    """Draw from fresh random streams in all processes that are started meanwhile."""
    if not 0 < seed < 2**31:
        raise BadInput(f"seed={seed}: must be an integer from 1 to 2**31 - 1")
    before = os.environ.get("ICL_SEED")
    os.environ["ICL_SEED"] = str(seed)
    try:
        yield
    finally:
        os.environ.pop("ICL_SEED")
        if before is not None:
            os.environ["ICL_SEED"] = before


def record(run: Run) -> dict:
    """Return the record of a run that is done."""
    return collect(run.path)


def small(found: Mapping) -> dict:
    """Return what is kept of a record."""

    def rows(cases: Sequence[Mapping]) -> list[dict]:
        return [{k: case[k] for k in CASE} for case in cases]

    cards = [
        {k: card[k] for k in CARD}
        | {"cases": rows(card["cases"]), "control_cases": rows(card["control_cases"])}
        | {"other_readings": {name: rows(cases) for name, cases in card["other_readings"].items()}}
        for card in found["cards"]
    ]
    return {k: found[k] for k in RECORD} | {"cards": cards}


def moved(before: Mapping, after: Mapping) -> dict[str, list]:
    """Return what two runs say of one claim, wherever they differ.

    Args:
        before: ``verdict`` and ``readings``, the outcome of each reading, in one run.
        after: The same in the other.

    Returns:
        Before and after, for ``"verdict"`` and by name of the reading; None where a run did not judge it.
    """
    one, two = ({"verdict": run["verdict"]} | run["readings"] for run in (before, after))
    return {name: [one.get(name), two.get(name)] for name in one | two if one.get(name) != two.get(name)}


def confirm(schedule: Schedule, jobs: str) -> int:
    """Run the confirmatory preset and write ``results/confirmatory``.

    Args:
        schedule: Runs notebooks; see `icl_book.runner.schedule.schedule`.
        jobs: How many notebooks run at a time.

    Returns:
        The exit status: zero once every notebook ran to its end, whatever the verdicts.
    """
    from icl_book.claims import changes

    if problems := changes.problems():
        raise BadInput(problems[0])
    rules, seed = changes.digest(), changes.seed()
    with streams(seed):
        runs = [run for run in plan(CONFIRMATORY) if run.judges]
        if status := schedule({"preset": CONFIRMATORY, "only": " ".join(r.name for r in runs)}, jobs):
            return status
        found = [record(run) for run in runs]
    folder = ROOT / "results" / "confirmatory"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = {"rules": rules, "date": datetime.now(UTC).date().isoformat()}
    for one in found:
        if one["cards"]:
            _write(folder / f"{one['name']}.json", stamp | small(one))
    changed = [c for one in found for c in one["cards"] if c["verdict"] != c["expected"]]
    judged = sum(len(one["cards"]) for one in found)
    print(f"{judged} verdicts, {len(changed)} not as in the book; results in {folder.relative_to(ROOT)}")
    for card in changed:
        print(f"{card['id']}: {card['verdict']}, in the book {card['expected']}")
    return 0


def replicate(schedule: Schedule, seeds: Sequence[int], jobs: str) -> int:
    """Judge every sampled verdict of the quick preset again with fresh streams, and say what changed.

    Writes ``results/replications/<seed>.json``: of each claim its verdict, the outcome of each reading and
    the measured number of each case by name, and what changed, see `moved`. A table has every case, for the
    book's own streams (seed 0) and each seed, ``_build/sweeps/replications/table.csv`` and ``.parquet``.

    Args:
        schedule: Runs notebooks; see `icl_book.runner.schedule.schedule`.
        seeds: Roots of the streams, positive integers below 2**31.
        jobs: How many notebooks run at a time.

    Returns:
        The exit status: zero once every notebook ran to its end, whatever the verdicts.

    Raises:
        BadInput: If a seed is none, or ``ICL_SEED`` is set: it compares with the book.
    """
    from icl_book.claims import changes

    for_book("quick")
    for seed in seeds:
        with streams(seed):
            pass  # a wrong seed is refused before anything runs
    base = plan("quick")
    if status := schedule({"preset": "quick", "only": " ".join(r.name for r in base)}, jobs):
        return status
    before = {r.name: _sampled(record(r)) for r in base}
    names = [name for name, cards in before.items() if cards]
    was = {i: card for name in names for i, card in before[name].items()}
    lines = _lines(0, {name: before[name] for name in names})
    folder = ROOT / "results" / "replications"
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        with streams(seed):
            if status := schedule({"preset": "quick", "only": " ".join(names)}, jobs):
                return status
            after = {r.name: _sampled(record(r)) for r in plan("quick") if r.name in names}
        lines += _lines(seed, after)
        now = {i: card for name in names for i, card in after[name].items()}
        changed = {i: different for i in was if (different := moved(was[i], now[i]))}
        claims = {
            i: {"verdict": card["verdict"], "readings": card["readings"], "cases": _measured(card)}
            for i, card in now.items()
        }
        result = {"seed": seed, "rules": changes.digest(), "claims": claims, "changed": changed}
        _write(folder / f"{seed}.json", result)
        print(f"seed {seed}: {len(now)} sampled claims, {len(changed)} changed in the verdict or a reading")
        for name, different in changed.items():
            print(f"{name}: " + "; ".join(f"{k}: {new}, before {old}" for k, (old, new) in different.items()))
    table_folder = ROOT / "_build" / "sweeps" / "replications"
    table_folder.mkdir(parents=True, exist_ok=True)
    save(lines, table_folder)
    print(f"table: {os.path.relpath(table_folder / 'table.csv')}")
    return 0


def _lines(seed: int, found: Mapping[str, Mapping[str, dict]]) -> list[dict]:
    """Return a line for each case of the cards of each notebook."""
    return [
        {"seed": seed, "notebook": name, "claim": claim, "verdict": card["verdict"], "case": case["name"]}
        | {"measured": case["measured"], "low": (case["interval"] or [None])[0]}
        | {"high": (case["interval"] or [None])[-1], "samples": case["samples"]}
        for name, cards in found.items()
        for claim, card in cards.items()
        for case in card["cases"]
    ]


def _sampled(found: Mapping) -> dict[str, dict]:
    """Return the cards whose verdicts rest on sampled numbers, by claim."""
    return {
        card["id"]: card
        for card in found["cards"]
        if any(row["kind"] == "sampled" for row in _evidence(card))
    }


def _evidence(card: Mapping) -> list[dict]:
    """Return the cases of all readings of a card, ours last."""
    return [*(case for cases in card["other_readings"].values() for case in cases), *card["cases"]]


def _measured(card: Mapping) -> dict[str, float]:
    """Return the measured numbers of all cases by name; of a name that occurs twice, ours."""
    return {case["name"]: case["measured"] for case in [*card["control_cases"], *_evidence(card)]}


def _write(path, content: dict) -> None:
    write_atomically(path, json.dumps(content, indent=1) + "\n")
