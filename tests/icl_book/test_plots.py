"""Figures: the marks say what they should, and bad input is refused."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from icl.risk import split_risk
from icl.tasks import Affine
from icl_book.figures import plots

SAMPLED = pd.DataFrame(
    {"task": "ReLU", "x": [1, 2], "y": [2.0, 3.0], "low": [1.5, 1.0], "high": [2.25, 7.0]}
)


@pytest.fixture
def ax():
    with matplotlib.rc_context():
        plots.style()
        figure, axes = plt.subplots()
        yield axes
        plt.close(figure)


def _luminance(color):
    rgb = np.array(matplotlib.colors.to_rgb(color))
    return np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (
        0.2126,
        0.7152,
        0.0722,
    )


@pytest.mark.parametrize("color", sorted({*plots.PALETTE, *plots.COLORS.values()}))
def test_colors_stand_out_on_white(color):
    assert 1.05 / (_luminance(color) + 0.05) > 2.0


#: Deuteranopia and protanopia after Vienot, Brettel and Mollon: project in linear RGB.
COLOR_BLIND = (
    [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
)


def _gaps_seen(colors, matrix):
    """Return how much each two colors differ in linear RGB for an eye that projects like this."""
    seen = [np.array(matrix) @ np.array(matplotlib.colors.to_rgb(c)) ** 2.2 for c in colors]
    return [np.abs(a - b).max() for i, a in enumerate(seen) for b in seen[:i]]


@pytest.mark.parametrize("matrix", COLOR_BLIND)
def test_palettes_are_distinguishable_by_the_color_blind(matrix):
    assert min(_gaps_seen(plots.PALETTE, matrix)) > 0.04


def test_the_three_errors_are_told_apart_by_the_color_blind_on_light_and_dark_pages():
    errors = [plots.COLORS[name] for name in ("blur", "scatter", "noise")]
    for page, colors in (("#ffffff", errors), ("#14181e", [plots.on_dark(c) for c in errors])):
        for color in colors:
            light, dark = sorted([_luminance(color), _luminance(page)], reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, (page, color)
        for matrix in COLOR_BLIND:
            assert min(_gaps_seen(colors, matrix)) > 0.08, page


@pytest.mark.parametrize("count", range(1, 12))
def test_colors_of_numbers_are_ordered_and_can_be_read_on_white(count):
    light = [_luminance(color) for color in plots.colors(range(count)).values()]
    assert light == sorted(set(light), reverse=True) and len(light) == count
    assert 1.05 / (light[0] + 0.05) >= 3


def test_exact_is_a_bare_line_and_sampled_are_points_with_their_ends(ax):
    line = plots.exact_curve(ax, [1, 2, 3], [1, 4, 9], "exact")
    assert line.get_marker() in ("None", None, "") and line.get_linestyle() == "-"
    plots.points(ax, SAMPLED, "x", "y", "task")
    ((points, _, (bars,)),) = ax.containers
    assert points.get_linestyle() == "None" and points.get_marker() == "o"
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[1.5, 2.25], [1.0, 7.0]])


def test_errors_are_stacked_up_to_the_risk(ax):
    w = np.array([1.0, 4.0, 30.0])
    risk = split_risk(Affine(3), w, 20, 0.5)
    plots.stack_errors(ax, w, risk)
    names = [area.get_label() for area in ax.collections]
    assert names == ["blur", "scatter", "noise"]
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in ax.collections]
    stacked = np.cumsum([risk.blur, risk.scatter, risk.noise], axis=0)
    assert tops == pytest.approx(stacked.max(axis=1))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), risk.total)


def test_guide_has_the_slope_it_is_labeled_with(ax):
    ax.set(xscale="log", yscale="log")
    x, y = plots.guide(ax, 10.0, 3.0, 0.4, "slope 2/5", decades=3).get_data()
    assert np.log10(y[1] / y[0]) / np.log10(x[1] / x[0]) == pytest.approx(0.4)
    assert (x[0], y[0]) == (10.0, 3.0) and ax.texts[0].get_text() == "slope 2/5"
    with pytest.raises(ValueError, match="y0 = -1.0"):
        plots.guide(ax, 1.0, -1.0, 2.0, "2")


def test_a_hyphen_before_a_number_is_a_minus_and_one_in_a_word_stays():
    assert plots.write_minus("w = 1.5, -2.02\n-.5/32 at x-1, two-sided") == (
        "w = 1.5, −2.02\n−.5/32 at x-1, two-sided"
    )


def test_matrix_prints_its_values_on_a_symmetric_scale(ax):
    image = plots.matrix(ax, [[2.0, -0.001], [0.5, -4.0]], rows="ab", columns="xy")
    # no "-0.00"
    assert [t.get_text() for t in ax.texts] == ["2.00", "0.00", "0.50", "−4.00"]
    assert image.get_clim() == (-4.0, 4.0)
    assert plots.matrix(ax, np.zeros((2, 2))).get_clim() == (-1.0, 1.0)
    assert plots.matrix(ax, np.eye(2), limit=3.0).get_clim() == (-3.0, 3.0)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda ax: plots.points(ax, SAMPLED.assign(low=[1, 4]), "x", "y", "task"),
            "y: outside .*'x': 2",
        ),
        (lambda ax: plots.guide(ax, 1.0, 1.0, 2.0, "2"), "linear, linear; a guide needs log, log"),
        (lambda ax: plots.matrix(ax, [1.0, 2.0]), "must be a matrix of finite numbers"),
        (lambda ax: plots.matrix(ax, [[np.nan]]), "must be a matrix of finite numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(ax, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(ax)


def test_svg_is_reproducible(ax):
    plots.exact_curve(ax, [1, 2], [1, 2])
    assert plots.svg(ax.figure) == plots.svg(ax.figure)
    assert "<dc:date>" not in plots.svg(ax.figure)


def test_table_formats_the_rows_of_a_frame():
    frame = pd.DataFrame(
        {"task": ["a < b", "ReLU"], "d": [2, 3], "w": [-1e-5, 2.346], "high": [0.1, np.inf]}
    )
    columns = {"class": "{task}", "$d$": "{d}", "$w^*$, at most": "{w:.2f} ({high:g})"}
    page = plots.table(frame, columns, "$a<b$, 3 %")._repr_html_()
    assert (
        '<th scope="col"><span class="math notranslate nohighlight">\\(w^*\\)</span>, at most</th>'
        in page
    )
    # no "-0.00"
    assert '<th scope="row">a &lt; b</th><td>2</td><td>0.00 (0.1)</td>' in page
    assert "<td>2.35 (inf)</td>" in page and "3\u00a0%</caption>" in page
    with pytest.raises(KeyError, match="v"):
        plots.table(frame, {"v": "{v}"}, "measured")


def test_the_style_is_the_same_whatever_was_set_before():
    plots.style()
    before = dict(plt.rcParams)
    mine = {
        "font.size": 40,
        "axes.facecolor": "black",
        "lines.dashed_pattern": (1, 1),
        "savefig.bbox": "tight",
    }
    plt.rcParams.update(mine)
    plots.style()
    assert dict(plt.rcParams) == before


def test_labels_at_the_ends_of_lines_do_not_overlap(ax):
    ax.plot([1, 2], [1.0, 2.0], label="low", color="C1")
    ax.plot([1, 2], [1.0, 2.0001], label="high")
    ax.plot([1, 2, 3], [1.0, 9.0, np.nan], label="alone")
    ax.plot([1, 2], [1.0, 5.0])
    plots.label_ends(ax)
    low, high, alone = ax.texts
    assert [text.get_text() for text in ax.texts] == ["low", "high", "alone"]
    assert low.get_color() == "C1" and alone.xy == (2, 9)
    pixels = [ax.transData.transform(text.xy)[1] for text in (low, high, alone)]
    shifts = [text.xyann[1] for text in (low, high, alone)]
    heights = np.array(pixels) * 72 / ax.figure.dpi + shifts
    assert heights[1] - heights[0] == pytest.approx(14, abs=0.1)
    assert shifts[2] == pytest.approx(0, abs=0.1), "a label with room stays at its line"


def _gaps(text, ax):
    """Return the distances of a label in pixels from each line of its panel."""
    box = text.get_window_extent()
    gaps = []
    for line in ax.get_lines():
        x, y = line.get_transform().transform(line.get_xydata()).T
        dense = np.linspace(0, len(x) - 1, 20_001)
        x, y = (np.interp(dense, range(len(x)), values) for values in (x, y))
        beside = np.maximum(np.maximum(box.x0 - x, x - box.x1), 0)
        above = np.maximum(np.maximum(box.y0 - y, y - box.y1), 0)
        gaps.append(np.hypot(beside, above).min())
    return gaps


def test_labels_beside_lines_touch_nothing_and_are_nearest_to_their_own(ax):
    x = np.linspace(0, 6, 50)
    ax.plot(x, np.sin(x), label="wave")
    ax.plot(x, np.exp(-x), "o-", label="decay")
    ax.axhline(0.5, label="constant")
    ax.axvline(5.5)
    ax.errorbar([1, 4], [-0.5, 0.9], [0.2, 0.2], fmt="s", label="points")
    ax.text(2, -0.8, "a remark")
    plots.label_lines(ax)
    remark, *labels = ax.texts
    assert [text.get_text() for text in labels] == ["wave", "decay", "constant", "points"]
    for place, text in enumerate(labels):
        own = plots.list_labeled(ax)[place][1]
        gaps = dict(zip(ax.get_lines(), _gaps(text, ax), strict=True))
        assert min(gaps.values()) > 2
        if own.get_linestyle() != "None":
            assert min(gaps, key=gaps.get) is own
            assert text.get_color() == own.get_color()
        boxes = [other.get_window_extent() for other in ax.texts if other is not text]
        assert not any(text.get_window_extent().overlaps(box) for box in boxes)
        inside = ax.bbox.padded(-1)
        assert inside.contains(*text.get_window_extent().min)
        assert inside.contains(*text.get_window_extent().max)


def test_labels_of_lines_that_coincide_are_a_legend_outside_the_panel(ax):
    for name in ("one", "the same"):
        ax.plot([0, 1], [0, 1], label=name)
    plots.label_lines(ax)
    assert not ax.texts
    (legend,) = ax.figure.legends
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in legend.get_texts()] == ["one", "the same"]
    assert legend.get_window_extent().y1 < ax.get_window_extent().y0


def test_a_legend_below_is_not_wider_than_its_figure(ax):
    for i in range(6):
        ax.plot([0, 1], [0, i], label=f"a name of {i} that is rather long")
    plots.label_below(ax)
    (legend,) = ax.figure.legends
    assert legend.get_window_extent().width < ax.figure.bbox.width


def test_points_with_intervals_have_their_label_at_their_end(ax):
    plots.points(ax, SAMPLED, "x", "y", "task")
    plots.label_ends(ax)
    (text,) = ax.texts
    assert (text.get_text(), text.xy) == ("ReLU", (2, 3))


@pytest.mark.parametrize(
    ("template", "value", "words"),
    [
        ("n = {:g}", 1e6, "n = $10^{6}$"),
        ("n = {}", 1000000, "n = $10^{6}$"),
        ("{:.0e}", 3e-4, r"$3\cdot10^{-4}$"),
        ("d = {}", 100, "d = 100"),
        ("{} functions", "ReLU", "ReLU functions"),
        ("{}", "P1e6x", "P1e6x"),
    ],
)
def test_powers_of_ten_in_words_of_a_figure_are_those_of_its_axes(template, value, words):
    assert plots.fill_template(template, value) == words


@pytest.mark.parametrize(
    ("limits", "labels"),
    [
        ((1, 1e4), {"$\\mathdefault{10^{0}}$", "$\\mathdefault{10^{4}}$"}),
        ((1e5, 1e9), {"$\\mathdefault{10^{5}}$", "$\\mathdefault{10^{9}}$"}),
        ((0.5, 4), {"1", "2", "4"}),
    ],
)
def test_a_logarithmic_axis_has_powers_of_ten_or_where_it_is_short_numbers(limits, labels):
    plots.style()
    figure, ax = plt.subplots()
    ax.set(xscale="log", xlim=limits)
    figure.canvas.draw()
    ticks = [*ax.get_xticklabels(), *ax.get_xticklabels(minor=True)]
    shown = {
        tick.get_text() for tick in ticks if limits[0] <= tick.get_position()[0] <= limits[1]
    } - {""}
    plt.close(figure)
    assert labels <= shown
    assert len({"mathdefault" in label for label in shown}) == 1, "written in one way"


def test_all_text_of_a_figure_has_one_size():
    plots.style()
    figure, ax = plt.subplots()
    ax.plot([1, 2], label="line")
    ax.set(title="title", xlabel="label")
    legend = ax.legend(title="legend")
    texts = [ax.title, ax.xaxis.label, *ax.get_xticklabels(), *legend.get_texts()]
    sizes = {text.get_size() for text in [*texts, legend.get_title()]}
    plt.close(figure)
    assert sizes == {10.5}
