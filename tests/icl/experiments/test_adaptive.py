import numpy as np
import torch

from icl.experiments import adaptive
from icl.risk import population_risk
from icl.tasks import ReLU


def test_the_window_of_a_mixture_has_the_least_mean_risk():
    mixture = (0.5, 2.0, 4.0)
    found = adaptive.mixture_prices(3, [16], 0.5, mixture)

    def mean_risk(w):
        return np.mean([population_risk(ReLU(3, L), w, 16, 0.5).total for L in mixture])

    least = mean_risk(found.fixed[0])
    assert least < mean_risk(found.fixed[0] * 1.02) and least < mean_risk(found.fixed[0] / 1.02)
    assert (found.price >= 1).all() and found.own.is_monotonic_increasing


def test_sampled_risks_agree_with_the_exact_ones_and_adapting_helps_smooth_tasks():
    found = adaptive.in_context(3, [12], 400, np.geomspace(0.2, 80, 12), mixture=(0.5, 8.0))
    known = found[found.method == "known L"]
    assert ((known.low < 1) & (known.high > 1)).all()
    fixed = adaptive.mixture_prices(3, [12], mixture=(0.5, 8.0)).price[0]
    smooth = found[(found.L == 0.5) & (found.method != "known L")]
    assert (smooth.high < fixed).all() and (found["mean"] > 0.8).all()
    assert (adaptive.linear_floor(3, 12, 200, mixture=(0.5, 8.0)).floor < 1).all()


def test_leave_one_out_takes_the_window_that_predicts_the_labels():
    # three examples in a row with labels 0, 1, 0: see the chapter; a wide window scores best
    angles = torch.tensor([-0.5, 0.0, 0.5, 0.1])
    x = torch.stack([angles.cos(), angles.sin()], -1)
    cosine = (x @ x.T)[None]
    y = torch.tensor([[[0.0, 1.0, 0.0]]], dtype=torch.float64)
    best, averaged = adaptive._leave_one_out(cosine[:, :3, :3], cosine[:, :3, 3], y, np.array([0.0, 50.0]))
    assert np.isclose(best.item(), 1 / 3) and 1 / 3 <= averaged.item() < 1


def test_geometric_means():
    found = adaptive.mixture_prices(3, [8], mixture=(1.0, 2.0))
    (mean,) = adaptive.geometric_means(found, ["price"], ["n"]).price
    assert np.isclose(mean, np.sqrt(found.price.prod()))
