"""The figures' style: theme and palette, and the marks that all chapters draw with.

An exact number is a line, a sampled one a point with its interval, in every figure. The palette is
distinguishable with the common forms of color blindness, and every series also has its own marker or label.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython import get_ipython
from IPython.display import HTML
from matplotlib import scale
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation
from numpy.typing import ArrayLike, NDArray

from icl_book.markup import environment, format_number

if TYPE_CHECKING:
    from icl.risk import SplitRisk

STYLE = Path(__file__).with_name("icl.mplstyle")

PALETTE = tuple(
    matplotlib.rc_params_from_file(STYLE, use_default_template=False)["axes.prop_cycle"].by_key()[
        "color"
    ]
)
_BLUE, _RED, _GREEN, _PURPLE, *_, _DARK = PALETTE

#: A color for each role. None of the three errors is blue, because links and theorems are.
COLORS = {
    "exact": _DARK,
    "sampled": _RED,
    "guide": "#767676",
    "total": _DARK,
    # In long contexts the bias is nearly all blur.
    "bias": "#8f4fa8",
    "blur": "#8f4fa8",
    "scatter": _GREEN,
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

#: The filter of ``icl.css`` for figures on a dark page, which exchanges light and dark and keeps hues: red,
#: green and blue are one minus this matrix times what they were.
_DARKENS = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])

MARKERS = "os^Dv<>"

#: Artist labels of the texts of `label_ends` and `label_lines`. Legends leave out labels that begin with "_".
AT_END, BESIDE = "_at end", "_beside"

#: Distance between two labels of `label_ends` in points.
_SPACING = 14.0
#: `label_lines` takes a darker pixel for a drawn thing, and a lighter one for shading or the grid.
_MAX_INK = 180
#: `label_lines` keeps this many pixels around a label free.
_GAP = 5
#: At this many pixels a label is far enough from other lines for `label_lines`.
_FAR = 40
#: A name of a row of `table` with up to so many characters fits on one line.
_MAX_NAME = 24


class _Powers(LogFormatterSciNotation):
    """Labels of a logarithmic axis: powers of ten, or plain numbers if it spans less than a factor 100.

    Below 0.001, and from 10,000 on, all labels are powers of ten.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        label = super().__call__(x, pos)
        # Matplotlib sets the axis before it asks for a label.
        assert self.axis is not None
        low, high = sorted(self.axis.get_view_interval())
        plain = high < 100 * low and 1e-3 <= x < 1e4
        return f"{x:g}" if label and plain else label


class _LogScale(scale.LogScale):
    """The logarithmic scale of matplotlib with the labels of `_Powers`."""

    def __init__(self, *, base: float = 10, subs: Any = None, nonpositive: Any = "clip") -> None:
        super().__init__(base=base, subs=subs, nonpositive=nonpositive)

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        super().set_default_locators_and_formatters(axis)
        axis.set_major_formatter(_Powers(self.base))
        minor = _Powers(self.base, labelOnlyBase=self.subs is not None)
        axis.set_minor_formatter(minor)


#: Numbers that are not part of a word: powers of ten from 100000 on, and numbers such as 3e-04.
_WRITTEN_OUT = re.compile(r"(?<![\w.])10{5,}(?![\w.])")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?\d+)(?![\w.])")


def fill_template(template: str, value: Any) -> str:
    """Fill a template for the text of a figure, and write powers of ten from 100,000 on as its axes do."""
    text = _WRITTEN_OUT.sub(lambda found: f"1e{len(found[0]) - 1}", template.format(value))
    return _SCIENTIFIC.sub(_write_power, text)


def _write_power(found: re.Match[str]) -> str:
    """Write the digits and the exponent of a number as axes do."""
    digits, exponent = found[1], int(found[2])
    factor = "" if digits == "1" else rf"{digits}\cdot"
    return f"${factor}10^{{{exponent}}}$"


def write_minus(text: str) -> str:
    """Write the hyphens before numbers as minus signs, which ticks of axes have."""
    return re.sub(r"(?<!\w)-(?=[\d.])", "−", text)


def style() -> None:
    """Set the book's figure style, also the labels of logarithmic axes, whatever was set before."""
    plt.style.use(["default", STYLE])
    scale.register_scale(_LogScale)
    if get_ipython() is not None:
        # The module comes with IPython, which a script may lack.
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})  # type: ignore[no-untyped-call]


