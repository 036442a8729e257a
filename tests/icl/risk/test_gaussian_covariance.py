"""The risk on Gaussian tokens of any covariance: isotropic ones, sums over the query, sampling."""

import numpy as np
import pytest

from icl.risk import commuting_risk, gaussian_risk
from icl.risk.gaussian_covariance import _mixture
from icl.risk.gaussian_moments import weight_moments
from icl.statistics import Z

S, B, M = np.array([1.0, 4.0, 0.5]), np.array([1.0, 0.2, 0.3]), np.array([0.9, 0.1, 0.3])


@pytest.mark.parametrize("n", [1, 2, 50, 10**12])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_isotropic(n, scale):
    """Tokens of variance s are unit tokens times sqrt(s): M shrinks and beta grows by it."""
    risk = commuting_risk([scale] * 5, [0.2 / scale] * 5, [0.7 / scale] * 5, n, 0.5)
    expected = gaussian_risk(5, 0.7, n, 0.5)
    assert (risk.bias, risk.noise) == pytest.approx((expected.bias, expected.noise), rel=1e-12)


@pytest.mark.parametrize("n", [2, 300, 10**9])
@pytest.mark.parametrize("matrix", [(0.8, 0.1), (0.3, 0.02), (0.5, 0.0), (0.0, 0.0)])
def test_sums_over_the_query(matrix, n):
    """Two dimensions: the mean over the query by the trapezoid rule."""
    s, b = np.array([0.8, 3.0]), np.array([0.7, 0.4])
    h = np.stack(np.meshgrid(*[np.arange(-100, 101) / 9] * 2), -1).reshape(-1, 2)
    p = np.exp(-(h**2).sum(1) / 2)
    query = h * s**0.5
    tau = np.sqrt(((query * matrix) ** 2 * s).sum(1))
    c, d = weight_moments(tau, n)[:2]
    a = s * matrix
    # E (sum omega x)_j given the query is a_j (1 - C) q_j; its second moment as derived in the module
    second = s * c[:, None] + (a * query) ** 2 * (1 - c - 6 * d)[:, None]
    bias = ((second - 2 * a * query**2 * (1 - c)[:, None] + query**2) @ b) @ p / p.sum()
    risk = commuting_risk(s, b, matrix, n, 0.5)
    assert risk.bias == pytest.approx(bias, rel=1e-10)
    assert risk.noise == pytest.approx(0.25 * (p @ c) / p.sum(), rel=1e-10)


def test_sampling():
    """One mean of 40,000 contexts at the false-alarm rate of Z."""
    rng, n, count = np.random.default_rng(0), 20, 40_000
    x, query, beta = (rng.standard_normal(shape) for shape in ((count, n, 3), (count, 3), (count, 3)))
    x, query, beta = x * S**0.5, query * S**0.5, beta * B**0.5
    scores = np.einsum("cnd,cd->cn", x, M * query)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    y = np.einsum("cnd,cd->cn", x, beta) + 0.5 * rng.standard_normal((count, n))
    loss = ((weights * y).sum(1) / weights.sum(1) - (beta * query).sum(1)) ** 2
    sigmas = abs(loss.mean() - commuting_risk(S, B, M, n, 0.5).total) / (loss.std() / count**0.5)
    assert sigmas < Z


@pytest.mark.parametrize("scales", [[1.0, 1.0], [0.5, 3.0, 1.0], np.linspace(0.1, 1.0, 30)])
def test_mixture(scales):
    """The weights sum to one, and the mean of tau^2 is right."""
    scales = np.array(scales)
    weights = _mixture(1 - (scales.min() / scales) ** 2, 40.0)
    orders = scales.size + 2 * np.arange(weights.size)
    assert weights.sum() == pytest.approx(1, rel=1e-12) and np.all(weights >= 0)
    assert scales.min() ** 2 * (orders @ weights) == pytest.approx((scales**2).sum(), rel=1e-11)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"token_variances": [1.0]}, r"shapes \(1,\)"),
        ({"token_variances": [1.0, 0.0]}, r"token_variances=\[1.0, 0.0\]: must be > 0"),
        ({"task_variances": [1.0, -1.0]}, r"task_variances=\[1.0, -1.0\]: must be a finite number >= 0"),
        ({"matrix": [1.0, 0.05]}, "within a factor of 10"),
        ({"matrix": [200.0, 200.0]}, "<= 100"),
        ({"n": 0}, "n=0: must be an integer >= 1"),
        ({"noise_std": -1}, "noise_std=-1: must be"),
    ],
)
def test_bad_input(change, message):
    good = {
        "token_variances": [1.0, 1.0],
        "task_variances": [1.0, 1.0],
        "matrix": [0.5, 0.5],
        "n": 9,
        "noise_std": 0.1,
    }
    with pytest.raises(ValueError, match=message) as error:
        commuting_risk(**(good | change))
    assert "\n" not in str(error.value)
