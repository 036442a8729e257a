"""The tensor trick: formulas broken on purpose, five gradients, ranks, and counted operations.

The scores are ``S = A1 X A2'``, and vec stacks the rows of a matrix, so that ``vec S`` is the Kronecker
product of A1 and A2 times ``vec X``. U is exp(S), ``alpha`` its row sums, F = U / alpha, and B the target. A
``kind`` is one of the five losses of `icl.tensor_trick.formulas`, and P the gradient of a loss in the scores.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from icl.streams import stream
from icl.tensor_trick import KINDS, gradient, hvp, kron_block, vec
from icl.tensor_trick.formulas import row_gradient, row_hvp

#: A1 and A2 (..., n, dim), X (..., dim, dim) and B (..., n, n).
Problem = tuple[Tensor, Tensor, Tensor, Tensor]


def normal_problem(n: int, dim: int, rng: np.random.Generator, *draws: int) -> Problem:
    """Draw A1, A2 and X standard normal, rows of B softmaxes of standard normal vectors."""
    A1 = torch.from_numpy(rng.standard_normal((*draws, n, dim)))
    A2 = torch.from_numpy(rng.standard_normal((*draws, n, dim)))
    X = torch.from_numpy(rng.standard_normal((*draws, dim, dim)))
    B = torch.from_numpy(rng.standard_normal((*draws, n, n))).softmax(-1)
    return A1, A2, X, B


def difference(left: Tensor, right: Tensor) -> float:
    """Return the largest difference of two tensors in units of the largest entry of the second."""
    return float((left - right).abs().max() / right.abs().max())


def broken(dims: Sequence[int], draws: int, seed: int) -> pd.DataFrame:
    """Break the trick and the two losses as a slip of the pen would.

    Returns:
        Columns ``statement``, "trick" or the loss; ``what``, the slip; ``dim``, ``n``; and ``difference``,
        the relative one of `difference` between what the slip gives and what is right, the smallest of the
        draws.
    """
    rows = []
    for dim in dims:
        n = 3 * dim
        rng = stream(seed, "tasks", dim)
        for _ in range(draws):
            A1, A2, X, B = normal_problem(n, dim, rng)
            # Scores then have the variance one.
            X = X / dim
            S = A1 @ X @ A2.T
            U = S.exp()
            alpha = U.sum(-1, keepdim=True)
            normalized = (U / alpha - B).square().sum()
            rescaled = (U - alpha * B).square().sum()
            # Each entry has what the slip gives, and what is right.
            slips = {
                ("trick", "vec by columns"): (torch.kron(A1, A2) @ vec(X.T), vec(S.T)),
                ("normalized", "columns of B"): ((U / alpha - B.T).square().sum(), normalized),
                ("normalized", "one normalization"): (
                    (U / alpha.sum() - B).square().sum(),
                    normalized,
                ),
                ("rescaled", "columns of B"): ((U - alpha * B.T).square().sum(), rescaled),
                ("rescaled", "one normalization"): ((U - alpha.sum() * B).square().sum(), rescaled),
            }
            for (statement, what), sides in slips.items():
                rows.append(
                    {
                        "statement": statement,
                        "what": what,
                        "dim": dim,
                        "n": n,
                        "difference": difference(*sides),
                    }
                )
    by = ["statement", "what", "dim", "n"]
    return pd.DataFrame(rows).groupby(by, sort=False, as_index=False).min()


def kron_loss(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    """Compute `icl.tensor_trick.loss` as printed, a sum of single regressions over the blocks A_j.

    A_j are those rows of the Kronecker product that give row j of the scores. The arguments are those of
    `icl.tensor_trick.loss` without leading dimensions.
    """
    # A_j has m rows, one for each token of A2.
    A, x, m = torch.kron(A1, A2), X.reshape(-1), A2.shape[0]
    total = X.new_zeros(())
    for j in range(A1.shape[0]):
        u = torch.exp(A[j * m : (j + 1) * m] @ x)
        alpha = u.sum()
        f = u / alpha
        if kind == "normalized":
            total = total + 0.5 * ((f - B[j]) ** 2).sum()
        elif kind == "rescaled":
            total = total + 0.5 * ((u - alpha * B[j]) ** 2).sum()
        elif kind == "sparse":
            total = total + alpha
        elif kind == "cross_entropy":
            total = total - (B[j] * f.log()).sum()
        else:
            # The last kind is the entropy.
            total = total - (f * f.log()).sum()
    return total


def kron_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, kind: str = "normalized") -> Tensor:
    """Compute the gradient of `kron_loss` in X, (d, e), by autograd through the explicit product."""
    slope: Tensor = torch.func.grad(lambda Y: kron_loss(A1, A2, Y, B, kind))(X)
    return slope


def gradients(dims: Sequence[int], draws: int, seed: int) -> pd.DataFrame:
    """Compare the closed form A1' P A2 of all five gradients with autograd through the explicit product.

    Returns:
        Columns ``kind``; ``what``, "closed form" or "P transposed", a slip; and ``difference``, the relative
        one of `difference`: for the closed form the largest over dimensions and draws, for the slip the
        smallest.
    """
    rows = []
    for dim in dims:
        n = 3 * dim
        rng = stream(seed, "tasks", dim)
        for _ in range(draws):
            A1, A2, X, B = normal_problem(n, dim, rng)
            X = X / dim
            for kind in KINDS:
                wanted = kron_gradient(A1, A2, X, B, kind)
                P = row_gradient(A1 @ X @ A2.T, B, kind)
                rows.append(
                    {
                        "kind": kind.replace("_", "-"),
                        "closed form": difference(gradient(A1, A2, X, B, kind), wanted),
                        "P transposed": difference(A1.T @ P.T @ A2, wanted),
                    }
                )
    sizes = pd.DataFrame(rows).groupby("kind", sort=False)
    worst = sizes.agg({"closed form": "max", "P transposed": "min"}).reset_index()
    return worst.melt("kind", var_name="what", value_name="difference")


def ranks(dims: Sequence[int], seed: int) -> pd.DataFrame:
    """Return the rank of the Kronecker product of normal A1 and A2, (n, dim): ``n``, ``dim``, ``rank``.

    n is 3 dim, and dim - 1, which is too few for the full rank.
    """
    rows = []
    for dim in dims:
        for n in (3 * dim, dim - 1):
            A1, A2, *_ = normal_problem(n, dim, stream(seed, "tasks", dim))
            rank = int(torch.linalg.matrix_rank(torch.kron(A1, A2)))
            rows.append({"n": n, "dim": dim, "rank": rank})
    return pd.DataFrame(rows)


#: Adding a number to a whole row of scores does not change these losses.
INVARIANT = ("normalized", "cross_entropy", "entropy")


def hessian_ranks(dims: Sequence[int], seed: int) -> pd.DataFrame:
    """Return ranks of Hessians: as drawn, with a constant column in A2, and, as a control, in A1.

    A constant column in A2 hides directions of X from the losses `INVARIANT`. The control says the same of
    A1, for these losses only, and is wrong.

    Columns ``kind``, ``dim``, ``where`` (the constant column), ``rank`` and ``invisible``, whether directions
    are said to be hidden.
    """
    rows = []
    for dim in dims:
        for where in ("nowhere", "in A2", "in A1"):
            A1, A2, X, B = normal_problem(3 * dim, dim, stream(seed, "tasks", dim))
            X = X / dim
            if where == "in A1":
                A1[:, -1] = 1.0
            if where == "in A2":
                A2[:, -1] = 1.0
            directions = torch.eye(dim**2, dtype=X.dtype).reshape(dim**2, dim, dim)
            for kind in INVARIANT if where == "in A1" else KINDS:
                hessian = vec(hvp(A1, A2, X, B, directions, kind))
                rank = int(torch.linalg.matrix_rank(hessian, rtol=1e-10))
                rows.append(
                    {
                        "kind": kind.replace("_", "-"),
                        "dim": dim,
                        "where": where,
                        "rank": rank,
                        "invisible": kind in INVARIANT and where != "nowhere",
                    }
                )
    return pd.DataFrame(rows)


def plain_gradient(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, kind: str = "normalized"
) -> Tensor:
    """Compute `icl.tensor_trick.gradient` by its formula; the arguments are the same, but not checked."""
    return A1.mT @ row_gradient(A1 @ X @ A2.mT, B, kind) @ A2


def plain_hvp(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, V: Tensor, kind: str = "normalized"
) -> Tensor:
    """Compute `icl.tensor_trick.hvp` by its formula; the arguments are the same, but not checked."""
    return A1.mT @ row_hvp(A1 @ X @ A2.mT, A1 @ V @ A2.mT, B, kind) @ A2


def explicit(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the gradient of the normalized loss by two products with the whole Kronecker product."""
    K = torch.kron(A1, A2)
    P = row_gradient((K @ X.reshape(-1, 1)).reshape(B.shape), B, "normalized")
    return (K.T @ P.reshape(-1, 1)).reshape(X.shape)


