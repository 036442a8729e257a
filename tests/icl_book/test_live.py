"""The exact risk that pages compute themselves, and the figures drawn with it, in headless Chromium."""

import itertools

import numpy as np
import pytest

from chromium import look
from icl.risk import optimal_window, population_risk
from icl.tasks import make_task
from icl_book.provenance import ROOT

STATIC = ROOT / "book" / "_static"

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser, tmp_path):
    """Open a page with some markup and the scripts of the figures; returns the browser."""

    def open_page(markup=""):
        scripts = "".join(f"<script src='{(STATIC / name).as_uri()}'></script>" for name in ("risk.js",))
        path = tmp_path / "live.html"
        path.write_text(f"<html data-theme='light'><body>{markup}{scripts}</body></html>")
        seen = look(browser, path.as_uri())
        assert seen.errors == [] and seen.network == []
        return browser

    return open_page


# ---------------------------------------------------------------- the risk

WINDOWS = (0.0, 0.1, 1.0, 10.0, 100.0, 1e4)
LENGTHS = (1.0, 2.0, 20.0, 1e4, 1e8, 1e12)
#: Too narrow for a class whose spectrum falls slowly: the nearest of two tokens, seconds of work in a page.
SLOW = ("relu", 2, 1e4, 2.0)


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
