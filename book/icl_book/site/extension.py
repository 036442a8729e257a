"""Sphinx extension: types in signatures, citations, formulas, figures on a phone, no live kernels."""

from __future__ import annotations

import inspect
import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from icl_book.provenance import ROOT

#: Matches what Sphinx writes for ``NDArray[float64]``, and below for a type with pydantic's validator.
ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[~?(?:numpy\.)?(\w+)\]\]"
)
VALIDATED = re.compile(r"~?[\w.]*Annotated\[(.+?), ~?[\w.]*BeforeValidator\([^)]*\)\]")
PATH = re.compile(r"~(?:\w+\.)+")
#: Matches a formula of a page with the punctuation that must stay on its line.
MARKED = re.compile(
    r"\(?<span class=\"math notranslate nohighlight\">[^<]*</span>[.,;:!?)\u2019\u201d]*"
)
#: Matches a name in code that is short enough for one line of a phone.
SHORT = re.compile(r'<span class="pre">(?=[^<]{1,24}</span>)')
#: The media query of screens with narrow drawings; paper shows the figures.
NARROW = "screen and (max-width: 36rem)"
#: Matches a figure of a page: its name and its picture.
FIGURE = re.compile(r'(<figure [^>]*id="([\w-]+)"[^>]*>\s*)(<img [^>]*>)')
#: Matches in the code of a chapter what it imports from the packages, and in its page a name in code with the
#: attribute that follows it.
IMPORTED = re.compile(r"^from (icl[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
NAME = re.compile(
    r'<span class="n">(\w+)</span>(?:<span class="o">\.</span><span class="n">(\w+)</span>)?'
)
#: Matches what viewcode writes before a piece of source: its name, and a link back to the entry in the API.
BACK = re.compile(
    r'(<div class="viewcode-block" id="([^"]+)">\n)<a class="viewcode-back" href="[^"]*">(.*?)</a>'
)


def written(text: str) -> str:
    """Write types as in the source, and a default that a function makes as dots."""
    return VALIDATED.sub(r"\1", ARRAY.sub(r"NDArray[\1]", text)).replace("<factory>", "...")


def signature(
    app: Sphinx, what: str, name: str, obj: object, options: object, given: str, returned: str
) -> tuple[str | None, ...]:
    """Write the types of a signature; an enumeration has none, because it is not called."""
    if inspect.isclass(obj) and issubclass(obj, Enum):
        return "", None
    return tuple(text and written(text) for text in (given, returned))


def words(
    app: Sphinx | None, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Complete ``lines``, which napoleon wrote for a docstring.

    Napoleon takes the words before a colon in the docstring of a constant for its type, and leaves out the
    values of an enumeration.
    """
    kinds = [line for line in lines if line.startswith(":type: ")]
    if what in ("attribute", "data", "property") and kinds:
        lines.remove(kinds[0])
        lines[0] = f"{kinds[0].removeprefix(':type: ')}: {lines[0]}"
    if inspect.isclass(obj) and issubclass(obj, Enum):
        lines += ["The values are " + ", ".join(f"*{member.value}*" for member in obj) + "."]


def properties(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Write types that autodoc keeps outside of signatures."""
    for annotation in list(doctree.findall(addnodes.desc_annotation)):
        # Sphinx marks a name that it does not parse with "~": only the last part of its path is shown.
        if (short := PATH.sub("", written(text := annotation.astext()))) != text:
            annotation.children = [nodes.Text(short)]


def cite(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Let a link to a work, ``cite:key``, lead to its entry of the bibliography, and show it on hovering."""
    works = app.env.get_domain("cite")
    for link in list(doctree.findall(nodes.reference)):
        if (uri := link.get("refuri", "")).startswith("cite:"):
            # The extension for bibliographies warns of an unknown key.
            found = works.resolve_xref(
                app.env, name, app.builder, "p", uri.removeprefix("cite:"), link, link
            )
            # The link of the page keeps its words, and leads where the one found would.
            for entry in found.findall(nodes.reference) if found else ():
                del link["refuri"]
                link.attributes |= {
                    attribute: entry[attribute]
                    for attribute in ("internal", "refid", "refuri", "reftitle")
                    if attribute in entry
                }


def fold_specialists(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Fold what a chapter has for specialists, below its heading."""
    for section in doctree.findall(nodes.section):
        if section[0].astext().startswith("For specialists"):
            # A section begins with its heading, which stays above the fold.
            summary = "<summary>Theorems, proofs and more</summary>"
            fold = f'<details class="icl-specialists">{summary}'
            section.insert(1, nodes.raw("", fold, format="html"))
            section.append(nodes.raw("", "</details>", format="html"))


def page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Finish a page, in ``context``.

    - Scripts of live kernels are left out.
    - A page of the contents names its twin in Markdown, see `icl_book.site.machines`.
    - A formula stands on one line with its punctuation, and so does a short name in code.
    - A figure has a second drawing, which a narrow screen shows, see `icl_book.figures.narrow`.
    """

    # Live kernels need a server and a CDN, and their script fails when it is included twice.
    def live(script: Any) -> bool:
        return (
            "thebe" in f"{script.filename} {getattr(script, 'attributes', {}).get('body')}".lower()
        )

    context["script_files"] = [
        script for script in context.get("script_files", []) if not live(script)
    ]
    twin = f'<link rel="alternate" type="text/markdown" href="{Path(pagename).name}.md">'
    # Pages that Sphinx makes itself, such as those of source, have neither a document nor a twin.
    if doctree is not None:
        context["metatags"] = context.get("metatags", "") + twin
    if "body" in context:
        context["body"] = MARKED.sub(
            lambda m: f'<span class="icl-whole">{m[0]}</span>', context["body"]
        )
        context["body"] = SHORT.sub('<span class="pre icl-whole">', context["body"])

        def add_narrow(found: re.Match[str]) -> str:
            """Add to the picture of a figure its drawing for narrow screens, if there is one."""
            before, name, picture = found.groups()
            narrow = f"_static/narrow/{name}.svg"
            drawn = Path(app.srcdir) / "book" / narrow
            if not drawn.is_file():
                return found[0]
            # On a narrow screen the style sheet says below such a figure that its panels stand one below the
            # other. Matplotlib numbers the panels of a drawing.
            several = 'id="axes_2"' in drawn.read_text(encoding="utf-8")
            css = ' class="icl-stacked"' if several else ""
            source = f'media="{NARROW}" srcset="{context["pathto"](narrow, 1)}"'
            return f"{before}<picture{css}><source {source}/>{picture}</picture>"

        context["body"] = FIGURE.sub(add_narrow, context["body"])


def back(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Let each piece of a page of source link to its entry in the API, or nowhere if it has none.

    Where the API documents one name of a module under its package, viewcode links all of them to the package.
    The entry is that of the module, or else of the nearest package around it.
    """
    if not pagename.startswith("_modules/") or "body" not in context:
        return
    parts = pagename.split("/")[1:]
    owners = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    entries = app.env.get_domain("py").objects  # type: ignore[attr-defined]

    def link_block(found: re.Match[str]) -> str:
        block, name, text = found.groups()
        full_name = next(
            (f"{owner}.{name}" for owner in owners if f"{owner}.{name}" in entries), None
        )
        if full_name is None:
            return block
        page = context["pathto"](entries[full_name].docname)
        return (
            f'{block}<a class="viewcode-back" href="{page}#{entries[full_name].node_id}">{text}</a>'
        )

    context["body"] = BACK.sub(link_block, context["body"])


def link_names(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Link the names that a chapter imports from the packages to their entries in the API."""
    if not pagename.startswith("notebooks/"):
        return
    entries = app.env.get_domain("py").objects  # type: ignore[attr-defined]
    code = "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))
    full_names = {
        name: f"{module}.{name}"
        for module, names in IMPORTED.findall(code)
        for name in re.findall(r"\w+", names)
    }

    def link_name(found: re.Match[str]) -> str:
        name, attribute = found.groups()
        full_name = full_names.get(name)
        # A name that is a module has the entry of its attribute: `streams.stream`.
        if f"{full_name}.{attribute}" in entries:
            full_name = f"{full_name}.{attribute}"
        if full_name not in entries:
            return found[0]
        entry = entries[full_name]
        page = context["pathto"](entry.docname)
        return f'<a class="icl-name" href="{page}#{entry.node_id}">{found[0]}</a>'

    context["body"] = NAME.sub(link_name, context["body"])


def staged(app: Sphinx, config: object) -> None:
    """Stop if jupyter-book is called on the sources: without results the book would have holes."""
    if Path(app.srcdir).resolve() == ROOT:
        sys.exit("error: these are the sources, without results; the book is built by: make book")


def writers(app: Sphinx, env: object) -> list[str]:
    """Let two processes write the pages, which one has read."""
    app.parallel = 2
    return []


def returned(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write what overloaded functions return as in the source, since Sphinx has no event for them."""
    for node in doctree.findall(addnodes.desc_returns):
        # The text of the node itself begins with the arrow, which the page writes, too.
        text = "".join(child.astext() for child in node.children)
        if written(text) != text:
            node.children = [nodes.Text(written(text))]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect these functions with the events of Sphinx."""
    app.connect("config-inited", staged)
    app.connect("env-updated", writers)
    app.connect("autodoc-process-signature", signature)
    # Napoleon has priority 500, so this sees what it wrote.
    app.connect("autodoc-process-docstring", words, priority=600)
    app.connect("doctree-resolved", properties)
    app.connect("doctree-resolved", cite)
    app.connect("doctree-resolved", returned)
    app.connect("doctree-resolved", fold_specialists)
    # Other extensions add their scripts and change the text before.
    app.connect("html-page-context", page, priority=900)
    app.connect("html-page-context", back)
    app.connect("html-page-context", link_names)
    return {"parallel_read_safe": True}
