"""Docstrings on the page of the API: from plain text to reStructuredText, with types as they are written.

Docstrings are written to be read as they are; here they become reStructuredText:

- An indented block after a blank line is a formula or a table in ASCII: a literal block.
- ``$...$`` is mathematics.
- A lone ``*`` or ``|`` is only a character (``*shape``, ``|f - b|``), emphasis in pairs stays.
"""

from __future__ import annotations

import re
from enum import Enum

from docutils import nodes
from numpy.typing import ArrayLike
from sphinx import addnodes
from sphinx.util.typing import stringify_annotation

EMPHASIS = r"(?<![\w*(])\*(?=[^\s*])[^*\n]+(?:\n[^*\n]+)?(?<=\S)\*(?![\w*])"
TOKEN = re.compile(
    rf"(?P<code>``.+?``|`[^`\n]+`)|\$(?P<math>[^$\n]+(?:\n[^$\n]+)?)\$|(?P<strong>{EMPHASIS})"
    r"|(?P<mark>[*|])",
    re.S,
)

#: Sphinx writes out what these names of NumPy stand for.
WRITTEN_OUT = (
    (re.compile(re.escape(stringify_annotation(ArrayLike, "smart"))), "ArrayLike"),
    (
        re.compile(
            r"(?:~?numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], (?:~?numpy\.)?dtype\[(~?[\w.]+)\]\]"
        ),
        r"NDArray[\1]",
    ),
)


def _token(match: re.Match) -> str:
    if match["math"]:
        return f":math:`{' '.join(match['math'].split())}`"
    return f"\\{match['mark']}" if match["mark"] else match[0]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def convert(lines: list[str]) -> list[str]:
    """Convert docstring lines to reStructuredText lines."""
    out, text, literal, last = [], [], None, ""

    def flush():
        out.extend(TOKEN.sub(_token, "\n".join(text)).split("\n") if text else [])
        text.clear()

    for before, line in zip(["", *lines], lines, strict=False):
        if literal is not None and line.strip() and _indent(line) <= literal:
            literal = None
        starts = (
            literal is None
            and line.strip()
            and not before.strip()
            and last
            and _indent(line) > _indent(last)
            and not last.lstrip().startswith((">>>", "..", "- "))
        )
        if starts:
            flush()
            literal = _indent(last)
            out.extend([" " * literal + ".. code-block:: text", ""])
        if line.lstrip().startswith(">>>"):
            flush()
        if literal is None and not line.lstrip().startswith(">>>"):
            text.append(line)
        else:
            out.append(line)
        last = line if line.strip() else last
    flush()
    return out


def untyped(what: str, lines: list[str]) -> list[str]:
    """Mark what stands before a colon as text, not a type as napoleon would: types are in signatures."""
    out = list(lines)
    starts = [i + 1 for i, line in enumerate(out[:-1]) if line.strip() == "Returns:"]
    starts += [0] if out and what in ("attribute", "data", "property") else []
    for i in starts:
        if ":" in out[i]:
            text = out[i].lstrip()
            out[i] = f"{out[i][: len(out[i]) - len(text)]}: {text}"
    return out


def short(text: str) -> str:
    """Write the types of arrays as in the source: ``ArrayLike``, ``NDArray[float64]``."""
    for written, name in WRITTEN_OUT:
        text = written.sub(name, text)
    return text


def _process(app, what, name, obj, options, lines):
    lines[:] = untyped(what, convert(lines))
    if what == "class" and issubclass(obj, Enum):
        lines += ["", *(f"- ``{member.name}``: {member.value}" for member in obj), ""]


def _shorten(app, what, name, obj, options, lines):
    lines[:] = map(short, lines)


def _sign(app, what, name, obj, options, signature, returned):
    if what == "class" and issubclass(obj, Enum):
        return "", None  # that of every enumeration, which says nothing of this one
    return short(signature or "") or None, short(returned or "") or None


def _annotate(app, doctree, name):
    # The type of a property is no part of what autodoc calls its signature.
    for annotation in list(doctree.findall(addnodes.desc_annotation)):
        if (named := short(text := annotation.astext())) != text:
            annotation.clear()
            annotation += nodes.Text(named)


def connect(app) -> None:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", _process, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _shorten, priority=600)  # after it
    app.connect("autodoc-process-signature", _sign)
    app.connect("doctree-resolved", _annotate)
