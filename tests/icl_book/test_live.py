"""The exact risk that pages compute themselves, and the figures drawn with it, in headless Chromium."""

import itertools
import re

import numpy as np
import pytest

from chromium import RAISED, READ_OUT, after, control, finished, open_figure, open_figures
from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.tasks import make_task
from icl_book import live_windows
from icl_book.live import START, live, opening
from icl_book.provenance import ROOT

STATIC = ROOT / "book" / "_static"
SCRIPTS = ("risk.js", "laws.js", "live.js")


@pytest.fixture
def page(browser, tmp_path):
    """Open a page with some markup and the scripts of the figures; returns the browser."""

    def open_page(markup=""):
        scripts = [STATIC / name for name in SCRIPTS]
        return open_figures(browser, tmp_path / "live.html", markup, scripts)

    return open_page


# ---------------------------------------------------------------- the risk

WINDOWS = (0.0, 0.1, 1.0, 10.0, 100.0, 1e4)
LENGTHS = (1.0, 2.0, 20.0, 1e4, 1e8, 1e12)
#: Too narrow for a class whose spectrum falls slowly: the nearest of two tokens, seconds of work in a page.
SLOW = ("relu", 2, 1e4, 2.0)


@pytest.mark.browser
def test_risk_in_the_page_is_that_of_the_package(page):
    """Both classes, both kinds of nodes in u, all parities of d; the slope against the scale of the risk."""
    cases, truth = [], []
    for name, d, w in itertools.product(("affine", "relu"), (2, 3, 4, 5, 8), WINDOWS):
        risk = population_risk(make_task(name, d), w, LENGTHS, 1.0)
        values = np.stack([risk.bias, risk.noise, risk.bias_slope, risk.noise_slope], -1)
        for n, row in zip(LENGTHS, values, strict=True):
            if (name, d, w, n) != SLOW:
                cases.append((name, d, w, n))
                truth.append(row)
    found = page().execute_script(
        "return arguments[0].map(([name, d, w, n]) => {"
        " const r = icl.unitRisk(name, d, w, n);"
        " return [r.bias, r.noise, r.biasSlope, r.noiseSlope]; })",
        cases,
    )
    truth, found, w = np.array(truth), np.array(found), np.array([c[2] for c in cases])[:, None]
    value, slope = np.abs(found - truth)[:, :2], np.abs(found - truth)[:, 2:]
    assert len(cases) > 350
    for error in (value / truth[:, :2], slope * np.maximum(w, 1.0) / truth[:, :2]):
        worst = np.argmax(error.max(axis=1))
        assert error[worst].max() < 1e-8, f"{cases[worst]}: {error[worst]}"


@pytest.mark.browser
def test_best_window_in_the_page_is_that_of_the_package(page):
    lengths = (10, 1000, 1e6, 1e12)
    settings = [
        (name, d, lengths[: 4 if d > 2 else 3], L, sigma)  # beyond, windows are narrower than w = 1e4
        for name, d in itertools.product(("affine", "relu"), (2, 3, 5, 8))
        for L, sigma in ((1.0, 0.5), (0.05, 2.0))
    ]
    found = page().execute_script(
        "return arguments[0].map(([name, d, lengths, L, sigma]) => lengths.map((n) => {"
        " const best = icl.optimalWindow(name, d, n, L, sigma); return [best.w, best.total]; }))",
        settings,
    )
    for (name, d, n, L, sigma), values in zip(settings, found, strict=True):
        best = optimal_window(make_task(name, d, L), n, sigma)
        w, total = np.transpose(values)
        case = f"{name}, d = {d}, L = {L}, sigma = {sigma}"
        np.testing.assert_allclose(w, best.w, rtol=1e-6, err_msg=case)
        np.testing.assert_allclose(total, best.risk, rtol=1e-8, err_msg=case)


# ---------------------------------------------------------------- the figures


def said(browser, index=0):
    """Return the sentence of a figure and the numbers in it that stand after a sign."""
    finished(browser)
    return browser.execute_script(f"return document.querySelectorAll('output.read')[{index}].textContent")


