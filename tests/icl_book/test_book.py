"""The book: built once from the smoke preset, looked at as a reader would, and broken on purpose."""

import json
import os
import re
import subprocess
import time
from functools import cache
from html import unescape
from importlib import resources
from io import BytesIO

import nbformat
import numpy as np
import pytest
import yaml
from matplotlib.image import imread
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from chromium import SIZES, look, resize
from icl_book import claims, repository
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import plan
from icl_book.runner.execute import execute
from icl_book.runner.record import collect, seal
from icl_book.site import assemble, pdf, stage, verify

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
PAGES = verify.toc_pages(TOC)
NOTEBOOKS = [p.removeprefix("notebooks/") for p in PAGES if p.startswith("notebooks/")]


@pytest.fixture(scope="session")
def executed():
    """The smoke preset's executed notebooks by name."""
    return {run.name: execute(run) for run in plan.plan("smoke")}


@pytest.fixture(scope="session")
def book(executed):
    """Folder of the finished smoke book."""
    return assemble.build("smoke", executed).parent


# ---------------------------------------------------------------- every notebook, in seconds


@pytest.mark.parametrize("name", plan.notebooks())
def test_smoke_preset_executes_every_notebook(name):
    (run,) = plan.plan("smoke", name)
    record = collect(execute(run))
    assert record["name"] == name and record["preset"] == "smoke"
    # a chapter may answer questions without judging a statement; that every claim is judged, the book checks
    assert {card["id"] for card in record["cards"]} <= set(claims.registry())
    assert record["parameters"].items() >= run.overrides.items()
    assert {"seconds", "device", "machine", "versions", "commit"} <= set(record) and record["root_seed"] == 0


# ---------------------------------------------------------------- the whole book


def test_toc_names_every_notebook_and_every_prose_page():
    assert sorted(NOTEBOOKS) == sorted(p.stem for p in (ROOT / "notebooks").glob("*.py"))
    written = {f"book/{p.stem}" for p in (ROOT / "book").glob("*.md")}
    assert {p for p in PAGES if p.startswith("book/")} == written


def test_every_page_exists_and_none_has_a_problem(book, executed):
    assert sorted(
        p.relative_to(book).with_suffix("").as_posix()
        for folder in ("book", "notebooks")
        for p in (book / folder).glob("*.html")
    ) == sorted(PAGES)
    assert verify.book(book, TOC, [collect(path) for path in executed.values()]) == []
    assert "book/introduction.html" in (book / "index.html").read_text()


def test_two_clicks_lead_from_the_front_page_to_all_code_and_to_what_each_claim_says(book):
    from bs4 import BeautifulSoup

    def page(name):
        return BeautifulSoup((book / f"{name}.html").read_text(), "html.parser")

    front = page("book/introduction")
    first = {a["href"].partition("#")[0] for a in front.select("a[href]")}
    for name in NOTEBOOKS:
        assert f"../notebooks/{name}.html" in first, name
        chapter = page(f"notebooks/{name}")
        assert chapter.select("article details.hide .cell_input pre"), f"{name}: no code one click away"
    assert "audit.html" in first and "CC BY 4.0" in front.get_text()
    audit = page("book/audit")
    for claim in claims.registry().values():
        entry = audit.find(id=f"audit-{claim.id}")
        if claim.rule is not None:
            assert audit.select(f'a[href$="#claim-{claim.id}"]'), claim.id
        assert bool(entry.select_one(".icl-quote")) == bool(claim.quote), f"{claim.id}: printed statement"
        says = entry.select_one(
            ".icl-statement, .icl-quote"
        )  # a quotation that is judged as it stands is alone
        assert says and len(says.get_text()) > 10, f"{claim.id}: what it says is not on the audit page"


def test_the_api_shows_types_as_they_are_written_and_every_room(book):
    pages = {p.stem: p.read_text() for p in (book / "book").glob("api_*.html")}
    text = re.sub(r"<[^>]+>", "", " ".join(pages.values()))
    for raw in ("_SupportsArray", "tuple[Any, ...], dtype", "<class '", "<function ", "~torch"):
        assert raw not in text, raw
    for name in ("tasks.ReLU", "risk.population_risk", "pretrain.pretrain", "tensor_trick.gradient"):
        page = f"api_{name.partition('.')[0]}"
        assert f'id="icl.{name}"' in pages[page], name


