"""The tables of a sweep, in long form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from icl.files import atomic_path
from icl_book.parameters import BadInput, number
from icl_book.provenance import ROOT
from icl_book.runner.plan import Run
from icl_book.runner.record import collect, readings


def cases(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each case of each reading of each card.

    Args:
        found: The record of a run, see `icl_book.runner.record.collect`.

    Returns:
        The run's parameters (lists as texts), root seed, notebook and seconds; ``claim``, its ``verdict``,
        ``reading``, ``case``, ``outcome``, ``evidence`` (how the number was found), ``measured`` in its
        interval from ``low`` to ``high``, ``samples``; and the case's labels by name, ``case <name>``
        where a column is called like that already.
    """
    rows = []
    for card in found["cards"]:
        for reading, some in readings(card).items():
            for case in some:
                low, high = case["interval"]
                row = _run(found) | {"claim": card["id"], "verdict": card["verdict"], "reading": reading}
                row |= {"case": case["name"], "outcome": case["outcome"], "evidence": case["kind"]}
                row |= {"measured": float(case["measured"]), "low": float(low), "high": float(high)}
                row |= {"samples": case["samples"]}
                rows.append(row | {f"case {k}" if k in row else k: v for k, v in case["parameters"].items()})
    return pd.DataFrame(rows)


def numbers(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each glued number: what `cases` says of the run, ``number`` (its name), ``value``."""
    glued = {name: number(text) for name, text in found["numbers"].items()}
    rows = [{"number": name, "value": float(v)} for name, v in glued.items() if isinstance(v, int | float)]
    return pd.DataFrame([_run(found) | row for row in rows])


def _run(found: Mapping[str, Any]) -> dict[str, Any]:
    shown = {k: str(v) if isinstance(v, list) else v for k, v in found["parameters"].items()}
    return shown | {k: found[k] for k in ("root_seed", "seconds")} | {"notebook": found["name"]}


def write(runs: Sequence[Run], wanted: Sequence[str] = ()) -> Path:
    """Write the tables of a sweep, ``cases`` and ``numbers``, each as CSV and Parquet.

    Args:
        runs: Finished runs of one notebook.
        wanted: Names of the numbers that are kept; all of them if none is named.

    Returns:
        Their folder.

    Raises:
        BadInput: If no run kept a number of that name, naming those that were kept.
    """
    found = [collect(run.path) | {"name": run.path.name} for run in runs]
    glued = pd.concat(map(numbers, found), ignore_index=True)
    kept = list(glued["number"].unique()) if len(glued) else []
    for name in wanted:
        if name not in kept:
            raise BadInput(f"collect={name!r}: {runs[0].name} keeps {', '.join(kept) or 'no numbers'}")
    address = sha256("".join(str(run.path) for run in runs).encode()).hexdigest()[:8]
    folder = ROOT / "_build" / "sweeps" / f"{runs[0].name}-{runs[0].preset}-{address}"
    save(pd.concat(map(cases, found), ignore_index=True), folder / "cases")
    save(glued[glued["number"].isin(wanted)] if wanted else glued, folder / "numbers")
    return folder


def save(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV and Parquet, each whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path.with_suffix(".csv")) as part:
        frame.to_csv(part, index=False)
    with atomic_path(path.with_suffix(".parquet")) as part:
        frame.to_parquet(part, index=False)
