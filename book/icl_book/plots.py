"""One look for every figure: style, palette, and the few marks the book is made of.

An exact number is a line, a sampled one a point with its interval; a reader can tell
them apart in every figure. Colors are the Okabe-Ito palette, distinguishable with the
common forms of color blindness, and every series also has its own marker or label.
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

#: Okabe-Ito without its yellow, which is too pale for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#3B3B3B")

#: A color for each role, so that the same thing looks the same in every chapter.
COLORS = {
    "exact": "#3B3B3B",
    "sampled": "#D55E00",
    "guide": "#767676",
    "total": "#3B3B3B",
    "bias": "#0072B2",
    "noise": "#D55E00",
    "affine": "#0072B2",
    "relu": "#D55E00",
    "cosine": "#009E73",
    "linear": "#CC79A7",
    "softmax": "#0072B2",
    "linear attention": "#CC79A7",
    "printed": "#B3262A",
    "corrected": "#009E73",
    "normalized": "#0072B2",
    "rescaled": "#D55E00",
}

_RC = {
    "figure.figsize": (5.8, 3.6),
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "text.color": "#1f1f1f",
    "axes.labelcolor": "#1f1f1f",
    "axes.edgecolor": "#5a5a5a",
    "xtick.color": "#3a3a3a",
    "ytick.color": "#3a3a3a",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "axes.prop_cycle": mpl.cycler(color=PALETTE),
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "svg.fonttype": "path",
    "svg.hashsalt": "icl",
    "savefig.dpi": 160,
}


def style() -> None:
    """Set the book's matplotlib style; in a notebook also SVG output without a time stamp."""
    mpl.rcParams.update(_RC)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # a script on a machine without Jupyter
        return
    if get_ipython() is not None:
        set_matplotlib_formats("svg", metadata={"Date": None})


def ramp(count: int) -> list:
    """Colors for an ordered parameter (dimension, context size), light to dark.

    Args:
        count: How many, at least 1.

    Returns:
        ``count`` RGBA tuples from viridis, its palest part left out.

    Raises:
        ValueError: If ``count`` is less than 1.
    """
    if count < 1:
        raise ValueError(f"count = {count}: must be at least 1")
    return [tuple(c) for c in mpl.colormaps["viridis"](np.linspace(0.8, 0.0, count))]


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
        The image, e.g. for a color bar.

    Raises:
        ValueError: If ``values`` is not a matrix of finite numbers.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"values: shape {values.shape}; must be a matrix of finite numbers")
    limit = limit or float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit)
    for (i, j), v in np.ndenumerate(values):
        text = format(v, fmt)
        text = text.lstrip("-") if float(text) == 0 else text  # no "-0.00"
        ax.text(
            j,
            i,
            text,
            ha="center",
            va="center",
            fontsize=9,
            color="white" if abs(v) > 0.65 * limit else "#1f1f1f",
        )
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(range(values.shape[1]) if columns else [], columns or None)
    ax.set_yticks(range(values.shape[0]) if rows else [], rows or None)
    return image


def svg(figure: Figure) -> str:
    """A figure as SVG text, byte-identical for identical figures; a frame of `slider_figure`."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@dataclass(frozen=True)
class HTML:
    """Markup that shows itself in a notebook."""

    markup: str

    def _repr_html_(self) -> str:
        return self.markup


def ten(exponent: int) -> str:
    """A power of ten in plain text, e.g. ``10⁴``; for the heads of tables and for labels."""
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def interval(ends: Sequence[float], digits: str = ".2f") -> str:
    """An interval in plain text, both ends in the same format, e.g. ``[0.98, 1.02]``."""
    return "[" + ", ".join(format(end, digits) for end in ends) + "]"


def _cell(text: str) -> str:
    """Text of a table as HTML: ``$...$`` is mathematics; ``d = 5`` and intervals do not break."""

    def whole(plain: str) -> str:
        plain = re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(" ", "\u00a0"), plain)
        return plain.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")

    parts = html.escape(text, quote=False).split("$")
    return "".join(
        rf'<span class="math notranslate nohighlight">\({part}\)</span>' if i % 2 else whole(part)
        for i, part in enumerate(parts)
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> HTML:
    """A table of words and numbers that are formatted already.

    Args:
        columns: Column names; the first column is read as the name of the row. ``$...$`` in
            any text is mathematics.
        rows: As many cells each.
        caption: What the numbers are, and from which machine.

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If a row has another number of cells.
    """
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"rows: every row must have {len(columns)} cells, one for each column")
    head = "".join(f'<th scope="col">{_cell(name)}</th>' for name in columns)
    cells = [(_cell(first), "".join(f"<td>{_cell(cell)}</td>" for cell in rest)) for first, *rest in rows]
    body = "".join(f'<tr><th scope="row">{name}</th>{values}</tr>' for name, values in cells)
    short = " icl-short" * all(len(first) <= 24 for first, *_ in rows)  # names that stay on one line
    return HTML(
        f'<div class="icl-table{short}"><table><caption>{_cell(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def slider_figure(svgs: Sequence[str], values: Sequence, label: str, alt: str) -> HTML:
    """Pre-rendered frames behind a range slider: moves without a server, a kernel or a network.

    Every frame is an image of its own, so that ids inside one SVG cannot meet those of
    another, and the markup itself has no id: any number of sliders fit on a page. The
    slider is the browser's own (arrow keys, Home and End work); without JavaScript the
    first frame stays.

    Args:
        svgs: The frames, SVG text each, e.g. from `svg`; at least one.
        values: What the slider shows beside each frame, as many as frames.
        label: Name of the quantity that moves, e.g. ``"context size n"``.
        alt: Description of the figure for readers who cannot see it.

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If frames and values differ in number, there is none, or alt is empty.
    """
    if not svgs or len(svgs) != len(values):
        raise ValueError(f"svgs: {len(svgs)} frames for {len(values)} values; need as many, at least one")
    if not alt.strip():
        raise ValueError("alt is empty: describe the figure in words")
    esc = html.escape
    names = [str(v) for v in values]
    frames = "".join(  # the value travels with its frame
        f'<img class="icl-frame" alt="{esc(f"{alt} ({label} = {name})")}" data-value="{esc(name)}"'
        f"{' hidden' if i else ''} "
        f'src="data:image/svg+xml;base64,{base64.b64encode(s.encode()).decode()}">'
        for i, (s, name) in enumerate(zip(svgs, names, strict=True))
    )
    move = (
        "const root=this.closest('.icl-slider'),f=root.querySelectorAll('.icl-frame');"
        "f.forEach((e,i)=>{e.hidden=i!=this.value});"
        "const v=f[this.value].dataset.value;root.querySelector('output').textContent=v;"
        "this.setAttribute('aria-valuetext',v)"
    )
    return HTML(
        f'<div class="icl-slider"><div class="icl-frames">{frames}</div>'
        f'<label>{esc(label)} <input type="range" min="0" max="{len(svgs) - 1}" value="0" step="1" '
        f'aria-valuetext="{esc(names[0])}" oninput="{esc(move)}"> '
        f"<output>{esc(names[0])}</output></label></div>"
    )
