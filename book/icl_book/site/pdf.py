"""The book as one PDF, its pages printed by Chromium: ``python -m icl_book.site.pdf --preset quick``.

Formulas are text, which can be searched and copied.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from icl_book.provenance import ROOT
from icl_book.site.assemble import BookError
from icl_book.site.stage import DRAWN, mathjax
from icl_book.site.verify import toc_pages

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser() -> str:
    """Return the path of a Chromium.

    Raises:
        BookError: If none is installed.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise BookError(f"a PDF needs one of {', '.join(BROWSERS)} on the PATH, and none is there")


def pdf(preset: str, root: Path = ROOT) -> Path:
    """Print the pages of the book that was built last and join them as ``_build/book/<preset>.pdf``.

    Args:
        preset: Its preset.
        root: The repository.

    Returns:
        The PDF, with an outline of the chapters.

    Raises:
        BookError: If there is no book or no browser, or a page cannot be printed.
    """
    from pypdf import PdfWriter

    program = browser()
    book = root / "_build" / "book" / preset
    if not (book / "index.html").is_file():
        raise BookError(f"there is no book of the preset {preset!r} yet; run: make book PRESET={preset}")
    pages = toc_pages(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    joined = PdfWriter()
    with tempfile.TemporaryDirectory() as folder:
        copy = _with_formulas_as_text(book, Path(folder) / "book")
        for i, page in enumerate(pages, 1):
            sheet = Path(folder) / f"{i}.pdf"
            _print(program, copy / f"{page}.html", sheet, Path(folder) / "profile")
            start = len(joined.pages)
            joined.append(sheet, import_outline=False)
            joined.add_outline_item(title=_title(book / f"{page}.html"), page_number=start)
            print(f"{i} of {len(pages)} pages printed: {page}", flush=True)
        joined.write(Path(folder) / "book.pdf")
        shutil.copy(Path(folder) / "book.pdf", target := book.with_suffix(".pdf.new"))
    os.replace(target, book.with_suffix(".pdf"))
    return book.with_suffix(".pdf")


def _with_formulas_as_text(book: Path, copy: Path) -> Path:
    """Copy a book, with the MathJax that sets formulas in fonts in place of the one that draws them."""
    es5 = mathjax() / "es5"
    shutil.copytree(book, copy, ignore=shutil.ignore_patterns("*.map"))
    shutil.copy(es5 / "tex-chtml-full.js", copy / "_static" / "mathjax" / DRAWN)
    fonts = Path("output/chtml/fonts/woff-v2")
    shutil.copytree(es5 / fonts, copy / "_static" / "mathjax" / fonts)
    return copy


def _print(program: str, page: Path, sheet: Path, profile: Path) -> None:
    words = [program, "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
    words += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses a sandbox to root
    # The clock of the page, not of the machine: as long as formulas are being drawn it stands still.
    words += ["--virtual-time-budget=60000", f"--print-to-pdf={sheet}", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or not sheet.is_file():
        raise BookError("\n".join([f"{page.name}: not printed", *done.stderr.splitlines()[-3:]]))


def _title(page: Path) -> str:
    """Return a page's first heading."""
    heading = re.search(
        r'<h1>(.*?)(?:<a class="headerlink"|</h1>)', page.read_text(encoding="utf-8"), re.DOTALL
    )
    return html.unescape(re.sub(r"<[^>]+>", "", heading[1])).strip() if heading else page.stem


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m icl_book.site.pdf", description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="quick")
    try:
        print(pdf(parser.parse_args(arguments).preset))
    except BookError as error:
        print(f"pdf: not made\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
