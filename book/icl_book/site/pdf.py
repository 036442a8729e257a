"""The book as one PDF, its pages printed by Chromium: ``python -m icl_book.site.pdf PRESET``."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from pypdf import PdfReader, PdfWriter

from icl_book import process
from icl_book.provenance import ROOT
from icl_book.site.verify import toc_pages

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 300  # the longest that printing a page may take; Chromium can hang


def pdf(preset: str, root: Path = ROOT) -> Path:
    """Print the pages of the book that was built last and join them, with an outline.

    Raises:
        SystemExit: If there is no book or no browser, or a page cannot be printed.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    book = root / "_build" / "book" / preset
    if not program:
        sys.exit(f"pdf: not made; it needs one of {', '.join(BROWSERS)} on the PATH")
    if not book.is_dir():
        sys.exit(
            f"pdf: not made; there is no book of the preset {preset!r}; run: make book PRESET={preset}"
        )
    joined, done = PdfWriter(), book.with_suffix(".pdf")
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "page.pdf"
        words = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--print-to-pdf={sheet}",
        ]
        words += (
            ["--no-sandbox"] if os.geteuid() == 0 else []
        )  # Chromium refuses a sandbox to root
        words += [
            "--virtual-time-budget=60000",
            f"--user-data-dir={folder}",
        ]  # formulas are drawn first
        for page in toc_pages(
            yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        ):
            command = [*words, (book / f"{page}.html").as_uri()]
            try:
                subprocess.run(
                    command, capture_output=True, check=False, timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                sys.exit(f"pdf: not made; {program} printed no {page} in {SECONDS} s")
            if not sheet.is_file():
                sys.exit(f"pdf: not made; {program} printed no {page}")
            joined.append(
                sheet,
                outline_item=Path(page).name.replace("_", " "),
                import_outline=False,
            )
            sheet.unlink()
        title = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
        joined.add_metadata({"/Title": title["title"], "/Author": title["author"]})
        number(joined, f"{title['title']}, preset {preset}")
        joined.write(done.with_suffix(".pdf.new"))
    os.replace(done.with_suffix(".pdf.new"), done)
    return done


def number(joined: PdfWriter, line: str) -> None:
    """Write a line and the page's number below each page."""
    from matplotlib.figure import Figure

    for i, page in enumerate(joined.pages, 1):
        width, height = (
            float(size) / 72 for size in (page.mediabox.width, page.mediabox.height)
        )
        figure, sheet = Figure((width, height)), io.BytesIO()
        figure.text(0.5, 0.02, f"{line} · {i}", ha="center", size=7, color="0.4")
        figure.savefig(sheet, format="pdf", transparent=True)
        page.merge_page(PdfReader(sheet).pages[0])


if __name__ == "__main__":
    process.prepare()
    print(pdf(sys.argv[1]))