def test_links_between_pages_lead_somewhere(book):
    @cache
    def anchors(path):
        return set(re.findall(r'\bid="([^"]+)"', path.read_text()))

    seen = 0
    for page in PAGES:
        here = (book / f"{page}.html").resolve()
        article = here.read_text().partition("<article")[2].partition("</article>")[0]
        for link in map(unescape, re.findall(r'<a\b[^>]*\bhref="([^"]+)"', article)):
            target, _, anchor = link.partition("#")
            if re.match(r"\w+:", target):
                continue
            there = (here.parent / target).resolve() if target else here
            assert there.is_file(), f"{page}: {link}"
            if anchor and there.suffix == ".html" and "_static" not in there.parts:
                assert anchor in anchors(there), f"{page}: {link}"
            seen += 1
    assert seen > 10 * len(PAGES)


def test_launch_buttons_and_repository_come_from_one_place(book):
    """Links to the repository where its address is known; launch buttons where the notebooks know it too."""
    url = repository.address(ROOT)
    page = (book / "notebooks/theorem2_scaling.html").read_text()
    launches = repository.declared(ROOT) != repository.PLACEHOLDER
    assert ("colab.research.google.com" in page) == launches == ("mybinder.org" in page)
    assert (f'href="{url}"' in page) == (url != repository.PLACEHOLDER)
    for source in [*(ROOT / "book").glob("*.md"), *(ROOT / "notebooks").glob("*.py")]:
        for found in re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", source.read_text()):
            assert found == url, f"{source.name}: {found}"


def test_nothing_changed_returns_at_once(book, executed, capsys, monkeypatch):
    monkeypatch.setattr(stage, "stage", lambda *_: pytest.fail("the book was staged"))
    assert assemble.build("smoke", executed) == book / "index.html"
    assert "nothing has changed" in capsys.readouterr().out


@pytest.mark.browser
@pytest.mark.slow
def test_a_pdf_has_text_and_an_outline(book, monkeypatch):
    pypdf = pytest.importorskip("pypdf")
    monkeypatch.setattr(pdf, "toc_pages", lambda toc: ["book/glossary", "notebooks/theorem2_scaling"])
    with pypdf.PdfReader(pdf.pdf("smoke")) as made:
        assert [item.title for item in made.outline] == ["glossary", "theorem2 scaling"]
        assert made.metadata.title and made.metadata.author
        text = "\n".join(page.extract_text() for page in made.pages)
        assert f"preset smoke · {len(made.pages)}" in made.pages[-1].extract_text()
    assert "Short answer" in text and not re.search(r"\\\\[(a-zA-Z]", text), "TeX that nobody set"


@pytest.mark.parametrize(("path", "message"), [("/usr/bin", "no book"), ("", "it needs one of chromium")])
def test_a_pdf_needs_a_book_and_a_browser(tmp_path, monkeypatch, path, message):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: path and f"{path}/{name}")
    with pytest.raises(SystemExit, match=message):
        pdf.pdf("quick", tmp_path)


# ---------------------------------------------------------------- broken on purpose


def test_a_planted_fault_stops_the_build_and_the_last_good_book_stays(book, executed, tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "sphinx", lambda *_: pytest.fail("the book was built"))
    name, *_ = [name for name, path in executed.items() if collect(path)["cards"]]
    before, some = (book / ".digest").read_text(), dict(executed)
    content = json.loads(some.pop(name).read_text())
    content["cells"].pop()
    seal(content)
    (tmp_path / "x.ipynb").write_text(json.dumps(content))
    for notebooks, message in [
        (some, f"notebooks/{name}: must be both in _toc.yml and in the folder notebooks"),
        (executed | {"extra": executed[name]}, "notebooks/extra: must be both in"),
        (some | {name: tmp_path / "x.ipynb"}, "needs one notebook.footer()"),
        (some | {name: executed[NOTEBOOKS[-1]]}, "is judged already in"),
    ]:
        with pytest.raises(BadInput, match=re.escape(message)):
            assemble.build("smoke", notebooks)
    monkeypatch.setattr(assemble, "digest", lambda *_: "another")
    monkeypatch.setattr(assemble, "sphinx", lambda *_: tmp_path)
    for module, name, said in (stage, "stage", None), (verify, "book", ["a page has a problem"]):
        monkeypatch.setattr(module, name, lambda *_, said=said: said)
    with pytest.raises(BadInput, match="a page has a problem"):
        assemble.build("smoke", executed)
    assert (book / ".digest").read_text() == before


