"""Write what machines read: a *twin* of each page, which is its copy in Markdown, and ``llms.txt``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icl_book.claims.card import badge
from icl_book.provenance import CARD_MIME
from icl_book.runner.record import list_outputs
from icl_book.site.verify import toc_pages

ABOUT = """# {title}

> An executable companion to two papers on in-context learning with softmax attention (arXiv 2402.11639 and
> 2307.02419). Each page is Markdown, with code and printed output.

Statements, verdicts and measured numbers are also one JSON file, [audit.json](_static/audit.json), with its
[schema](_static/audit.schema.json).
"""


def write(html: Path, twins: Path, toc: dict[str, Any], title: str) -> None:
    """Copy the twins beside the pages of a built book, and write ``llms.txt``, which lists the twins."""
    for page in toc_pages(toc):
        shutil.copy(twins / f"{page}.md", html / f"{page}.md")
    parts = [ABOUT.format(title=title)]
    front = {"caption": "The front page", "chapters": [{"file": toc["root"]}]}
    for part in [front, *toc["parts"]]:
        # `toc_pages` lists the root first, here an empty one.
        pages = toc_pages({"root": "", "chapters": part["chapters"]})[1:]
        lines = [f"- [{_find_title(html / f'{page}.md')}]({page}.md)" for page in pages]
        parts.append("\n".join([f"## {part['caption']}", "", *lines, ""]))
    (html / "llms.txt").write_text("\n".join(parts), encoding="utf-8")


def write_twin(content: Mapping[str, Any]) -> str:
    """Return the twin of an executed notebook: its text, its code, what the code printed, and its cards."""
    parts = []
    for cell in content["cells"]:
        source = cell["source"].strip()
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif "remove-cell" not in tags:
            if "remove-input" not in tags:
                parts.append(f"```python\n{source}\n```")
            parts += list_printed(cell)
    return "\n\n".join(part for part in parts if part) + "\n"


def list_printed(cell: dict[str, Any]) -> list[str]:
    """Return what a cell printed and each of its cards as Markdown; figures and tables are left out."""
    found = []
    for output in cell.get("outputs", []):
        if output.get("name") == "stdout":
            found.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    for data in list_outputs({"cells": [cell]}):
        if record := data.get(CARD_MIME):
            found.append(
                f"**{record['id']}** ({badge(record['verdict'], record['grade'])}): {record['title']}. "
                f"{record['statement']}"
            )
    return found


def write_page_twin(text: str, folder: Path) -> str:
    """Return the twin of a page that is not a notebook, from its source and its folder."""
    # Settings stand at the head of the page.
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = _INCLUDE.sub(lambda found: _read_included(folder / found["path"], found["how"]), text)
    text = _LISTS.sub("", text)
    text = _GLOSSARY.sub(r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


_INCLUDE = re.compile(
    r"^```\{(?P<how>include|literalinclude)\} (?P<path>\S+)\n(?::.*\n)*```", re.MULTILINE
)
#: Matches the parts of a page that only Sphinx can fill: the names of a module, the bibliography, raw HTML.
_LISTS = re.compile(r"^```\{(?:eval-rst|bibliography|raw)\}.*?^```$", re.MULTILINE | re.DOTALL)
_GLOSSARY = re.compile(r"^```\{glossary\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Matches what an included file has for a browser or for Sphinx: HTML tags, targets, and fences.
_GENERATED = re.compile(
    r"</?(?:a|span|div|details|summary|article|p|table|t[dhr]|thead|tbody|caption)\b[^>]*>"
    r"|^\([\w-]+\)=\n|^:{3,}.*(?:\n|\Z)(?::.*\n)*",
    re.MULTILINE,
)
#: Matches a role of Sphinx, as ``{ref}``, with the words that a page shows for it.
_ROLE = re.compile(r"\{[a-z:]+\}`([^`<]*?)(?: <[^`]*>)?`")


def _read_included(path: Path, how: str) -> str:
    """Return the text of an included file, as a block of code if ``how`` is ``"literalinclude"``."""
    content = path.read_text(encoding="utf-8").rstrip()
    if how == "literalinclude":
        return f"```\n{content}\n```"
    return _ROLE.sub(r"\1", _GENERATED.sub("", content))


def _find_title(path: Path) -> str:
    titles: Sequence[str] = re.findall(r"^# (.+)$", path.read_text("utf-8"), re.M)
    return titles[0] if titles else path.stem
