"""A second drawing of each figure, for a phone: as wide as its screen, panels one below the other.

A run for the book keeps it beside the figure under a media type of its own, which JupyterLab and GitHub leave
out. On the pages, `icl_book.site.extension` shows it in place of the figure where the screen is narrow.
"""

from __future__ import annotations

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

#: Width of a drawing in inches. With its rim it is 338 px wide, the column of a phone.
WIDTH = 3.4
#: A phone would shrink the text of a wider drawing, in inches, below 9 px.
MAX_WIDTH = 4.2
#: Blank inches on each side of a drawing.
RIM = 0.1
#: Heights of a panel in inches, without its labels. Panels of equal scales keep their shape. Six panels or
#: more have the smaller height.
MIN_PANEL_HEIGHT, MAX_PANEL_HEIGHT = 1.8, 2.4
#: A panel of this width in inches leaves room for labels at the ends of its lines.
MIN_LABELED_WIDTH = 1.7
#: Height of a line of text in inches. Names at an axis get enough of them that they do not overlap.
LINE_HEIGHT = 0.19
#: Height in inches of a label at the end of a line.
LABEL_HEIGHT = 15 / 72
#: Inches for the labels beside and below a panel.
BESIDE_PANEL, BELOW_PANEL = 0.8, 0.65


class _Formatter(BaseFormatter):
    """Lets IPython ask for the narrow drawing of a figure."""

    format_type = Unicode(NARROW_MIME)
    print_method = ObjectName("_repr_narrow_")


def attach(shell: Any) -> None:
    """Let a kernel keep the narrow drawing of each figure that it shows.

    The narrow drawing comes last and changes the figure. So it is for runs of the book, not for the kernel
    of a reader, who may draw the figure again.
    """
    made = _Formatter(parent=shell.display_formatter)
    made.for_type(Figure, svg)  # type: ignore[no-untyped-call]
    shell.display_formatter.formatters[NARROW_MIME] = made


def svg(figure: Figure) -> str | None:
    """Draw a figure again for a narrow screen, as SVG text.

    The figure has been drawn once, as a kernel does before, and keeps its narrow layout afterwards. Each
    panel gets the labels that it shared with others. The result is None for a figure that is already narrow,
    and for panels that do not stand in one grid; such a figure stays as it is.
    """
    if figure.get_figwidth() <= MAX_WIDTH or not stack(figure):
        return None
    _write_labels(figure)
    drawn: str = print_figure(figure, "svg", pad_inches=RIM, metadata={"Date": None})
    return drawn


def stack(figure: Figure) -> bool:
    """Put the panels of a figure one below the other, row by row; return whether they stood in one grid.

    If they did not, nothing is changed.
    """
    # Axes that share a panel, with scales on both sides, share a place of the grid.
    cells: dict[tuple[int, int], list[Axes]] = {}
    grids = set()
    for ax in figure.axes:
        if (place := ax.get_subplotspec()) is None:
            # A scale of colors is in no grid; it stays beside its panels.
            continue
        grids.add(place.get_gridspec())
        cells.setdefault((place.rowspan.start, place.colspan.start), []).append(ax)
    if len(grids) != 1:
        return False
    highest = MAX_PANEL_HEIGHT if len(cells) < 6 else MIN_PANEL_HEIGHT
    heights = [_choose_height(axes[0], highest) for _, axes in sorted(cells.items())]
    for (row, column), (ax, *_) in sorted(cells.items()):
        _write_names(ax, cells, row, column)
    grid = GridSpec(len(cells), 1, figure=figure, height_ratios=heights)
    for i, (_, axes) in enumerate(sorted(cells.items())):
        for ax in axes:
            ax.set_subplotspec(grid[i])
    # A figure of one panel does not get higher than it was.
    before, stacked = figure.get_figheight(), sum(heights) + BELOW_PANEL * len(cells)
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        # These are inches above and below each panel.
        engine.set(h_pad=0.08)
    figure.set_size_inches(WIDTH, stacked if len(cells) > 1 else min(before, stacked))
    return True


def _choose_height(ax: Axes, highest: float) -> float:
    """Return the height of a panel in inches.

    A panel without equal scales is at most ``highest``, unless the names at its axis need more.
    """
    box = ax.get_window_extent()
    height = float(box.height / box.width) * (WIDTH - BESIDE_PANEL)
    # A panel of equal scales keeps its shape, and does not exceed its size in the wide drawing.
    if ax.get_aspect() != "auto":
        return min(height, float(box.height) / ax.figure.dpi)
    # Each name gets as many lines as the longest has.
    line_counts = [text.get_text().count("\n") + 1 for text in ax.get_yticklabels()]
    return max(
        min(max(height, MIN_PANEL_HEIGHT), highest),
        LINE_HEIGHT * max(line_counts, default=0) * len(line_counts),
    )


