"""The gallery: a thumbnail of each figure, linked to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

CARD = """:::{{grid-item-card}}
:img-top: {file}
:img-alt: {alt}
:link: {name}
:link-type: ref
:link-alt: {words}
{caption}
:::
"""

#: Characters below which a caption's first words say nothing of the figure, as in "Exact."
ENOUGH = 15


def figures(content: dict) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, caption, alternative text and SVG of each named figure of an executed notebook."""
    for cell in content["cells"]:
        settings = cell["metadata"].get("mystnb", {})
        figure = settings.get("figure", {})
        for output in cell.get("outputs", []):
            drawing = output.get("data", {}).get("image/svg+xml")
            if drawing and figure.get("name"):
                alt = settings.get("image", {}).get("alt", "")
                yield figure["name"], figure["caption"], alt, "".join(drawing)


def page(notebooks: Mapping[str, dict], titles: Mapping[str, str], folder: Path) -> str:
    """Write the pictures into a folder and return the page's grid, chapter by chapter.

    Args:
        notebooks: Executed notebooks by name, as JSON.
        titles: Their titles.
        folder: Where the pictures go; the page lies one level above it.
    """
    folder.mkdir(parents=True)
    out = []
    for name, content in notebooks.items():
        cards = []
        for label, caption, alt, drawing in figures(content):
            (folder / f"{label}.svg").write_text(drawing, encoding="utf-8")
            file = f"/{folder.parent.parent.name}/{folder.parent.name}/{folder.name}/{label}.svg"
            alt = " ".join(alt.split())
            cards.append(
                CARD.format(
                    file=file,
                    alt=alt,
                    name=label,
                    words=_first_sentence(alt),  # the caption would be read out with its TeX
                    caption=_first_sentence(caption),
                )
            )
        if cards:
            out += [
                f"## [{titles[name]}](/notebooks/{name}.ipynb)",
                "",
                "::::{grid} 1 2 2 3",
                ":gutter: 2",
                "",
            ]
            out += [*cards, "::::", ""]
    return "\n".join(out)


def _first_sentence(caption: str) -> str:
    """Return a caption up to a full stop or colon outside mathematics and brackets that says enough."""
    parts = caption.split("$")
    for i in range(0, len(parts), 2):
        for end in re.finditer(r"[.:](\s|$)", parts[i]):
            said = "$".join([*parts[:i], parts[i][: end.start()]])
            if len(said) >= ENOUGH and said.count("(") == said.count(")") and not said.endswith("Fig"):
                return f"{said}."
    return caption
