import pytest
import torch

from icl_book.measurements import identities, misprints

DRAWN = identities.differences(identities.IDENTITIES, [2, 3], 2, seed=5)


@pytest.mark.parametrize("identity", identities.IDENTITIES)
def test_identities_hold_to_rounding_and_broken_ones_do_not(identity):
    holds, control = identities.evidence(DRAWN, identity)
    assert len(holds) and len(control)
    assert (holds.value < 1e-14).all() and (control.value > 1e-3).all()


def test_the_worst_draw_counts_in_units_of_its_own_largest_number():
    left, right = (
        torch.tensor([[1.0, 2.0], [0.0, 10.0]]),
        torch.tensor([[1.0, 1.0], [0.0, 7.0]]),
    )
    assert (
        identities.difference(left, right, torch.tensor([[4.0, 1.0], [2.0, 30.0]]))
        == 0.25
    )
    assert (
        identities.difference(left[:, 1], right[:, 1], torch.tensor([1.0, 2.0])) == 1.5
    )


def test_a_noted_formula_differs_in_every_way_to_read_it_and_the_repaired_one_does_not():
    table = identities.differences(misprints.FORMULAS, [2], 3, seed=1)
    repaired = table.what == "repaired"
    assert (table.value[repaired] < 1e-14).all() and (
        table.value[~repaired] > 0.05
    ).all()
