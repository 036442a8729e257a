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
        # The root of this part is not a page.
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
    """Return MyST as Markdown: with the files that it includes, and without its head, HTML and anchors.

    The badge of a verdict becomes its title in parentheses. ``folder`` is that of the page.
    """
    text = _HEAD.sub("", text)
    text = _RAW_HTML.sub("", text)
    text = _INCLUDE.sub(lambda found: _read_included(folder / found["path"], found["how"]), text)
    text = _ANCHOR.sub("", text)
    text = _BADGE.sub(r"(\g<title>)", text)
    return _TAG.sub("", text).strip()


#: What `strip_markup` replaces, in this order.
_HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_RAW_HTML = re.compile(r"^```\{raw\} html\n.*?^```\n?", re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(
    r"^```\{(?P<how>include|literalinclude)\} (?P<path>\S+)\n(?::.*\n)*```", re.MULTILINE
)
_ANCHOR = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
_BADGE = re.compile(r'<a class="icl-judged icl-badge[^>]* title="(?P<title>[^"]+)"[^>]*>[^<]*</a>')
_TAG = re.compile(r"</?(?:a|span|div|details|summary)\b[^>]*>")


def _read_included(path: Path, how: str) -> str:
    """Return the text of an included file, as a block of code unless ``how`` is "include"."""
    # Charts, which are HTML, are left out.
    if path.suffix == ".html" or not path.is_file():
        return ""
    content = path.read_text(encoding="utf-8").rstrip()
    return content if how == "include" else f"```\n{content}\n```"


def _find_title(path: Path) -> str:
    titles: Sequence[str] = re.findall(r"^# (.+)$", path.read_text("utf-8"), re.M)
    return titles[0] if titles else path.stem
