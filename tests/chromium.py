"""Headless Chromium for tests that look at pages as a reader would."""

import json
import shutil
import time
from importlib import resources
from types import SimpleNamespace

import pytest

SIZES = {"desktop": (1280, 900), "phone": (390, 740)}


def programs():
    """Return where Chromium and its driver are, None for what is not installed."""
    # Tests that open no page do not need what this imports.
    from icl_book.site.pdf import BROWSERS

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found, shutil.which("chromedriver")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium that keeps its network and console logs, one for all tests of a process.

    Tests that use it are skipped where there is none, see ``conftest``.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = programs()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-sync hide-scrollbars"
    flags += " disable-background-networking disable-component-update"
    for flag in [*flags.split(), f"user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver))
    driver.get("about:blank")
    yield driver
    driver.quit()


#: Finds mathematics that is not set, or wrong, and images that are missing.
SEEN = """
const all = css => [...document.querySelectorAll(css)];
return {
  complete: document.readyState == "complete",
  raw: all("span.math, div.math").filter(m => !m.querySelector("mjx-container svg")).map(m => m.textContent),
  bad: all("mjx-merror, [data-mjx-error]").length,
  broken: all("article img:not([hidden])").filter(i => !i.naturalWidth).map(i => i.src),
};
"""


def look(browser, url, patience=600.0):
    """Open a page and wait until its mathematics is set; returns what a reader would have noticed."""
    browser.get_log("performance"), browser.get_log("browser")
    resize(browser, "desktop")
    browser.get(url)
    deadline = time.monotonic() + patience
    seen = SimpleNamespace(**browser.execute_script(SEEN))
    while time.monotonic() < deadline and (seen.raw or not seen.complete):
        time.sleep(0.05)
        seen = SimpleNamespace(**browser.execute_script(SEEN))
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    seen.asked = {
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    }
    seen.asked |= {e["params"]["url"] for e in events if e["method"] == "Network.webSocketCreated"}
    local = ("file", "data", "about", "chrome")
    seen.network = sorted(u for u in seen.asked if u.split(":")[0] not in local)
    seen.errors = [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]
    return seen


def resize(browser, size):
    """Give the open page the width of a size."""
    width, height = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"},
    )


def overflow(browser, size):
    wide = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    return browser.execute_script(wide) - SIZES[size][0]


def axe(browser):
    """Return what axe-core, a checker of accessibility, finds on the open page: rules and places."""
    browser.execute_script(
        (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    )
    browser.set_script_timeout(600)
    return browser.execute_async_script(
        "axe.run({exclude: [['mjx-container'], ['.highlight']]}, {resultTypes: ['violations']})"
        ".then(found => arguments[0](found.violations.flatMap(v => v.nodes.map(n => [v.id, n.html]))))"
    )
