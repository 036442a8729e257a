"""Tests of the findings: numbers come from the package and the chapters."""

import re

import pytest

from icl.risk import mismatch_risk, optimal_window
from icl.tasks import ReLU
from icl_book.site import findings


def test_findings_of_given_chapters_only():
    run = {"name": "icl_as_gradient_descent", "numbers": {"icl-own-1": 0.987, "icl-shared": 0.123}}
    text = findings.markdown([run, {"name": "another", "numbers": {}}], "{name}.html")
    assert text.startswith("1. **What attention") and "[Read on](icl_as_gradient_descent.html)" in text
    assert "0.99" in text and "0.12" in text and "2. " not in text


def test_a_missing_number_is_named():
    run = {"name": "icl_as_gradient_descent", "numbers": {"other": 1.0}}
    with pytest.raises(ValueError, match="icl_as_gradient_descent: no number is glued as 'icl-own-1'"):
        findings.markdown([run], "{name}")


def test_price_is_the_exact_one():
    """The law's price is the exact risk with the other window, in a very long context."""
    n, sigma = 10**14, 0.5
    for word, trained in (("half", 1.0), ("twice", 4.0)):
        exact = mismatch_risk(ReLU(5, trained), ReLU(5, 2.0), n, sigma).total
        ratio = exact / optimal_window(ReLU(5, 2.0), n, sigma).risk
        printed = float(
            re.search(
                rf"on {word} the true \$L\$ (?:multiplies the risk )?by (\d\.\d+)", findings.price(None)
            )[1]
        )
        assert abs(printed / ratio - 1) < 0.02


def test_readme_keeps_the_rest():
    text = "a\n<!-- findings:begin -->\nold\n<!-- findings:end -->\nb\n"
    assert findings.readme(text, []) == "a\n<!-- findings:begin -->\n\n<!-- findings:end -->\nb\n"
