"""Write the pages that machines read: a Markdown twin of each page, and ``llms.txt``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icl_book.provenance import CARD_MIME
from icl_book.runner.record import read_json, shown
from icl_book.site.verify import toc_pages

ABOUT = """# {title}

> An executable companion to two papers on in-context learning with softmax attention (arXiv 2402.11639 and
> 2307.02419), and an audit of what we could read of them. Each page is Markdown, with code and printed
> output.

Statements, verdicts and measured numbers are also one JSON file, [audit.json](_static/audit.json), with its
[schema](_static/audit.schema.json).
"""


def write(html: Path, source: Path, toc: dict[str, Any], title: str) -> None:
    """Write the twins beside the pages of a built book, and ``llms.txt``.

    ``source`` is the staged tree that the book was built from.
    """
    for page in toc_pages(toc):
        (html / f"{page}.md").write_text(twin(source / page), encoding="utf-8")
    parts = [ABOUT.format(title=title)]
    front = {"caption": "The front page", "chapters": [{"file": toc["root"]}]}
    for part in [front, *toc["parts"]]:
        pages = toc_pages({"root": "", "chapters": part["chapters"]})[1:]
        lines = [f"- [{_find_title(html / f'{page}.md')}]({page}.md)" for page in pages]
        parts.append("\n".join([f"## {part['caption']}", "", *lines, ""]))
    (html / "llms.txt").write_text("\n".join(parts), encoding="utf-8")


def twin(page: Path) -> str:
    """Return a staged page, given without suffix, as Markdown."""
    if not page.with_suffix(".ipynb").is_file():
        return strip_markup(page.with_suffix(".md").read_text(encoding="utf-8"), page.parent)
    parts = []
    for cell in read_json(page.with_suffix(".ipynb"))["cells"]:
        source = "".join(cell["source"]).strip()
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            parts.append(strip_markup(source, page.parent))
        elif "remove-cell" not in tags:
            if "remove-input" not in tags:
                parts.append(f"```python\n{source}\n```")
            parts += printed(cell)
    return "\n\n".join(part for part in parts if part) + "\n"


def printed(cell: dict[str, Any]) -> list[str]:
    """Return what a cell printed, and each of its cards as a sentence."""
    found = []
    for output in cell.get("outputs", []):
        if output.get("name") == "stdout":
            found.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    for data in shown({"cells": [cell]}):
        if record := data.get(CARD_MIME):
            found.append(
                f"**{record['id']}** ({record['verdict']}): {record['title']}. "
                f"{record['statement']}"
            )
        elif "image/svg+xml" not in data and "text/markdown" in data:
            found.append("".join(data["text/markdown"]))
    return found


def strip_markup(text: str, folder: Path) -> str:
    """Return MyST without its head, raw HTML, anchors and links to cards, and with what it includes."""

    def included(found: re.Match[str]) -> str:
        path = folder / found[2]
        if path.suffix == ".html" or not path.is_file():
            return ""
        said = path.read_text(encoding="utf-8").rstrip()
        return said if found[1] == "include" else f"```\n{said}\n```"

    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^```\{raw\} html\n.*?^```\n?", "", text, flags=re.M | re.DOTALL)
    include = r"^```\{(include|literalinclude)\} (\S+)\n(?::.*\n)*```"
    text = re.sub(include, included, text, flags=re.MULTILINE)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    badge = r'<a class="icl-judged icl-badge[^>]* title="([^"]+)"[^>]*>[^<]*</a>'
    text = re.sub(badge, r"(\1)", text)
    return re.sub(r"<(/?)(?:a|span|div|details|summary)\b[^>]*>", "", text).strip()


def _find_title(path: Path) -> str:
    titles: Sequence[str] = re.findall(r"^# (.+)$", path.read_text("utf-8"), re.M)
    return titles[0] if titles else path.stem
