"""Frames of the figures that move: how long a redraw takes in headless Chromium while a control moves.

    make bench      or      .venv/bin/python benchmarks/frames.py

Writes benchmarks/results/frames.json. Each figure is on a page of its own with the scripts that the book
gives it. Its main control goes through its range and back. A frame's time is that of its script with the
layout that follows; painting is not in it. ``settled_ms`` is the time from a change of the first control
until nothing is left to compute, which takes many frames in figures that compute curves.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tests"))  # the browser of the tests

import chromium
from icl.files import write_atomically
from icl_book import live, live_descent, live_tensors, live_windows, provenance

OUT = Path(__file__).parent / "results" / "frames.json"
STEPS = 60  # of the main control in each direction
FRAME = 1000 / 60  # milliseconds
#: The control that is moved, by the words its label begins with. The Kronecker product has none: its cells
#: are focused.
MAIN = {
    "risk": "window",
    "slope": "context",
    "price": "L′",
    "circle": "query",
    "ellipse": "query",
    "bounds": "norms",
    "gaussian": "context",
    "phases": "wavenumber",
    "descent": "weights",
    "kronecker": None,
}
MOVE = """
const [label, steps, done] = arguments, times = [];
const timed = (draw) => {
  const start = performance.now();
  draw();
  document.body.getBoundingClientRect();
  times.push(performance.now() - start);
};
const frame = window.requestAnimationFrame;
const idle = () => new Promise((go) => {
  const look = () => (document.querySelector("[data-pending]") ? frame(look) : go());
  frame(() => frame(look));
});
const run = async () => {
  await idle();
  const path = Array.from({ length: 2 * steps }, (_, k) => (k < steps ? k : 2 * steps - k) / steps);
  if (!label) {
    const cells = [...document.querySelectorAll("td")];
    path.forEach((share) => timed(() => cells[Math.round(share * (cells.length - 1))].focus()));
    return { times };
  }
  const rows = [...document.querySelectorAll("label")], first = rows[0].querySelector("input, select");
  const input = rows.find((row) => row.textContent.startsWith(label)).querySelector("input");
  window.requestAnimationFrame = (draw) => frame((now) => timed(() => draw(now)));
  for (const share of path) {
    input.value = Number(input.min) + share * (input.max - input.min);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((go) => frame(go));
  }
  await idle();
  const moved = times.splice(0), start = performance.now();
  if (first.options) first.selectedIndex = (first.selectedIndex + 1) % first.options.length;
  else first.value = Number(first.value) + 1;
  first.dispatchEvent(new Event("input", { bubbles: true }));
  await idle();
  return { times: moved, settled: performance.now() - start };
};
run().then(done);
"""


def measure(browser, folder, name, make):
    """Move the main control of one figure; its frames, in milliseconds."""
    chromium.open_figure(browser, Path(folder) / f"{name}.html", make(name)._repr_html_())
    browser.set_script_timeout(600)
    found = browser.execute_async_script(MOVE, MAIN[name], STEPS)
    times = sorted(found["times"])
    return {
        "frames": len(times),
        "median_ms": times[len(times) // 2],
        "p95_ms": times[int(0.95 * len(times))],
        "max_ms": times[-1],
        "share_within_a_frame": sum(t <= FRAME for t in times) / len(times),
        "settled_ms": found.get("settled"),
    }


def main():
    if not (chromium.CHROMIUM and chromium.CHROMEDRIVER):
        print("frames.py: Chromium and its driver are not installed; nothing is measured")
        return
    figures = {name: m.live for m in (live, live_tensors, live_windows, live_descent) for name in m.START}
    assert set(figures) == set(MAIN), "a figure has no main control here"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = chromium.start(Path(folder) / "profile")
        try:
            version = browser.capabilities["browserVersion"]
            measured = {name: measure(browser, folder, name, make) for name, make in figures.items()}
        finally:
            browser.quit()
    record = {
        "machine": provenance.machine(),
        "versions": provenance.versions() | {"chromium": version},
        "commit": provenance.commit(),
        "figures": measured,
        "worst_p95_ms": max(one["p95_ms"] for one in measured.values()),
    }
    print(json.dumps(record, indent=1), flush=True)
    OUT.parent.mkdir(exist_ok=True)
    write_atomically(OUT, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
