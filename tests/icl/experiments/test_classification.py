import numpy as np
import pytest
import torch

from icl.experiments import classification
from icl.experiments.classification import Labels
from icl.experiments.tables import Training
from icl.streams import stream


def test_labels_have_the_declared_mean_and_variance():
    task = Labels(3, 2.0, 0.1)
    x = torch.nn.functional.normalize(
        torch.from_numpy(stream(1, "evaluation").standard_normal((1, 4, 3))), dim=-1
    )
    y = task.sample(stream(2, "evaluation"), 200_000)(x.expand(200_000, 4, 3))
    assert set(y.unique().tolist()) == {-1.0, 1.0}
    signal = (y[:, 0] * y[:, 1]).mean()  # of independent labels: the covariance of the means
    assert float(signal) == pytest.approx(float(task.mean.covariance(float(x[0, 0] @ x[0, 1]))), abs=0.01)
    assert task.noise_std**2 == pytest.approx(1 - float(task.mean.covariance(1.0)))


def test_half_of_the_labels_flipped_leaves_no_signal_and_steep_ones_no_noise():
    assert Labels(3, 4.0, 0.5 - 1e-9).noise_std == pytest.approx(1)
    assert Labels(3, 20.0, 0.25).noise_std ** 2 == pytest.approx(0.75, abs=0.02)
    assert Labels(3, 20.0, 0.0).noise_std ** 2 < 0.06


def test_exponents_have_the_sign_of_the_windows():
    found = classification.exponents(3, 30)
    assert ((found.w < 0) == (found.varied == "noise")).all() and (found.width == -found.w / 2).all()
    few, many = classification.windows(3, [2.0], [0.05, 0.1], 30).w
    assert found.w[0] == pytest.approx(np.log2(many / few))


def test_units_trained_on_labels_find_the_exact_window():
    found = classification.trained_windows(3, 20, [4.0], [0.0, 0.1], Training(4, 200, 128, 0.3))
    exact = classification.windows(3, [4.0], [0.0, 0.1], 20).w.to_numpy()
    assert found.groupby("p").w.mean().to_numpy() == pytest.approx(exact, rel=0.1)


def test_the_matrix_of_cross_entropy_is_positive():
    found = classification.cross_entropy(3, 20, [4.0], [0.0], Training(2, 60, 128, 0.3))
    assert (found.least > 0).all() and (found.least <= 1).all()


def test_error_rates_of_hopeless_labels_are_one_half():
    found = classification.error_rates(3, 20, [4.0], [0.0, 0.48], 4000).set_index("p")
    assert found.unit[0.0] < 0.2 and found.unit.iloc[1] == pytest.approx(0.5, abs=0.06)
    assert found.largest.iloc[1] == pytest.approx(1 / 20, rel=0.2)
