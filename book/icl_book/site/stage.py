"""The tree that jupyter-book reads: sources, executed notebooks, what `pages.md.j2` generates."""

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
from icl_book.runner.record import cards, list_cases, read_json, shown
from icl_book.site import audit, machines
from icl_book.site.card import render
from icl_book.site.markdown import list_drawings, list_terms, to_myst

BUILT_WITH = ("jupyter-book", "sphinx", "myst-nb", "papermill", "jupytext", "django-static-mathjax")
#: The script of MathJax that draws formulas as outlines: it is one file and needs no fonts.
MATHJAX = "static/mathjax/es5/tex-svg-full.js"
#: The names that most chapters call, which come first on their page of the API.
WANTED = """Affine ReLU Cosine make_task population_risk optimal_window matrix_risk gaussian_risk
    monte_carlo_risk mismatch_risk UnitConfig pretrain loss gradient""".split()
#: Matches a caption, the paragraph below the cell that draws the figure: its title and its other words.
CAPTION = re.compile(r"\*\*(.+?)\.?\*\* (.+?)(?:\n\n|\Z)", re.DOTALL)
#: The last text of a chapter that has a module of measurements, which the book prints.
SOURCE = (
    "[The source of the other measurements of this page](../book/measurements.md#measurements-{})"
)
#: The front page shows the last interactive figure of this chapter.
FRONT = "attention_window"
#: The folder of a staged tree with the pages for machines; Sphinx reads no folder that begins with a dot.
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
    """Write the tree in place of what is in ``target``.

    ``notebooks`` are executed ones by name, and ``runs`` what `icl_book.runner.record.collect` says of each,
    in the order of the table of contents.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        root / "book",
        target / "book",
        ignore=shutil.ignore_patterns("icl_book", "icl_rigor", "__pycache__"),
    )
    shutil.copy(root / "_toc.yml", target)
    (target / "_config.yml").write_text(repository.configuration(root), encoding="utf-8")
    static, generated = target / "book" / "_static", target / "book" / "_generated"
    (static / "mathjax").mkdir()
    (static / "narrow").mkdir()
    shutil.copy(Path(str(files("mathjax"))) / MATHJAX, static / "mathjax")

    glossary = root / "book" / "glossary.md"
    # A small book, as in tests, may not have a glossary.
    terms = list_terms(glossary.read_text(encoding="utf-8")) if glossary.is_file() else {}
    found = context(claims, runs, root)
    by_claim = {e.record["id"]: e for e in found["audited"]}
    sources = measurements(root, ["__init__", *(run["name"] for run in runs)])
    (target / "notebooks").mkdir()
    (generated / "gallery").mkdir(parents=True)
    # Twins for machines have the texts of pages as they are before they are made ready for Sphinx.
    for folder in ("book", "notebooks"):
        (target / TWINS / folder).mkdir(parents=True)
    titles, drawn = {}, {}
    for run in runs:
        name, own = run["name"], cards([run])
        content = today(root / "notebooks" / f"{name}.py", read_json(notebooks[name]), own)
        for data in shown(content):
            if evidence := data.get(CARD_MIME):
                record = data[CARD_MIME] = own[evidence["id"]]
                data["text/html"] = render(record, on_a_page=True)
        (target / TWINS / "notebooks" / f"{name}.md").write_text(
            machines.write_twin(content), encoding="utf-8"
        )
        if name in sources:
            last = {"id": "measurements-source", "cell_type": "markdown", "metadata": {}}
            content["cells"].append(last | {"source": SOURCE.format(name)})
        for cell in content["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = to_myst(audit.resolve(cell["source"], own, link), terms)
        drawn[name] = figures(content, generated / "gallery", static / "narrow")
        if name == FRONT:
            (generated / "figure.html").write_text(moving(content), encoding="utf-8")
        titles[name] = re.findall(r"^# (.+)$", content["cells"][0]["source"], re.MULTILINE)[0]
        (target / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")

    module = pages(
        **found,
        runs=runs,
        titles=titles,
        drawn=drawn,
        packages=packages(root),
        sources_of_measurements=sources,
        versions={what: v for run in runs for what, v in run["versions"].items()}
        | {"python": sys.version.split()[0]}
        | {name: version(name) for name in BUILT_WITH},
        cited=yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8")),
        home=repository.home(root),
        measured={p.stem: read_json(p) for p in (root / "benchmarks" / "results").glob("*.json")},
    )
    # Each macro of the template writes one generated part, unless its name begins with an underscore.
    for name, macro in vars(module).items():
        if callable(macro) and not name.startswith("_"):
            (generated / f"{name}.md").write_text(str(macro()), encoding="utf-8")

    # Pages of the book link to cards on the pages of chapters.
    def elsewhere(card: audit.Record, number: str, case: str) -> str:
        page = f"../notebooks/{by_claim[card['id']].notebook}.html"
        return link(card, number, case, page)

    words = {
        "repository": repository.home(root) or "ADDRESS",
        "repository_name": repository.address(root).rsplit("/", 1)[-1],
        "home": _write_home(repository.home(root)),
        **sentences(module),
    }
    # Two pages say how many minutes the short path takes to read.
    if (short := target / "book" / "path.md").is_file():
        words["minutes"] = minutes(short.read_text(encoding="utf-8"), words)
    for path in (target / "book").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        for word, said in words.items():
            # MyST substitutes in text only, but commands in code blocks have these words, too.
            text = text.replace(f"{{{{ {word} }}}}", said)
        twin = machines.include(audit.renumber(text, cards(runs)), path.parent)
        (target / TWINS / "book" / path.name).write_text(twin, encoding="utf-8")
        # The pages that show figures of chapters have their narrow drawings, too.
        for name, figure in list_drawings(text).items():
            if (drawing := static / "narrow" / f"{figure}.svg").is_file():
                shutil.copy(drawing, static / "narrow" / f"{name}.svg")
        text = to_myst(audit.resolve(text, cards(runs), elsewhere), terms)
        path.write_text(text, encoding="utf-8")
    (static / "audit.json").write_text(audit.as_json(found["audited"]), encoding="utf-8")


def today(source: Path, executed: Mapping[str, Any], own: audit.Cards) -> dict[str, Any]:
    """Return a notebook with the text and the tags that its source has now, and what its code showed.

    The numbers in its text are those of its ``own`` cards.

    An executed notebook has the same code cells, because its address depends on them. It may have one more,
    with the parameters of its preset.
    """
    import jupytext

    node = jupytext.read(source)
    cells = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
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
        if "parameters" in cell["metadata"].get("tags", []):
            written += injected
    # Cells of jupytext become plain dictionaries, as those of an executed file are.
    content = {**executed, "cells": json.loads(json.dumps(written))}
    for i, cell in enumerate(content["cells"]):
        cell["id"] = f"cell-{i:02d}"
    return content


def context(
    claims: Mapping[str, Claim], runs: Sequence[Mapping[str, Any]], root: Path
) -> dict[str, Any]:
    """Return what the templates show of all claims, with what further runs found."""
    return {"audited": audit.audit_claims(claims, runs), "reruns": audit.reruns(root)}


def pages(**context: Any) -> Any:
    """Return the module of `pages.md.j2`, whose macros write the generated parts from ``context``."""
    # The filters of an overlay are replaced, so that those of the environment stay.
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
    """Return the kinds of verdicts that pages count apart, each with the grades to which it is limited.

    A verdict is one kind, of any grade: an empty list. Pages have several words for *established* (`KNOWN`),
    and each of these is a kind.
    """
    words = {word: [str(g) for g, w in KNOWN.items() if w == word] for word in KNOWN.values()}
    found: list[tuple[str, list[str]]] = []
    for verdict in Verdict:
        known = verdict is Verdict.ESTABLISHED
        found += [(str(verdict), grades) for grades in (words.values() if known else [[]])]
    return found


def _write_home(url: str | None) -> str:
    """Say where the repository is published, or that it is not."""
    if url:
        return f"The repository is at <{url}>."
    return (
        "The repository has no public address yet, so that ADDRESS on this page stands for wherever your "
        "copy of it lies."
    )


def sentences(module: Any) -> dict[str, str]:
    """Return the sentences that templates count, by the word in braces for which they stand on pages."""
    names = "disagreeing refuted rerun withdrawn opening".split()
    found = {"verdicts": "tested", "tested": "short"} | dict(zip(names, names, strict=True))
    return {word: _join_lines(str(getattr(module, macro)())) for word, macro in found.items()}


def minutes(page: str, words: Mapping[str, str]) -> str:
    """Return the minutes that a page takes at 200 words a minute, with ``words`` in place of their braces."""
    # Words after the title count, a number in braces as one; addresses of links do not.
    text = re.sub(r"\{\{ (\w+) \}\}", lambda m: words.get(m[1], "0"), page.partition("\n# ")[2])
    return str(math.ceil(len(re.sub(r"\]\((?:<[^>]*>|[^)]*)\)", "", text).split()) / 200))


def link(card: audit.Record, text: str, case: str, page: str = "") -> str:
    """Return a link to a card, or to the row of a case, as inline HTML.

    ``text`` is what the link shows: a verdict, a mark, a number or words. ``page`` is the address of the page
    with the card, by default the one that has the link.

    Hovering, focus and screen readers give the verdict and the title of the statement.
    """
    claim, verdict = card["id"], card["verdict"]
    word = badge(verdict, card["grade"])
    target = row_id(claim, case) if case else f"claim-{claim}"
    said = html.escape(f"{strip_tex(card['title'])}: {word}")
    # A verdict looks like a badge, a mark has its color, and other words are an ordinary link.
    look = {verdict: "icl-badge", mark(verdict): "icl-mark"}.get(text)
    text = word if text == verdict else text
    css = f"icl-judged {look} {style_class(verdict)}" if look else "icl-judged"
    name = said if look else f"{html.escape(text)} ({said})"
    return f'<a class="{css}" href="{page}#{target}" title="{said}" aria-label="{name}">{text}</a>'


def figures(content: dict[str, Any], folder: Path, narrow: Path) -> list[dict[str, str]]:
    """Turn the captions below code cells into what MyST-NB reads: the cell's figure, its name and alt text.

    The cell that draws has the name and what a reader cannot see as its metadata, and the next text begins
    with the caption, which moves from there into the metadata. Cells without source are removed from
    ``content``. The drawings are written to ``folder``, and those for a phone to ``narrow``.

    Returns:
        Name, title, alt text and caption of each figure, for the gallery.

    Raises:
        BadInput: For a figure without a caption.
    """
    drawn = []
    for cell, below in itertools.pairwise(content["cells"]):
        if not (figure := cell["metadata"].get("figure")):
            continue
        name, alt = figure["name"], " ".join(figure["alt"].split())
        if below["cell_type"] != "markdown" or not (found := CAPTION.match(below["source"])):
            raise BadInput(f"figure {name}: the text below it must begin with a bold title")
        title, words = found.groups()
        caption = " ".join(found[0].split())
        settings = cell["metadata"].setdefault("mystnb", {})
        settings |= {"figure": {"caption": caption, "name": name}, "image": {"alt": alt}}
        below["source"] = below["source"][found.end() :]
        for data in shown({"cells": [cell]}):
            if drawing := data.get("image/svg+xml"):
                (folder / f"{name}.svg").write_text("".join(drawing), encoding="utf-8")
                drawn.append({"name": name, "title": title, "alt": alt, "caption": words})
            if drawing := data.get(NARROW_MIME):
                (narrow / f"{name}.svg").write_text("".join(drawing), encoding="utf-8")
    content["cells"] = [cell for cell in content["cells"] if "".join(cell["source"]).strip()]
    return drawn


def moving(content: Mapping[str, Any]) -> str:
    """Return the last interactive figure of an executed notebook; empty without one."""
    pieces = ["".join(data.get("text/html", "")) for data in shown(content)]
    return next((piece for piece in reversed(pieces) if "icl-interactive" in piece), "")


def measurements(root: Path, notebooks: Sequence[str]) -> dict[str, str]:
    """Return the source of the measurements of each notebook that has a module of them, by notebook.

    What several notebooks share has the name ``__init__``, which stands among ``notebooks``, too.
    """
    folder = root / "book" / "icl_book" / "measurements"
    found = {name: folder / f"{name}.py" for name in notebooks}
    return {
        name: path.read_text(encoding="utf-8").rstrip()
        for name, path in found.items()
        if path.is_file()
    }


def packages(root: Path) -> dict[str, dict[str, Any]]:
    """Return what the API shows of each package of `icl`, by its name.

    - ``names``: what the package exports, those of `WANTED` first.
    - ``kinds``: the same without constants, each after ``class`` or ``function``.
    - ``modules``: the modules of the package that are not private.
    """
    found = {}
    for package in sorted((root / "icl").glob("*/__init__.py")):
        listed = re.search(
            r"^__all__ = (\[.*?\])", package.read_text(encoding="utf-8"), re.M | re.S
        )
        # The package `icl.compiled` does not export a name.
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
