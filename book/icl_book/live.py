"""Figures that move: scripts compute the exact risk, and attention, in the page, without a server.

The scripts are ``book/_static/live.js`` with ``risk.js`` and ``tokens.js``. Each figure has a still picture,
drawn here by the package at the values where its controls start. It stays where there are no scripts.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure

from icl.attention import softmax_weights
from icl.risk import asymptotics, mismatch_risk, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import make_task
from icl_book import plots
from icl_book.moving import Moving
from icl_book.plots import COLORS, HTML

_DRAWN = stream(4, "evaluation")
#: Where the controls of each figure start, and its fixed numbers. In "slope" sigma is 1, in "price" L and
#: sigma are; in "circle" angles are in degrees and the noise in units of sigma.
START: dict[str, dict] = {
    "risk": {"kind": "affine", "d": 5, "n": 100, "L": 1.0, "sigma": 0.5, "w": 1.0},
    "slope": {"kind": "relu", "d": 3, "signal": 1.0, "n": 1000},
    "price": {"kind": "relu", "d": 5, "n": 1000, "ratio": 2.0},
    "circle": {
        "angle": 60,
        "w": 10.0,
        "L": 3,
        "sigma": 0.3,
        "angles": sorted(_DRAWN.integers(-180, 180, 40).tolist()),
        "noise": _DRAWN.standard_normal(40).round(2).tolist(),
    },
    "ellipse": {"M": "inverse", "angle": 45, "w": 10.0, "ratio": 3.0, "angles": list(range(-180, 180, 15))},
}
ALT = {
    "risk": "Bias, noise and their sum, the risk, against the window parameter w, both axes logarithmic. As "
    "the window narrows, the noise rises and the bias falls, then rises a little; the minimum is marked.",
    "slope": "The best window against the context length on logarithmic axes, nearly a straight line.",
    "price": "Risk with the window for the wrong Lipschitz constant over the least risk, against the ratio "
    "of the constants: one where they agree, larger on both sides, close to its limit for long contexts.",
    "circle": "Left, tokens on a circle, each a disc whose area is its attention weight: large near the "
    "query, points far from it. Right, the same tokens with their noisy labels on a wave against the "
    "angle, and at the query the prediction and the target.",
    "ellipse": "Left, tokens on an ellipse, each a disc whose area is its attention weight, with lines "
    "of equal weight parallel to the tangent at the query. Right, the same tokens whitened, on a circle, "
    "where the lines are perpendicular to the query.",
}


def live(name: str) -> HTML:
    """Build a figure that moves, with its still picture.

    Args:
        name: A key of `START`: "risk" (bias, noise and risk against w), "slope" (the best window against n
            and its local slope), "price" (of the window for the wrong Lipschitz constant), "circle"
            (attention weights of tokens on the circle), "ellipse" (the same before and after whitening).

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If there is no such figure.
    """
    return _FIGURES.live(name)


def opening(name: str, still: str = "") -> str:
    """Return the opening tag of a figure that moves.

    Args:
        name: A key of `START`.
        still: The id of a figure on the page whose picture it replaces; empty if it holds its own.

    Raises:
        ValueError: If there is no such figure.
    """
    return _FIGURES.opening(name, still)


def risk_picture() -> Figure:
    """Draw bias, noise and risk against the window parameter, and the minimum."""
    s = START["risk"]
    task, w = make_task(s["kind"], s["d"], s["L"]), np.geomspace(0.1, 100, 61)
    risk = population_risk(task, w, s["n"], s["sigma"])
    best = optimal_window(task, s["n"], s["sigma"])
    figure, ax = plt.subplots(figsize=(5.8, 3.4))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="window parameter $w$ (the window narrows to the right)",
        ylabel="mean squared error",
    )
    for name, shift, dashes in (("total", 6, "-"), ("noise", -5, "-."), ("bias", 0, "--")):
        curve = getattr(risk, name)
        plots.exact_curve(ax, w, curve, color=COLORS[name], linestyle=dashes)
        ax.annotate(
            name,
            (w[-1], curve[-1]),
            xytext=(5, shift),
            textcoords="offset points",
            va="center",
            color=COLORS[name],
        )
    ax.plot(best.w, best.risk, "o", color=COLORS["total"], zorder=4)
    ax.annotate(
        "optimum $w^*$",
        (best.w, best.risk),
        xytext=(0, 62),
        textcoords="offset points",
        ha="center",
        arrowprops={"arrowstyle": "-", "color": COLORS["guide"], "shrinkB": 4},
    )
    return figure


def _slope_picture() -> Figure:
    s = START["slope"]
    task, n = make_task(s["kind"], s["d"], s["signal"]), np.round(10 ** np.arange(1, 12.1, 0.5))
    best = optimal_window(task, n, 1.0).w
    figure, ax = plt.subplots()
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="context length n",
        ylabel="best window w*",
        title=f"{task.label}, d = {s['d']}, L / σ = {s['signal']:g}",
    )
    plots.exact_curve(ax, n, best, "exact")
    for power, words in ((1 / s["d"], "1/d"), (2 / s["d"], "2/d")):
        plots.guide(ax, n[6], best[6], power, f"slope {words}", decades=4)
    ax.legend()
    return figure


def _price_picture() -> Figure:
    s = START["price"]
    d, n, ratios = s["d"], s["n"], np.geomspace(0.1, 10, 21)
    trained = make_task(s["kind"], d)
    exact = [
        mismatch_risk(trained, tested, n, 1.0).total / optimal_window(tested, n, 1.0).risk
        for tested in (make_task(s["kind"], d, float(ratio)) for ratio in ratios)
    ]
    figure, ax = plt.subplots()
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="L′ of the test over L of pretraining",
        ylabel="price",
        title=f"{trained.label}, d = {d}, n = {n}, L = σ = 1",
    )
    plots.exact_curve(ax, ratios, exact, "exact")
    limit = [asymptotics.mismatch_penalty(trained, float(ratio)) for ratio in ratios]
    plots.exact_curve(ax, ratios, limit, "n → ∞", COLORS["bias"], linestyle="--")
    ax.legend()
    return figure


def _on_circle(angles) -> torch.Tensor:
    radians = torch.as_tensor(angles).double().deg2rad()
    return torch.stack([radians.cos(), radians.sin()], -1)


def _circle_picture() -> Figure:
    s = START["circle"]
    angles, L, x = np.array(s["angles"]), s["L"], _on_circle(s["angles"])
    labels = np.cos(L * np.deg2rad(angles)) + s["sigma"] * np.array(s["noise"])
    query, grid = _on_circle(s["angle"]), np.arange(-180, 181)
    weights = softmax_weights(x, query, s["w"] * torch.eye(2).double()).numpy()
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.6, 3.2), width_ratios=[1, 1.2])
    left.plot(*_on_circle(grid).T, color=COLORS["guide"], linewidth=1)
    left.plot(*np.outer([0, 1.2], query).T, "-", color=COLORS["guide"], linewidth=1)
    left.plot(*(1.2 * query), "o", color=COLORS["total"], markersize=7)
    left.set(aspect="equal", title="area of a dot: its attention weight")
    left.axis("off")
    right.plot(grid, np.cos(L * np.deg2rad(grid)), "--", color=COLORS["bias"])
    for ax, across, up in ((left, *x.T), (right, angles, labels)):
        ax.scatter(across, up, 2000 * weights, color=COLORS["affine"], alpha=0.4, linewidths=0)
        ax.plot(across, up, ".", color=COLORS["exact"], markersize=2)
    target = np.cos(L * np.deg2rad(s["angle"]))
    marks = {"label": "target", "markerfacecolor": "none", "markersize": 8}
    right.plot(s["angle"], target, "o", color=COLORS["total"], **marks)
    right.plot(s["angle"], weights @ labels, "o", color=COLORS["total"], label="prediction")
    right.set(xlabel="angle in degrees", ylabel="label", xticks=[-180, 0, 180])
    right.legend(loc="upper right")
    return figure


def _ellipse_picture() -> Figure:
    s = START["ellipse"]
    root = np.diag([s["ratio"] ** 0.5, s["ratio"] ** -0.5])
    u, query, rim = (_on_circle(angles).numpy() for angles in (s["angles"], s["angle"], np.arange(-180, 181)))
    M = torch.from_numpy(s["w"] * np.linalg.inv(root @ root))
    weights = softmax_weights(torch.from_numpy(u @ root), torch.from_numpy(query @ root), M).numpy()
    figure, panels = plt.subplots(1, 2, figsize=(6.6, 3), width_ratios=[1.3, 1])
    across = np.array([-query[1], query[0]])
    shapes = ((root, r"tokens $x=\Sigma^{1/2}u$"), (np.eye(2), "whitened: $u$"))
    for ax, (shape, title) in zip(panels, shapes, strict=True):
        ax.plot(*(rim @ shape).T, color=COLORS["guide"], linewidth=1)
        for k in range(5):  # from line to line the weight falls to a tenth
            t = 1 - k * np.log(10) / s["w"]
            if t > -1:
                half = np.sqrt(1 - t**2) + 0.12
                chord = t * query + np.outer([-half, half], across)
                ax.plot(*(chord @ shape).T, "--", color=COLORS["noise"], linewidth=1)
        ax.scatter(*(u @ shape).T, 2000 * weights, color=COLORS["affine"], alpha=0.4, linewidths=0)
        ax.plot(*(u @ shape).T, ".", color=COLORS["exact"], markersize=2)
        ax.plot(*(query @ shape), "o", color=COLORS["total"])
        ax.set(aspect="equal", title=title)
        ax.axis("off")
    return figure


PICTURES = {
    "risk": risk_picture,
    "slope": _slope_picture,
    "price": _price_picture,
    "circle": _circle_picture,
    "ellipse": _ellipse_picture,
}
_FIGURES = Moving(START, ALT, PICTURES)
