"""What a search finds is attained: it passes no proved bound, whatever the seed; what does is reported."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from icl.tensor_trick.supremum_search import ascend
from icl.tensor_trick.target_shift import shifted_target, target_move
from icl_book.bounds import LIPSCHITZ, SIZES
from icl_book.claims import Authority, Claim, Grade, cases, judge
from icl_book.claims.judge import AGREES, CONTRADICTS, UNDECIDED
from icl_book.measurements import (
    certificates,
    curvature,
    layers,
    lipschitz,
    target_shift,
)

SEEDS = 50
#: Starts and steps of a search: few, so that fifty seeds take seconds.
FEW = {"starts": 1, "steps": 20}


def constants(rng):
    """The searches of P2.lip.sharp and P2.lip.half, where x moves."""
    found = lipschitz.searched([4], [0.5, 6.0], **FEW, rng=rng)
    return lipschitz.worst(found, "found - proved", ["g"]), "value", "most"


def constants_of_the_data(rng):
    """Those of P2.lip.context, where A moves."""
    found = lipschitz.searched([4], [0.5, 6.0], **FEW, rng=rng, moving="A")
    return lipschitz.worst(found, "found - proved", ["g"]), "value", "most"


def sizes(rng):
    """That of P2.size.printed."""
    found = lipschitz.searched_sizes(SIZES, [4], [4.0], **FEW, rng=rng)
    proof = lipschitz.worst(lipschitz.sizes(SIZES, [4], [4.0]), "size - printed", ["b"])
    found = lipschitz.worst(found, "size - printed", ["b"])
    return found.assign(most=proof.value), "value", "most"


def opposite_pairs(rng):
    """That of P2.lip.required."""
    return lipschitz.opposite_pairs(LIPSCHITZ, 4, 4.0, rng), "value", "most"


def hessians(rng):
    """That of P2.lip.hessian."""
    found = lipschitz.hessians([(4, 4.0)], starts=1, steps=4, rng=rng)
    return found[found.found.notna()], "found", "ours"


def curvatures(rng):
    """That of P2.opt.range."""
    return curvature.extremes([2, 4], 1, rng, steps=20), "value", "most"


def convex_curvatures(rng):
    """Its control."""
    found = curvature.extremes([4], 1, rng, kind="cross_entropy", steps=20)
    return found, "value", "most"


def rises(rng):
    """That of P2.opt.descent."""
    found = curvature.rises(4, 2, 3, rng, steps=40)
    return found[found.factor == 1].assign(most=1e-13), "value", "most"


def steps_of_descent(rng):
    """That of P2.icl.sharp."""
    path = target_shift.descend(target_shift.problems(4, 2, rng), "normalized", 8)
    return path[["step", "shift"]].assign(most=1.0), "shift", "most"


def shifts(rng):
    """That of P2.icl.separation: the one that ended in an error for R = 6 and the seed 777002."""
    found = target_shift.separation([6.0], 1, rng, steps=20)
    return found[["kind", "value", "bound"]], "value", "bound"


def short_shifts(rng):
    """That of P2.icl.rescaled."""
    return (
        target_shift.rescaled_ratios(1, rng, steps=20)[["delta", "value"]].assign(
            most=1.0
        ),
        "value",
        "most",
    )


@pytest.mark.parametrize(
    "measure",
    [
        constants,
        constants_of_the_data,
        sizes,
        opposite_pairs,
        hessians,
        curvatures,
        convex_curvatures,
        rises,
        steps_of_descent,
        shifts,
        short_shifts,
    ],
    ids=lambda measure: measure.__name__,
)
def test_no_seed_passes_a_proved_bound(measure):
    for seed in range(SEEDS):
        table, value, bound = measure(np.random.default_rng(seed))
        for case in cases(table, value, high=bound, kind="found"):
            assert "beyond" not in case.name, (seed, case)
            assert math.isfinite(case.measured), (seed, case)
        wrong = table.assign(**{value: table[bound] + 1e-6})
        wrong = wrong[np.isfinite(wrong[bound])]
        seen = [
            "beyond" in case.name
            for case in cases(wrong, value, high=bound, kind="found")
        ]
        assert seen and all(seen), "a planted error"


def test_no_slopes_pass_one_and_close_points_reach_it():
    for seed in range(SEEDS):
        first, second = np.random.default_rng(seed).uniform(-1, 1, 2)
        found = certificates.steepest(first, second)
        assert 1 - 1e-9 < found["value"] <= 1 + 1e-14, (first, second)


def test_no_tokens_pass_the_factor_of_a_layer(monkeypatch):
    for seed in range(SEEDS):
        normal = torch.from_numpy(
            np.random.default_rng(seed).standard_normal((4, 8, 3))
        )
        tokens = normal / normal.norm(dim=-1, keepdim=True)
        monkeypatch.setattr(layers, "_tokens", lambda d, contexts, tokens, x=tokens: x)
        found = layers.contractions(3, [1.0, 8.0], 30)
        assert not any(
            "beyond" in case.name
            for case in cases(found, "factor", high="bound", kind="found")
        )


def test_a_short_move_of_the_target_keeps_its_digits():
    """Where the quotient of two differences has lost them: the planted fault of P2.icl.separation."""
    rng = np.random.default_rng(0)
    s, b = torch.tensor([[0.0, 0.0]]).double(), torch.tensor([[1.0, 0.0]]).double()
    lost = kept = 0.0
    for _ in range(SEEDS):
        move = torch.tensor([[1.0, -1.0]]).double() * 1e-9 * float(rng.uniform(1, 2))
        difference = shifted_target(s, s + move, b) - b
        lost = max(lost, float(difference.norm() / move.norm()))
        kept = max(kept, float(target_move(s, move, b).norm() / move.norm()))
    assert lost > 0.5 + 1e-9
    assert abs(kept - 0.5) < 1e-15


@pytest.mark.parametrize("kind", target_shift.KINDS)
@pytest.mark.parametrize("size", [1e-3, 0.9, 5.0])
def test_the_move_of_the_target_is_its_difference(kind, size):
    rng = np.random.default_rng(1)
    s, move, b = (torch.from_numpy(rng.standard_normal((7, 4))) for _ in range(3))
    move, b = size * move, b.softmax(-1)
    difference = shifted_target(s, s + move, b, kind) - b
    assert torch.allclose(
        target_move(s, move, b, kind), difference, rtol=1e-11, atol=1e-15
    )


def test_a_start_that_leaves_the_numbers_is_not_found():
    start = torch.tensor([[-1.0, 0.5]]).double()
    found = ascend(lambda x: (x - 10).where(x > 0, torch.nan), (start,), 5)
    assert found.best.isfinite().all()
    assert ascend(lambda x: x * torch.nan, (start,), 5).best.item() == -math.inf


def test_a_found_number_beyond_its_proof_is_judged_and_says_so():
    """It cannot establish a statement, and contradicts one that it passes; rounding does neither."""

    def outcome(value, proved, most):
        words = {"reading": "x is small", "quantity": "x", "grade": Grade.PROVED}
        claim = Claim(
            "P1.x",
            Authority.BOOK,
            "ours",
            rule=lambda labels: (-math.inf, most),
            **words,
        )
        found = pd.DataFrame({"d": [3], "x": [value]})
        card = judge(claim, cases(found, "x", high=proved, kind="found")).record()
        (row,) = card["cases"]
        return SimpleNamespace(outcome=row["outcome"], name=row["name"], card=card)

    rounded = outcome(0.5 * (1 + 1e-15), 0.5, 0.5 + 1e-9)
    assert rounded.outcome == AGREES and rounded.name == "d = 3"
    passed = outcome(0.6, 0.5, 1.0)
    assert passed.outcome == UNDECIDED and passed.name == "d = 3, beyond the proved 0.5"
    assert not passed.card["as_expected"]
    assert outcome(0.6, 0.5, 0.5).outcome == CONTRADICTS
    least = cases(pd.DataFrame({"x": [0.3]}), "x", low=0.5, kind="found", name="least")
    assert (least[0].name, least[0].interval) == (
        "least, beyond the proved 0.5",
        (-math.inf, 0.3),
    )
