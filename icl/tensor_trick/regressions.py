r"""The tensor trick and the five softmax regressions of paper 2, in closed form.

With vec reading a matrix row by row, $\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$:
row $j$ of the logits $S=A_1XA_2^\top$ is $A_jx$ with $x=\mathrm{vec}(X)$ and $A_j=A_1[j,:]\otimes A_2$,
so a regression on a matrix is a sum of regressions on its rows. Write, entrywise exp,

    U = exp(S),   a = row sums of U,   F = U / a,   B = targets.

The losses, summed over rows (lower case letters are rows):

    normalized     1/2 |f - b|^2      (paper 2's abstract has no 1/2: its loss is twice this one)
    rescaled       1/2 |u - a b|^2    (likewise)
    sparse         sum of u = a
    cross_entropy  -<b, log f>
    entropy        -<f, log f>

Nothing here forms the Kronecker product or calls autograd. With P = dloss/dS the gradient
is $A_1^\top PA_2$, and with W the derivative of P along $T=A_1VA_2^\top$ the Hessian
product is $A_1^\top WA_2$. `icl.tensor_trick.kronecker` holds the literal Kronecker versions these are
tested against.

Shapes: A1 (..., n, d), A2 (..., m, e), X and V (..., d, e), B (..., n, m); the paper has
m = n and e = d. Leading dimensions broadcast; every element of the batch is a problem of
its own. Logits are not divided by anything: put a 1/sqrt(d) into X if you want one.
"""

from __future__ import annotations

import math
from operator import index

import torch
from torch import Tensor

KINDS = ("normalized", "rescaled", "sparse", "cross_entropy", "entropy")

#: The kinds that compare with a target B; the others ignore it.
TARGETED = ("normalized", "rescaled", "cross_entropy")


def vec(X: Tensor) -> Tensor:
    """Stack the rows of a matrix: entry (i, j) of a d x e matrix goes to place i * e + j.

    Args:
        X: (..., d, e), any dtype.

    Returns:
        (..., d * e).

    Raises:
        TypeError: If X is not a tensor.
        ValueError: If X has fewer than two dimensions.
    """
    _require_tensor("X", X)
    if X.ndim < 2:
        raise ValueError(f"X has shape {tuple(X.shape)}; a matrix (..., d, e) is needed")
    return X.flatten(-2)


def unvec(x: Tensor, rows: int | None = None, cols: int | None = None) -> Tensor:
    """Undo `vec`.

    Args:
        x: (..., rows * cols), any dtype.
        rows: Number of rows; by default the matrix is square.
        cols: Number of columns; by default what is left.

    Returns:
        (..., rows, cols).

    Raises:
        TypeError: If x is not a tensor.
        ValueError: If x has no dimension or its length does not fit.
    """
    _require_tensor("x", x)
    if x.ndim < 1:
        raise ValueError("x is a scalar; a vector (..., rows * cols) is needed")
    length = x.shape[-1]
    if rows is None and cols is None:
        rows = cols = math.isqrt(length)
    elif rows is None:
        rows = length // cols if cols else 0
    elif cols is None:
        cols = length // rows if rows else 0
    if rows < 1 or cols < 1 or rows * cols != length:
        raise ValueError(
            f"x has {length} entries, which do not fill a {rows} x {cols} matrix; name rows and cols"
        )
    return x.unflatten(-1, (rows, cols))


def kron_block(A1: Tensor, A2: Tensor, j: int) -> Tensor:
    """The block A_j = A1[j, :] (x) A2: rows j*m ... (j+1)*m - 1 of A1 (x) A2.

    ``kron_block(A1, A2, j) @ vec(X)`` is row j of ``A1 @ X @ A2.T``.

    Args:
        A1: (..., n, d).
        A2: (..., m, e), same dtype and device.
        j: Row of A1, counted from 0.

    Returns:
        (..., m, d * e).

    Raises:
        TypeError: If A1 or A2 is not a floating tensor, or dtypes differ.
        ValueError: If shapes or devices do not fit, or an entry is NaN or infinite.
        IndexError: If there is no row j.
    """
    _check_matrices(A1=A1, A2=A2)
    j, n = index(j), A1.shape[-2]
    if not 0 <= j < n:
        raise IndexError(f"j is {j}; A1 has rows 0 to {n - 1}")
    row = A1[..., j, :]
    return (row[..., None, :, None] * A2[..., :, None, :]).flatten(-2)


