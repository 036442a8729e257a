"""Write the book as one PDF, whose pages Chromium prints: ``python -m icl_book pdf``."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from icl_book import provenance
from icl_book.files import atomic_path
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site import assemble
from icl_book.site.verify import toc_pages

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Printing a page is stopped after this many seconds, because Chromium can hang.
SECONDS = 300
#: Pages that are only for the screen.
LEFT_OUT = re.compile(r"book/(api.*|measurements|gallery|second|provenance|benchmarks|reproduce)")
#: MathJax draws formulas as curves on the site, and in print as letters, which can be searched.
MATHJAX = re.compile(r'src="[^"]*/mathjax/tex-svg-full\.js[^"]*"')
FORMULAS = Path(str(files("mathjax"))) / "static/mathjax/es5/tex-chtml-full.js"
#: Matches numbers and an operator that moves or draws, a piece of a curve in a PDF.
CURVE = re.compile(rb"^[-.\d ]+ [clm]$", re.MULTILINE)
STYLE = """<style>
@page { size: A4; margin: 16mm 17mm 19mm }
@media print {
  html { font-size: 68% !important }
  .bd-main .bd-content .bd-article-container { max-width: none; padding: 0 }
  .bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, .prev-next-footer, .bd-footer,
  .icl-interactive, details.hide, .icl-cases .icl-scroll, .headerlink, .tocsection,
  .toggle-button { display: none !important }
  .bd-article mjx-container[jax="CHTML"] { font-size: 108% !important }
  .bd-article div.math { zoom: 1; box-shadow: none; margin-block: .3rem }
  figure img { max-width: 80% !important }
  pre { font-size: .95rem !important; white-space: pre-wrap !important }
  .bd-article .admonition { break-inside: auto; overflow: visible }
  .bd-article div.cell_input, .bd-article .admonition-title { break-inside: avoid }
  .bd-article .admonition-title { break-after: avoid }
}
</style>"""
#: Styles that hide parts of one page, by the name of the page.
HIDDEN = {"book/audit": "<style>table, details { display: none !important }</style>"}
COVER = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>@page {{ size: A4; margin: 30mm }} body {{ font: 13pt sans-serif; padding-top: 60mm }}
h1 {{ font-size: 26pt; line-height: 1.25 }} p {{ margin: 4mm 0 }}</style>
<h1>{name}</h1><p>{subtitle}</p><p>{author}</p>
<p>Version {version}<br>Commit {commit}<br>Preset {preset}</p>
<p>{copyright}</p>
<p>The web pages also have the interface of the package, the tables of the audit, the numbers
of each card, and folded code.</p>
"""


def write_pdf(preset: str, root: Path = ROOT) -> Path:
    """Print the pages of the last book of a preset, and join them with a cover and bookmarks to one PDF.

    Raises:
        BadInput: If the browser or the book is missing or outdated, or if a page cannot be printed.
    """
    program = find_browser()
    assemble.find_finished(preset, root)
    book = root / "_build" / "book" / preset
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    joined = PdfWriter()
    done = book.with_suffix(".pdf")
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "page.html"
        sheet = Path(folder) / "page.pdf"
        written.write_text(write_cover(preset, config, root), encoding="utf-8")
        print_page(program, written, sheet, "the cover")
        joined.append(sheet, outline_item="Cover")
        for page in [name for name in toc_pages(toc) if not LEFT_OUT.fullmatch(name)]:
            written.write_text(prepare_page(page, book), encoding="utf-8")
            print_page(program, written, sheet, page)
            # A page has one bookmark, and not one for each heading.
            item = Path(page).name.replace("_", " ")
            joined.append(sheet, outline_item=item, import_outline=False)
    joined.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    number_pages(joined, f"{config['title'].partition(':')[0]}, preset {preset}")
    joined.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    with atomic_path(done) as part:
        joined.write(part)
    return done


