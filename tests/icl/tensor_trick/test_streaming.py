"""The tiled gradient and Hessian product against the plain ones, and their memory."""

import sys

import pytest
import torch

from icl import tensor_trick
from icl.compiled import regressions
from icl.tensor_trick import KINDS, row_gradient, row_hvp, streaming
from icl_book import measure


def problem(n=23, m=17, d=5, e=4, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    A1, A2, X, B, V = (
        torch.randn(*shape, generator=g, dtype=torch.float64)
        for shape in ((n, d), (m, e), (d, e), (n, m), (d, e))
    )
    return [t.to(dtype) for t in (A1, A2, 0.3 * X, B.softmax(-1), V)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tile", [1, 136, 400, 10**6])  # bytes: one row, exactly one, two and a rest, all
def test_agrees_with_the_plain_form(kind, tile):
    A1, A2, X, B, V = problem()
    wanted = tensor_trick.gradient(A1, A2, X, B, kind)
    assert torch.allclose(streaming.gradient(A1, A2, X, B, kind, tile), wanted, rtol=1e-12, atol=1e-12)
    wanted = tensor_trick.hvp(A1, A2, X, B, V, kind)
    assert torch.allclose(streaming.hvp(A1, A2, X, B, V, kind, tile), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind):
    A1, A2, X, B, V = problem(dtype=torch.float32)
    exact = [t.double() for t in (A1, A2, X, B, V)]
    for ours, wanted in (
        (streaming.hvp(A1, A2, X, B, V, kind, 160), tensor_trick.hvp(*exact, kind)),
        (streaming.gradient(A1, A2, X, B, kind, 160), tensor_trick.gradient(*exact[:4], kind)),
    ):
        assert ours.dtype == torch.float32
        assert (ours - wanted).abs().max() < 1e-4 * wanted.abs().max().clamp(min=1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_agrees(kind):
    given = problem()
    on_gpu = [t.cuda() for t in given]
    wanted = tensor_trick.gradient(*given[:4], kind), tensor_trick.hvp(*given, kind)
    for tile in (400, None):
        ours = streaming.gradient(*on_gpu[:4], kind, tile), streaming.hvp(*on_gpu, kind, tile)
        for got, expected in zip(ours, wanted, strict=True):
            assert torch.allclose(got.cpu(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["normalized", "rescaled"])
@pytest.mark.parametrize("level", [-400.0, -30.0, 0.0, 30.0, 150.0])
def test_the_squared_losses_do_not_depend_on_where_the_logits_lie(kind, level):
    A1, A2, X, B, _ = problem()
    A1, A2 = torch.cat([A1, torch.ones(23, 1)], 1), torch.cat([A2, torch.ones(17, 1)], 1)
    X = torch.block_diag(20 * X, torch.tensor([[level]], dtype=X.dtype))  # all logits moved by level
    wanted, ours = (module.gradient(A1, A2, X, B, kind) for module in (tensor_trick, streaming))
    assert (ours - wanted).abs().max() <= 1e-11 * wanted.abs().max()


@pytest.mark.parametrize("threads", [1, 4, 16])
def test_any_number_of_threads_shares_the_rows(threads):
    A1, A2, X, B, V = problem()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        ours = (
            streaming.gradient(A1, A2, X, B, "rescaled", 400),
            streaming.hvp(A1, A2, X, B, V, "rescaled", 400),
        )
    finally:
        torch.set_num_threads(before)
    wanted = tensor_trick.gradient(A1, A2, X, B, "rescaled"), tensor_trick.hvp(A1, A2, X, B, V, "rescaled")
    assert all(torch.allclose(*pair, rtol=1e-12, atol=1e-12) for pair in zip(ours, wanted, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_the_same_without_compiled_rows_and_onednn(kind, monkeypatch):
    given = problem(70, 90, 6, 7, dtype=torch.float32)
    fast = streaming.gradient(*given[:4], kind), streaming.hvp(*given, kind)
    used = []
    monkeypatch.setattr(streaming, "_ONEDNN", False)
    monkeypatch.setattr(regressions, "REALS", {})
    monkeypatch.setattr(streaming, "row_gradient", lambda *a: used.append("P") or row_gradient(*a))
    monkeypatch.setattr(streaming, "row_hvp", lambda *a: used.append("W") or row_hvp(*a))
    plain = streaming.gradient(*given[:4], kind), streaming.hvp(*given, kind)
    assert set(used) == {"P", "W"}
    for ours, theirs in zip(fast, plain, strict=True):
        assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max().clamp(min=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("n, k, m", [(1, 1, 1), (1, 7, 5), (33, 2, 129), (64, 300, 3)])
def test_product(n, k, m, dtype):
    g = torch.Generator().manual_seed(0)
    left, right = (torch.randn(*shape, generator=g).to(dtype) for shape in ((k, n), (m, k)))
    exact = left.double().T @ right.double().T
    assert (streaming._product(left.T, right) - exact).abs().max() < 4 * k * torch.finfo(dtype).eps


def test_memory_layout_and_history_of_the_input_do_not_matter():
    A1, A2, X, B, _ = problem()
    wanted = tensor_trick.gradient(A1, A2, X, B)
    turned = [t.T.contiguous().T.requires_grad_() for t in (A1, A2, X, B)]
    ours = streaming.gradient(*turned, tile=400)
    assert torch.allclose(ours, wanted, rtol=1e-12, atol=1e-12) and not ours.requires_grad
    level = torch.full((1, 1), 1 / 17, dtype=B.dtype).expand(23, 17)
    wanted = tensor_trick.gradient(A1, A2, X, level.contiguous())
    assert torch.allclose(streaming.gradient(A1, A2, X, level), wanted, rtol=1e-12, atol=1e-12)


def test_targets_may_be_left_out_and_bad_input_is_told():
    A1, A2, X, B, V = problem()
    for kind in ("sparse", "entropy"):
        wanted = tensor_trick.gradient(A1, A2, X, kind=kind)
        assert torch.allclose(streaming.gradient(A1, A2, X, kind=kind), wanted)
    with pytest.raises(ValueError, match="takes one problem"):
        streaming.gradient(A1[None], A2, X, B)
    with pytest.raises(ValueError, match="B is None; kind 'normalized' needs targets"):
        streaming.gradient(A1, A2, X)
    with pytest.raises(ValueError, match=r"B has shape \(23, 16\); it must end in \(23, 17\)"):
        streaming.gradient(A1, A2, X, B[:, 1:])
    with pytest.raises(ValueError, match=r"V has shape \(5, 5\)"):
        streaming.hvp(A1, A2, X, B, X @ X.T)
    with pytest.raises(TypeError, match="B has dtype torch.float32"):
        streaming.gradient(A1, A2, X, B.float())
    with pytest.raises(ValueError, match="kind is 'softmax'"):
        streaming.gradient(A1, A2, X, B, "softmax")
    with pytest.raises(OverflowError, match="rescaled.*not finite"):
        streaming.hvp(A1, A2, 1e4 * X, B, V, "rescaled")
    with pytest.raises(OverflowError, match="rescaled.*not finite"):
        streaming.gradient(A1, A2, 1e4 * X, B, "rescaled")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_no_array_of_n_by_n_is_made():
    n, d = 6000, 8
    setup = f"""
import torch
torch.set_num_threads(1)
from icl import tensor_trick
from icl.tensor_trick import streaming
A1, A2, B = torch.randn({n}, {d}), torch.randn({n}, {d}), torch.rand({n}, {n})
X = V = torch.randn({d}, {d}) / {d}
for module in (streaming, tensor_trick):
    module.hvp(A1[:50], A2[:50], X, B[:50, :50], V)
    module.gradient(A1[:50], A2[:50], X, B[:50, :50])
"""
    whole = 4 * n * n
    for call in ("gradient(A1, A2, X, B)", "hvp(A1, A2, X, B, V)"):
        tiled, plain = (
            measure.in_subprocess(f"{name}.{call}", setup, 1).peak_bytes
            for name in ("streaming", "tensor_trick")
        )
        assert plain > 2 * whole  # the control
        assert tiled < 25 * streaming.TILE < 0.4 * whole
