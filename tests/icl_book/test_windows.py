"""The figures that move of the best window: on Gaussian tokens, and its phases; in headless Chromium."""

import itertools

import numpy as np
import pytest
from scipy.special import betainc

from chromium import READ_OUT, TOUCH, after, control, finished, open_figure, sentence
from icl.risk import (
    gaussian_linear_optimum,
    gaussian_risk,
    gaussian_window,
    nearest_neighbor_risk,
    optimal_window,
    population_risk,
)
from icl.tasks import Affine, Cosine, Linear
from icl_book.live_windows import START, live


@pytest.fixture
def page(browser, tmp_path):
    """Open a page with one figure and its scripts; returns the browser."""
    return lambda name: open_figure(browser, tmp_path / "live.html", live(name)._repr_html_())


def press(browser, label, steps):
    from selenium.webdriver.common.keys import Keys

    control(browser, label).send_keys((Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT) * abs(steps))


def choose(browser, label, value):
    from selenium.webdriver.support.ui import Select

    Select(control(browser, label)).select_by_value(value)


def worst(error, cases, limit=1e-8):
    """Fail with the case of the largest error, if it is above a limit."""
    error = np.asarray(error).reshape(len(cases), -1).max(axis=1)
    assert error.max() < limit, f"{cases[error.argmax()]}: {error.max():.1e}"


# ---------------------------------------------------------------- Gaussian tokens


@pytest.mark.browser
def test_gaussian_risk_in_the_page_is_that_of_the_package(page):
    """Slopes against the scale of what they are the slopes of."""
    cases = list(itertools.product((1, 2, 5, 8), (0, 0.1, 0.5, 1, 2, 4), (2, 10, 10**4, 10**8, 10**12)))
    found = page("gaussian").execute_script(
        "return arguments[0].map((one) => { const r = icl.gaussianRisk(...one);"
        " return [r.bias, r.noise, r.biasSlope, r.noiseSlope]; })",
        cases,
    )
    risks = [gaussian_risk(*case, 1.0) for case in cases]
    truth = np.array([[r.bias, r.noise, r.bias_slope, r.noise_slope] for r in risks])
    worst(np.abs(found - truth) / np.abs(truth[:, [0, 1, 0, 1]]), cases)


@pytest.mark.browser
def test_gaussian_window_in_the_page_is_that_of_the_package(page):
    cases = list(itertools.product((2, 5, 8), (10, 1000, 10**6, 10**12), (0.01, 0.5, 10.0)))
    found = page("gaussian").execute_script(
        "return arguments[0].map((one) => {"
        " const best = icl.gaussianWindow(...one); return [best.w, best.total]; })",
        cases,
    )
    best = [gaussian_window(*case) for case in cases]
    truth = np.array([[one.w, one.risk] for one in best])
    worst(np.abs(found / truth - 1), cases)


@pytest.mark.browser
def test_gaussian_figure_says_the_numbers_of_the_package(page):
    """By keyboard and finger; both kinds of curves."""
    browser, start = page("gaussian"), START["gaussian"]
    assert browser.execute_script(READ_OUT) == ["5", "10000", "0.5"]
    for shown, keys in (("w", {}), ("total", {"dim": -2, "context": 10, "noise": 6})):
        choose(browser, "shown", shown)
        for label, steps in keys.items():
            press(browser, label, steps)
        finished(browser)
        d, n, sigma = (3, 10**5, 1.0) if keys else (start["d"], start["n"], start["sigma"])
        said, ball, sphere = (
            sentence(browser),
            gaussian_window(d, n, sigma),
            optimal_window(Linear(d, d**0.5), n, sigma),
        )
        first, second = said.split("Sphere of radius √d:")
        for part, words, truth in (
            (first, "w* =", ball.w),
            (first, "1 − w* =", 1 - ball.w),
            (first, "risk", ball.risk),
            (second, "best window", sphere.w / d),
            (second, "risk", sphere.risk),
            (second, "at best", gaussian_linear_optimum(d, n, sigma).risk),
        ):
            assert after(words, part) == pytest.approx(float(truth), rel=6e-3), f"{words} in {said!r}"
        curves = browser.execute_script(
            "return [...document.querySelectorAll('path')].map(p => p.className.baseVal)"
        )
        assert curves == ["total", "bias", "noise"][: 3 if keys else 2]
    browser.execute_script(TOUCH, 326, 100)  # half of the frame
    assert "n = 3.2·10⁶" in sentence(browser)