def on_dark(color: str) -> str:
    """Return the color that the drawn figures' ``color`` has on a dark page, for live figures."""
    red, green, blue = (1 - _DARKENS @ matplotlib.colors.to_rgb(color)).clip(0, 1)
    return matplotlib.colors.to_hex((red, green, blue))


def stack_errors(ax: Axes, x: ArrayLike, risk: SplitRisk) -> None:
    """Shade blur, scatter and noise upon each other, so that the upper edge is the risk."""
    parts = {"blur": risk.blur, "scatter": risk.scatter, "noise": risk.noise}
    colors = [COLORS[name] for name in parts]
    # The edges of areas would be white gaps between the parts.
    ax.stackplot(x, *parts.values(), labels=[*parts], colors=colors, alpha=0.55, linewidth=0)
    ax.plot(x, risk.total, color=COLORS["total"], label="risk, their sum")


def exact_curve(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    label: str | None = None,
    color: Any = COLORS["exact"],
    **line: Any,
) -> Any:
    """Draw exact values as a solid line without markers, and return it."""
    return ax.plot(x, y, label=label, color=color, zorder=2, **line)[0]


def colors(levels: Iterable[Any]) -> dict[Any, Any]:
    """Return a color for each value of a column.

    If all values are numbers, they get shades from light to dark in the order in which they first occur.
    Otherwise roles of `COLORS` have their colors, and other values get the remaining colors of the palette in
    turn.
    """
    levels = list(dict.fromkeys(levels))
    if all(isinstance(level, (int, float, np.number)) for level in levels):
        # Lines need a contrast of 3 : 1 to white. Shades beyond 0.95 look alike.
        places = np.linspace(0.4, 0.95, len(levels))
        shades = matplotlib.colormaps["viridis_r"](places)[:, :3]
        return dict(zip(levels, map(tuple, shades), strict=True))
    roles = {level: COLORS.get(str(level).lower()) for level in levels}
    spare = itertools.cycle([color for color in PALETTE if color not in roles.values()])
    return {level: role or next(spare) for level, role in roles.items()}


def panels(
    frame: pd.DataFrame,
    col: str,
    labels: tuple[str, str],
    log: str = "",
    *,
    title: str = "{}",
    **facets: Any,
) -> dict[Any, Axes]:
    """Make a panel for each value of the column ``col``, in one figure that is 7.6 inches wide.

    ``labels`` are the names of the x axis and of the y axis. ``log`` says which axes are logarithmic: "",
    "x", "y" or "xy". A value of ``col`` fills ``title``, the template of a title. ``facets`` may have
    ``wrap``, the largest number of panels in a row, by default 4; ``height`` of a row in inches; and
    arguments of ``plt.subplots``, of which ``sharex`` and ``sharey`` are true by default.
    """
    levels = list(dict.fromkeys(frame[col]))
    across = min(len(levels), facets.pop("wrap", 4))
    height = facets.pop("height", 3.4 if across < 3 else 2.8)
    down = math.ceil(len(levels) / across)
    shape: dict[str, Any] = {
        "figsize": (7.6, height * down),
        "squeeze": False,
        "sharex": True,
        "sharey": True,
    }
    figure, axes = plt.subplots(down, across, **shape | facets)
    for ax in axes.ravel()[len(levels) :]:
        ax.remove()
    out = dict(zip(levels, axes.ravel(), strict=False))
    for i, (level, ax) in enumerate(out.items()):
        ax.set(title=fill_template(title, level), **{f"{axis}scale": "log" for axis in log})
        ax.set_xlabel(labels[0] if i + across >= len(levels) else "")
        ax.set_ylabel(labels[1] if i % across == 0 else "")
    return out


def lines(
    axes: Axes | Mapping[Any, Axes],
    frame: pd.DataFrame,
    x: str,
    y: str,
    hue: str,
    *,
    col: str | None = None,
    label: str = "{}",
    **line: Any,
) -> None:
    """Draw exact values of a tidy table as lines, a color for each value of ``hue``.

    ``axes`` is one panel, or panels by the values of the column ``col``. The value of ``hue`` fills
    ``label``, the template of the legend's text, which is empty for no text.
    """
    shades = colors(frame[hue])
    for ax, level, group in _split_series(axes, frame, hue, col):
        exact_curve(
            ax,
            group[x],
            group[y],
            fill_template(label, level) or None,
            **{"color": shades[level]} | line,
        )


