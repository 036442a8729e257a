"""The Hessian as an operator: the matrix of autograd, its eigenvalues, and a step of Newton's method."""

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import cg, eigsh

from icl.tensor_trick import KINDS, gradient, hessian, loss, vec


def problem():
    rng = torch.Generator().manual_seed(0)
    shapes = [(7, 3), (5, 2), (3, 2), (7, 5)]
    A1, A2, X, B = (torch.randn(*s, generator=rng, dtype=torch.float64) for s in shapes)
    return A1, A2, 0.3 * X, B.softmax(-1)


def whole(A1, A2, X, B, kind):
    def by_vector(x):
        return loss(A1, A2, x.reshape(X.shape), B, kind)

    return torch.func.hessian(by_vector)(vec(X)).numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_hessian_of_autograd(kind):
    A1, A2, X, B = problem()
    H = hessian(A1, A2, X, B, kind)
    wanted = whole(A1, A2, X, B, kind)
    many = np.random.default_rng(1).standard_normal((6, 4))
    np.testing.assert_allclose(H @ np.eye(6), wanted, atol=1e-11)
    np.testing.assert_allclose(H @ many, wanted @ many, atol=1e-11)
    np.testing.assert_allclose(H.T @ many[:, 0], wanted.T @ many[:, 0], atol=1e-11)
    turned = many * np.exp(1j * np.arange(4))
    np.testing.assert_allclose(H @ turned, wanted @ turned, atol=1e-11)
    np.testing.assert_allclose(H.H @ turned[:, 1], wanted @ turned[:, 1], atol=1e-11)
    largest = eigsh(H, k=1, which="LA", return_eigenvectors=False)[0]
    assert largest == pytest.approx(np.linalg.eigvalsh(wanted)[-1])


def test_conjugate_gradients_take_it():
    A1, A2, X, B = problem()
    downhill = -vec(gradient(A1, A2, X, kind="sparse")).numpy()
    step, stopped = cg(hessian(A1, A2, X, kind="sparse"), downhill, rtol=1e-12)
    assert stopped == 0
    wanted = np.linalg.solve(whole(A1, A2, X, B, "sparse"), downhill)
    np.testing.assert_allclose(step, wanted, rtol=1e-8)


def test_what_the_product_would_refuse_is_refused_at_once():
    A1, A2, X, B = problem()
    with pytest.raises(ValueError, match=r"of shape \(1, 3, 2\): must be one problem"):
        hessian(A1, A2, X[None], B)
    with pytest.raises(ValueError, match="B is None"):
        hessian(A1, A2, X)
    with pytest.raises(ValueError, match="B is torch.float32"):
        hessian(A1, A2, X, B.float())
