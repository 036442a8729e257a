import numpy as np
import pytest

from icl.risk import linear_optimum, nearest_neighbor_risk, optimal_window
from icl.tasks import ReLU
from icl_book.measurements import closeness


def test_with_all_examples_allowed_the_risks_are_the_exact_ones():
    task = ReLU(3, 3.0)
    found = closeness.far_queries({"ReLU": task}, 20, [1.0], 0.3, 6000).set_index(
        "method"
    )
    variance = sum(np.append(*task.spectrum(200)))
    best = optimal_window(task, 20, 0.3).risk / variance
    assert found.risk["softmax"] == pytest.approx(float(best), rel=0.05)
    nearest = nearest_neighbor_risk(task, 20, 0.3).total / variance
    assert found.low["nearest"] < nearest < found.high["nearest"]
    linear = linear_optimum(task, 20, 0.3).risk / variance
    assert found.low["linear attention"] < linear < found.high["linear attention"]
    assert found.risk.idxmin() == "kriging"
