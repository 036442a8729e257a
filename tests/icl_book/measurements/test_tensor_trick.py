import numpy as np
import pytest
import torch

from icl.streams import stream
from icl_book.measurements import tensor_trick


def test_a_difference_is_in_units_of_the_largest_entry():
    left, right = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -4.0])
    assert tensor_trick.difference(left, right) == 1.5


def test_typos_in_formulas_are_detected_and_the_closed_form_agrees_with_autograd():
    slips = tensor_trick.break_formulas([2, 3], draws=2, seed=5)
    assert (slips.difference > 1e-3).all()
    assert set(slips.statement) == {"trick", "normalized", "rescaled"}
    slopes = tensor_trick.gradients([2, 3], draws=2, seed=5)
    right = slopes.what == "closed form"
    assert len(slopes) == 10 and right.sum() == 5
    assert (slopes.difference[right] < 1e-13).all()
    assert (slopes.difference[~right] > 1e-3).all()


def test_ranks_are_those_that_the_data_determine():
    ranks = tensor_trick.ranks([2, 3], seed=0)
    assert (ranks["rank"] == np.minimum(ranks.n, ranks.dim) ** 2).all()
    hessians = tensor_trick.hessian_ranks([2, 3], seed=0)
    unseen = hessians.invisible & (hessians["where"] == "in A2")
    assert unseen.sum() == 6
    assert (hessians["rank"] == hessians.dim**2 - unseen * hessians.dim).all()


@pytest.mark.parametrize("form", tensor_trick.FORMS)
def test_all_forms_compute_the_same_gradient(form):
    given = tensor_trick.normal_problem(200, 5, stream(3, "tasks"))
    wanted = tensor_trick.explicit_gradient(*given)
    found = tensor_trick.FORMS[form](*given)
    assert (found - wanted).norm() < 1e-12 * wanted.norm()


def test_operations_are_those_of_the_products():
    """The closed form does 4 n^2 d + 4 n d^2, the explicit one 4 n^2 d^2."""
    growing = list(tensor_trick.GROWING)
    found = tensor_trick.operations(["closed form", "explicit"], size=12, growing=growing, seed=0)
    assert found.exponent.tolist() == pytest.approx([3, np.log2(3), np.log2(3), 4, 2, 2], abs=1e-12)
