import numpy as np
import pytest

from icl.tasks import ReLU
from icl_book.measurements import kernel


def test_a_window_of_zero_attends_to_all_and_a_narrow_one_to_one():
    found = kernel.parts(ReLU(3), [1e-6, 1e6], 10, 0.5)
    assert found.points.to_numpy() == pytest.approx([10, 1], rel=1e-2)
    assert found.noise[0] == pytest.approx(0.25 / 10)
    assert np.exp(-1e6 / 2 * found.half[1] ** 2) == pytest.approx(0.5)


def test_the_figure_that_moves_has_the_best_window_of_each_wave():
    curves, points = kernel.circle_tables()
    alike = curves[(curves.w == 0)].groupby("L").prediction.std()
    assert (alike < 1e-12).all(), "equal weights predict the mean of all labels"
    miss = curves.assign(
        own=(curves.prediction - curves.target) ** 2,
        at=(curves.best - curves.target) ** 2,
    )
    means = miss.groupby(["L", "w"])[["own", "at"]].mean()
    assert (means["at"] < 1.6 * means.own.groupby("L").transform("min")).all()
    assert points.groupby(["w", "L", "query"])[
        "size"
    ].sum().to_numpy() == pytest.approx(1)
