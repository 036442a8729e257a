"""Printed Lipschitz bounds beside what is proved, the curvature of a row, and passes to a solution.

One row of the matrix problem is a single regression, with

- A, a data matrix of n tokens (n x p), and x, the unknown weights;
- ``s = A x``, the logits or scores;
- ``u = exp(s)``, ``alpha`` the sum of u, and ``f = u / alpha``; v is a fixed vector with ``|v| <= R^2``;
- R, the bound of the papers on norms: ``|A| <= R`` (spectral norm) and ``|x| <= R``, or, with a ``reach``,
  ``|x| <= reach R``.

Passes are about the whole problem: the normalized loss ``|F - B|^2 / 2``, F the softmax of the rows of
``A1 X A2'``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from torch import Tensor

from icl.checks import choice
from icl.streams import stream
from icl.tensor_trick import gradient, hvp, loss, unvec, vec
from icl.tensor_trick.formulas import row_gradient, row_hvp

#: Row functions whose Lipschitz constants are printed.
FUNCTIONS = ("u", "alpha", "1/alpha", "f")

#: The row functions as the book writes them.
TEX = {
    "u": "$u$",
    "alpha": r"$\alpha$",
    "1/alpha": r"$\alpha^{-1}$",
    "f": "$f$",
    "<f, v>": r"$\langle f,v\rangle$",
}


@dataclass(frozen=True)
class Bound:
    """A printed upper bound, factor * n^n_power * R^R_power * e^(exponent R^2)."""

    #: The function that is bounded, a key of `TEX`.
    function: str
    #: The bound as printed, mathematics without dollars.
    tex: str
    factor: float
    n_power: float
    R_power: float
    exponent: float

    @property
    def name(self) -> str:
        """Return the function and its bound, as the book prints them."""
        return f"{TEX[self.function]}: ${self.tex}$"

    def log10(self, n: float, R: float) -> float:
        """Compute log10 of the bound, which itself overflows float64 for large R."""
        return (
            math.log10(self.factor)
            + self.n_power * math.log10(n)
            + self.R_power * math.log10(R)
            + self.exponent * R**2 / math.log(10)
        )


#: Printed bounds on Lipschitz constants. Those of u, and of alpha by the square root of n, are in
#: arXiv 2306.14048, App. D.48, which restates Lemma 7.2 of arXiv 2304.10411. The others are in
#: arXiv 2309.07418, Lemma E.5, parts 1 to 5 and their proofs, with |v| at most R^2.
LIPSCHITZ = (
    Bound("u", r"2\sqrt{n}\,R\,e^{R^2}", 2, 0.5, 1, 1),
    Bound("u", r"\sqrt{n}\,e^{2R^2}", 1, 0.5, 0, 2),
    Bound("u", r"\sqrt{n}\,R\,e^{R^2}", 1, 0.5, 1, 1),
    Bound("alpha", r"2n\,R\,e^{R^2}", 2, 1, 1, 1),
    Bound("1/alpha", r"n\,e^{4R^2}", 1, 1, 0, 4),
    Bound("f", r"n^{1.5}R\,e^{6R^2}", 1, 1.5, 1, 6),
    Bound("f", r"n^{1.5}e^{6R^2}", 1, 1.5, 0, 6),
    Bound("<f, v>", r"n^{1.5}e^{7R^2}", 1, 1.5, 0, 7),
)
#: Printed bounds on the norm of a vector or the value of a number, in Lemma E.4 of the same paper.
SIZES = (
    Bound("u", r"\sqrt{n}\,e^{R^2}", 1, 0.5, 0, 1),
    Bound("alpha", r"n\,e^{R^2}", 1, 1, 0, 1),
    Bound("1/alpha", r"e^{R^2}", 1, 0, 0, 1),
    Bound("f", "1", 1, 0, 0, 0),
)


def proven_constant(function: str, n: int, R: float) -> float:
    r"""Compute log10 of our upper bound on the Lipschitz constant of u, alpha, 1/alpha or f, for every R > 0.

    The papers of this line bound ``|g(x) - g(y)| / |x - y|`` for each of these functions g, all A and all
    pairs x, y. The domain is convex, so the best constant is the largest norm of the derivative J_g(s) A of
    g in x, with J_g that in s, and ::

        sup over A, x of |J_g(A x) A|  =  R * sup over |s| <= R^2 of |J_g(s)|.

    The left side is at most the right one because norms are submultiplicative, and an A with two columns
    attains it. As a function of A with x fixed the constant is the same number. Our bounds on it are ::

        u: R e^{R^2}, attained.   alpha: R max |u|, attained, from `largest_exponential`.
        1/alpha: R e^{R^2 / sqrt(n)} / n.   f: R / 2, approached as R grows.

    Raises:
        ValueError: If the function is not one of `FUNCTIONS`.
    """
    choice(function, "function", FUNCTIONS)
    longest = R**2
    if function == "u":
        return math.log10(R) + longest / math.log(10)
    if function == "alpha":
        # |u| is the square root of the sum of exponentials of twice the logits.
        return math.log10(R) + largest_exponential(n, 2 * longest) / 2
    if function == "1/alpha":
        return math.log10(R / n) + longest / math.sqrt(n) / math.log(10)
    return math.log10(R / 2)


def largest_exponential(n: int, radius: float) -> float:
    """Compute log10 of the largest sum of exp(s_i) over ``|s| <= radius``, s in R^n, n >= 2.

    At a stationary point ``e^{s_i}`` is a multiple of s_i, so there are at most two different entries; at
    a maximum at most one lies on the convex side (s_i > 1). Hence the maximizer is (a, b, ..., b), and
    one angle is left to scan, that of the vector ``(a, sqrt(n - 1) b)`` of length ``radius``.
    """
    low = 0.0
    high = np.pi / 2
    # Each round refines the grid of angles around the best one.
    for _ in range(6):
        angle = np.linspace(low, high, 401)
        a = radius * np.cos(angle)
        b = radius * np.sin(angle) / math.sqrt(n - 1)
        log_sum = np.logaddexp(a, b + math.log(n - 1))
        best = int(log_sum.argmax())
        step = angle[1] - angle[0]
        low = angle[best] - step
        high = angle[best] + step
    return float(log_sum[best]) / math.log(10)


def smallest_normalizer(n: int, R: float, reach: float = 1.0) -> float:
    r"""Compute log10 of the smallest alpha over ``|A| <= R`` and ``|x| <= reach R``.

    It is ``n e^{-reach R^2/sqrt(n)}``.

    By the inequality of the means ``alpha >= n e^{mean of s}``, and by Cauchy-Schwarz the mean is at least
    ``-|s| / sqrt(n)``, where ``|s| <= reach R^2``. Both are equalities if all rows of A are equal, and
    opposite to x.
    """
    return math.log10(n) - reach * R**2 / math.sqrt(n) / math.log(10)


def printed_constants(*, n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Compare the printed Lipschitz constants with those that we prove, all as log10.

    Returns:
        Columns ``function``, ``bound`` (its name), ``n``, ``R``; ``printed`` and ``proved``, log10 of the two
        constants; and ``slack``, the printed minus the proved one.
    """
    table = settings(LIPSCHITZ, n_values, radii)
    table["proved"] = [
        # <f, v> moves at most |v| times as fast as f, and |v| is at most R^2.
        proven_constant("f", n, R) + math.log10(R**2)
        if function == "<f, v>"
        else proven_constant(function, n, R)
        for function, n, R in zip(table.function, table.n, table.R, strict=True)
    ]
    return table.assign(slack=table.printed - table.proved)


