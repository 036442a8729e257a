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
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import yaml

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.lock import alone

BUILT_WITH = ("jupyter-book", "sphinx", "myst-nb", "papermill", "jupytext", "django-static-mathjax")


class BookError(Exception):
    """The book cannot be built; the message says why, a line for each reason."""


def digest(preset: str, notebooks: Mapping[str, Path], root: Path = ROOT) -> str:
    """Digest of everything the book is made from."""
    patterns = [
        "_config.yml",
        "_toc.yml",
        "book/**/*",
        "icl/**/*.py",
        "requirements.lock",
        "results/*/*.json",
    ]
    files = {
        p.relative_to(root).as_posix(): p
        for pattern in patterns
        for p in root.glob(pattern)
        if p.is_file() and "__pycache__" not in p.parts
    }
    files |= {f"notebooks/{name}": path for name, path in notebooks.items()}
    total = hashlib.sha256(f"{preset} {sys.version}".encode())
    for name in sorted(files):
        total.update(f"\0{name}\0{hashlib.sha256(files[name].read_bytes()).hexdigest()}".encode())
    return total.hexdigest()


def gather(notebooks: Mapping[str, Path], toc: dict, preset: str) -> tuple[list[dict], dict, list[str]]:
    """Read the executed notebooks.

    Returns:
        What `icl_book.runner.record.collect` says of each, the registry, and the problems found.
    """
    from icl_book import claims
    from icl_book.runner.record import read, record
    from icl_book.site import verify

    wanted = [d.removeprefix("notebooks/") for d in verify.toc_pages(toc) if d.startswith("notebooks/")]
    problems = [
        f"notebooks/{n}: in _toc.yml, but no executed notebook was given"
        for n in wanted
        if n not in notebooks
    ]
    problems += [f"notebooks/{n}: given, but not in _toc.yml" for n in notebooks if n not in wanted]
    collected = []
    for name in (n for n in wanted if n in notebooks):
        try:
            content = read(notebooks[name])
            problems += verify.notebook(name, content)
            collected.append(record(content))
        except BadInput as error:
            problems.append(f"notebooks/{name}: {error}")
    registry = claims.registry()
    if not problems:
        problems = verify.cards(collected, registry, tolerate_inconclusive=preset == "smoke")
        problems += verify.rules(registry, sorted((ROOT / "notebooks").glob("*.py")))
    return collected, registry, problems


def stage(
    target: Path, notebooks: Mapping[str, Path], collected: list[dict], registry: dict, root: Path = ROOT
) -> None:
    """Write the tree that jupyter-book reads: prose, executed notebooks, generated pages, MathJax."""
    from icl_book.claims import changes
    from icl_book.runner.record import read_json
    from icl_book.site import audit, pages, picture, sources

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book", target / "book", ignore=shutil.ignore_patterns("icl_book", "__pycache__"))
    shutil.copy(root / "_toc.yml", target)
    shutil.copy(root / "_config.yml", target)
    url = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    for path in (target / "book").glob("*.md"):  # MyST does not substitute inside code blocks
        text = path.read_text(encoding="utf-8").replace("{{ repository }}", url)
        path.write_text(text.replace("{{ repository_name }}", url.rsplit("/", 1)[-1]), encoding="utf-8")
    (target / "notebooks").mkdir()
    executed = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in notebooks.items()}
    names = sources.Names((code for content in executed.values() for code in sources.code(content)), root)
    titles = {}
    for name, content in executed.items():
        sources.annotate(content, names)
        titles[name] = re.search(r"^# (.+)$", "".join(content["cells"][0]["source"]), re.MULTILINE)[1]
        for output in (o for cell in content["cells"] for o in cell.get("outputs", [])):
            for mime in [m for m in output.get("data", {}) if m.startswith("application/vnd.icl.")]:
                del output["data"][mime]  # records for machines; the page shows their HTML
        (target / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")

    mathjax = Path(next(iter(find_spec("mathjax").submodule_search_locations))) / "static/mathjax"
    static = target / "book" / "_static" / "mathjax"
    static.mkdir(parents=True)
    shutil.copy(mathjax / "es5" / "tex-svg-full.js", static)
    shutil.copy(mathjax / "LICENSE", static)

    kinds = ("confirmatory", "replications")
    again, repeated = ([read_json(p) for p in sorted((root / "results" / k).glob("*.json"))] for k in kinds)
    found = audit.entries(registry, collected, again)
    built = {"python": sys.version.split()[0]} | {name: version(name) for name in BUILT_WITH}
    generated = target / "book" / "_generated"
    generated.mkdir()
    for name, text in {
        "picture": picture.markdown(generated / "picture.svg"),
        "verdicts": pages.verdict_table(found),
        **{f"counts-{name}": audit.tally(found, name) for name in audit.GROUPS},
        "levels": audit.levels(found),
        "confirmatory": audit.confirmatory(found, again),
        "replications": audit.replications(repeated),
        "changelog": audit.changelog(changes.changes()),
        "sources": audit.sources(),
        "audit": audit.page(found, titles.__getitem__),
        "provenance": pages.provenance(collected, built),
        "api": pages.api(names),
    }.items():
        (generated / f"{name}.md").write_text(text, encoding="utf-8")
    for name, text in {
        "audit.json": audit.as_json(found, changes.digest()),
        "audit.schema.json": json.dumps(audit.SCHEMA, indent=1) + "\n",
    }.items():
        (target / "book" / "_static" / name).write_text(text, encoding="utf-8")


def sphinx(source: Path, output: Path) -> Path:
    """Run jupyter-book with warnings as errors; return the folder of pages.

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
            "-W",
            "--keep-going",
            "--quiet",
        ],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    html = output / "_build" / "html"
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
    with alone(root / "_build" / f".lock-site-{preset}", f"pages of the book, {preset}"):
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
    collected, registry, problems = gather(notebooks, toc, preset)
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
    from icl_book.site import audit, pages, picture

    files = [run.path for run in plan("quick")]
    if missing := [f.name for f in files if not f.is_file()]:
        raise BookError(f"{missing[0]}: no quick results for the present sources; run: make book")
    results = [collect(f) for f in files]
    path = root / "README.md"
    text = pages.readme(path.read_text(encoding="utf-8"), audit.entries(claims.registry(), results))
    write_atomically(path, text)
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
