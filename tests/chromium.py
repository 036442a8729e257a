"""Headless Chromium for tests that look at pages as a reader would."""

import json
import os
import shutil
import time
from types import SimpleNamespace

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")

SIZES = {"desktop": (1280, 900), "phone": (390, 740)}


def start(folder):
    """Start headless Chromium that keeps its network and console logs, and its files in a folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-sync hide-scrollbars"
    flags += " disable-background-networking disable-component-update"
    for flag in [*flags.split(), f"user-data-dir={folder}"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    driver.get("about:blank")
    return driver


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium, one for all tests of a process."""
    if not (CHROMIUM and CHROMEDRIVER):
        missing = "needs Chromium and its driver: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
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


def resize(browser, size, height=None):
    """Give the open page the width of a size; layout follows at once."""
    width, usual = SIZES[size]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height or usual, "deviceScaleFactor": 1, "mobile": size == "phone"},
    )
