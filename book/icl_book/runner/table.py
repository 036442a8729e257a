"""The tables of a sweep: what was judged, in long form, and what the notebook computed."""

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
from icl_book.runner.record import collect, readings, tables

#: The row of a reading without a case at the parameters of a run.
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
    """Return a row for each case of each reading of each card in the results of a run.

    A reading without a case has one row without a number, so that its verdict is in the table.

    Columns are the run's parameters (lists as texts), root seed, notebook and seconds; ``claim``, its
    ``verdict``, ``reading``, ``case``, ``outcome``, ``evidence`` (how the number was found), ``measured`` in
    its interval from ``low`` to ``high``, ``samples``; and the case's labels by name, ``case <name>`` where a
    column is called like that already.
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
    """Return the columns of a run: its parameters, lists as texts, root seed, seconds and notebook."""
    shown = {k: str(v) if isinstance(v, list) else v for k, v in found["parameters"].items()}
    return shown | {k: found[k] for k in ("root_seed", "seconds")} | {"notebook": found["name"]}


def table(found: Mapping[str, Any], text: str) -> pd.DataFrame:
    """Return a table that a run kept, given as CSV, with the run's columns before its own.

    The run's columns are those of `tabulate_cases`: parameters, root seed, seconds and notebook, the same in
    each row. A column of the table that is called like one of the run is called ``table <name>``.
    """
    own = pd.read_csv(io.StringIO(text))
    run = pd.DataFrame([_describe_run(found)] * len(own))
    return run.join(own.rename(columns={name: f"table {name}" for name in own if name in run}))


def write(runs: Sequence[Run], wanted: Sequence[str] = ()) -> list[Path]:
    """Write the tables of a sweep, each as CSV and Parquet.

    Args:
        runs: Finished runs of one notebook.
        wanted: Claims and tables of the notebook. Without any, the cases of all claims are written.

    Returns:
        The CSV files: ``cases``, all or those of the claims wanted, in long form; for claims wanted ``wide``,
        a row a run and a column a case; and each table wanted, the rows of all runs one below the other.

    Raises:
        BadInput: If the runs have neither a claim nor a table of that name, naming those that they have.
    """
    # The file's name tells the runs of one notebook apart.
    found = [collect(run.path) | {"name": run.path.name} for run in runs]
    kept = [tables(run.path) for run in runs]
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
        # A wide table has room for one number of a name; it is the first.
        once = long.assign(label=label).drop_duplicates([*run_columns, "label"])
        frames["wide"] = once.pivot(
            index=run_columns, columns="label", values="measured"
        ).reset_index()
    for name in [name for name in wanted if name in table_names]:
        kept_of_runs = [
            table(results, texts[name])
            for results, texts in zip(found, kept, strict=True)
            if name in texts
        ]
        frames[name] = pd.concat(kept_of_runs, ignore_index=True)
    address = sha256("".join(str(run.path) for run in runs).encode()).hexdigest()[:8]
    folder = ROOT / "_build" / "sweeps" / f"{runs[0].name}-{runs[0].preset}-{address}"
    return [save(frame, folder / name) for name, frame in frames.items()]


def save(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV and Parquet, each whole or not at all; return the path of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path.with_suffix(".csv")) as part:
        frame.to_csv(part, index=False)
    with atomic_path(path.with_suffix(".parquet")) as part:
        frame.to_parquet(part, index=False)
    return path.with_suffix(".csv")