def points(
    axes: Axes | Mapping[Any, Axes],
    frame: pd.DataFrame,
    x: str,
    y: str,
    hue: str,
    *,
    ends: tuple[str, str] = ("low", "high"),
    col: str | None = None,
    label: str = "{}",
    **marks: Any,
) -> None:
    """Draw sampled values of a table as points with intervals, a color and marker for each value of ``hue``.

    ``ends`` are the columns of the low and the high end of the intervals. The other arguments are those of
    `lines`.

    Raises:
        ValueError: If a value lies outside its interval.
    """
    shades = colors(frame[hue])
    usual: dict[str, Any] = {
        "markerfacecolor": "white",
        "markeredgewidth": 1.4,
        "capsize": 3,
        "zorder": 3,
    }
    for ax, level, group in _split_series(axes, frame, hue, col):
        low, high = group[y] - group[ends[0]], group[ends[1]] - group[y]
        if not (good := (low >= 0) & (high >= 0)).all():
            raise ValueError(f"{y}: outside its interval in {group[~good].to_dict('records')[0]}")
        marker = MARKERS[list(shades).index(level) % len(MARKERS)]
        options = usual | {"color": shades[level], "marker": marker, "linestyle": "none"} | marks
        ax.errorbar(
            group[x],
            group[y],
            yerr=[low, high],
            label=fill_template(label, level) or None,
            **options,
        )


def _split_series(
    axes: Axes | Mapping[Any, Axes], frame: pd.DataFrame, hue: str, col: str | None
) -> Iterator[tuple[Axes, Any, pd.DataFrame]]:
    """Yield the panel, the value of ``hue`` and the rows of each series of a table."""
    # Without a column of panels, grouping by ``hue`` twice is the same as once.
    for (panel, level), group in frame.groupby([col or hue, hue], sort=False):
        yield axes[panel] if isinstance(axes, Mapping) else axes, level, group


def label_ends(*panels: Axes) -> None:
    """Write the label of each line to the right of its last point, in its color, in place of a legend.

    Call this function when scales and limits are set. Labels that would overlap are moved apart.
    """
    assert isinstance(panels[0].figure, Figure)
    # The labels do not change the heights of panels.
    panels[0].figure.draw_without_rendering()
    for ax in panels:
        _label_ends(ax)


def list_labeled(ax: Axes) -> list[tuple[str, Line2D]]:
    """Return the label and the line of each line, or series of points, that has a label."""
    # The label of points with intervals belongs to a container that begins with their line.
    bars = {c[0]: str(c.get_label()) for c in ax.containers if isinstance(c, ErrorbarContainer)}
    named = [(bars.get(line, str(line.get_label())), line) for line in ax.get_lines()]
    return [(name, line) for name, line in named if not name.startswith("_")]


def _label_ends(ax: Axes) -> None:
    """Write the labels of one panel as `label_ends` does."""
    ends = []
    for name, line in list_labeled(ax):
        points = np.asarray(line.get_xydata())
        shown = points[np.isfinite(points).all(axis=1)]
        if len(shown):
            ends.append((name, line, shown[-1]))
    if not ends:
        return
    # An inch has 72 points.
    points_per_pixel = 72 / ax.figure.dpi
    heights = ax.transData.transform([end for _, _, end in ends])[:, 1] * points_per_pixel
    bottom, top = ax.bbox.intervaly * points_per_pixel
    shifts = _spread(heights.clip(bottom, top), bottom, top) - heights
    for (name, line, end), shift in zip(ends, shifts, strict=True):
        ax.annotate(
            name,
            end,
            xytext=(6, shift),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            annotation_clip=False,
            label=AT_END,
        )


def _spread(heights: NDArray[np.float64], bottom: float, top: float) -> NDArray[np.float64]:
    """Move heights in points apart, by the least sum of squared moves, and return the moved heights.

    They lie between ``bottom`` and ``top``, unless there is not enough room, and differ by at least
    `_SPACING`.
    """
    # This import is slow, and few figures have labels at ends.
    from scipy.optimize import isotonic_regression

    order = heights.argsort(kind="stable")
    steps = _SPACING * np.arange(len(heights))
    # Two heights are far enough apart if they still rise without these steps.
    rising = isotonic_regression(heights[order] - steps).x
    # The highest gets the last step back.
    spread = np.empty_like(heights)
    spread[order] = rising.clip(bottom, max(bottom, top - steps[-1])) + steps
    return spread


def label_lines(*panels: Axes) -> None:
    """Write beside each line its label, in the color of the line, where nothing else is drawn.

    This is for lines that come together at their ends, or run on to the edge of the panel. Call it when all
    else is drawn. If a label fits nowhere next to its line, a legend below the figure shows all labels
    instead.
    """
    if not write_beside(*panels):
        label_below(*panels)


