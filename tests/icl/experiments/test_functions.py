import numpy as np
import pytest
import torch
from scipy.special import ive

from icl.experiments import functions
from icl.experiments.tables import Training, each
from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU


def test_the_affine_bias_is_that_of_its_only_degree():
    w = np.geomspace(0.1, 100, 61)
    kept = ive(1.5, w) / ive(0.5, w)  # coth w - 1 / w
    slope = (np.diff(np.log((1 - kept) ** 2)) / np.diff(np.log(w))).max()
    assert functions.bias_slope(3, "affine")["slope"] == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("label", functions.FOLLOWED)
def test_the_bias_falls_in_every_class(label):
    assert functions.bias_slope(2, label)["slope"] < 0


def test_a_narrow_window_of_few_tokens_has_more_bias():
    found = functions.bias_beyond(3, "affine", 20)["slope"]
    best = optimal_window(Affine(3, 2.0), 20, 0.0).w
    low, high = (population_risk(Affine(3, 2.0), w, 20, 0.0).bias for w in (best, 10 * best))
    assert found == pytest.approx(float(np.log10(high / low))) and found > 0


def test_waves_are_cosines_with_a_phase():
    u = torch.from_numpy(stream(0, "evaluation").standard_normal((400_000, 5)))
    u, x = u / u.norm(dim=-1, keepdim=True), torch.eye(5).double()[:2]
    phase = torch.from_numpy(stream(1, "evaluation").uniform(0, 2 * np.pi, (400_000, 1)))
    f = (u @ x.T + phase).cos()
    assert float((f[:, 0] * f[:, 1]).mean()) == pytest.approx(
        float(functions.Wave(5).covariance(0.0)), abs=5e-3
    )


def test_a_mixture_of_one_class_is_that_class_and_no_unit_beats_its_own():
    task, same = ReLU(3, 1.0), functions.Mixture(3, (ReLU(3, 1.0),) * 2)
    assert optimal_window(same, 20, 0.5).w == pytest.approx(optimal_window(task, 20, 0.5).w, rel=1e-9)
    served = each(functions.serve, d=[3], n=[20], sigma=[0.1])
    own = served[served.start == served.label]
    assert own.price.to_numpy() == pytest.approx(1) and (served.price > 1 - 1e-12).all()
    classes = Affine(3, 1.0), ReLU(3, 1.0), Cosine(3)
    best = optimal_window(functions.Mixture(3, classes), 20, 0.1)
    mixed = served[served.start == "mixture"].risk
    assert mixed.mean() == pytest.approx(float(best.risk), rel=1e-9)
    assert functions.spreads(served).price[0] == pytest.approx(mixed.max() / mixed.min())


def test_networks_of_every_width_have_the_window_of_the_relu_class():
    found = functions.networks(3, 20, 0.5, [1, 16], Training(4, 300, 256, 0.3), [2.0])
    assert found.groupby("m").ratio.mean().to_numpy() == pytest.approx(1, abs=0.05)


def test_the_window_is_narrow_where_functions_change_and_round_where_nothing_is_broken():
    found = functions.broken_invariance(3, 20, 6.0, 0.5, Training(3, 300, 64, 0.3), 200)
    mean = found.groupby(["kind", "axis"]).entry.mean()
    assert mean["preferred slopes"].is_monotonic_decreasing and mean["crowded tokens"].is_monotonic_increasing
    assert mean["fixed kink"][1] > 2 * mean["fixed kink"][2:].max()
    assert mean["invariant"].to_numpy() == pytest.approx(mean["invariant"].mean(), rel=0.15)
    gain = found.groupby("kind").gain.mean()
    assert gain["preferred slopes"] < 0.97 < gain["invariant"]