def printed_sizes(
    *, n_values: Sequence[int], radii: Sequence[float], reach: float = 1.0
) -> pd.DataFrame:
    """Compare the printed sizes with the largest ones for |x| <= reach R, all as log10.

    Returns:
        Columns ``function``, ``bound`` (its name), ``n``, ``R``; ``printed`` and ``largest``, log10 of the
        two sizes; and ``excess``, the largest minus the printed one.
    """
    table = settings(SIZES, n_values, radii)
    table["largest"] = [
        largest_size(function, n, R, reach)
        for function, n, R in zip(table.function, table.n, table.R, strict=True)
    ]
    return table.assign(excess=table.largest - table.printed)


def settings(
    bounds: Sequence[Bound], n_values: Sequence[int], radii: Sequence[float]
) -> pd.DataFrame:
    """Return each bound at each setting: ``function, bound, n, R``, and ``printed``, its log10."""
    rows = []
    for bound, n, R in product(bounds, n_values, radii):
        row = {"function": bound.function, "bound": bound.name, "n": n, "R": R}
        rows.append(row | {"printed": bound.log10(n, R)})
    return pd.DataFrame(rows)


def largest_size(function: str, n: int, R: float, reach: float = 1.0) -> float:
    """Compute log10 of the largest size of a function, of `FUNCTIONS`, over |s| <= reach R^2."""
    if function == "u":
        # |u|^2 is the sum of the exponentials of twice the scores.
        return largest_exponential(n, 2 * reach * R**2) / 2
    if function == "alpha":
        return largest_exponential(n, reach * R**2)
    if function == "1/alpha":
        return -smallest_normalizer(n, R, reach)
    # |f| is at most 1, and comes near it.
    return 0.0


