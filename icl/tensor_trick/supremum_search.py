"""Lower bounds on the supremum of a Lipschitz quotient, or of a derivative, by gradient ascent.

The value found is attained, so it is a lower bound on the supremum, and refutes a printed upper bound below
it. That it is the supremum needs a proof (`icl.tensor_trick.lipschitz.proven_constant`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl.adam import minimize
from icl.tensor_trick.lipschitz import log_jacobian_norm

_LN10 = math.log(10)

Objective = Callable[..., Tensor]

#: Random draws for each start of a search; the ascent begins at the best ones.
SCREEN = 8

#: Norm of the matrix an ascent starts from. Only its direction counts; this sets how far a step turns it.
SCALE = 3.0


@dataclass(frozen=True, eq=False)
class Search:
    """Outcome of a maximization from many random starts: log10 of the largest value over all starts, (...).

    The history, (steps + 1, ...), is the same after each step; the first is of the random starts alone.
    """

    best: Tensor
    history: Tensor


def ascend(
    objective: Objective, start: Sequence[Tensor], steps: int, rate: float = 0.1
) -> Search:
    """Maximize a natural logarithm by Adam with a rate that falls to zero, all problems at once.

    The objective maps the variables, tensors with leading dimensions (..., starts), to values of that shape;
    it must keep its own constraints. A value that is not a number counts as not found.
    """
    # the value after the last step counts, so one more step is taken
    _, values = minimize(
        lambda step, *variables: -objective(*variables), start, steps + 1, rate
    )
    history = _found(-values).amax(-1).cummax(0).values / _LN10
    return Search(history[-1], history)


def search(
    function: str,
    n: int,
    Rs: Sequence[float],
    starts: int,
    steps: int,
    rng: np.random.Generator,
    columns: int = 2,
    reach: float = 1.0,
    moving: str = "x",
) -> Search:
    """Search the largest Lipschitz quotient over data matrices, points and directions.

    Free variables are A (n x columns), x, and a direction: v for a moving x, E (n x columns) for a
    moving A. The objective is ``|J_g(Ax) A v|`` with ``|v| = 1``, or ``|J_g(Ax) E x|`` with ``|E| = 1``:
    limits of the quotient as the step goes to zero. Nothing of `proven_constant` or `worst_logits` is used.

    The function is one of `icl.tensor_trick.lipschitz.FUNCTIONS`. Each R of ``Rs`` is a problem,
    ``|A| <= R`` and ``|x| <= reach * R``, with ``starts`` starts, the best of `SCREEN` times as many random
    draws. The result has shape (len(Rs),); ``moving`` is "x" or "A".
    """
    R = torch.as_tensor(Rs, dtype=torch.float64)[:, None]

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(rng.standard_normal((len(Rs), SCREEN * starts, *shape)))

    def matrix(M: Tensor) -> Tensor:  # of spectral norm 1
        norm: Tensor = torch.linalg.eigvalsh(M.mT @ M)[..., -1].sqrt()[..., None, None]
        return M / norm

    def objective(M: Tensor, y: Tensor, z: Tensor) -> Tensor:
        A = R[..., None, None] * matrix(M)
        x = ball(y, reach * R[..., None])[..., None]
        w = (
            A @ (z / z.norm(dim=-1, keepdim=True))[..., None]
            if moving == "x"
            else matrix(z) @ x
        )
        return log_jacobian_norm(function, (A @ x).squeeze(-1), w.squeeze(-1))

    # two thirds of the draws are heavy-tailed: the maxima of exponentials have one large row
    power = torch.tensor([1.0, 3.0, 7.0], dtype=torch.float64)[
        torch.arange(SCREEN * starts) % 3, None, None
    ]
    M = normal(n, columns)
    M = SCALE * matrix(M.sign() * M.abs() ** power)
    drawn = M, normal(columns), normal(columns) if moving == "x" else normal(n, columns)
    return ascend(objective, screened(objective, drawn, starts), steps)


def _found(values: Tensor) -> Tensor:
    return values.masked_fill(values.isnan(), -math.inf)


def screened(
    objective: Objective, drawn: Sequence[Tensor], starts: int
) -> list[Tensor]:
    """Return the best ``starts`` of the draws (problems, draws, ...) of every problem."""
    with torch.no_grad():
        chosen = _found(objective(*drawn)).topk(starts).indices
    problem = torch.arange(len(chosen))[:, None]
    return [t[problem, chosen] for t in drawn]


def ball(z: Tensor, radius: float | Tensor) -> Tensor:
    """Return a point of the ball of that radius, ``radius * z / max(1, |z|)``."""
    point: Tensor = radius * z / z.norm(dim=-1, keepdim=True).clamp(min=1)
    return point


def directional(
    slope: Callable[[Tensor], Tensor], order: int, s: Tensor, w: Tensor
) -> Tensor:
    """Compute the derivative of the given order along w at s, from the first one, ``slope``, by forward mode.

    Over unit w its largest absolute value is the norm of the gradient (order 1), of the Hessian (2) or
    of the third derivative (3): a symmetric form is largest on its diagonal.
    """
    if order == 1:
        return slope(s)
    lower = partial(directional, slope, order - 1, w=w)
    derivative: Tensor = torch.func.jvp(lower, (s,), (w,))[1]
    return derivative


def simplex(t: Tensor) -> Tensor:
    """Return a point of the simplex, the softmax of 4 t."""
    return torch.softmax(4 * t, -1)


def search_loss(
    slope: Callable[[Tensor, Tensor, Tensor], Tensor],
    order: int,
    n: int,
    radius: float,
    starts: int,
    steps: int,
    rng: np.random.Generator,
    sign: float = 1.0,
    targets: Callable[[Tensor], Tensor] = simplex,
) -> Search:
    """Search the largest derivative of a row loss over logits ``|s| <= radius``, unit w and targets.

    The loss is given by its first derivative: ``slope`` maps logits, a direction and targets, all (..., n),
    to the derivative along the direction, (...). ``order`` is 1, 2 or 3; ``sign=-1`` looks for the most
    negative derivative, whose absolute value is reported; ``targets`` maps unconstrained numbers (..., n) to
    allowed targets. The rest is as in `search`, with one problem.
    """

    def normal() -> Tensor:
        return torch.from_numpy(rng.standard_normal((1, SCREEN * starts, n)))

    def objective(z: Tensor, y: Tensor, t: Tensor) -> Tensor:
        w, b = y / y.norm(dim=-1, keepdim=True), targets(t)
        value = sign * directional(lambda s: slope(s, w, b), order, ball(z, radius), w)
        return torch.where(
            value > 0, value.clamp(min=1e-30).log(), value - 100
        )  # climbs from below as well

    return ascend(
        objective,
        screened(objective, (3 * normal(), normal(), normal()), starts),
        steps,
    )
