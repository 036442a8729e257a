"""Bounds that papers print, beside bounds that we prove; the curvature of a row; passes over the data.

One row of the matrix problem is a single regression with the symbols

- A, the data matrix of n tokens (n x p), and x, the unknown weights;
- s, the scores or logits ``s = A x``;
- ``u = exp(s)``, alpha the sum of u, and ``f = u / alpha``;
- v, a fixed vector with ``|v| <= R^2``;
- R, the bound of the papers on norms: ``|A| <= R`` (spectral norm) and ``|x| <= R``. With a ``reach`` the
  latter is ``|x| <= reach R``.

The whole problem has the normalized loss ``|F - B|^2 / 2``, where F is the softmax of the rows of
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
    """A printed upper bound, ``factor * n^n_power * R^R_power * e^(exponent R^2)``."""

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
    """Compute log10 of our upper bound on the Lipschitz constant of u, alpha, 1/alpha or f in x, for R > 0.

    The constant of such a function g is the largest ``|g(x) - g(y)| / |x - y|`` over all A and all pairs x, y
    with the norms of the module's docstring. Let J_g(s) be the derivative of g in s. The derivative in x is
    J_g(s) A. The domain is convex, so the constant is the largest norm of J_g(s) A, and ::

        sup over A, x of |J_g(A x) A|  =  R * sup over |s| <= R^2 of |J_g(s)|.

    The left side is at most the right side, since norms are submultiplicative. An A with two columns attains
    the right side. As a function of A with x fixed, g has the same constant. Our bounds are ::

        u: R e^{R^2}, attained.   alpha: R max |u|, attained, from `largest_exponential`.
        1/alpha: R e^{R^2 / sqrt(n)} / n.   f: R / 2, approached as R grows.
    """
    choice(function, "function", FUNCTIONS)
    # This is the largest |s|.
    largest = R**2
    if function == "u":
        return math.log10(R) + largest / math.log(10)
    if function == "alpha":
        # |u|^2 is the sum of the exponentials of 2 s, and |2 s| is at most twice the largest |s|.
        return math.log10(R) + largest_exponential(n, 2 * largest) / 2
    if function == "1/alpha":
        return math.log10(R / n) + largest / math.sqrt(n) / math.log(10)
    return math.log10(R / 2)


def largest_exponential(n: int, radius: float) -> float:
    """Compute log10 of the largest sum of exp(s_i) over all vectors s in R^n with ``|s| <= radius``, n >= 2.

    At a stationary point ``e^{s_i}`` is a multiple of s_i, so s has at most two different entries. At a
    maximum at most one entry is above 1, because two such entries would be equal, and to move them apart
    would raise the sum. Hence the maximizer is (a, b, ..., b). The vector ``(a, sqrt(n - 1) b)`` has the
    length ``radius``, and its angle is searched.
    """
    low = 0.0
    high = np.pi / 2
    # Each round has a 200 times finer grid of angles around the best angle so far.
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
    r"""Compute log10 of the smallest alpha over all A and x, which is ``n e^{-reach R^2/sqrt(n)}``.

    By the inequality of the means, alpha is at least ``n e^{mean of s}``. By Cauchy-Schwarz, the mean of s is
    at least ``-|s| / sqrt(n)``, and |s| is at most ``reach R^2``. All three are equalities if every row of A
    is the same negative multiple of x, and if A and x have the largest norms that are allowed.
    """
    return math.log10(n) - reach * R**2 / math.sqrt(n) / math.log(10)


def printed_constants(*, n_values: Sequence[int], radii: Sequence[float]) -> pd.DataFrame:
    """Compare the printed bounds on Lipschitz constants with those that we prove, as log10."""
    table = tabulate_bounds(LIPSCHITZ, n_values, radii)
    proved = []
    for function, n, R in zip(table.function, table.n, table.R, strict=True):
        if function == "<f, v>":
            # The constant of <f, v> is at most |v| times that of f, and |v| is at most R^2.
            proved.append(proven_constant("f", n, R) + math.log10(R**2))
        else:
            proved.append(proven_constant(function, n, R))
    return table.assign(proved=proved, slack=table.printed - proved)


def printed_sizes(
    *, n_values: Sequence[int], radii: Sequence[float], reach: float = 1.0
) -> pd.DataFrame:
    """Compare the printed bounds on sizes (`SIZES`) with the largest sizes for |x| <= reach R, as log10."""
    table = tabulate_bounds(SIZES, n_values, radii)
    table["largest"] = [
        largest_size(function, n, R, reach)
        for function, n, R in zip(table.function, table.n, table.R, strict=True)
    ]
    return table.assign(excess=table.largest - table.printed)


def tabulate_bounds(
    bounds: Sequence[Bound], n_values: Sequence[int], radii: Sequence[float]
) -> pd.DataFrame:
    """Evaluate log10 of printed bounds for every n and every R of ``radii``."""
    rows = []
    for bound, n, R in product(bounds, n_values, radii):
        row = {"function": bound.function, "bound": bound.name, "n": n, "R": R}
        rows.append(row | {"printed": bound.log10(n, R)})
    return pd.DataFrame(rows)


def largest_size(function: str, n: int, R: float, reach: float = 1.0) -> float:
    """Compute log10 of the largest norm or value of a function of `FUNCTIONS`, over |s| <= reach R^2."""
    if function == "u":
        # |u|^2 is the sum of the exponentials of 2 s.
        return largest_exponential(n, 2 * reach * R**2) / 2
    if function == "alpha":
        return largest_exponential(n, reach * R**2)
    if function == "1/alpha":
        return -smallest_normalizer(n, R, reach)
    # The supremum of |f| is 1.
    return 0.0


def bend_of_two_tokens(p: ArrayLike) -> NDArray[np.float64]:
    """Compute the second derivative of the loss of two tokens in their scores.

    One token has the weight p, and the target is the other token, so the loss is p^2. The direction of the
    derivative is the unit vector that raises one score and lowers the other.
    """
    p = np.asarray(p, dtype=float)
    return np.asarray(4 * p**2 * (1 - p) * (2 - 3 * p))


#: The weights p at which `bend_of_two_tokens` has its largest and its most negative value.
P_LOW = (15 - math.sqrt(33)) / 24
P_HIGH = (15 + math.sqrt(33)) / 24
#: The largest and the most negative value of `bend_of_two_tokens`.
SMOOTH = float(bend_of_two_tokens(P_LOW))
CONCAVE = float(bend_of_two_tokens(P_HIGH))


def extreme_curvature(
    *, n_values: Sequence[int], starts: int, steps: int, seed: int, kind: str = "normalized"
) -> pd.DataFrame:
    """Search the extreme second derivatives of the loss of a row in its scores.

    The search is over all scores and all unit directions. The target is the first token. Adam starts from
    random scores and directions, and once from those that are extreme for the normalized loss of two tokens.
    ``value`` is the extreme second derivative divided by that of the normalized loss of two tokens, `SMOOTH`
    or `CONCAVE`. ``most`` is a proved upper bound on ``value``, plus rounding, for the kinds "normalized" and
    "cross_entropy". The cross-entropy is convex, so for it ``most`` is zero for "most negative", and infinite
    for "largest".
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
            # With these scores the second token has the weight p, and the tokens after it have none.
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
                # With the sign, the most negative second derivative is the largest `bend`.
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


