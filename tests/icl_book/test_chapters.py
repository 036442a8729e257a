"""The form that all chapters share, in their sources: order, size, exercises, captions, plain text."""

import ast
import re
from itertools import pairwise

import jupytext
import pytest

from icl_book.parameters import PARAMETERS, literals
from icl_book.provenance import ROOT
from icl_book.runner.single import changes, reads
from plain import find_markup

#: Maximum number of characters in a line of code, as wide as its box.
WIDE = 88
#: An exercise, one paragraph, and its solution right below.
EXERCISE = re.compile(
    r"(?:^|\n\n)\*\*Exercise (\d+)\.\*\*(?:.+\n)+\n<details><summary>Solution</summary>\n\n"
)
#: Tags of cells whose code a reader of the page does not see, or only after a click.
HIDE = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
#: The name that a chapter tells a reader to change, and its new value.
TRY = re.compile(r"To try .{,20}, replace the first line of the next cell by `(\w+) = (.+?)`")
CHAPTERS = [*sorted((ROOT / "notebooks").glob("*.py")), ROOT / "tests/data/chapter.py"]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return request.param


def test_cells_stand_in_the_order_of_the_page(chapter):
    title, *cells = jupytext.read(chapter).cells
    assert title.source.startswith("# ") and title.source.count("**Short answer.**") == 1
    parameters, setup, *_ = code = [cell for cell in cells if cell.cell_type == "code"]
    assert cells[:2] == code[:2], "parameters and imports follow the short answer"
    tags = [cell.metadata.get("tags") for cell in (parameters, setup, cells[-1])]
    assert tags == [["parameters", "hide-input"], ["hide-input"], ["remove-input"]]
    assert set(literals(parameters.source)) <= PARAMETERS.keys()
    assert "notebook.setup(" in setup.source and cells[-1].source == "notebook.footer()"
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    solved = [int(number) for number in EXERCISE.findall(text)]
    assert solved == list(range(1, text.count("**Exercise ") + 1))
    assert solved, "a chapter has an exercise with its solution"
    _, found, last = text.rpartition("## To remember\n\n")
    assert found and last.strip(), "the last lines are what to remember"


def test_a_chapter_can_be_read(chapter):
    _, *cells = jupytext.read(chapter).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    lines = [line for source in code for line in source.splitlines()]
    assert [line for line in lines if len(line) > WIDE] == []
    assert [line for line in lines if line.strip() == "#"] == [], "a comment that says nothing"
    trees = [ast.parse(source) for source in code]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.keyword) and node.arg == "seed":
            assert not isinstance(node.value, ast.Constant), "a seed outside the parameters"


def test_a_visible_cell_uses_no_name_that_a_hidden_cell_made(chapter):
    """Folded cells count as hidden, except for the parameters and the imports, which open the page."""
    code = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    hidden = set()
    found = []
    for place, cell in enumerate(code):
        tree = ast.parse(cell.source)
        open_to_all = place < 2 or not HIDE & set(cell.metadata.get("tags", []))
        if open_to_all:
            found += [f"{cell.source.splitlines()[0]} ...: {n}" for n in hidden & reads(tree)]
        hidden = hidden - changes(tree) if open_to_all else hidden | changes(tree)
    assert found == []


def test_the_size_to_try_stands_in_the_first_line_of_its_cell(chapter):
    _, *cells = jupytext.read(chapter).cells
    told = 0
    for cell, following in pairwise(cells):
        found = TRY.search(" ".join(cell.source.split()))
        if cell.cell_type == "markdown" and found:
            first, *_ = following.source.splitlines()
            assert re.fullmatch(rf"{found[1]} = .+  # or {re.escape(found[2])}, for example", first)
            told += 1
    # the experiments of these chapters are on the circle
    assert told == (chapter.stem != "certificates")


def test_figures_have_captions(chapter):
    _, *cells = jupytext.read(chapter).cells
    drawn = [pair for pair in pairwise(cells) if "plt.show()" in pair[0].source]
    assert drawn
    for cell, below in drawn:
        assert set(cell.metadata["figure"]) == {"alt", "name"}, cell.source
        assert re.match(r"\*\*[^*]+[.?!]\*\* ", below.source), cell.source


def test_text_is_plain_markdown_without_roles_and_directives(chapter):
    text = [cell.source for cell in jupytext.read(chapter).cells if cell.cell_type == "markdown"]
    assert find_markup("\n".join(text)) == []


@pytest.mark.parametrize(
    "text", ["see {term}`w`", "> {cite:p}`x`", "```{table}\n", " :::{admonition} T", "(law)=\n# T"]
)
def test_markup_is_found(text):
    assert len(find_markup(text)) == 1


def test_what_the_book_folds_is_folded_in_jupyter(chapter):
    code = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    for cell in code:
        tags = set(cell.metadata.get("tags", []))
        folded = cell.metadata.get("jupyter") == {"source_hidden": True}
        assert folded == (bool(HIDE & tags) and "parameters" not in tags), cell.source


@pytest.mark.parametrize("name", ["theorem2_scaling", "theorem3_generalization"])
def test_the_short_path_has_the_noise_of_the_parameters(name):
    cells = jupytext.read(ROOT / f"notebooks/{name}.py").cells
    plain = next(i for i, cell in enumerate(cells) if '-plain"></a>' in cell.source)
    code = next(c.source for c in cells[plain + 1 :] if c.cell_type == "code")
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    given = [word for call in calls for word in call.keywords if word.arg]
    noise = [word.value for word in given if word.arg == "noise_std"]
    assert "noise_std" in code
    assert not any(isinstance(value, ast.Constant) for value in noise)
