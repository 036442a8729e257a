"""Write the tree that jupyter-book reads: pages, executed notebooks, and the parts that `pages.md.j2` writes.

Judged links are those of `icl_book.site.audit`, and twins those of `icl_book.site.machines`.
"""

from __future__ import annotations

import ast
import html
import itertools
import json
import math
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from icl_book import repository
from icl_book.claims import Claim, Grade, Verdict
from icl_book.claims.card import KNOWN, badge
from icl_book.claims.claim import SOURCES, UNTESTED
from icl_book.claims.judge import OURS
from icl_book.markup import environment, mark, row_id, strip_tex, style_class
from icl_book.parameters import BadInput
from icl_book.provenance import CARD_MIME, NARROW_MIME
from icl_book.runner.record import cards, list_cases, list_outputs, read_json
from icl_book.site import audit, machines
from icl_book.site.card import render
from icl_book.site.markdown import list_drawings, list_terms, to_myst

BUILT_WITH = ("jupyter-book", "sphinx", "myst-nb", "papermill", "jupytext", "django-static-mathjax")
#: This script of MathJax draws formulas as outlines: it is one file and needs no fonts.
MATHJAX = "static/mathjax/es5/tex-svg-full.js"
#: The names of `icl` that come first on their page of the API.
WANTED = """Affine ReLU Cosine make_task population_risk optimal_window matrix_risk gaussian_risk
    monte_carlo_risk mismatch_risk UnitConfig pretrain loss gradient""".split()
#: Matches a caption, which begins with a bold title: the title and the other words.
CAPTION = re.compile(r"\*\*(.+?)\.?\*\* (.+?)(?:\n\n|\Z)", re.DOTALL)
#: The last text of each chapter that has a module in `icl_book.measurements`.
SOURCE = (
    "[The source of the other measurements of this page](../book/measurements.md#measurements-{})"
)
#: The front page shows the last interactive figure of this chapter.
FRONT = "attention_window"
#: The folder of the tree with the twins. Sphinx does not read a folder that begins with a dot.
TWINS = ".twins"
#: The README shows the first figure of this chapter.
PICTURE = "planet"


