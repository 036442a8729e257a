"""Blocks of rows against the formula for all rows at once, and the memory of the public functions."""

import threading

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from icl.tensor_trick import KINDS, gradient, hvp, loss, regressions
from icl.tensor_trick.formulas import row_loss
from icl_book.measurements.tensor_trick import plain_gradient, plain_hvp


def problem(n=23, m=17, d=5, e=4, dtype=torch.float64, batch=()):
    rng = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*batch, *shape, generator=rng, dtype=torch.float64)

    A1, A2, X, B, V = (
        normal(n, d),
        normal(m, e),
        0.3 * normal(d, e),
        normal(n, m).softmax(-1),
        normal(d, e),
    )
    return [t.to(dtype) for t in (A1, A2, X, B, V)]


def close(ours, wanted, tolerance=1e-12):
    assert ours.shape == wanted.shape
    assert (ours - wanted).abs().max() <= tolerance * wanted.abs().max().clamp(min=1)


# bytes: one row, exactly one, two and a rest, all
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 136, 400, 10**6])
@pytest.mark.parametrize("batch", [(), (3, 2)])
def test_blocks_agree_with_all_rows_at_once(kind, block, batch, monkeypatch):
    monkeypatch.setattr(regressions, "BLOCK", block)
    A1, A2, X, B, V = problem(batch=batch)
    if batch:  # every argument has other leading dimensions
        A2, X, B, V = A2[0, 0], X[:1], B[0], V[:, :1]
    S = A1 @ X @ A2.mT
    close(loss(A1, A2, X, B, kind), row_loss(S, B, kind).sum(-1))
    close(gradient(A1, A2, X, B, kind), plain_gradient(A1, A2, X, B, kind))
    close(hvp(A1, A2, X, B, V, kind), plain_hvp(A1, A2, X, B, V, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind):
    given = problem(n=300, m=256, dtype=torch.float32)
    exact = [t.double() for t in given]
    close(gradient(*given[:4], kind).double(), plain_gradient(*exact[:4], kind), 1e-4)
    close(hvp(*given, kind).double(), plain_hvp(*exact, kind), 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [400, 10**6])
def test_results_can_be_differentiated_and_mapped(kind, block, monkeypatch):
    monkeypatch.setattr(regressions, "BLOCK", block)
    A1, A2, X, B, V = problem()
    wanted = plain_hvp(A1, A2, X, B, V, kind)

    def slope(Y):
        return gradient(A1, A2, Y, B, kind)

    X.requires_grad_()
    close(torch.autograd.grad(loss(A1, A2, X, B, kind), X)[0], slope(X).detach())
    close(torch.autograd.grad(slope(X), X, V)[0], wanted.detach())
    X = X.detach()
    close(torch.func.jvp(slope, (X,), (V,))[1], wanted.detach())
    close(torch.func.vmap(lambda Z: hvp(A1, A2, X, B, Z, kind))(V[None])[0], wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_agrees(kind):
    given = problem()
    ours = hvp(*(t.cuda() for t in given), kind)
    close(ours.cpu(), plain_hvp(*given, kind))


class Largest(TorchDispatchMode):
    """Watch how many numbers the largest new tensor has."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else [out]:
            if isinstance(value, torch.Tensor) and not value._is_view():
                self.numbers = max(self.numbers, value.numel())
        return out


@pytest.mark.parametrize("kind", KINDS)
def test_no_array_of_n_by_n_is_made(kind):
    n, d = 1200, 8
    A1, A2, X, B, V = problem(n, n, d, d, torch.float32)
    with Largest() as plain:
        plain_hvp(A1, A2, X, B, V, kind)
    assert plain.numbers == n * n
    with Largest() as ours:
        loss(A1, A2, X, B, kind)
        gradient(A1, A2, X, B, kind)
        hvp(A1, A2, X, B, V, kind)
    assert ours.numbers <= regressions.BLOCK // 4


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr(regressions, "BLOCK", 500)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)


def test_blocks_run_in_threads_that_compute_alone(three_threads, monkeypatch):
    """A divided operation waits for its last thread, which takes long beside other work."""
    seen, row_gradient = [], regressions.row_gradient

    def recorded(S, *rest):
        seen.append((threading.get_ident(), torch.get_num_threads()))
        return row_gradient(S, *rest)

    monkeypatch.setattr(regressions, "row_gradient", recorded)
    A1, A2, X, B, _ = problem()
    close(gradient(A1, A2, X, B), plain_gradient(A1, A2, X, B, "normalized"))
    assert len(seen) == 8 and {alone for _, alone in seen} == {1}
    assert threading.get_ident() not in {thread for thread, _ in seen}


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_result(kind, three_threads):
    A1, A2, X, B, V = problem()
    close(loss(A1, A2, X, B, kind), row_loss(A1 @ X @ A2.mT, B, kind).sum(-1))
    close(hvp(A1, A2, X, B, V, kind), plain_hvp(A1, A2, X, B, V, kind))
    with pytest.raises(RuntimeError, match="dtype"):
        loss(A1, A2.float(), X, B, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_beside_threads_results_can_be_differentiated_and_mapped(kind, three_threads):
    A1, A2, X, B, V = problem()
    wanted = plain_hvp(A1, A2, X, B, V, kind)

    def slope(Y):
        return gradient(A1, A2, Y, B, kind)

    close(torch.func.jvp(slope, (X,), (V,))[1], wanted)
    close(torch.func.vmap(lambda Z: hvp(A1, A2, X, B, Z, kind))(V[None])[0], wanted)
    with forward_ad.dual_level():
        close(forward_ad.unpack_dual(slope(forward_ad.make_dual(X, V))).tangent, wanted)
    X.requires_grad_()
    close(torch.autograd.grad(slope(X), X, V)[0], wanted)
    with torch.no_grad():
        close(slope(X), plain_gradient(A1, A2, X, B, kind))
    with torch.autocast("cpu"):
        assert slope(X.detach()).isfinite().all()
