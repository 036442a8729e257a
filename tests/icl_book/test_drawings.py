"""The figures that move beside those of the risk, in headless Chromium, and the scripts of each page."""

import re

import numpy as np
import pytest
import torch
import yaml

from chromium import READ_OUT, TOUCH, after, control, open_figure, sentence
from icl.attention import softmax_weights
from icl.tensor_trick import kron_block
from icl.tensor_trick.lipschitz import FUNCTIONS, proven_constant
from icl_book import live_descent, live_tensors, live_windows
from icl_book.bounds import LIPSCHITZ
from icl_book.live import START, live
from icl_book.provenance import ROOT
from icl_book.site.extension import NEEDED_FOR, needed

STATIC = ROOT / "book" / "_static"
SCRIPTS = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]["html_js_files"]
OTHERS = {name: module.live for module in (live_tensors, live_windows, live_descent) for name in module.START}
LIVE = dict.fromkeys(START, live) | OTHERS


@pytest.fixture
def page(browser, tmp_path):
    """Open a page with one figure and the scripts that the book gives it; returns the browser."""

    def open_page(name):
        return open_figure(browser, tmp_path / "live.html", LIVE[name](name)._repr_html_())

    return open_page


def press(browser, *keys):
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


# ---------------------------------------------------------------- the Kronecker product

CELLS = """
return [...document.querySelectorAll('table')].map((table) => [...table.rows].map((row) =>
  [...row.cells].map((cell) => Number(cell.textContent.replace('−', '-')))))
"""
LINKED = """
return [...document.querySelectorAll('table')].map((table) => [...table.rows].flatMap((row, r) =>
  [...row.cells].flatMap((cell, c) => cell.classList.contains('linked') ? [[r, c]] : [])))
"""


@pytest.mark.browser
def test_kronecker_figure_shows_the_product_of_the_package(page):
    browser = page("kronecker")
    first, second = (torch.tensor(live_tensors.START["kronecker"][name]) for name in ("A1", "A2"))
    shown = browser.execute_script(CELLS)
    assert shown[:2] == [first.tolist(), second.tolist()]
    blocks = torch.cat([kron_block(first.double(), second.double(), j) for j in range(len(first))])
    assert shown[2] == blocks.tolist() and len(shown) == 3
    assert "(A₁ ⊗ A₂)[3, 2] = A₁[2, 1] · A₂[1, 2]: 15 = 3 · 5." in sentence(browser)
    labels = browser.execute_script("return [...document.querySelectorAll('td')].map(d => d.ariaLabel)")
    assert all(labels) and len(set(labels)) == 6 + 4 + 24


@pytest.mark.browser
def test_every_entry_is_linked_with_those_that_it_makes_and_is_made_of(page):
    """Against PyTorch: the product depends on an entry of a factor where its derivative is not zero."""
    browser = page("kronecker")
    factors = [
        torch.tensor(live_tensors.START["kronecker"][name]).double().abs() + 1 for name in ("A1", "A2")
    ]
    slopes = torch.autograd.functional.jacobian(torch.kron, tuple(factors))
    for t, slope in enumerate(slopes):
        for index in np.ndindex(*factors[t].shape):
            browser.execute_script(
                "document.querySelectorAll('table')[arguments[0]].rows[arguments[1]]"
                ".cells[arguments[2]].focus()",
                t,
                *index,
            )
            linked = browser.execute_script(LINKED)
            assert linked[2] == slope[(..., *index)].nonzero().tolist()
            assert linked[t] == [list(index)] and linked[1 - t] == []
    for index in np.ndindex(*slopes[0].shape[:2]):
        browser.execute_script(
            "document.querySelectorAll('table')[2].rows[arguments[0]].cells[arguments[1]]"
            ".dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))",
            *index,
        )
        linked = browser.execute_script(LINKED)
        assert linked == [*(slope[index].nonzero().tolist() for slope in slopes), [list(index)]]


