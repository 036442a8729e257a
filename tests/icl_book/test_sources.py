"""Which code of the package is behind a card or a figure, and where the API page documents it."""

import pytest

from icl_book.site import pages, sources, verify

IMPORTS = """
import numpy as np
from icl.pretrain.metrics import evaluation_error as error
from icl.risk import asymptotics, optimal_window, population_risk
from icl.risk.flow import population_flow
from icl.streams import stream
from icl.tasks import Affine
from icl_book import plots
"""


@pytest.fixture(scope="module")
def names():
    return sources.Names([IMPORTS])


def behind(names, *cells):
    return [[x.removeprefix("icl.") for x in found] for found in sources.behind([IMPORTS, *cells], names)[1:]]


@pytest.mark.parametrize(
    ("cells", "last"),
    [
        (["optimal_window(task)"], ["risk.optimal_window"]),
        (["w = optimal_window(1)", "x = w", "x + 1"], ["risk.optimal_window"]),  # through values
        (["w = optimal_window(1)", "w = 3", "w"], []),  # until they are replaced
        (["def f(x):\n    return population_risk(x)", "g = lambda: f(1)", "g()"], ["risk.population_risk"]),
        (["w = optimal_window(1)", "def f(w):\n    return w", "f(2)"], []),  # a parameter hides the value
        (["w = optimal_window(1)", "[w for w in range(3)]"], []),
        (
            ["found = {}\nfor d in (2, 3):\n    found[d] = population_risk(d)", "found"],
            ["risk.population_risk"],
        ),
        (["rows = []", "rows.append(error(1))", "rows"], ["pretrain.metrics.evaluation_error"]),
        (
            ["names = {}", "exec('from icl.risk import optimal_window', names)", "names"],
            ["risk.optimal_window"],
        ),
        (["TEXT = '''\nfrom icl.tasks import ReLU\nReLU(3)\n'''", "run(TEXT)"], ["tasks.ReLU"]),
        (["asymptotics.bias_law(1)"], ["risk.asymptotics.bias_law"]),
        (["population_flow(Affine(3), stream(0))"], ["tasks.Affine", "risk.population_flow"]),
        (["w = optimal_window(1)", "plots.exact_curve(ax, w)", "plots.style()"], []),  # a module stays clean
        (["np.zeros(3)"], []),
    ],
)
def test_what_is_behind_a_cell(names, cells, last):
    assert behind(names, *cells)[-1] == last


def test_every_object_is_documented_once_and_private_rooms_never(names):
    api = "\n".join(pages.api(names).values())
    documented = [
        line.split(":: ")[1] for line in api.splitlines() if line.startswith((".. autof", ".. autoc"))
    ]
    assert len(documented) == len(set(documented)) == len(names.kinds)
    assert {"icl.risk.population_risk", "icl.tasks.Affine", "icl.tensor_trick.vec"} <= set(documented)
    assert "icl.risk.exact.population_risk" not in documented  # its room has it
    assert "compiled" not in api and "._" not in api
    rooms = [line[4:-1] for line in api.splitlines() if line.startswith("## ")]
    assert rooms == [*(f"icl.{room}" for room in sources.ROOMS), *sources.BOOK]


def test_every_published_name_can_be_imported(names):
    import importlib

    for name, kind in names.kinds.items():
        module, _, thing = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), thing), type) == (kind == "class"), name


CARD = '<div class="icl-card icl-holds" id="claim-P1.x">holds</div>'


def notebook(code):
    shown = {"output_type": "execute_result", "data": {"text/html": [CARD]}}
    figure = {"mystnb": {"figure": {"caption": "A curve."}}}
    return {
        "cells": [
            {"cell_type": "code", "source": [IMPORTS], "outputs": []},
            {"cell_type": "code", "source": [code], "outputs": [shown], "metadata": figure},
        ]
    }


def test_cards_and_captions_carry_links(names):
    content = notebook("optimal_window(Affine(3))")
    sources.annotate(content, names)
    cell = content["cells"][1]
    page = cell["outputs"][0]["data"]["text/html"]
    assert page.count("<div") == page.count("</div>") == 1 and page.endswith("</span></div>")
    for text in (page, cell["metadata"]["mystnb"]["figure"]["caption"]):
        for name in ("icl.tasks.Affine", "icl.risk.optimal_window"):
            where = f"{sources.page_of(name)}.html#{name}"
            shown = f"<code>{name.split('.')[-1]}</code>"
            assert f'<a href="../book/{where}" title="{name}">{shown}</a>' in text
    documented = {"api_tasks.html#icl.tasks.Affine", "api_risk.html#icl.risk.optimal_window"}
    assert verify.sources("p", page, documented) == []


def test_code_of_the_page_alone_is_said(names):
    content = notebook("1 + 1")
    sources.annotate(content, names)
    page = content["cells"][1]["outputs"][0]["data"]["text/html"]
    assert sources.ON_PAGE in page and verify.sources("p", page, set()) == []


def test_figures_computed_by_the_page_name_what_the_page_ports(names):
    content = notebook("1 + 1")
    data = content["cells"][1]["outputs"][0]["data"]
    data["text/html"] = '<div class="icl-live"><img></div>'
    sources.annotate(content, names)
    assert set(sources.PORTED) <= names.kinds.keys()
    documented = {f"api_risk.html#{name}" for name in sources.PORTED}
    assert verify.sources("p", data["text/html"], documented) == []
    assert all(f'../book/{link}"' in data["text/html"] for link in documented)
    names = sources.Names([path.read_text() for path in (sources.ROOT / "notebooks").glob("*.py")])
    for name, ported in sources.PORTED_FOR.items():
        assert set(ported) <= names.kinds.keys()
        data["text/html"] = f'<div class="icl-live" data-figure="{name}"><img></div>'
        sources.annotate(content, names)
        assert all(f'title="{one}"' in data["text/html"] for one in ported)
    (problem,) = verify.sources("p", '<div class="icl-live"></div>', set())
    assert "icl-live: has no link to the code" in problem


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (CARD, "claim-P1.x: has no link to the code"),
        (CARD.replace("holds<", '<span class="icl-code">Source code: .</span><'), "names neither code nor"),
        ('<figure id="f"><img></figure>', "p: f: has no link to the code"),
        ('<div class="icl-slider"></div>', "p: icl-slider: has no link to the code"),
        (CARD.replace("holds<", sources.note(["icl.risk.gone"]) + "<"), "#icl.risk.gone leads nowhere"),
        (CARD.replace("holds<", sources.note(["icl.risk"]).replace("api", "apl") + "<"), "leads nowhere"),
    ],
)
def test_verifier_sees_missing_and_dead_links_to_code(page, message):
    (problem,) = verify.sources("p", page, {"icl.risk"})
    assert message in problem
