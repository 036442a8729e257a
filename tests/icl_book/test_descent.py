"""The figure that moves of a gradient step beside the update of a layer, in headless Chromium."""

import itertools
import math
import re

import numpy as np
import pytest
import torch

from chromium import READ_OUT, TOUCH, after, control, open_figure, sentence
from icl.tensor_trick import loss
from icl.tensor_trick.target_shift import data_move
from icl_book import live_descent
from icl_book.live_descent import START, cosine, live, step, turn, update

PROBLEM = START["descent"]


@pytest.fixture
def page(browser, tmp_path):
    """Open a page with the figure and its scripts; returns the browser."""
    return open_figure(browser, tmp_path / "live.html", live("descent")._repr_html_())


def truth(layer, angle, c):
    X = turn(angle)
    if layer == "linear":
        return 1.0
    return cosine(PROBLEM, X, update(PROBLEM, X, c, PROBLEM["others"] if layer == "others" else None))


def test_the_step_falls_along_the_gradient_of_the_loss():
    """By autograd: the scores after the move of the tokens are those after a step of the weights."""
    first, second, B = live_descent._tensors(PROBLEM)
    X = turn(30).requires_grad_()
    (gradient,) = torch.autograd.grad(loss(first, second, X, B), X)
    scores = step(PROBLEM, X.detach()) @ X.detach() @ second.mT
    wanted = -first @ gradient @ second.mT
    ratio = float((scores * wanted).sum() / wanted.square().sum())
    assert ratio > 0 and torch.allclose(scores, ratio * wanted, rtol=1e-10, atol=1e-12)
    moved = data_move(first, X.detach(), X.detach() - ratio * gradient)
    assert torch.allclose(moved - first, step(PROBLEM, X.detach()), rtol=1e-10, atol=1e-12)


def test_no_single_problem_decides_the_fit_to_others():
    """A nearly singular X makes a goal hundreds of times as long; the layer hardly turns."""
    X, others = turn(30), PROBLEM["others"]
    singular = [others[0] | {"X": [[1.0, 0.0], [0.0, 1e-4]]}, *others[1:]]
    goals = [step(one, torch.tensor(one["X"]).double()).norm() for one in singular]
    assert goals[0] > 100 * max(goals[1:])
    before, after_ = (cosine(PROBLEM, X, update(PROBLEM, X, 1.0, fit)) for fit in (others, singular))
    assert abs(before - after_) < 0.1


@pytest.mark.browser
def test_cosines_in_the_page_are_those_of_the_package(page):
    cases = list(itertools.product(("own", "others", "linear"), (30, -120, 90, 171), (0, 0.25, 1, 4)))
    found = page.execute_script(
        "const [s, cases] = arguments; return cases.map(([layer, angle, c]) =>"
        " icl.descent({ ...s, X: icl.turn(angle) }, s.others, layer, c).cosine)",
        PROBLEM,
        cases,
    )
    np.testing.assert_allclose(found, [truth(*case) for case in cases], rtol=1e-8, atol=1e-8)
    assert min(found) < 0 < 0.9 < max(found)


@pytest.mark.browser
def test_descent_figure_says_and_draws_the_cosine(page):
    """By keyboard and finger: the layer, the weights and the sharpness; the arrows enclose that angle."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    assert page.execute_script(READ_OUT) == ["30", "1"]
    for layer, keys, place in (
        ("own", 0, None),
        ("others", 20, None),
        ("others", 0, (160, 20)),
        ("linear", 0, (20, 150)),
    ):
        Select(control(page, "layer")).select_by_value(layer)
        control(page, "sharpness").send_keys(Keys.ARROW_RIGHT * keys)
        if place:
            page.execute_script(TOUCH, *place)
        said = sentence(page)
        angle, c = (float(text) for text in page.execute_script(READ_OUT))
        assert after("cosine", said) == pytest.approx(truth(layer, angle, c), abs=1e-3)
        paths = page.execute_script(
            "return [...document.querySelectorAll('path.total, path.layer')].map(p => p.getAttribute('d'))"
        )
        tips = [np.array(re.findall(r"-?[\d.]+", d), float).reshape(-1, 2)[:2] for d in paths[-2:]]
        one, two = (tip - start for start, tip in tips)
        drawn = one @ two / math.hypot(*one) / math.hypot(*two)
        assert drawn == pytest.approx(truth(layer, angle, c), abs=0.01)
        assert len(paths) == 2 * len(PROBLEM["A1"]) + 2
    assert (angle, c) == (180, 2)


@pytest.mark.browser
def test_a_finger_on_the_right_leaves_the_weights(page):
    page.execute_script(TOUCH, 500, 100)
    assert "turned by 30°" in sentence(page)
