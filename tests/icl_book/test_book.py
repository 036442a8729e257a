"""The book, built once from the smoke preset, looks right to a reader; planted faults stop the build."""

import json
import os
import re
import shutil
import subprocess
import time
import warnings
from html import unescape
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import jsonschema
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pypdf
import pytest
import yaml
from bs4 import BeautifulSoup
from matplotlib.image import imread
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import golden
from chromium import axe, look, overflow, resize
from icl_book import claims, repository
from icl_book.claims.card import list_empty_parts
from icl_book.figures import plots
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import plan
from icl_book.runner.execute import execute
from icl_book.runner.record import cards, collect
from icl_book.site import assemble, audit, pdf, stage, verify
from icl_book.site.markdown import to_myst
from plain import find_markup

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = verify.toc_pages(TOC)
NOTEBOOKS = [p.removeprefix("notebooks/") for p in PAGES if p.startswith("notebooks/")]


@pytest.fixture(scope="session")
def executed():
    return {run.name: execute(run) for run in plan.plan("smoke")}


@pytest.fixture(scope="session")
def book(executed):
    return assemble.build("smoke", executed).parent


# ---------------------------------------------------------------- every notebook, in seconds


@pytest.mark.parametrize("name", plan.notebooks())
def test_smoke_preset_executes_every_notebook_with_the_frozen_numbers(name):
    (run,) = plan.plan("smoke", name)
    found = collect(execute(run))
    assert found["parameters"].items() >= run.overrides.items()
    cards = {card["id"]: golden.exact(card) for card in found["cards"]}
    assert golden.compare("smoke", cards) == []
    if new := golden.unknown("smoke", cards):
        warnings.warn(f"tests/golden.py: {'; '.join(new)}", stacklevel=1)


def test_the_golden_master_reports_new_cards_and_an_outdated_readme(monkeypatch):
    known = min(golden.frozen("smoke"))
    assert golden.unknown("smoke", [known, "P1.W.mine"]) == ["P1.W.mine: new: --freeze"]
    assert golden.compare("smoke", {"P1.W.mine": {"cases": [1.5]}}) == []
    assert golden.compare("smoke", {known: {"cases": [1.5, 2.5, 3.5, 4.5]}}) != []
    for paths in ([], [ROOT / "README.md", ROOT / "book/path.md"]):
        monkeypatch.setattr(
            assemble, "find_outdated", lambda runs, paths=paths: dict.fromkeys(paths)
        )
        assert golden.moved([]) == [
            f"{path.relative_to(ROOT)}: its numbers moved; run: python -m icl_book readme"
            for path in paths
        ]


@pytest.mark.parametrize(
    ("name", "values", "empty"),
    [
        # at d = 7 the context resolves no wave, so no L of the cosine class counts
        ("pretraining", "dim=7 dims=[2] seeds=2 steps=16 full_steps=2 contexts=50", "P1.F3.cosine"),
        # this is shorter than every length with which the chapter's last figure begins
        ("gaussian_tokens", "context_length=13 n_values=[7] seeds=2", None),
    ],
)
def test_a_chapter_with_a_readers_sizes_runs_to_its_end_and_judges_all(name, values, empty):
    (run,) = plan.plan("smoke", name, values)
    found = cards([collect(execute(run))])
    assert found.keys() == plan.find_entries(plan.read_source(name)).keys()
    assert [i for i, card in found.items() if list_empty_parts(card)] == ([empty] if empty else [])
    if empty:
        assert found[empty]["verdict"] == "inconclusive"
        assert "no case at these parameters" in found[empty]["decided_by"]


# ---------------------------------------------------------------- the whole book


def test_toc_names_every_prose_page():
    """Each build checks that it names every notebook."""
    written = {f"book/{p.stem}" for p in (ROOT / "book").glob("*.md")}
    assert {p for p in PAGES if p.startswith("book/")} == written


