"""Checks of cards, claims and built pages that neither a run nor Sphinx makes.

Each check returns its problems as a list of lines, which is empty if all is well.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup

from icl_book.claims import Claim
from icl_book.runner import plan
from icl_book.runner.record import describe_surprises, group_by_claim

#: Matches markup that was left unprocessed in the text of a page.
RAW = re.compile(r"\$|\{(?:cite|doc|term)\b|\]\(|\{\{|\}\}|:::|```")
#: Matches colored code, which is not searched.
COLORED = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)
#: Matches an alternative text that is the name of a file.
FILE_NAME = re.compile(r"^\S+\.(?:svg|png|jpe?g|gif)$|^_images/|[0-9a-f]{24}", re.I)
LINK = re.compile(r'<a\b[^>]*\bhref="([^"]+)"')
ANCHOR = re.compile(r'\bid="([^"]+)"')
#: Matches an address that leads out of the book.
OUTSIDE = re.compile(r"[\w+.-]+:|//")
NETWORK = re.compile(r"(?:https?:)?//")
#: Selects the elements that a browser loads by itself.
LOADED = """script[src], img[src], iframe[src], source[src], video[src], object[data],
    link:is([rel~=stylesheet], [rel~=preload], [rel~=icon], [rel~=preconnect], [rel~=prefetch])"""


def toc_pages(toc: dict[str, Any]) -> list[str]:
    """List the documents of a `_toc.yml`, root first, without suffix."""

    def list_below(node: dict[str, Any]) -> list[str]:
        found = []
        for child in [*node.get("parts", ()), *node.get("chapters", ()), *node.get("sections", ())]:
            # A part is a caption without a document.
            if "file" in child:
                found.append(child["file"])
            found += list_below(child)
        return found

    return [toc["root"], *list_below(toc)]


def check_cards(runs: Iterable[Mapping[str, Any]], registry: Mapping[str, Claim]) -> list[str]:
    """Find unexpected verdicts, and claims that are unknown, judged twice, or never judged despite a rule.

    The preset of a run says which verdicts are unexpected; with ``any``, none is.
    """
    runs = list(runs)
    problems = []
    for run in runs:
        allowed = plan.read_allowed_verdicts(run["preset"])
        if allowed != "any":
            surprises = describe_surprises(run["cards"], allowed)
            problems += [f"notebooks/{run['name']}: {surprise}" for surprise in surprises]
    found = group_by_claim(runs)
    for claim_id, notebooks_and_cards in found.items():
        first, *others = [name for name, _ in notebooks_and_cards]
        if claim_id not in registry:
            problems.append(f"notebooks/{first}: claim {claim_id}: is not in the registry")
        for name in others:
            already = f"is judged already in notebooks/{first}"
            problems.append(f"notebooks/{name}: claim {claim_id}: {already}")
    missing = [
        claim.id for claim in registry.values() if claim.rule is not None and claim.id not in found
    ]
    return problems + [f"claim {name}: no notebook judges it" for name in missing]


def check_implications(registry: Mapping[str, Claim]) -> list[str]:
    """Find claims whose ``implied_by`` has an id that is not a claim."""
    return [
        f"{claim.where}: claim {claim.id}: is implied by {name!r}, which is not a claim"
        for claim in registry.values()
        for name in claim.implied_by
        if name not in registry
    ]


def check_page(name: str, text: str) -> list[str]:
    """Find problems in the HTML of one built page.

    A problem is a resource from the network, an error message, an image without alternative text or outside a
    figure, a figure without number or caption, or markup in the text.
    """
    soup = BeautifulSoup(COLORED.sub("", text), "html.parser")
    loaded = [
        str(tag.get("src") or tag.get("href") or tag.get("data")) for tag in soup.select(LOADED)
    ]
    styles = " ".join(tag.get_text() for tag in soup.select("style"))
    loaded += re.findall(r"url\([\"']?([^\"')]+)", styles)
    problems = [f"{name}: loads {url} from the network" for url in loaded if NETWORK.match(url)]
    article = soup.find("article") or soup
    if article.select(".output.traceback, .system-message, .problematic"):
        problems.append(f"{name}: shows an error message")
    for image in article.select("img"):
        alt = str(image.get("alt", "")).strip()
        # An address may hold all data of the image.
        src = str(image.get("src", ""))[:60]
        if not alt or FILE_NAME.search(alt) or alt == image.get("src"):
            problems.append(f"{name}: image {src} has no alt text (alt={alt!r})")
        # Pictures in linked tiles (`sd-card`) and on the front page do not have a caption.
        if image.css.match("img:not(figure *, .sd-card *, .icl-frame)"):
            problems.append(
                f"{name}: image {src} stands outside a figure, without caption and number"
            )
    for figure in article.select("figure"):
        number = figure.select_one(".caption-number")
        words = figure.select_one(".caption-text")
        if not number or not words or len(words.get_text().split()) < 3:
            problems.append(f"{name}: figure {figure.get('id')} has no number or no caption")
    # Code and formulas may have signs that `RAW` matches.
    for other in article.select("script, style, code, pre, .math, .headerlink"):
        other.extract()
    prose = article.get_text(" ")
    for match in RAW.finditer(prose):
        around = " ".join(prose[max(0, match.start() - 30) : match.end() + 30].split())
        problems.append(f"{name}: raw markup in the text: ...{around}...")
    return problems


def check_links(folder: Path) -> list[str]:
    """Find links to a file or an anchor that does not exist."""
    paths = [p for p in folder.rglob("*.html") if "_static" not in p.relative_to(folder).parts]
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths
    }
    anchors = {name: set(map(html.unescape, ANCHOR.findall(text))) for name, text in texts.items()}
    problems = []
    for name, text in texts.items():
        for link in dict.fromkeys(map(html.unescape, LINK.findall(text))):
            address, _, anchor = map(unquote, link.partition("#"))
            if OUTSIDE.match(link):
                continue
            address = address.partition("?")[0]
            target = name
            if address:
                target = os.path.normpath(os.path.join(os.path.dirname(name), address))
            exists = target in anchors or (folder / target).is_file()
            # The anchors of a file that is not a page are unknown.
            if not exists or (anchor and anchor not in anchors.get(target, {anchor})):
                problems.append(f"{name}: the link {link} leads nowhere")
    return problems


def check_book(folder: Path, toc: dict[str, Any], runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Find problems of the pages and links of a built book, and cards that their pages do not show."""
    texts = {name: (folder / f"{name}.html").read_text(encoding="utf-8") for name in toc_pages(toc)}
    problems = []
    for name, text in texts.items():
        problems += check_page(name, text)
    problems += [
        f"notebooks/{run['name']}: card of claim {card['id']} is not on the page"
        for run in runs
        for card in run["cards"]
        if f'id="claim-{card["id"]}"' not in texts[f"notebooks/{run['name']}"]
    ]
    return problems + check_links(folder)
