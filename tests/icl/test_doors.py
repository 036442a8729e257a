"""Public functions refuse at the door what they would give silent nonsense for, and take what is valid."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import icl
from icl.attention import linear_attention, scores, softmax_attention, softmax_weights, weights
from icl.covariates import cap_quantile
from icl.pretrain import UnitConfig, pretrain
from icl.risk import asymptotics
from icl.statistics import local_slope, median_interval, t_interval
from icl.tasks import Affine, ReLU, angle_quadrature

X = torch.arange(120.0).reshape(40, 3).double().cos()
Y, EYE = X[:, 0].exp(), torch.eye(3).double()
BATCH = torch.ones(5, 6, 3).double()

REFUSED = [
    (softmax_attention, X, Y[:, None], X[0], EYE, r"y has shape \(40, 1\): must be \(..., 40\)"),
    (
        softmax_attention,
        BATCH,
        BATCH[:, :1, 0],
        BATCH[:, 0],
        EYE,
        r"y has shape \(5, 1\): must be \(..., 6\)",
    ),
    (linear_attention, X, Y[:, None], X[0], EYE, r"y has shape \(40, 1\)"),
    (softmax_attention, BATCH, BATCH[:4, :, 0], BATCH[:, 0], EYE, "leading dimensions must broadcast"),
    (scores, X.numpy(), X[0], EYE, "x=.*: must be a tensor"),
    (softmax_weights, X, X[0], EYE.float(), "M is torch.float32 .*: must be that of x"),
    (scores, X[:0], X[0], EYE, r"x has shape \(0, 3\): must be \(..., n, d\)"),
    (scores, X, X[0], EYE[:2], r"M has shape \(2, 3\): must be \(..., 3, 3\)"),
    (scores, X, X[0, :2], EYE, r"x_q has shape \(2,\): must be \(..., 3\)"),
    (weights, X, "softmx", -1, "activation='softmx': allowed are softmax"),
    *(
        (angle_quadrature, *v, "dim=")
        for v in ((-3, 5), (True, 5), (math.nan, 20), (math.inf, 20), (10**30, 20))
    ),
    *((angle_quadrature, 3, v, "nodes=") for v in (0, 2.5, 10**9)),
    (cap_quantile, 1, 0.1, "dim=1: must be an integer >= 2"),
    *((cap_quantile, 3, v, "mass=") for v in (-1.0, math.nan)),
    *((f, [1.0] * 19 + [v], "values=") for f in (median_interval, t_interval) for v in (math.nan, math.inf)),
    *((f, 1.0, "at least 2") for f in (median_interval, t_interval)),
    (local_slope, [1.0, 2.0, 3.0], [1.0, math.nan, 2.0], "y="),
    (local_slope, [1.0, 3.0, 2.0], [1.0, 1.0, 2.0], "x=.*: must increase"),
    *((asymptotics.printed_exponents, v, "dim=") for v in (-1, 0, 1j)),
    *((task.spectrum, v, "degree=") for task in (Affine(3), ReLU(3)) for v in (-1, 7.5, 10**9)),
    (UnitConfig, Affine(3), 1.0, 4, 0, None, None, torch.sigmoid, "activation=.*icl.attention.ACTIVATIONS"),
]


@pytest.mark.parametrize("call, given, words", [(call, given, words) for call, *given, words in REFUSED])
def test_what_has_no_meaning_is_refused_in_one_line(call, given, words):
    with pytest.raises(ValueError, match=words) as caught:
        call(*given)
    assert "\n" not in str(caught.value)


def test_degree_zero_is_the_sum_of_all_coefficients():
    for task in (Affine(3), ReLU(3)):
        a, rest = task.spectrum(0)
        first, later = task.spectrum(1)
        assert a.size == 0 and rest == pytest.approx(float(first[0]) + later, rel=1e-12)


def test_many_nodes_of_an_angle_in_many_dimensions_have_finite_probabilities():
    for nodes in (1, 2, 5):
        theta, p = angle_quadrature(10**4, nodes)
        assert np.isfinite(theta).all() and p.sum() == pytest.approx(1)


def test_the_resultant_length_is_defined_for_every_window():
    length = asymptotics.resultant_length
    assert length(5, 0) == 0 and list(length(5, [0.0, 1e-300])) == pytest.approx([0, 2e-301])
    assert length(3, 2.0) == pytest.approx(1 / math.tanh(2.0) - 0.5, rel=1e-14)  # Langevin
    assert length(1000, 2.0) == pytest.approx(2 / 1000 * (1 - 4 / (1000 * 1002)), rel=1e-9)
    for dim in (2, 3, 5, 10_000):
        below, above = length(dim, [0.999e9, 1.001e9])
        assert 1 - above == pytest.approx((1 - below) * 0.999 / 1.001, rel=1e-5)
        assert 1 - length(dim, 1e12) == pytest.approx((dim - 1) / 2e12, rel=1e-3)


def test_trained_units_can_be_compared_and_hashed():
    one, other = (pretrain([UnitConfig(Affine(3), 1.0, 4, 0)], 1, 4) for _ in range(2))
    assert one == one and one != other and len({one, other}) == 2


def test_a_disk_without_room_for_compiled_loops_ends_no_computation(tmp_path):
    code = """
import errno
from numba.core.caching import IndexDataCacheFile
def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")
IndexDataCacheFile.save = full
from icl.risk import population_risk
from icl.tasks import ReLU
print(float(population_risk(ReLU(3), 2.0, 20, 0.5).total))
"""
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    root = os.path.join(next(iter(icl.__path__)), "..")
    run = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True)
    assert run.returncode == 0 and float(run.stdout) > 0 and run.stderr == "", run.stderr
