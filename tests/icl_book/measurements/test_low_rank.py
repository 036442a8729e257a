import numpy as np
import pandas as pd
import pytest

from icl.risk import low_rank_risk, optimal_window, population_risk
from icl.tasks import Linear
from icl_book.measurements import low_rank
from icl_book.measurements.tables import Training


def test_the_strip_holds_all_angles_of_the_complement_and_the_spot_does_not():
    spot, strip = (
        low_rank.token_weights(M, 20, 0.5) for M in ("best w I", "best c BB'")
    )
    assert strip["risk"] < spot["risk"]
    heavy = [
        np.abs(part["outside"][part["weight"] > 0.5]).max() for part in (spot, strip)
    ]
    assert heavy[0] < 90 < 170 < heavy[1]


def test_the_landscape_is_symmetric_and_least_where_the_known_best_c_is():
    c, e, above = low_rank.landscape(4, 2, 2, 0.0).values()
    assert np.array_equal(above, above[::-1]) and np.array_equal(e, -e[::-1])
    i, j = np.unravel_index(above.argmin(), above.shape)
    assert e[i] == 0 and c[j] == pytest.approx(optimal_window(Linear(2), 2, 0.0).w)
    assert abs(above[i, j]) < 1e-9


@pytest.mark.parametrize(("d", "k"), [(3, 1), (5, 2), (6, 3)])
def test_directions_are_orthonormal_and_of_one_type_each(d, k):
    found = list(low_rank.directions(d, k).values())
    assert np.allclose(
        [[(a * b).sum() for b in found] for a in found], np.eye(len(found))
    )


def test_second_derivatives_agree_with_differences_of_the_exact_risk():
    d, k, n, sigma = 4, 2, 3, 0.5
    c = float(optimal_window(Linear(k), n, sigma).w)
    table = pd.DataFrame(
        [
            low_rank.second_derivatives(d, k, n, sigma, c, seed, 20000)
            for seed in range(8)
        ]
    )
    h, risk = 0.1, lambda c, e: low_rank_risk(d, k, c, e, n, sigma).total
    middle = risk(c, 0.0)
    for name, (a, b) in {
        "inside, identity": (1, 0),
        "complement, identity": (0, 1),
    }.items():
        step = h / 2**0.5  # of norm h along the identity of a block of size two
        exact = (
            (risk(c + a * step, b * step) + risk(c - a * step, b * step) - 2 * middle)
            / h**2
            / middle
        )
        values = table[name]
        error = 5 * values.std() / len(values) ** 0.5
        assert abs(values.mean() - exact) < error + 0.01 * abs(exact), name


def test_what_is_known_of_a_link_is_its_exact_minimum_and_its_variance():
    known = {link: low_rank.exact_minimum(link, 2, 10, 0.1) for link in low_rank.LINKS}
    for link, found in known.items():
        risk = population_risk(low_rank.LINKS[link](2), found["w"], 10, 0.1).total
        assert risk == pytest.approx(found["least"])
    # the mean squares of w'u, and of cos^2 minus its mean 1/2, on the circle
    variances = {"affine": 0.5, "linear": 0.5, "quadratic": 1 / 8}
    assert {k: known[k]["constant"] for k in variances} == pytest.approx(
        variances, rel=0.02
    )
    assert known["affine"]["w"] == known["linear"]["w"]  # a constant passes through


def test_linear_attention_needs_the_class_without_intercept():
    curves = low_rank.trained_links([(4, 2)], 8, 0.1, Training(3, 60, 32, 0.03), 400)
    counts = curves.groupby(["link", "unit"]).size()
    assert (
        counts.nunique() == 1 and len(counts) == 7
    )  # the last link has no softmax units
    ends = curves[curves.step == 60].groupby(["link", "unit"]).error.mean()
    assert ends["linear", "linear"] < 0.4 < 1 < ends["affine", "linear"]