def loss(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized") -> Tensor:
    """One of the five losses; see the module's head for the formulas and the factor 1/2.

    Args:
        A1: (..., n, d).
        A2: (..., m, e).
        X: (..., d, e).
        B: (..., n, m) targets; may be None for "sparse" and "entropy", which have none.
        kind: One of `KINDS`.

    Returns:
        (...), one loss for every element of the broadcast batch.

    Raises:
        TypeError: If an argument is not a floating tensor, or dtypes differ.
        ValueError: If kind, a shape or a device is wrong, or an entry is NaN or infinite.
        OverflowError: If the result leaves the range of the dtype (exp in "rescaled" and
            "sparse", or the logits themselves).
    """
    S = _logits(A1, A2, X, B, kind)
    return _finite(row_loss(S, B, kind).sum(-1), "loss", kind, S)


def gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None = None, kind: str = "normalized") -> Tensor:
    """The gradient of `loss` with respect to X, A1' P A2 with P = dloss/dS.

    Arguments and all errors are those of `loss`.

    Returns:
        (..., d, e).
    """
    S = _logits(A1, A2, X, B, kind)
    P = row_gradient(S, B, kind)
    return _finite(A1.mT @ P @ A2, "gradient", kind, S)


def hvp(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor, kind: str = "normalized") -> Tensor:
    """The Hessian of `loss` in X applied to the direction V.

    V (..., d, e) is the direction. The other arguments and all errors are those of `loss`.

    Returns:
        (..., d, e).
    """
    S = _logits(A1, A2, X, B, kind, V=V)
    W = row_hvp(S, A1 @ V @ A2.mT, B, kind)
    return _finite(A1.mT @ W @ A2, "Hessian product", kind, S)


# The same three on logits. Every row is a single softmax regression; rows do not interact.


