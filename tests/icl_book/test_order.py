"""Tests of the order of a page's cells."""

import pytest
from bs4 import BeautifulSoup

from icl_book import plots
from icl_book.claims import Authority, Claim, Grade, exact, judge
from icl_book.site.order import ANNOUNCED, HEADING, arrange


def markdown(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(text, *tags):
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": text.splitlines(True)}


def test_answer_figure_body_setup_footer():
    content = {
        "cells": [
            markdown("# Title\n\n**Short answer.** Yes."),
            markdown(f"## Printed\n\nA statement.\n\n{ANNOUNCED}"),
            code("n = 1", "parameters"),
            code("n = 2", "injected-parameters"),
            code("import numpy\nnotebook.setup(globals())", "hide-input"),
            markdown("## Measured"),
            code("plot()", "hide-input", "first-figure"),
            code("notebook.footer()"),
        ]
    }
    arrange(content)
    assert ["".join(c["source"]) for c in content["cells"]] == [
        "# Title\n\n**Short answer.** Yes.",
        "plot()",
        "## Printed\n\nA statement.",
        "## Measured",
        HEADING,
        "n = 1",
        "n = 2",
        "import numpy\nnotebook.setup(globals())",
        "notebook.footer()",
    ]


def test_a_cell_that_only_announces_goes():
    content = {"cells": [markdown("# Title"), markdown(ANNOUNCED), code("n = 1", "parameters")]}
    arrange(content)
    assert [c["source"] for c in content["cells"]] == ["# Title", HEADING, ["n = 1"]]


def test_a_figure_without_an_answer_is_refused():
    with pytest.raises(ValueError, match="Short answer"):
        arrange({"cells": [markdown("# Title"), code("plot()", "first-figure")]})


def test_long_cells_and_those_that_judge_are_folded():
    long = "\n".join(f"a{i} = {i}" for i in range(17))
    sources = [code("judge('P1.x', case)"), code(long), code("print(1)"), code(long, "show-input")]
    content = {"cells": [markdown("# Title"), *sources, code("n = 1", "parameters")]}
    arrange(content)
    folded = ["hide-input" in c["metadata"]["tags"] for c in content["cells"] if c["cell_type"] == "code"]
    assert folded == [True, True, False, False, True]


def a_card():
    claim = Claim(
        "P1.a",
        Authority.BOOK,
        "this book",
        reading="$a$",
        quantity="a",
        rule=lambda p: (0, 1),
        grade=Grade.PROVED,
    )
    return judge(claim, exact("first", 0.5))._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    "shown, line",
    [
        (a_card(), "established P1.a this book"),
        (plots.table(["n", "risk"], [["1", "2"]], "Risks")._repr_html_(), "Table: Risks"),
    ],
    ids=["card", "table"],
)
def test_a_folded_output_says_what_it_is(shown, line):
    kept = {"data": {"application/papermill.record/text/plain": "1"}}
    cell = code("f()", "hide-output") | {"outputs": [{"data": {"text/html": shown}}, kept]}
    arrange({"cells": [markdown("# Title"), cell]})
    assert cell["metadata"]["tags"] == []
    before, page = (BeautifulSoup(t, "html.parser") for t in (shown, cell["outputs"][0]["data"]["text/html"]))
    assert page.div.attrs == before.div.attrs
    assert page.div.details.summary.extract().get_text() == line
    assert page.get_text() in before.get_text() and (before.table is None or page.details.table)


def test_an_output_without_a_name_stays_folded_as_it_is():
    cell = code("f()", "hide-output") | {"outputs": [{"output_type": "stream", "text": "1"}]}
    arrange({"cells": [markdown("# Title"), cell]})
    assert cell["metadata"]["tags"] == ["hide-output"] and cell["outputs"][0]["text"] == "1"


@pytest.mark.parametrize(
    ("text", "tags", "line"),
    [
        ("judge('P1.a', x)", (), "Code that judges P1.a"),
        ("judge(\n    'P1.a', x)\nprint(1)", ("hide-output",), "P1.a: {type}"),
        ("plots.table(a, b, c)", (), "Code of the table"),
        ("plots.table(a, b, c)", ("hide-output",), "The table: {type}"),
        ("plots.slider_figure(a, b, c, d)", ("hide-output",), "The slider: {type}"),
        ("print(1)", (), "Code"),
        ("print(1)", ("hide-output",), "The result: {type}"),
        ("notebook.setup(globals())", (), "Imports"),
    ],
)
def test_a_fold_says_whose_code_or_what_it_holds(text, tags, line):
    cell = code(text.replace("'", '"'), *tags) | {"outputs": [{"output_type": "stream", "text": "1"}]}
    arrange({"cells": [markdown("# Title"), cell]})
    assert cell["metadata"]["mystnb"] == {"code_prompt_show": line, "code_prompt_hide": line}
