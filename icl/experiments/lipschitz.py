"""Lipschitz constants of softmax rows: printed, proved, built and found by search; all numbers are log10.

A printed bound is any object with ``function``, ``tex`` and ``log10(n, R)`` (`Bound`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from icl.experiments.tables import measured
from icl.tensor_trick import lipschitz as known
from icl.tensor_trick.formulas import row_gradient, row_hvp
from icl.tensor_trick.supremum_search import ascend, ball, search, search_loss

Array = NDArray[np.float64]
#: The row functions as the book writes them.
TEX = {"u": "$u$", "alpha": r"$\alpha$", "1/alpha": r"$\alpha^{-1}$", "f": "$f$"}
_LN10 = math.log(10)


class Bound(Protocol):
    """A printed upper bound."""

    function: str
    tex: str

    def log10(self, n: float, R: float) -> float:
        """Compute log10 of the bound."""
        ...


def name(bound: Bound) -> str:
    """Return the function and its bound, as the book prints them."""
    return f"{TEX[bound.function]}: ${bound.tex}$"


def built(function: str, n: int, R: float) -> float:
    """Measure the quotient at explicit data A, x and v."""
    A, x, v = known.witness(*known.worst_logits(function, n, R), R)
    return known.log_jacobian_norm(function, A @ x, A @ v).item() / _LN10


def constants(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return what is proved and what is built: ``n``, ``g``, ``R``, ``proved``, ``built``."""

    def one(n: int, function: str, R: float) -> tuple[Any, ...]:
        return TEX[function], known.proven_constant(function, n, R), built(function, n, R)

    frame = measured(one, ["g", "proved", "built"], n=n_values, function=known.FUNCTIONS, R=radii)
    return frame.drop(columns="function")


def searched(
    n_values: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: np.random.Generator,
    functions: Sequence[str] = known.FUNCTIONS,
    **how: Any,
) -> pd.DataFrame:
    """Search the largest quotients: ``n``, ``g``, ``R``, ``found`` and ``proved``.

    ``how`` goes to `icl.tensor_trick.supremum_search.search`: ``reach`` and ``moving``.
    """

    def one(n: int, function: str) -> tuple[Any, ...]:
        proved = np.array([known.proven_constant(function, n, R) for R in radii])
        best = search(function, n, radii, starts, steps, rng, **how).best.numpy()
        return np.full(len(radii), TEX[function], dtype=object), np.array(radii), best, proved

    frame = measured(one, ["g", "R", "found", "proved"], n=n_values, function=functions)
    return frame.drop(columns="function")


def worst(frame: pd.DataFrame, difference: str, end: str = "max") -> pd.DataFrame:
    """Return the largest (or smallest) difference of two columns over R: ``n``, ``g``, ``value``, ``bound``.

    ``difference`` is an expression, e.g. ``"found - proved"``. What is proved to be at most zero is bounded
    by zero, or by the value where rounding puts it above.
    """
    gaps = frame.assign(value=frame.eval(difference))
    found = gaps.groupby(["n", "g"], sort=False).value.agg(end).reset_index()
    return found.assign(bound=found.value.clip(lower=0))


def printed_radii(radii: Iterable[float]) -> list[float]:
    """Return the R for which the bounds are printed, at least 4; the last one if there is none."""
    radii = list(radii)
    return [R for R in radii if R >= 4] or radii[-1:]