def test_warning_of_sphinx_is_an_error(tmp_path):
    (tmp_path / "_config.yml").write_text(
        "title: t\nexecute: {execute_notebooks: off, stderr_output: warn}\n"
    )
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: a\nchapters: [{file: b}]\n")
    (tmp_path / "a.md").write_text("# A\n\n[gone](gone.md)\n")
    cell = new_code_cell("1", outputs=[new_output("stream", name="stderr", text="Careful")])
    nbformat.write(new_notebook(cells=[new_markdown_cell("# B"), cell]), tmp_path / "b.ipynb")
    assert CONFIG["execute"] == {"execute_notebooks": "off", "stderr_output": "warn"}
    with pytest.raises(BadInput, match=r"(?s)WARNING.*gone\.md") as caught:
        assemble.sphinx(tmp_path, tmp_path / "out")
    assert re.search(r"b\.ipynb.*stderr", str(caught.value))


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    said = "Traceback\n  deep\nOSError: [Errno 28] No space left on device: 'x.html'\n\nSee the log\n"
    monkeypatch.setattr(
        assemble.subprocess, "run", lambda *a, **_: subprocess.CompletedProcess(a, 1, "", said)
    )
    with pytest.raises(
        BadInput, match=r"^the book is not built: OSError: .*No space left on device: 'x\.html'$"
    ):
        assemble.sphinx(tmp_path, tmp_path / "out")


def test_digest_sees_every_input(tmp_path):
    root, notebook = tmp_path / "tree", tmp_path / "x.ipynb"
    files = "_config.yml _toc.yml book/a.md book/_static/icl.css icl/a.py requirements.lock".split()
    files += ["results/earlier.json", "results/registered/x.json", "benchmarks/results/x.json"]
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("repository: {url: here}\n")
    notebook.write_text("1")

    def now(preset="smoke"):
        return assemble.digest(preset, {"x": notebook}, root)

    seen = {now(), now("quick")}
    for path in [*(root / name for name in files), notebook]:
        path.write_text(path.read_text() + "# changed\n")
        seen.add(now())
    assert len(seen) == len(files) + 3
    (root / "book/new.md").write_text("")
    assert now() not in seen


# ---------------------------------------------------------------- in a browser


STILL = """
const sheet = document.createElement("style");
sheet.textContent = "* { transition: none !important }";
document.head.append(sheet);
"""


def paint(browser, mode):
    """Set the open page's color mode, as its own switch does, without the theme's slow change of colors."""
    browser.execute_script(STILL)
    browser.execute_script(f"document.documentElement.dataset.theme = '{mode}'")


def overflow(browser, size):
    """Pixels by which the open page is wider than its window."""
    wide = "return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    return browser.execute_script(wide) - SIZES[size][0]


#: First words of the boxes of code that scroll sideways; folded ones are opened to be measured.
CUT_CODE = """
const folded = [...document.querySelectorAll(".bd-article details:not([open])")];
folded.forEach(e => e.open = true);
const cut = [...document.querySelectorAll(".bd-article div.cell_input pre")]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 60));
folded.forEach(e => e.open = false);
return cut;
"""

#: Formulas in sentences that reach over the edge of the window and are in no box that scrolls, those whose
#: box does not scroll to their end, and those in lines of their own that do not begin where their box does.
CUT_FORMULAS = """
dispatchEvent(new Event("resize"));
const boxes = ".icl-wide, .icl-scroll, .icl-table, .pst-scrollable-table-container";
const left = e => e.getBoundingClientRect().left;
return [...document.querySelectorAll(".bd-article span.math mjx-container")]
  .filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(boxes))
  .concat([...document.querySelectorAll(".bd-article .icl-wide svg")]
    .filter(e => e.clientWidth > e.closest(".icl-wide").scrollWidth + 1))
  .concat([...document.querySelectorAll(".bd-article div.math svg")]
    .filter(e => e.clientWidth && left(e) < left(e.closest("div.math")) - 1))
  .map(e => e.closest("p, td, li, div").innerText.slice(0, 60))
"""


#: Where the first figure begins, and the height of the page without its open cards: which of them object, and
#: stand open, the preset decides.
FIRST_FIGURE = """
const first = document.querySelector(".bd-article :is(figure, .icl-interactive)");
const cards = [...document.querySelectorAll(".bd-article .icl-card")].map(e => e.offsetHeight);
return [
  first.getBoundingClientRect().top + scrollY,
  document.documentElement.scrollHeight - cards.reduce((a, b) => a + b, 0)]
"""
LONGEST = 7_400  # pixels of a chapter at 1280, head and foot of the page included
APPENDICES = {"notebooks/certificates": 8_300}  # five theorems with their proofs, folded


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_page_in_browser(browser, book, page):
    """One load for both widths and both color modes."""
    seen = look(browser, (book / f"{page}.html").as_uri())
    assert seen.network == []
    assert any(".css" in url for url in seen.asked)  # requests were recorded
    assert seen.errors == []
    assert (seen.raw, seen.bad, seen.broken) == ([], 0, [])
    for size in SIZES:
        for mode in ("light", "dark"):
            resize(browser, size)
            paint(browser, mode)
            assert (wide := overflow(browser, size)) <= 0, f"{page} is {wide} px wider than the {size}"
        if size == "desktop":
            assert browser.execute_script(CUT_CODE) == [], "lines of code wider than their box"
            if page.startswith("notebooks/"):
                first, height = browser.execute_script(FIRST_FIGURE)
                assert first <= 1500, "the first figure is far down"
                assert height <= APPENDICES.get(page, LONGEST)
        assert browser.execute_script(CUT_FORMULAS) == [], f"formulas cut at the edge of the {size}"


