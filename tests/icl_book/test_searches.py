"""Numbers that a search finds pass no proved bound, whatever the seed; one that does is reported."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from icl_book.claims import Authority, Claim, Grade, attained_cases, judge
from icl_book.claims.judge import AGREES, CONTRADICTS, UNDECIDED
from icl_book.measurements import certificates, lipschitz_bounds

SEEDS = 50


def curvatures(seed):
    """Run the search of P2.opt.range."""
    return lipschitz_bounds.extreme_curvature(n_values=[2, 4], starts=2, steps=20, seed=seed)


def convex_curvatures(seed):
    """Run the search of its control."""
    return lipschitz_bounds.extreme_curvature(
        n_values=[4], starts=2, steps=20, seed=seed, kind="cross_entropy"
    )


@pytest.mark.parametrize("measure", [curvatures, convex_curvatures])
def test_no_seed_passes_a_proved_bound(measure):
    for seed in range(SEEDS):
        table = measure(seed)
        for case in attained_cases(table, "value", high="most"):
            assert "beyond" not in case.name, (seed, case)
            assert math.isfinite(case.measured), (seed, case)
        wrong = table.assign(value=table.most + 1e-6)
        wrong = wrong[np.isfinite(wrong.most)]
        seen = ["beyond" in case.name for case in attained_cases(wrong, "value", high="most")]
        assert seen and all(seen), "a planted error"


def test_no_slopes_pass_one_and_close_points_reach_it():
    for seed in range(SEEDS):
        first, second = np.random.default_rng(seed).uniform(-1, 1, 2)
        (found,) = certificates.search_steepest([(first, second)]).value
        assert 1 - 1e-9 < found <= 1 + 1e-14, (first, second)


def test_a_found_number_beyond_its_proof_is_judged_and_says_so():
    """Such a number cannot establish a statement, and contradicts one whose bound it passes."""

    def outcome(value, proved, upper):
        words = {
            "reading": "x is small",
            "quantity": "x",
            "result": "x is {}",
            "grade": Grade.PROVED,
        }
        claim = Claim(
            "P1.x", Authority.BOOK, "ours", rule=lambda labels: (-math.inf, upper), **words
        )
        found = pd.DataFrame({"d": [3], "x": [value]})
        card = judge(claim, attained_cases(found, "x", high=proved)).record()
        (row,) = card["cases"]
        return SimpleNamespace(outcome=row["outcome"], name=row["name"], card=card)

    rounded = outcome(0.5 * (1 + 1e-15), 0.5, 0.5 + 1e-9)
    assert rounded.outcome == AGREES and rounded.name == "d = 3"
    passed = outcome(0.6, 0.5, 1.0)
    assert passed.outcome == UNDECIDED and passed.name == "d = 3, beyond the proved 0.5"
    assert not passed.card["as_expected"]
    assert outcome(0.6, 0.5, 0.5).outcome == CONTRADICTS
    least = attained_cases(pd.DataFrame({"x": [0.3]}), "x", low=0.5, name="least")
    assert (least[0].name, least[0].interval) == ("least, beyond the proved 0.5", (-math.inf, 0.3))
