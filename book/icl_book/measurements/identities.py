"""Both sides of the identities behind the tensor trick on random problems, and versions broken on purpose."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.streams import stream
from icl.tensor_trick import KINDS, gradient, hvp, kron_block, kronecker, loss, vec
from icl.tensor_trick.formulas import row_gradient, row_hvp
from icl_book.measurements.tables import measured

#: A batch of problems: A1 and A2 (draws, n, d), X (draws, d, d) and B (draws, n, n).
Problem = tuple[Tensor, Tensor, Tensor, Tensor]
#: What is compared, whether it is broken on purpose, both sides, and the numbers that were summed.
Row = tuple[str, bool, Tensor, Tensor, Tensor]
Identities = Mapping[str, Callable[..., Iterator[Row]]]


def normal_problem(n: int, d: int, rng: np.random.Generator, *draws: int) -> Problem:
    """Draw A1, A2 and X standard normal, rows of B softmaxes of standard normal vectors."""
    shapes = (n, d), (n, d), (d, d), (n, n)
    A1, A2, X, B = (
        torch.from_numpy(rng.standard_normal((*draws, *shape))) for shape in shapes
    )
    return A1, A2, X, B.softmax(-1)


def problem(
    n: int, d: int, draws: int, seed: int, device: torch.device | str = "cpu"
) -> Problem:
    """Draw problems as `normal_problem` does, X divided by d."""
    A1, A2, X, B = (
        t.to(device) for t in normal_problem(n, d, stream(seed, "tasks", d), draws)
    )
    return A1, A2, X / d, B


def difference(left: Tensor, right: Tensor, scale: Tensor) -> float:
    """Compute the largest difference over a batch; the unit is each problem's largest number summed."""
    gap, unit = (
        (t.flatten(1) if t.ndim > 1 else t[:, None])
        for t in ((left - right).abs(), scale)
    )
    return float((gap.amax(1) / unit.amax(1)).max())


