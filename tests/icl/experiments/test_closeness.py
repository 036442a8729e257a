import numpy as np
import pytest
import torch

from icl.experiments import closeness
from icl.experiments.tables import Training
from icl.risk import linear_optimum, nearest_neighbor_risk, optimal_window
from icl.streams import stream
from icl.tasks import Affine, ReLU


def test_with_all_examples_allowed_the_risks_are_the_exact_ones():
    task = ReLU(3, 3.0)
    found = closeness.far_queries({"ReLU": task}, 20, [1.0], 0.3, 6000).set_index("method")
    variance = sum(np.append(*task.spectrum(200)))
    best = optimal_window(task, 20, 0.3).risk / variance
    assert found.risk["softmax"] == pytest.approx(float(best), rel=0.05)
    nearest = nearest_neighbor_risk(task, 20, 0.3).total / variance
    assert found.low["nearest"] < nearest < found.high["nearest"]
    linear = linear_optimum(task, 20, 0.3).risk / variance
    assert found.low["linear attention"] < linear < found.high["linear attention"]
    assert found.risk.idxmin() == "kriging"


def test_a_mean_of_labels_does_not_extrapolate():
    tasks = {"affine": Affine(3, 3.0)}
    found = closeness.far_queries(tasks, 20, [-0.25, 1.0], 0.3, 400).set_index(["limit", "method"]).risk
    assert found[-0.25, "softmax"] > 1 > found[1.0, "softmax"]
    assert found[-0.25, "kriging"] < 0.5
    assert found[1.0, "softmax with gain"] == pytest.approx(found[1.0, "softmax"], rel=0.05), "gain near one"


def test_folded_functions_do_not_see_signs_and_absolute_tokens_have_none():
    x = torch.from_numpy(stream(0, "evaluation").standard_normal((5, 4, 3)))
    f = closeness.Folded(3, 2.0).sample(stream(1, "evaluation"), 5)
    assert torch.equal(f(x), f(-x)) and f(x).std() > 0
    assert (tokens := closeness.Absolute(3).from_normal(x)).min() >= 0
    assert torch.allclose(tokens.norm(dim=-1), torch.ones(5, 4).double())


def test_units_learn_a_projection_and_gain_by_a_layer_that_is_given():
    problem, how = {"noise_std": 0.3, "n": 10}, Training(2, 300, 32, 0.2)
    found = closeness.behind_projection(3.0, batch_sizes=[64], how=how, **problem)
    assert (found.outside < 0.3).all() and found.window.to_numpy() == pytest.approx(1, abs=0.2)
    assert found.link.tolist()[::2] == ["ReLU, L", "ReLU, 2L", "tanh, steepness 3"]
    assert (closeness.nonlinear_first(3, 6.0, how=how, contexts=500, **problem).ratio > 1.5).all()
