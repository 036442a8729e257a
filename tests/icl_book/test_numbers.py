"""Tests of the box of numbers that a sweep can collect."""

import json
import shlex

import pytest
from bs4 import BeautifulSoup

from icl_book.runner import plan
from icl_book.site import numbers

RUN = {
    "name": "n",
    "parameters": {"dims": [2], "seed": 0},
    "numbers": {"risk": "0.123456789", "w": "'a|b $'"},
}


def test_the_box_stands_above_the_footer_and_names_every_number_with_its_value():
    content = {"cells": [{"source": "# T"}, {"source": "notebook.footer()"}]}
    numbers.add(content, RUN)
    assert [cell.get("id") for cell in content["cells"]] == [None, numbers.BOX, None]
    text = content["cells"][1]["source"]
    assert "| `risk` | `` 0.123457 `` |" in text and "| `w` | `` a\\|b $ `` |" in text
    assert 'make sweep NOTEBOOK=n GRID="seed=0,1" \\\n  COLLECT=risk,w' in text
    json.dumps(content)


def test_a_notebook_without_numbers_has_no_box():
    content = {"cells": [{"source": "notebook.footer()"}]}
    numbers.add(content, RUN | {"numbers": {}})
    assert len(content["cells"]) == 1 and numbers.problems("p", BeautifulSoup("", "html.parser"), {}) == []


def test_a_missing_box_or_number_is_a_problem():
    row = '<div class="icl-numbers"><table><tr><td><code>risk</code></td><td>w</td></tr></table></div>'
    page, bare = BeautifulSoup(row, "html.parser"), BeautifulSoup("<p>risk</p>", "html.parser")
    assert numbers.problems("p", page, ["risk"]) == []
    assert numbers.problems("p", page, ["risk", "w"]) == ["p: number w is not in the box of numbers"]
    (problem,) = numbers.problems("p", bare, ["risk"])
    assert problem == "p: has no box that names the numbers which the notebook keeps"


@pytest.mark.parametrize("name", plan.notebooks())
def test_the_command_of_every_box_is_a_sweep_that_starts(name):
    (run,) = plan.plan("quick", name)
    parameters = plan.defaults(name) | run.overrides
    words = numbers.command({"name": name, "parameters": parameters, "numbers": {"risk": "1"}})
    given = dict(word.split("=", 1) for word in shlex.split(words.replace("\\\n", ""))[2:])
    assert given["COLLECT"] == "risk"
    assert len({run.path for run in plan.plan("quick", given["NOTEBOOK"], given["GRID"])}) == 2
