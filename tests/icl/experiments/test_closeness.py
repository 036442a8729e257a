import numpy as np
import pytest
import torch

from icl.experiments import closeness
from icl.risk import linear_optimum, nearest_neighbor_risk, optimal_window
from icl.streams import stream
from icl.tasks import ReLU


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


def test_folded_functions_do_not_see_signs_and_absolute_tokens_have_none():
    x = torch.from_numpy(stream(0, "evaluation").standard_normal((5, 4, 3)))
    f = closeness.Folded(3, 2.0).sample(stream(1, "evaluation"), 5)
    assert torch.equal(f(x), f(-x)) and f(x).std() > 0
    assert (tokens := closeness.Absolute(3).from_normal(x)).min() >= 0
    assert torch.allclose(tokens.norm(dim=-1), torch.ones(5, 4).double())