def stage(
    target: Path,
    notebooks: Mapping[str, Path],
    runs: Sequence[Mapping[str, Any]],
    claims: Mapping[str, Claim],
    root: Path,
) -> None:
    """Write the tree into the folder ``target``, in place of what is there.

    ``runs`` are the results of the notebooks, in the order of the table of contents.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        root / "book",
        target / "book",
        ignore=shutil.ignore_patterns("icl_book", "icl_rigor", "__pycache__"),
    )
    shutil.copy(root / "_toc.yml", target)
    (target / "_config.yml").write_text(repository.configuration(root), encoding="utf-8")
    static = target / "book" / "_static"
    generated = target / "book" / "_generated"
    (static / "mathjax").mkdir()
    (static / "narrow").mkdir()
    shutil.copy(Path(str(files("mathjax"))) / MATHJAX, static / "mathjax")

    glossary = root / "book" / "glossary.md"
    # A small book, as in tests, may lack it.
    terms = list_terms(glossary.read_text(encoding="utf-8")) if glossary.is_file() else {}
    found = context(claims, runs, root)
    by_claim = {audited.record["id"]: audited for audited in found["audited"]}
    sources = read_measurements(root, ["__init__", *(run["name"] for run in runs)])
    (target / "notebooks").mkdir()
    (generated / "gallery").mkdir(parents=True)
    for folder in ("book", "notebooks"):
        (target / TWINS / folder).mkdir(parents=True)
    titles = {}
    drawn = {}
    # This loop writes the pages of chapters.
    for run in runs:
        name = run["name"]
        own = cards([run])
        content = update_text(root / "notebooks" / f"{name}.py", read_json(notebooks[name]), own)
        for data in list_outputs(content):
            if evidence := data.get(CARD_MIME):
                record = own[evidence["id"]]
                data[CARD_MIME] = record
                data["text/html"] = render(record, on_a_page=True)
        # The twin is written before the text becomes MyST.
        (target / TWINS / "notebooks" / f"{name}.md").write_text(
            machines.write_twin(content), encoding="utf-8"
        )
        if name in sources:
            last = {"id": "measurements-source", "cell_type": "markdown", "metadata": {}}
            content["cells"].append(last | {"source": SOURCE.format(name)})
        for cell in content["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = to_myst(audit.resolve(cell["source"], own, write_link), terms)
        drawn[name] = move_captions(content, generated / "gallery", static / "narrow")
        if name == FRONT:
            (generated / "figure.html").write_text(find_interactive(content), encoding="utf-8")
        titles[name] = re.findall(r"^# (.+)$", content["cells"][0]["source"], re.MULTILINE)[0]
        (target / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")

    module = load_pages(
        **found,
        runs=runs,
        titles=titles,
        drawn=drawn,
        packages=list_exports(root),
        sources_of_measurements=sources,
        versions={what: v for run in runs for what, v in run["versions"].items()}
        | {"python": sys.version.split()[0]}
        | {name: version(name) for name in BUILT_WITH},
        cited=yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8")),
        home=repository.home(root),
        measured={p.stem: read_json(p) for p in (root / "benchmarks" / "results").glob("*.json")},
    )
    # A macro whose name begins with an underscore does not write a part.
    for name, macro in vars(module).items():
        if callable(macro) and not name.startswith("_"):
            (generated / f"{name}.md").write_text(str(macro()), encoding="utf-8")

    def link_to_chapter(card: audit.Record, number: str, case: str) -> str:
        page = f"../notebooks/{by_claim[card['id']].notebook}.html"
        return write_link(card, number, case, page)

    words = {
        "repository": repository.home(root) or "ADDRESS",
        "repository_name": repository.address(root).rsplit("/", 1)[-1],
        "home": _write_home(repository.home(root)),
        **write_sentences(module),
    }
    # Two pages say how many minutes the short path takes to read.
    if (short := target / "book" / "path.md").is_file():
        words["minutes"] = count_minutes(short.read_text(encoding="utf-8"), words)
    # This loop writes the other pages.
    for path in (target / "book").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        for word, said in words.items():
            # MyST would not replace words in blocks of code.
            text = text.replace(f"{{{{ {word} }}}}", said)
        twin = machines.write_page_twin(audit.renumber(text, cards(runs)), path.parent)
        (target / TWINS / "book" / path.name).write_text(twin, encoding="utf-8")
        # A page shows the figure of a chapter under another name.
        for name, figure in list_drawings(text).items():
            if (drawing := static / "narrow" / f"{figure}.svg").is_file():
                shutil.copy(drawing, static / "narrow" / f"{name}.svg")
        text = to_myst(audit.resolve(text, cards(runs), link_to_chapter), terms)
        path.write_text(text, encoding="utf-8")
    (static / "audit.json").write_text(audit.as_json(found["audited"]), encoding="utf-8")


def update_text(source: Path, executed: Mapping[str, Any], own: audit.Cards) -> dict[str, Any]:
    """Return an executed notebook with the text and the tags that its source has now.

    The text gets the numbers of ``own``, the records of the notebook's cards. The code cells of the source
    are those that were executed.
    """
    import jupytext

    node = jupytext.read(source)
    cells = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
    # Papermill may have added a cell with the preset's parameters.
    injected = [c for c in cells if "injected-parameters" in c["metadata"].get("tags", [])]
    done = iter([cell for cell in cells if cell not in injected])
    written: list[Any] = []
    for cell in node.cells:
        if cell["cell_type"] == "code":
            found = next(done)
            cell |= {key: found[key] for key in ("outputs", "execution_count")}
        else:
            cell["source"] = audit.renumber(cell["source"], own)
        written.append(cell)
        # The added cell stands below the notebook's own parameters.
        if "parameters" in cell["metadata"].get("tags", []):
            written += injected
    # JSON turns the cells of jupytext into plain dictionaries.
    content = {**executed, "cells": json.loads(json.dumps(written))}
    # Jupytext gives each cell a random id.
    for i, cell in enumerate(content["cells"]):
        cell["id"] = f"cell-{i:02d}"
    return content


def context(
    claims: Mapping[str, Claim], runs: Sequence[Mapping[str, Any]], root: Path
) -> dict[str, Any]:
    """Return two variables of the templates: the audited claims, and what further runs found."""
    return {"audited": audit.audit_claims(claims, runs), "reruns": audit.read_reruns(root)}


def load_pages(**context: Any) -> Any:
    """Return the template `pages.md.j2`, with the variables ``context``, as a module of macros."""
    # The filters of the environment must not change.
    made = environment().overlay()
    made.filters = made.filters | {
        "line": _join_lines,
        "cell": _write_cell,
        "machine": _write_machine,
        "list_cases": list_cases,
    }
    known = {
        "verdict_order": list(map(str, Verdict)),
        "badges": _list_badges(),
        "grade_order": list(map(str, Grade)),
        "apart": list(audit.APART),
        "untested": list(map(str, UNTESTED)),
        "ours": OURS,
        "groups": audit.NAMES,
        "sources": list(SOURCES.values()),
    }
    return made.get_template("site/pages.md.j2").make_module(known | context)


def _list_badges() -> list[tuple[str, list[str]]]:
    """Return pairs of a verdict and a list of grades, empty for all, whose claims pages count apart.

    The verdict *established* has a pair for each word of `KNOWN`.
    """
    grades_of_words: dict[str, list[str]] = {}
    for grade, word in KNOWN.items():
        grades_of_words.setdefault(word, []).append(str(grade))
    found: list[tuple[str, list[str]]] = []
    for verdict in Verdict:
        if verdict is Verdict.ESTABLISHED:
            found += [(str(verdict), grades) for grades in grades_of_words.values()]
        else:
            found.append((str(verdict), []))
    return found


def _write_home(url: str | None) -> str:
    """Return a sentence that says where the repository is published, or that it is not."""
    if url:
        return f"The repository is at <{url}>."
    return (
        "The repository has no public address yet, so that ADDRESS on this page stands for wherever your "
        "copy of it lies."
    )


def write_sentences(module: Any) -> dict[str, str]:
    """Return the sentences that replace words in braces on pages, by the word."""
    # A word in braces need not have the name of its macro.
    macros = {"verdicts": "tested", "tested": "short"}
    macros |= {name: name for name in "disagreeing refuted rerun faulty withdrawn opening".split()}
    return {word: _join_lines(str(getattr(module, macro)())) for word, macro in macros.items()}


def count_minutes(page: str, words: Mapping[str, str]) -> str:
    """Return how many minutes it takes to read a page, at 200 words a minute."""
    # Above the title a page has only its settings.
    body = page.partition("\n# ")[2]
    # A word in braces that is unknown counts as one word.
    body = re.sub(r"\{\{ (\w+) \}\}", lambda m: words.get(m[1], "0"), body)
    # The addresses of links are not read.
    body = re.sub(r"\]\((?:<[^>]*>|[^)]*)\)", "", body)
    return str(math.ceil(len(body.split()) / 200))


def write_link(card: audit.Record, text: str, case: str, page: str = "") -> str:
    """Return a link to a card, or to the row of a case on the card, as inline HTML.

    ``text`` is a verdict, a mark, a number or words. ``page`` is the page with the card, by default the page
    with the link.
    """
    claim, verdict = card["id"], card["verdict"]
    word = badge(verdict, card["grade"])
    target = row_id(claim, case) if case else f"claim-{claim}"
    # Hovering over the link shows this.
    said = html.escape(f"{strip_tex(card['title'])}: {word}")
    # Words other than a verdict or a mark are an ordinary link.
    look = {verdict: "icl-badge", mark(verdict): "icl-mark"}.get(text)
    text = word if text == verdict else text
    css = f"icl-judged {look} {style_class(verdict)}" if look else "icl-judged"
    # Screen readers say this.
    name = said if look else f"{html.escape(text)} ({said})"
    return f'<a class="{css}" href="{page}#{target}" title="{said}" aria-label="{name}">{text}</a>'


def move_captions(content: dict[str, Any], folder: Path, narrow: Path) -> list[dict[str, str]]:
    """Move captions into the metadata of the cells that draw the figures, where MyST-NB reads them.

    A cell that draws a figure has the metadata ``figure``. The text cell below begins with the caption. The
    drawings are written into ``folder``, those for narrow screens into ``narrow``.

    Returns:
        For each figure its ``name``, ``title``, ``alt`` and ``caption``, which is without the title.

    Raises:
        BadInput: If a figure does not have a caption.
    """
    drawn = []
    for cell, below in itertools.pairwise(content["cells"]):
        if not (figure := cell["metadata"].get("figure")):
            continue
        name = figure["name"]
        alt = " ".join(figure["alt"].split())
        if below["cell_type"] != "markdown" or not (found := CAPTION.match(below["source"])):
            raise BadInput(f"figure {name}: the text below it must begin with a bold title")
        title, words = found.groups()
        caption = " ".join(found[0].split())
        settings = cell["metadata"].setdefault("mystnb", {})
        settings |= {"figure": {"caption": caption, "name": name}, "image": {"alt": alt}}
        below["source"] = below["source"][found.end() :]
        for data in list_outputs({"cells": [cell]}):
            if drawing := data.get("image/svg+xml"):
                (folder / f"{name}.svg").write_text("".join(drawing), encoding="utf-8")
                drawn.append({"name": name, "title": title, "alt": alt, "caption": words})
            if drawing := data.get(NARROW_MIME):
                (narrow / f"{name}.svg").write_text("".join(drawing), encoding="utf-8")
    content["cells"] = [cell for cell in content["cells"] if "".join(cell["source"]).strip()]
    return drawn


def find_interactive(content: Mapping[str, Any]) -> str:
    """Return the HTML of the last interactive figure of an executed notebook; empty if it has none."""
    pieces = ["".join(data.get("text/html", "")) for data in list_outputs(content)]
    return next((piece for piece in reversed(pieces) if "icl-interactive" in piece), "")


def read_measurements(root: Path, notebooks: Sequence[str]) -> dict[str, str]:
    """Return the source of each module of `icl_book.measurements` that has the name of a notebook."""
    folder = root / "book" / "icl_book" / "measurements"
    found = {name: folder / f"{name}.py" for name in notebooks}
    return {
        name: path.read_text(encoding="utf-8").rstrip()
        for name, path in found.items()
        if path.is_file()
    }


def list_exports(root: Path) -> dict[str, dict[str, Any]]:
    """Return for each package directly in `icl`, by its name, what the pages of the API show.

    ``names`` are exported, those of `WANTED` first. ``kinds`` has a pair for each that is not a constant:
    ``class`` or ``function``, and the name. ``modules`` are not private.
    """
    found = {}
    for package in sorted((root / "icl").glob("*/__init__.py")):
        listed = re.search(
            r"^__all__ = (\[.*?\])", package.read_text(encoding="utf-8"), re.M | re.S
        )
        # The package is not imported. `icl.compiled` does not export a name.
        names = sorted(
            ast.literal_eval(listed[1]) if listed else [], key=lambda name: name not in WANTED
        )
        kinds = [("class" if n[0].isupper() else "function", n) for n in names if not n.isupper()]
        modules = [path.stem for path in sorted(package.parent.glob("[!_]*.py"))]
        found[package.parent.name] = {"kinds": kinds, "names": names, "modules": modules}
    return found


def _join_lines(markdown: str) -> str:
    return " ".join(markdown.split())


def _write_machine(machine: Mapping[str, Any]) -> str:
    return f"{machine['cores']} cores, {machine['cpu']}"


def _write_cell(markdown: str) -> str:
    return _join_lines(markdown).replace("|", "\\|")
