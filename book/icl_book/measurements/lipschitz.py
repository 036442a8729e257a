"""Lipschitz constants of softmax rows: printed, proved, built and found by search; all numbers are log10."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.tensor_trick import lipschitz as known
from icl.tensor_trick.formulas import row_gradient
from icl.tensor_trick.supremum_search import ascend, ball, search, search_loss
from icl_book.measurements.tables import grid, measured

Rng = np.random.Generator
#: The row functions as the book writes them.
TEX = {"u": "$u$", "alpha": r"$\alpha$", "1/alpha": r"$\alpha^{-1}$", "f": "$f$"}
_LN10 = math.log(10)


class Bound(Protocol):
    """A printed upper bound on the constant of a row function, and its log10."""

    function: str
    tex: str

    def log10(self, n: float, R: float) -> float: ...


def worst(
    frame: pd.DataFrame, difference: str, by: Sequence[str], end: str = "max"
) -> pd.DataFrame:
    """Return the largest (or smallest, "min") difference of two columns: columns ``by``, ``value``, ``most``.

    ``difference`` is an expression, e.g. ``"found - proved"``, which is proved to be ``most``, zero, or less.
    """
    gaps = frame.assign(value=frame.eval(difference))
    found = gaps.groupby(list(by), sort=False).value.agg(end).reset_index()
    return found.assign(most=0.0)


def printed(
    bounds: Iterable[Bound], n_values: Sequence[int], radii: Sequence[float]
) -> pd.DataFrame:
    """Return printed bounds and our constants: ``g``, ``bound`` (its name), ``n``, ``R`` and the two."""

    def one(bound: Bound, n: int, R: float) -> tuple[Any, ...]:
        return (
            TEX[bound.function],
            bound.log10(n, R),
            known.proven_constant(bound.function, n, R),
        )

    frame = measured(one, ["g", "printed", "proved"], bound=bounds, n=n_values, R=radii)
    return frame.assign(bound=frame.bound.map(name))


def name(bound: Bound) -> str:
    """Return the function and its bound, as the book prints them."""
    return f"{TEX[bound.function]}: ${bound.tex}$"


def inner_product(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return the same of the bound on <f, v>, |v| <= R^2, whose constant is R^2 times that of f."""
    frame = grid(
        g=[TEX["f"]],
        bound=[r"$\langle f,v\rangle$: $n^{1.5}e^{7R^2}$"],
        n=n_values,
        R=radii,
    )
    bound = 1.5 * np.log10(frame.n) + 7 * frame.R**2 / _LN10
    return frame.assign(printed=bound, proved=np.log10(frame.R**3 / 2))


