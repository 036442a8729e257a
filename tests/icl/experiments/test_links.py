import numpy as np
import pytest

from icl.experiments import low_rank as links
from icl.experiments.tables import Training
from icl.risk import population_risk


def test_what_is_known_of_a_link_is_its_exact_minimum_and_its_variance():
    known = {link: links.exact_minimum(link, 2, 10, 0.1) for link in links.LINKS}
    for link, found in known.items():
        risk = population_risk(links.LINKS[link](2), found["w"], 10, 0.1).total
        assert risk == pytest.approx(found["least"])
    # the mean squares of w'u, and of cos^2 minus its mean 1/2, on the circle
    variances = {"affine": 0.5, "linear": 0.5, "quadratic": 1 / 8}
    assert {k: known[k]["constant"] for k in variances} == pytest.approx(variances, rel=0.02)
    assert known["affine"]["w"] == known["linear"]["w"]  # a constant passes through


@pytest.fixture(scope="module")
def curves():
    return links.trained_links([(4, 2)], 8, 0.1, Training(3, 60, 32, 0.03), 400)


def test_every_unit_has_a_row_at_every_recorded_step(curves):
    counts = curves.groupby(["link", "unit"]).size()
    assert counts.nunique() == 1 and len(counts) == 7  # the last link has no softmax units
    assert curves.step.max() == 60 and curves.sine.between(0, 1 + 1e-9).all()


def test_linear_attention_needs_the_class_without_intercept(curves):
    ends = curves[curves.step == 60].groupby(["link", "unit"]).error.mean()
    assert ends["linear", "linear"] < 0.4 < 1 < ends["affine", "linear"]


def test_no_matrix_helps_linear_attention_on_even_links():
    even = links.zero_excess([(4, 2)], links.EVEN, 6, 0.1, 500)
    odd = links.zero_excess([(4, 2)], ["affine", "linear"], 6, 0.1, 500)
    assert np.allclose(even["value"], 1, atol=1e-9)
    assert (abs(odd["value"] - 1) > 1e-3).all()