def write_beside(*panels: Axes) -> bool:
    """Write labels as `label_lines` does, if all have a place; return whether."""
    figure = panels[0].figure
    assert isinstance(figure, Figure)
    taken = _find_ink(figure)
    written = []
    for ax in panels:
        x0, y0, x1, y1 = np.round(ax.bbox.extents).astype(int)
        inside = taken[y0:y1, x0:x1]
        written += [_place_label(ax, name, line, inside) for name, line in list_labeled(ax)]
    if None not in written:
        return True
    for text in filter(None, written):
        text.remove()
    return False


def _find_ink(figure: Figure) -> NDArray[np.bool_]:
    """Draw a figure and return which of its pixels are drawn on. Row 0 is at the bottom."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="rgba", dpi="figure")
    width, height = figure.canvas.get_width_height()
    pixels = np.frombuffer(drawn.getvalue(), np.uint8).reshape(height, width, 4)
    # A strong color has at least one dark component.
    ink: NDArray[np.bool_] = pixels[::-1, :, :3].min(axis=2) < _MAX_INK
    return ink


def _place_label(ax: Axes, name: str, line: Line2D, taken: NDArray[np.bool_]) -> Text | None:
    """Write a label near its line and far from other lines; return it, or None if it has no place.

    ``taken`` marks the pixels of the panel that are drawn on, to which those of the label are added. Row 0 is
    at the bottom.
    """
    words: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
    text = ax.text(0.5, 0.5, name, color=line.get_color(), label=BESIDE, **words)
    extent = text.get_window_extent()
    height, width = int(extent.height) + 2 * _GAP, int(extent.width) + 2 * _GAP
    others = [other for other in ax.get_lines() if other is not line]
    center = _find_place(
        (height, width),
        taken,
        on_line=_mark_pixels(ax, [line], taken.shape),
        on_others=_mark_pixels(ax, others, taken.shape),
    )
    if center is None:
        text.remove()
        return None
    row, column = center
    text.set_position(((column + 0.5) / taken.shape[1], (row + 0.5) / taken.shape[0]))
    # This is the lower left corner of the label with the gap around it.
    up, right = row - height // 2, column - width // 2
    taken[up : up + height, right : right + width] = True
    return text


def _find_place(
    size: tuple[int, int],
    taken: NDArray[np.bool_],
    on_line: NDArray[np.bool_],
    on_others: NDArray[np.bool_],
) -> tuple[int, int] | None:
    """Return the row and column of the best center of a label, or None if it has no place.

    A box of this size around the center must lie in the panel, must not meet a pixel that is taken, and must
    be nearer to the label's line than to other lines and edges. The best place is far from these, up to
    `_FAR`, and near the label's line.
    """
    # This import is slow, and few figures need it.
    from scipy.ndimage import distance_transform_edt, maximum_filter, minimum_filter

    # The edge of the panel counts as another line.
    edged = np.pad(on_others[1:-1, 1:-1], 1, constant_values=True)
    # Each filter takes the extreme over the box around a pixel. Pixels outside the panel count as taken.
    overlaps = maximum_filter(taken, size, mode="constant", cval=True)
    to_line = minimum_filter(distance_transform_edt(~on_line), size)
    to_others = minimum_filter(distance_transform_edt(~edged), size)
    # Without a pixel of the line in the panel `to_line` means nothing.
    allowed = ~overlaps & (to_line < to_others) & on_line.any()
    if not allowed.any():
        return None
    worth = np.where(allowed, np.minimum(to_others, _FAR) - 2 * to_line, -np.inf)
    row, column = np.unravel_index(worth.argmax(), worth.shape)
    return int(row), int(column)


def _mark_pixels(ax: Axes, lines: Sequence[Line2D], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which pixels of a panel lie on these lines or their points. Row 0 is at the bottom."""
    marked = np.zeros(shape, dtype=bool)
    for line in lines:
        path = line.get_path().transformed(line.get_transform())
        if line.get_linestyle() != "None":
            # A hundred points on each segment stand for the line.
            path = path.interpolated(100)
        places = np.asarray(path.vertices) - ax.bbox.p0
        inside = ((places >= 0) & (places < shape[::-1])).all(axis=1)
        columns, rows = places[inside].astype(int).T
        marked[rows, columns] = True
    return marked


def label_below(*panels: Axes) -> None:
    """Write a legend of the labels of all lines of some panels, each once, below their figure."""
    figure = panels[0].figure
    assert isinstance(figure, Figure)
    legend_below(figure, {name: line for ax in panels for name, line in list_labeled(ax)})


