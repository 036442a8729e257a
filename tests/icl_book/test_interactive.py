"""Interactive figures: the packed table, and what a page with one shows, in headless Chromium."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from chromium import SIZES, axe, look, overflow, resize
from icl.risk import optimal_window, split_risk
from icl.tasks import Affine
from icl_book.figures.interactive import interactive, pack
from icl_book.figures.plots import COLORS
from icl_book.figures.surroundings import SIZE, surroundings
from icl_book.figures.unrolled import unroll
from icl_book.provenance import ROOT

WINDOWS, LENGTHS, ROUGH, NOISY = (
    10 ** np.arange(-1, 3.1, 0.5),
    [10, 1000, 10**8],
    [0.5, 1.0, 2.0],
    [0.1, 0.5],
)
SAID = {
    "experiment": "Move n until",
    "alt": "Risk <with a least value>.",
    "caption": "Affine functions.",
}
START = {"class": "affine", "n": 10, "L": 1.0, "sigma": 0.5, "w": 1.0}


@pytest.fixture(scope="module")
def markup():
    curves = []
    best = []
    for n in LENGTHS:
        risk = split_risk(Affine(3), WINDOWS, n, 1.0)
        columns = {"w": WINDOWS, "blur": risk.blur, "scatter": risk.scatter, "noise": risk.noise}
        columns["tenth"] = n / 10
        curves.append(pd.DataFrame({"class": "affine", "n": n} | columns))
        for L in ROUGH:
            found = optimal_window(Affine(3, L), n, NOISY)
            columns = {"sigma": NOISY, "w": found.w, "risk": found.risk}
            best.append(pd.DataFrame({"n": n, "L": L} | columns))
    return interactive(
        pd.concat(curves),
        "w",
        {"risk": "risk", "blur": "blur", "scatter": "scatter", "noise": "noise"},
        {
            "class": "functions",
            "n": "length n",
            "L": "slope L",
            "sigma": "noise σ",
            "w": "window w",
        },
        START,
        labels=("window w", "squared error"),
        **SAID,
        best=pd.concat(best),
        squares={"blur": "L", "scatter": "L", "noise": "sigma"},
        told={"tenth": "A tenth of n is {}."},
    ).data


PAGE = """<!doctype html><html lang='en'><meta charset='utf-8'><title>figure</title>
<meta name='viewport' content='width=device-width'><style>html[data-theme='dark'] {
--pst-color-background: #121212; --pst-color-text-base: #ddd; background: #121212; color: #ddd }</style>
<main><h1>Figure</h1>MARKUP</main></html>"""


def page(browser, path, markup):
    path.write_text(PAGE.replace("MARKUP", markup))
    seen = look(browser, path.as_uri())
    assert seen.errors == [] and seen.network == []
    return browser


@pytest.fixture
def figure(browser, tmp_path, markup):
    return page(browser, tmp_path / "figure.html", markup)


def shown(browser):
    """Return the numbers of a figure at its cursor, and the best, as drawn, and its sentence."""
    values = browser.find_element("css selector", "[data-ready]").get_attribute("data-values")
    return json.loads(values), browser.find_element("css selector", ".read").text


def path(browser, name):
    return browser.find_element("css selector", f".drawing path.{name}").get_attribute("d")


def control(browser, label):
    (row,) = (e for e in browser.find_elements("tag name", "label") if e.text.startswith(label))
    return row.find_element("css selector", "input, select")


# ---------------------------------------------------------------- the table


def test_table_holds_the_numbers_of_the_frame_and_repeats_none():
    stops = {"n": [10, 100], "kind": ["b", "a"]}
    n, w, kind = np.meshgrid(stops["n"], [0.1, 1.0, 10.0], stops["kind"], indexing="ij")
    frame = pd.DataFrame({"n": n.ravel(), "w": w.ravel(), "kind": kind.ravel()})
    frame["noise"], frame["bias"] = (
        frame.w / frame.n,
        np.where(frame.kind == "a", np.pi, 1.0) / frame.w,
    )
    whole = pack(frame, stops)
    assert whole["rows"] == 3
    keys = {name: column["keys"] for name, column in whole["columns"].items()}
    assert keys == {"w": [], "noise": ["n"], "bias": ["kind"]}
    bias = np.frombuffer(base64.b64decode(whole["columns"]["bias"]["data"]), "<f4").reshape(2, 3)
    np.testing.assert_allclose(bias, [[10, 1, 0.1], [10 * np.pi, np.pi, 0.1 * np.pi]], rtol=6e-8)
    lacking = pack(frame.drop(index=0), stops)  # n = 10, w = 0.1, kind b
    assert lacking["rows"] == 3 and all(
        c["keys"] == ["n", "kind"] for c in lacking["columns"].values()
    )


def test_still_picture_and_words_stay_without_scripts(markup):
    body = re.sub(r"<(script|style).*?</\1>", "", markup, flags=re.DOTALL)
    assert body.count("<img") == 1 and "hidden" not in body and 'alt="Risk &lt;with' in body
    assert SAID["experiment"] in body and SAID["caption"] in body
    assert "http" not in markup.replace("http://www.w3.org/2000/svg", "") and "eval(" not in markup


@pytest.mark.parametrize(
    "change, words",
    [
        ({"start": {"w": 3.0}}, r"start: w=3.0 must be one of \[1.0, 2.0\]"),
        ({"experiment": "Look."}, "experiment='Look.'.*must say what to move"),
        ({"alt": " "}, "alt=' '.*what is seen"),
    ],
)
def test_bad_input_is_named(change, words):
    frame = pd.DataFrame({"w": [1.0, 2.0], "y": [1.0, 2.0]})
    good = {"start": {"w": 1.0}, "experiment": "Move w.", "alt": "A line.", "labels": ("w", "y")}
    with pytest.raises(ValueError, match=words):
        interactive(frame, "w", {"y": "y"}, {"w": "w"}, **good | change)


def test_book_has_five_figures_each_in_a_chapter_of_its_own():
    chapters = (path.read_text() for path in (ROOT / "notebooks").glob("*.py"))
    calls = [len(re.findall(r"^interactive\(", text, re.M)) for text in chapters]
    assert sum(calls) == 5 and max(calls) == 1


# ---------------------------------------------------------------- the figure


@pytest.mark.browser
def test_values_by_keyboard_are_those_of_the_package(figure):
    """The table agrees to float32, the sentence to the printed digits; then the sliders go back."""
    # these are WebDriver's keys
    at_start, (right, left, home, end) = (shown(figure), "\ue014\ue012\ue011\ue010")
    for keys in ({}, {"length": right, "window": 2 * left}, {"slope": end, "noise": home}):
        for label, key in keys.items():
            control(figure, label).send_keys(key)
        names = ("length", "slope", "noise", "window")
        n, L, sigma, w = (
            float(control(figure, name).get_attribute("aria-valuetext")) for name in names
        )
        risk, best = (
            split_risk(Affine(3, L), w, n, sigma),
            optimal_window(Affine(3, L), n, sigma),
        )
        values, sentence = shown(figure)
        parts = (risk.total, risk.blur, risk.scatter, risk.noise)
        truth = map(float, (*parts, best.w, best.risk, n / 10))
        assert [*values.values()] == pytest.approx([*truth], rel=2e-7)
        assert f"At window w = {w:g}: risk {float(f'{risk.total:.3g}')}; blur" in sentence
        assert f"The best window w (ring) is {float(f'{best.w:.3g}'):g}" in sentence
    assert (n, L, sigma, w) == (1000, 2, 0.1, 0.1)
    figure.find_element("tag name", "button").send_keys("\ue007")
    assert shown(figure) == at_start


@pytest.mark.browser
def test_numbers_of_a_setting_are_told_below_the_figure(figure):
    values, words = shown(figure)
    assert values["tenth"] == 1 and words.endswith("A tenth of n is 1.")
    control(figure, "length n").send_keys("\ue014")
    values, words = shown(figure)
    assert values["tenth"] == 100 and words.endswith("A tenth of n is 100.")


def test_curves_go_on_beyond_the_frame_which_cuts_them(figure):
    control(figure, "length").send_keys("\ue010")
    heights = [float(v) for v in re.findall(r",([-\d.]+)", path(figure, "l3"))]
    frame = figure.find_element("css selector", ".frame").get_attribute("height")
    assert len(heights) == len(WINDOWS) == len(set(heights)) and max(heights) > float(frame) + 11
    drawn = figure.find_element("css selector", ".drawing > svg")
    assert drawn.value_of_css_property("overflow") == "hidden"


@pytest.mark.browser
def test_curves_have_the_colors_of_drawn_figures_on_light_and_dark_pages(figure):
    """A canvas with the filter of the style sheet says which color a drawn figure has on a dark page."""
    sheet = (ROOT / "book" / "_static" / "icl.css").read_text()
    (filtered,) = set(re.findall(r"filter: (.*?);", sheet))
    script = """
    const [color, filter] = arguments, context = document.createElement("canvas").getContext("2d");
    Object.assign(context, { filter, fillStyle: color });
    context.fillRect(0, 0, 9, 9);
    return [...context.getImageData(4, 4, 1, 1).data].slice(0, 3);"""
    for theme, seen in (("light", "none"), ("dark", filtered)):
        figure.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        for place, name in enumerate(("blur", "scatter", "noise"), start=1):
            line = figure.find_element("css selector", f".drawing path.l{place}")
            live = re.findall(r"\d+", line.value_of_css_property("stroke"))[:3]
            drawn = figure.execute_script(script, COLORS[name], seen)
            np.testing.assert_allclose([int(v) for v in live], drawn, atol=3, err_msg=name)


@pytest.mark.browser
def test_curves_break_and_a_finger_moves_the_cursor(browser, tmp_path):
    q = 10.0 ** np.arange(5)
    made = interactive(
        pd.DataFrame({"q": q, "y": [1, 2, np.nan, 9, 16]}),
        "q",
        {"y": "y"},
        {"q": "radius (km)"},
        {"q": 100.0},
        labels=("q", "y"),
        experiment="Move q.",
        alt="A line.",
    )
    figure = page(browser, tmp_path / "points.html", made.data)
    assert (path(figure, "l0").count("M"), path(figure, "l0").count("L")) == (2, 2)
    assert "At radius = 100 km: y not computed" in shown(figure)[1]
    figure.execute_script("""
    const svg = document.querySelector(".drawing"), box = svg.getBoundingClientRect();
    const [left, width] = ["x", "width"].map((k) => +svg.querySelector(".frame").getAttribute(k));
    const clientX = box.left + left + 0.8 * width;
    svg.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", buttons: 1, clientX }));""")
    assert shown(figure)[0] == {"y": 9}
    assert control(figure, "radius").get_attribute("aria-valuetext") == "1000"