# ---------------------------------------------------------------- phases

CLASSES = [("affine", 1.0), ("cosine", 0.25), ("cosine", 4.0), ("cosine", 20.0)]


def task_of(kind, d, L):
    return Affine(d, L) if kind == "affine" else Cosine(d, L)


@pytest.mark.browser
def test_risk_by_degrees_is_that_of_the_package(page):
    cases = list(itertools.product((2, 3, 5, 8), (0, 0.1, 1, 10, 100, 3000, 30000), (10, 63, 10**4)))
    found = page("phases").execute_script(
        "const [cases, classes] = arguments; return cases.map(([d, w, n]) => {"
        " const parts = icl.degreeRisk(d, w, n);"
        " return classes.map(([kind, L]) => icl.byDegrees(kind, d, L, 0.3, parts)); })",
        cases,
        CLASSES,
    )
    truth = [
        [float(population_risk(task_of(k, d, L), w, n, 0.3).total) for k, L in CLASSES] for d, w, n in cases
    ]
    worst(np.abs(np.array(found) / truth - 1), cases)


@pytest.mark.browser
def test_nearest_neighbor_in_the_page_is_that_of_the_package(page):
    cases = list(itertools.product((2, 3, 5, 8), (10, 63, 10**4)))
    found = page("phases").execute_script(
        "const [cases, classes] = arguments; return cases.map(([d, n]) =>"
        " classes.map(([kind, L]) => icl.byDegrees(kind, d, L, 0.3, icl.degreeNearest(d, n))))",
        cases,
        CLASSES,
    )
    truth = [[nearest_neighbor_risk(task_of(k, d, L), n, 0.3).total for k, L in CLASSES] for d, n in cases]
    worst(np.abs(np.array(found) / truth - 1), cases)


@pytest.mark.browser
def test_phases_figure_says_the_numbers_of_the_package(page):
    """By keyboard and finger: a window, no window beyond the jump, few tokens, and the other class."""
    browser = page("phases")
    assert browser.execute_script(READ_OUT) == ["3", "0.1", "63", "10"]
    seen = []
    for move in (
        lambda: None,
        lambda: press(browser, "wave", 2),
        lambda: browser.execute_script(TOUCH, 130, 110),
        lambda: (
            choose(browser, "functions", "affine"),
            press(browser, "dim", 2),
            press(browser, "noise", -20),
        ),
    ):
        move()
        finished(browser)
        said = sentence(browser)
        kind = "affine" if said.startswith("Affine") else "cosine"
        d, sigma, n, L = (float(text) for text in browser.execute_script(READ_OUT))
        task = task_of(kind, int(d), L)
        best, equal = optimal_window(task, n, sigma), population_risk(task, 0.0, n, sigma).total
        for words, truth in (
            ("w* =", best.w),
            ("risk", best.risk),
            ("Equal weights have", equal / best.risk),
            ("neighbor has", nearest_neighbor_risk(task, n, sigma).total / best.risk),
        ):
            assert after(words, said) == pytest.approx(float(truth), rel=1e-3), f"{words} in {said!r}"
        reach = n * betainc((d - 1) / 2, (d - 1) / 2, min(0.5 / max(best.w, 0.25), 1.0))
        name = "equal weights" if best.w == 0 else "few tokens" if reach < 2 else "a window"
        assert f": {name}, w*" in said
        seen.append((kind, name))
    assert ("cosine", "equal weights") in seen and len(set(seen)) > 2, seen


@pytest.mark.browser
def test_the_map_is_blank_where_the_package_finds_no_window(page):
    """The color of a cell comes from a grid of windows, so cells at the border may differ."""
    browser = page("phases")
    finished(browser)
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.cell')].map(c => c.style.fillOpacity)"
    )
    n, waves = (
        low + (high - low) * (np.arange(k) + 0.5) / k for low, high, k in ((1, 4.2, 13), (-0.6, 1.3, 12))
    )
    best = np.array([optimal_window(Cosine(3, float(L)), np.round(10**n), 0.1).w for L in 10**waves]).T
    colored = np.array(shown, float).reshape(13, 12) > 0
    assert 10 < (~colored).sum() < 140
    assert (colored != (best > 0)).sum() <= 3
    names = browser.execute_script("return [...document.querySelectorAll('.name')].map(t => t.textContent)")
    assert "equal weights" in names and "a window" in names
