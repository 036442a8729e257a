"""Extend Sphinx: change signatures and docstrings of the API, links, and the HTML of finished pages."""

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

#: Matches what Sphinx writes for ``NDArray[float64]``.
ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[~?(?:numpy\.)?(\w+)\]\]"
)
#: Matches what Sphinx writes for a type with a validator of pydantic.
VALIDATED = re.compile(r"~?[\w.]*Annotated\[(.+?), ~?[\w.]*BeforeValidator\([^)]*\)\]")
#: Matches the path of a name without its last part.
PATH = re.compile(r"~(?:\w+\.)+")
#: Matches a formula of a page with the punctuation around it.
MARKED = re.compile(
    r"\(?<span class=\"math notranslate nohighlight\">[^<]*</span>[.,;:!?)\u2019\u201d]*"
)
#: Matches the beginning of a name in code that is short enough for one line of a phone.
SHORT = re.compile(r'<span class="pre">(?=[^<]{1,24}</span>)')
#: The media query of screens with narrow drawings; paper shows the figures.
NARROW = "screen and (max-width: 36rem)"
#: Matches a figure of a page: its name and its picture.
FIGURE = re.compile(r'(<figure [^>]*id="([\w-]+)"[^>]*>\s*)(<img [^>]*>)')
#: Matches an import from one of the packages in the code of a chapter: the module and the names.
IMPORTED = re.compile(r"^from (icl[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
#: Matches a name in the HTML of code, and the attribute that follows it, if any.
NAME = re.compile(
    r'<span class="n">(\w+)</span>(?:<span class="o">\.</span><span class="n">(\w+)</span>)?'
)
#: Matches what viewcode writes before a piece of source: its name, and a link to its entry in the API.
BACK = re.compile(
    r'(<div class="viewcode-block" id="([^"]+)">\n)<a class="viewcode-back" href="[^"]*">(.*?)</a>'
)


def write_types(text: str) -> str:
    """Return the text of a signature with types as in the source, and with dots for a default factory."""
    return VALIDATED.sub(r"\1", ARRAY.sub(r"NDArray[\1]", text)).replace("<factory>", "...")


def write_signature(
    app: Sphinx, what: str, name: str, obj: object, options: object, given: str, returned: str
) -> tuple[str | None, ...]:
    """Return the arguments and the returned type of a signature, with types as in the source."""
    if inspect.isclass(obj) and issubclass(obj, Enum):
        return "", None
    return tuple(text and write_types(text) for text in (given, returned))


def mend_docstring(
    app: Sphinx | None, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Mend ``lines``, the text that napoleon, Sphinx's reader of Google style, has made of a docstring."""
    kinds = [line for line in lines if line.startswith(":type: ")]
    # Napoleon takes words before a colon for a type.
    if what in ("attribute", "data", "property") and kinds:
        lines.remove(kinds[0])
        lines[0] = f"{kinds[0].removeprefix(':type: ')}: {lines[0]}"
    # Napoleon leaves out the values of an enumeration.
    if inspect.isclass(obj) and issubclass(obj, Enum):
        lines += ["The values are " + ", ".join(f"*{member.value}*" for member in obj) + "."]


def write_annotations(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Write types as in the source where they stand outside of signatures, for instance at attributes."""
    for annotation in list(doctree.findall(addnodes.desc_annotation)):
        text = annotation.astext()
        short = PATH.sub("", write_types(text))
        if short != text:
            annotation.children = [nodes.Text(short)]


def cite(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Let each link to ``cite:key`` lead to the entry of this key in the bibliography."""
    works = app.env.get_domain("cite")
    for link in list(doctree.findall(nodes.reference)):
        if (uri := link.get("refuri", "")).startswith("cite:"):
            # The extension for bibliographies returns a citation with one link to the entry, or warns of an
            # unknown key.
            found = works.resolve_xref(
                app.env, name, app.builder, "p", uri.removeprefix("cite:"), link, link
            )
            if not found:
                continue
            # The link of the page keeps its words.
            for entry in found.findall(nodes.reference):
                del link["refuri"]
                link.attributes |= {
                    attribute: entry[attribute]
                    for attribute in ("internal", "refid", "refuri", "reftitle")
                    if attribute in entry
                }


def fold_specialists(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Hide the text below the heading *For specialists* of a chapter, until a reader opens it."""
    for section in doctree.findall(nodes.section):
        if section[0].astext().startswith("For specialists"):
            # The heading stays above the fold.
            summary = "<summary>Theorems, proofs and more</summary>"
            fold = f'<details class="icl-specialists">{summary}'
            section.insert(1, nodes.raw("", fold, format="html"))
            section.append(nodes.raw("", "</details>", format="html"))


def finish_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Change the HTML of a page, ``context["body"]``, and what its head loads.

    The scripts of live kernels are left out. The head links to the page's twin in Markdown. Formulas and
    short names in code do not break across lines. A figure gets a second drawing for narrow screens.
    """

    # Live kernels need a server and a CDN, and their script fails when it is included twice.
    def is_live(script: Any) -> bool:
        return (
            "thebe" in f"{script.filename} {getattr(script, 'attributes', {}).get('body')}".lower()
        )

    context["script_files"] = [
        script for script in context.get("script_files", []) if not is_live(script)
    ]
    twin = f'<link rel="alternate" type="text/markdown" href="{Path(pagename).name}.md">'
    # Pages that Sphinx makes itself, as those of source code, do not have a twin.
    if doctree is not None:
        context["metatags"] = context.get("metatags", "") + twin
    if "body" in context:
        context["body"] = MARKED.sub(
            lambda m: f'<span class="icl-whole">{m[0]}</span>', context["body"]
        )
        context["body"] = SHORT.sub('<span class="pre icl-whole">', context["body"])

        def add_narrow(found: re.Match[str]) -> str:
            before, name, picture = found.groups()
            narrow = f"_static/narrow/{name}.svg"
            drawn = Path(app.srcdir) / "book" / narrow
            if not drawn.is_file():
                return found[0]
            # The style sheet adds to the caption that several panels stand one below the other. Matplotlib
            # calls the second panel `axes_2`.
            several = 'id="axes_2"' in drawn.read_text(encoding="utf-8")
            css = ' class="icl-stacked"' if several else ""
            # The 1 tells `pathto` that this is a file.
            source = f'media="{NARROW}" srcset="{context["pathto"](narrow, 1)}"'
            return f"{before}<picture{css}><source {source}/>{picture}</picture>"

        context["body"] = FIGURE.sub(add_narrow, context["body"])


def link_source(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """On a page of source code, link each piece to its entry in the API, or to nothing if it has none.

    Some links of Sphinx's viewcode are wrong: if the API documents one name of a module under the module's
    package, viewcode links all names of the module to the package.
    """
    if not pagename.startswith("_modules/") or "body" not in context:
        return
    parts = pagename.split("/")[1:]
    # The entry may be under a package around the module.
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
        # An attribute may have an entry of its own, as in `streams.stream`.
        if f"{full_name}.{attribute}" in entries:
            full_name = f"{full_name}.{attribute}"
        if full_name not in entries:
            return found[0]
        entry = entries[full_name]
        page = context["pathto"](entry.docname)
        return f'<a class="icl-name" href="{page}#{entry.node_id}">{found[0]}</a>'

    context["body"] = NAME.sub(link_name, context["body"])


def refuse_sources(app: Sphinx, config: object) -> None:
    """Exit with an error if jupyter-book is called on the sources, which have no results."""
    if Path(app.srcdir).resolve() == ROOT:
        sys.exit("error: these are the sources, without results; the book is built by: make book")


def write_in_parallel(app: Sphinx, env: object) -> list[str]:
    """Let two processes write the pages."""
    # Reading is done before, by one process.
    app.parallel = 2
    return []


def write_returned(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the returned types of overloaded functions, for which Sphinx does not call `write_signature`."""
    for node in doctree.findall(addnodes.desc_returns):
        # The text of the node itself begins with the arrow.
        text = "".join(child.astext() for child in node.children)
        if write_types(text) != text:
            node.children = [nodes.Text(write_types(text))]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the functions of this module with the events of Sphinx."""
    app.connect("config-inited", refuse_sources)
    app.connect("env-updated", write_in_parallel)
    app.connect("autodoc-process-signature", write_signature)
    # Napoleon has the priority 500, so `mend_docstring` gets what napoleon wrote.
    app.connect("autodoc-process-docstring", mend_docstring, priority=600)
    app.connect("doctree-resolved", write_annotations)
    app.connect("doctree-resolved", cite)
    app.connect("doctree-resolved", write_returned)
    app.connect("doctree-resolved", fold_specialists)
    # With this priority the function comes after other extensions.
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("html-page-context", link_source)
    app.connect("html-page-context", link_names)
    return {"parallel_read_safe": True}
