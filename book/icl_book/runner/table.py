"""Write the tables of a sweep: the judged cases, and the tables that the notebook kept."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from icl_book.claims.judge import NO_CASE, UNDECIDED
from icl_book.files import atomic_path
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import Run
from icl_book.runner.record import collect, read_tables, readings

WITHOUT_CASE = {
    "name": NO_CASE,
    "measured": math.nan,
    "interval": (math.nan, math.nan),
    "outcome": UNDECIDED,
    "kind": "",
    "samples": None,
    "parameters": {},
}


def tabulate_cases(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table of a run's results with a row for each case of each reading of each card.

    A reading without a case has one row without a number, so that its verdict is in the table. A label with
    the name of another column is called ``case <name>``.
    """
    rows = []
    for card in found["cards"]:
        for reading, cases in readings(card).items():
            for case in cases or [WITHOUT_CASE]:
                low, high = case["interval"]
                row = _describe_run(found) | {
                    "claim": card["id"],
                    "verdict": card["verdict"],
                    "reading": reading,
                }
                row |= {"case": case["name"], "outcome": case["outcome"], "evidence": case["kind"]}
                row |= {"measured": float(case["measured"]), "low": float(low), "high": float(high)}
                row |= {"samples": case["samples"]}
                rows.append(
                    row | {f"case {k}" if k in row else k: v for k, v in case["parameters"].items()}
                )
    return pd.DataFrame(rows)


def _describe_run(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a run: its parameters by name, ``root_seed``, ``seconds`` and ``notebook``."""
    shown = {k: str(v) if isinstance(v, list) else v for k, v in found["parameters"].items()}
    return shown | {k: found[k] for k in ("root_seed", "seconds")} | {"notebook": found["name"]}


def add_run_columns(found: Mapping[str, Any], text: str) -> pd.DataFrame:
    """Return a table that a run kept as CSV, with the columns of the run (`_describe_run`) before its own.

    A column of the table with the name of a column of the run is called ``table <name>``.
    """
    own = pd.read_csv(io.StringIO(text))
    run = pd.DataFrame([_describe_run(found)] * len(own))
    return run.join(own.rename(columns={name: f"table {name}" for name in own if name in run}))


def write(runs: Sequence[Run], wanted: Sequence[str] = ()) -> list[Path]:
    """Write the tables of a sweep, each as CSV and Parquet, and return the paths of the CSV files.

    ``cases`` has the table of `tabulate_cases`, of all runs and for the wanted claims, by default all. If
    claims are wanted, ``wide`` has a row for each run and a column with the number of each case. Each wanted
    table has a file.

    Args:
        runs: Finished runs of one notebook.
        wanted: Ids of claims and names of tables of the notebook.

    Raises:
        BadInput: If the runs have neither a claim nor a table with a wanted name.
    """
    # The column `notebook` has the names of files, because all runs are of one notebook.
    found = [collect(run.path) | {"name": run.path.name} for run in runs]
    kept = [read_tables(run.path) for run in runs]
    long = pd.concat(map(tabulate_cases, found), ignore_index=True)
    claims = list(long["claim"].unique()) if len(long) else []
    table_names = sorted({name for texts in kept for name in texts})
    for name in wanted:
        if name not in claims + table_names:
            there = ", ".join(claims + table_names)
            raise BadInput(f"collect={name!r}: {runs[0].name} has {there}")
    if wanted_claims := [name for name in wanted if name in claims]:
        long = long[long["claim"].isin(wanted_claims)]
    frames = {"cases": long}
    if wanted_claims:
        run_columns = list(_describe_run(found[0]))
        label = long["claim"] + " | " + long["reading"] + " | " + long["case"]
        # Of several cases with the same label, only the first has a place in the wide table.
        once = long.assign(label=label).drop_duplicates([*run_columns, "label"])
        frames["wide"] = once.pivot(
            index=run_columns, columns="label", values="measured"
        ).reset_index()
    for name in [name for name in wanted if name in table_names]:
        kept_of_runs = [
            add_run_columns(results, texts[name])
            for results, texts in zip(found, kept, strict=True)
            if name in texts
        ]
        frames[name] = pd.concat(kept_of_runs, ignore_index=True)
    address = sha256("".join(str(run.path) for run in runs).encode()).hexdigest()[:8]
    folder = ROOT / "_build" / "sweeps" / f"{runs[0].name}-{runs[0].preset}-{address}"
    return [save(frame, folder / name) for name, frame in frames.items()]


def save(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV and as Parquet, and return the path of the CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path.with_suffix(".csv")) as part:
        frame.to_csv(part, index=False)
    with atomic_path(path.with_suffix(".parquet")) as part:
        frame.to_parquet(part, index=False)
    return path.with_suffix(".csv")
