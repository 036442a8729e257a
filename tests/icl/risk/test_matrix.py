"""The risk of any matrix and of low rank: against w I, closed forms, sampling, differences, other rules."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.special import ive

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.pretrain.metrics import evaluation_error
from icl.risk import low_rank_risk, matrix_risk, population_flow, population_risk
from icl.streams import stream
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU
from icl_book.statistics import Z, t_interval


def rotation(dim, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim))).Q


def symmetric(*values):
    Q = rotation(len(values))
    return Q @ np.diag(values) @ Q.T


def gaussian(dim, scale):
    return scale * np.random.default_rng(dim).standard_normal((dim, dim))


ISOTROPIC = [Affine(5), ReLU(2), ReLU(5), Cosine(3, 4.0), Quadratic(8)]
SETTINGS = [*product(ISOTROPIC, [0.0, 1.0, 60.0], [1, 20, 10**9]), (ReLU(200), 60.0, 20)]


@pytest.mark.parametrize("task, w, n", SETTINGS, ids=str)
def test_multiples_of_the_identity(task, w, n):
    ours, other = (
        matrix_risk(task, w * np.eye(task.dim), n, 0.5),
        population_risk(task, w, n, 0.5),
    )
    assert ours.bias == pytest.approx(other.bias, rel=1e-12)
    assert ours.noise == pytest.approx(other.noise, rel=1e-12)
    slope = other.slope / task.dim * np.eye(task.dim)
    # derivatives of the interpolation lose up to three digits at the ends of a panel
    assert ours.gradient == pytest.approx(slope, rel=1e-9, abs=1e-10 * ours.total)


@pytest.mark.parametrize("task", [ReLU(2), Cosine(2, 4.0), Affine(2)], ids=str)
def test_long_contexts_on_the_circle(task):
    """As n grows, the weighted mean of P_l tends to I_l(kappa) / I_0(kappa) at kappa = |M x|."""
    M = gaussian(2, 4.0)
    phi = (np.arange(4000) + 0.5) * np.pi / 4000
    z = M @ [np.cos(phi), np.sin(phi)]
    kappa, turn = np.hypot(*z), np.arctan2(z[1], z[0]) - phi
    a, rest = task.spectrum(400)
    degree = np.arange(1, 401)[:, None]
    kept = ive(degree, kappa) / ive(0, kappa)
    bias = a @ (kept**2 - 2 * kept * np.cos(degree * turn) + 1).mean(1) + rest
    assert matrix_risk(task, M, 1e40, 0.0).bias == pytest.approx(bias, rel=1e-10)


MATRICES = {
    "general, d = 2": (ReLU(2), gaussian(2, 4.0)),
    "general, d = 3": (Cosine(3, 3.0), gaussian(3, 3.0)),
    "two eigenvalues, one negative": (ReLU(5), symmetric(6, 6, 6, -4, -4)),
    "rank one": (Affine(5), symmetric(9, 0, 0, 0, 0)),
    "general, d = 4": (Affine(4), gaussian(4, 2.0) + 4 * np.eye(4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MATRICES)
def test_against_sampling_and_autograd(name):
    """Autograd gives the loss and its gradient on fixed contexts, at the suite's false-alarm rate."""
    task, M = MATRICES[name]
    n, noise_std, blocks, size, d = 12, 0.4, 200, 400, task.dim
    rng, rows = stream(7, "monte carlo"), []
    for _ in range(blocks):
        x = uniform_sphere(rng, size, n + 1, d)
        f = task.sample(rng, size)(x)
        y = f[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal((size, n)))
        matrix = torch.from_numpy(M.copy()).requires_grad_()
        loss = ((softmax_attention(x[:, :-1], y, x[:, -1], matrix) - f[:, -1]) ** 2).mean()
        loss.backward()
        rows.append(np.concatenate([[loss.item()], matrix.grad.numpy().ravel()]))
    mean, error = np.mean(rows, 0), np.std(rows, 0, ddof=1) / blocks**0.5
    exact = matrix_risk(task, M, n, noise_std)
    assert abs(mean[0] - exact.total) < Z * error[0] + exact.error * exact.total
    deviation = np.abs(mean[1:] - exact.gradient.ravel()) - exact.error * exact.total
    assert np.all(deviation < Z * error[1:])
    # the sample is large enough to see the gradient, in the mean over its entries
    assert np.linalg.norm(exact.gradient) > 5 * np.linalg.norm(error[1:])


@pytest.mark.parametrize("name", MATRICES)
def test_gradient_against_differences(name):
    task, M = MATRICES[name]
    K = gaussian(task.dim, 1.0)[::-1]
    h = 1e-3
    values = [matrix_risk(task, M + k * h * K, 12, 0.4).total for k in (-2, -1, 1, 2)]
    difference = np.dot([1, -8, 8, -1], values) / (12 * h)
    # use the rule that the perturbed matrices need as well
    ours = matrix_risk(task, M + 1e-9 * K, 12, 0.4)
    assert (ours.gradient * K).sum() == pytest.approx(difference, rel=1e-7, abs=1e-9 * ours.total)


