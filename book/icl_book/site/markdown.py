"""Turn the plain Markdown of the sources into MyST, the Markdown that Sphinx reads.

- A quotation that begins with a bold title, as ``> **Theorem**``, becomes a box.
- ``<details>`` becomes a box that the reader opens.
- An anchor ``<a id="name"></a>`` becomes a target, and a link to ``#name`` leads there from every page.
- A link to ``#term-name`` becomes a link to the glossary.
- A drawing ``fig-*.svg`` above a bold caption becomes a figure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Matches a ``<details>`` without another one inside: its summary and its text.
_FOLD = re.compile(
    r"^<details><summary>([^\n]+)</summary>\n((?:(?!^<details>).)*?)^</details>[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_QUOTATION = re.compile(r"(?:^>.*(?:\n|\Z))+", re.MULTILINE)
#: The ends of the CSS classes of boxes, by the first words of their titles. A quotation without such a title
#: is an ordinary one.
_LOOKS = dict.fromkeys(("Theorem", "Lemma", "Proposition", "Corollary", "What is true"), "true")
_LOOKS |= {"What": "", "Proof": "proof", "Solution": "solution"}
#: Matches how a box begins: a bold title, and perhaps words in parentheses.
_LEAD = re.compile(
    rf"\*\*(?P<lead>(?:{'|'.join(_LOOKS)})\b.*?)\*\*(?P<of> \((?:[^()]|\([^()]*\))*\))?\.?\s*",
    re.DOTALL,
)
_TARGET = re.compile(r"^( *)<a id=\"([\w.-]+)\"></a>[ ]*$", re.MULTILINE)
#: Matches a link to a target: its words and the name of the target.
_LINK = re.compile(r"\[([^][]*)\]\((?:[\w./-]*\.(?:ipynb|md))?#([\w.-]+)\)")
#: Matches the drawing of a chapter's figure with its caption below, and perhaps an anchor above.
_DRAWING = re.compile(
    r"^(?:<a id=\"(?P<name>[\w-]+)\"></a>\n\n)?"
    r"!\[(?P<alt>[^]]*)\]\((?P<path>\S+/(?P<stem>fig-[\w-]+)\.svg)\)\n\n(?P<caption>\*\*.+?)(?=\n\n|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)


def to_myst(text: str, terms: Mapping[str, str]) -> str:
    """Return the text of a page, or of a cell of a notebook, as MyST, with the ``terms`` of `list_terms`."""

    def lead_to(found: re.Match[str]) -> str:
        words, target = found.groups()
        if target.startswith("term-"):
            term = terms.get(target.removeprefix("term-"))
            # Sphinx reports the link to a term that the glossary lacks.
            if term:
                return f"{{term}}`{_join(words)} <{term}>`"
        # MyST finds a target by its name alone.
        return f"[{words}](#{target})"

    text = _LINK.sub(lead_to, text)
    text = _DRAWING.sub(_write_figure, text)
    return _write_boxes(text)


def list_terms(glossary: str) -> dict[str, str]:
    """Return the terms of a glossary by their links' ends: *optimal window* is ``optimal-window``."""
    words = re.findall(r"^(\w.*)\n  \S", glossary, re.MULTILINE)
    return {re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-"): word for word in words}


def list_drawings(text: str) -> dict[str, str]:
    """Return the name of the chapter's figure that each drawing of a page shows, by the drawing's name."""
    return {_find_name(drawing): drawing["stem"] for drawing in _DRAWING.finditer(text)}


def find_class(title: str) -> str:
    """Return the CSS class of a box by its title; empty for an ordinary box."""
    kind = next((kind for words, kind in _LOOKS.items() if title.startswith(words)), "")
    # What the slides print need not be true.
    if kind == "true" and "slides" in title:
        kind = "printed"
    return kind and f"icl-{kind}"


def _write_boxes(text: str) -> str:
    """Write quotations with a bold title, ``<details>`` and anchors as MyST."""
    text = _QUOTATION.sub(_write_box, text)
    # Each round writes the innermost ``<details>`` as boxes.
    while _FOLD.search(text):
        text = _FOLD.sub(lambda m: _write_admonition(m[1], m[2], "dropdown"), text)
    return _TARGET.sub(r"\1(\2)=", text)


def _write_box(quotation: re.Match[str]) -> str:
    body = re.sub(r"^> ?", "", quotation[0], flags=re.MULTILINE)
    if not (found := _LEAD.match(body)):
        return quotation[0]
    title = found["lead"].rstrip(".: ") + (found["of"] or "")
    return _write_admonition(title, _write_boxes(body[found.end() :])) + "\n"


def _write_admonition(title: str, body: str, *classes: str) -> str:
    # MyST needs a longer fence than those of the boxes inside.
    fence = ":" * max([3, *(len(inside) + 1 for inside in re.findall(r"^:{3,}", body, re.M))])
    title = _join(title)
    css = " ".join(filter(None, [*classes, find_class(title)]))
    option = f":class: {css}\n" if css else ""
    return f"{fence}{{admonition}} {title}\n{option}\n{body.strip()}\n{fence}"


def _write_figure(drawing: re.Match[str]) -> str:
    return (
        f"```{{figure}} {drawing['path']}\n:alt: {_join(drawing['alt'])}\n"
        f":name: {_find_name(drawing)}\n\n{drawing['caption']}\n```"
    )


def _find_name(drawing: re.Match[str]) -> str:
    return drawing["name"] or f"shown-{drawing['stem']}"


def _join(text: str) -> str:
    return " ".join(text.split())
