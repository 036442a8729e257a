"""Interactive figures from tables that a notebook computed: sliders, a marked best value, a reset button.

The page computes no science: the script beside this module looks numbers up, multiplies them by squares of
sliders and adds them. Both axes are logarithmic. In a trial on one table, Vega-Lite needed 2.2 MB of scripts
(0.5 MB compressed) and a page that allows ``eval``, and its sliders were 129 px wide and read out positions,
not values. Our script has 12 KB, travels in the cell's output, so that it runs in JupyterLab too, and follows
the page's theme.
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
    """Build a figure with sliders from a tidy table; without scripts its curves at the start stay.

    Args:
        frame: One row for each setting of the sliders and each ``x``; a missing row or NaN breaks a curve.
        x: Column of the abscissa, one of the sliders, which moves along the curves.
        y: Columns that are curves, at most four, and their words. The first sets the vertical axis, unless
            ``ylim`` does; the others have the colors that their words have in drawn figures.
        sliders: Columns that are sliders (menus if they hold text) and their words, which may end with a
            unit in parentheses; every value is a stop.
        start: Where each slider starts, one of its values.
        labels: Names of both axes.
        experiment: What to try, with the word "move".
        alt: What the figure shows, for readers who cannot see it.
        caption: What is fixed, and what a reader must know besides.
        best: One row for each setting, columns ``x`` and the first of ``y``: the exact best point, marked.
        squares: Columns of ``frame`` and the slider whose square multiplies each. The first of ``y``, if
            it is not a column, is their sum: risk = L^2 bias + sigma^2 noise.
        told: Columns of ``frame`` with one number for each setting, and the words that tell it below the
            figure, with ``{}`` for the number.
        scene: An element with SVGs above the curves, or beside them if it has the class ``beside``; then
            the sliders and the sentence with the numbers stand above both. Its
            circles with ``data-scale`` have the radius of the slider ``x``, or with the class ``best`` of the
            best ``x``, times this scale. Its parts with ``data-when``, stops by slider as JSON, are seen at
            these stops only.
        ylim: Ends of the vertical axis.

    Raises:
        ValueError: If a start is not a stop, ``experiment`` lacks "move", or ``alt`` is empty.
    """
    # A slider stops at the values of its column in the first table that has it; words keep their order.
    tables = {"curves": frame} | ({} if best is None else {"best": best})
    stops = {}
    for name in sliders:
        values = next(table[name] for table in tables.values() if name in table).drop_duplicates()
        stops[name] = (values.sort_values() if values.dtype.kind in "iuf" else values).tolist()
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
    # Each table has its sliders with their stops, without the one that moves along the curves.
    keys = {
        name: {slider: stops[slider] for slider in sliders if slider in table and slider != x}
        for name, table in tables.items()
    }
    data["tables"] = {name: pack(table, keys[name]) for name, table in tables.items()}

    # These are the rows of the curves at the start: in them every key has its value of the start.
    shown = frame[
        (frame[[*keys["curves"]]] == pd.Series({s: start[s] for s in keys["curves"]})).all(axis=1)
    ]
    # A curve is a part times the square of its slider, a column, or else the sum of all parts.
    parts = pd.DataFrame({c: shown[c] * start[s] ** 2 for c, s in data["squares"].items()})
    shown = shown.assign(**{c: parts.get(c, shown.get(c, parts.sum(axis=1))) for c in y}).set_index(
        x
    )
    shades = [*plots.colors([*y.values()][1:]).values()]
    lines = {"color": [plots.COLORS["total"], *shades], "style": ["-", "--", ":", "-."]}
    ax = shown[[*y]].rename(columns=y).plot(loglog=True, **lines)
    ax.set(xlabel=labels[0], ylabel=labels[1], ylim=ylim)
    picture = base64.b64encode(plots.svg(ax.figure).encode()).decode()
    plt.close(ax.figure)
    # Written as it is, a "<" in a text could end the script that holds the data.
    table = json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")
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
    """Pack the columns of a tidy table as base64 of little-endian float32, relative error 6e-8.

    A setting is one value of each key. Each column is an array over the keys on which it depends, then over
    the rows of one setting; if these are equal in every setting, one is kept. NaN stands for missing rows.

    Args:
        frame: The table.
        stops: Columns that are keys, and their values in order.

    Returns:
        ``rows``, the largest number of rows of a setting, and ``columns``: for each name the ``keys`` on
        which it depends, in order, and the array as ``data``.
    """
    # The place of a row in the array is its stop of each key, and its number among the rows of these stops.
    codes = [pd.Index(values).get_indexer(frame[key]) for key, values in stops.items()]
    row = frame.groupby([*stops]).cumcount().to_numpy() if stops else np.arange(len(frame))
    shape = (*map(len, stops.values()), int(row.max()) + 1)
    columns = {}
    for name in frame.columns.difference([*stops]):
        values, needed = np.full(shape, np.nan, "<f4"), list[str]()
        values[(*codes, row)] = frame[name]
        # The last axis comes first, so that an axis that goes does not change the numbers of the others.
        for axis, key in reversed([*enumerate(stops)]):
            # A column that is equal along an axis does not depend on its key.
            if np.array_equal(values, np.roll(values, 1, axis), equal_nan=True):
                values = values.take(0, axis)
            else:
                needed.insert(0, key)
        # The same goes for the rows of one setting.
        if np.array_equal(values, np.roll(values, 1, -1), equal_nan=True):
            values = values[..., :1]
        columns[name] = {"keys": needed, "data": base64.b64encode(values.tobytes()).decode()}
    return {"rows": shape[-1], "columns": columns}
