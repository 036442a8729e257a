r"""Gradient and Hessian product in tiles of rows, without an n x n array; the numbers are the plain ones.

Rows of the problem do not interact, so the logits of a few rows at a time are enough:

    for a tile of rows a of A1:   S = (a X) A2',   P from S and its rows of B,   result += a' (P A2).

A tile is sized to stay in a core's cache, so the many passes that softmax and its derivatives make over
their arrays run at the speed of the cache instead of that of memory. Beside B, which is read once,
extra memory is O(n d): a X, P A2, and a few tiles. On a CPU the two squared losses, which people compute
most, go through compiled loops (`icl.compiled`); everything else calls the functions of `icl.tensor_trick`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import torch
from torch import Tensor

from icl.compiled import regressions
from icl.tensor_trick.regressions import check_problem, row_gradient, row_hvp

#: Bytes of logits in a tile: what two cores have of cache, or a GPU.
TILE, TILE_GPU = 2**21, 2**26
_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def gradient(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None = None,
    kind: str = "normalized",
    tile: int | None = None,
) -> Tensor:
    """`icl.tensor_trick.gradient` of one problem, streamed over rows.

    Args:
        A1: (n, d).
        A2: (m, e), same dtype and device.
        X: (d, e).
        B: (n, m) targets; may be None for "sparse" and "entropy".
        kind: One of `icl.tensor_trick.KINDS`.
        tile: Bytes of logits in a tile; at least one row is taken. The default is what runs fast.

    Returns:
        (d, e), without autograd history.

    Raises:
        TypeError: If an argument is not a floating tensor, or dtypes differ.
        ValueError: If kind, a shape or a device is wrong.
        OverflowError: If the result is not finite; `icl.tensor_trick.gradient` says why.
    """
    _check(A1, A2, X, B, kind)
    return _streamed(A1, A2, (X,), B, kind, tile, regressions.squared_gradient, row_gradient)


def hvp(
    A1: Tensor,
    A2: Tensor,
    X: Tensor,
    B: Tensor | None,
    V: Tensor,
    kind: str = "normalized",
    tile: int | None = None,
) -> Tensor:
    """`icl.tensor_trick.hvp` of one problem, streamed over rows.

    Args:
        A1: (n, d).
        A2: (m, e), same dtype and device.
        X: (d, e).
        B: (n, m) targets; may be None for "sparse" and "entropy".
        V: (d, e) direction.
        kind: One of `icl.tensor_trick.KINDS`.
        tile: As for `gradient`.

    Returns:
        (d, e), without autograd history.

    Raises:
        TypeError: As `gradient`.
        ValueError: As `gradient`.
        OverflowError: As `gradient`.
    """
    _check(A1, A2, X, B, kind, V=V)
    return _streamed(A1, A2, (X, V), B, kind, tile, regressions.squared_hvp, row_hvp)


@torch.no_grad()
def _streamed(A1, A2, maps, B, kind, tile, compiled, plain) -> Tensor:
    """A1' W A2, where the rows of W come from those of A1 M A2' for each map M, and of B.

    ``compiled(*logits, b, kind)`` writes W over the first of the logits, ``plain`` returns it.
    """
    on_cpu = A1.device.type == "cpu"
    fast = on_cpu and kind in ("normalized", "rescaled") and A1.dtype in regressions.REALS
    # outside the compiled loops several arrays of a tile's size are alive at a time
    tile = tile or (TILE_GPU if not on_cpu else TILE if fast else TILE // 4)
    moved, columns = [_product(A1, M.T) for M in maps], _columns(A2)
    reach = A1.new_empty(len(A1), A2.shape[1])
    height = min(len(A1), max(1, tile // (len(A2) * A1.element_size())))
    spare = A1.new_empty(len(maps), height, len(A2))
    parts = max(1, torch.get_num_threads() // 2)  # to wake a second thread costs as much as it saves
    with ThreadPoolExecutor(parts) as pool:
        each = map if parts == 1 else pool.map
        for start in range(0, len(A1), height):
            rows = slice(start, min(start + height, len(A1)))
            memory = spare[:, : rows.stop - start]
            logits = [_product(a[rows], A2, own) for a, own in zip(moved, memory, strict=True)]
            b = None if B is None else B[rows]
            if fast:
                given = (value.chunk(parts) for value in (*logits, b.contiguous()))
                list(each(compiled, *given, repeat(kind)))
                W = logits[0]
            else:
                W = plain(*logits, b, kind)
            reach[rows] = _product(W, columns)
    return _finite(_product(A1.T, reach.T), kind)


def _product(left: Tensor, right: Tensor, spare: Tensor | None = None) -> Tensor:
    """``left @ right.T``; ``spare`` is memory that may hold it, as new memory has a price of its own.

    In single precision on a CPU by oneDNN: MKL, to which PyTorch gives its products, leaves the wide vectors
    of processors other than Intel's unused. PyTorch has no public name for this; `torch.compile` writes it.
    """
    if _onednn(left):
        return torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
    return torch.mm(left, right.T, out=spare)


def _onednn(matrix: Tensor) -> bool:
    return _ONEDNN and matrix.dtype == torch.float32 and matrix.device.type == "cpu"


def _columns(A2: Tensor) -> Tensor:
    """``A2.T``, as the product with it is fastest: MKL likes its columns in a row, oneDNN does not care."""
    return A2.T if _onednn(A2) else A2.T.contiguous()


def _check(*problem, **more: Tensor) -> None:
    for name, value in check_problem(*problem, **more).items():
        if value.ndim != 2:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; streaming takes one problem, of "
                "matrices without leading dimensions"
            )


def _finite(value: Tensor, kind: str) -> Tensor:
    if not torch.stack(torch.aminmax(value)).isfinite().all():  # NaN is both; a tenth of isfinite's time
        raise OverflowError(
            f"the result ({kind}) is not finite; icl.tensor_trick says whether the input or exp is to blame"
        )
    return value
