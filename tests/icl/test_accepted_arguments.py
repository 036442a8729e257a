"""Valid arguments at the ends of their ranges are taken, and results can be compared and hashed."""

import math
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch

import icl
from icl.covariates import (
    uniform_sphere,
)
from icl.pretrain import UnitConfig, pretrain, train_grid
from icl.risk import asymptotics, gaussian_window, matrix_risk, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import (
    CLASSES,
    Affine,
    Network,
    QuadraticRisk,
    ReLU,
    Tanh,
    angle_quadrature,
)

SOURCE = partial(stream, 0)


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
    assert length(3, 2.0) == pytest.approx(1 / math.tanh(2.0) - 0.5, rel=1e-14)
    assert length(1000, 2.0) == pytest.approx(2 / 1000 * (1 - 4 / (1000 * 1002)), rel=1e-9)
    for dim in (2, 3, 5, 10_000):
        below, above = length(dim, [0.999e9, 1.001e9])
        assert 1 - above == pytest.approx((1 - below) * 0.999 / 1.001, rel=1e-5)
        assert 1 - length(dim, 1e12) == pytest.approx((dim - 1) / 2e12, rel=1e-3)


def test_trained_units_can_be_compared_and_hashed():
    one, other = (pretrain([UnitConfig(Affine(3), 1.0, 4, 0)], 1, 4) for _ in range(2))
    assert one == one and one != other and len({one, other}) == 2


def test_covariances_take_cosines_up_to_rounding():
    for kind in (*CLASSES.values(), Tanh, Network):
        task = kind(3)
        assert task.covariance(1 + 1e-12) == task.covariance(1.0)


def test_the_fraction_of_tokens_is_defined_from_zero_on_and_in_many_dimensions():
    fraction = asymptotics.effective_fraction
    assert fraction(5, 0) == 1 and fraction(10**4, 1e-200) == 1
    # log 0F1(d/2; w^2) - 2 log 0F1(d/2; w^2 / 4), with 40 digits
    for dim, w, wanted in [
        (1000, 2.0, 0.0039999441131),
        (10**4, 900.0, 78.80750953140),
        (3, 1e9, 20.7232658369),
    ]:
        assert math.log(fraction(dim, w)) == pytest.approx(wanted, rel=1e-10)
    for task in (Affine(1000), ReLU(10**4)):
        for w in (1e-9, 2.0):
            exact = population_risk(task, w, 10**12, 0.1)
            assert 0.01 * fraction(task.dim, w) == pytest.approx(exact.noise * 10**12, rel=1e-6)


def test_results_with_arrays_can_be_compared_and_hashed():
    make = [
        lambda: population_risk(ReLU(3), [1.0, 2.0], 20, 0.5),
        lambda: matrix_risk(ReLU(3), np.eye(3), 20, 0.5),
        lambda: optimal_window(ReLU(3), [20, 30], 0.5),
        lambda: gaussian_window(3, [20, 30], 0.5),
        lambda: QuadraticRisk.of(Affine(3), uniform_sphere(SOURCE("noise"), 2, 5, 3), 0.1),
    ]
    for one, other in ((call(), call()) for call in make):
        assert one == one and one != other and len({one, other}) == 2


def test_arrays_tensors_and_series_of_settings_are_lists():
    pandas = pytest.importorskip("pandas")
    tasks, noise = [ReLU(3), ReLU(3, 2.0)], [0.1, 0.2]
    wanted = train_grid(tasks, noise, 4, 1, 2, 4).M
    for kind in (np.array, torch.tensor, pandas.Series, tuple):
        assert np.array_equal(train_grid(tasks, kind(noise), kind([4, 4]), 1, 2, 4).M, wanted)
    assert train_grid(ReLU(3), 0.1, 4, 1, 2, 4, learning_rate=np.array([0.1, 0.2])).M.shape == (
        2,
        1,
        3,
        3,
    )


def run_python(code, **env):
    root = os.path.join(next(iter(icl.__path__)), "..")
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=root, env=os.environ | env, capture_output=True, text=True)


@pytest.mark.slow
def test_without_a_compiler_and_without_pandas_the_numbers_are_the_same_and_nobody_is_warned():
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, Hidden())
import icl, icl.risk, icl.tasks, icl.pretrain, icl.pretrain.metrics, icl.tensor_trick
import icl.attention, icl.covariates, icl.streams
print(float(icl.pretrain.train_grid(icl.tasks.ReLU(3), 0.1, 4, 1, 3, 5).windows[0, 0]))
"""
    run = run_python(code, NUMBA_DISABLE_JIT="1")
    assert run.returncode == 0 and run.stderr == "", run.stderr
    compiled = train_grid(ReLU(3), 0.1, 4, 1, 3, 5).windows[0, 0]
    assert float(run.stdout) == pytest.approx(compiled, rel=1e-4)