@pytest.mark.browser
def test_figure_is_accessible_and_its_sliders_are_long(figure):
    for size, theme in [(size, theme) for size in SIZES for theme in ("light", "dark")]:
        resize(figure, size)
        figure.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        widths = [
            e.get_property("clientWidth")
            for e in figure.find_elements("css selector", "[type=range]")
        ]
        assert len(widths) == 4 and min(widths) >= 200, (size, widths)
        assert (overflow(figure, size) <= 0, axe(figure)) == (True, []), (size, theme)


# ---------------------------------------------------------------- maps around a place

#: Places at 30 and 120 degrees from the one on the equator: east, north, west, and one on the far side.
DEGREES = np.radians([[0, 30], [30, 0], [0, -30], [0, 120]])


@pytest.fixture(scope="module")
def around():
    up, side = DEGREES.T
    places = np.stack([np.cos(up) * np.cos(side), np.cos(up) * np.sin(side), np.sin(up)], -1)
    return surroundings(
        (1, 0, 0),
        places,
        {"north": lambda x: x[..., 2] > 0, "east": lambda x: x[..., 1] > 0},
        counts=[1, 4],
        radius=2,
        reaches=[2 * np.pi / 3],
        start={"map": "north", "n": 1, "best": 1.0},
        alt="A <map>.",
    )


