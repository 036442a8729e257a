"""Headless Chromium for tests that look at pages as a reader would."""

import json
import os
import re
import shutil
import time
from types import SimpleNamespace

import pytest
import yaml

from icl_book.provenance import ROOT
from icl_book.site.extension import needed

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")

SIZES = {"desktop": (1280, 900), "phone": (390, 740)}


def need(present, what):
    """Skip where something is not installed; in CI everything must be."""
    if not present:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs {what}")


def start(folder):
    """Start headless Chromium that keeps its network and console logs, and its files in a folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-sync",
        "disable-background-networking",
        "disable-component-update",
        "hide-scrollbars",
        f"user-data-dir={folder}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    driver.get("about:blank")
    return driver


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium, one for all tests of a process."""
    need(CHROMIUM and CHROMEDRIVER, "Chromium and its driver: apt-get install chromium chromium-driver")
    driver = start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


RAW = (
    "[...document.querySelectorAll('span.math, div.math')]"
    ".filter(m => !m.querySelector('mjx-container svg')).map(m => m.textContent)"
)


def look(browser, url, patience=600.0):
    """Open a page and wait until its mathematics is set; returns what a reader would have noticed."""
    browser.get_log("performance"), browser.get_log("browser")
    resize(browser, "desktop")
    browser.get(url)
    deadline = time.monotonic() + patience
    ready = f"return document.readyState == 'complete' && !{RAW}.length"
    while time.monotonic() < deadline and not browser.execute_script(ready):
        time.sleep(0.05)
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    asked |= {e["params"]["url"] for e in events if e["method"] == "Network.webSocketCreated"}
    local = ("file", "data", "about", "chrome")
    return SimpleNamespace(
        asked=asked,
        network=sorted(u for u in asked if u.split(":")[0] not in local),
        errors=[e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"],
        raw=browser.execute_script(f"return {RAW}"),
        bad=browser.execute_script("return document.querySelectorAll('mjx-merror, [data-mjx-error]').length"),
        broken=browser.execute_script(
            "return [...document.querySelectorAll('article img:not([hidden])')]"
            ".filter(i => !i.naturalWidth).map(i => i.src)"
        ),
    )


def open_figures(browser, path, markup, scripts):
    """Open a page with the markup of figures that move and their scripts; it must be without errors."""
    loaded = "".join(f"<script src='{script.as_uri()}'></script>" for script in scripts)
    path.write_text(
        "<!doctype html><html data-theme='light'><meta charset='utf-8'>"
        f"<style>svg {{ width: 620px }}</style><body>{markup}{loaded}</body></html>"
    )
    seen = look(browser, path.as_uri())
    assert seen.errors == [] and seen.network == []
    return browser


def open_figure(browser, path, markup):
    """Open a page with the markup of a figure that moves and the scripts that the book gives it."""
    scripts = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]["html_js_files"]
    wanted = [ROOT / "book" / "_static" / script for script in scripts if needed(script, markup)]
    return open_figures(browser, path, markup, wanted)


def sentence(browser):
    """Return the sentence of the figure once its frame is drawn."""
    return browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() =>"
        " done(document.querySelector('output.read').textContent)))"
    )


def finished(browser):
    """Wait until no drawing has anything left to compute."""
    deadline = time.monotonic() + 600
    while browser.execute_script(BUSY):
        assert time.monotonic() < deadline
        time.sleep(0.05)


#: A frame that was asked for comes first.
BUSY = """
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelectorAll("[data-pending]").length))))
"""
#: What the sliders of a page read out.
READ_OUT = """
const read = (input) => input.getAttribute("aria-valuetext").replace("−", "-");
return [...document.querySelectorAll("input")].map(read)
"""
#: A finger at a point of the first drawing, in its own coordinates.
TOUCH = """
const svg = document.querySelector("svg"), box = svg.getBoundingClientRect(), [x, y] = arguments;
svg.setPointerCapture = () => {};
const clientX = box.left + (x / 620) * box.width, clientY = box.top + (y / 620) * box.width;
svg.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", buttons: 1, clientX, clientY }));
"""


RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"


def after(words, sentence):
    """Return the number that follows some words, e.g. 2 or 7.2·10⁻⁴."""
    number = rf" ?(?:(-?[\d.]+)·)?10([{RAISED}]+)| ?(-?[\d.]+)"
    words, sentence = words.replace("−", "-"), sentence.replace("−", "-")
    (found,) = re.findall(rf"{re.escape(words)}(?:{number})", sentence)[:1]
    head, power, plain = found
    if plain:
        return float(plain.rstrip("."))
    return float(head or 1) * 10.0 ** int(power.translate(str.maketrans(RAISED, "-0123456789")))


def control(browser, label):
    """Return the control of a figure that moves whose label begins so."""
    from selenium.webdriver.common.by import By

    (row,) = (e for e in browser.find_elements(By.TAG_NAME, "label") if e.text.startswith(label))
    return row.find_element(By.CSS_SELECTOR, "input, select")


def resize(browser, size, height=None):
    """Give the open page the width of a size; layout follows at once."""
    width, usual = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height or usual, "deviceScaleFactor": 1, "mobile": size == "phone"},
    )
