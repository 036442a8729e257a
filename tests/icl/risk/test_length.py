"""The price of rules for longer contexts, against another risk, another search and factors by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from icl.risk import length_price
from icl.tasks import Affine, ReLU
from oracles import risk as oracle

# from 2^13 to 2^20 examples log n grows by 20/13, the stretch is 128, and ln 128 = 4.852030264
FACTORS = {
    "kept": 1.0,
    "log n": 20 / 13,
    "(log n)^2": 400 / 169,
    "YaRN": 1.4852030264**2,
    "Llama 4": 1.4859812404,  # 1 + 0.1 ln 129
}


@pytest.mark.parametrize(
    "task, sigma, power",
    [
        (Affine(12), 2.0, 2.0),
        pytest.param(ReLU(5), 0.1, 4.0, marks=pytest.mark.slow),
        pytest.param(ReLU(12), 0.5, 2.0, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_prices_are_those_of_another_risk(task, sigma, power):
    """The power is 128^(2/14) = 2 in twelve dimensions and 128^(2/7) = 4 in five."""

    def risk(log_w, n):
        return float(sum(oracle.population_risk(task, np.exp(log_w), n, sigma)))

    def best(n):
        search = {"bounds": (0, 7), "method": "bounded", "options": {"xatol": 1e-5}}
        return minimize_scalar(risk, args=(n,), **search)

    first, last = best(2**13), best(2**20)
    for rule, factor in (FACTORS | {"power": power}).items():
        price = risk(first.x + np.log(factor), 2**20) / last.fun
        assert length_price(task, 2**13, 2**20, sigma, rule) == pytest.approx(price, rel=1e-4), rule
        assert length_price(task, 2**13, 2**20, sigma, factor) == pytest.approx(price, rel=1e-4)


def test_lengths_noise_and_factors_broadcast():
    n0, sigma = np.array([100, 1000])[:, None], np.array([0.1, 1.0])
    whole = length_price(ReLU(3), n0, [1000, 4000], sigma, "YaRN")
    assert whole.shape == (2, 2)
    for i, k in np.ndindex(2, 2):
        one = length_price(ReLU(3), n0[i, 0], [1000, 4000][k], sigma[k], "YaRN")
        assert np.ndim(one) == 0 and one == pytest.approx(whole[i, k], rel=1e-9)
    factors = length_price(ReLU(3), 100, 1000, 0.5, np.array([0.0, 1.0, 2.0]))
    assert factors[1] == length_price(ReLU(3), 100, 1000, 0.5, "kept")
    assert factors[0] > factors[1] > factors[2] > 1


def test_every_rule_but_one_is_free_where_it_starts():
    for rule in ("kept", "log n", "(log n)^2", "YaRN", "power"):
        assert length_price(Affine(5), 2048, 2048, 0.5, rule) == pytest.approx(1, abs=1e-12)
    assert length_price(Affine(5), 2048, 2048, 0.5, "Llama 4") > 1.001