def blockwise(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute what `explicit` does, with one block of the Kronecker product, a row of scores, at a time."""
    x = X.reshape(-1, 1)
    total = torch.zeros_like(x)
    for j in range(len(A1)):
        block = kron_block(A1, A2, j)
        total += block.T @ row_gradient((block @ x).T, B[j : j + 1], "normalized").T
    return total.reshape(X.shape)


def autograd(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute what `explicit` does, by automatic differentiation of the matrix form."""
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]


#: Five ways to compute one gradient.
FORMS = {
    "explicit": explicit,
    "blockwise": blockwise,
    "autograd": autograd,
    "closed form": plain_gradient,
    "streaming": gradient,
}

#: The factors by which n and dim grow.
GROWING = {"n = d": (2, 2), "n, d fixed": (2, 1), "d, n fixed": (1, 2)}


def operations(forms: Sequence[str], size: int, growing: Sequence[str], seed: int) -> pd.DataFrame:
    """Return the exponent with which operations of matrix products grow when n, dim or both double.

    Both start at ``size``. ``forms`` are keys of `FORMS`, and ``growing`` of `GROWING`. Columns ``form``,
    ``growing``; ``exponent``, log2 of the factor by which the count grows; and ``error``, the rounding of
    this logarithm, as counts are whole numbers.
    """
    rows = []
    for form in forms:
        for what in growing:
            n_factor, dim_factor = GROWING[what]
            before = _count_operations(form, n=size, dim=size, seed=seed)
            after = _count_operations(form, n=size * n_factor, dim=size * dim_factor, seed=seed)
            exponent = math.log2(after / before)
            error = 4 * float(np.spacing(exponent))
            rows.append({"form": form, "growing": what, "exponent": exponent, "error": error})
    return pd.DataFrame(rows)


def _count_operations(form: str, n: int, dim: int, seed: int) -> int:
    A1, A2, X, B = normal_problem(n, dim, stream(seed, "tasks", dim))
    # Scores of size one are in the range of exponentials.
    with FlopCounterMode(display=False) as counter:
        FORMS[form](A1, A2, X / dim**1.5, B)
    return int(counter.get_total_flops())
