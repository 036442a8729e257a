"""The introduction's picture: exact risk against the window parameter, and its minimum."""

from __future__ import annotations

from pathlib import Path

PARAMETERS = {"dim": 5, "n": 100, "lipschitz": 1.0, "noise_std": 0.5}

FIGURE = r"""```{{figure}} {file}
---
name: fig-tradeoff
alt: >-
  Three curves of mean squared error against the window parameter w, both axes logarithmic. As the window
  narrows, the noise rises and the bias falls, then rises a little; their sum has one minimum, marked.
---
Exact mean squared error of one attention unit, in squared label units, against the window parameter $w$
(affine functions, $d = {dim}$, $n = {n}$, $L = {lipschitz:g}$, $\sigma = {noise_std:g}$). Narrowing the
window raises the noise and, at first, lowers the bias (in the end so few neighbors count that the differences
among them do not average out). Pretraining looks for the minimum of the sum, here at $w^* = {w:.2f}$.
```
"""


def markdown(path: Path) -> str:
    """Draw the picture as SVG at ``path`` and return the figure as markdown, with computed numbers."""
    return FIGURE.format(**PARAMETERS, w=draw(path), file=f"{path.parent.name}/{path.name}")


def draw(path: Path) -> float:
    """Draw the picture as SVG and return the optimal window parameter."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    import numpy as np

    from icl.files import write_atomically
    from icl.risk import optimal_window, population_risk
    from icl.tasks import Affine
    from icl_book import plots

    task, n, noise_std = (
        Affine(PARAMETERS["dim"], PARAMETERS["lipschitz"]),
        PARAMETERS["n"],
        PARAMETERS["noise_std"],
    )
    plots.style()
    w = np.geomspace(0.1, 100, 61)
    risk = population_risk(task, w, n, noise_std)
    best = optimal_window(task, n, noise_std)

    figure, ax = plt.subplots(figsize=(5.8, 3.4))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="window parameter $w$ (the window narrows to the right)",
        ylabel="mean squared error",
    )
    plots.exact_curve(ax, w, risk.total, color=plots.COLORS["total"])
    plots.exact_curve(ax, w, risk.bias, color=plots.COLORS["bias"], linestyle="--")
    plots.exact_curve(ax, w, risk.noise, color=plots.COLORS["noise"], linestyle="-.")
    ax.plot(best.w, best.risk, "o", color=plots.COLORS["total"], zorder=4)
    ax.annotate(
        "optimum $w^*$",
        (best.w, best.risk),
        xytext=(0, 62),
        textcoords="offset points",
        ha="center",
        arrowprops={"arrowstyle": "-", "color": plots.COLORS["guide"], "shrinkB": 4},
    )
    for name, shift in (("total", 6), ("noise", -5), ("bias", 0)):
        ax.annotate(
            name,
            (w[-1], getattr(risk, name)[-1]),
            xytext=(5, shift),
            textcoords="offset points",
            va="center",
            color=plots.COLORS[name],
        )
    write_atomically(path, plots.svg(figure))
    plt.close(figure)
    return float(best.w)
