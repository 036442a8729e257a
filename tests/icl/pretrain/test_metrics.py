"""Measures of trained units agree with known matrices and with the exact risk."""

import numpy as np
import pytest

from icl.covariates import LowRank
from icl.pretrain import UnitConfig, metrics, pretrain
from icl.pretrain.metrics import evaluation_error
from icl.risk import population_risk
from icl.tasks import Affine, Linear, Projected, ReLU
from icl_book.statistics import Z


def test_outside_share_of_known_matrices():
    basis = np.linalg.qr(np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [1.0, 1.0]])).Q
    P = basis @ basis.T
    shares = np.array([0.0, 0.2, 0.9, 1.0])
    M = 5 * (P + shares[:, None, None] * (np.eye(4) - P))
    assert np.allclose(metrics.outside_share(M, basis), shares)
    assert np.allclose(metrics.spectral_norm(M), 5)


def test_test_error_is_the_exact_risk():
    noise_std, n, contexts = 0.2, 8, 20_000
    w = np.array([0.0, 4.0])
    error = evaluation_error(
        w[:, None, None] * np.eye(3), ReLU(3), noise_std=noise_std, n=n, contexts=contexts, seed=0
    )
    risk = population_risk(ReLU(3), w, n, noise_std).total
    # one context's squared error spreads by less than 2.5 times its mean
    assert error.shape == (2,)
    assert np.all(np.abs(error - risk) < Z * 2.5 * risk / contexts**0.5)


def test_trained_units_have_the_error_of_their_matrices():
    unit = UnitConfig(ReLU(3), 0.2, 8, 0, activation="tanh")
    trained = pretrain([unit], 5, 4, record=(2,))
    matrices = np.concatenate([trained.M_history, trained.M[None]])
    test = {"noise_std": 0.3, "n": 6, "contexts": 50, "seed": 4}
    same = evaluation_error(matrices, Affine(3), **test, activation="tanh")
    assert np.array_equal(evaluation_error(trained, Affine(3), **test), same)


def test_without_a_seed_each_unit_has_the_test_set_of_its_seed():
    units = [UnitConfig(task, 0.2, 8, seed) for seed in (3, 4) for task in (Affine(3), ReLU(3))]
    trained = pretrain(units, 5, 4, shared_tokens=True, record=(0,))
    own = evaluation_error(trained, ReLU(3), 0.2, 8, 50, seed=None)
    for seed, mine in ((3, slice(0, 2)), (4, slice(2, 4))):
        assert np.array_equal(
            own[:, mine], evaluation_error(trained, ReLU(3), 0.2, 8, 50, seed)[:, mine]
        )
    # all start at zero, so that only the test sets differ
    assert own[0, 0] == own[0, 1] != own[0, 2]
    assert np.ptp(evaluation_error(trained, ReLU(3), 0.2, 8, 50, seed=9)[0]) == 0
    alone = pretrain(units[3:], 5, 4)
    assert np.allclose(own[-1, 3:], evaluation_error(alone, ReLU(3), 0.2, 8, 50, seed=4)[-1])


def test_units_are_tested_in_their_own_dimension():
    trained = pretrain([UnitConfig(ReLU(3), 0.1, 8, 0)], 1, 8)
    with pytest.raises(ValueError, match=r"^task\.dim=4: must be that of the trained units, 3$"):
        evaluation_error(trained, ReLU(4), 0.1, 8, contexts=4)


def test_other_tokens():
    basis = np.eye(4)[:, :2]
    task = Projected(Linear(2), basis.T)
    trained = pretrain([UnitConfig(task, 0.1, 8, 0, LowRank(basis))], 100, 32, 0.2, record=(0,))
    before, after = evaluation_error(trained, task, 0.1, 8, covariates=LowRank(basis))[:, 0]
    assert after < before / 2
