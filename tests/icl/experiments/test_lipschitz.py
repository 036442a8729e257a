import math

import numpy as np
import pytest
import torch

from icl.experiments import curvature, lipschitz
from icl.streams import stream


class Printed:
    """A bound that is R^2 everywhere."""

    tex = r"\sqrt{n}"

    def __init__(self, function):
        self.function = function

    def log10(self, n, R):
        return 2 * math.log10(R)


def test_what_is_built_reaches_what_is_proved_and_a_search_stays_below():
    built = lipschitz.constants([3], [2.0])
    assert (built.g == list(lipschitz.TEX.values())).all()
    gap = built.proved - built.built
    assert (gap > -1e-12).all() and gap[built.g.isin(["$u$", r"$\alpha$"])].max() < 1e-9
    found = lipschitz.searched([3], [2.0], 4, 60, stream(0, "initialization"))
    ends = lipschitz.worst(found, "found - proved")
    assert (ends.value < 1e-9).all() and (ends.value > -1).all()
    assert (ends.bound >= ends.value).all() and (ends.bound >= 0).all()


def test_the_worst_radius_is_the_largest_difference_of_each_function():
    frame = lipschitz.constants([2, 4], [1.0, 2.0]).assign(built=lambda t: t.R, proved=1.0)
    assert lipschitz.worst(frame, "built - proved").value.tolist() == [1.0] * 8
    assert lipschitz.worst(frame, "built - proved", "min").value.tolist() == [0.0] * 8


def test_printed_bounds_are_compared_where_they_are_printed():
    """f has the constant R / 2, so R^2 is 2 R times as large: least at the smallest R from 4 on."""
    found = lipschitz.slacks([Printed("f")], [5], [1.0, 5.0, 4.0])
    assert found.value.item() == pytest.approx(math.log10(8))
    assert lipschitz.printed_radii([1.0, 3.0]) == [3.0]
    small = lipschitz.small_radii([Printed("f")], [5], [0.5, 1.0, 4.0])
    assert small.value.item() == pytest.approx(0)  # at R = 1/2
    assert lipschitz.small_radii([Printed("f")], [5], [4.0]).empty


def test_sizes_by_proof_are_those_that_the_ascent_finds():
    """By hand for n = 1 large score: |u| of (R^2, 0, ...) and alpha at least e^(R^2)."""
    assert lipschitz.largest_size("f", 7, 4.0) == 0
    assert lipschitz.largest_size("1/alpha", 4, 2.0) == pytest.approx(2 / math.log(10) - math.log10(4))
    bounds = [Printed(g) for g in ("u", "alpha", "1/alpha")]
    proof = lipschitz.size_excesses(bounds, [3], [4.0])
    found = lipschitz.searched_sizes(bounds, [3], [4.0], 16, 150, stream(0, "initialization"))
    assert np.all(found.value <= proof.value + 1e-9) and np.allclose(found.value, proof.value, atol=0.01)


@pytest.mark.parametrize("R", [0.1, 30.0])
def test_opposite_pairs_stay_below_the_constant_and_overflow_nowhere(R):
    bounds = [Printed(g) for g in lipschitz.TEX]
    found = lipschitz.opposite_pairs(bounds, 4, R, stream(0, "initialization"), draws=50)
    assert np.isfinite(found.value).all() and (found.value <= found.bound + 1e-12).all()
    assert R > 1 or found.bound[0] - found.value[0] < 0.1  # near zero u is linear: nearly R


@pytest.mark.parametrize("function", lipschitz.TEX)
def test_changes_are_those_of_the_plain_formulas(function):
    s = torch.tensor([[0.3, -1.2, 0.5]], dtype=torch.float64)
    plain = {
        "u": s.exp() - (-s).exp(),
        "alpha": s.exp().sum() - (-s).exp().sum(),
        "1/alpha": 1 / s.exp().sum() - 1 / (-s).exp().sum(),
        "f": s.softmax(-1) - (-s).softmax(-1),
    }[function]
    assert lipschitz._log_change(function, s).item() == pytest.approx(plain.norm().log().item())


def test_titles_of_conditions_can_be_filled():
    bounds = [Printed("u"), Printed("alpha")]
    named = lipschitz.conditions(bounds, [3], [2.0, 4.0], 2, 5, stream(0, "initialization"))
    names = [title.format(**row) for title, table in named for row in table.to_dict("records")]
    assert r"opposite pairs, $u$: $\sqrt{n}$, R = 4" in names and len(set(names)) == len(names) == 6


def test_the_range_of_curvature_is_that_of_two_tokens():
    p = np.linspace(0, 1, 100_001)
    assert curvature.two_tokens(p).max() == pytest.approx(curvature.SMOOTH)
    assert curvature.two_tokens(p).min() == pytest.approx(curvature.CONCAVE)
    x = math.log(0.3 / 0.7) / math.sqrt(2)  # the scores (x, -x) / sqrt 2 ... differ by x sqrt 2
    t = torch.tensor(x, dtype=torch.float64)
    twice = torch.func.grad(torch.func.grad(lambda t: (math.sqrt(2) * t).sigmoid() ** 2))(t)
    assert twice.item() == pytest.approx(float(curvature.two_tokens(0.3)))
    found = curvature.extremes([2], 24, stream(0, "monte carlo"))
    assert np.allclose(found.value, 1, atol=0.01) and (found.value <= found.bound).all()


def test_the_regularizer_is_exactly_enough_at_the_worst_data():
    assert curvature.regularizer_needed() == pytest.approx(1, abs=1e-9)
    printed, without = curvature.regularized([0.5], stream(0, "monte carlo"), problems=20)
    assert printed.value.item() >= 1 > without.value.item()


def test_steps_with_the_data_divided_out_do_not_depend_on_their_condition():
    rng = stream(1, "monte carlo")
    _, weights = curvature.descents(8, 2, rng, steps=1)
    counts = curvature.passes(8, [1.0, 2.0], weights, rng)
    assert counts.preconditioned.nunique() == 1 and counts.descent[1] > 2 * counts.descent[0]
    assert counts.preconditioned[0] == counts.descent[0]  # at condition number 1 the same steps
    assert (counts.newton < counts.descent).all()
    assert curvature.growth(counts, "preconditioned").value.item() == pytest.approx(0, abs=1e-12)


def test_the_safe_step_never_raises_the_loss_and_a_large_one_does():
    safe, large = curvature.rises(6, 2, 3, stream(0, "monte carlo"), steps=50)
    assert (safe.value <= 0).all() and (large.value > 0).all() and len(large) == len(safe) - 1
