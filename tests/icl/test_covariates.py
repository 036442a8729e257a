"""Covariates have the distribution they claim."""

import math

import numpy as np
import pytest
import torch
from scipy.special import betainc
from scipy.stats import beta, kstest

from icl.covariates import Ellipsoid, LowRank, cap_quantile, uniform_sphere
from icl.streams import stream
from icl_book.statistics import FALSE_ALARM_RATE


@pytest.mark.parametrize("dim", [2, 3, 5, 16])
def test_uniform_on_the_sphere(dim):
    x = uniform_sphere(stream(0, "covariates"), 20_000, dim)
    assert torch.allclose(x.norm(dim=-1), torch.ones(20_000, dtype=x.dtype), atol=1e-14)
    # (1 + x.e) / 2 of a uniform point is Beta((d-1)/2, (d-1)/2)
    for axis in (0, dim - 1):
        p = kstest((1 + x[:, axis].numpy()) / 2, beta((dim - 1) / 2, (dim - 1) / 2).cdf).pvalue
        assert p > FALSE_ALARM_RATE


@pytest.mark.parametrize("dim", [2, 3, 7, 8, 9, 10, 12, 30, 300, 10_000])
def test_cap_quantile_of_the_smallest_masses_is_a_number_and_inverts_the_law(dim):
    half = (dim - 1) / 2
    for mass in 10.0 ** np.arange(-200, 0, 3):
        found = cap_quantile(dim, mass) / 2
        if found > 1e-300:
            assert betainc(half, half, found) == pytest.approx(mass, rel=1e-9), (dim, mass)
        else:
            assert dim == 2 and mass < 1e-148
    assert cap_quantile(dim, 1.5) == 2.0 and cap_quantile(dim, 0.0) == 0.0


def test_token_laws_of_the_theorems():
    basis = np.linalg.qr(stream(0, "tasks").standard_normal((5, 2))).Q
    x = LowRank(basis).from_normal(
        torch.from_numpy(stream(0, "covariates").standard_normal((50, 4, 5)))
    )
    inside = x @ torch.from_numpy(basis)
    assert torch.allclose(inside.norm(dim=-1), torch.ones(50, 4, dtype=x.dtype))
    assert torch.allclose(x.norm(dim=-1), torch.full((50, 4), math.sqrt(2), dtype=x.dtype))
    A = np.arange(9.0).reshape(3, 3) + np.eye(3)
    y = Ellipsoid(A).from_normal(torch.from_numpy(stream(0, "covariates").standard_normal((7, 3))))
    assert np.allclose(np.linalg.norm(np.linalg.solve(A, y.numpy().T), axis=0), 1)
    assert Ellipsoid(A) == Ellipsoid(A.tolist()) and hash(Ellipsoid(A)) == hash(
        Ellipsoid(A.tolist())
    )