@pytest.mark.browser
def test_risk_figure_says_the_numbers_of_the_package(page):
    """By keyboard: class, d, n, L, sigma and w; the sentence and the values read out by each control."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    browser = page(live("risk")._repr_html_())
    start = START["risk"]
    assert browser.execute_script(READ_OUT) == ["5", "100", "1", "0.5", "1"]
    assert not browser.find_element("tag name", "img").is_displayed()
    for kind, keys in (
        ("affine", {}),
        ("relu", {"dim": 3, "context": 10, "Lip": 4, "noise": 2, "window": 35}),
    ):
        Select(control(browser, "functions")).select_by_value(kind)
        for label, steps in keys.items():
            control(browser, label).send_keys(
                (Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT) * abs(steps)
            )
        d, n, L, sigma, w = (
            (start["d"] + 3, 1000, 1.6, 0.63, 5.01)
            if keys
            else (start[k] for k in ("d", "n", "L", "sigma", "w"))
        )
        task, sentence = make_task(kind, d, L), said(browser)
        risk, best = population_risk(task, w, n, sigma), optimal_window(task, n, sigma)
        for words, truth in (
            ("risk", risk.total),
            ("bias", risk.bias),
            ("noise", risk.noise),
            ("Lowest:", best.risk),
            ("w* =", best.w),
        ):
            assert after(words, sentence) == pytest.approx(float(truth), rel=1e-3), f"{words} in {sentence!r}"


@pytest.mark.browser
def test_risk_figure_draws_what_it_says(page):
    """The curve of the total passes through the marked points, in the drawing's own coordinates."""
    browser = page(live("risk")._repr_html_())
    finished(browser)
    gap = """
    const svg = document.querySelector("svg"), path = svg.querySelector("path.total");
    return ["here", "best"].map((name) => {
      const dot = svg.querySelector(`circle.${name}`), [x, y] = ["cx", "cy"].map((k) => dot.getAttribute(k));
      let least = Infinity;
      for (let s = 0; s <= path.getTotalLength(); s += 0.5) {
        const p = path.getPointAtLength(s);
        least = Math.min(least, Math.hypot(p.x - x, p.y - y));
      }
      return least;
    })"""
    assert max(browser.execute_script(gap)) < 0.5


@pytest.mark.browser
def test_a_finger_moves_the_point_in_the_drawing(page):
    browser = page(live("risk")._repr_html_())
    finished(browser)
    before = said(browser)
    browser.execute_script("""
    const svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
    svg.setPointerCapture = () => {};
    const clientX = box.left + (326 / 620) * box.width;  // half of the frame
    svg.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", buttons: 1, clientX }));
    """)
    sentence = said(browser)
    assert after("At w =", before) == 1.0 and after("At w =", sentence) == pytest.approx(31.6, rel=0.03)


@pytest.mark.browser
def test_slope_figure_says_the_numbers_of_the_package(page):
    from selenium.webdriver.common.keys import Keys

    browser = page(live("slope")._repr_html_())
    control(browser, "context").send_keys(Keys.ARROW_RIGHT * 10)
    sentence, task, n, h = said(browser), make_task("relu", 3), 1e4, 0.01
    best = optimal_window(task, np.round([n * (1 - h), n, n * (1 + h)]), 1.0).w
    assert after("w* =", sentence) == pytest.approx(best[1], rel=1e-3)
    slope = np.log(best[2] / best[0]) / np.log((1 + h) / (1 - h))
    assert after("local slope", sentence) == pytest.approx(slope, rel=1e-3)
    assert after("sharp law for long contexts:", sentence) == pytest.approx(asymptotics.window_exponent(task))


