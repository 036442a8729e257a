"""A second drawing of each figure, for a phone: as wide as its screen, panels one below the other.

A run for the book keeps it beside the figure under a media type of its own, which JupyterLab and GitHub leave
out. On the pages, `icl_book.site.extension` shows it in place of the figure where the screen is narrow.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

from IPython.core.formatters import BaseFormatter
from IPython.core.pylabtools import print_figure
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from traitlets import ObjectName, Unicode

from icl_book.figures import plots
from icl_book.provenance import NARROW_MIME

#: Width of a drawing in inches; with its rim 338 px, the column of a phone.
WIDTH = 3.4
#: A drawing that its text makes wider than this would be shown with text below 9 px.
WIDEST = 4.2
#: What a drawing has around it on each side, in inches.
RIM = 0.1
#: Heights of a panel in inches, without what stands around it; those of equal scales keep their shape, and
#: those of six or more are the lowest.
LOWEST, HIGHEST = 1.8, 2.4
#: The least width of a panel in inches that leaves room for labels at the ends of its lines.
ROOM = 1.7
#: Height of a line of text in inches: names at an axis, each in as many lines as the longest, do not overlap.
LINE = 0.19
#: Inches for what stands beside and below a panel.
BESIDE, BELOW = 0.8, 0.65


class _Formatter(BaseFormatter):
    """What IPython asks for the narrow drawing of what a cell shows."""

    format_type = Unicode(NARROW_MIME)
    print_method = ObjectName("_repr_narrow_")


def attach(shell: Any) -> None:
    """Let a kernel keep the narrow drawing of each figure that it shows.

    It comes after the others, and the figure stays as it is drawn last: not for a reader's own kernel.
    """
    made = _Formatter(parent=shell.display_formatter)
    made.for_type(Figure, svg)  # type: ignore[no-untyped-call]
    shell.display_formatter.formatters[NARROW_MIME] = made


def svg(figure: Figure) -> str | None:
    """Draw a figure again for a narrow screen, as SVG text.

    The figure has been drawn once, as a kernel does before. The panels must stand in one grid; each gets the
    labels that it shared with others. There is no other drawing, None, of what is narrow as it is, and of
    what its text makes too wide.
    """
    if figure.get_figwidth() <= WIDEST or not stack(figure):
        return None
    _label(figure)
    # each layout of a figure takes a third of the time of a drawing: there is no trial before this one
    drawn: str = print_figure(figure, "svg", pad_inches=RIM, metadata={"Date": None})
    (points,) = re.findall(r'<svg [^>]*?\bwidth="([\d.]+)pt"', drawn)
    return drawn if float(points) / 72 <= WIDEST + 2 * RIM else None


def stack(figure: Figure) -> bool:
    """Put the panels of a figure one below the other, row by row; return whether they stood in one grid."""
    cells: dict[tuple[int, int], list[Axes]] = {}
    grids = set()
    for ax in figure.axes:
        if (place := ax.get_subplotspec()) is None:
            continue  # the scale of colors, which stays beside its panels
        grids.add(place.get_gridspec())
        cells.setdefault((place.rowspan.start, place.colspan.start), []).append(ax)
    if len(grids) != 1:
        return False
    highest = HIGHEST if len(cells) < 6 else LOWEST
    heights = [_height(axes[0], highest) for _, axes in sorted(cells.items())]
    # in this order each finds its neighbors' own names on its sides
    for (row, column), (ax, *_) in sorted(cells.items()):
        _name(ax, cells, row, column)
    grid = GridSpec(len(cells), 1, figure=figure, height_ratios=heights)
    for i, (_, axes) in enumerate(sorted(cells.items())):
        for ax in axes:
            ax.set_subplotspec(grid[i])
    low, high = figure.get_figheight(), sum(heights) + BELOW * len(cells)
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        engine.set(h_pad=0.08)
    figure.set_size_inches(WIDTH, high if len(cells) > 1 else min(low, high))
    return True


def _height(ax: Axes, highest: float) -> float:
    box = ax.get_window_extent()
    height = float(box.height / box.width) * (WIDTH - BESIDE)
    if ax.get_aspect() != "auto":  # keeps its shape, and is not larger than drawn wide
        return min(height, float(box.height) / ax.figure.dpi)
    rows = [text.get_text().count("\n") + 1 for text in ax.get_yticklabels()]
    return max(min(max(height, LOWEST), highest), LINE * max(rows, default=0) * len(rows))


def _label(figure: Figure) -> None:
    """Write labels of lines again, as sizes have changed, and legends and long labels below the panels."""
    named: dict[str, Any] = {}
    for ax in figure.axes:
        handles, names = ax.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    legends = [legend for ax in figure.axes if (legend := ax.get_legend())] + figure.legends
    below = {
        text.get_text(): named.get(text.get_text(), handle)
        for legend in legends
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }
    for legend in legends:
        legend.remove()
    if any(text.get_label() == plots.AT_END for ax in figure.axes for text in ax.texts):
        figure.draw_without_rendering()  # the layout with them says how much room there is
    if ends := _taken_off(figure, plots.AT_END):
        room = min(ax.get_window_extent().width for ax in ends)
        if room > ROOM * figure.dpi:
            lacking = max(
                count * 13 / 72 - ax.get_window_extent().height / figure.dpi
                for ax, count in ends.items()
            )
            figure.set_figheight(figure.get_figheight() + max(lacking, 0))
            plots.label_ends(*ends)
        else:
            below |= {name: line for ax in ends for name, line in plots.labeled(ax)}
    if (free := _taken_off(figure, plots.BESIDE)) and not plots.beside(*free):
        below |= {name: line for ax in free for name, line in plots.labeled(ax)}
    if below:
        plots.legend_below(figure, below)


def _taken_off(figure: Figure, of: str) -> dict[Axes, int]:
    """Remove the labels of one kind, and return how many each panel had, for those that had any."""
    found = {ax: [text for text in ax.texts if text.get_label() == of] for ax in figure.axes}
    for text in itertools.chain(*found.values()):
        text.remove()
    return {ax: len(texts) for ax, texts in found.items() if texts}


def _name(ax: Axes, cells: dict[tuple[int, int], list[Axes]], row: int, column: int) -> None:
    """Write at a panel what only the first of its row and the ends of its column say."""
    if not ax.axison:
        return
    left = [cells[place][0] for place in sorted(cells) if place[0] == row]
    below = [cells[place][0] for place in sorted(cells) if place[1] == column]
    at = left.index(ax), below.index(ax)
    names = [other.get_ylabel() for other in left[at[0] :: -1]]
    ax.set_ylabel(next(filter(None, names), ""))
    names = [other.get_xlabel() for other in below[at[1] :]]
    ax.set_xlabel(next(filter(None, names), ""))
    if len(left) > 1 and not ax.get_title():  # it stands at the head of the column
        names = [other.get_title() for other in below[at[1] :: -1]]
        ax.set_title(next(filter(None, names), ""))
    if len(ax.get_shared_x_axes().get_siblings(ax)) > 1:
        _tick(ax.xaxis, below[-1].xaxis, "labelbottom")
    if len(ax.get_shared_y_axes().get_siblings(ax)) > 1:
        _tick(ax.yaxis, left[0].yaxis, "labelleft")


def _tick(axis: Axis, shown: Axis, side: str) -> None:
    for which in ("major", "minor"):
        here = shown.get_tick_params(which=which).get(side, which == "major")
        axis.set_tick_params(which=which, **{side: here})
