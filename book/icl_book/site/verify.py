"""Checks of a finished book. Every function returns a list of problems, one line each."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bs4 import BeautifulSoup

from icl_book.claims import Claim, changes, quotes
from icl_book.site import numbers
from icl_book.site.sources import ON_PAGE

#: Marks of markup that nobody processed, looked for in the text of a page.
RAW = re.compile(r"\$|\{(?:glue|numref|cite|eq|ref|doc|term|prf)\b|\{\{|\}\}|:::|```")
#: What takes an error bar.
BARS = ("exact", "extrapolated")
#: Verdicts of a preset too small to decide.
UNDECIDED = ("inconclusive", "open")
FILE_NAME = re.compile(r"^\S+\.(?:svg|png|jpe?g|gif)$|^_images/|[0-9a-f]{24}", re.I)


def toc_pages(toc: dict) -> list[str]:
    """List the documents of a `_toc.yml`, root first, without suffix."""
    found = [toc["root"]]

    def walk(node):
        for child in node.get("parts", []) + node.get("chapters", []) + node.get("sections", []):
            if "file" in child:
                found.append(child["file"])
            walk(child)

    walk(toc)
    return found


def notebook(name: str, content: dict) -> list[str]:
    """Find problems of an executed notebook: failed or skipped cells, warnings shown to readers."""
    problems = []
    for i, cell in enumerate(content["cells"]):
        if cell["cell_type"] != "code":
            continue
        where = f"notebooks/{name}: cell {i}"
        if cell["source"] and cell.get("execution_count") is None:
            problems.append(f"{where}: was not executed")
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                problems.append(f"{where}: failed with {output['ename']}: {output['evalue']}")
            elif output.get("name") == "stderr":
                text = "".join(output["text"]).strip().splitlines()
                problems.append(f"{where}: prints to stderr: {text[0] if text else ''}")
    return problems


def page(name: str, text: str | BeautifulSoup) -> list[str]:
    """Find problems of one built HTML page: errors, images, figures, raw markup, remote resources.

    A page that is given parsed is changed.
    """
    soup = _parsed(text)
    problems = [f"{name}: loads {url} from the network" for url in _remote(soup)]
    article = soup.find("article") or soup
    if article.select(".output.traceback, .system-message, .problematic"):
        problems.append(f"{name}: shows an error message")
    for image in article.find_all("img"):
        alt, src = image.get("alt", "").strip(), image.get("src", "")[:60]
        if not alt or FILE_NAME.search(alt) or alt == image.get("src"):
            problems.append(f"{name}: image {src} has no alt text (alt={alt!r})")
        thumbnail = image.find_parent(class_="sd-card")  # of the gallery
        if not image.find_parent("figure") and not thumbnail and "icl-frame" not in image.get("class", []):
            problems.append(f"{name}: image {src} stands outside a figure, without caption and number")
    for line in article.select(".icl-code"):
        line.extract()  # generated: no words of a caption
    for figure in article.find_all("figure"):
        number, words = figure.select_one(".caption-number"), figure.select_one(".caption-text")
        if not number or not words or len(words.get_text().split()) < 3:
            problems.append(f"{name}: figure {figure.get('id')} has no number or no caption")
    for hidden in article.select("script, style, code, pre, .math, .headerlink, .highlight"):
        hidden.extract()
    for match in RAW.finditer(prose := article.get_text(" ")):
        around = " ".join(prose[max(0, match.start() - 30) : match.end() + 30].split())
        problems.append(f"{name}: raw markup in the text: ...{around}...")
    return problems


def sources(name: str, text: str | BeautifulSoup, documented: set[str]) -> list[str]:
    """Find problems of a chapter's links to code: a card or figure without a line, or a dead link.

    Args:
        name: The page.
        text: Its HTML, which may be parsed.
        documented: Links to what the API pages document, e.g. ``api_risk.html#icl.risk.population_risk``.
    """
    soup, problems = _parsed(text), []
    for shown in soup.select("figure, .icl-card, .icl-slider, .icl-live"):
        where = f"{name}: {shown.get('id') or shown['class'][0]}"
        line = shown.select_one(".icl-code")
        if not line:
            problems.append(f"{where}: has no link to the code that computes it")
        elif not line.find("a") and ON_PAGE not in line.get_text():
            problems.append(f"{where}: names neither code nor a reason why there is none")
        for link in line.find_all("a") if line else ():
            if link["href"].removeprefix("../book/") not in documented:
                problems.append(f"{where}: {link['href']} leads nowhere")
    return problems


def _parsed(text: str | BeautifulSoup) -> BeautifulSoup:
    """Parse a page and drop its colored code, the largest part: nothing is looked for there."""
    if isinstance(text, BeautifulSoup):
        return text
    soup = BeautifulSoup(text, "html.parser")
    for code in soup.find_all("div", class_="highlight"):
        code.extract()
    return soup


def _remote(soup: BeautifulSoup) -> Iterable[str]:
    for tag, attribute in (
        ("script", "src"),
        ("link", "href"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
        ("video", "src"),
        ("object", "data"),
    ):
        for node in soup.find_all(tag):
            rel = set(node.get("rel", []))
            if tag == "link" and not rel & {"stylesheet", "preload", "icon", "preconnect", "prefetch"}:
                continue  # canonical, license, next, prev load nothing
            if re.match(r"(?:https?:)?//", node.get(attribute) or ""):
                yield node[attribute]
    for node in soup.find_all("style"):
        yield from re.findall(r"url\([\"']?(https?://[^\"')]+)", node.get_text())


def cards(runs: Iterable[dict], registry: dict, preset: str = "quick") -> list[str]:
    """Find problems of the verdicts: every testable claim must be judged once, in `quick` as expected.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        registry: All claims by id.
        preset: Their preset: `smoke` may be too small to decide; in larger ones a difference is a result.
    """
    problems, seen = [], {}
    for run in runs:
        for card in run["cards"]:
            where = f"notebooks/{run['name']}: claim {card['id']}"
            if card["id"] not in registry:
                problems.append(f"{where}: is not in the registry")
            if card["id"] in seen:
                problems.append(f"{where}: is judged already in notebooks/{seen[card['id']]}")
            seen[card["id"]] = run["name"]
            weak = preset == "smoke" and card["verdict"] in UNDECIDED
            if preset not in ("quick", "smoke"):
                continue
            if card["verdict"] != card["expected"] and not weak:
                problems.append(f"{where}: verdict is {card['verdict']!r}, expected {card['expected']!r}")
            elif not card["control_passed"] and preset == "quick":
                problems.append(f"{where}: the negative control was not judged as it must be")
    for claim in registry.values():
        if claim.rule is not None and claim.id not in seen:
            problems.append(f"claim {claim.id}: no notebook judges it")
    return problems


def rules(registry: Mapping[str, Claim], notebooks: Iterable[Path]) -> list[str]:
    """Find problems of the claims themselves: a quotation not verbatim, a change without an entry.

    Args:
        registry: All claims by id.
        notebooks: Sources of the notebooks, searched for literal error bars.
    """
    problems = changes.problems()
    for claim in registry.values():
        if claim.quote:
            problems += [
                f"{claim.where}: claim {claim.id}: {p}" for p in quotes.problems(claim.quote, claim.place)
            ]
        problems += [
            f"claim {claim.id}: is implied by {i!r}, which is no claim"
            for i in claim.implied_by
            if i not in registry
        ]
    for path in notebooks:
        problems += literal_errors(f"notebooks/{path.stem}", path.read_text(encoding="utf-8"))
    return problems


def literal_errors(name: str, source: str) -> list[str]:
    """Find error bars typed by hand: a number given to `exact` or `extrapolated` for the error, or its name.

    A lint for whoever means well: what is computed from literals by a function of its own passes.

    Args:
        name: The notebook, for the message.
        source: Its source.
    """
    problems, tree = [], ast.parse(source)
    stored = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    names = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=word)], value=value) if stored[word] == 1:
                names[word] = value
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = [k.value for k in node.keywords if k.arg in ("error", "change", "remainder")]
        match node.func, node.args:
            case ((ast.Name(id=called) | ast.Attribute(attr=called)), arguments) if called in BARS:
                given += arguments[2:3]
            case _, [(ast.Name(id=called) | ast.Attribute(attr=called)), *_] if called in BARS:
                pass  # functools.partial
            case _:
                continue
        for known in (k.value for k in node.keywords if k.arg == "known"):
            given += known.elts[:-1] if isinstance(known, ast.Tuple) else [known]  # the last is the truth
        for value in given:
            if (typed := _typed(value, names)) not in (None, 0):
                problems.append(f"{name}, line {node.lineno}: the error {typed} is typed by hand")
    return problems


def _typed(node: ast.expr, names: Mapping[str, ast.expr]) -> object:
    """Return the value of an expression of literals, and of names bound once to such; None of another."""
    match node:
        case ast.Name(id=word) if word in names:
            return _typed(names[word], {k: v for k, v in names.items() if k != word})
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.Constant(value=int() | float() as value):
            return value
        case _:
            return None
    return ast.unparse(node) if parts and None not in [_typed(part, names) for part in parts] else None


def book(html: Path, toc: dict, runs: Sequence[dict]) -> list[str]:
    """Find problems of a built book: pages missing, with problems of their own, without cards or numbers.

    Args:
        html: Folder of the built pages.
        toc: The table of contents.
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
    """
    problems, texts = [], {}
    kept = {f"notebooks/{run['name']}": run["numbers"] for run in runs}
    for document in toc_pages(toc):
        path = html / f"{document}.html"
        if not path.is_file():
            problems.append(f"{document}: page is missing from the book")
            continue
        texts[document] = path.read_text(encoding="utf-8")
    documented = {
        f"{document.removeprefix('book/')}.html#{anchor}"
        for document, text in texts.items()
        if document.startswith("book/api_")
        for anchor in re.findall(r'id="([\w.]+)"', text)
    }
    for document, text in texts.items():
        parsed = _parsed(text)
        if document.startswith("notebooks/"):
            problems += sources(document, parsed, documented)
        problems += numbers.problems(document, parsed, kept.get(document, ()))
        problems += page(document, parsed)
    for run in runs:
        text = texts.get(f"notebooks/{run['name']}", "")
        problems += [
            f"notebooks/{run['name']}: card of claim {card['id']} is not on the page"
            for card in run["cards"]
            if f'id="claim-{card["id"]}"' not in text
        ]
    if not (html / "searchindex.js").is_file():
        problems.append("searchindex.js: the book has no search index")
    return problems