def test_two_clicks_lead_from_the_front_page_to_all_code_and_to_every_claim(book):
    assert "book/introduction.html" in (book / "index.html").read_text()
    front, audit = ((book / f"book/{name}.html").read_text() for name in ("introduction", "audit"))
    assert 'href="audit.html"' in front and "CC BY 4.0" in front
    assert [i for i in claims.registry() if f' id="{i}"' not in audit] == []
    for name in NOTEBOOKS:
        assert f'href="../notebooks/{name}.html"' in front, name
        folded = '<details class="admonition hide above-input"'
        assert folded in (book / f"notebooks/{name}.html").read_text(), (
            f"{name}: no code one click away"
        )


def test_the_built_audit_follows_its_schema_and_every_address_leads_to_its_statement(book):
    static = book / "_static"
    document = json.loads((static / "audit.json").read_text())
    jsonschema.validate(document, json.loads((static / "audit.schema.json").read_text()))
    assert [c["id"] for c in document["claims"]] == list(claims.registry())
    page = (book / "book/audit.html").read_text()
    for claim in document["claims"]:
        file, _, anchor = claim["address"].partition("#")
        assert file == "book/audit.html" and page.count(f' id="{anchor}"') == 1
        assert anchor == claim["id"]
        assert ("cases" in claim) == bool(claim["chapter"]), claim["id"]


def test_the_api_shows_types_as_they_are_written_and_every_package(book):
    pages = {p.stem: p.read_text() for p in (book / "book").glob("api_*.html")}
    text = unescape(re.sub(r"<[^>]+>", "", " ".join(pages.values())))
    raw = r"_SupportsArray|tuple\[Any, \.\.\.\], dtype|<class '|<function |Annotated\["
    raw += r"|~[a-z]\w*\.|<factory>|→ ->|\(value, names="
    assert re.findall(raw, text) == []
    for name in (
        "tasks.ReLU",
        "risk.population_risk",
        "pretrain.pretrain",
        "tensor_trick.gradient",
    ):
        assert f'id="icl.{name}"' in pages[f"api_{name.partition('.')[0]}"], name


def test_links_between_pages_lead_somewhere(book):
    """This includes links to files that are written after the pages are verified."""
    assert verify.check_links(book) == []


def test_launch_buttons_and_repository_come_from_one_place(book):
    """Pages link to a known repository, with launch buttons only if the notebooks know it, too."""
    url = repository.address(ROOT)
    page = (book / "notebooks/theorem2_scaling.html").read_text()
    launches = repository.declared(ROOT) != repository.PLACEHOLDER
    assert ("mybinder.org" in page) == launches
    assert (f'href="{url}"' in page) == (url != repository.PLACEHOLDER)
    for source in [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("*.py")]:
        for found in re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", source.read_text()):
            assert found == url, f"{source.name}: {found}"


def test_every_page_has_a_markdown_twin(book):
    listed = re.findall(r"\]\((\S+)\.md\)", (book / "llms.txt").read_text())
    assert sorted(listed) == sorted(PAGES)
    for page in PAGES:
        text = (book / f"{page}.md").read_text()
        assert text.startswith("# ") and len(text) > 100, page
        assert not re.search(r"</?span\b", text), page
        assert find_markup(text) == [], page
        name = page.rpartition("/")[2]
        tags = re.findall(r"<link\b[^>]*>", (book / f"{page}.html").read_text())
        wanted = {'rel="alternate"', 'type="text/markdown"', f'href="{name}.md"'}
        assert any(all(w in tag for w in wanted) for tag in tags), page