#: A problem counts as solved when the loss is at most this share of the loss at the start.
GOAL = 1e-6
MAX_STEPS = 1_000_000


def count_passes(
    *, context_length: int, dim: int, conditions: Sequence[float], seed: int
) -> pd.DataFrame:
    """Count the passes over the data that three methods need to solve a problem, from X = 0.

    There is a problem for each of the ``conditions``. Each is the condition number of A1 and of A2. The
    target B is the same in all problems, and can be fitted exactly. The step size of gradient descent is one
    over our bound on the curvature.
    """
    rng = stream(seed, "monte carlo")
    # This X fits B if the condition number is one.
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
        # No second derivative of the loss in X exceeds SMOOTH times the square of this.
        norms = torch.linalg.matrix_norm(A1, 2) * torch.linalg.matrix_norm(A2, 2)
        identity = torch.eye(dim, dtype=torch.float64)
        descent = count_steps(A1, A2, B, left=identity / (SMOOTH * norms**2), right=identity)
        # With the preconditioners the bound on the curvature is SMOOTH alone.
        preconditioned = count_steps(
            A1,
            A2,
            B,
            left=torch.linalg.inv(A1.T @ A1) / SMOOTH,
            right=torch.linalg.inv(A2.T @ A2),
        )
        rows.append(
            {
                "condition": condition,
                "descent": descent,
                "preconditioned": preconditioned,
                "newton": count_newton_passes(A1, A2, B),
            }
        )
    return pd.DataFrame(rows)


def count_steps(A1: Tensor, A2: Tensor, B: Tensor, left: Tensor, right: Tensor) -> int:
    """Count the steps from X to X - left @ slope @ right until the problem is solved, from X = 0.

    Here ``slope`` is the gradient of the loss in X. The count is `MAX_STEPS` if the problem is not solved
    before.
    """
    X = torch.zeros(A1.shape[1], A2.shape[1], dtype=A1.dtype)
    goal = GOAL * float(loss(A1, A2, X, B))
    for step in range(MAX_STEPS):
        if step % 10 == 0 and float(loss(A1, A2, X, B)) <= goal:
            return step
        # `icl.tensor_trick.gradient` would also check its arguments, which takes longer than this formula.
        slope = A1.T @ row_gradient(A1 @ X @ A2.T, B, "normalized") @ A2
        X = X - left @ slope @ right
    return MAX_STEPS


def count_newton_passes(A1: Tensor, A2: Tensor, B: Tensor) -> int:
    """Count the gradients and Hessian products of SciPy's trust-region Newton-CG until the problem is solved.

    Evaluations of the loss alone are not counted. The count is `MAX_STEPS` if the problem is not solved.
    """
    rows, columns = A1.shape[1], A2.shape[1]
    # This gets the current loss at each gradient and at each Hessian product.
    losses: list[float] = []

    def to_matrix(x: NDArray[np.float64]) -> Tensor:
        return unvec(torch.from_numpy(x), rows, columns)

    def compute_loss(x: NDArray[np.float64]) -> float:
        return float(loss(A1, A2, to_matrix(x), B))

    def compute_gradient(x: NDArray[np.float64]) -> NDArray[np.float64]:
        losses.append(compute_loss(x))
        return np.asarray(vec(gradient(A1, A2, to_matrix(x), B)))

    def compute_product(x: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        losses.append(losses[-1])
        return np.asarray(vec(hvp(A1, A2, to_matrix(x), B, to_matrix(v))))

    minimize(
        compute_loss,
        np.zeros(rows * columns),
        jac=compute_gradient,
        hessp=compute_product,
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
