import numpy as np
import pytest

from icl_book.measurements import costs
from icl_book.measurements.tables import grid


@pytest.mark.parametrize("form", costs.FORMS)
def test_all_forms_compute_the_same_gradient(form):
    given = costs.data(200, 5, seed=3)  # a size with tiles
    wanted = costs.explicit(*given)
    assert (costs.FORMS[form](*given) - wanted).norm() < 1e-12 * wanted.norm()


def test_operations_are_those_of_the_products():
    """The closed form does 4 n^2 d + 4 n d^2, the explicit one 4 n^2 d^2."""
    found = costs.growth(["closed form", "explicit"], 12, list(costs.GROWING), seed=0)
    assert found.value.tolist() == pytest.approx(
        [3, np.log2(3), np.log2(3), 4, 2, 2], abs=1e-12
    )


def test_every_form_dies_or_is_cheap_at_the_sizes_tried():
    found = costs.settings([16, 64], [256, 1024], limit=4 * 2**30, seed=0)
    sizes = found.groupby("form").n.apply(list).to_dict()
    assert sizes["explicit"] == [16, 64, 256, 1024] and sizes["blockwise"] == [
        16,
        64,
        1024,
    ]
    assert sizes["streaming"] == sizes["autograd"] == [64, 256, 1024]


def test_jobs_name_every_process_and_exponents_are_between_the_ends():
    jobs = grid(process=range(2), n=[10, 20, 40], form=["streaming", "closed form"])
    found = costs.memory_exponents(jobs.assign(peak=jobs.n**2.0 + (jobs.n == 20)))
    assert found.value.tolist() == pytest.approx([2.0] * 4)
    scores = costs.score_jobs([4, 8, 12], times=1, seed=0)
    explicit = scores[scores.form == "explicit"]
    assert explicit[["n", "d"]].values.tolist() == [[4, 4], [8, 8], [12, 12], [16, 4]]
    assert (scores.form == "matrix").sum() == 3