def test_places_are_drawn_at_their_distance_in_their_direction(around):
    first, others = re.findall(r'<path class="known" d="([^"]*)"', around)
    dots = np.array(re.findall(r"M([-\d.]+) ([-\d.]+)h0", first + others), float)
    np.testing.assert_allclose(dots, [[50, 0], [0, -50], [-50, 0]], atol=0.05)
    assert first.count("M") == 1, "the first n places at n"
    north, east = re.findall(r'<path class="shaded" stroke-width="([\d.]+)" d="([^"]*)"', around)
    for (width, path), axis in ((north, 1), (east, 0)):
        strips = np.array(re.findall(r"M([-\d.]+) ([-\d.]+)H([-\d.]+)", path), float)
        left, height, right = strips.T
        middle = (left + right) / 2 if axis == 0 else -height
        assert middle.min() > 0
        area = float(width) * (right - left).sum()
        assert area == pytest.approx(np.pi * SIZE**2 / 2, rel=0.01), "half of the round map"


def map_of_two(star, name="north"):
    return surroundings(
        star,
        np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        {name: lambda x: x[..., 2] > 0},
        counts=[1, 2],
        radius=1,
        reaches=[3.0],
        start={"map": name, "n": 1, "best": 1.0},
        alt="A map.",
    )


