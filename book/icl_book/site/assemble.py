"""Build the book from executed notebooks: stage, generate, run jupyter-book, verify, swap in.

    python -m icl_book.site.assemble --preset quick theorem2_scaling=PATH.ipynb tensor_trick=PATH.ipynb
    python -m icl_book.site.assemble --readme

The finished book is `_build/book/<preset>/index.html`. A build that fails, or whose pages
do not pass `verify`, never replaces the last good one. With all inputs unchanged it
returns at once.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import yaml
from filelock import FileLock

from icl_book import repository
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site.stage import stage


class BookError(Exception):
    """The book cannot be built; the message says why, a line for each reason."""


def digest(preset: str, notebooks: Mapping[str, Path], root: Path = ROOT) -> str:
    """Digest of everything the book is made from."""
    inputs = "_config.yml _toc.yml book/**/* icl/**/*.py requirements.lock results/*/*.json"
    inputs += " benchmarks/results/*.json"
    files = {
        p.relative_to(root).as_posix(): p
        for pattern in inputs.split()
        for p in root.glob(pattern)
        if p.is_file() and "__pycache__" not in p.parts
    }
    files |= {f"notebooks/{name}": path for name, path in notebooks.items()}
    total = hashlib.sha256(f"{preset} {sys.version} {repository.address(root)}".encode())
    for name in sorted(files):
        total.update(f"\0{name}\0{hashlib.sha256(files[name].read_bytes()).hexdigest()}".encode())
    return total.hexdigest()


def gather(
    notebooks: Mapping[str, Path], toc: dict, preset: str, root: Path = ROOT
) -> tuple[list[dict], dict, list[str]]:
    """Read the executed notebooks.

    What was drawn from another root seed than 0, is of another preset, or has parameters of the caller's own
    does not belong in the book.

    Returns:
        What `icl_book.runner.record.collect` says of each, the registry, and the problems found.
    """
    from icl_book import claims
    from icl_book.runner.record import read, record
    from icl_book.site import findings, judged, verify

    wanted = [d.removeprefix("notebooks/") for d in verify.toc_pages(toc) if d.startswith("notebooks/")]
    problems = [
        f"notebooks/{n}: in _toc.yml, but no executed notebook was given"
        for n in wanted
        if n not in notebooks
    ]
    problems += [f"notebooks/{n}: given, but not in _toc.yml" for n in notebooks if n not in wanted]
    collected, answers = [], {}
    for name in (n for n in wanted if n in notebooks):
        try:
            content = read(notebooks[name])
            problems += verify.notebook(name, content)
            answers[name] = judged.short_answer(content)
            collected.append(found := record(content))
            own = (found["preset"], found.get("root_seed"), found.get("exploring"))
            if own != (preset, 0, False):
                said = f"preset {own[0]}, root seed {own[1]}, exploring: {own[2]}"
                problems.append(f"notebooks/{name}: {said}; a book shows its preset, drawn from root seed 0")
        except BadInput as error:
            problems.append(f"notebooks/{name}: {error}")
    registry = claims.registry()
    if not problems:
        problems = verify.cards(collected, registry, preset)
        problems += verify.rules(registry, sorted((root / "notebooks").glob("*.py")))
    if not problems and preset == "quick":  # of other sizes a sentence does not speak
        front = {f"finding {name}": text for name, text in findings.FINDINGS if name in answers}
        problems = judged.book(answers, collected, root / "results", front)
        page = (root / "README.md").read_text(encoding="utf-8") if front else ""
        if findings.readme(page, collected) != page:
            problems.append("README.md: the findings moved; run: python -m icl_book.site.assemble --readme")
    return collected, registry, problems


def sphinx(source: Path, output: Path, builder: str = "html") -> Path:
    """Run jupyter-book; return the folder of pages.

    Args:
        source: The staged tree.
        output: Where it works; what is there is deleted.
        builder: ``"html"``, with warnings as errors, or ``"singlehtml"``.

    Raises:
        BookError: If it fails or warns; the message carries the warnings.
    """
    shutil.rmtree(output, ignore_errors=True)
    environment = os.environ | {
        "MPLBACKEND": "agg",
        "NO_COLOR": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "book")]),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.modules['rfc3987_syntax'] = None  # slow to import, unused\n"
            "from jupyter_book.cli.main import main; main()",
            "build",
            str(source),
            "--path-output",
            str(output),
            "--builder",
            builder,
            *(["-W"] if builder == "html" else []),
            "--keep-going",
            "--quiet",
        ],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    html = output / "_build" / builder
    if done.returncode:
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr).splitlines()  # Sphinx colors regardless
        warnings = [line for line in said if "WARNING" in line or "ERROR" in line]
        raise BookError("\n".join(warnings or said[-15:] or ["jupyter-book failed without a word"]))
    return html


def swap(new: Path, place: Path) -> None:
    """Put a finished book in place of the last one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def build(preset: str, notebooks: Mapping[str, Path], root: Path = ROOT) -> Path:
    """Build and verify the book.

    Args:
        preset: Name of the preset the notebooks ran with.
        notebooks: Executed notebook by name.
        root: The repository.

    Returns:
        The book's entry page.

    Raises:
        BookError: If anything is wrong; the last good book stays as it is.
    """
    (root / "_build").mkdir(exist_ok=True)
    with FileLock(root / "_build" / f".lock-site-{preset}"):
        return _build(preset, notebooks, root)


