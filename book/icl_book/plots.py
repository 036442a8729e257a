"""The figures' style: theme and palette, and the marks that all chapters draw with.

An exact number is a line, a sampled one a point with its interval, in every figure. Theme, palettes and heat
maps are seaborn's. Its ``colorblind`` palette (Okabe-Ito) is distinguishable with the common forms of color
blindness, and every series also has its own marker or label.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from icl_book.markup import interval, number
from icl_book.widgets import HTML, slider_figure, table, ten

__all__ = [
    "COLORS",
    "HTML",
    "PALETTE",
    "exact_curve",
    "guide",
    "interval",
    "matrix",
    "ramp",
    "sampled_points",
    "slider_figure",
    "style",
    "svg",
    "table",
    "ten",
]

_BLUE, _ORANGE, _GREEN, _RED, _PURPLE, *_, _SKY = sns.color_palette("colorblind").as_hex()
_DARK = "#3b3b3b"

#: Colors of series, in order; those of seaborn's palette that are too pale for lines on white are left out.
PALETTE = (_BLUE, _RED, _GREEN, _PURPLE, _ORANGE, _SKY, _DARK)

#: A color for each role, so that the same thing looks the same in every chapter.
COLORS = {
    "exact": _DARK,
    "sampled": _RED,
    "guide": "#767676",
    "total": _DARK,
    "bias": _BLUE,
    "noise": _RED,
    "affine": _BLUE,
    "relu": _RED,
    "cosine": _GREEN,
    "linear": _PURPLE,
    "softmax": _BLUE,
    "linear attention": _PURPLE,
    "printed": "#b3262a",
    "corrected": _GREEN,
    "normalized": _BLUE,
    "rescaled": _RED,
}

_RC = {
    "figure.figsize": (5.8, 3.6),
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": ".35",
    "axes.grid": True,
    "grid.color": ".9",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "path",
    "svg.hashsalt": "icl",
    "savefig.dpi": 160,
}


def style() -> None:
    """Set the book's figure style; in a notebook also SVG output without a time stamp."""
    # The font comes with matplotlib, so that figures are the same on every machine.
    sns.set_theme("paper", "ticks", PALETTE, font="DejaVu Sans", font_scale=1.15, rc=_RC)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # a script on a machine without Jupyter
        return
    if get_ipython() is not None:
        set_matplotlib_formats("svg", metadata={"Date": None})


def ramp(count: int) -> list:
    """Return colors for an ordered parameter (dimension, context length), light to dark.

    Args:
        count: How many, at least 1.

    Returns:
        ``count`` RGB tuples from viridis, its palest part left out.

    Raises:
        ValueError: If ``count`` is less than 1.
    """
    if count < 1:
        raise ValueError(f"count = {count}: must be at least 1")
    return sns.color_palette("viridis_r", count + 1)[1:]


def exact_curve(ax, x, y, label: str | None = None, color=COLORS["exact"], **line):
    """Draw exact values: a solid line without markers.

    Args:
        ax: Matplotlib axes.
        x: Abscissas, shape ``(k,)``.
        y: Exact values, shape ``(k,)``.
        label: Legend entry; None for none.
        color: Line color.
        **line: Further properties of the line, e.g. ``linestyle``.

    Returns:
        The line.
    """
    return ax.plot(x, y, label=label, color=color, zorder=2, **line)[0]


def sampled_points(ax, x, y, low, high, label: str | None = None, color=COLORS["sampled"], marker="o", **kw):
    """Draw sampled values: points with the bars of their intervals, no line.

    Args:
        ax: Matplotlib axes.
        x: Abscissas, shape ``(k,)``.
        y: Sampled values, shape ``(k,)``.
        low: Lower ends of the intervals (the ends themselves, not lengths), shape ``(k,)``.
        high: Upper ends, shape ``(k,)``.
        label: Legend entry; None for none.
        color: Color of points and bars.
        marker: Matplotlib marker, so that series differ without color too.
        **kw: Further properties of the points.

    Returns:
        The error-bar container.

    Raises:
        ValueError: If a value lies outside its interval.
    """
    x, y, low, high = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, y, low, high))
    if not ((low <= y) & (y <= high)).all():
        i = int(np.argmin((low <= y) & (y <= high)))
        raise ValueError(f"y[{i}] = {y[i]}: outside its interval [{low[i]}, {high[i]}]")
    return ax.errorbar(
        x,
        y,
        yerr=np.stack([y - low, high - y]),
        fmt=marker,
        label=label,
        color=color,
        markerfacecolor="white",
        markeredgewidth=1.4,
        capsize=3,
        zorder=3,
        **kw,
    )


def guide(ax, x0: float, y0: float, slope: float, label: str, decades: float = 2.0):
    """Draw a labeled power law ``y0 (x / x0) ** slope`` as a dashed gray line on log-log axes.

    Args:
        ax: Axes, both scales logarithmic.
        x0: Where the line starts, positive.
        y0: Its value there, positive.
        slope: Exponent.
        label: Text at the line's end.
        decades: Length of the line along x; negative runs to the left.

    Returns:
        The line.

    Raises:
        ValueError: If an axis is not logarithmic or the start not positive.
    """
    if (ax.get_xscale(), ax.get_yscale()) != ("log", "log"):
        raise ValueError(f"ax: scales are {ax.get_xscale()}, {ax.get_yscale()}; a guide needs log, log")
    if not (x0 > 0 and y0 > 0):
        raise ValueError(f"x0 = {x0}, y0 = {y0}: both must be positive")
    x1, y1 = x0 * 10.0**decades, y0 * 10.0 ** (slope * decades)
    ax.annotate(
        label,
        (x1, y1),
        xytext=(4 if decades > 0 else -4, 0),
        textcoords="offset points",
        va="center",
        ha="left" if decades > 0 else "right",
        color=COLORS["guide"],
        fontsize=9.5,
    )
    return ax.plot([x0, x1], [y0, y1], "--", color=COLORS["guide"], linewidth=1.2, zorder=1)[0]


def matrix(
    ax,
    values,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    fmt: str = ".2f",
    limit: float | None = None,
):
    """Draw a matrix as a heat map that also prints its numbers.

    Args:
        ax: Matplotlib axes.
        values: The matrix, shape ``(p, q)``.
        rows: Row names, ``p`` of them, or none.
        columns: Column names, ``q`` of them, or none.
        fmt: Format of the printed numbers.
        limit: The color scale runs from ``-limit`` to ``limit``; by default the largest
            absolute entry. Give panels that are compared the same one.

    Returns:
        The mesh, e.g. for a color bar.

    Raises:
        ValueError: If ``values`` is not a matrix of finite numbers.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"values: shape {values.shape}; must be a matrix of finite numbers")
    limit = limit or float(np.abs(values).max()) or 1.0
    ax.grid(False)
    sns.heatmap(
        values,
        ax=ax,
        cmap="vlag",
        vmin=-limit,
        vmax=limit,
        square=True,
        cbar=False,
        linewidths=0.5,
        annot=np.vectorize(lambda value: number(value, fmt))(values),
        fmt="",
        annot_kws={"fontsize": 9},
        xticklabels=list(columns) or False,
        yticklabels=list(rows) or False,
    )
    ax.tick_params(length=0, labelrotation=0)
    return ax.collections[-1]


def svg(figure: Figure) -> str:
    """Return a figure as SVG text, byte-identical for identical figures; a frame of `slider_figure`."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
