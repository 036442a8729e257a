"""Checks of executed notebooks and of finished pages. Each returns a list of problems, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from icl_book.claims import Claim, changes, quotes

#: Marks of markup that nobody processed, looked for in the text of a page.
RAW = re.compile(r"\$|\{(?:glue|judged|numref|cite|eq|ref|doc|term|prf)\b|\{\{|\}\}|:::|```")
#: Verdicts of a preset too small to decide.
UNDECIDED = ("inconclusive", "open")
FILE_NAME = re.compile(r"^\S+\.(?:svg|png|jpe?g|gif)$|^_images/|[0-9a-f]{24}", re.I)
#: What a browser loads by itself.
LOADED = "script[src], img[src], iframe[src], source[src], video[src], object[data]"
LOADED += (
    ", link[rel~=stylesheet], link[rel~=preload], link[rel~=icon], link[rel~=preconnect], link[rel~=prefetch]"
)


def toc_pages(toc: dict[str, Any]) -> list[str]:
    """List the documents of a `_toc.yml`, root first, without suffix."""

    def below(node: dict[str, Any]) -> list[str]:
        children = [*node.get("parts", ()), *node.get("chapters", ()), *node.get("sections", ())]
        return [page for c in children for page in ([c["file"]] if "file" in c else []) + below(c)]

    return [toc["root"], *below(toc)]


def notebook(name: str, content: dict[str, Any]) -> list[str]:
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


def cards(
    runs: Iterable[Mapping[str, Any]], registry: Mapping[str, Claim], preset: str = "quick"
) -> list[str]:
    """Find problems of the verdicts: every testable claim must be judged once, in `quick` as expected.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        registry: All claims by id.
        preset: Their preset: `smoke` may be too small to decide; in larger ones a difference is a result.
    """
    problems: list[str] = []
    seen: dict[str, str] = {}
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


def rules(registry: Mapping[str, Claim]) -> list[str]:
    """Find problems of the claims themselves: a quotation not verbatim, a change without an entry."""
    problems = changes.problems()
    for claim in registry.values():
        found = (
            [f"{claim.where}: claim {claim.id}: {p}" for p in quotes.problems(claim.quote, claim.place)]
            if claim.quote
            else []
        )
        found += [
            f"claim {claim.id}: is implied by {i!r}, which is no claim"
            for i in claim.implied_by
            if i not in registry
        ]
        problems += found
    return problems


def page(name: str, text: str) -> list[str]:
    """Find problems of one built HTML page: errors, images, figures, raw markup, remote resources."""
    soup = BeautifulSoup(text, "html.parser")
    for code in soup.select("div.highlight"):
        code.extract()  # colored code, the largest part: nothing is looked for there
    loaded = [tag.get("src") or tag.get("href") or tag.get("data") or "" for tag in soup.select(LOADED)]
    loaded += [
        url for tag in soup.select("style") for url in re.findall(r"url\([\"']?([^\"')]+)", tag.get_text())
    ]
    problems = [
        f"{name}: loads {url} from the network" for url in loaded if re.match(r"(?:https?:)?//", str(url))
    ]
    article = soup.find("article") or soup
    if article.select(".output.traceback, .system-message, .problematic"):
        problems.append(f"{name}: shows an error message")
    for image in article.select("img"):
        alt, src = str(image.get("alt", "")).strip(), str(image.get("src", ""))[:60]
        if not alt or FILE_NAME.search(alt) or alt == image.get("src"):
            problems.append(f"{name}: image {src} has no alt text (alt={alt!r})")
        if (
            not image.find_parent("figure")
            and not image.find_parent(class_="sd-card")
            and "icl-frame" not in (image.get("class") or ())
        ):
            problems.append(f"{name}: image {src} stands outside a figure, without caption and number")
    for figure in article.select("figure"):
        number, words = figure.select_one(".caption-number"), figure.select_one(".caption-text")
        if not number or not words or len(words.get_text().split()) < 3:
            problems.append(f"{name}: figure {figure.get('id')} has no number or no caption")
    for hidden in article.select("script, style, code, pre, .math, .headerlink"):
        hidden.extract()
    prose = article.get_text(" ")
    for match in RAW.finditer(prose):
        around = " ".join(prose[max(0, match.start() - 30) : match.end() + 30].split())
        problems.append(f"{name}: raw markup in the text: ...{around}...")
    return problems


def book(html: Path, toc: dict[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Find problems of a built book: pages missing, with problems of their own, or without a card.

    Args:
        html: Folder of the built pages.
        toc: The table of contents.
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
    """
    problems = []
    expected = {f"notebooks/{run['name']}": [card["id"] for card in run["cards"]] for run in runs}
    for document in toc_pages(toc):
        path = html / f"{document}.html"
        if not path.is_file():
            problems.append(f"{document}: page is missing from the book")
            continue
        text = path.read_text(encoding="utf-8")
        problems += page(document, text)
        problems += [
            f"{document}: card of claim {claim} is not on the page"
            for claim in expected.get(document, ())
            if f'id="claim-{claim}"' not in text
        ]
    if not (html / "searchindex.js").is_file():
        problems.append("searchindex.js: the book has no search index")
    return problems
