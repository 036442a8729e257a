"""Replications: every sampled verdict again with fresh random streams, compared reading by reading.

A replication repeats the notebooks whose cards rest on sampled numbers, at the sizes of `quick`, and writes
what it finds, whatever it says. The registered run is in `icl_book.runner.protocol`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from icl_book.claims import changes
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import table
from icl_book.runner.plan import for_book, plan
from icl_book.runner.record import collect, keep, readings
from icl_book.runner.schedule import schedule

#: Where replications are written. What is published is committed, below ``results``.
FOUND = Path("_build") / "replications"


def moved(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, list[str | None]]:
    """Return where two runs of a claim differ in ``verdict`` or ``readings``, the outcome of each reading.

    The keys are ``"verdict"`` and names of readings; None stands where a run did not judge it.
    """
    one, two = (
        {"verdict": run["verdict"]} | run["readings"] for run in (before, after)
    )
    return {
        name: [one.get(name), two.get(name)]
        for name in one | two
        if one.get(name) != two.get(name)
    }


def replicate(seeds: Sequence[int], jobs: str, profile: str = "") -> int:
    """Judge every sampled verdict of the quick preset again with fresh streams, and say what changed.

    Writes ``_build/replications/<seed>.json``: of each claim its verdict, the outcome of each reading and
    the measured number of each case by name, and what changed, see `moved`. The book counts those that were
    committed as ``results/replications/<seed>.json``, and no others. A table has every case, for the
    book's own streams (seed 0) and each seed, ``_build/sweeps/replications/cases.csv`` and ``.parquet``.

    Returns:
        The exit status: zero once every notebook ran to its end, whatever the verdicts.

    Raises:
        BadInput: If a seed is no integer from 1 to 2**31 - 1, or ``ICL_SEED`` is set: it compares with the
            book.
    """
    for_book()
    for seed in seeds:
        if not 0 < seed < 2**31:
            raise BadInput(f"seed={seed}: must be an integer from 1 to 2**31 - 1")
    frames: list[pd.DataFrame] = []
    was: dict[str, Any] = {}
    names = None
    for seed in [0, *seeds]:
        runs = [
            run
            for run in plan("quick", seed=seed)
            if names is None or run.name in names
        ]
        if status := schedule(runs, jobs, profile):
            return status
        found = [collect(run.path) for run in runs]
        for record in found:
            record["cards"] = list(filter(sampled, record["cards"]))
        frames += map(table.cases, found)
        now = {card["id"]: card for record in found for card in record["cards"]}
        if seed == 0:
            names, was = {record["name"] for record in found if record["cards"]}, now
            continue
        changed = {i: different for i in was if (different := moved(was[i], now[i]))}
        claims = {
            i: {k: card[k] for k in ("verdict", "readings")} | {"cases": measured(card)}
            for i, card in now.items()
        }
        result = {
            "seed": seed,
            "rules": changes.digest(),
            "claims": claims,
            "changed": changed,
        }
        keep(FOUND / f"{seed}.json", result)
        print(
            f"seed {seed}: {len(now)} sampled claims, {len(changed)} changed in the verdict or a reading"
        )
        for name, different in changed.items():
            print(
                f"{name}: "
                + "; ".join(
                    f"{k}: {new}, before {old}" for k, (old, new) in different.items()
                )
            )
    place = ROOT / "_build" / "sweeps" / "replications" / "cases"
    table.save(pd.concat(frames, ignore_index=True), place)
    print(f"table: {os.path.relpath(place)}.csv")
    return 0


def sampled(card: Mapping[str, Any]) -> bool:
    """Return whether a verdict rests on sampled numbers, in any reading."""
    return any(
        case["kind"] == "sampled" for cases in readings(card).values() for case in cases
    )


def measured(card: Mapping[str, Any]) -> dict[str, float]:
    """Return the measured numbers of all cases by name; of a name that occurs twice, ours."""
    ours, *others = readings(card).values()
    return {
        case["name"]: case["measured"]
        for cases in (card["control_cases"], *others, ours)
        for case in cases
    }