def row_loss(S: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """The losses of the single rows: (..., n) from logits S and targets B (..., n, m)."""
    match kind:
        case "normalized":
            return 0.5 * (torch.softmax(S, -1) - B).square().sum(-1)
        case "rescaled":
            U = S.exp()
            return 0.5 * (U - U.sum(-1, keepdim=True) * B).square().sum(-1)
        case "sparse":
            return S.exp().sum(-1)
        case "cross_entropy":
            return -(B * torch.log_softmax(S, -1)).sum(-1)
        case "entropy":
            log_F = torch.log_softmax(S, -1)
            return -(log_F.exp() * log_F).sum(-1)
    raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")


def row_gradient(S: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """P = dloss/dS, (..., n, m), from logits S and targets B of that shape."""
    match kind:
        case "normalized":
            F = torch.softmax(S, -1)
            C = F - B
            return F * (C - _dot(F, C))
        case "rescaled":
            U = S.exp()
            Q = U - U.sum(-1, keepdim=True) * B
            return U * (Q - _dot(Q, B))
        case "sparse":
            return S.exp()
        case "cross_entropy":
            return torch.softmax(S, -1) * B.sum(-1, keepdim=True) - B
        case "entropy":
            log_F = torch.log_softmax(S, -1)
            F = log_F.exp()
            return -F * (log_F - _dot(F, log_F))
    raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")


def row_hvp(S: Tensor, T: Tensor, B: Tensor | None, kind: str) -> Tensor:
    """W = derivative of `row_gradient` along T: row j is the j-th row Hessian times row j of T.

    A trailing ``_t`` is the derivative of the letter before it along T.
    """
    match kind:
        case "normalized":
            F = torch.softmax(S, -1)
            C = F - B
            F_t = F * (T - _dot(F, T))
            return F_t * (C - _dot(F, C)) + F * (F_t - _dot(F_t, C) - _dot(F, F_t))
        case "rescaled":
            U = S.exp()
            U_t = U * T
            Q = U - U.sum(-1, keepdim=True) * B
            Q_t = U_t - U_t.sum(-1, keepdim=True) * B
            return U_t * (Q - _dot(Q, B)) + U * (Q_t - _dot(Q_t, B))
        case "sparse":
            return S.exp() * T
        case "cross_entropy":
            F = torch.softmax(S, -1)
            return F * (T - _dot(F, T)) * B.sum(-1, keepdim=True)
        case "entropy":
            log_F = torch.log_softmax(S, -1)
            F = log_F.exp()
            log_F_t = T - _dot(F, T)
            F_t = F * log_F_t
            return -F_t * (log_F - _dot(F, log_F)) - F * (log_F_t - _dot(F_t, log_F))
    raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")


def _dot(Y: Tensor, Z: Tensor) -> Tensor:
    """Row-wise inner products, kept as a column."""
    return (Y * Z).sum(-1, keepdim=True)


# Bad input, told in one line.


def _logits(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str, **more: Tensor) -> Tensor:
    """Check everything, then return S = A1 X A2'."""
    for name, value in check_problem(A1, A2, X, B, kind, **more).items():
        if not _all_finite(value):
            raise ValueError(f"{name} has a NaN or infinite entry; all must be finite")
    S = A1 @ X @ A2.mT
    return _finite(S, "logits", kind, S)


def check_problem(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str, **more: Tensor) -> dict:
    """Raise what `loss` says about kind, types and shapes, without a look at the entries.

    Returns:
        The tensors given, by name.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    if B is None and kind in TARGETED:
        raise ValueError(f"B is None; kind {kind!r} needs targets of shape (..., n, m)")
    given = {"A1": A1, "A2": A2, "X": X} | ({} if B is None else {"B": B}) | more
    _check_matrices(**given)
    (n, d), (m, e) = A1.shape[-2:], A2.shape[-2:]
    for name, wanted in {"X": (d, e), "V": (d, e), "B": (n, m)}.items():
        if name in given and given[name].shape[-2:] != wanted:
            raise ValueError(
                f"{name} has shape {tuple(given[name].shape)}; it must end in {wanted}, "
                f"as A1 ends in {(n, d)} and A2 in {(m, e)}"
            )
    return given


def _check_matrices(**given: Tensor) -> None:
    A1 = given["A1"]
    for name, value in given.items():
        _require_tensor(name, value)
        if not value.is_floating_point():
            raise TypeError(f"{name} has dtype {value.dtype}; a floating dtype is needed")
        if value.dtype != A1.dtype:
            raise TypeError(f"{name} has dtype {value.dtype} but A1 has {A1.dtype}; they must agree")
        if value.device != A1.device:
            raise ValueError(f"{name} is on {value.device} but A1 is on {A1.device}; they must agree")
        if value.ndim < 2 or 0 in value.shape[-2:]:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; a nonempty matrix (..., rows, cols) is needed"
            )
    try:
        torch.broadcast_shapes(*(value.shape[:-2] for value in given.values()))
    except RuntimeError:
        shapes = ", ".join(f"{name} {tuple(value.shape[:-2])}" for name, value in given.items())
        raise ValueError(f"leading dimensions do not broadcast: {shapes}") from None


def _require_tensor(name: str, value) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}; a torch tensor is needed")


def _all_finite(value: Tensor) -> bool:
    try:
        return bool(torch.isfinite(value).all())
    except RuntimeError as error:
        if "vmap" in str(error):  # inside torch.func.vmap values cannot be looked at
            return True
        raise


def _finite(value: Tensor, what: str, kind: str, S: Tensor) -> Tensor:
    """Pass a finite result through; never hand out an infinity silently."""
    if _all_finite(value):
        return value
    top = math.log(torch.finfo(S.dtype).max)
    squared = f" ({top / 2:.3g} where they are squared, as in rescaled)" if kind == "rescaled" else ""
    dtype = str(S.dtype).removeprefix("torch.")
    raise OverflowError(
        f"the {what} ({kind}) overflows {dtype}: the largest logit is {S.max().item():.4g}, "
        f"exp allows {top:.3g}{squared}; shrink X or use a wider dtype"
    )