def differences(
    identities: Identities,
    dims: Sequence[int],
    draws: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Compare both sides of every identity, e.g. of `IDENTITIES`, at n = 3 d tokens.

    Returns:
        Columns ``identity``, ``what``, ``broken`` and ``value``: over dimensions and draws the largest
        difference, and of what is broken on purpose the smallest over dimensions.
    """
    batches = [problem(3 * d, d, draws, seed, device) for d in dims]
    rows = [
        (name, what, broken, difference(*sides))
        for name, compare in identities.items()
        for batch in batches
        for what, broken, *sides in compare(*batch)
    ]
    frame = pd.DataFrame(rows, columns=["identity", "what", "broken", "value"])
    sizes = frame.groupby(["identity", "what", "broken"], sort=False).value
    return (
        sizes.agg(["max", "min"])
        .reset_index()
        .assign(value=lambda t: t["max"].where(~t.broken, t["min"]))
    )


def evidence(frame: pd.DataFrame, identity: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ``what`` and ``value`` of an identity, and of what is broken on purpose: its control."""
    mine = frame[frame.identity == identity]
    holds, control = (
        mine.loc[mine.broken == broken, ["what", "value"]] for broken in (False, True)
    )
    return holds, control


def ranks(
    dims: Sequence[int], seed: int, device: torch.device | str = "cpu"
) -> pd.DataFrame:
    """Return the rank of a Kronecker product: ``n`` (3 d, and d - 1, which is too few), ``d``, ``value``."""

    def rank(n: int, d: int) -> int:
        A1, A2, *_ = problem(n, d, 1, seed, device)
        return int(torch.linalg.matrix_rank(torch.kron(A1[0], A2[0])))

    sizes = [{"n": 3 * d, "d": d} for d in dims] + [{"n": d - 1, "d": d} for d in dims]
    return measured(rank, ["value"], size=sizes)


#: Losses that a number added to a whole row of scores does not change.
INVARIANT = ("normalized", "cross-entropy", "entropy")


def hessian_ranks(
    dims: Sequence[int], draws: int, seed: int, device: torch.device | str = "cpu"
) -> pd.DataFrame:
    """Return ranks of Hessians: as drawn or with a constant column in A2; and, as a control, in A1.

    Columns ``kind``, ``d``, ``where`` (the constant column), ``value`` and ``invisible``, whether the loss
    cannot see it; in A1 the losses that see it are left out.
    """

    def rank(kind: str, d: int, where: str) -> int:
        A1, A2, X, B = (t[0] for t in problem(3 * d, d, draws, seed, device))
        constant = {"in A1": A1, "in A2": A2}.get(where)
        if constant is not None:
            constant[:, -1] = 1.0
        H = vec(hvp(A1, A2, X, B, _directions(X), kind.replace("-", "_")))
        return int(torch.linalg.matrix_rank(H, rtol=1e-10))

    every, columns = [_words(kind) for kind in KINDS], ["value"]
    ours = measured(rank, columns, kind=every, d=dims, where=["nowhere", "in A2"])
    frame = pd.concat(
        [ours, measured(rank, columns, kind=INVARIANT, d=dims, where=["in A1"])]
    )
    return frame.assign(
        invisible=frame.kind.isin(INVARIANT) & (frame["where"] != "nowhere")
    )


def _words(kind: str) -> str:
    return kind.replace("_", "-")


def _directions(X: Tensor) -> Tensor:
    """Return all d^2 unit directions of X, (d^2, d, d)."""
    d = X.shape[-1]
    return torch.eye(d * d, dtype=X.dtype, device=X.device).reshape(d * d, d, d)


def apply(K: Tensor, x: Tensor) -> Tensor:
    """Multiply a batch of matrices with a batch of vectors."""
    return (K @ x.unsqueeze(-1)).squeeze(-1)


def of_each(function: Callable[..., Tensor], *batch: Tensor) -> Tensor:
    """Apply a function of single problems to a batch."""
    return torch.stack([function(*one) for one in zip(*batch, strict=True)])


def _trick(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    n, d = A1.shape[-2:]
    S, K, scale = (
        A1 @ X @ A2.mT,
        of_each(torch.kron, A1, A2),
        A1.abs() @ X.abs() @ A2.abs().mT,
    )
    yield f"n = {n}, d = {d}", False, apply(K, vec(X)), vec(S), scale
    yield f"by columns, n = {n}, d = {d}", True, apply(K, vec(X.mT)), vec(S.mT), scale


def _blocks(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    n, x, S, K = A1.shape[-2], vec(X), A1 @ X @ A2.mT, of_each(torch.kron, A1, A2)
    scale = A1.abs() @ X.abs() @ A2.abs().mT
    alone = torch.stack([apply(kron_block(A1, A2, j), x) for j in range(n)], 1)
    cut = torch.stack([apply(K[:, j * n : (j + 1) * n], x) for j in range(n)], 1)
    strided = torch.stack([apply(K[:, j::n], x) for j in range(n)], 1)
    yield "block built alone", False, alone, S, scale
    yield "block cut out", False, cut, S, scale
    yield "every n-th row", True, strided, S, scale


def _single_regressions(problem: Problem, kind: str, shared: bool = False) -> Tensor:
    """Sum the printed single regressions; ``shared`` wrongly normalizes all rows by one number."""
    A1, A2, X, B = problem
    u = torch.stack(
        [apply(kron_block(A1, A2, j), vec(X)).exp() for j in range(A1.shape[-2])], 1
    )
    alpha = u.sum(-1, keepdim=True)
    if shared:
        alpha = alpha.sum(1, keepdim=True)
    residual = u / alpha - B if kind == "normalized" else u - alpha * B
    return residual.square().sum((-2, -1))


def _loss(kind: str) -> Callable[..., Iterator[Row]]:
    def both_ways(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
        E = (A1 @ X @ A2.mT).exp()
        D = torch.diag_embed(E.sum(-1))
        fit, wanted = (
            (torch.linalg.inv(D) @ E, B) if kind == "normalized" else (E, D @ B)
        )
        printed = torch.linalg.matrix_norm(fit - wanted).square()
        scale = fit.square().sum((-2, -1)) + wanted.square().sum((-2, -1))
        one, turned = (A1, A2, X, B), (A1, A2, X, B.mT)
        yield (
            "single regressions",
            False,
            printed,
            _single_regressions(one, kind),
            scale,
        )
        yield "twice our loss", False, printed, 2 * loss(*one, kind), scale
        yield "columns of B", True, printed, _single_regressions(turned, kind), scale
        yield (
            "one normalization",
            True,
            printed,
            _single_regressions(one, kind, shared=True),
            scale,
        )

    return both_ways


def _gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    for kind in KINDS:
        P = row_gradient(A1 @ X @ A2.mT, B, kind)
        wanted = of_each(partial(kronecker.kron_gradient, kind=kind), A1, A2, X, B)
        scale = A1.abs().mT @ P.abs() @ A2.abs()
        yield _words(kind), False, gradient(A1, A2, X, B, kind), wanted, scale
        yield f"P transposed, {_words(kind)}", True, A1.mT @ P.mT @ A2, wanted, scale


def _other_losses(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    for kind in ("sparse", "cross_entropy", "entropy"):
        blocks = of_each(partial(kronecker.kron_loss, kind=kind), A1, A2, X, B)
        scale, name = blocks.abs() + 1, _words(kind)
        yield name, False, loss(A1, A2, X, B, kind), blocks, scale
        if kind == "cross_entropy":
            yield (
                f"columns of B, {name}",
                True,
                loss(A1, A2, X, B.mT, kind),
                blocks,
                scale,
            )
        if kind == "entropy":
            F = (A1 @ X @ A2.mT).flatten(-2).softmax(-1)
            yield (
                f"one normalization, {name}",
                True,
                -(F * F.log()).sum(-1),
                blocks,
                scale,
            )


def _hvp(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    V = X.roll(1, 0)  # any direction will do
    S, T = A1 @ X @ A2.mT, A1 @ V @ A2.mT
    for kind in KINDS:
        wanted = of_each(partial(kronecker.kron_hvp, kind=kind), A1, A2, X, B, V)
        scale = A1.abs().mT @ row_hvp(S, T, B, kind).abs() @ A2.abs() + wanted.abs()
        yield _words(kind), False, hvp(A1, A2, X, B, V, kind), wanted, scale
        turned = hvp(A1, A2, X, B, V.mT, kind)
        yield f"direction transposed, {_words(kind)}", True, turned, wanted, scale


def _hessian(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Iterator[Row]:
    S, eye = A1 @ X @ A2.mT, torch.eye(A1.shape[-2], dtype=X.dtype, device=X.device)

    def assembled(H: Tensor) -> Tensor:
        inner = A2.mT[:, None] @ H @ A2[:, None]
        whole = torch.einsum("bja,bjc,bjef->baecf", A1, A1, inner)
        return whole.flatten(-2).flatten(1, 2)

    for kind in KINDS:
        by_products = vec(
            hvp(A1[:, None], A2[:, None], X[:, None], B[:, None], _directions(X), kind)
        )
        # of every row: the derivative of the row gradient along every unit vector
        H = row_hvp(S[..., None, :], eye, B[..., None, :], kind)
        scale = by_products.abs()
        yield _words(kind), False, assembled(H), by_products, scale
        if kind != "sparse":  # whose row Hessians are diagonal
            yield (
                f"diagonals only, {_words(kind)}",
                True,
                assembled(H * eye),
                by_products,
                scale,
            )


IDENTITIES: Identities = {
    "trick": _trick,
    "blocks": _blocks,
    "normalized": _loss("normalized"),
    "rescaled": _loss("rescaled"),
    "gradient": _gradient,
    "five": _other_losses,
    "hvp": _hvp,
    "hessian": _hessian,
}
