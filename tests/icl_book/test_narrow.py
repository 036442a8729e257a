"""Second drawings of figures, for a phone: panels one below the other, each with its names."""

import re
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from icl_book.figures import narrow, plots
from icl_book.provenance import NARROW_MIME


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context():
        plots.style()
        yield
        plt.close("all")


def pixels(drawing):
    return float(re.search(r'<svg [^>]*width="([\d.]+)pt"', drawing)[1]) * 4 / 3


def grid():
    figure, axes = plt.subplots(2, 2, figsize=(7.6, 5), sharex=True, sharey="row")
    for ax, title in zip(axes[0], ("near", "far"), strict=True):
        ax.set_title(title)
    for ax, name in zip(axes[:, 0], ("weight", "risk"), strict=True):
        ax.set_ylabel(name)
    for ax in axes[1]:
        ax.set_xlabel("angle")
    for ax in axes.flat:
        ax.plot([1, 2], [1, 3])
    return figure, axes


def test_panels_stand_one_below_the_other_row_by_row_each_with_its_names():
    figure, axes = grid()
    assert 300 < pixels(narrow.svg(figure)) < 360
    boxes = [ax.get_window_extent() for ax in axes.flat]
    assert all(high.y0 > low.y1 for high, low in zip(boxes, boxes[1:], strict=False))
    assert np.ptp([box.x0 for box in boxes]) < 1
    names = [(ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) for ax in axes.flat]
    assert names == [
        ("near", "weight", "angle"),
        ("far", "weight", "angle"),
        ("near", "risk", "angle"),
        ("far", "risk", "angle"),
    ]
    assert all(ax.xaxis.get_tick_params()["labelbottom"] for ax in axes.flat)
    assert all(ax.yaxis.get_tick_params()["labelleft"] for ax in axes.flat)


def test_twins_colors_and_labels_at_ends_stay_with_their_panels():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3))
    twin = left.twinx()
    twin.plot([1, 2], [5, 3])
    for i in range(4):
        right.plot([0, 1], [0, 1 + i / 500], label=f"f{i}")
    plots.label_ends(right)
    bar = figure.colorbar(left.scatter([1, 2], [1, 2], c=[0, 1]), ax=left)
    assert narrow.svg(figure)
    assert twin.get_position().bounds == left.get_position().bounds
    assert bar.ax.get_window_extent().x0 > left.get_window_extent().x1
    assert bar.ax.get_window_extent().y0 > right.get_window_extent().y1
    renderer = figure.canvas.get_renderer()
    ends = [text for text in right.texts if text.get_label() == plots.AT_END]
    spans = sorted((b.y0, b.y1) for b in (t.get_window_extent(renderer) for t in ends))
    assert len(spans) == 4
    assert all(high[0] > low[1] for low, high in zip(spans, spans[1:], strict=False))


def test_labels_at_ends_get_the_height_they_need_and_long_ones_become_a_legend():
    figure, ax = plt.subplots(figsize=(7.6, 2.2))
    for i in range(14):
        ax.plot([0, 1], [0, 1 + i / 500], label=f"L = {i}")
    plots.label_ends(ax)
    narrow.svg(figure)
    box, renderer = ax.get_window_extent(), figure.canvas.get_renderer()
    shown = [text.get_window_extent(renderer) for text in ax.texts]
    assert len(shown) == 14
    assert min(text.y0 for text in shown) > box.y0 - 12
    figure, ax = plt.subplots(figsize=(7.6, 3))
    for i in range(3):
        ax.plot([0, 1], [0, i], label=f"a name of {i} that is long")
    plots.label_ends(ax)
    drawn = narrow.svg(figure)
    assert not ax.texts
    assert drawn.count("<!-- a name of") == 3
    assert ax.get_window_extent().width > narrow.MIN_LABELED_WIDTH * figure.dpi


def test_a_legend_gets_fewer_columns():
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3))
    for ax in axes:
        lines = [ax.plot([1, 2], [1, i], label=f"a long name {i}")[0] for i in range(4)]
    figure.legend(handles=lines, loc="outside upper center", ncols=4)
    drawn = narrow.svg(figure)
    assert pixels(drawn) < 360
    assert drawn.count("<!-- a long name") == 4


def test_legends_stand_below_the_panels_and_labels_beside_lines_are_placed_anew():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3))
    for i in range(3):
        left.plot([0, 1], [0, i], label=f"legend {i}")
        right.plot([0, 1], [i, i + 1], label=f"beside {i}")
    left.legend()
    plots.label_lines(right)
    before = [text.get_position() for text in right.texts]
    assert narrow.svg(figure)
    assert left.get_legend() is None
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [f"legend {i}" for i in range(3)]
    assert legend.get_window_extent().y1 < right.get_window_extent().y0
    after = [text.get_position() for text in right.texts]
    assert [text.get_text() for text in right.texts] == [f"beside {i}" for i in range(3)]
    assert before != after


def test_names_at_an_axis_do_not_overlap():
    figure, ax = plt.subplots(figsize=(7.6, 4.2))
    ax.plot(range(9))
    ax.set_yticks(range(9), [f"row {i},\nof two lines" for i in range(9)])
    narrow.svg(figure)
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert all(low.y1 <= high.y0 for low, high in zip(boxes, boxes[1:], strict=False))


def test_a_panel_of_equal_scales_is_not_blown_up():
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2))
    for ax in axes:
        plots.matrix(ax, np.eye(3))
    figure.draw_without_rendering()
    before = axes[0].get_window_extent().height
    narrow.svg(figure)
    assert before <= axes[0].get_window_extent().height < 1.3 * before


def test_what_cannot_be_stacked_and_what_is_narrow_have_no_second_drawing():
    small, _ = plt.subplots(figsize=(3.9, 2))
    assert narrow.svg(small) is None
    nested = plt.figure(figsize=(7.6, 3))
    outer = nested.add_gridspec(1, 2)
    nested.add_subplot(outer[0])
    nested.add_subplot(outer[1].subgridspec(2, 1)[0])
    assert narrow.svg(nested) is None


def test_a_kernel_keeps_both_and_draws_the_wide_one_first():
    formatter = DisplayFormatter()
    wide = formatter.formatters["image/svg+xml"]
    wide.for_type(plt.Figure, plots.svg)
    narrow.attach(SimpleNamespace(display_formatter=formatter))
    shown, _ = formatter.format(grid()[0])
    assert pixels(shown["image/svg+xml"]) == pytest.approx(7.6 * 96, rel=0.02)
    assert pixels(shown[NARROW_MIME]) < 360