@pytest.mark.browser
def test_kronecker_figure_works_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    browser = page("kronecker")
    press(browser, Keys.TAB)
    assert sentence(browser).startswith(
        "A₁[1, 1] = 1 multiplies all of A₂: the block of rows 1, 2 and columns 1, 2"
    )
    press(browser, Keys.TAB, Keys.ARROW_DOWN)
    assert sentence(browser).startswith(
        "A₂[2, 1] = 2 is in every block, at its row 2 and column 1: in rows 2, 4, 6"
    )
    press(browser, Keys.TAB, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    words = sentence(browser)  # the last step would leave the matrix
    assert words.startswith(
        "(A₁ ⊗ A₂)[2, 4] = A₁[1, 2] · A₂[2, 2]: 8 = 2 · 4. Row 2 = (1 − 1)·2 + 2 gives the score"
    )
    assert words.endswith("the score [1, 2] of A₁XA₂ᵀ, and column 4 = (2 − 1)·2 + 2 multiplies X[2, 2].")


# ---------------------------------------------------------------- attention in the plane


@pytest.mark.browser
def test_weights_in_the_page_are_those_of_the_package(page):
    browser, rng = page("circle"), np.random.default_rng(0)
    tokens, queries = rng.standard_normal((30, 2)), rng.standard_normal((5, 2))
    for query, m in zip(queries, [(0.0, 0.0), (1.0, 1.0), (10.0, 3.0), (-2.0, 5.0), (1e3, 1e3)], strict=True):
        found = browser.execute_script("return icl.attend(...arguments)", tokens.tolist(), query.tolist(), m)
        truth = softmax_weights(
            torch.from_numpy(tokens), torch.from_numpy(query), torch.tensor(m).double().diag()
        )
        np.testing.assert_allclose(found["weights"], truth, rtol=1e-8, atol=1e-300)
        assert found["effective"] == pytest.approx(float(1 / truth.square().sum()), rel=1e-8)


def on_circle(degrees):
    radians = torch.as_tensor(degrees).double().deg2rad()
    return torch.stack([radians.cos(), radians.sin()], -1)


@pytest.mark.browser
def test_circle_figure_says_the_numbers_of_the_package(page):
    """By keyboard: query, window and waves; the values read out by each control."""
    from selenium.webdriver.common.keys import Keys

    browser, start = page("circle"), START["circle"]
    assert browser.execute_script(READ_OUT) == ["60", "10", "3"]
    for label, steps in (("query", 0), ("query", -70), ("window", 25), ("L,", 2)):
        key = Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT
        control(browser, label).send_keys(key * abs(steps))
        said = sentence(browser)
        angle, w, L = (float(text) for text in browser.execute_script(READ_OUT))
        x, angles = on_circle(start["angles"]), np.deg2rad(start["angles"])
        weights = softmax_weights(x, on_circle(angle), w * torch.eye(2).double()).numpy()
        labels = np.cos(L * angles) + start["sigma"] * np.array(start["noise"])
        assert after("prediction", said) == pytest.approx(weights @ labels, rel=1e-3)
        assert after("target", said) == pytest.approx(np.cos(L * np.deg2rad(angle)), rel=1e-3)
        assert after("1/Σω² =", said) == pytest.approx(1 / (weights**2).sum(), rel=1e-3)
    assert (angle, w, L) == (-10, 31.6, 5)


@pytest.mark.browser
@pytest.mark.parametrize("x, y, angle", [(150, 20, 90), (20, 150, 180), (250, 250, -45), (459, 100, 0)])
def test_a_finger_moves_the_query_in_both_halves_of_the_circle_figure(page, x, y, angle):
    browser = page("circle")
    browser.execute_script(TOUCH, x, y)
    assert after("Query at", sentence(browser)) == angle


@pytest.mark.browser
def test_area_of_a_disc_is_the_weight_of_its_token(page):
    browser, start = page("circle"), START["circle"]
    radii = browser.execute_script(
        "return [...document.querySelectorAll('.weight')].map(c => c.r.baseVal.value)"
    )
    x, query = on_circle(start["angles"]), on_circle(start["angle"])
    weights = softmax_weights(x, query, start["w"] * torch.eye(2).double()).numpy()
    for half in np.split(np.array(radii), 2):
        np.testing.assert_allclose(half, 30 * np.sqrt(weights), atol=0.051)


@pytest.mark.browser
def test_ellipse_figure_says_the_numbers_of_the_package(page):
    """By keyboard and finger; with the whitening matrix the axis ratio changes nothing but the ellipse."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    browser, start = page("ellipse"), START["ellipse"]
    assert browser.execute_script(READ_OUT) == ["45", "10", "3"]
    effective = []
    for M, label, steps in (("inverse", "axis", 0), ("inverse", "axis", -10), ("identity", "axis", 5)):
        Select(control(browser, "matrix")).select_by_value(M)
        control(browser, label).send_keys((Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT) * abs(steps))
        said = sentence(browser)
        angle, w, ratio = (float(text) for text in browser.execute_script(READ_OUT))
        root = torch.tensor([ratio**0.5, ratio**-0.5]).double()
        matrix = w * (torch.diag(root**-2) if M == "inverse" else torch.eye(2).double())
        weights = softmax_weights(on_circle(start["angles"]) * root, on_circle(angle) * root, matrix)
        effective.append(after("1/Σω² =", said))
        assert effective[-1] == pytest.approx(float(1 / weights.square().sum()), rel=1e-3)
        assert after("has weight", said) == pytest.approx(float(weights.max()), rel=1e-3)
    assert effective[0] == effective[1] != effective[2] and ratio == 2.5
    browser.execute_script(TOUCH, 470, 20)
    assert "query at u = 90°" in sentence(browser)
    browser.execute_script(TOUCH, 20, 140)
    assert "query at u = 180°" in sentence(browser)


# ---------------------------------------------------------------- bounds


@pytest.mark.browser
def test_constants_in_the_page_are_those_of_the_package(page):
    browser, powers = page("bounds"), [bound.powers for bound in LIPSCHITZ]
    cases = [
        (name, n, R) for name in FUNCTIONS for n in (2, 10, 100, 10**6) for R in (0.1, 0.5, 1, 2.3, 4, 6)
    ]
    found = browser.execute_script("return arguments[0].map((one) => icl.proven_constant(...one))", cases)
    np.testing.assert_allclose(found, [proven_constant(*case) for case in cases], rtol=1e-8, atol=1e-8)
    found = browser.execute_script(
        "return arguments[0].map((p) => [[2, 0.5], [1e6, 6]].map((at) => icl.printed(p, ...at)))", powers
    )
    truth = [[bound.log10(*at) for at in ((2, 0.5), (1e6, 6))] for bound in LIPSCHITZ]
    np.testing.assert_allclose(found, truth, rtol=1e-8)


@pytest.mark.browser
def test_bounds_figure_says_the_numbers_of_the_package(page):
    """By keyboard and finger: the function, n and R; each printed bound is as far above ours as in Python."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait

    browser = page("bounds")
    assert browser.execute_script(READ_OUT) == ["100", "4"]
    assert "at most R/2, is 2. Printed: n√n·R·e^(6R²) = 1.97·10⁴⁵," in sentence(browser)
    control(browser, "tokens").send_keys(Keys.ARROW_RIGHT * 10)
    browser.execute_script(TOUCH, 62 + 528 * 2.5 / 5.5, 100)
    for name in FUNCTIONS:
        Select(control(browser, "function")).select_by_value(name)
        start = {"u": "R·e^", "alpha": "R·max", "1/alpha": "at most R·e", "f": "at most R/2"}[name]
        WebDriverWait(browser, 60).until(lambda _, words=f"ours, {start}": words in sentence(browser))
        said = sentence(browser)
        assert "n = 1000, R = 3:" in said and "R ≥ 4" in said
        above = [float(v) for v in re.findall(r"([\d.]+) powers of ten above", said)]
        truth = [b.log10(1000, 3) - proven_constant(name, 1000, 3) for b in LIPSCHITZ if b.function == name]
        assert above == pytest.approx(truth, rel=0.01)


# ---------------------------------------------------------------- markup and scripts


@pytest.mark.parametrize("name", OTHERS)
def test_still_picture_stays_without_scripts(name):
    markup = OTHERS[name](name)._repr_html_()
    assert markup.startswith('<div class="icl-live"') and markup.endswith('"></div>')
    assert markup.count("<img") == 1 and "hidden" not in markup
    with pytest.raises(ValueError, match=f"name='none': must be one of .*{name}"):
        OTHERS[name]("none")


def test_scripts_of_a_page_stay_small():
    """Every chapter gets what its figures need, less than 40 KB; other pages get no script of a figure."""
    others = {"scorer.js"}  # which the page of search contains
    assert set(NEEDED_FOR) < set(SCRIPTS) == {path.name for path in STATIC.glob("*.js")} - others
    assert [script for script in SCRIPTS if needed(script, "<p>words</p>")] == ["wide.js"]
    seen = set()
    for path in (ROOT / "notebooks").glob("*.py"):
        names = re.findall(r'^live\("(\w+)"\)', path.read_text(), re.M)
        body = "".join(f'<div class="icl-live" data-figure="{name}"></div>' for name in names)
        sizes = {s: (STATIC / s).stat().st_size for s in SCRIPTS if needed(s, body)}
        assert sum(sizes.values()) <= 40_000, (path.stem, sizes)
        assert ("live.js" in sizes) == bool(names)
        seen |= set(names)
    assert seen == set(LIVE)