def test_a_map_around_a_pole_is_refused():
    with pytest.raises(ValueError, match=r"star=\[0.0, 0.0, -1.0\]: must not be a pole"):
        map_of_two((0, 0, -1))


def test_a_place_at_the_star_and_any_name_of_a_map_are_drawn():
    """The star is its own nearest place, and a name is read back as it was given."""
    star, name = (1, 0, 0), """it's "<&>" here"""
    drawn = map_of_two(star, name)
    assert "nan" not in drawn
    page = BeautifulSoup(drawn, "html.parser")
    seen = [json.loads(part["data-when"]) for part in page.select("[data-when]")]
    assert seen == [{"map": [name]}, {"n": [1, 2]}, {"n": [2]}]
    dots = re.findall(r"M([-\d.]+) ([-\d.]+)h0", drawn)
    np.testing.assert_allclose(np.array(dots, float), [[0, 0], [SIZE * np.pi / 6, 0]], atol=0.05)


def test_maps_show_the_start_without_scripts(around):
    hidden = re.findall(r'<g data-when="([^"]*)"( hidden)?>', around)
    assert [bool(word) for _, word in hidden] == [False, True, False, True]
    assert [float(r) for r in re.findall(r'data-scale="[\d.]+" r="([\d.]+)"', around)] == [47.7] * 2
    assert 'aria-label="A &lt;map&gt;."' in around