@pytest.mark.browser
@pytest.mark.slow
def test_a_pdf_has_text_and_an_outline(book, monkeypatch):
    monkeypatch.setattr(pdf, "toc_pages", lambda toc: ["book/glossary", "notebooks/beyond"])
    with pypdf.PdfReader(pdf.write_pdf("smoke")) as made:
        titles = [item.title for item in made.outline]
        assert titles == ["Cover", "glossary", "beyond"]
        first = made.pages[0].extract_text()
        assert all(word in first for word in ("Version", "Commit", "Preset smoke"))
        assert made.metadata.title and made.metadata.author
        text = "\n".join(page.extract_text() for page in made.pages)
        assert f"preset smoke · {len(made.pages)}" in made.pages[-1].extract_text()
    assert "In short" in text and not re.search(r"\\[(\[]", text), "TeX that nobody set"
    assert "ρ" in text, "formulas are no text"


@pytest.mark.parametrize(
    ("path", "message"), [("/usr/bin", "no book"), ("", "it needs one of chromium")]
)
def test_a_pdf_needs_a_book_and_a_browser(tmp_path, monkeypatch, path, message):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: path and f"{path}/{name}")
    with pytest.raises(BadInput, match=message):
        pdf.write_pdf("quick", tmp_path)


# ---------------------------------------------------------------- planted faults


def test_a_planted_fault_stops_the_build_and_the_last_good_book_stays(
    book, executed, tmp_path, monkeypatch
):
    monkeypatch.setattr(assemble, "run_sphinx", lambda *_: pytest.fail("the book was built"))
    name, *_ = [name for name, path in executed.items() if collect(path)["cards"]]
    before, some = (book / ".digest").read_text(), dict(executed)
    del some[name]
    for notebooks, message in [
        (some, f"notebooks/{name}: must be both in _toc.yml and in the folder notebooks"),
        (executed | {"extra": executed[name]}, "notebooks/extra: must be both in"),
        (some | {name: executed[NOTEBOOKS[-1]]}, "is judged already in"),
    ]:
        with pytest.raises(BadInput, match=re.escape(message)):
            assemble.build("smoke", notebooks)
    monkeypatch.setattr(assemble, "hash_book", lambda *_: "another")
    monkeypatch.setattr(assemble, "run_sphinx", lambda *_: tmp_path)
    for module, name, said in (
        (stage, "stage", None),
        (verify, "check_book", ["a page has a problem"]),
    ):
        monkeypatch.setattr(module, name, lambda *_, said=said: said)
    with pytest.raises(BadInput, match="a page has a problem"):
        assemble.build("smoke", executed)
    assert (book / ".digest").read_text() == before


def test_a_number_anywhere_in_a_chapter_needs_its_card(executed, monkeypatch):
    lost = audit.find_broken_links

    def planted(text, cards):
        return lost(text + "At last [1.5](<judged:P9.X|d = 2|.1f>).", cards)

    monkeypatch.setattr(audit, "find_broken_links", planted)
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    _, problems = assemble.gather(executed, toc, "quick")
    named = [problem for problem in problems if "no card of P9.X is on this page" in problem]
    wanted = [f"notebooks/{n}" for n in NOTEBOOKS]
    assert [name.partition(":")[0] for name in named][-len(wanted) :] == wanted


#: A page with each element of the book: theorem, term, citation, formula, fold, grid, name of the API.
PAGE = """# A small book

See ([Collins et al., 2024](cite:collins2024)), [the width](#term-w) and [the law](b.ipynb#law), by
{py:obj}`icl.best_window`, in [B](../notebooks/b.ipynb).

<a id="law"></a>

> **Theorem** (the law $w(n)$). It is true that $\\bm w>0$.

<details><summary>Proof</summary>

> **What we read.** Nothing, and
> <a id="eq"></a>
>
> $$1$$

</details>

::::{grid} 2
:::{grid-item-card}
One card.
:::
::::

:::{glossary}
w
  A number.
:::

```{eval-rst}
.. autofunction:: icl.best_window
```

```{bibliography}
:all:
```
"""


