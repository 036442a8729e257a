"""Judge every sampled verdict of the book again, with other random streams.

This is a sweep over the root seed, at the sizes of `quick`, of the notebooks whose cards rest on samples.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import table
from icl_book.runner.plan import for_book, plan
from icl_book.runner.record import collect, readings
from icl_book.runner.schedule import schedule

#: The folder of the tables.
FOLDER = Path("_build") / "replications"


def replicate(seeds: Sequence[int], jobs: str, profile: str = "") -> int:
    """Judge every sampled verdict again with each root seed, print those that change, and write them all.

    Writes below ``_build/replications``, as CSV and as Parquet: ``verdicts``, with a row for each statement
    and each of its readings and a column for each seed, 0 for the book's own; ``cases``, with a row for each
    number behind them, of all seeds.

    Returns:
        The exit status: zero once every notebook ran to its end, whatever the verdicts with other seeds.

    Raises:
        BadInput: If a seed is not an integer from 1 to 2**31 - 1, or ``ICL_SEED`` is set and not 0, since
            the comparison is with the book; or as `schedule`.
    """
    for_book()
    for seed in seeds:
        if not 0 < seed < 2**31:
            raise BadInput(f"seed={seed}: must be an integer from 1 to 2**31 - 1")
    columns: dict[str, pd.Series] = {}
    cases = []
    # The runs with the book's own seed, which come first, tell which notebooks have sampled verdicts.
    names: list[str] | None = None
    for seed in [0, *seeds]:
        runs = [run for run in plan("quick", seed=seed) if names is None or run.name in names]
        if status := schedule(runs, jobs, profile):
            return status
        found = [collect(run.path) for run in runs]
        for results in found:
            results["cards"] = [card for card in results["cards"] if sampled(card)]
        if names is None:
            names = [results["name"] for results in found if results["cards"]]
        cases += [table.tabulate_cases(results) for results in found]
        columns[str(seed)] = outcomes([card for results in found for card in results["cards"]])
    verdicts = pd.DataFrame(columns).rename_axis(["statement", "reading"])
    unchanged = verdicts.eq(verdicts["0"], axis=0).all(axis=1)
    print(f"{len(unchanged)} verdicts and readings, {(~unchanged).sum()} not the same with each")
    if not unchanged.all():
        print(verdicts[~unchanged].to_string())
    table.save(pd.concat(cases, ignore_index=True), ROOT / FOLDER / "cases")
    path = table.save(verdicts.reset_index(), ROOT / FOLDER / "verdicts")
    print(f"table: {os.path.relpath(path)}")
    return 0


def sampled(card: Mapping[str, Any]) -> bool:
    """Return whether a verdict rests on sampled numbers, in any reading."""
    return any(case["kind"] == "sampled" for cases in readings(card).values() for case in cases)


def outcomes(cards: Sequence[Mapping[str, Any]]) -> pd.Series:
    """Return by statement and reading the outcome; the verdict on a statement is the reading ``verdict``."""
    found = {}
    for card in cards:
        found[card["id"], "verdict"] = card["verdict"]
        for reading, outcome in card["readings"].items():
            found[card["id"], reading] = outcome
    return pd.Series(found, dtype=object)