#: What has the shade of something that scrolls: how many do, and the first words of those that do not.
SHADED = """
dispatchEvent(new Event("resize"));
const shaded = [...document.querySelectorAll(".icl-scrolls")];
const scrolls = e => e.clientWidth && e.scrollWidth > e.clientWidth + 1;
return [shaded.length, shaded.filter(e => !scrolls(e)).map(e => e.textContent.slice(0, 60))];
"""


@pytest.mark.browser
def test_a_shade_goes_when_the_window_widens(browser, book):
    look(browser, (book / "book/audit.html").as_uri())
    counts = []
    for size in ("phone", "desktop"):
        resize(browser, size)
        count, without_need = browser.execute_script(SHADED)
        assert without_need == [], size
        counts.append(count)
    assert counts[0] > counts[1]


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
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("Theorem 2", "theorem2"),
        ("Theorem 3", "theorem3_generalization"),
        ("Theorem 4", "theorem4_low_rank"),
        ("Lemma 1", "lemma1_covariance"),
    ],
)
def test_search_puts_a_theorem_s_page_first_for_its_name(browser, book, words, page):
    look(browser, (book / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
    first = "return document.querySelector('#search-results li a')?.href ?? ''"
    deadline, before, link = time.monotonic() + 600, None, ""
    while time.monotonic() < deadline and (not link or link != before):  # results come one after the other
        before, link = link, browser.execute_script(first)
        time.sleep(0.5)
    assert page in link and look(browser, browser.current_url).network == []


#: What the theme and its parts do, as rule and part of the place: the sidebar's logo lies in no landmark,
#: the extension for theorems gives an id twice, and docutils gives the bibliography an old role.
AXE_ALLOWED = {
    "region": ("sidebar-primary-item",),
    "duplicate-id": ('class="proof', 'id="proof-content"'),
    "aria-deprecated-role": ('role="doc-biblioentry"',),
}
#: Pages of three kinds, or with ICL_AXE=1 all, minutes of work.
AXE_PAGES = PAGES if os.environ.get("ICL_AXE") else PAGES[:2] + ["notebooks/linear_attention"]


def axe(browser):
    """Return what axe-core, a checker of accessibility, finds on the open page: rules and places."""
    source = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    browser.execute_script(source)
    browser.set_script_timeout(600)
    return browser.execute_async_script(
        "axe.run({exclude: [['mjx-container'], ['.highlight']]}, {resultTypes: ['violations']})"
        ".then(found => arguments[0](found.violations.flatMap(v => v.nodes.map(n => [v.id, n.html]))))"
    )


@pytest.mark.browser
@pytest.mark.parametrize("page", AXE_PAGES)
def test_axe_finds_nothing_but_what_the_theme_does(browser, book, page):
    look(browser, (book / f"{page}.html").as_uri())
    for mode in ("light", "dark"):
        paint(browser, mode)
        found = axe(browser)
        assert [f for f in found if not any(part in f[1] for part in AXE_ALLOWED.get(f[0], ()))] == [], mode


@pytest.mark.browser
def test_a_figure_links_to_itself_alone(browser, book):
    look(browser, (book / "notebooks/linear_attention.html").as_uri())
    links = browser.execute_script(
        "return [...document.querySelectorAll('figure img')].map(i => [i.currentSrc, i.closest('a')?.href])"
    )
    assert links and all(image == link for image, link in links)


@pytest.mark.browser
def test_browser_checks_can_fail(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<html data-theme='light'><body style='margin:0'><div style='width:500px'>wide</div>"
        "<span class='math'>\\(x\\)</span><img src='http://127.0.0.1:9/x.png'>"
        "<script>throw Error('no')</script></body></html>"
    )
    seen = look(browser, page.as_uri(), patience=0.0)  # do not wait for mathematics that never comes
    resize(browser, "phone")
    assert seen.network == ["http://127.0.0.1:9/x.png"] and seen.raw == ["\\(x\\)"]
    assert overflow(browser, "phone") > 0
    assert any("no" in e for e in seen.errors)
    assert "image-alt" in {rule for rule, _ in axe(browser)}
