"""What an irrelevant direction adds to second order: against the risk in two variables."""

import pytest

from icl.rigor import plane
from icl.risk import low_rank_risk, optimal_window
from icl.tasks import Linear
from planted import planted

PAIRS = [(5, 2), (6, 3)]
SETTINGS = [(n, s) for n in (2, 3, 20) for s in (0.0, 0.1, 1.0)]


def quotient(d, k, c, n, s, e):
    """Second difference of the fast risk in e."""
    return (
        (low_rank_risk(d, k, c, e, n, s).total - low_rank_risk(d, k, c, 0.0, n, s).total) * 2 * (d - k) / e**2
    )


@pytest.mark.parametrize(
    "d, k, c, n, s", [(5, 2, 3.0, 2, 0.0), (6, 3, 7.3, 20, 0.1), (3, 2, 0.0, 3, 1.0), (4, 2, 1.0, 5, 2.0)]
)
def test_it_is_the_second_derivative_of_the_risk(d, k, c, n, s):
    low, high = plane.blur(k, c, n, s)
    assert high - low <= 1e-7 * abs(high)
    # the quotient without its term of order e^2
    assert (4 * quotient(d, k, c, n, s, 0.05) - quotient(d, k, c, n, s, 0.1)) / 3 == pytest.approx(
        high, rel=1e-5
    )


def test_the_risk_rises_in_e_at_the_best_c_of_every_setting():
    for n, s in SETTINGS:
        for _, k in PAIRS:
            best = float(optimal_window(Linear(k), n, s).w)
            assert plane.blur(k, best, n, s)[0] > 0, (k, n, s)


@pytest.mark.parametrize(
    "old, new",
    [
        ("- sign * 2 * rise * rise * powers[0]", "- sign * rise * rise * powers[0]"),
        ("(n - 2) * powers[1] * one * one", "powers[1] * one * one"),
        ("_END = 4.2", "_END = -5.0"),
        ("order = math.ceil(", "order = math.ceil(0.2 * "),
    ],
    ids=["wrong constant", "n - 2 dropped", "points dropped", "too coarse"],
)
def test_planted_errors_are_found(monkeypatch, old, new):
    (copy,) = planted(monkeypatch, ["rigor.plane"], old, new)
    low, high = copy.blur(2, 3.0, 20, 0.1)
    truth = (4 * quotient(5, 2, 3.0, 20, 0.1, 0.05) - quotient(5, 2, 3.0, 20, 0.1, 0.1)) / 3
    assert not (low * (1 - 1e-5) <= truth <= high * (1 + 1e-5) and high - low <= 1e-7 * high)
