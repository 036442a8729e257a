"""Sphinx extension: docstrings, numbers and formulas as in print, each page with the scripts it needs."""

from __future__ import annotations

import re

from icl_book.site import docstrings

#: What a page has that needs a script; scripts that are not listed are on every page.
NEEDED_FOR = {"audit.js": re.compile(r'id="icl-audit"')}


def _without_thebe(app, pagename, templatename, context, doctree):
    """Drop live-kernel scripts: they need a server and a CDN, and their double inclusion is an error."""

    def is_thebe(script):
        body = getattr(script, "attributes", {}).get("body")
        return "thebe" in str(script.filename) or "THEBE" in str(body)

    context["script_files"] = [s for s in context.get("script_files", []) if not is_thebe(s)]


def needed(script: str, body: str) -> bool:
    """Say whether a page needs a script of ours, given the file's name and the page's HTML."""
    return script not in NEEDED_FOR or bool(NEEDED_FOR[script].search(body))


def _with_its_scripts(app, pagename, templatename, context, doctree):
    body = context.get("body", "")
    context["script_files"] = [
        s for s in context.get("script_files", []) if needed(str(s.filename).rpartition("/")[2], body)
    ]


#: A formula with the marks that must stay on its line.
MARKED = re.compile(
    r"(\()?(<span class=\"math notranslate nohighlight\">[^<]*</span>)([.,;:!?)\u2019\u201d]+)?"
)


def unbroken(body: str) -> str:
    """Keep each formula of a page on one line with a bracket before and the punctuation after it."""
    return MARKED.sub(lambda m: f'<span class="icl-whole">{m[0]}</span>' if m[1] or m[3] else m[0], body)


#: What is no running text: code, formulas, signatures, drawings, tags.
NO_TEXT = re.compile(
    r"(<(pre|code|script|style|svg|dt|(?:span|div)(?= class=\"math))\b.*?</\2>|<[^>]*>)", re.DOTALL
)
POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)(?!\w|\.\d)")
RAISED = str.maketrans("+-0123456789", "\u207a\u207b⁰¹²³⁴⁵⁶⁷⁸⁹")
#: What is written with the keys of a keyboard, and what is printed for it.
PRINTED = (
    (re.compile(r"(?<![\w.)\]\u2013-])-(?=\.?\d)"), "\u2212"),
    (re.compile(r"(?<=\d) %"), "\u00a0%"),
    (re.compile(r"&lt;="), "≤"),
    (re.compile(r"&gt;="), "≥"),
    (re.compile(r"\|\|(\w+)\|\|"), r"‖\1‖"),
    (re.compile(r"(arXiv:)(\d{4}\.\d{5})"), r'<a href="https://arxiv.org/abs/\2">\1\2</a>'),
)


def typeset(body: str) -> str:
    """Write the text of a page as in print: -1.5e-06, which ``format`` wrote, as \u22121.5·10⁻⁶."""
    parts = NO_TEXT.split(body)  # text, what is none, the name of its tag, text and so on
    for i in range(0, len(parts), 3):
        parts[i] = POWER.sub(_power, parts[i])
        for typed, printed in PRINTED:
            parts[i] = typed.sub(printed, parts[i])
    del parts[2::3]
    return "".join(parts)


def _power(number: re.Match) -> str:
    head, sign, digits = number.groups()
    raised = f"{sign.strip('+')}{digits}".translate(RAISED)
    return f"10{raised}" if head == "1" else f"{head}\u00b710{raised}"


def _with_numbers_and_whole_formulas(app, pagename, templatename, context, doctree):
    if "body" in context:
        # The bibliography's own role for its entries is deprecated.
        body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = unbroken(typeset(body))


def setup(app):
    docstrings.connect(app)
    app.connect("html-page-context", _with_numbers_and_whole_formulas, priority=900)
    app.connect("html-page-context", _without_thebe, priority=900)
    app.connect("html-page-context", _with_its_scripts, priority=900)
    return {"parallel_read_safe": True}
