"""icl.tensor_trick against torch.func, the literal Kronecker form, and central differences."""

from functools import partial

import pytest
import torch

from icl.tensor_trick import KINDS, gradient, hvp, kron_block, loss, unvec, vec
from icl_book.measurements.tensor_trick import kron_gradient, kron_loss

ones = partial(torch.ones, dtype=torch.float64)

# Sizes are unequal, so that a transposed factor has the wrong shape. The last one is the paper's.
SHAPES = [(1, 1, 1, 1), (3, 5, 2, 4), (6, 2, 3, 1), (4, 7, 5, 3), (5, 5, 3, 3)]


def problem(n, m, d, e, seed=0, batch=(), dtype=torch.float64, targets="any"):
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*batch, *shape, generator=rng, dtype=torch.float64).to(dtype)

    B = normal(n, m)
    if targets == "simplex":
        B = B.softmax(-1)
    return normal(n, d), normal(m, e), 0.5 * normal(d, e), B, normal(d, e)


def close(value, wanted, tolerance=1e-10):
    """Return the largest difference in units of the largest wanted entry (or of 1, if that is larger)."""
    assert value.shape == wanted.shape, f"shape {tuple(value.shape)}, wanted {tuple(wanted.shape)}"
    error = (value - wanted).abs().max().item() / max(1.0, wanted.abs().max().item())
    assert error <= tolerance, f"relative error {error:.2e} exceeds {tolerance:.0e}"


def test_vec_reads_rows():
    X = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert vec(X).tolist() == [1, 2, 3, 4, 5, 6]
    assert (
        unvec(vec(X), 2).equal(X)
        and unvec(vec(X), 2, 3).equal(X)
        and unvec(vec(X), cols=3).equal(X)
    )
    assert unvec(torch.arange(9)).tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    X = torch.randn(2, 3, 4, 5)
    assert vec(X).shape == (2, 3, 20) and unvec(vec(X), 4).equal(X)


@pytest.mark.parametrize("shape", SHAPES)
def test_trick_is_row_major(shape):
    A1, A2, X, _, _ = problem(*shape)
    K = torch.cat([kron_block(A1, A2, j) for j in range(shape[0])])
    close(K @ vec(X), vec(A1 @ X @ A2.T), 1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_against_the_literal_kronecker_form(shape, kind):
    A1, A2, X, B, V = problem(*shape, seed=1)
    close(loss(A1, A2, X, B, kind), kron_loss(A1, A2, X, B, kind))
    close(gradient(A1, A2, X, B, kind), kron_gradient(A1, A2, X, B, kind))
    literal = partial(kron_gradient, A1, A2, B=B, kind=kind)
    close(hvp(A1, A2, X, B, V, kind), torch.func.jvp(literal, (X,), (V,))[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("targets", ["any", "simplex"])
def test_against_torch_func_batched(kind, targets):
    A1, A2, X, B, V = problem(7, 6, 4, 3, seed=2, batch=(2, 3), targets=targets)

    def total(Y):
        return loss(A1, A2, Y, B, kind).sum()

    alone = [[loss(*(t[i, j] for t in (A1, A2, X, B)), kind) for j in range(3)] for i in range(2)]
    close(loss(A1, A2, X, B, kind), torch.tensor(alone, dtype=X.dtype), 1e-13)
    slope = torch.func.grad(total)
    close(gradient(A1, A2, X, B, kind), slope(X))
    close(hvp(A1, A2, X, B, V, kind), torch.func.jvp(slope, (X,), (V,))[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_dtypes(kind, dtype):
    # entries are small, since float16 ends at 65504
    given = [t / 2 for t in problem(5, 4, 3, 2, seed=9, dtype=dtype)]
    A1, A2, X, B, V = given
    exact = [t.double() for t in given]
    eps = torch.finfo(dtype).eps
    for f, args in ((loss, (A1, A2, X, B)), (gradient, (A1, A2, X, B)), (hvp, (A1, A2, X, B, V))):
        value = f(*args, kind)
        assert value.dtype == dtype
        wanted = f(*(exact[:4] if f is not hvp else exact), kind)
        close(value.double(), wanted, 60 * eps)


def test_inputs_are_left_alone():
    given = problem(4, 3, 2, 5, seed=11)
    before = [t.clone() for t in given]
    for kind in KINDS:
        hvp(*given, kind)
    assert all(a.equal(b) for a, b in zip(given, before, strict=True))


def test_targets_may_be_left_out_where_there_are_none():
    A1, A2, X, B, V = problem(4, 3, 2, 5, seed=12)
    for kind in ("sparse", "entropy"):
        assert loss(A1, A2, X, kind=kind) == loss(A1, A2, X, B, kind)
        assert hvp(A1, A2, X, None, V, kind).equal(hvp(A1, A2, X, B, V, kind))


def test_large_logits_do_no_harm_where_softmax_is_shifted():
    one, X = (torch.ones(2, 1, dtype=torch.float64), torch.tensor([[5000.0]], dtype=torch.float64))
    A2 = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    B = torch.full((2, 2), 0.5, dtype=torch.float64)
    assert loss(one, A2, X, B) == pytest.approx(2 * 0.25)
    assert loss(one, A2, X, B, "entropy") == 0.0
    assert loss(one, A2, X, B, "cross_entropy") == pytest.approx(2 * 0.5 * 10000)
    for kind in ("normalized", "entropy", "cross_entropy"):
        assert torch.isfinite(gradient(one, A2, X, B, kind)).all()
        assert torch.isfinite(hvp(one, A2, X, B, X, kind)).all()
