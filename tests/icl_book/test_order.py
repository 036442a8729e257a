"""Tests of the order of a page's cells."""

import pytest
from bs4 import BeautifulSoup

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


@pytest.mark.parametrize(
    "shown, line",
    [
        (
            '<div class="icl-card icl-holds" id="claim-A"><p class="icl-head"><b>holds</b> A</p>more</div>',
            "<b>holds</b> A",
        ),
        (
            '<div class="icl-table"><table><caption>Risks</caption><tbody></tbody></table></div>',
            "Table: Risks",
        ),
    ],
)
def test_a_folded_output_says_what_it_is(shown, line):
    kept = {"data": {"application/papermill.record/text/plain": "1"}}
    cell = code("f()", "hide-output") | {"outputs": [{"data": {"text/html": shown}}, kept]}
    arrange({"cells": [markdown("# Title"), cell]})
    assert cell["metadata"]["tags"] == []
    page = BeautifulSoup(cell["outputs"][0]["data"]["text/html"], "html.parser")
    assert page.div.get("id") == BeautifulSoup(shown, "html.parser").div.get("id")
    assert page.div.details.summary.decode_contents() == line
    page.summary.decompose()
    assert page.get_text() in BeautifulSoup(shown, "html.parser").get_text()


def test_an_output_without_a_name_stays_folded_as_it_is():
    cell = code("f()", "hide-output") | {"outputs": [{"output_type": "stream", "text": "1"}]}
    arrange({"cells": [markdown("# Title"), cell]})
    assert cell["metadata"]["tags"] == ["hide-output"] and cell["outputs"][0]["text"] == "1"
