import pytest

from icl.experiments import links
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


def test_linear_attention_needs_the_class_without_intercept():
    curves = links.trained_links([(4, 2)], 8, 0.1, 3, 60, 32, 400)
    counts = curves.groupby(["link", "unit"]).size()
    assert counts.nunique() == 1 and len(counts) == 7  # the last link has no softmax units
    ends = curves[curves.step == 60].groupby(["link", "unit"]).error.mean()
    assert ends["linear", "linear"] < 0.4 < 1 < ends["affine", "linear"]
    found = links.final_errors(curves)
    assert found.link.unique().tolist() == list(links.PRINTED) and len(found) == 9
    assert found[found.link == "affine"].softmax.mean() == pytest.approx(ends["affine", "softmax"])
