"""The tensor trick: formulas broken on purpose, five gradients, ranks, and counted operations.

- S = A1 X A2' are the scores.
- vec stacks the rows of a matrix. The *trick* is the formula ``vec S = K vec X``, where K is the Kronecker
  product of A1 and A2.
- U is exp(S), ``alpha`` has the row sums of U, F is U / alpha, and B is the target.
- A ``kind`` is the name of one of the five losses of `icl.tensor_trick.formulas`.
- P is the gradient of a loss in the scores.
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
    """Draw A1, A2 and X with standard normal entries, and B, whose rows are softmaxes of normal vectors.

    ``draws`` are leading dimensions of all four.
    """
    A1 = torch.from_numpy(rng.standard_normal((*draws, n, dim)))
    A2 = torch.from_numpy(rng.standard_normal((*draws, n, dim)))
    X = torch.from_numpy(rng.standard_normal((*draws, dim, dim)))
    B = torch.from_numpy(rng.standard_normal((*draws, n, n))).softmax(-1)
    return A1, A2, X, B


def difference(left: Tensor, right: Tensor) -> float:
    """Return the largest absolute difference of two tensors over the largest absolute entry of ``right``."""
    return float((left - right).abs().max() / right.abs().max())


def break_formulas(dims: Sequence[int], draws: int, seed: int) -> pd.DataFrame:
    """Compute the trick and two losses with slips of the pen, and compare the results with the right ones.

    ``statement`` is "trick" or the kind of the loss, and ``what`` is the slip. ``difference`` is the smallest
    `difference` over the draws.
    """
    rows = []
    for dim in dims:
        n = 3 * dim
        rng = stream(seed, "tasks", dim)
        for _ in range(draws):
            A1, A2, X, B = normal_problem(n, dim, rng)
            # The scores then have the variance one.
            X = X / dim
            S = A1 @ X @ A2.T
            U = S.exp()
            alpha = U.sum(-1, keepdim=True)
            # These are twice the losses. The factor does not change a difference, which is relative.
            normalized = (U / alpha - B).square().sum()
            rescaled = (U - alpha * B).square().sum()
            # Each value has the wrong result and the right one. `vec(X.T)` stacks the columns of X.
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
    """Compute `icl.tensor_trick.loss` as papers print it, as a sum of regressions on the blocks A_j.

    The block A_j consists of the rows of the Kronecker product that give row j of the scores.
    """
    A = torch.kron(A1, A2)
    x = X.reshape(-1)
    # A_j has a row for each row of A2.
    m = A2.shape[0]
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
    """Compute the gradient of `kron_loss` in X by autograd, through the whole Kronecker product."""
    slope: Tensor = torch.func.grad(lambda Y: kron_loss(A1, A2, Y, B, kind))(X)
    return slope


def gradients(dims: Sequence[int], draws: int, seed: int) -> pd.DataFrame:
    """Compare two formulas for the gradient of each loss with autograd, which is `kron_gradient`.

    The "closed form" is A1' P A2, and "P transposed" is the wrong formula A1' P' A2. ``difference`` is the
    `difference` from autograd, the largest one for the closed form, and the smallest one for the wrong
    formula.
    """
    rows = []
    for dim in dims:
        n = 3 * dim
        rng = stream(seed, "tasks", dim)
        for _ in range(draws):
            A1, A2, X, B = normal_problem(n, dim, rng)
            # The scores then have the variance one.
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
    """Return the rank of the Kronecker product of random A1 and A2, both of the shape (n, dim).

    With n = dim - 1 both have too few rows for the full rank dim^2.
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
    """Return the rank of the Hessian of each loss in X, without and with a column of ones in A1 or A2.

    If A2 has a column of ones, there are directions of X that do not change the losses `INVARIANT`. The
    control says the same of A1, and is wrong. ``where`` says where the column of ones is, and ``invisible``
    whether the statement or the control says that there are such directions.
    """
    rows = []
    for dim in dims:
        for where in ("nowhere", "in A2", "in A1"):
            A1, A2, X, B = normal_problem(3 * dim, dim, stream(seed, "tasks", dim))
            # Where A1 and A2 are normal, the scores then have the variance one.
            X = X / dim
            if where == "in A1":
                A1[:, -1] = 1.0
            if where == "in A2":
                A2[:, -1] = 1.0
            # The Hessian times each unit vector is a row of the Hessian.
            directions = torch.eye(dim**2, dtype=X.dtype).reshape(dim**2, dim, dim)
            kinds = INVARIANT if where == "in A1" else KINDS
            for kind in kinds:
                hessian = vec(hvp(A1, A2, X, B, directions, kind))
                # A singular value below 1e-10 of the largest one counts as a rounding error.
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
    """Compute what `icl.tensor_trick.gradient` does, with all scores at once and without checks."""
    return A1.mT @ row_gradient(A1 @ X @ A2.mT, B, kind) @ A2


def plain_hvp(
    A1: Tensor, A2: Tensor, X: Tensor, B: Tensor, V: Tensor, kind: str = "normalized"
) -> Tensor:
    """Compute what `icl.tensor_trick.hvp` does, with all scores at once and without checks."""
    return A1.mT @ row_hvp(A1 @ X @ A2.mT, A1 @ V @ A2.mT, B, kind) @ A2


def explicit_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the gradient of the normalized loss with the whole Kronecker product as a matrix."""
    K = torch.kron(A1, A2)
    P = row_gradient((K @ X.reshape(-1, 1)).reshape(B.shape), B, "normalized")
    return (K.T @ P.reshape(-1, 1)).reshape(X.shape)


def blockwise_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the gradient of the normalized loss with one block (`kron_block`) in memory at a time."""
    x = X.reshape(-1, 1)
    total = torch.zeros_like(x)
    for j in range(len(A1)):
        block = kron_block(A1, A2, j)
        total += block.T @ row_gradient((block @ x).T, B[j : j + 1], "normalized").T
    return total.reshape(X.shape)


def autograd_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the gradient of the normalized loss by autograd, without the Kronecker product."""
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]


#: Five ways to compute the gradient of the normalized loss.
FORMS = {
    "explicit": explicit_gradient,
    "blockwise": blockwise_gradient,
    "autograd": autograd_gradient,
    "closed form": plain_gradient,
    "streaming": gradient,
}

#: The factors by which n and dim grow.
GROWING = {"n = d": (2, 2), "n, d fixed": (2, 1), "d, n fixed": (1, 2)}


def operations(forms: Sequence[str], size: int, growing: Sequence[str], seed: int) -> pd.DataFrame:
    """Count the operations of matrix products before and after n, dim or both are doubled.

    Before, n and dim are ``size``. ``exponent`` is log2 of the ratio of the count after to the count before.
    The counts are exact, so that ``error`` is the rounding error of this logarithm.
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
    # With this X all scores are so small that their exponentials are finite.
    with FlopCounterMode(display=False) as counter:
        FORMS[form](A1, A2, X / dim**1.5, B)
    return int(counter.get_total_flops())