def legend_below(figure: Figure, handles: Mapping[str, Any]) -> None:
    """Write a legend of names and their artists below a figure, and make the figure higher by the legend."""
    for columns in (4, 3, 2, 1):
        legend = figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=columns
        )
        box = legend.get_window_extent()
        if columns == 1 or box.width < figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)


def guide(ax: Axes, x0: float, y0: float, slope: float, label: str, decades: float = 2.0) -> Any:
    """Draw a power law ``y0 (x / x0) ** slope`` as a dashed gray line on log-log axes, and return it.

    The line starts at ``(x0, y0)`` and spans ``decades`` powers of ten in x, to the left if negative. The
    label stands below its middle.

    Raises:
        ValueError: If an axis is not logarithmic or the start not positive.
    """
    if (ax.get_xscale(), ax.get_yscale()) != ("log", "log"):
        raise ValueError(
            f"ax: scales are {ax.get_xscale()}, {ax.get_yscale()}; a guide needs log, log"
        )
    if not (x0 > 0 and y0 > 0):
        raise ValueError(f"x0 = {x0}, y0 = {y0}: both must be positive")
    x1, y1 = x0 * 10.0**decades, y0 * 10.0 ** (slope * decades)
    # Below a falling line there is room to the left, and below a rising line to the right.
    gap, side = (-4, "right") if slope < 0 else (4, "left")
    text: dict[str, Any] = {"va": "top", "ha": side, "color": COLORS["guide"]}
    middle = (x0 * x1) ** 0.5, (y0 * y1) ** 0.5
    ax.annotate(label, middle, xytext=(gap, -2), textcoords="offset points", **text)
    return ax.plot([x0, x1], [y0, y1], "--", color=COLORS["guide"], linewidth=1.2, zorder=1)[0]


def matrix(
    ax: Axes,
    values: ArrayLike,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    fmt: str = ".2f",
    limit: float | None = None,
) -> Any:
    """Draw a matrix as a heat map that also prints its numbers, and return the mesh.

    ``rows`` and ``columns`` are names, and ``fmt`` is the format of the numbers. The color scale runs from
    ``-limit`` to ``limit``, by default the largest absolute entry. Panels that are compared need the same
    ``limit``.

    Raises:
        ValueError: If ``values`` is not a matrix of finite numbers.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"values: shape {values.shape}; must be a matrix of finite numbers")
    # A scale needs two different ends, also for a matrix of zeros.
    limit = limit or float(np.abs(values).max()) or 1.0
    ax.grid(False)
    names = {"xticklabels": list(columns) or False, "yticklabels": list(rows) or False}
    numbers = {
        "annot": np.vectorize(lambda value: write_minus(format_number(value, fmt)))(values),
        "fmt": "",
        **names,
    }
    scale = {"cmap": "vlag", "vmin": -limit, "vmax": limit, "square": True, "cbar": False}
    # Seaborn takes long to import, and few figures need it.
    import seaborn as sns

    sns.heatmap(values, ax=ax, linewidths=0.5, annot_kws={"fontsize": 9.5}, **scale, **numbers)
    ax.tick_params(length=0, labelrotation=0)
    return ax.collections[-1]


class _Formatter(string.Formatter):
    """Formats floats as `format_number` does: zero has neither a sign nor an exponent."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return (
            format_number(value, format_spec)
            if isinstance(value, float)
            else format(value, format_spec)
        )


def table(frame: pd.DataFrame, columns: Mapping[str, str], caption: str) -> HTML:
    """Show rows of a tidy table. The first cell of each row is the name of the row.

    Args:
        frame: The table.
        columns: For the head of each column, a template that the values of a row fill, e.g. ``{"class":
            "{task}", "$w^*$, interval": "{w:.2f} [{low:.2f}, {high:.2f}]"}``.
        caption: What the numbers are, and from which machine.

    Raises:
        KeyError: If a template names a column that the table lacks.
    """
    form, heads = _Formatter(), list(columns)
    rows = [[form.vformat(columns[h], (), row) for h in heads] for row in frame.to_dict("records")]
    short = all(len(name) <= _MAX_NAME for name, *_ in rows)
    page = environment().get_template("figures/table.html.j2")
    return HTML(page.render(heads=heads, rows=rows, caption=caption, short=short))


def svg(figure: Figure) -> str:
    """Return a figure as SVG text; in the book's style, identical figures have identical text."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