def _build(preset: str, notebooks: Mapping[str, Path], root: Path) -> Path:
    from icl_book.site import verify

    start = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - start:5.1f} s] book: {text}", flush=True)

    place = root / "_build" / "book" / preset
    missing = [f"{name}: no such file: {path}" for name, path in notebooks.items() if not path.is_file()]
    if missing:
        raise BookError("\n".join(missing))
    now, stamp = digest(preset, notebooks, root), place / ".digest"
    if stamp.is_file() and stamp.read_text() == now:
        say("nothing has changed")
        return place / "index.html"

    say(f"staging {len(notebooks)} executed notebooks")
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    collected, registry, problems = gather(notebooks, toc, preset, root)
    if problems:
        raise BookError("\n".join(problems))
    site = root / "_build" / "site" / preset
    stage(site, notebooks, collected, registry, root)
    say(f"jupyter-book, {len(verify.toc_pages(toc))} pages, warnings are errors")
    html = sphinx(site, root / "_build" / "site" / f"{preset}.html")
    say("verifying pages")
    if problems := verify.book(html, toc, collected):
        raise BookError("\n".join(problems))
    (html / ".digest").write_text(now)
    swap(html, place)
    say("done")
    return place / "index.html"


def readme(root: Path = ROOT) -> None:
    """Rewrite README.md's verdict block from the last quick results, and redraw its picture."""
    from icl.files import write_atomically
    from icl_book import claims
    from icl_book.runner.plan import plan
    from icl_book.runner.record import collect
    from icl_book.site import audit, findings, pages, picture

    files = [run.path for run in plan("quick")]
    if missing := [f.name for f in files if not f.is_file()]:
        raise BookError(f"{missing[0]}: no quick results for the present sources; run: make book")
    results = [collect(f) for f in files]
    path = root / "README.md"
    text = pages.readme(path.read_text(encoding="utf-8"), audit.entries(claims.registry(), results))
    write_atomically(path, findings.readme(text, results))
    picture.draw(root / "book" / "_static" / "picture.svg")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m icl_book.site.assemble", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--readme", action="store_true", help="rewrite README.md's verdict table and picture")
    parser.add_argument("notebooks", nargs="*", metavar="NAME=PATH.ipynb")
    options = parser.parse_args(arguments)
    try:
        if options.readme:
            readme()
            return 0
        pairs = [text.partition("=") for text in options.notebooks]
        if bad := [name for name, equals, path in pairs if not (name and equals and path)]:
            raise BookError(f"argument {bad[0]!r}: must look like NAME=PATH.ipynb")
        print(build(options.preset, {name: Path(path) for name, _, path in pairs}))
    except (BookError, BadInput) as error:
        print(f"book: not built\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
