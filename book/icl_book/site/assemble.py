"""Build the book from executed notebooks: write the tree of sources, run jupyter-book, and verify the pages.

The finished book is `_build/book/<preset>/index.html`. A build that fails never replaces the last good book.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from icl_book import provenance, repository
from icl_book.claims import registry
from icl_book.files import write_atomically
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import process
from icl_book.runner.plan import plan
from icl_book.runner.record import cards, collect, extract_results, list_outputs, read, read_json
from icl_book.site import audit, machines, second, stage, verify


def hash_book(preset: str, notebooks: Mapping[str, Path], root: Path = ROOT) -> str:
    """Return the digest of everything the book is made from."""
    inputs = (
        "_config.yml _toc.yml CITATION.cff book/**/* icl/**/*.py requirements.lock results/*.csv"
    )
    inputs += " benchmarks/results/*.json notebooks/*.py"
    words = [
        preset,
        sys.version,
        repository.address(root),
        provenance.fingerprint(root, inputs.split()),
    ]
    for name in sorted(notebooks):
        words += [name, hashlib.sha256(notebooks[name].read_bytes()).hexdigest()]
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def gather(
    notebooks: Mapping[str, Path], toc: dict[str, Any], preset: str, root: Path = ROOT
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the results of the notebooks in the order of ``toc``, and the problems found.

    If a notebook is only in ``toc`` or only in ``notebooks``, there are no results. Pages quote numbers of
    the preset ``quick``. So the links to these numbers, and the second computations, are checked only for
    this preset.

    Raises:
        BadInput: If a notebook is damaged, or must run again for today's claims.
    """
    wanted = [
        d.removeprefix("notebooks/") for d in verify.toc_pages(toc) if d.startswith("notebooks/")
    ]
    if apart := sorted(set(wanted) ^ set(notebooks)):
        allowed = "must be both in _toc.yml and in the folder notebooks"
        return [], [f"notebooks/{name}: {allowed}" for name in apart]
    contents = {f"notebooks/{name}": read(notebooks[name]) for name in wanted}
    runs = list(map(extract_results, contents.values()))
    problems = verify.check_cards(runs, registry()) + verify.check_implications(registry())
    if problems or preset != "quick":
        return runs, problems
    computed = second.read_committed(root)
    for page in second.PAGES:
        # A small book, as in tests, may have fewer pages.
        if (path := root / "book" / f"{page}.md").is_file():
            text = path.read_text(encoding="utf-8")
            found = audit.find_broken_links(text, cards(runs))
            # Numbers are compared only if every link of the page leads to a case.
            if not found:
                found = second.find_unconfirmed(text, cards(runs), computed)
            problems += [f"book/{page}: {one}" for one in found]
    # A chapter may link only to its own cards.
    for where, run in zip(contents, runs, strict=True):
        text = (root / f"{where}.py").read_text(encoding="utf-8")
        problems += [
            f"{where}: {problem}" for problem in audit.find_broken_links(text, cards([run]))
        ]
    return runs, problems


#: The code of the command jupyter-book.
JUPYTER_BOOK = """
from icl_book import lean
with lean.program():
    from jupyter_book.cli.main import main
    main()
"""
#: The code that runs Sphinx. It fails if anything imports jupyter-book.
PLAIN = """
import sys
from icl_book import lean
with lean.program():
    sys.modules["jupyter_book"] = None
    from sphinx.cmd.build import main
    sys.exit(main(sys.argv[1:]))
"""


def run_sphinx(source: Path, output: Path, plain: bool = False) -> Path:
    """Make pages from the tree that `stage` wrote, and return their folder.

    If ``plain``, Sphinx runs alone, with the settings of ``.ci/conf.py``.

    Raises:
        BadInput: If the program fails or warns. The message has the warnings, or says that the disk is full.
    """
    shutil.rmtree(output, ignore_errors=True)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "book")])
    pages = output / "_build" / "html"
    if plain:
        shutil.copy(ROOT / ".ci" / "conf.py", source)
        words = ["-c", PLAIN, "-b", "html", str(source), str(pages)]
    else:
        words = ["-c", JUPYTER_BOOK, "build", str(source), "--path-output", str(output)]
    words += ["-W", "--keep-going", "--quiet"]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "agg", "NO_COLOR": "1", "PYTHONPATH": paths},
        check=False,
    )
    if done.returncode:
        # Sphinx colors its output despite NO_COLOR.
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr).splitlines()
        if full := [line for line in said if f"[Errno {errno.ENOSPC}]" in line]:
            raise BadInput(f"the book is not built: {full[-1].strip()}")
        warnings = [line for line in said if "WARNING" in line or "ERROR" in line]
        raise BadInput("\n".join(warnings or said[-15:] or ["Sphinx failed without a word"]))
    return pages


