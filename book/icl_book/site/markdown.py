"""From the plain Markdown of sources to what Sphinx reads: boxes, folds, targets, terms and captions.

A reader of the sources, in whatever program, sees Markdown. What the book needs beyond is said by a bold lead
of a quotation, by ``<details>``, by an anchor before what it names, and by where a link leads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Matches a fold that has no other inside: its summary and its text.
_FOLD = re.compile(
    r"^<details><summary>([^\n]+)</summary>\n((?:(?!^<details>).)*?)^</details>[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_QUOTATION = re.compile(r"(?:^>.*(?:\n|\Z))+", re.MULTILINE)
#: Looks of boxes by the first words of their titles; `icl.css` has the styles. A quotation that begins with
#: none of these is one of somebody's words, and no box.
_LOOKS = dict.fromkeys(("Theorem", "Lemma", "Proposition", "Corollary", "What is true"), "true")
_LOOKS |= {"What": "", "Proof": "proof", "Solution": "solution"}
#: Matches how a box begins: a bold lead, and maybe a parenthesis, which may hold others.
_LEAD = re.compile(
    rf"\*\*(?P<lead>(?:{'|'.join(_LOOKS)})\b.*?)\*\*(?P<of> \((?:[^()]|\([^()]*\))*\))?\.?\s*",
    re.DOTALL,
)
_TARGET = re.compile(r"^( *)<a id=\"([\w.-]+)\"></a>[ ]*$", re.MULTILINE)
#: Matches a link to a target on a page, or on this one.
_LINK = re.compile(r"\[([^][]*)\]\((?:[\w./-]*\.(?:ipynb|md))?#([\w.-]+)\)")
#: Matches a drawing of the gallery on a page, maybe with its name above, and with its caption below.
_DRAWING = re.compile(
    r"^(?:<a id=\"(?P<name>[\w-]+)\"></a>\n\n)?"
    r"!\[(?P<alt>[^]]*)\]\((?P<path>\S+/(?P<stem>fig-[\w-]+)\.svg)\)\n\n(?P<caption>\*\*.+?)(?=\n\n|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)


def to_myst(text: str, terms: Mapping[str, str]) -> str:
    """Return a page, or a text cell of a notebook, for Sphinx.

    ``terms`` has the words of the glossary by the ends of their targets: *optimal window* is at
    ``optimal-window``, because links lead to ``#term-optimal-window``.
    """

    def lead_to(found: re.Match[str]) -> str:
        words, target = found.groups()
        term = terms.get(target.removeprefix("term-")) if target.startswith("term-") else None
        # MyST finds a target by its name, on whatever page it is.
        return f"{{term}}`{_join(words)} <{term}>`" if term else f"[{words}](#{target})"

    text = _LINK.sub(lead_to, text)
    text = _DRAWING.sub(_write_figure, text)
    return _write_boxes(text)


def list_terms(glossary: str) -> dict[str, str]:
    """Return the words of a glossary by the ends of their targets, as ``optimal-window``."""
    words = re.findall(r"^(\w.*)\n  \S", glossary, re.MULTILINE)
    return {re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-"): word for word in words}


def list_drawings(text: str) -> dict[str, str]:
    """Return the names of the drawings of a page, with the names of the chapters' figures that they show."""
    return {_name(drawing): drawing["stem"] for drawing in _DRAWING.finditer(text)}


def look(title: str) -> str:
    """Return the class of a box by its title: printed by the authors, true, a proof, a solution; or none."""
    kind = next((kind for words, kind in _LOOKS.items() if title.startswith(words)), "")
    # What the slides print need not be true.
    if kind == "true" and "slides" in title:
        kind = "printed"
    return kind and f"icl-{kind}"


def _write_boxes(text: str) -> str:
    """Write folds and quotations with a bold lead as boxes, from the inside out, and targets as MyST does."""
    text = _QUOTATION.sub(_write_box, text)
    while _FOLD.search(text):
        text = _FOLD.sub(lambda m: _admonition(m[1], m[2], "dropdown"), text)
    return _TARGET.sub(r"\1(\2)=", text)


def _write_box(quotation: re.Match[str]) -> str:
    body = re.sub(r"^> ?", "", quotation[0], flags=re.MULTILINE)
    if not (found := _LEAD.match(body)):
        return quotation[0]
    title = found["lead"].rstrip(".: ") + (found["of"] or "")
    return _admonition(title, _write_boxes(body[found.end() :])) + "\n"


def _admonition(title: str, body: str, *classes: str) -> str:
    """Write a box, whose fence is longer than those inside."""
    fence = ":" * max([3, *(len(inside) + 1 for inside in re.findall(r"^:{3,}", body, re.M))])
    title = _join(title)
    css = " ".join(filter(None, [*classes, look(title)]))
    option = f":class: {css}\n" if css else ""
    return f"{fence}{{admonition}} {title}\n{option}\n{body.strip()}\n{fence}"


def _write_figure(drawing: re.Match[str]) -> str:
    return (
        f"```{{figure}} {drawing['path']}\n:alt: {_join(drawing['alt'])}\n"
        f":name: {_name(drawing)}\n\n{drawing['caption']}\n```"
    )


def _name(drawing: re.Match[str]) -> str:
    return drawing["name"] or f"shown-{drawing['stem']}"


def _join(text: str) -> str:
    return " ".join(text.split())