def two_tokens(p: ArrayLike) -> NDArray[np.float64]:
    """Compute the second derivative of p^2 along the unit direction that separates two tokens.

    p is the weight of one of the two, and p^2 the loss with all of the target at the other.
    """
    p = np.asarray(p, dtype=float)
    return np.asarray(4 * p**2 * (1 - p) * (2 - 3 * p))


#: Places of the largest and of the most negative value of `two_tokens`, and the two values.
P_LOW = (15 - math.sqrt(33)) / 24
P_HIGH = (15 + math.sqrt(33)) / 24
SMOOTH = float(two_tokens(P_LOW))
CONCAVE = float(two_tokens(P_HIGH))


def extreme_curvature(
    *, n_values: Sequence[int], starts: int, steps: int, seed: int, kind: str = "normalized"
) -> pd.DataFrame:
    """Search the extreme second derivatives of a row's loss in its scores, over scores and unit directions.

    The target is e_1. Adam starts from random scores and directions, and from those that are extreme for two
    tokens and the normalized loss, with all other scores very low.

    Args:
        n_values: Numbers of tokens.
        starts: Starts of the search, all but one of them random.
        steps: Steps of Adam.
        seed: Root of the random streams.
        kind: The loss, a ``kind`` of `icl.tensor_trick.formulas.row_hvp`: "normalized" or "cross_entropy".

    Returns:
        Columns ``n``; ``which``, "largest" or "most negative"; ``value``, the second derivative found, in
        units of `SMOOTH` or `CONCAVE`, the extreme ones of the normalized loss of two tokens, whatever the
        ``kind`` is; and ``most``, which the value is proved not to exceed: one, up to rounding. The
        cross-entropy is convex, so that ``most`` is zero, up to rounding, for "most negative"; for "largest"
        it is then infinite.
    """
    rng = stream(seed, "monte carlo")
    rows = []
    for n in n_values:
        target = torch.zeros(n, dtype=torch.float64)
        target[0] = 1.0
        for which, sign, p, of_two_tokens in (
            ("largest", 1.0, P_LOW, SMOOTH),
            ("most negative", -1.0, P_HIGH, -CONCAVE),
        ):
            scores = torch.from_numpy(3 * rng.standard_normal((starts, n)))
            direction = torch.from_numpy(rng.standard_normal((starts, n)))
            # With this difference of scores the second token weighs p, and the others weigh nothing.
            scores[0] = -40.0
            scores[0, :2] = torch.tensor([math.log((1 - p) / p), 0.0])
            direction[0] = 0.0
            direction[0, :2] = torch.tensor([1.0, -1.0])
            scores.requires_grad_()
            direction.requires_grad_()
            adam = torch.optim.Adam([scores, direction], lr=0.1)
            best = -math.inf
            for _ in range(steps):
                unit = direction / direction.norm(dim=-1, keepdim=True)
                bend = sign * (row_hvp(scores, unit, target, kind) * unit).sum(-1)
                best = max(best, bend.max().item())
                adam.zero_grad()
                (-bend.sum()).backward()
                adam.step()
            most = 1 + 1e-12
            if kind == "cross_entropy":
                most = math.inf if which == "largest" else 1e-12
            rows.append({"n": n, "which": which, "value": best / of_two_tokens, "most": most})
    return pd.DataFrame(rows)


#: A problem counts as solved at this loss over the first one.
GOAL = 1e-6
#: The search for it stops after this many steps.
MAX_STEPS = 1_000_000


