"""The form that all chapters share, in their sources: the order of their cells, exercises, what is folded."""

import re

import jupytext
import pytest

from icl_book.notebook import assignments
from icl_book.parameters import PARAMETERS
from icl_book.provenance import ROOT

#: Lines from which code is folded, unless it is what the page is about.
LONG = 12
#: Characters of a line of code, as wide as its box.
WIDE = 88
#: An exercise, one paragraph, and its solution right below.
EXERCISE = re.compile(
    r"(?:^|\n\n)\*\*Exercise (\d+)\.\*\*(?:.+\n)+\n(?:```|:::)\{admonition\} Solution\n:class: dropdown\n"
)
CHAPTERS = [*sorted((ROOT / "notebooks").glob("*.py")), ROOT / "tests/data/chapter.py"]


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_cells_stand_in_the_order_of_the_page(path):
    title, *cells = jupytext.read(path).cells
    assert title.source.startswith("# ") and title.source.count("**Short answer.**") == 1
    parameters, setup, *_ = code = [cell for cell in cells if cell.cell_type == "code"]
    assert cells[:2] == code[:2], "parameters and imports follow the short answer"
    assert tags(parameters) == ["parameters", "hide-input"]
    assert set(assignments(parameters.source)) <= PARAMETERS.keys()
    assert "notebook.setup(" in setup.source and "hide-input" in tags(setup)
    assert cells[-1].source == "notebook.footer()" and tags(cells[-1]) == ["remove-input"]
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    solved = [int(number) for number in EXERCISE.findall(text)]
    assert solved == list(range(1, text.count("**Exercise ") + 1))
    assert solved or path.stem == "chapter"
    assert [line for c in code for line in c.source.splitlines() if len(line) > WIDE] == []
    for cell in code:
        assert "judge(" not in cell.source or "hide-input" in tags(cell), cell.source
    shown = [c for c in code if "hide-input" not in tags(c) and c.source.count("\n") >= LONG]
    assert len(shown) <= 2, "long code is folded, but for what a chapter wants to be read"
    assert any("figure" in cell.metadata.get("mystnb", {}) for cell in code)
