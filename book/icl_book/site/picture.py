"""The introduction's picture: exact risk against the window parameter, and its minimum."""

from __future__ import annotations

from pathlib import Path

FIGURE = r"""```{{figure}} {file}
---
name: fig-tradeoff
alt: >-
  Bias, noise and their sum, the risk, against the window parameter w, both axes logarithmic. As the window
  narrows, the noise rises and the bias falls, then rises a little; the minimum is marked.
---
Exact mean squared error of one attention unit, in squared label units, against the window parameter $w$.
Narrowing the window raises the noise and, at first, lowers the bias (in the end so few neighbors count that
the differences among them do not average out). Pretraining looks for the minimum of the sum: for affine
functions, $d = 5$, $n = 100$, $L = 1$, $\sigma = 0.5$ it is marked.
{{doc}}`../notebooks/exact_risk` ends with this figure to move.
```
"""


def markdown(path: Path) -> str:
    """Draw the picture as SVG at ``path`` and return the figure as markdown."""
    draw(path)
    return FIGURE.format(file=f"{path.parent.name}/{path.name}")


def draw(path: Path) -> None:
    """Draw the picture as SVG."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    import numpy as np

    from icl.files import write_atomically
    from icl.risk import optimal_window, population_risk
    from icl.tasks import Affine
    from icl_book import plots
    from icl_book.plots import COLORS

    plots.style()
    task, w = Affine(5), np.geomspace(0.1, 100, 61)
    risk = population_risk(task, w, 100, 0.5)
    best = optimal_window(task, 100, 0.5)
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
    write_atomically(path, plots.svg(figure))
    plt.close(figure)