@pytest.fixture
def tree(tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "book" / "_static", tree / "book" / "_static")
    for name in ("_config.yml", "book/references.bib"):
        shutil.copy(ROOT / name, tree / name)
    (tree / "_toc.yml").write_text(
        "format: jb-book\nroot: book/a\nparts: [{caption: All, chapters: [{file: notebooks/b}]}]\n"
    )
    (tree / "book" / "a.md").write_text(to_myst(PAGE, {"w": "w"}))
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><path d='M0 0H9'/></svg>"
    )
    shown = {
        "figure": {"caption": "Three words only.", "name": "fig-b"},
        "image": {"alt": "A line."},
    }
    drawn = new_code_cell(
        "from icl import best_window\ndraw(best_window)",
        outputs=[new_output("display_data", {"image/svg+xml": drawing})],
        metadata={"mystnb": shown, "tags": ["hide-input"]},
    )
    cells = [
        new_markdown_cell(to_myst("# B\n\n> **What is true.** All.", {})),
        drawn,
        new_markdown_cell("## For specialists\n\nProofs."),
    ]
    (tree / "notebooks").mkdir()
    python = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    nbformat.write(new_notebook(cells=cells, metadata=python), tree / "notebooks" / "b.ipynb")
    return tree


def test_jupyter_book_and_sphinx_build_the_same_book(tree, tmp_path):
    """The pages differ only in scripts of live kernels, and pass the checks of the whole book."""
    toc = yaml.safe_load((tree / "_toc.yml").read_text())
    roads = []
    for plain in (False, True):
        pages = assemble.run_sphinx(tree, tmp_path / str(plain), plain)
        assert verify.check_book(pages, toc, []) == []
        built = [
            BeautifulSoup((pages / f"{name}.html").read_text(), "html.parser")
            for name in ("book/a", "notebooks/b")
        ]
        for script in (script for page in built for script in page.select("article script")):
            assert "kernel" in script.extract().get_text()
        roads.append(built)
    articles = [[page.find("article").prettify() for page in built] for built in roads]
    assert articles[0] == articles[1]
    front, chapter = roads[1]
    article = front.find("article").get_text(" ", strip=True)
    assert "Collins" in article and "Theorem (the law" in article and "ndarray[tuple" not in article
    cited, *links = [a["href"] for a in front.select_one("article p").select("a")]
    assert cited in {f"#{entry['id']}" for entry in front.select("div.citation")}
    assert "adapts" in front.select_one("article p a")["title"].lower()
    assert links == ["#term-w", "#law", "#icl.best_window", "../notebooks/b.html"]
    assert front.select("#law.icl-true .icl-whole") and front.select(".sd-card")
    assert front.select(".dropdown.icl-proof .admonition #eq")
    assert chapter.select_one("figure#fig-b .caption-number").get_text(strip=True) == "Fig. 1"
    assert chapter.select("details.hide") and chapter.select(".icl-true")
    folded = chapter.select_one("#for-specialists > h2 + details > summary + p")
    assert folded.get_text() == "Proofs."
    named = [a["href"] for a in chapter.select("details.hide a.icl-name")]
    assert named == ["../book/a.html#icl.best_window"] * 2
    assert chapter.select_one(".bd-footer-content").get_text().count("of the two papers") == 1
    sheets = {link["href"].partition("?")[0] for link in front.select("link[rel=stylesheet]")}
    assert "../_static/icl.css" in sheets
    scripts = [script.get("src", "") for script in front.select("script")]
    assert any("wide.js" in one for one in scripts) and not any("thebe" in one for one in scripts)


@pytest.mark.parametrize("plain", [False, True])
def test_a_warning_is_an_error_in_both_builds(tree, tmp_path, plain):
    (tree / "book" / "a.md").write_text("# A\n\n[gone](gone.md)\n")
    cell = new_code_cell("1", outputs=[new_output("stream", name="stderr", text="Careful")])
    nbformat.write(
        new_notebook(cells=[new_markdown_cell("# B"), cell]), tree / "notebooks" / "b.ipynb"
    )
    with pytest.raises(BadInput, match=r"(?s)WARNING.*gone\.md") as caught:
        assemble.run_sphinx(tree, tmp_path / "out", plain)
    assert re.search(r"b\.ipynb.*stderr", str(caught.value))