def swap(new: Path, place: Path) -> None:
    """Move the finished folder ``new`` to ``place``, and remove the folder that was there before."""
    place.parent.mkdir(parents=True, exist_ok=True)
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def build(
    preset: str, notebooks: Mapping[str, Path], root: Path = ROOT, plain: bool = False
) -> Path:
    """Build the book, verify it, and return the path of its first page.

    If ``plain``, Sphinx builds the book alone, into the folder ``<preset>-plain``.

    Raises:
        BadInput: If anything is wrong. The last good book stays as it is.
    """
    name = f"{preset}-plain" if plain else preset
    site = root / "_build" / "site" / name
    place = root / "_build" / "book" / name
    (root / "_build").mkdir(exist_ok=True)
    with process.locked(root / "_build" / f".lock-site-{name}"):
        start = time.perf_counter()

        def say(text: str) -> None:
            print(f"[{time.perf_counter() - start:5.1f} s] book: {text}", flush=True)

        digest = hash_book(preset, notebooks, root)
        stamp = place / ".digest"
        if plain:
            digest += provenance.fingerprint(ROOT, [".ci/conf.py"])
        if stamp.is_file() and stamp.read_text() == digest:
            say("nothing has changed")
            return place / "index.html"
        say(f"staging {len(notebooks)} executed notebooks")
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        runs, problems = gather(notebooks, toc, preset, root)
        _raise_problems(problems)
        stage.stage(site, notebooks, runs, registry(), root)
        road = "Sphinx without jupyter-book" if plain else "jupyter-book"
        say(f"{road}, {len(verify.toc_pages(toc))} pages, warnings are errors")
        html = run_sphinx(site, site.with_name(f"{name}.html"), plain)
        say("verifying pages")
        _raise_problems(verify.check_book(html, toc, runs))
        title = yaml.safe_load((root / "_config.yml").read_text("utf-8"))["title"]
        machines.write(html, site / stage.TWINS, toc, title)
        (html / ".digest").write_text(digest)
        swap(html, place)
        say("done")
    return place / "index.html"


def find_finished(preset: str, root: Path = ROOT) -> dict[str, Path]:
    """Return the executed notebooks, by name, of the last book of a preset.

    Raises:
        BadInput: If the book is missing, or if anything it is made from has changed since it was built.
    """
    place, command = root / "_build" / "book" / preset, f"make book PRESET={preset}"
    if not place.is_dir():
        raise BadInput(f"there is no book of the preset {preset!r}; run: {command}")
    notebooks = {run.name: run.path for run in plan(preset)}
    stamp = place / ".digest"
    if not (
        all(path.is_file() for path in notebooks.values())
        and stamp.is_file()
        and stamp.read_text() == hash_book(preset, notebooks, root)
    ):
        raise BadInput(
            f"the book of the preset {preset!r} is older than its pages, code or results; run: {command}"
        )
    return notebooks


def _raise_problems(problems: list[str]) -> None:
    if problems:
        raise BadInput("\n".join(["the book is not built", *problems]))


def renumber_texts(runs: Sequence[Mapping[str, Any]], root: Path = ROOT) -> dict[Path, str]:
    """Return the texts of README.md, pages and chapters by path, with the numbers of these runs.

    In README.md the sentences between ``verdicts:begin`` and ``verdicts:end`` are written anew, and in all
    texts the judged links (see `icl_book.site.audit`).
    """
    module = stage.load_pages(**stage.context(registry(), runs, root))
    text = (root / "README.md").read_text(encoding="utf-8")
    block = re.compile(r"(<!-- verdicts:begin -->\n).*?(<!-- verdicts:end -->)", re.DOTALL)
    text = block.sub(lambda m: f"{m[1]}{module.readme()}{m[2]}", text)
    found = {root / "README.md": audit.renumber(text, cards(runs))}
    # A chapter may link only to its own cards.
    sources = {path: cards(runs) for path in sorted((root / "book").glob("*.md"))}
    sources |= {root / "notebooks" / f"{run['name']}.py": cards([run]) for run in runs}
    for path, own in sources.items():
        found[path] = audit.renumber(path.read_text(encoding="utf-8"), own)
    return found


def find_outdated(runs: Sequence[Mapping[str, Any]], root: Path = ROOT) -> dict[Path, str]:
    """Return those of the texts of `renumber_texts` that differ from the files at their paths."""
    found = renumber_texts(runs, root)
    return {path: text for path, text in found.items() if path.read_text("utf-8") != text}


def write_readme(root: Path = ROOT) -> None:
    """Write the picture of README.md, and the quick runs' numbers of README.md, pages and chapters."""
    files = {run.name: run.path for run in plan("quick")}
    runs = [collect(path) for path in files.values()]
    for path, text in find_outdated(runs, root).items():
        write_atomically(path, text)
        print(f"wrote {os.path.relpath(path)}")
    drawings = [data.get("image/svg+xml") for data in list_outputs(read_json(files[stage.PICTURE]))]
    picture = next(drawing for drawing in drawings if drawing)
    write_atomically(root / "book" / "_static" / "picture.svg", "".join(picture))
