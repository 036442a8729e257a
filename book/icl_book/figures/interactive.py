"""Interactive figures from tables that a notebook computed: sliders, a marked best value, a reset button.

The script beside this module looks numbers up, multiplies them by squares of sliders and adds them. Both axes
are logarithmic. The script travels in the cell's output, so that it runs in JupyterLab, too.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML

from icl_book.figures import plots


def interactive(
    frame: pd.DataFrame,
    x: str,
    y: Mapping[str, str],
    sliders: Mapping[str, str],
    start: Mapping[str, Any],
    *,
    labels: tuple[str, str],
    experiment: str,
    alt: str,
    caption: str = "",
    best: pd.DataFrame | None = None,
    squares: Mapping[str, str] | None = None,
    told: Mapping[str, str] | None = None,
    scene: str = "",
    ylim: tuple[float, float] | None = None,
) -> HTML:
    """Build a figure with sliders from a tidy table.

    Without scripts a page shows a picture of the curves at ``start``. A *setting* of a table is one value of
    each slider, except ``x``, that is a column of the table.

    Args:
        frame: One row for each setting and each ``x``. A curve has a gap where a row or a value is missing.
        x: Column of the horizontal axis. It is also a slider, which moves along the curves.
        y: For each curve its column and its label, at most four. The first curve sets the vertical axis,
            unless ``ylim`` does. The others have the colors of their labels (`plots.colors`).
        sliders: For each slider its column, in ``frame`` or in ``best``, and its label, which may end with a
            unit in parentheses. Every value of the column is a stop. A column of texts becomes a menu.
        start: For each slider the stop at which it starts.
        labels: Names of the horizontal and of the vertical axis.
        experiment: What to try, with the word "move".
        alt: What the figure shows, for readers who cannot see it.
        caption: What is fixed, and what a reader must know besides.
        best: The exact best point of each setting, which the figure marks: one row for each setting, with the
            column ``x`` and that of the first curve.
        squares: For some columns of ``frame``, the slider whose square multiplies them. If the first curve is
            not a column, it is the sum of these products, e.g. risk = L^2 bias + sigma^2 noise.
        told: For some columns of ``frame`` with one number for each setting, a sentence below the figure, in
            which the number replaces ``{}``.
        scene: An HTML element with SVGs, above the curves, or beside them if it has the class ``beside``. The
            radius of its circles with ``data-scale`` is this scale times the value of the slider ``x``, or
            times the best ``x`` if the circle has the class ``best``. Parts with ``data-when``, a JSON
            mapping from sliders to stops, are seen at these stops only.
        ylim: Ends of the vertical axis.

    Raises:
        ValueError: If a start is not a stop, ``experiment`` lacks "move", or ``alt`` is empty.
    """
    tables = {"curves": frame}
    if best is not None:
        tables["best"] = best
    stops = {}
    for name in sliders:
        # A slider stops at the values of the first table with its column.
        values = next(table[name] for table in tables.values() if name in table).drop_duplicates()
        if values.dtype.kind in "iuf":
            values = values.sort_values()
        stops[name] = values.tolist()
        if start[name] not in stops[name]:
            raise ValueError(f"start: {name}={start[name]!r} must be one of {stops[name]}")
    if "move" not in experiment.lower() or not alt.strip():
        raise ValueError(
            f"experiment={experiment!r}, alt={alt!r}: must say what to move, and what is seen"
        )
    data: dict[str, Any] = {
        "x": x,
        "y": [*y.items()],
        "labels": labels,
        "ylim": ylim,
        "alt": alt,
    }
    data |= {"squares": squares or {}, "told": [*(told or {}).items()]}
    data["sliders"] = [
        {"name": name, "label": sliders[name], "stops": values, "start": values.index(start[name])}
        for name, values in stops.items()
    ]
    # For each table these are the sliders that are columns of it, with their stops.
    keys = {
        name: {slider: stops[slider] for slider in sliders if slider in table and slider != x}
        for name, table in tables.items()
    }
    data["tables"] = {name: pack(table, keys[name]) for name, table in tables.items()}

    at_start = pd.Series({slider: start[slider] for slider in keys["curves"]})
    shown = frame[(frame[[*keys["curves"]]] == at_start).all(axis=1)]
    products = pd.DataFrame({c: shown[c] * start[s] ** 2 for c, s in data["squares"].items()})
    curves = {}
    for column in y:
        if column in products:
            curves[column] = products[column]
        elif column in shown:
            curves[column] = shown[column]
        else:
            curves[column] = products.sum(axis=1)
    shown = shown.assign(**curves).set_index(x)
    shades = [*plots.colors([*y.values()][1:]).values()]
    lines = {"color": [plots.COLORS["total"], *shades], "style": ["-", "--", ":", "-."]}
    ax = shown[[*y]].rename(columns=y).plot(loglog=True, **lines)
    ax.set(xlabel=labels[0], ylabel=labels[1], ylim=ylim)
    picture = base64.b64encode(plots.svg(ax.figure).encode()).decode()
    plt.close(ax.figure)
    # An unescaped "<" in a text could end the script that holds the data.
    table = json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")
    # The style sheet takes colors from these variables.
    colors = "".join(
        f"--light-{i}:{shade};--dark-{i}:{plots.on_dark(shade)};"
        for i, shade in enumerate(shades, start=1)
    )
    style, script = (
        Path(__file__).with_suffix(suffix).read_text("utf-8") for suffix in (".css", ".js")
    )
    return HTML(
        f'<div class="icl-interactive" role="group" aria-label="Interactive figure" style="{colors}">'
        f"<style>{style}</style>"
        f'<script type="application/json">{table}</script>'
        f'<p class="experiment">{html.escape(experiment)}</p>{scene}'
        f'<img class="icl-frame" alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{picture}">'
        f'<p class="caption">{html.escape(caption)}</p><script>{script}</script></div>'
    )


def pack(frame: pd.DataFrame, stops: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Pack the columns of a tidy table as arrays for the script of an interactive figure.

    A *key* is a column of ``stops``, and a *setting* is one value of each key. A column becomes an array with
    one axis for each key and a last axis for the rows of a setting. The axis of a key is left out if the
    column does not depend on the key, and the last axis has length one if the rows of each setting are equal.
    Missing rows are NaN.

    Returns:
        ``rows``, the largest number of rows of a setting, and ``columns``. For each column the latter has
        ``keys``, the keys on which it depends, and ``data``, the array as base64 of little-endian float32.
    """
    codes = [pd.Index(values).get_indexer(frame[key]) for key, values in stops.items()]
    row = frame.groupby([*stops]).cumcount().to_numpy() if stops else np.arange(len(frame))
    shape = (*map(len, stops.values()), int(row.max()) + 1)
    columns = {}
    for name in frame.columns.difference([*stops]):
        values = np.full(shape, np.nan, "<f4")
        values[(*codes, row)] = frame[name]
        needed: list[str] = []
        # The loop begins at the last axis, because a removed axis changes the numbers of those after it.
        for axis, key in reversed([*enumerate(stops)]):
            if np.array_equal(values, np.roll(values, 1, axis), equal_nan=True):
                values = values.take(0, axis)
            else:
                needed.insert(0, key)
        if np.array_equal(values, np.roll(values, 1, -1), equal_nan=True):
            values = values[..., :1]
        columns[name] = {"keys": needed, "data": base64.b64encode(values.tobytes()).decode()}
    return {"rows": shape[-1], "columns": columns}