def test_a_full_disk_is_reported_in_one_line(tmp_path, monkeypatch):
    said = "Traceback\n  deep\nOSError: [Errno 28] No space left on device: 'x'\n\nSee the log\n"
    done = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(assemble.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(BadInput, match=r"^the book is not built: OSError: .* left on device: 'x'$"):
        assemble.run_sphinx(tmp_path, tmp_path / "out")


def test_the_digest_depends_on_every_input(tmp_path):
    root, notebook = tmp_path / "tree", tmp_path / "x.ipynb"
    names = "_config.yml _toc.yml book/a.md book/_static/icl.css icl/a.py requirements.lock"
    names += " CITATION.cff results/replication.csv benchmarks/results/x.json"
    files = [*(root / name for name in names.split()), notebook]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("repository: {url: here}\n")

    def now(preset="smoke"):
        return assemble.hash_book(preset, {"x": notebook}, root)

    seen = {now(), now("quick")}
    for file in [*files, root / "book/new.md"]:
        with file.open("a") as stream:
            stream.write("# changed\n")
        seen.add(now())
    assert len(seen) == len(files) + 3


# ---------------------------------------------------------------- in a browser


def paint(browser, mode):
    """Set the open page's color mode without the theme's slow change of colors."""
    browser.execute_script(
        "document.head.append(document.createElement('style'));"
        "document.head.lastChild.textContent = '* { transition: none !important }';"
        f"document.documentElement.dataset.theme = '{mode}'"
    )


#: Counts the boxes that have a shade because they scroll, and finds faults of the open page.
LAYOUT = """
dispatchEvent(new Event("resize"));
const all = css => [...document.querySelectorAll(`.bd-article ${css}`)];
const left = e => e.getBoundingClientRect().left, right = e => e.getBoundingClientRect().right;
const boxes = ".icl-wide, .icl-scroll, .icl-table, .pst-scrollable-table-container";
const wrong = {
  "a formula over the edge": all("span.math mjx-container")
    .filter(e => right(e) > innerWidth && !e.closest(boxes)),
  "a formula whose box does not scroll to its end": all(".icl-wide svg")
    .filter(e => e.clientWidth > e.closest(".icl-wide").scrollWidth + 1),
  "a formula that begins before its box": all("div.math svg")
    .filter(e => e.clientWidth && left(e) < left(e.closest("div.math")) - 1),
  "a shade without need": all(".icl-scrolls").filter(e => e.scrollWidth <= e.clientWidth + 1),
  "a figure that does not link to itself alone": all("figure img")
    .filter(e => e.closest("a")?.href !== e.src),
  "a figure that scrolls though it is drawn for a phone, too": all("a.icl-alone:has(picture)")
    .filter(e => e.scrollWidth > e.clientWidth + 1),
};
const words = e => e.closest("p, td, li, div, figure").textContent.trim().slice(0, 60);
return [all(".icl-scrolls").length,
  Object.entries(wrong).flatMap(([what, found]) => found.map(e => `${what}: ${words(e)}`))];
"""

#: Unfolds the page and finds formulas, tables, code and outputs that are wider than their box.
CUT = """
document.querySelectorAll(".bd-article details").forEach(e => e.open = true);
document.querySelectorAll(".bd-article .toggle-hidden").forEach(e => e.classList.remove("toggle-hidden"));
const boxes = "div.math, pre, .text_html, .icl-scroll, .icl-table, .pst-scrollable-table-container";
return [...document.querySelectorAll(`.bd-article :is(${boxes})`)]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.trim().slice(0, 60));
"""

#: Finds cards whose id does not end where their number ends, on an unfolded page.
RAGGED = """
const right = e => e.getBoundingClientRect().right;
return [...document.querySelectorAll(".bd-article .icl-card:has(.icl-measured)")]
  .filter(c => Math.abs(right(c.querySelector(".icl-id")) - right(c.querySelector(".icl-measured"))) > 2)
  .map(c => c.id);
"""

DRAWN_TWICE = "return document.querySelectorAll('figure picture source').length"
HEIGHT = "return document.documentElement.scrollHeight"
#: Smallest allowed size of text in a figure, in pixels. Sub- and superscripts are smaller, as in a formula.
MIN_TEXT_SIZE = {"desktop": 11.0, "phone": 9.0}
#: Each figure of the open page: the address of the drawing that is shown, and its size as shown over that as
#: drawn.
SCALES = """
return [...document.querySelectorAll(".bd-article figure img")].map(e => {
  const { paddingLeft, paddingRight } = getComputedStyle(e);
  const shown = e.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return [e.currentSrc, shown / e.naturalWidth];
});
"""


def text_sizes(drawing):
    """Return the sizes in pixels of the texts of a drawing by matplotlib, whose glyphs have 100 units."""
    found = re.findall(
        r'<g id="text_\d+">\s*<!-- (.*?) -->.*?scale\(([.\d]+) -', drawing, re.DOTALL
    )
    return {text: float(scale) * 100 * 4 / 3 for text, scale in found}


def small_text(browser, size):
    """Return text in figures of the open page below the minimum size, with its size as shown."""
    return [
        (text, round(scale * drawn, 1))
        for source, scale in browser.execute_script(SCALES)
        for text, drawn in text_sizes(Path(url2pathname(urlsplit(source).path)).read_text()).items()
        if scale * drawn < MIN_TEXT_SIZE[size] - 0.05
    ]


#: Pages of three kinds that axe-core checks; with ICL_AXE=1 it checks all, which takes minutes.
AXE_PAGES = PAGES if os.environ.get("ICL_AXE") else PAGES[:2] + ["notebooks/linear_attention"]
#: Violations of the theme and its extensions, as rule and part of the place: the sidebar's logo is outside of
#: every landmark, and docutils gives an old role to the bibliography.
AXE_ALLOWED = {
    "region": ("sidebar-primary-item",),
    "aria-deprecated-role": ('role="doc-biblioentry"',),
}


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_in_browser_and_by_axe(browser, book, page):
    """The page is loaded once for both widths and both color modes."""
    seen = look(browser, (book / f"{page}.html").as_uri())
    assert any(".css" in url for url in seen.asked)
    assert (seen.network, seen.errors, seen.raw, seen.bad, seen.broken) == ([], [], [], 0, [])
    shaded = {}
    # this order tests that what the narrow page needed is removed
    for size in ("phone", "desktop"):
        resize(browser, size)
        shaded[size], wrong = browser.execute_script(LAYOUT)
        assert wrong == [], size
        assert small_text(browser, size) == [], size
        for mode in ("light", "dark"):
            paint(browser, mode)
            assert (wide := overflow(browser, size)) <= 0, (
                f"{page} is {wide} px wider than the {size}"
            )
            if size == "desktop" and page in AXE_PAGES:
                found = [
                    f for f in axe(browser) if not any(p in f[1] for p in AXE_ALLOWED.get(f[0], ()))
                ]
                assert found == [], mode
    assert shaded["phone"] > shaded["desktop"] or page != "book/audit"
    if page.startswith("notebooks/"):
        first = browser.find_element("css selector", ".bd-article :is(figure, .icl-interactive)")
        assert first.is_displayed()
        assert browser.execute_script(DRAWN_TWICE) > 0
    assert browser.execute_script(CUT) == []
    assert browser.execute_script(RAGGED) == []


@pytest.mark.browser
def test_the_figure_of_the_front_page_asks_for_the_best_w_and_does_not_tell_it(browser, book):
    """Slider, numbers and curves are on the first screen, and w finds the least sum."""
    look(browser, (book / "book/introduction.html").as_uri())
    figure = browser.find_element("css selector", ".icl-interactive[data-ready]")
    assert figure.find_elements("css selector", "circle.best") == []
    parts = ("[type=range]", ".read", ".drawing")
    for size in ("phone", "desktop"):
        resize(browser, size)
        slider, numbers, curves = (figure.find_element("css selector", p).rect for p in parts)
        assert slider["y"] < numbers["y"] < slider["y"] + 80, size
        assert numbers["y"] + numbers["height"] <= curves["y"], size
        # a phone shows all of it at once, below the bar of its page
        assert size == "desktop" or curves["y"] + curves["height"] - slider["y"] < 844 - 60
    assert curves["y"] + curves["height"] <= 800
    assert "best" not in figure.find_element("css selector", ".read").text
    (slider,) = figure.find_elements("css selector", "input[type=range]")
    sums = []
    for place in range(int(slider.get_attribute("max")) + 1):
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        browser.execute_script(script, slider, place)
        sums.append(json.loads(figure.get_attribute("data-values"))["risk"])
    assert len(sums) >= 40 and 5 < np.argmin(sums) < len(sums) - 5
    (frame,) = figure.find_elements("css selector", ".drawing > .frame")
    top, height = (float(frame.get_attribute(name)) for name in ("y", "height"))
    for name in ("l0", "l1", "l2", "l3"):
        path = figure.find_element("css selector", f".drawing path.{name}[d*=L]").get_attribute("d")
        heights = np.array(re.findall(r",(-?[\d.]+)", path), float)
        assert top <= heights.min() and heights.max() <= top + height, name


@pytest.mark.browser
def test_a_link_to_evidence_opens_its_card_and_marks_the_row(browser, book):
    look(browser, (book / "book/introduction.html").as_uri())
    links = browser.find_elements("css selector", "a.icl-judged:not(.icl-badge)")
    targets = [link.get_attribute("href") for link in links]
    assert targets
    look(browser, targets[0])
    row = browser.find_element("css selector", ".icl-card tr:target")
    assert row.is_displayed() and row.rect["height"] > 0
    marked = row.find_element("css selector", "td").value_of_css_property("font-weight")
    assert marked == "600"


@pytest.mark.browser
def test_a_link_opens_the_fold_around_its_target(browser, book):
    look(browser, (book / "notebooks/theorem2_scaling.html").as_uri() + "#thm-law")
    fold = browser.find_element("css selector", "details.icl-specialists")
    assert fold.find_element("css selector", "#thm-law").is_displayed()


@pytest.mark.browser
@pytest.mark.parametrize("address", ["#P1.T2.upper", "#audit-P1.T2.upper"])
def test_a_statement_has_an_address_which_opens_it(browser, book, address):
    """By default the list hides statements that hold; a link to one shows it."""
    page = (book / "book/audit.html").as_uri()
    look(browser, page)
    entry = browser.find_element("id", "P1.T2.upper")
    assert not entry.is_displayed()
    short = browser.execute_script(HEIGHT)
    browser.execute_script(
        "for (const chosen of document.querySelectorAll('select')) {"
        "  chosen.value = ''; chosen.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    assert entry.is_displayed() and short < browser.execute_script(HEIGHT) * 2 / 3
    look(browser, "about:blank")
    look(browser, page + address)
    entry = browser.find_element("id", "P1.T2.upper")
    number = entry.find_element("css selector", ".icl-number")
    assert number.is_displayed() and "would contradict the statement" in number.text
    top = "return arguments[0].getBoundingClientRect().top"
    assert 0 <= browser.execute_script(top, entry) < 300


@pytest.mark.browser
def test_a_mark_in_prose_names_its_statement(browser, book):
    """Its name is the title with the verdict, and keyboard focus shows both."""
    look(browser, (book / "book/path.html").as_uri())
    mark = browser.find_element(
        "css selector", "a:is(.icl-mark, .icl-badge)[href*='#claim-P1.T2.form']"
    )
    title = claims.registry()["P1.T2.form"].title
    assert title in mark.get_attribute("title") and "P1.T2" not in mark.text
    assert title in mark.accessible_name
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    before, focused = browser.execute_script(
        "const shown = () => getComputedStyle(arguments[0], '::after').content;"
        "const before = shown(); arguments[0].focus({focusVisible: true});"
        "return [before, shown()];",
        mark,
    )
    assert before == "none" and title in focused


@pytest.mark.browser
def test_a_white_figure_becomes_the_page_in_dark_mode_and_stays_white_in_light(browser, book):
    look(browser, (book / "notebooks/theorem2_scaling.html").as_uri())
    for mode in ("light", "dark"):
        paint(browser, mode)
        figure = browser.find_element("css selector", "figure img")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
        corner = imread(BytesIO(figure.screenshot_as_png))[3, 3, :3] * 255
        script = "return getComputedStyle(document.body).backgroundColor"
        page = [int(x) for x in re.findall(r"\d+", browser.execute_script(script))[:3]]
        assert np.abs(corner - page).max() <= 6, (mode, corner, page)
        assert (corner.max() < 60) == (mode == "dark")


@pytest.mark.browser
@pytest.mark.parametrize("words", ["Theorem 2", "Theorem 3", "Theorem 4", "Lemma 1"])
def test_search_puts_a_theorem_s_page_first_for_its_name(browser, book, words):
    look(browser, (book / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
    first = "return document.querySelector('#search-results li a')?.href ?? ''"
    deadline, before, link = time.monotonic() + 600, None, ""
    # results arrive one after the other
    while time.monotonic() < deadline and (not link or link != before):
        before, link = link, browser.execute_script(first)
        time.sleep(0.5)
    assert (
        words.lower().replace(" ", "") in link and look(browser, browser.current_url).network == []
    )


def test_numbers_in_figures_have_minus_signs(book):
    drawings = [*book.rglob("*.svg")]
    # mathematics has them anyway
    texts = {
        (drawing.name, re.sub(r"\$[^$]*\$", "", text))
        for drawing in drawings
        for text in text_sizes(drawing.read_text("utf-8"))
    }
    assert len(texts) > 100
    assert [found for found in texts if re.search(r"(?<!\w)-[\d.]", found[1])] == []


def test_sizes_of_text_in_a_drawing_are_those_that_were_set():
    plots.style()
    figure, ax = plt.subplots()
    ax.text(0, 0.5, "small", fontsize=6)
    ax.set(xscale="log", xlabel="rotated", xlim=(1, 1e4))
    ax.xaxis.label.set(rotation=90, fontsize=12)
    sizes = text_sizes(plots.svg(figure))
    plt.close(figure)
    assert sizes["small"] == pytest.approx(8)
    assert sizes["rotated"] == pytest.approx(16)
    assert sizes[r"$\mathdefault{10^{2}}$"] == pytest.approx(14)


@pytest.mark.browser
def test_browser_checks_can_fail(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<html data-theme='light'><body style='margin:0'><div style='width:500px'>wide</div>"
        "<span class='math'>\\(x\\)</span><img src='http://127.0.0.1:9/x.png'>"
        "<script>throw Error('no')</script></body></html>"
    )
    # the page has no mathematics to wait for
    seen = look(browser, page.as_uri(), patience=0.0)
    resize(browser, "phone")
    assert seen.network == ["http://127.0.0.1:9/x.png"] and seen.raw == ["\\(x\\)"]
    assert overflow(browser, "phone") > 0
    assert any("no" in e for e in seen.errors)
    assert "image-alt" in {rule for rule, _ in axe(browser)}
