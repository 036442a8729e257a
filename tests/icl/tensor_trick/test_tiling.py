"""The choice between tiles and the plain form, their agreement, and the memory of the public functions."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from icl.tensor_trick import KINDS, gradient, hvp, tiling
from icl.tensor_trick.formulas import plain_gradient, plain_hvp


def problem(n=23, m=17, d=5, e=4, dtype=torch.float64, batch=()):
    g = torch.Generator().manual_seed(0)
    A1, A2, X, B, V = (
        torch.randn(*batch, *shape, generator=g, dtype=torch.float64)
        for shape in ((n, d), (m, e), (d, e), (n, m), (d, e))
    )
    return [t.to(dtype) for t in (A1, A2, 0.3 * X, B.softmax(-1), V)]


def close(ours, wanted, tolerance=1e-12):
    assert ours.shape == wanted.shape
    assert (ours - wanted).abs().max() <= tolerance * wanted.abs().max().clamp(min=1)


def tiled(A1, A2, X, B, V, kind, tile=None):
    """Gradient and Hessian product of one problem by tiles, whatever its size."""
    return [
        tiling.tiled(A1, A2, X, B, direction, kind=kind, tile=tile)
        for direction in (None, V)
    ]


def plain(A1, A2, X, B, V, kind):
    return plain_gradient(A1, A2, X, B, kind), plain_hvp(A1, A2, X, B, V, kind)


@pytest.fixture
def calls(monkeypatch):
    """Names of the ways a public function went: one entry for each call of a tiled or plain computation."""
    found = []
    for name in ("tiled", "plain_gradient", "plain_hvp"):
        way = getattr(tiling, name)
        monkeypatch.setattr(
            tiling,
            name,
            lambda *a, name=name, way=way, **k: found.append(name) or way(*a, **k),
        )
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "tile", [1, 136, 400, 10**6]
)  # bytes: one row, exactly one, two and a rest, all
def test_tiles_agree_with_the_plain_form(kind, tile):
    given = problem()
    for ours, wanted in zip(
        tiled(*given, kind, tile), plain(*given, kind), strict=True
    ):
        close(ours, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grad_mode", [True, False])
def test_a_large_problem_is_tiled_and_a_small_one_is_not(kind, dtype, grad_mode, calls):
    large, small = problem(n=300, m=256, dtype=dtype), problem(dtype=dtype)
    with torch.set_grad_enabled(grad_mode):
        for given, ways in (
            (large, ["tiled", "tiled"]),
            (small, ["plain_gradient", "plain_hvp"]),
        ):
            ours = gradient(*given[:4], kind), hvp(*given, kind)
            assert calls == ways
            for value, wanted in zip(
                ours, plain(*(t.double() for t in given), kind), strict=True
            ):
                close(value, wanted, 1e-12 if dtype == torch.float64 else 1e-4)
            calls.clear()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("large", [True, False])
def test_batches_are_taken_apart(kind, dtype, large, calls, monkeypatch):
    """Leading dimensions 3 and 2 of which every argument has others: problem by problem, or some together."""
    A1, A2, X, B, V = problem(batch=(3, 2), dtype=dtype)
    given = A1, A2[0, 0], X[:1], B[0], V[:, :1]
    monkeypatch.setattr(tiling, "SMALL", 1 if large else 10**9)
    monkeypatch.setattr(
        tiling, "TILE", 4 * 23 * 17 * A1.element_size() * (2 if large else 4)
    )
    wanted = plain(*given, kind)
    close(hvp(*given, kind), wanted[1], 1e-12 if dtype == torch.float64 else 1e-4)
    assert calls == (
        ["tiled"] * 6 if large else ["plain_hvp"] * 2
    )  # two of the three, then the third
    ours = gradient(*given[:4], kind)
    close(ours, wanted[0], 1e-12 if dtype == torch.float64 else 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_what_is_differentiated_or_mapped_goes_by_the_plain_form(
    kind, batch, monkeypatch
):
    monkeypatch.setattr(tiling, "SMALL", 1)
    monkeypatch.setattr(
        tiling, "tiled", lambda *a, **k: pytest.fail("tiles have no history")
    )
    A1, A2, X, B, V = problem(batch=batch)
    wanted = plain_gradient(A1, A2, X, B, kind), plain_hvp(A1, A2, X, B, V, kind)

    def slope(Y):
        return gradient(A1, A2, Y, B, kind)

    X.requires_grad_()
    close(torch.autograd.grad(slope(X), X, V)[0], wanted[1])
    third = torch.autograd.grad(plain_hvp(A1, A2, X, B, V, kind).sum(), X)[0]
    close(torch.autograd.grad(hvp(A1, A2, X, B, V, kind).sum(), X)[0], third)
    X = X.detach()
    close(torch.func.jvp(slope, (X,), (V,))[1], wanted[1])
    close(torch.func.vjp(slope, X)[1](V)[0], wanted[1])
    close(torch.func.grad(lambda Y: hvp(A1, A2, Y, B, V, kind).sum())(X), third)
    close(torch.func.vmap(lambda Z: hvp(A1, A2, X, B, Z, kind))(V[None])[0], wanted[1])
    with forward_ad.dual_level():
        close(
            forward_ad.unpack_dual(slope(forward_ad.make_dual(X, V))).tangent, wanted[1]
        )
    with pytest.raises(pytest.fail.Exception):  # the control: nothing of that
        slope(X)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_agrees(kind):
    given = problem()
    for tile in (400, None):
        ours = tiled(*(t.cuda() for t in given), kind, tile)
        for value, wanted in zip(ours, plain(*given, kind), strict=True):
            close(value.cpu(), wanted)


@pytest.mark.parametrize("threads", [1, 4, 16])
def test_any_number_of_threads_shares_the_rows(threads):
    given, before = problem(), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        ours = tiled(*given, "rescaled", 400)
    finally:
        torch.set_num_threads(before)
    for value, wanted in zip(ours, plain(*given, "rescaled"), strict=True):
        close(value, wanted)


def test_memory_layout_and_history_of_the_input_do_not_matter():
    A1, A2, X, B, _ = problem()
    turned = [t.T.contiguous().T.requires_grad_() for t in (A1, A2, X, B)]
    ours = tiling.tiled(*turned, None, kind="normalized", tile=400)
    close(ours, plain_gradient(A1, A2, X, B))
    assert not ours.requires_grad
    level = torch.full((1, 1), 1 / 17, dtype=B.dtype).expand(23, 17)
    ours = tiling.tiled(A1, A2, X, level, None, kind="normalized")
    close(ours, plain_gradient(A1, A2, X, level.contiguous()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [1, 10**9])  # tiles, and the plain form
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_an_entry_that_is_not_finite_is_told_whatever_the_way(
    kind, small, bad, monkeypatch
):
    monkeypatch.setattr(tiling, "SMALL", small)
    for k, name in enumerate(("A1", "A2", "X", "B", "V")):
        given = problem()
        given[k][-1, -1] = bad
        for call in (hvp, lambda *a: gradient(*a[:4], a[5])) if name != "V" else (hvp,):
            with pytest.raises(
                ValueError,
                match=f"^{name} has a NaN or infinite entry; all must be finite$",
            ):
                call(*given, kind)


@pytest.mark.parametrize("small", [1, 10**9])
def test_overflow_is_told_whatever_the_way(small, monkeypatch):
    monkeypatch.setattr(tiling, "SMALL", small)
    A1, A2, X, B, V = problem()
    top = (A1 @ X @ A2.T).max().item()
    for kind, logit in (("sparse", 800), ("rescaled", 400)):
        given = A1, A2, X * (logit / top), B
        words = rf"{kind}\) overflows float64: the largest logit is {logit},"
        with pytest.raises(OverflowError, match=words):
            gradient(*given, kind)
        with pytest.raises(OverflowError, match=words):
            hvp(*given, V, kind)
    one, huge = (
        torch.ones(3, 1, dtype=A1.dtype),
        torch.full((1, 1), -1e200, dtype=A1.dtype),
    )
    far = torch.tensor([[0.0], [1e200], [1e200]], dtype=A1.dtype)
    for kind in KINDS:  # logits of -infinity, of which exp would make zeros in silence
        with pytest.raises(OverflowError, match="the logits"):
            gradient(one, far, huge, B[:3, :3], kind)
    close(
        gradient(one, one, huge, B[:3, :3]), torch.zeros_like(huge)
    )  # large, and in range


class Largest(TorchDispatchMode):
    """Watch how many numbers the largest new tensor has; the peak memory itself is a benchmark's."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else [out]:
            if isinstance(value, torch.Tensor) and not value._is_view():
                self.numbers = max(self.numbers, value.numel())
        return out


@pytest.mark.parametrize("kind", KINDS)
def test_no_array_of_n_by_n_is_made(kind):
    n, d, tile = 1200, 8, 2**16
    A1, A2, X, B, V = (
        torch.randn(n, d),
        torch.randn(n, d),
        torch.randn(d, d),
        torch.rand(n, n),
        torch.eye(d),
    )
    for direction in (None, V):
        with Largest() as plain, torch.no_grad():
            plain_gradient(A1, A2, X, B, kind) if direction is None else plain_hvp(
                A1, A2, X, B, V, kind
            )
        with Largest() as ours:
            tiling.tiled(A1, A2, X, B, direction, kind=kind, tile=tile)
        assert plain.numbers == n * n  # the control
        assert ours.numbers <= max(
            2 * tile // 4, n * d
        )  # the gradient's or, for two maps, both tiles