def _write_labels(figure: Figure) -> None:
    """Write the labels of lines again, since panels have other sizes.

    If those of one kind, at the ends of lines or beside them, have no room, they go into one legend below the
    panels, with what all legends of the figure had.
    """
    legend = _remove_legends(figure)
    if any(text.get_label() == plots.AT_END for ax in figure.axes for text in ax.texts):
        # The layout with these labels says how much room they have.
        figure.draw_without_rendering()
    if ends := _remove_labels(figure, plots.AT_END):
        if min(ax.get_window_extent().width for ax in ends) > MIN_LABELED_WIDTH * figure.dpi:
            _make_higher(figure, ends)
            plots.label_ends(*ends)
        else:
            legend |= {name: line for ax in ends for name, line in plots.list_labeled(ax)}
    if (free := _remove_labels(figure, plots.BESIDE)) and not plots.write_beside(*free):
        legend |= {name: line for ax in free for name, line in plots.list_labeled(ax)}
    if legend:
        plots.legend_below(figure, legend)


def _remove_legends(figure: Figure) -> dict[str, Any]:
    """Remove all legends, and return the artists that they name, by their names."""
    # The handles of a legend are small drawings of its own. A new legend needs the artists of panels, where a
    # panel has one of this name.
    named: dict[str, Any] = {}
    for ax in figure.axes:
        handles, names = ax.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    shown = {}
    for legend in [*(ax.get_legend() for ax in figure.axes), *figure.legends]:
        if legend is not None:
            for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
                shown[text.get_text()] = named.get(text.get_text(), handle)
            legend.remove()
    return shown


def _remove_labels(figure: Figure, kind: str) -> dict[Axes, int]:
    """Remove the labels of one kind, and return how many each panel had, for those that had any."""
    counts = {}
    for ax in figure.axes:
        texts = [text for text in ax.texts if text.get_label() == kind]
        for text in texts:
            text.remove()
        if texts:
            counts[ax] = len(texts)
    return counts


def _make_higher(figure: Figure, counts: dict[Axes, int]) -> None:
    """Make a figure higher by the most that a panel lacks for this many labels, one above the other."""
    lacking = [
        count * LABEL_HEIGHT - ax.get_window_extent().height / figure.dpi
        for ax, count in counts.items()
    ]
    figure.set_figheight(figure.get_figheight() + max(0, *lacking))


def _write_names(ax: Axes, cells: dict[tuple[int, int], list[Axes]], row: int, column: int) -> None:
    """Give a panel the names of axes, the tick labels and the title that it shared in its row and column."""
    # A drawing without axes has no names.
    if not ax.axison:
        return
    in_row = [cells[place][0] for place in sorted(cells) if place[0] == row]
    in_column = [cells[place][0] for place in sorted(cells) if place[1] == column]
    # A name is taken from the nearest panel that has one: to the left, below, or above.
    left = in_row[in_row.index(ax) :: -1]
    below = in_column[in_column.index(ax) :]
    above = in_column[in_column.index(ax) :: -1]
    ax.set_ylabel(next(filter(None, (other.get_ylabel() for other in left)), ""))
    ax.set_xlabel(next(filter(None, (other.get_xlabel() for other in below)), ""))
    # A grid writes a shared title at the head of its column only.
    if len(in_row) > 1 and not ax.get_title():
        ax.set_title(next(filter(None, (other.get_title() for other in above)), ""))
    if len(ax.get_shared_x_axes().get_siblings(ax)) > 1:
        _show_tick_labels(ax.xaxis, in_column[-1].xaxis, "labelbottom")
    if len(ax.get_shared_y_axes().get_siblings(ax)) > 1:
        _show_tick_labels(ax.yaxis, in_row[0].yaxis, "labelleft")


def _show_tick_labels(axis: Axis, shown: Axis, side: str) -> None:
    """Show those tick labels of an axis that another one, of the same panel row or column, shows."""
    for which in ("major", "minor"):
        visible = shown.get_tick_params(which=which).get(side, which == "major")
        axis.set_tick_params(which=which, **{side: visible})