def find_browser() -> str:
    """Return the path of the first of `BROWSERS` that is installed; BadInput if none is."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        raise BadInput(f"no PDF: it needs one of {', '.join(BROWSERS)} on the PATH")
    return found


def write_cover(preset: str, config: dict[str, str], root: Path) -> str:
    """Return the cover as HTML."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    commit = provenance.commit() or {"id": "unknown", "dirty": False}
    name, _, subtitle = config["title"].partition(": ")
    words = {
        "title": config["title"],
        "name": name,
        "subtitle": subtitle.capitalize(),
        "author": config["author"],
        "version": project["project"]["version"],
        "commit": f"{commit['id']}{' with changes' if commit['dirty'] else ''}",
        "preset": preset,
        "copyright": config["copyright"],
    }
    return COVER.format_map({key: html.escape(word) for key, word in words.items()})


def prepare_page(page: str, book: Path) -> str:
    """Return the HTML of a built page with the styles and the formulas of print."""
    path = book / f"{page}.html"
    # The page is printed from another folder, and its links begin at this base.
    head = f'<head><base href="{path.as_uri()}">'
    text = path.read_text(encoding="utf-8").replace("<head>", head, 1)
    text = MATHJAX.sub(f'src="{FORMULAS.as_uri()}"', text)
    style = STYLE + HIDDEN.get(page, "")
    return text.replace("</head>", f"{style}</head>", 1)


def print_page(program: str, page: Path, sheet: Path, name: str) -> None:
    """Print the HTML file ``page`` to the PDF file ``sheet``.

    Raises:
        BadInput: If the browser does not write a PDF within `SECONDS`.
    """
    sheet.unlink(missing_ok=True)
    words = [program, "--headless", "--disable-gpu", "--no-pdf-header-footer"]
    # Chromium refuses to start a sandbox for root.
    words += ["--no-sandbox"] if os.geteuid() == 0 else []
    words += [
        # Tags refer to a tree that is lost when the files are joined.
        "--disable-pdf-tagging",
        # MathJax has a minute to draw the formulas.
        "--virtual-time-budget=60000",
        # The page loads scripts and fonts from other files.
        "--allow-file-access-from-files",
        # The browser keeps its own files in the temporary folder.
        f"--user-data-dir={page.parent}",
        f"--print-to-pdf={sheet}",
        page.as_uri(),
    ]
    try:
        subprocess.run(words, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise BadInput(f"no PDF: {program} printed no {name} in {SECONDS} s") from None
    if not sheet.is_file():
        raise BadInput(f"no PDF: {program} printed no {name}")


def round_curve(line: re.Match[bytes]) -> bytes:
    """Return a piece of a curve, found by `CURVE`, whose numbers have at most one decimal."""
    return re.sub(rb"-?\d*\.\d{2,}", lambda m: b"%.1f" % float(m[0]), line[0])


def number_pages(joined: PdfWriter, line: str) -> None:
    """Write ``line`` and the number of the page below each page, and round the curves that a page draws."""
    # Every program that shows PDF has this font.
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    font_reference = joined._add_object(font)
    for i, page in enumerate(joined.pages, 1):
        resources: Any = page["/Resources"]
        fonts = resources.get_object().setdefault(NameObject("/Font"), DictionaryObject())
        fonts.get_object()[NameObject("/Line")] = font_reference
        # The font's encoding is cp1252.
        said = f"{line} \u00b7 {i}".encode("cp1252").hex()
        # A letter is about 3.5 points wide.
        letters = len(said) / 2
        x = float(page.mediabox.width) / 2 - 3.5 * letters / 2
        old = page.get_contents()
        data = b"" if old is None else old.get_data()
        # In Chromium's units, about a quarter of a point, a second decimal is invisible.
        drawn = CURVE.sub(round_curve, data)
        # The operators q and Q restore the settings for the footer, 24 points above the lower edge.
        footer = f" Q q BT /Line 7 Tf 0.4 g {x:.1f} 24 Td <{said}> Tj ET Q".encode()
        new = DecodedStreamObject()
        new.set_data(b"q " + drawn + footer)
        page.replace_contents(new.flate_encode())
