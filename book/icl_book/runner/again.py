"""Judge every sampled verdict of the book again, with other random streams.

These are runs of the preset `quick` with other root seeds, for the notebooks whose verdicts rest on samples.
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
from icl_book.runner.plan import plan, refuse_other_seeds
from icl_book.runner.record import collect, readings
from icl_book.runner.schedule import schedule

FOLDER = Path("_build") / "replications"


def replicate(seeds: Sequence[int], jobs: str, profile: str = "") -> int:
    """Judge every sampled verdict again with each root seed, print the changes, and return the exit status.

    Two tables are written into ``_build/replications``. ``verdicts`` has a row for each verdict and for each
    outcome of a reading, and a column for each seed, of which 0 is the book's own. ``cases`` has a row for
    each measured number and each seed. Changed verdicts are not a failure.

    Raises:
        BadInput: If a seed is not an integer from 1 to 2**31 - 1, if ``ICL_SEED`` is set, or as `schedule`.
    """
    refuse_other_seeds()
    for seed in seeds:
        if not 0 < seed < 2**31:
            raise BadInput(f"seed={seed}: must be an integer from 1 to 2**31 - 1")
    columns: dict[str, pd.Series] = {}
    cases = []
    # The notebooks with sampled verdicts are known after the runs with the book's own seed 0.
    names: list[str] | None = None
    for seed in [0, *seeds]:
        runs = [run for run in plan("quick", seed=seed) if names is None or run.name in names]
        if status := schedule(runs, jobs, profile):
            return status
        found = [collect(run.path) for run in runs]
        for results in found:
            results["cards"] = [card for card in results["cards"] if rests_on_samples(card)]
        if names is None:
            names = [results["name"] for results in found if results["cards"]]
        cases += [table.tabulate_cases(results) for results in found]
        cards = [card for results in found for card in results["cards"]]
        columns[str(seed)] = collect_outcomes(cards)
    verdicts = pd.DataFrame(columns).rename_axis(["statement", "reading"])
    unchanged = verdicts.eq(verdicts["0"], axis=0).all(axis=1)
    print(f"{len(unchanged)} verdicts and readings, {(~unchanged).sum()} not the same with each")
    if not unchanged.all():
        print(verdicts[~unchanged].to_string())
    table.save(pd.concat(cases, ignore_index=True), ROOT / FOLDER / "cases")
    path = table.save(verdicts.reset_index(), ROOT / FOLDER / "verdicts")
    print(f"table: {os.path.relpath(path)}")
    return 0


def rests_on_samples(card: Mapping[str, Any]) -> bool:
    """Return whether a card has a sampled number in any of its readings."""
    return any(case["kind"] == "sampled" for cases in readings(card).values() for case in cases)


def collect_outcomes(cards: Sequence[Mapping[str, Any]]) -> pd.Series:
    """Return the verdicts of cards and the outcomes of their readings, by claim and reading, or "verdict"."""
    found = {}
    for card in cards:
        found[card["id"], "verdict"] = card["verdict"]
        for reading, outcome in card["readings"].items():
            found[card["id"], reading] = outcome
    return pd.Series(found, dtype=object)
