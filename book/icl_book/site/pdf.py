"""The book as one PDF, printed by Chromium: ``python -m icl_book.site.pdf --preset quick``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from icl_book.provenance import ROOT
from icl_book.site.assemble import BookError, sphinx

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
    """Print the book that was built last as ``_build/book/<preset>.pdf``.

    Args:
        preset: Its preset.
        root: The repository.

    Returns:
        The PDF.

    Raises:
        BookError: If there is no book or no browser, or either program fails.
    """
    program = browser()
    site, target = root / "_build" / "site" / preset, root / "_build" / "book" / f"{preset}.pdf"
    if not (site / "_toc.yml").is_file():
        raise BookError(f"there is no book of the preset {preset!r} yet; run: make book PRESET={preset}")
    page = sphinx(site, root / "_build" / "site" / f"{preset}.singlehtml", "singlehtml") / "book"
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-pdf-header-footer",
            "--allow-file-access-from-files",
        ]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses a sandbox to root
        # The clock of the page, not of the machine: as long as formulas are being drawn it stands still.
        command += [
            f"--user-data-dir={profile}",
            "--virtual-time-budget=600000",
            f"--print-to-pdf={target}.new",
        ]
        done = subprocess.run(
            [*command, (page / "introduction.html").as_uri()], capture_output=True, text=True, check=False
        )
    if done.returncode or not Path(f"{target}.new").is_file():
        raise BookError("\n".join(["the browser printed nothing", *done.stderr.splitlines()[-3:]]))
    os.replace(f"{target}.new", target)
    return target


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
