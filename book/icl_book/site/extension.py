"""Sphinx extension: mathematics in docstrings, formulas with their punctuation, each page with its scripts."""

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


def _docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    text, examples = [], re.compile(r"\s*(>>>|\.\.\. )")
    for paragraph in "\n".join(lines).split("\n\n"):
        text.append(paragraph if examples.match(paragraph) else mathematics(paragraph))
    lines[:] = "\n\n".join(text).split("\n")


def _page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: object) -> None:
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
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before napoleon
    app.connect("html-page-context", _page, priority=900)
    return {"parallel_read_safe": True}
