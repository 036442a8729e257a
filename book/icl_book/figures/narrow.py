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

#: Width in inches of a narrow drawing, which with its rim is as wide as the column of a phone.
WIDTH = 3.4
#: A wider figure is drawn again, because a phone would shrink its text below 9 px.
MAX_WIDTH = 4.2
#: Blank inches on each side of a drawing.
RIM = 0.1
#: Heights of a panel in inches, without its labels.
MIN_PANEL_HEIGHT, MAX_PANEL_HEIGHT = 1.8, 2.4
#: A panel of this width in inches leaves room for labels at the ends of its lines.
MIN_LABELED_WIDTH = 1.7
#: Height in inches of a line of text at the ticks of an axis.
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

    A narrow drawing changes the figure, which a user may draw again. So only runs of the book call this
    function.
    """
    made = _Formatter(parent=shell.display_formatter)
    made.for_type(Figure, svg)  # type: ignore[no-untyped-call]
    shell.display_formatter.formatters[NARROW_MIME] = made


def svg(figure: Figure) -> str | None:
    """Draw a figure again for a narrow screen, as SVG text.

    The figure must have been drawn once, as a kernel does, and it keeps the narrow layout. The result is None
    for a figure that is already narrow, or whose panels do not stand in one grid.
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
    # These are the axes at each place (row, column). A panel may have scales on both sides, and thus two
    # axes.
    cells: dict[tuple[int, int], list[Axes]] = {}
    grids = set()
    for ax in figure.axes:
        if (place := ax.get_subplotspec()) is None:
            # A scale of colors does not stand in a grid, and stays beside its panels.
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
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        engine.set(h_pad=0.08)
    height = sum(heights) + BELOW_PANEL * len(cells)
    if len(cells) == 1:
        height = min(height, figure.get_figheight())
    figure.set_size_inches(WIDTH, height)
    return True


def _choose_height(ax: Axes, highest: float) -> float:
    """Return the height of a panel in the narrow drawing, in inches.

    A panel is at most ``highest``, unless its scales are equal, or the texts at the ticks of its y axis need
    more.
    """
    # With this height the panel keeps the shape that it has in the wide drawing.
    box = ax.get_window_extent()
    height = float(box.height / box.width) * (WIDTH - BESIDE_PANEL)
    # The scales are equal, so the panel keeps its shape.
    if ax.get_aspect() != "auto":
        return min(height, float(box.height) / ax.figure.dpi)
    # The texts at all ticks get as many lines as the longest.
    line_counts = [text.get_text().count("\n") + 1 for text in ax.get_yticklabels()]
    return max(
        min(max(height, MIN_PANEL_HEIGHT), highest),
        LINE_HEIGHT * max(line_counts, default=0) * len(line_counts),
    )


def _write_labels(figure: Figure) -> None:
    """Write the labels of lines again, because the panels have new sizes.

    If the labels at ends, or those beside lines, have no room, they go into a legend below the panels,
    together with the entries of all legends.
    """
    legend = _remove_legends(figure)
    if any(text.get_label() == plots.AT_END for ax in figure.axes for text in ax.texts):
        # In this layout the labels at ends still take their room.
        figure.draw_without_rendering()
    if ends := _remove_labels(figure, plots.AT_END):
        if min(ax.get_window_extent().width for ax in ends) > MIN_LABELED_WIDTH * figure.dpi:
            _make_higher(figure, ends)
            plots.label_ends(*ends)
        else:
            legend |= {name: line for ax in ends for name, line in plots.list_labeled(ax)}
    beside = _remove_labels(figure, plots.BESIDE)
    if beside and not plots.write_beside(*beside):
        legend |= {name: line for ax in beside for name, line in plots.list_labeled(ax)}
    if legend:
        plots.legend_below(figure, legend)


def _remove_legends(figure: Figure) -> dict[str, Any]:
    """Remove all legends, and return for each name in them an artist that has this name."""
    # The handles of a legend belong to it. A new legend needs the artist in a panel instead.
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
    """Remove the labels of a kind, `plots.AT_END` or `plots.BESIDE`, and return their numbers by panel."""
    counts = {}
    for ax in figure.axes:
        # The label of an artist is not its text, but the kind that `plots` has given it.
        texts = [text for text in ax.texts if text.get_label() == kind]
        for text in texts:
            text.remove()
        if texts:
            counts[ax] = len(texts)
    return counts


def _make_higher(figure: Figure, counts: dict[Axes, int]) -> None:
    """Make a figure higher by the height that labels lack, in the panel that lacks most."""
    lacking = [
        count * LABEL_HEIGHT - ax.get_window_extent().height / figure.dpi
        for ax, count in counts.items()
    ]
    figure.set_figheight(figure.get_figheight() + max(0, *lacking))


def _write_names(ax: Axes, cells: dict[tuple[int, int], list[Axes]], row: int, column: int) -> None:
    """Give a panel the names of axes, the tick labels and the title that it shared with other panels."""
    # A drawing without axes has no names.
    if not ax.axison:
        return
    in_row = [cells[place][0] for place in sorted(cells) if place[0] == row]
    in_column = [cells[place][0] for place in sorted(cells) if place[1] == column]
    # A name is taken from the nearest panel that has one.
    left = in_row[in_row.index(ax) :: -1]
    below = in_column[in_column.index(ax) :]
    above = in_column[in_column.index(ax) :: -1]
    ax.set_ylabel(next(filter(None, (other.get_ylabel() for other in left)), ""))
    ax.set_xlabel(next(filter(None, (other.get_xlabel() for other in below)), ""))
    # The title of a column stands above its first panel only.
    if len(in_row) > 1 and not ax.get_title():
        ax.set_title(next(filter(None, (other.get_title() for other in above)), ""))
    # Of panels that share an axis, the lowest one of a column and the first one of a row have tick labels.
    if len(ax.get_shared_x_axes().get_siblings(ax)) > 1:
        _show_tick_labels(ax.xaxis, in_column[-1].xaxis, "labelbottom")
    if len(ax.get_shared_y_axes().get_siblings(ax)) > 1:
        _show_tick_labels(ax.yaxis, in_row[0].yaxis, "labelleft")


def _show_tick_labels(axis: Axis, shown: Axis, side: str) -> None:
    """Show the tick labels of an axis if ``shown``, an axis of the same row or column, shows its own."""
    for which in ("major", "minor"):
        # By default major ticks have labels, and minor ticks do not.
        visible = shown.get_tick_params(which=which).get(side, which == "major")
        axis.set_tick_params(which=which, **{side: visible})
