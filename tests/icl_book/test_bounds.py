"""The printed bounds as data."""

import math

import pytest

from icl_book.bounds import LIPSCHITZ, SIZES


def test_printed_bounds_are_what_their_mathematics_says():
    n, R = 9, 1.5
    e = math.exp(R**2)
    wanted = {
        "u": 6 * R * e,
        "u-sibling": 3 * e**2,
        "u-proof": 3 * R * e,
        "alpha": 18 * R * e,
    }
    wanted |= {"inverse": 9 * e**4, "f": 27 * R * e**6, "f-proof": 27 * e**6}
    assert {b.id: pytest.approx(10 ** b.log10(n, R)) for b in LIPSCHITZ} == wanted
    wanted = {"u": 3 * e, "alpha": 9 * e, "inverse": e, "f": 1}
    assert {b.id: pytest.approx(10 ** b.log10(n, R)) for b in SIZES} == wanted