@pytest.mark.parametrize("dim, tolerance", [(2, 1e-9), (3, 1e-9), (4, 1e-8), (5, 1e-6)])
def test_rules_agree(dim, tolerance):
    """A symmetric matrix has a separate rule; turned a little, it needs the rule for any matrix."""
    M = symmetric(*np.linspace(3, 6, dim))
    turned = M + 1e-10 * gaussian(dim, 1.0)
    ours, other = (matrix_risk(ReLU(dim), m, 15, 0.3) for m in (M, turned))
    assert ours.bias == pytest.approx(other.bias, rel=tolerance)
    assert ours.gradient == pytest.approx(other.gradient, abs=tolerance * ours.total)


def test_seven_dimensions_need_few_eigenspaces():
    M = symmetric(2, 2, 5, 5, 5, 8, 8)
    assert matrix_risk(ReLU(7), M, 15, 0.3).error < 1e-8
    with pytest.raises(ValueError, match=r"^M: dim=7, must be at most 5 unless"):
        matrix_risk(ReLU(7), M + 1e-10 * gaussian(7, 1.0), 15, 0.3)


def test_the_refusal_names_a_function_that_takes_any_matrix():
    M = symmetric(2, 2, 5, 5, 5, 8, 8)
    with pytest.raises(ValueError, match="metrics.evaluation_error samples") as refusal:
        matrix_risk(ReLU(7), M + gaussian(7, 1.0), 15, 0.3)
    assert len(str(refusal.value).splitlines()) == 1
    assert evaluation_error(M + gaussian(7, 1.0), ReLU(7), 0.3, 15) > 0
    samples = [evaluation_error(M, ReLU(7), 0.3, 15, 500, seed) for seed in range(20)]
    _, low, high = t_interval(samples)
    assert low <= matrix_risk(ReLU(7), M, 15, 0.3).total <= high
    assert high - low < 0.25 * low


@pytest.mark.slow
@pytest.mark.parametrize("w", [0.0, 2.0])
def test_the_gradient_at_a_multiple_of_the_identity_is_one(w):
    """The flow from zero is therefore one of numbers, and `population_flow` is the flow of matrices."""
    h, task, n, noise_std = 1e-3, ReLU(2), 15, 0.2
    slope = float(population_risk(task, w, n, noise_std).slope)
    gradient = matrix_risk(task, w * np.eye(2), n, noise_std).gradient
    assert gradient == pytest.approx(slope / 2 * np.eye(2), abs=1e-9)
    (start,) = population_flow(task, n, noise_std, [h])
    zero = matrix_risk(task, np.zeros((2, 2)), n, noise_std).gradient
    assert start == pytest.approx(-h * zero[0, 0], rel=1e-2)


# ------------------------------------------------------------------------ functions of a subspace
def sphere(rng, *shape):
    x = torch.from_numpy(rng.standard_normal(shape))
    return x / x.norm(dim=-1, keepdim=True)


SAMPLED = [(5, 2, 3.0, 0.0, 2, 0.0), (5, 2, 7.5, 0.5, 20, 0.1), (5, 1, 4.0, -1.0, 10, 0.3)]
SAMPLED += [(4, 3, 20.0, 2.0, 50, 0.5)]


@pytest.mark.parametrize("dim, rank, c, e, n, noise_std", SAMPLED)
def test_low_rank_against_sampling(dim, rank, c, e, n, noise_std):
    count = 20_000
    Q = torch.linalg.qr(torch.from_numpy(stream(0, "tasks").standard_normal((dim, dim)))).Q
    B, rest = Q[:, :rank], Q[:, rank:]
    rng = stream(1, "covariates")
    x = sphere(rng, count, n + 1, rank) @ B.T + sphere(rng, count, n + 1, dim - rank) @ rest.T
    f = torch.einsum("bnk,bk->bn", x @ B, sphere(rng, count, rank))
    y = f[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal((count, n)))
    M = c * B @ B.T + e * rest @ rest.T
    loss = (softmax_attention(x[:, :-1], y, x[:, -1], M) - f[:, -1]) ** 2
    error = float(loss.std()) / count**0.5
    assert abs(float(loss.mean()) - low_rank_risk(dim, rank, c, e, n, noise_std).total) < Z * error


@pytest.mark.parametrize("rank, c, n", [(2, 0.0, 3), (3, 9.0, 40), (2, 90.0, 20), (4, 25.0, 10**6)])
def test_without_the_complement_it_is_the_linear_class(rank, c, n):
    ours, full = (low_rank_risk(6, rank, c, 0.0, n, 0.2), population_risk(Linear(rank), c, n, 0.2))
    assert ours.bias == pytest.approx(full.bias, rel=1e-10)
    assert ours.noise == pytest.approx(full.noise, rel=1e-10)


def test_far_outside_the_subspace():
    """With a large e the nearest token outside it is copied; inside it, that token is any."""
    many = low_rank_risk(4, 2, 3.0, 1000.0, [1, 20], 0.5)
    assert many.total[0] == pytest.approx(1.25)
    value = low_rank_risk(4, 2, 0.0, 1000.0, 20, 0.5)
    # k = 2: 1/k + sum omega^2 / k
    assert value.bias == pytest.approx((1 + value.noise / 0.25) / 2, rel=1e-9)