def slacks(bounds: Iterable[Bound], n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return the least slack of each printed bound over its R: ``bound``, ``n``, ``value``."""
    rows = []
    for b in bounds:
        for n in n_values:
            over = (b.log10(n, R) - known.proven_constant(b.function, n, R) for R in printed_radii(radii))
            rows.append((name(b), n, min(over)))
    return pd.DataFrame(rows, columns=["bound", "n", "value"])


def inner_product_slacks(n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return that of the printed bound on <f, v>, |v| <= R^2, whose constant is R^2 times that of f."""

    def one(n: int) -> float:
        return min(
            1.5 * math.log10(n) + 7 * R**2 / _LN10 - math.log10(R**3 / 2) for R in printed_radii(radii)
        )

    bound = r"$\langle f,v\rangle$: $n^{1.5}e^{7R^2}$"
    return measured(lambda bound, n: one(n), ["value"], bound=[bound], n=n_values)


# ---------------------------------------------------------------- sizes


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


def size_excesses(
    bounds: Iterable[Bound], n_values: Sequence[int], radii: Sequence[float], reach: float = 1.0
) -> pd.DataFrame:
    """Return the largest size over its printed bound, largest over R >= 4: ``b``, ``n``, ``value``."""
    rows = []
    for b in bounds:
        for n in n_values:
            over = (largest_size(b.function, n, R, reach) - b.log10(n, R) for R in printed_radii(radii))
            rows.append((name(b), n, max(over)))
    return pd.DataFrame(rows, columns=["b", "n", "value"])


def searched_sizes(
    bounds: Iterable[Bound],
    n_values: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the same by an ascent over the scores, from scores whose cubes are normal."""
    longest = torch.tensor(radii, dtype=torch.float64)[:, None, None] ** 2
    rows = []
    for b in bounds:
        for n in n_values:
            z = torch.from_numpy(rng.standard_normal((len(radii), starts, n)))
            largest = partial(_size, b.function, longest)
            best = dict(zip(radii, ascend(largest, (z * z * z,), steps).best.tolist(), strict=True))
            rows.append((name(b), n, max(best[R] - b.log10(n, R) for R in printed_radii(radii))))
    return pd.DataFrame(rows, columns=["b", "n", "value"])


def _size(function: str, longest: Tensor, z: Tensor) -> Tensor:
    return known.log_norm(function, ball(z, longest))


def normalizer_excesses(n_values: Sequence[int], radii: Sequence[float], reach: float = 1.0) -> pd.DataFrame:
    """Return the smallest alpha over the printed bound e^(-R^2), smallest over R: ``n``, ``value``."""

    def one(n: int) -> float:
        return min(R**2 / _LN10 + known.smallest_normalizer(n, R, reach) for R in radii)

    return measured(one, ["value"], n=n_values)


# ---------------------------------------------------------------- Hessians


def hessians(
    n_values: Sequence[int], radii: Sequence[float], starts: int, steps: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return Lipschitz constants of Hessians at two settings (n, R), R >= 4.

    Columns ``what``, ``n``, ``R``, ``printed``, ``ours`` (proved), ``found`` (by search; of a sum NaN).
    """
    valid = printed_radii(radii)
    settings = {(n_values[0], valid[-1]): None, (n_values[min(1, len(n_values) - 1)], valid[0]): None}
    rows = []
    for n, R in settings:
        terms, row = 2 * math.log10(n), math.log10(6 * R**7)  # n d terms, d = n
        bound = 1.5 * math.log10(n) + 30 * R**2 / _LN10
        third = partial(_third, n=n, R=R, starts=max(starts // 2, 4), steps=steps // 2, rng=rng)
        one = third(_attention(R), targets=lambda t, R=R: ball(t, R**2))
        h2o = 2 * math.log10(n) + 40 * R**2 / _LN10, 3 * math.log10(R) + math.log10(5 + math.exp(R**2))
        rows += [("one term", n, R, bound, row, one)]
        rows += [("sum of n d terms, n = d,", n, R, bound + terms, row + terms, math.nan)]
        rows += [("exp + sparse + reg", n, R, *h2o, third(_h2o))]
    frame = pd.DataFrame(rows, columns=["what", "n", "R", "printed", "ours", "found"])
    order = frame.what.map({what: i for i, what in enumerate(frame.what.unique())})
    return frame.assign(slack=frame.printed - frame.ours).iloc[order.argsort(kind="stable")]


def _third(second: Callable[..., Tensor], *, n: int, R: float, **how: Any) -> float:
    """Search the largest third derivative in x, from the second one along the scores."""
    return search_loss(second, 2, n, R**2, **how).best.item() + 3 * math.log10(R)


def _attention(R: float) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the second derivative of (<f, v> - e)^2 / 2 with the largest offset, e = -R."""

    def second(s: Tensor, w: Tensor, v: Tensor) -> Tensor:
        f = torch.softmax(s, -1)
        away = w - (f * w).sum(-1, keepdim=True)
        once = f * away
        twice = once * away - f * (once * w).sum(-1, keepdim=True)
        offset = (f * v).sum(-1) + R
        return (once * v).sum(-1) ** 2 + offset * (twice * v).sum(-1)

    return second


def _curvature(kind: str, s: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (row_hvp(s, w, b, kind) * w).sum(-1)


def _slope(kind: str, s: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (row_gradient(s, b, kind) * w).sum(-1)


def _h2o(s: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return _curvature("normalized", s, w, b) + _curvature("sparse", s, w, b)


def loss_derivatives(n: int, R: float, starts: int, steps: int, rng: np.random.Generator) -> pd.DataFrame:
    """Search the largest derivatives of row losses in the scores: ``loss``, ``first`` to ``third`` order.

    Those of the sparse and the rescaled loss grow with R and are log10.
    """

    def one(loss: str) -> tuple[float, ...]:
        kind, grows = loss.replace(" ", "_"), loss in ("sparse", "rescaled")
        given = [(partial(_slope, kind), 1), (partial(_curvature, kind), 1), (partial(_curvature, kind), 2)]
        longest = R**2 if grows else 36.0
        found = [search_loss(*g, n, longest, starts, steps, rng).best.item() for g in given]
        return tuple(found if grows else (10**x for x in found))

    names = ["normalized", "cross entropy", "entropy", "sparse", "rescaled"]
    return measured(one, ["first", "second", "third"], loss=names)


# ---------------------------------------------------------------- conditions dropped


def small_radii(bounds: Iterable[Bound], n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Return our constant over each printed bound, largest over R < 4: ``b``, ``n``, ``value``."""
    small = [R for R in radii if R < 4]
    rows = [
        (name(b), n, max(known.proven_constant(b.function, n, R) - b.log10(n, R) for R in small))
        for b in bounds
        for n in n_values
        if small
    ]
    return pd.DataFrame(rows, columns=["b", "n", "value"])


def opposite_pairs(
    bounds: Iterable[Bound], n: int, R: float, rng: np.random.Generator, draws: int = 200
) -> pd.DataFrame:
    """Return the largest quotient of pairs x, -x of length R over each bound: ``b``, ``value``, ``bound``.

    ``bound`` is our constant over the printed one.
    """
    rows = []
    for b in bounds:
        A = torch.from_numpy(rng.standard_normal((draws, n, 2)))
        A = R * A / torch.linalg.matrix_norm(A, 2)[:, None, None]
        x = torch.from_numpy(rng.standard_normal((draws, 2)))
        s = (A @ (R * x / x.norm(dim=-1, keepdim=True))[..., None]).squeeze(-1)
        change = _log_change(b.function, s).max().item() - math.log(2 * R)
        ours = known.proven_constant(b.function, n, R)
        rows.append((name(b), change / _LN10 - b.log10(n, R), ours - b.log10(n, R)))
    return pd.DataFrame(rows, columns=["b", "value", "bound"])


def _log_change(function: str, s: Tensor) -> Tensor:
    """Compute the natural logarithm of |g(s) - g(-s)|, without overflow."""
    both = torch.stack([s, -s])
    if function == "f":
        ends, scale = torch.softmax(both, -1), s.new_zeros(())
    elif function == "1/alpha":
        ends, scale = (-both.logsumexp(-1, keepdim=True)).exp(), s.new_zeros(())
    else:
        scale = s.abs().amax(-1)
        ends = (both - scale[:, None]).exp()
        ends = ends if function == "u" else ends.sum(-1, keepdim=True)
    change: Tensor = (ends[0] - ends[1]).norm(dim=-1).log() + scale
    return change


def beyond_the_ball(
    bounds: Iterable[Bound],
    n: int,
    R: float,
    reaches: Sequence[float],
    starts: int,
    steps: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Search the largest quotient over each printed bound, |x| <= reach R: ``g``, ``reach``, ``value``."""
    rows = []
    for b in bounds:
        for reach in reaches:
            best = search(b.function, n, [R], starts, steps, rng, reach=reach).best.item()
            rows.append((TEX[b.function], reach, best - b.log10(n, R)))
    return pd.DataFrame(rows, columns=["g", "reach", "value"])


def conditions(
    bounds: Sequence[Bound],
    n_values: Sequence[int],
    radii: Sequence[float],
    starts: int,
    steps: int,
    rng: np.random.Generator,
) -> list[tuple[str, pd.DataFrame]]:
    """Drop the printed preconditions one at a time.

    Returns:
        A title and a table each: R < 4 (``b``, ``n``, ``value``), opposite pairs, and x three times as long
        for the first bounds on u and alpha (``value`` found and ``bound``, which it cannot pass). ``needed``
        says whether the bound needs the condition.
    """
    n, R = n_values[0], radii[-1]
    small, pairs = small_radii(bounds, n_values, radii), opposite_pairs(bounds, n, R, rng)
    out = []
    for b, pair in pairs.groupby("b", sort=False):
        out += [("R < 4, {b}, n = {n}", small[small.b == b].assign(needed=False))]
        out += [(f"opposite pairs, {_literal(b)}, R = {R:g}", pair[["value", "bound"]].assign(needed=False))]
    long = beyond_the_ball(_first(bounds, "u", "alpha"), n, R, [3.0], starts, steps, rng)
    for g, found in long.groupby("g", sort=False):
        rows = found[["value"]].assign(bound=math.inf, needed=True)
        out.append((f"x three times as long, {_literal(g)}", rows))
    return [(title, table) for title, table in out if len(table)]


def _literal(text: str) -> str:
    """Return a text as a template that stands for itself."""
    return text.replace("{", "{{").replace("}", "}}")


def _first(bounds: Iterable[Bound], *functions: str) -> list[Bound]:
    return [next(b for b in bounds if b.function == function) for function in functions]


# ---------------------------------------------------------------- figures


def printed_and_ours(bounds: Sequence[Bound], n_values: Sequence[int], radii: Array) -> pd.DataFrame:
    """Return printed bounds and our constants: ``g``, ``function``, ``n``, ``R``, ``curve``, ``value``.

    ``curve`` is "ours", "printed" (the first bound on the function), or "other" (the second).
    """
    rows = []
    for function in known.FUNCTIONS:
        mine = [b for b in bounds if b.function == function][:2]
        for n in n_values:
            curves: dict[str, Callable[..., float]] = {"ours": partial(known.proven_constant, function)}
            curves |= dict(zip(("printed", "other"), (b.log10 for b in mine), strict=False))
            rows += [
                (TEX[function], function, n, R, curve, value(n, R))
                for curve, value in curves.items()
                for R in radii
            ]
    return pd.DataFrame(rows, columns=["g", "function", "n", "R", "curve", "value"])
