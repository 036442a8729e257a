"""For one claim, only the needed cells run, and the card is the one of the whole chapter."""

import ast
import json

import pytest

from icl_book.__main__ import main
from icl_book.claims import registry
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import plan, single

EXACT = "P1.T2.noise"
CELLS = [
    "n = 3",
    "import numpy as np\nfrom x import judge",
    "a = np.zeros(n)",
    "b = [k for k in range(n)]",
    "a[0] = 7",
    "c = a.sum()\nd = c + 1",
    "fig = draw(b)",
    "d = 5",
    "judge('X', d, [c for c in b])",
]


def test_a_cell_needs_the_names_it_reads_but_not_reassigned_ones_or_drawings():
    assert single.list_needed_cells(CELLS, 8) == [0, 1, 3, 7, 8]
    assert single.list_needed_cells(CELLS, 5) == [0, 1, 2, 4, 5]
    assert single.list_needed_cells(CELLS, 0) == [0]


def test_a_cell_reads_the_name_that_it_increments():
    assert single.list_read_names(ast.parse("t += 1")) == {"t"}
    assert single.list_needed_cells(["t = 0", "t += 1\nout = t", "judge('X', out)"], 2) == [0, 1, 2]


def test_a_parameter_of_a_function_does_not_make_the_name_and_a_deleted_part_changes_it():
    assert single.list_read_names(ast.parse("f = lambda gap: gap\nout = f(gap)")) == {"gap"}
    assert single.list_changed_names(ast.parse("del x[0]")) == {"x"}


def test_the_cells_of_every_claim_make_all_names_that_they_read():
    judged = set()
    for name in plan.notebooks():
        cells = plan.read_code(name)
        trees = [ast.parse(cell) for cell in cells]
        for place, tree in enumerate(trees):
            for claim in single._list_judged(tree):
                judged.add(claim)
                made: set[str] = set()
                for one in single.list_needed_cells(cells, place):
                    unknown = single.list_read_names(trees[one]) - made - {"__file__"}
                    assert not unknown, f"{claim}: cell {one + 1} of {name} reads {unknown}"
                    made |= single.list_changed_names(trees[one])
    assert judged == {name for name, claim in registry().items() if claim.rule}


def test_one_exact_claim_has_the_numbers_of_its_chapter(capsys):
    assert main(["judge", EXACT]) == 0
    said = capsys.readouterr().out
    frozen = json.loads((ROOT / "tests" / "data" / "golden.json").read_text())
    (card,) = [cards[EXACT] for cards in frozen.values() if EXACT in cards]
    assert f"{EXACT}: {card['verdict']}" in said and "would contradict the statement" in said
    first = card["cases"]["cases"][0][0]
    assert f"{first:.6g}" in said


@pytest.mark.parametrize(
    ("claim", "words"), [("P1.T2.uper", "P1.T2.upper"), ("P1.F1.values", "not read")]
)
def test_claims_that_cannot_be_judged_are_named_with_the_reason(claim, words):
    with pytest.raises(BadInput, match=words):
        single.judge_alone(claim)


def test_a_claim_whose_cells_need_no_parameter_is_judged_alone():
    """The setup reads the parameters nevertheless, so their cell runs before it."""
    assert single.judge_alone("P1.N.narrow").data["as_expected"]