def constants(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return what is proved and what explicit data reach: ``n``, ``g``, ``R``, ``proved``, ``built``."""

    def one(n: int, g: str, R: float) -> tuple[float, float]:
        A, x, v = known.witness(*known.worst_logits(g, n, R), R)
        built = known.log_jacobian_norm(g, A @ x, A @ v).item() / _LN10
        return known.proven_constant(g, n, R), built

    return measured(
        one, ["proved", "built"], n=n_values, g=known.FUNCTIONS, R=radii
    ).replace({"g": TEX})


def searched(
    n_values: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: Rng,
    functions: Sequence[str] = known.FUNCTIONS,
    **how: Any,
) -> pd.DataFrame:
    """Search the largest quotients: ``n``, ``g``, ``R``, ``found`` and ``proved``.

    ``how`` goes to `icl.tensor_trick.supremum_search.search`: ``reach`` and ``moving``.
    """

    def one(n: int, g: str) -> tuple[Any, ...]:
        best = search(g, n, radii, starts, steps, rng, **how).best.numpy()
        return radii, best, [known.proven_constant(g, n, R) for R in radii]

    return measured(one, ["R", "found", "proved"], n=n_values, g=functions).replace(
        {"g": TEX}
    )


def largest_size(function: str, n: int, R: float, reach: float = 1.0) -> float:
    """Compute the largest |g(s)| over |s| <= reach R^2, by closed forms with one angle to scan."""
    match function:
        case "u":
            return known.largest_exponential(n, 2 * reach * R**2) / 2
        case "alpha":
            return known.largest_exponential(n, reach * R**2)
        case "1/alpha":
            return -known.smallest_normalizer(n, R, reach)
    return 0.0  # |f| <= 1, in the limit


def sizes(
    bounds: Iterable[Bound],
    n_values: Sequence[int],
    radii: Sequence[float],
    reach: float = 1.0,
) -> pd.DataFrame:
    """Return the largest sizes beside what is printed: ``b``, ``n``, ``R``, ``g``, ``printed``, ``size``."""

    def one(b: Bound, n: int, R: float) -> tuple[Any, ...]:
        return TEX[b.function], b.log10(n, R), largest_size(b.function, n, R, reach)

    frame = measured(one, ["g", "printed", "size"], b=bounds, n=n_values, R=radii)
    return frame.assign(b=frame.b.map(name))


def searched_sizes(
    bounds: Iterable[Bound],
    lengths: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: Rng,
) -> pd.DataFrame:
    """Return the same by an ascent over the scores, from scores whose cubes are normal."""
    longest = torch.tensor(radii, dtype=torch.float64)[:, None, None] ** 2

    def one(b: Bound, n: int) -> tuple[Any, ...]:
        z = torch.from_numpy(rng.standard_normal((len(radii), starts, n)))
        best = ascend(
            lambda z: known.log_norm(b.function, ball(z, longest)), (z * z * z,), steps
        ).best
        return radii, [b.log10(n, R) for R in radii], best.numpy()

    frame = measured(one, ["R", "printed", "size"], b=bounds, n=lengths)
    return frame.assign(b=frame.b.map(name))


def hessians(
    settings: Iterable[tuple[int, float]], starts: int, steps: int, rng: Rng
) -> pd.DataFrame:
    """Return Lipschitz constants of Hessians at settings (n, R), R >= 4.

    Columns ``what``, ``n``, ``R``, ``printed``, ``ours`` (proved), ``found`` (by search; of a sum NaN), and
    the ``slack`` of the printed one.
    """
    rows = []
    for n, R in settings:
        terms, row = 2 * math.log10(n), math.log10(6 * R**7)  # n d terms, d = n
        bound = 1.5 * math.log10(n) + 30 * R**2 / _LN10
        many = max(starts // 2, 4)
        third = partial(
            search_loss,
            order=3,
            n=n,
            radius=R**2,
            starts=many,
            steps=steps // 2,
            rng=rng,
        )
        one = third(_attention(R), targets=partial(ball, radius=R**2)).best.item()
        h2o = third(_h2o).best.item()
        bound_h2o, ours = (
            2 * math.log10(n) + 40 * R**2 / _LN10,
            math.log10(5 + math.exp(R**2)),
        )
        length = 3 * math.log10(
            R
        )  # a third derivative in x is one in the scores times R^3
        rows += [
            ("one term", n, R, bound, row, one + length),
            ("sum of n d terms, n = d,", n, R, bound + terms, row + terms, math.nan),
            ("exp + sparse + reg", n, R, bound_h2o, length + ours, h2o + length),
        ]
    frame = pd.DataFrame(rows, columns=["what", "n", "R", "printed", "ours", "found"])
    return frame.assign(slack=frame.printed - frame.ours)


def _attention(R: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the first derivative of (<f, v> - e)^2 / 2 with the largest offset, e = -R."""

    def slope(s: Tensor, w: Tensor, v: Tensor) -> Tensor:
        f = torch.softmax(s, -1)
        move = f * (w - (f * w).sum(-1, keepdim=True))
        return ((f * v).sum(-1) + R) * (move * v).sum(-1)

    return slope


def _h2o(s: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return ((row_gradient(s, b, "normalized") + row_gradient(s, b, "sparse")) * w).sum(
        -1
    )


def opposite_pairs(
    bounds: Iterable[Bound], n: int, R: float, rng: Rng, draws: int = 200
) -> pd.DataFrame:
    """Return the largest quotient of pairs x, -x of length R over each bound: ``b``, ``value``, ``most``.

    ``most`` is our constant over the printed one.
    """

    def one(b: Bound) -> tuple[float, float]:
        A = torch.from_numpy(rng.standard_normal((draws, n, 2)))
        A = R * A / torch.linalg.matrix_norm(A, 2)[:, None, None]
        x = torch.from_numpy(rng.standard_normal((draws, 2)))
        s = (A @ (R * x / x.norm(dim=-1, keepdim=True))[..., None]).squeeze(-1)
        change = _change(b.function, s).max().log10().item() - math.log10(2 * R)
        ours, bound = known.proven_constant(b.function, n, R), b.log10(n, R)
        return change - bound, ours - bound

    frame = measured(one, ["value", "most"], b=bounds)
    return frame.assign(b=frame.b.map(name))


def _change(function: str, s: Tensor) -> Tensor:
    """Compute |g(s) - g(-s)|; the exponentials overflow from R = 26."""
    two = 2 * s.sinh()
    changes: dict[str, Tensor] = {
        "u": two.norm(dim=-1),
        "alpha": two.sum(-1).abs(),
        "1/alpha": (1 / s.exp().sum(-1) - 1 / (-s).exp().sum(-1)).abs(),
        "f": (s.softmax(-1) - (-s).softmax(-1)).norm(dim=-1),
    }
    return changes[function]


def beyond_the_ball(
    bounds: Iterable[Bound],
    n: int,
    R: float,
    reach: float,
    starts: int,
    steps: int,
    rng: Rng,
) -> pd.DataFrame:
    """Search the largest quotient over each printed bound, |x| <= reach R: ``g`` and ``value``."""

    def one(g: Bound) -> float:
        return search(
            g.function, n, [R], starts, steps, rng, reach=reach
        ).best.item() - g.log10(n, R)

    frame = measured(one, ["value"], g=bounds)
    return frame.assign(g=[TEX[g.function] for g in frame.g])


def conditions(
    bounds: Sequence[Bound],
    lengths: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: Rng,
) -> list[tuple[str, pd.DataFrame]]:
    """Drop the printed preconditions one at a time, the last two at the smallest n and the largest R.

    Returns:
        A title and a table each: R < 4 (``b``, ``n``, ``value``), opposite pairs, and x three times as long
        for the first bounds on u and alpha (``value`` found and ``most``, which it cannot pass). ``needed``
        says whether the bound needs the condition.
    """
    n, R = lengths[0], radii[-1]
    table = printed(bounds, lengths, [R for R in radii if R < 4]).rename(
        columns={"bound": "b"}
    )
    small = worst(table, "proved - printed", ["b", "n"]).drop(columns="most")
    pairs = opposite_pairs(bounds, n, R, rng)
    out = []
    for b in pairs.b:
        out.append(("R < 4, {b}, n = {n}", small[small.b == b].assign(needed=False)))
        rows = pairs.loc[pairs.b == b, ["value", "most"]].assign(needed=False)
        out.append((f"opposite pairs, {_literal(b)}, R = {R:g}", rows))
    first = [
        next(b for b in bounds if b.function == function) for function in ("u", "alpha")
    ]
    for g, rows in beyond_the_ball(first, n, R, 3.0, starts, steps, rng).groupby(
        "g", sort=False
    ):
        rows = rows[["value"]].assign(most=math.inf, needed=True)
        out.append((f"x three times as long, {_literal(g)}", rows))
    return out


def _literal(text: str) -> str:
    """Return a text as a template that stands for itself."""
    return text.replace("{", "{{").replace("}", "}}")