def passes(
    *, context_length: int, dim: int, conditions: Sequence[float], seed: int
) -> pd.DataFrame:
    """Count passes over the data to a millionth of the first loss, on a target that can be fitted.

    All searches start at X = 0.

    The data matrices are stretched, both alike, to each of the condition numbers. The target, and so the
    scores that fit it, stay the same.

    Returns:
        Columns ``condition`` (number of both matrices); ``descent``, the steps of gradient descent with the
        safe size, one over our bound on the curvature, and ``preconditioned``, those of the preconditioned
        descent, both counted by `steps_needed`; and ``newton``, from `newton_passes`.
    """
    rng = stream(seed, "monte carlo")
    # This X fits B with matrices of condition one.
    X_true = torch.from_numpy(rng.standard_normal((dim, dim))) / 4
    Q1 = torch.linalg.qr(torch.from_numpy(rng.standard_normal((context_length, dim)))).Q
    Q2 = torch.linalg.qr(torch.from_numpy(rng.standard_normal((context_length, dim)))).Q
    B = (context_length * Q1 @ X_true @ Q2.T).softmax(-1)
    powers = torch.linspace(0, 1, dim, dtype=torch.float64)
    rows = []
    for condition in conditions:
        stretch = torch.diag(condition**-powers)
        A1 = math.sqrt(context_length) * Q1 @ stretch
        A2 = math.sqrt(context_length) * Q2 @ stretch
        # No second derivative of the loss exceeds SMOOTH times the square of this.
        norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
        identity = torch.eye(dim, dtype=torch.float64)
        rows.append(
            {
                "condition": condition,
                "descent": steps_needed(
                    A1, A2, B, left=identity / (SMOOTH * norms**2), right=identity
                ),
                "preconditioned": steps_needed(
                    A1,
                    A2,
                    B,
                    left=torch.linalg.inv(A1.T @ A1) / SMOOTH,
                    right=torch.linalg.inv(A2.T @ A2),
                ),
                "newton": newton_passes(A1, A2, B),
            }
        )
    return pd.DataFrame(rows)


def steps_needed(A1: Tensor, A2: Tensor, B: Tensor, left: Tensor, right: Tensor) -> int:
    """Count the steps from X to X - left @ gradient @ right until the loss is `GOAL` times the first or less.

    X starts at zero. Only every tenth step is looked at. The count is `MAX_STEPS` if these do not suffice.
    """
    X = torch.zeros(A1.shape[1], A2.shape[1], dtype=A1.dtype)
    goal = GOAL * float(loss(A1, A2, X, B))
    for step in range(MAX_STEPS):
        if step % 10 == 0 and float(loss(A1, A2, X, B)) <= goal:
            return step
        # The bare formula skips the checks of arguments, which take longer than the formula itself.
        slope = A1.T @ row_gradient(A1 @ X @ A2.T, B, "normalized") @ A2
        X = X - left @ slope @ right
    return MAX_STEPS


def newton_passes(A1: Tensor, A2: Tensor, B: Tensor) -> int:
    """Count the gradients and Hessian products of SciPy's trust-region Newton-CG from X = 0 to `GOAL`.

    The loss at a step that is rejected is not counted. If the search ends before, the count is `MAX_STEPS`.
    """
    rows, columns = A1.shape[1], A2.shape[1]
    # This gets one loss for each pass; a pass for a Hessian product leaves the loss as it is.
    losses: list[float] = []

    def matrix(x: NDArray[np.float64]) -> Tensor:
        return unvec(torch.from_numpy(x), rows, columns)

    def value(x: NDArray[np.float64]) -> float:
        return float(loss(A1, A2, matrix(x), B))

    def slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        losses.append(value(x))
        return np.asarray(vec(gradient(A1, A2, matrix(x), B)))

    def product(x: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        losses.append(losses[-1])
        return np.asarray(vec(hvp(A1, A2, matrix(x), B, matrix(v))))

    minimize(
        value,
        np.zeros(rows * columns),
        jac=slope,
        hessp=product,
        method="trust-ncg",
        options={
            "gtol": 1e-9,
            "maxiter": 500,
            "initial_trust_radius": 1.0,
            "max_trust_radius": 1e3,
        },
    )
    for count, reached in enumerate(losses, start=1):
        if reached <= GOAL * losses[0]:
            return count
    return MAX_STEPS
