"""The table of a sweep, and a page that shows it."""

from __future__ import annotations

import ast
import csv
import html
import io
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from icl.files import atomic_path, write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import Run, source
from icl_book.runner.record import collect

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px sans-serif; margin: 2em; max-width: 75em }} svg {{ max-width: 100%; height: auto }}
table {{ border-collapse: collapse }} td, th {{ padding: .2em .7em; text-align: left }}
td {{ border-top: 1px solid #ccc }}</style>
<h1>{title}</h1>
<p>{count} runs. All of their numbers: <a href="table.csv">table.csv</a>,
<a href="table.parquet">table.parquet</a>.</p>
{figure}
<table><tr>{head}</tr>
{body}
</table></html>
"""


def offered(name: str) -> list[str]:
    """Return the names under which a notebook keeps numbers, as its source has them.

    Args:
        name: The notebook.

    Returns:
        The first arguments of ``notebook.glue``; of an f-string its beginning and ``*``.
    """
    found = []
    for node in ast.walk(ast.parse(source(name))):
        match node:
            case ast.Call(func=ast.Attribute(attr="glue"), args=[ast.Constant(value=str(text)), *_]):
                found.append(text)
            case ast.Call(func=ast.Attribute(attr="glue"), args=[ast.JoinedStr(values=[first, *_]), *_]):
                found.append((first.value if isinstance(first, ast.Constant) else "") + "*")
    return found


def check(name: str, wanted: Sequence[str]) -> None:
    """Refuse names of numbers that a notebook does not keep.

    Raises:
        BadInput: Naming the first of them and those there are.
    """
    names = offered(name)
    for one in wanted:
        if not any(one == n or (n.endswith("*") and one.startswith(n[:-1])) for n in names):
            raise BadInput(f"collect={one!r}: {name} keeps {', '.join(names) or 'no numbers'}")


@dataclass(frozen=True)
class Row:
    """A finished run.

    Attributes:
        path: The executed notebook.
        run: Its digest and how many seconds it took.
        parameters: Its parameters by name.
        results: Its numbers by name. A verdict has the name of its claim, and each of its cases
            ``<claim> <case>`` with the measured value, the same with ``low`` and ``high`` with its interval.
    """

    path: Path
    run: dict
    parameters: dict
    results: dict


def row(path: Path, wanted: Sequence[str] = ()) -> Row:
    """Read a finished run.

    Args:
        path: The executed notebook.
        wanted: Names of the numbers that are kept; all of them if none is named.
    """
    found = collect(path)
    results = {k: value(v) for k, v in found["numbers"].items() if not wanted or k in wanted}
    for card in found["cards"]:
        results[card["id"]] = card["verdict"]
        for case in card["cases"]:
            low, high = case["interval"] or (None, None)
            name = f"{card['id']} {case['name']}"
            results |= {name: case["measured"], f"{name} low": low, f"{name} high": high}
    return Row(path, {k: found[k] for k in ("digest", "seconds")}, found["parameters"], results)


def value(text: str) -> object:
    """Return the literal or number whose ``repr`` a notebook kept, or the text itself."""
    for read in (ast.literal_eval, float):  # nan and inf are no literals
        try:
            return read(text)
        except (ValueError, SyntaxError):
            pass
    return text


def write(runs: Sequence[Run], wanted: Sequence[str] = ()) -> Path:
    """Write the table of a sweep, as CSV and Parquet, and a page with its curves and links to its notebooks.

    A number that is called like a parameter has the column ``kept <name>``.

    Args:
        runs: Finished runs of one notebook.
        wanted: Names of the numbers; all of them if none is named.

    Returns:
        The folder of ``table.csv``, ``table.parquet`` and ``index.html``.

    Raises:
        BadInput: If no run kept a number of that name, naming those that were kept.
    """
    table = [row(run.path, wanted) for run in runs]
    for name in wanted:
        if not any(name in one.results for one in table):  # of an f-string `offered` knows the beginning
            kept = dict.fromkeys(k for run in runs for k in collect(run.path)["numbers"])
            raise BadInput(f"collect={name!r}: the runs of {runs[0].name} kept {', '.join(kept)}")
    address = sha256("".join(str(run.path) for run in runs).encode()).hexdigest()[:8]
    folder = ROOT / "_build" / "sweeps" / f"{runs[0].name}-{runs[0].preset}-{address}"
    folder.mkdir(parents=True, exist_ok=True)
    flat = []
    for one in table:
        own = one.parameters | one.run | {"notebook": os.path.relpath(one.path, folder)}
        flat.append(
            one.parameters | {f"kept {k}" if k in own else k: v for k, v in one.results.items()} | own
        )
    save(flat, folder)
    write_atomically(folder / "index.html", page(table, f"Sweep of {runs[0].name}", folder))
    return folder


def save(lines: Sequence[Mapping], folder: Path) -> None:
    """Write a table as ``table.csv`` and ``table.parquet``.

    Columns of Parquet have their values' own type, or are texts where types are mixed.

    Args:
        lines: Value by column, for each line.
        folder: Where to; it must exist.
    """
    import pyarrow  # here: every command imports this module, and only sweeps write tables
    from pyarrow import parquet

    def column(values: list) -> pyarrow.Array:
        try:
            return pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            return pyarrow.array([None if value is None else str(value) for value in values])

    text, names = io.StringIO(), list(dict.fromkeys(k for one in lines for k in one))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    write_atomically(folder / "table.csv", text.getvalue())
    typed = pyarrow.table({name: column([one.get(name) for one in lines]) for name in names})
    with atomic_path(folder / "table.parquet") as part:
        parquet.write_table(typed, part)


def page(table: Sequence[Row], title: str, folder: Path) -> str:
    """Return a page with small multiples over the first parameter that varies, and a line for each run."""
    swept = _varied([one.parameters for one in table])
    shown = [k for k in _varied([one.results for one in table]) if not k.endswith((" low", " high"))]
    lines = []
    for one in table:
        link = f'<a href="{html.escape(os.path.relpath(one.path, folder))}">{one.run["digest"][:8]}</a>'
        values = [one.parameters[k] for k in swept] + [one.results.get(k, "") for k in shown]
        cells = [html.escape(f"{v:.6g}" if isinstance(v, float) else str(v)) for v in values]
        lines.append("".join(f"<td>{cell}</td>" for cell in (link, *cells)))
    return _PAGE.format(
        title=html.escape(title),
        count=len(table),
        figure=_multiples(table, swept, shown),
        head="".join(f"<th>{html.escape(k)}</th>" for k in ("notebook", *swept, *shown)),
        body="\n".join(f"<tr>{line}</tr>" for line in lines),
    )


def _varied(columns: Sequence[Mapping]) -> list[str]:
    names = dict.fromkeys(k for one in columns for k in one)
    return [k for k in names if len({repr(one.get(k)) for one in columns}) > 1]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _multiples(table: Sequence[Row], swept: Sequence[str], shown: Sequence[str]) -> str:
    """Return an SVG: each number against the first parameter, a line for each setting of the others."""
    axis = next((k for k in swept if all(_is_number(one.parameters[k]) for one in table)), None)
    numbers = [k for k in shown if any(_is_number(one.results.get(k)) for one in table)]
    if axis is None or not numbers:
        return ""
    from matplotlib.figure import Figure  # takes long to import

    from icl_book import plots

    others = [k for k in swept if k != axis]
    settings: dict[str, list[Row]] = {}
    for one in table:
        settings.setdefault(", ".join(f"{k}={one.parameters[k]}" for k in others), []).append(one)
    rows = -(-len(numbers) // 3)
    figure = Figure(figsize=(12, 2.8 * rows), layout="constrained")
    for ax, name in zip(figure.subplots(rows, 3, squeeze=False).flat, numbers, strict=False):
        for i, (label, some) in enumerate(settings.items()):
            points = [(o.parameters[axis], o.results[name]) for o in some if _is_number(o.results.get(name))]
            if points:
                color = plots.PALETTE[i % len(plots.PALETTE)]
                ax.plot(*zip(*sorted(points), strict=True), ".-", color=color, label=label)
        ax.set(xlabel=axis, title=textwrap.shorten(name, 45))
    for ax in figure.axes[len(numbers) :]:
        ax.remove()
    if others and len(settings) <= 12:
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return plots.svg(figure)
