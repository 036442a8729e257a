"""Numbers in short answers and findings: every one is a case of a card, and moves with none of its sizes."""

import pytest

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site import judged, stage

CARD = {
    "id": "P1.T",
    "verdict": "holds",
    "statement": "grows like $(nL^2/\\sigma^2)^{2/(d+2)}$",
    "readings": {"as we read it": "agrees"},
    "depends_on": [],
    "cases": [{"name": "d = 5, n = 1e12", "measured": 0.0326}],
    "control_cases": [],
    "other_readings": {"another": [{"name": "d = 2", "measured": "inf"}]},
}
CARDS = {"P1.T": CARD}
SHOWN = "{judged}`P1.T | d = 5, n = 1e12 | 100*.1f`"


def test_a_role_shows_the_case_and_links_to_the_card():
    text = judged.resolve(
        f"At $d=5$ it is {SHOWN} % {{judged}}`P1.T`.", CARDS, stage.link
    )
    assert (
        '<a class="icl-judged" href="#claim-P1.T" title="judged: P1.T">3.3</a> %'
        in text
    )
    assert ">(P1.T)</a>." in text
    for role, shown in (("P1.T | d = 2 | .0f", "inf"), ("P1.T | verdict", "holds")):
        assert (
            judged.resolve(f"{{judged}}`{role}`", CARDS, lambda claim, text: text)
            == shown
        )


def test_a_run_of_other_sizes_names_the_claim_alone():
    assert ">(P1.T)</a>" in judged.resolve(
        "{judged}`P1.T | d = 3 | .1f`", CARDS, stage.link
    )
    with pytest.raises(BadInput, match="no card of P1.U"):
        judged.resolve("{judged}`P1.U`", CARDS, stage.link)


GOOD = f"At $d=5$ and $n=10^{{12}}$ it is {SHOWN} % away."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD, None),
        (
            "The exponent is $2/(d+2)$ {judged}`P1.T`. Nothing else (Theorem 2, {numref}`fig-1`).",
            None,
        ),
        ("One window is not enough; two are.", None),
        ("The exponent is $2/(d+2)$.", "2 is in no claim"),
        ("The exponent is 0.7 {judged}`P1.T`.", "0.7 is in no claim"),
        (f"In $d=5$ it is {SHOWN} % away.", "1e+12 is a size of the case"),
        (f"{GOOD} It is 65 on the sphere.", "65 is in no claim"),
        ("At last {judged}`P1.U`.", "no card of P1.U"),
        ("At last {judged}`P1.T | d = 3 | .1f`.", "no case of this name"),
        ("At last {judged}`P1.T | d = 2`.", "its verdict, or a"),
    ],
)
def test_what_no_card_judges_is_a_problem(text, problem):
    found = judged.problems("x", text, CARDS)
    assert len(found) == bool(problem) and all(problem in one for one in found)


def test_a_number_that_moves_is_a_problem():
    again = {"seed": 1, "claims": {"P1.T": {"cases": {"d = 5, n = 1e12": 0.0326}}}}
    others = list(judged.other_runs([{"cards": [CARD]}], [again]))
    assert judged.problems("x", GOOD, CARDS, others) == []
    now = {"P1.T": CARD | {"cases": [CARD["cases"][0] | {"measured": 0.0341}]}}
    registered, replicated = judged.problems("x", GOOD, now, others)
    assert (
        "3.4 here, 3.3 in the registered run" in registered
        and "3.4 here, 3.3 in seed 1" in replicated
    )


def test_findings_of_the_front_page_are_those_of_the_readme(tmp_path):
    (tmp_path / "book").mkdir()
    front = tmp_path / "book/introduction.md"
    front.write_text(
        f"# T\n\n## What we found\n\n1. {GOOD} [Read\n   on](../notebooks/a)\n2. More.\n\n## Next\n3. No\n"
    )
    said = judged.findings(tmp_path)
    assert said == [f"1. {GOOD} [Read on](../notebooks/a)", "2. More."]
    assert judged.problems("x", said[0], CARDS) == []
    page = "a\n<!-- findings:begin -->\nold\n<!-- findings:end -->\nb\n"
    assert judged.readme(page, said[:1], CARDS) == (
        "a\n<!-- findings:begin -->\n1. At $d=5$ and $n=10^{12}$ it is 3.3 % away. Judged by P1.T. "
        "[Read on](notebooks/a.ipynb)\n<!-- findings:end -->\nb\n"
    )
    front.write_text("# Nothing yet\n")
    assert judged.findings(tmp_path) == []
    assert len(judged.findings(ROOT)) >= 5


def test_the_short_answer_ends_with_its_paragraph():
    cell = {
        "cell_type": "markdown",
        "source": ["# T\n\n**Short answer.** Yes, 1.\n", "And 2.\n\nMore 3."],
    }
    assert judged.short_answer({"cells": [cell]}).endswith("And 2.")
    assert judged.short_answer({"cells": []}) == ""