@pytest.mark.browser
def test_circles_and_what_is_seen_follow_the_sliders(browser, tmp_path, around):
    settings = pd.MultiIndex.from_product([["north", "east"], [1, 4]], names=["map", "n"])
    best = settings.to_frame(index=False).assign(km=[0.5, 0.75, 1.0, 1.25], y=1.0)
    curves = best.drop(columns="km").merge(pd.DataFrame({"km": [0.5, 1.0, 2.0]}), how="cross")
    made = interactive(
        curves,
        "km",
        {"y": "y"},
        {"map": "map", "n": "places", "km": "radius (km)"},
        {"map": "north", "n": 1, "km": 2.0},
        labels=("km", "y"),
        best=best,
        scene=around,
        experiment="Move it.",
        alt="A line.",
    )
    figure = page(browser, tmp_path / "scene.html", made.data)

    def each(css, of):
        script = f"return [...document.querySelectorAll('.scene [{css}]')].map((part) => {of})"
        return figure.execute_script(script)

    def circles():
        return np.array(each("data-scale", "part.r.baseVal.value")) / SIZE * 2 * np.pi / 3

    def parts():
        return each("data-when", "getComputedStyle(part).display !== 'none'")

    assert circles() == pytest.approx([2.0, 0.5], rel=1e-5) and parts() == [
        True,
        False,
        True,
        False,
    ]
    control(figure, "radius").send_keys("\ue012")
    control(figure, "places").send_keys("\ue014")
    assert circles() == pytest.approx([1.0, 0.75], rel=1e-5) and parts() == [
        True,
        False,
        True,
        True,
    ]
    control(figure, "map").send_keys("e")
    assert circles() == pytest.approx([1.0, 1.25], rel=1e-5) and parts() == [
        False,
        True,
        True,
        True,
    ]
    assert "The best radius (ring) is 1.25 km, with y 1." in shown(figure)[1]
    for size in SIZES:
        resize(figure, size)
        assert (overflow(figure, size) <= 0, axe(figure)) == (True, []), size


# ---------------------------------------------------------------- a circle unrolled


@pytest.fixture(scope="module")
def line():
    around = np.array([-180.0, 0, 180])
    shown = {1.0: (0 * around, np.array([0.5, 0.5])), 2.0: (0 * around + 2, np.array([0.25, 0]))}
    return unroll(
        np.array([-90, 90]),
        np.array([0, 1.0]),
        around,
        around / 180,
        shown,
        query=0,
        start=1.0,
        alt="A <line>.",
    )


def test_discs_have_the_area_of_their_weights_and_the_start_shows_without_scripts(line):
    groups = BeautifulSoup(line, "html.parser").select("[data-when]")
    assert [(json.loads(group["data-when"]), group.has_attr("hidden")) for group in groups] == [
        ({"w": [1.0]}, False),
        ({"w": [2.0]}, True),
    ]
    radii = [[float(disc["r"]) for disc in group.select(".weights circle")] for group in groups]
    assert radii[0][0] ** 2 == pytest.approx(2 * radii[1][0] ** 2, rel=0.01)
    assert len(radii[1]) == 1, "an example without weight has no disc"
    heights = [float(group.select_one(".answer")["cy"]) for group in groups]
    assert heights[0] > heights[1], "a larger label is higher"
    assert "&lt;line&gt;" in line


@pytest.mark.browser
def test_the_line_stands_beside_the_curves_and_above_them_on_a_phone(browser, tmp_path, line):
    frame = pd.DataFrame({"w": [1.0, 2.0], "y": [1.0, 2.0]})
    said = {"labels": ("w", "y"), "experiment": "Move w.", "alt": "A line."}
    made = interactive(frame, "w", {"y": "y"}, {"w": "w"}, {"w": 1.0}, scene=line, **said)
    figure = page(browser, tmp_path / "line.html", made.data)
    for size in SIZES:
        resize(figure, size)
        left, right = (
            figure.find_element("css selector", f".seen {part}").rect
            for part in (".beside > svg", ".drawing")
        )
        assert (right["x"] >= left["x"] + left["width"]) == (size == "desktop"), size
        assert (right["y"] >= left["y"] + left["height"]) == (size == "phone"), size
        slider, sentence = (
            figure.find_element("css selector", part).rect for part in ("[type=range]", ".read")
        )
        assert slider["y"] + slider["height"] <= sentence["y"] < left["y"], size
        assert (overflow(figure, size) <= 0, axe(figure)) == (True, []), size
    control(figure, "w").send_keys("\ue014")
    groups = figure.find_elements("css selector", "[data-when]")
    assert [group.is_displayed() for group in groups] == [False, True]
