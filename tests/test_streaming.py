"""The tiled gradient and Hessian product against the plain ones, and their memory."""

import sys

import pytest
import torch

from icl import measure, streaming, tensor_trick
from icl.tensor_trick import KINDS


def problem(n=23, m=17, d=5, e=4, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    A1, A2, X, B, V = (torch.randn(*shape, generator=g, dtype=torch.float64)
                       for shape in ((n, d), (m, e), (d, e), (n, m), (d, e)))
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
            (streaming.gradient(A1, A2, X, B, kind, 160), tensor_trick.gradient(*exact[:4], kind))):
        assert ours.dtype == torch.float32
        assert (ours - wanted).abs().max() < 1e-4 * wanted.abs().max().clamp(min=1)


@pytest.mark.parametrize("kind", ["normalized", "rescaled"])
@pytest.mark.parametrize("level", [-400.0, -30.0, 0.0, 30.0, 150.0])
def test_the_squared_losses_do_not_depend_on_where_the_logits_lie(kind, level):
    A1, A2, X, B, _ = problem()
    A1, A2 = torch.cat([A1, torch.ones(23, 1)], 1), torch.cat([A2, torch.ones(17, 1)], 1)
    X = torch.block_diag(20 * X, torch.tensor([[level]], dtype=X.dtype))  # all logits moved by level
    wanted, ours = (module.gradient(A1, A2, X, B, kind) for module in (tensor_trick, streaming))
    assert (ours - wanted).abs().max() <= 1e-11 * wanted.abs().max()


def test_targets_may_be_left_out_and_bad_input_is_told():
    A1, A2, X, B, V = problem()
    for kind in ("sparse", "entropy"):
        wanted = tensor_trick.gradient(A1, A2, X, kind=kind)
        assert torch.allclose(streaming.gradient(A1, A2, X, kind=kind), wanted)
    with pytest.raises(ValueError, match="takes one problem"):
        streaming.gradient(A1[None], A2, X, B)
    with pytest.raises(ValueError, match="B is None; kind 'normalized' needs targets"):
        streaming.gradient(A1, A2, X)
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
from icl import streaming, tensor_trick
A1, A2, B = torch.randn({n}, {d}), torch.randn({n}, {d}), torch.rand({n}, {n})
X = V = torch.randn({d}, {d}) / {d}
for module in (streaming, tensor_trick):
    module.hvp(A1[:50], A2[:50], X, B[:50, :50], V)
"""
    whole = 4 * n * n
    for call in ("gradient(A1, A2, X, B)", "hvp(A1, A2, X, B, V)"):
        tiled, plain = (measure.fresh(f"{name}.{call}", setup, 1).peak_bytes
                        for name in ("streaming", "tensor_trick"))
        assert plain > 2 * whole  # the control
        assert tiled < 25 * streaming.TILE < 0.4 * whole
