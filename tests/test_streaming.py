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
@pytest.mark.parametrize("tile", [1, 17, 50, 10**6])  # one row, one row exactly, two rows and a rest, all
def test_agrees_with_the_plain_form(kind, tile):
    A1, A2, X, B, V = problem()
    wanted = tensor_trick.gradient(A1, A2, X, B, kind)
    assert torch.allclose(streaming.gradient(A1, A2, X, B, kind, tile), wanted, rtol=1e-12, atol=1e-12)
    wanted = tensor_trick.hvp(A1, A2, X, B, V, kind)
    assert torch.allclose(streaming.hvp(A1, A2, X, B, V, kind, tile), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind):
    A1, A2, X, B, V = problem(dtype=torch.float32)
    wanted = tensor_trick.hvp(*(t.double() for t in (A1, A2, X, B, V)), kind)
    ours = streaming.hvp(A1, A2, X, B, V, kind, 40)
    assert ours.dtype == torch.float32
    assert (ours - wanted).abs().max() < 1e-4 * wanted.abs().max().clamp(min=1)


def test_targets_may_be_left_out_and_bad_input_is_told():
    A1, A2, X, B, V = problem()
    for kind in ("sparse", "entropy"):
        wanted = tensor_trick.gradient(A1, A2, X, kind=kind)
        assert torch.allclose(streaming.gradient(A1, A2, X, kind=kind), wanted)
    with pytest.raises(ValueError, match="takes one problem"):
        streaming.gradient(A1[None], A2, X, B)
    with pytest.raises(ValueError, match="kind is 'softmax'"):
        streaming.gradient(A1, A2, X, B, "softmax")
    with pytest.raises(OverflowError, match="rescaled.*not finite"):
        streaming.hvp(A1, A2, 1e4 * X, B, V, "rescaled")


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
    tiled, plain = (measure.fresh(f"{name}.hvp(A1, A2, X, B, V)", setup, 1).peak_bytes
                    for name in ("streaming", "tensor_trick"))
    assert plain > 2 * whole  # the control
    assert tiled < 25 * 4 * streaming.TILE < 0.4 * whole