@pytest.mark.browser
@pytest.mark.parametrize("name", ["risk", "slope", "price", "gaussian", "phases"])
def test_labels_of_the_axes_fit_the_margin_of_a_phone(browser, tmp_path, name):
    figure = live_windows.live(name) if name in live_windows.START else live(name)
    open_figure(browser, tmp_path / "live.html", figure._repr_html_())
    finished(browser)
    words = browser.execute_script(
        "return [...document.querySelectorAll('svg text')].map(t => t.textContent)"
    )
    ticks = [t for t in words if re.fullmatch(rf"[\d.·{RAISED}]+", t)]
    assert len(ticks) > 5 and max(map(len, ticks)) <= 4, ticks


@pytest.mark.browser
def test_price_figure_says_the_numbers_of_the_package(page):
    browser = page(live("price")._repr_html_())
    trained, tested, n = make_task("relu", 5), make_task("relu", 5, 2.0), START["price"]["n"]
    price = mismatch_risk(trained, tested, n, 1.0).total / optimal_window(tested, n, 1.0).risk
    sentence = said(browser)
    assert after("has", sentence) == pytest.approx(float(price), rel=1e-3)
    assert after("∞", sentence) == pytest.approx(asymptotics.mismatch_penalty(trained, 2.0), rel=1e-3)


@pytest.mark.browser
def test_figures_of_one_page_are_independent_and_one_replaces_a_picture(page):
    from selenium.webdriver.common.keys import Keys

    still = "<figure id='fig-x'><img alt='x' src='data:,'><figcaption>words</figcaption></figure>"
    browser = page(still + opening("risk", still="fig-x") + "</div>" + live("price")._repr_html_())
    before = said(browser, 1)
    assert browser.execute_script("return document.querySelector('#fig-x .icl-live svg') !== null")
    browser.execute_script("document.querySelector('input').focus()")
    browser.switch_to.active_element.send_keys(Keys.HOME)
    assert "d = 2" in said(browser, 0) and said(browser, 1) == before
    assert browser.execute_script("return [...document.querySelectorAll('img')].map(i => i.hidden)") == [
        True,
        True,
    ]


@pytest.mark.parametrize("name", START)
def test_still_picture_stays_without_scripts(name):
    page = live(name)._repr_html_()
    assert page.startswith('<div class="icl-live"') and page.endswith('"></div>')
    assert page.count("<img") == 1 and "hidden" not in page and "http://www" not in page.split("src=")[0]


def test_unknown_figure_is_refused():
    with pytest.raises(ValueError, match="name='none': must be one of risk, slope, price"):
        live("none")


ROUGH = """
const [label, share, done] = arguments, frame = requestAnimationFrame;
const row = [...document.querySelectorAll("label")].find((one) => one.textContent.startsWith(label));
const input = row.querySelector("input");
input.value = Number(input.min) + share * (input.max - input.min);
input.dispatchEvent(new Event("input", { bubbles: true }));
frame(() => done([
  DOTS, document.querySelector("output.read").textContent, document.querySelectorAll("[data-pending]").length,
]));
"""
DOTS = (
    "[...document.querySelectorAll('circle.here')].map((dot) => [dot.cx, dot.cy].map((v) => v.baseVal.value))"
)


@pytest.mark.browser
@pytest.mark.parametrize(
    "name, label, words",
    [("slope", "context", "w* ="), ("price", "L′", "has"), ("gaussian", "context", "w* =")],
)
def test_what_is_drawn_while_a_control_moves_is_close_and_then_exact(browser, tmp_path, name, label, words):
    """The first frame after a move lies between computed points: within three pixels, two digits, marked."""
    figure = live_windows.live(name) if name == "gaussian" else live(name)
    open_figure(browser, tmp_path / "live.html", figure._repr_html_())
    finished(browser)
    for share in (0.23, 0.71, 0.99):
        rough, sentence, pending = browser.execute_async_script(ROUGH.replace("DOTS", DOTS), label, share)
        exact = said(browser)
        places = browser.execute_script(f"return {DOTS}")
        assert pending == 1 and sentence != exact
        assert after(words, sentence) == pytest.approx(after(words, exact), rel=0.06)
        assert np.abs(np.array(rough) - places)[:1].max() < 3
