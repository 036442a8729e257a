"""The form that all chapters share, in their sources: order, size, exercises, captions, plain text."""

import ast
import re
from itertools import pairwise

import jupytext
import pytest

from icl_book.parameters import PARAMETERS, literals
from icl_book.provenance import ROOT
from icl_book.runner.single import list_changed_names, list_read_names
from plain import find_markup

#: Maximum number of characters in a line of code, as wide as its box.
WIDE = 88
#: An exercise, one paragraph, and its solution right below.
EXERCISE = re.compile(
    r"(?:^|\n\n)\*\*Exercise (\d+)\.\*\*(?:.+\n)+\n<details><summary>Solution</summary>\n\n"
)
#: Tags of cells whose code a reader of the page does not see, or only after a click.
HIDE = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
#: The appendix of proofs has no experiment.
WITHOUT_EXPERIMENT = ("certificates",)
CHAPTERS = [*sorted((ROOT / "notebooks").glob("*.py")), ROOT / "tests/data/chapter.py"]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return request.param


def test_cells_stand_in_the_order_of_the_page(chapter):
    """Title, parameters and imports come first; there is a short answer; exercises have solutions."""
    title, *cells = jupytext.read(chapter).cells
    assert title.source.startswith("# ")
    parameters, setup, *_ = code = [cell for cell in cells if cell.cell_type == "code"]
    assert cells[:2] == code[:2], "parameters and imports follow the title"
    tags = [cell.metadata.get("tags") for cell in (parameters, setup, cells[-1])]
    assert tags == [["parameters", "hide-input"], ["hide-input"], ["remove-input"]]
    assert set(literals(parameters.source)) <= PARAMETERS.keys()
    assert "notebook.setup(" in setup.source and cells[-1].source == "notebook.footer()"
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert text.count("**In short.** ") == 1
    solved = [int(number) for number in EXERCISE.findall(text)]
    assert solved == list(range(1, text.count("**Exercise ") + 1))
    assert solved, "a chapter has an exercise with its solution"


def test_the_experiment_runs_when_copied(chapter):
    """The one visible experiment needs nothing of the page, and changes none of the run's parameters."""
    if chapter.stem in WITHOUT_EXPERIMENT:
        return
    code = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    (cell,) = [cell for cell in code if "experiment" in cell.metadata.get("tags", [])]
    tree = ast.parse(cell.source)
    assert not list_changed_names(tree) & set(literals(code[0].source))
    assert "icl_book" not in cell.source
    exec(compile(tree, chapter.name, "exec"), {})


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
            found += [
                f"{cell.source.splitlines()[0]} ...: {n}" for n in hidden & list_read_names(tree)
            ]
        hidden = (
            hidden - list_changed_names(tree) if open_to_all else hidden | list_changed_names(tree)
        )
    assert found == []


def test_figures_have_captions(chapter):
    _, *cells = jupytext.read(chapter).cells
    drawn = [pair for pair in pairwise(cells) if "plt.show()" in pair[0].source]
    assert drawn
    for cell, below in drawn:
        assert set(cell.metadata["figure"]) == {"alt", "name"}, cell.source
        assert re.match(r"\*\*[^*]+[.?!]\*\* ", below.source), cell.source


def test_text_is_plain_markdown_that_any_program_reads(chapter):
    text = [cell.source for cell in jupytext.read(chapter).cells if cell.cell_type == "markdown"]
    assert find_markup("\n".join(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "see {term}`w`",
        "> {cite:p}`x`",
        "```{table}\n",
        " :::{admonition} T",
        "(law)=\n# T",
        "> $$a\nb$$",
        "> a $b\nc$",
    ],
)
def test_markup_is_found(text):
    assert len(find_markup(text)) == 1


def test_what_the_book_folds_is_folded_in_jupyter(chapter):
    code = [cell for cell in jupytext.read(chapter).cells if cell.cell_type == "code"]
    for cell in code:
        tags = set(cell.metadata.get("tags", []))
        folded = cell.metadata.get("jupyter") == {"source_hidden": True}
        assert folded == (bool(HIDE & tags) and "parameters" not in tags), cell.source
