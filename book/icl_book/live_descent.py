"""A figure that moves: a step of gradient descent beside the update of an attention layer.

The script is ``book/_static/descent.js``. `icl_book.live` has the others.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from icl.streams import stream
from icl.tensor_trick import gradient
from icl.tensor_trick.target_shift import data_move, self_attention_weights
from icl_book.moving import Moving
from icl_book.plots import COLORS, HTML

_DRAWN = stream(2, "evaluation")


def _normal(*shape: int) -> list:
    numbers: list = _DRAWN.standard_normal(shape).round(2).tolist()
    return numbers


def _problem(n: int = 6, d: int = 2) -> dict:
    return {"A1": _normal(n, d), "A2": _normal(n, d), "logits": _normal(n, n)}


_OTHERS = [_problem() | {"X": (np.eye(2) + np.array(_normal(2, 2)) / 2).round(2).tolist()} for _ in range(8)]
#: Where the controls start, and the problems; targets are the softmax of their logits.
START: dict[str, dict] = {"descent": {"layer": "own", "angle": 30, "c": 1.0, **_problem(), "others": _OTHERS}}
ALT = {
    "descent": "Left, six tokens in the plane, each with two arrows: how it would have to move to make a "
    "step of gradient descent, and how a softmax layer moves it. Right, the two moves of the scores as "
    "arrows, with the angle between them."
}


def live(name: str) -> HTML:
    """Build a figure that moves, with its still picture.

    Args:
        name: A key of `START`: "descent" (a gradient step and the update of a layer).

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If there is no such figure.
    """
    return FIGURES.live(name)


def turn(degrees: float) -> Tensor:
    """Return the weights X of the figure, a turn of the plane."""
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).reshape(2, 2)


def _tensor(numbers: list) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _tensors(problem: dict) -> tuple[Tensor, Tensor, Tensor]:
    first, second, logits = (_tensor(problem[name]) for name in ("A1", "A2", "logits"))
    return first, second, logits.softmax(-1)


def step(problem: dict, X: Tensor) -> Tensor:
    """Return the move of the tokens that gives the scores of a gradient step of size 1 / (|A1|^2 |A2|^2)."""
    first, second, B = _tensors(problem)
    eta = 1 / (torch.linalg.matrix_norm(first, 2) * torch.linalg.matrix_norm(second, 2)) ** 2
    return data_move(first, X, X - eta * gradient(first, second, X, B)) - first


def update(problem: dict, X: Tensor, c: float, others: list[dict] | None = None) -> Tensor:
    """Return the move of the tokens by a softmax layer with values fitted to the problem, or to others.

    Its length means nothing: goals are fitted at length 1.
    """

    def feature(one: dict) -> Tensor:
        tokens = _tensor(one["A1"])
        return self_attention_weights(tokens, c) @ tokens

    fit = [(one, _tensor(one["X"])) for one in others] if others else [(problem, X)]
    goals = [step(*one) for one in fit]  # divided by their lengths: a long one would decide the fit alone
    seen, wanted = torch.cat([feature(one) for one, _ in fit]), torch.cat([g / g.norm() for g in goals])
    return feature(problem) @ torch.linalg.lstsq(seen, wanted, driver="gelsd").solution


def cosine(problem: dict, X: Tensor, move: Tensor) -> float:
    """Return the cosine between the moves of the scores by a move of the tokens and by a gradient step."""
    second = _tensors(problem)[1]
    ours, theirs = (each @ X @ second.mT for each in (move, step(problem, X)))
    return float((ours * theirs).sum() / (ours.norm() * theirs.norm()))


def _descent_picture() -> Figure:
    s = START["descent"]
    X = turn(s["angle"])
    moves = {
        "gradient step": (step(s, X), COLORS["exact"]),
        "softmax layer": (update(s, X, s["c"]), COLORS["bias"]),
    }
    angle = np.arccos(cosine(s, X, moves["softmax layer"][0]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4))
    tokens, second = np.array(s["A1"]), _tensor(s["A2"])
    arrow = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.008}
    for (words, (move, color)), turned in zip(moves.items(), (0.0, angle), strict=True):
        shown = 2 * (move / (move @ X @ second.mT).norm()).numpy()
        left.quiver(*tokens.T, *shown.T, color=color, **arrow)
        tip = np.array([np.cos(turned), np.sin(turned)])
        right.quiver(0, 0, *tip, color=color, **arrow)
        right.annotate(
            words, tip, xytext=(0, 8 if turned else -14), textcoords="offset points", ha="right", color=color
        )
    left.plot(*tokens.T, ".", color=COLORS["exact"])
    left.set(aspect="equal", title="tokens, and how each would move")
    right.set(aspect="equal", xlim=(-0.3, 1.1), ylim=(-0.5, 0.9))
    right.set_title(f"moves of the scores: cosine {np.cos(angle):.3f}")
    for ax in (left, right):
        ax.axis("off")
    return figure


PICTURES = {"descent": _descent_picture}
FIGURES = Moving(START, ALT, PICTURES)
