import pytest

from icl.covariates import uniform_sphere
from icl.streams import stream
from icl_book.measurements.classification import Labels


def test_labels_have_the_declared_mean_and_variance():
    task = Labels(3, 2.0, 0.1)
    x = uniform_sphere(stream(1, "evaluation"), 1, 4, 3)
    y = task.sample(stream(2, "evaluation"), 200_000)(x.expand(200_000, 4, 3))
    assert set(y.unique().tolist()) == {-1.0, 1.0}
    signal = (
        y[:, 0] * y[:, 1]
    ).mean()  # of independent labels: the covariance of the means
    assert float(signal) == pytest.approx(
        float(task.mean.covariance(float(x[0, 0] @ x[0, 1]))), abs=0.01
    )
    assert task.noise_std**2 == pytest.approx(1 - float(task.mean.covariance(1.0)))


def test_half_of_the_labels_flipped_leaves_no_signal_and_steep_ones_no_noise():
    assert Labels(3, 4.0, 0.5 - 1e-9).noise_std == pytest.approx(1)
    assert Labels(3, 20.0, 0.25).noise_std ** 2 == pytest.approx(0.75, abs=0.02)
    assert Labels(3, 20.0, 0.0).noise_std ** 2 < 0.06
