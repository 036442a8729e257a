import numpy as np
import pytest
import torch
from scipy.special import ive

from icl.risk import optimal_window
from icl.statistics import Z
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU
from icl_book.measurements import functions
from icl_book.measurements.tables import each


def test_the_affine_bias_is_that_of_its_only_degree():
    w = np.geomspace(0.1, 100, 61)
    kept = ive(1.5, w) / ive(0.5, w)  # coth w - 1 / w
    slope = (np.diff(np.log((1 - kept) ** 2)) / np.diff(np.log(w))).max()
    assert functions.bias_slope(3, "affine")["slope"] == pytest.approx(slope, rel=1e-9)


def test_waves_have_the_covariance_of_their_samples():
    x = torch.tensor([[[1.0, 0, 0], [0.6, 0.8, 0]]]).double().expand(20_000, -1, -1)
    wave = functions.Wave(3, 2.0)
    f = wave.sample(stream(0, "tasks"), 20_000)(x)
    product = (f[:, 0] * f[:, 1]).numpy()
    assert abs(product.mean() - wave.covariance(0.6)) < Z * product.std() / 20_000**0.5


def test_a_mixture_of_one_class_is_that_class_and_no_unit_beats_its_own():
    task, same = ReLU(3, 1.0), functions.Mixture(3, (ReLU(3, 1.0),) * 2)
    assert optimal_window(same, 20, 0.5).w == pytest.approx(
        optimal_window(task, 20, 0.5).w, rel=1e-9
    )
    served = each(functions.serve, d=[3], n=[20], sigma=[0.1])
    own = served[served.start == served.label]
    assert own.price.to_numpy() == pytest.approx(1) and (served.price > 1 - 1e-12).all()
    classes = Affine(3, 1.0), ReLU(3, 1.0), Cosine(3)
    best = optimal_window(functions.Mixture(3, classes), 20, 0.1)
    assert served[served.start == "mixture"].risk.mean() == pytest.approx(
        float(best.risk), rel=1e-9
    )
