"""Sphinx extension: docstrings, formulas with their punctuation, each page with its own scripts."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

#: What a page has that needs a script; scripts that are not listed are on every page.
NEEDED_FOR = {
    "risk.js": re.compile(r'data-figure="(risk|slope|price|gaussian|phases)"'),
    "laws.js": re.compile(r'data-figure="(risk|slope|price)"'),
    "gaussian.js": re.compile(r'data-figure="gaussian"'),
    "phases.js": re.compile(r'data-figure="phases"'),
    "descent.js": re.compile(r'data-figure="descent"'),
    "tensors.js": re.compile(r'data-figure="kronecker"'),
    "tokens.js": re.compile(r'data-figure="(circle|ellipse)"'),
    "bounds.js": re.compile(r'data-figure="bounds"'),
    "ellipse.js": re.compile(r'data-figure="ellipse"'),
    "live.js": re.compile(r'class="icl-live"'),
    "audit.js": re.compile(r'id="icl-audit"'),
}
#: In a docstring: code, which stays, ``$...$``, and lone marks that reStructuredText would read.
MARKUP = re.compile(r"``.+?``|`[^`\n]+`|\*\w[^*\n]*\w\*|\$([^$]+)\$|[*|]", re.S)
SECTION = re.compile(r"\w+:\n +\S")
EXAMPLE = re.compile(r"\s*>>>")
#: A formula of a page with the marks that must stay on its line.
MARKED = re.compile(r"\(?<span class=\"math notranslate nohighlight\">[^<]*</span>[.,;:!?)\u2019\u201d]*")


def needed(script: str, body: str) -> bool:
    """Say whether a page needs a script of ours, given the file's name and the page's HTML."""
    return script not in NEEDED_FOR or bool(NEEDED_FOR[script].search(body))


def mathematics(line: str) -> str:
    """Convert ``$...$`` of a docstring to reStructuredText, and escape lone stars and bars."""

    def convert(match: re.Match[str]) -> str:
        if match[1]:
            return f":math:`{' '.join(match[1].split())}`"
        return f"\\{match[0]}" if match[0] in "*|" else match[0]

    return MARKUP.sub(convert, line)


def docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Convert a docstring, which is written to be read as it is, to reStructuredText."""
    paragraphs, section = [], False
    for paragraph in "\n".join(lines).split("\n\n"):
        indented = paragraph.startswith(" ")
        section = bool(SECTION.match(paragraph)) or (section and indented)
        if indented and not section:  # a formula in ASCII
            paragraph = f"::\n\n{paragraph}"
        elif not EXAMPLE.match(paragraph):
            paragraph = mathematics(paragraph)
        paragraphs.append(paragraph)
    lines[:] = "\n\n".join(paragraphs).split("\n")


def page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: object) -> None:
    """Leave a page only the scripts that it needs, and its formulas on one line with their punctuation."""
    body = context.get("body", "")

    def wanted(script: object) -> bool:
        # Live kernels need a server and a CDN, and their double inclusion is an error.
        inline = str(getattr(script, "attributes", {}).get("body"))
        file = str(script.filename)
        return "thebe" not in file and "THEBE" not in inline and needed(file.rpartition("/")[2], body)

    context["script_files"] = [script for script in context.get("script_files", []) if wanted(script)]
    if body:
        context["body"] = MARKED.sub(lambda m: f'<span class="icl-whole">{m[0]}</span>', body)


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", docstring, priority=400)  # before napoleon
    app.connect("html-page-context", page, priority=900)
    return {"parallel_read_safe": True}
