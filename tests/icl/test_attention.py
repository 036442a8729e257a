"""The estimator against scikit-learn, PyTorch and NumPy."""

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel

from icl.attention import ACTIVATIONS, full_unit, softmax_attention, weights
from icl.covariates import uniform_sphere
from icl.streams import stream


def context(dim=4, n=30, count=3):
    x = uniform_sphere(stream(7, "covariates"), count, n + 1, dim)
    y = torch.from_numpy(stream(7, "noise").standard_normal((count, n)))
    return x[:, :-1], y, x[:, -1]


@pytest.mark.parametrize("w", [0.5, 7.0, 120.0])
def test_isotropic_unit_is_kernel_regression(w):
    x, y, query = context()
    ours = softmax_attention(x, y, query, w * torch.eye(4, dtype=x.dtype))
    for i in range(len(x)):
        kernel = rbf_kernel(query[i : i + 1].numpy(), x[i].numpy(), gamma=w / 2)[0]
        assert float(ours[i]) == pytest.approx(kernel @ y[i].numpy() / kernel.sum(), rel=1e-10)


def test_general_matrix_is_scaled_dot_product_attention():
    x, y, query = context()
    M = torch.from_numpy(stream(1, "initialization").standard_normal((4, 4)))
    sdpa = torch.nn.functional.scaled_dot_product_attention(
        (M @ query.unsqueeze(-1)).mT, x, y.unsqueeze(-1), scale=1.0
    ).squeeze()
    assert torch.allclose(softmax_attention(x, y, query, M), sdpa, rtol=1e-12)
    assert torch.allclose(softmax_attention(x[0], y[0], query[0], M), sdpa[0], rtol=1e-12)


def test_many_queries_of_one_context():
    x, y, query = context()
    M = torch.from_numpy(stream(1, "initialization").standard_normal((4, 4)))
    queries = torch.stack([query, -query, 2 * query], dim=1)
    found = softmax_attention(x[:, None], y[:, None], queries, M)
    for at in range(3):
        torch.testing.assert_close(found[:, at], softmax_attention(x, y, queries[:, at], M))


def test_full_unit_reduces_to_M():
    """In the ITA slides W_V = diag(0, 1), W_K = diag(M_K, 0), W_Q = diag(M_Q, 0) give eq. (2)."""
    x, y, query = context()
    M_K, M_Q = torch.from_numpy(stream(2, "initialization").standard_normal((2, 4, 4)))

    def padded(block):
        W = torch.zeros(5, 5, dtype=block.dtype)
        W[:4, :4] = block
        return W

    W_V = torch.zeros(5, 5, dtype=x.dtype)
    W_V[4, 4] = 1
    labels = torch.cat([y, torch.zeros(3, 1, dtype=y.dtype)], 1)
    tokens = torch.cat([torch.cat([x, query[:, None]], 1), labels[..., None]], -1)
    out = full_unit(tokens, W_V, padded(M_K), padded(M_Q))
    assert torch.allclose(out[:, 4], softmax_attention(x, y, query, M_K.T @ M_Q), rtol=1e-12)
    assert torch.equal(out[:, :4], torch.zeros_like(out[:, :4]))


SCORES = [[-2.0, -0.5, 0.25, 0.5, 3.0], [0.1, 0.2, -0.3, -4.0, 1.5]]
PHI = {
    "softmax": np.exp,
    "linear": lambda s: s,
    "sigmoid": lambda s: 1 / (1 + np.exp(-s)),
    "tanh": np.tanh,
    "relu": lambda s: np.maximum(s, 0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_every_activation_has_its_weights_and_slopes(name, axis):
    """NumPy's functions give the weights, and autograd of phi with Z held fixed gives the slopes."""
    s = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    normalized = name == "softmax" or name.startswith("normalized ")
    phi = PHI[name.removeprefix("normalized ")](np.array(SCORES))
    Z = phi.sum(axis, keepdims=True) if normalized else np.full((1, 1), phi.shape[axis])
    Z = np.where(Z == 0, 1, Z)  # both are negative in one column
    omega, slopes = weights(s, name, axis)
    assert omega.detach().numpy() == pytest.approx(phi / Z, rel=1e-14)
    function = ACTIVATIONS[name][0]
    (derivative,) = torch.autograd.grad((function(s) / torch.from_numpy(Z)).sum(), s)
    assert slopes.detach().numpy() == pytest.approx(derivative.numpy(), rel=1e-13)


def test_relu_has_no_slope_at_zero_and_no_weights_where_no_score_is_positive():
    s = torch.tensor([-1.0, 0.0, -0.5], dtype=torch.float64)
    for name in ("relu", "normalized relu"):
        omega, slopes = weights(s, name, 0)
        assert omega.tolist() == [0, 0, 0] and slopes.tolist() == [0, 0, 0]


def test_softmax_does_not_overflow():
    assert weights(torch.tensor([800.0, 1000.0]), "softmax", 0)[0].tolist() == [0, 1]
