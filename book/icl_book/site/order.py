"""The order of a page's cells: what a reader looks for first stands first.

A notebook computes before it draws, and its parameters come before everything. On the page the figure that
shows the answer stands below the short answer, parameters and imports stand at the end, and they, long cells
and cells that judge are folded: their code is one click away.
"""

from __future__ import annotations

import re

#: Tag of the figure that stands below the short answer.
FIRST_FIGURE = "first-figure"
#: Tag of a cell whose code is worth the room it takes, and the number of lines from which others are folded.
SHOWN, LONG = "show-input", 12
#: What a folded output shows: the head of a card, the caption of a table.
FOLDED = (
    (re.compile(r'(<div class="icl-card [^>]*>)<p class="icl-head">(.*?)</p>(.*)</div>', re.DOTALL), ""),
    (
        re.compile(r'(<div class="icl-table[^>]*>)(?=<table><caption>(.*?)</caption>)(.*)</div>', re.DOTALL),
        "Table: ",
    ),
)
ANNOUNCED = "The parameters of this run, and its imports (folded):"
HEADING = (
    "## Parameters, imports and run time\n\nIn the notebook these cells come first; here they are folded. "
    "The page *Reproduce* says how to run it with other values."
)


def arrange(content: dict) -> None:
    """Reorder the cells of an executed notebook for its page.

    Args:
        content: The notebook as JSON; changed in place. Without a short answer, a tagged figure or a cell of
            parameters, that part stays as it is.

    Raises:
        ValueError: If a figure is tagged and there is no short answer to stand below.
    """
    cells = content["cells"]
    figure = [c for c in cells if FIRST_FIGURE in _tags(c)]
    setup = [c for c in cells if _is_setup(c)]
    moved = {id(c) for c in (*figure, *setup)}
    rest = [c for c in cells if id(c) not in moved]
    answer = next((i for i, c in enumerate(rest) if "**Short answer.**" in _text(c)), None)
    if figure and answer is None:
        raise ValueError(f"a cell has the tag {FIRST_FIGURE!r}, but no cell says **Short answer.**")
    for cell in rest:
        if cell["cell_type"] == "markdown" and ANNOUNCED in _text(cell):
            cell["source"] = _text(cell).replace(ANNOUNCED, "").rstrip()
    if answer is not None:
        rest[answer + 1 : answer + 1] = figure
    if setup:
        end = len(rest) - ("notebook.footer()" in _text(rest[-1]))
        heading = {"cell_type": "markdown", "id": "parameters-imports", "metadata": {}, "source": HEADING}
        rest[end:end] = [heading, *setup]
    for cell in (c for c in rest if c["cell_type"] == "code"):
        tags, text = _tags(cell), _text(cell)
        if SHOWN not in tags and ("judge(" in text or text.strip().count("\n") >= LONG or _is_setup(cell)):
            tags.add("hide-input")
        if "notebook.footer()" in text:
            tags.add("remove-input")
        cell["metadata"]["tags"] = sorted(tags)
        if "hide-output" in tags:
            _fold(cell)
        label = _label(cell, "hide-output" in _tags(cell))
        cell["metadata"].setdefault("mystnb", {}).update(code_prompt_show=label, code_prompt_hide=label)
    content["cells"] = [c for c in rest if c["cell_type"] != "markdown" or _text(c).strip()]


def _fold(cell: dict) -> None:
    """Fold the cards and tables of a cell below a line that names them."""
    folded = []
    # Numbers that are kept for prose are outputs as well, which nobody sees.
    seen = [
        o for o in cell["outputs"] if not all(m.startswith("application/") for m in o.get("data", ["text"]))
    ]
    for output in seen:
        shown = "".join(output.get("data", {}).get("text/html", ""))
        for pattern, word in FOLDED:
            if match := pattern.fullmatch(shown.strip()):
                outer, head, inner = match.groups()
                folded.append(output)
                output["data"]["text/html"] = (
                    f'{outer}<details class="icl-folded"><summary class="icl-head">{word}{head}</summary>'
                    f"{inner}</details></div>"
                )
    if folded == seen:
        cell["metadata"]["tags"] = sorted(_tags(cell) - {"hide-output"})


def _label(cell: dict, both: bool) -> str:
    """Name a cell for the line that unfolds its code, or for two lines, of its code and of what it shows."""
    text = _text(cell)
    if judged := ", ".join(re.findall(r'judge\(\s*"([^"]+)"', text)):
        return f"{judged}: {{type}}" if both else f"Code that judges {judged}"
    kinds = {
        "Imports": "notebook.setup(" in text,
        "Parameters of this run": _is_setup(cell),
        "figure": "figure" in cell["metadata"].get("mystnb", {}) or "live(" in text,
        "slider": "slider_figure(" in text,
        "table": "plots.table(" in text,
    }
    name = next((name for name, fits in kinds.items() if fits), "")
    if name[:1].isupper():
        return name
    if both:
        return f"The {name or 'result'}: {{type}}"
    return f"Code of the {name}" if name else "Code"


def _is_setup(cell: dict) -> bool:
    if cell["cell_type"] != "code":
        return False
    return bool({"parameters", "injected-parameters"} & _tags(cell)) or "notebook.setup(" in _text(cell)


def _tags(cell: dict) -> set[str]:
    return set(cell["metadata"].get("tags", ()))


def _text(cell: dict) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)
