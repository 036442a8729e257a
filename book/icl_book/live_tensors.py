"""Figures that move, of the tensor trick: ``tensors.js`` and ``bounds.js`` of ``book/_static`` compute them.

They are apart from `icl_book.live` because chapters on the tensor trick need nothing of the risk.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from icl.tensor_trick.lipschitz import proven_constant
from icl_book import plots
from icl_book.bounds import LIPSCHITZ
from icl_book.moving import Moving
from icl_book.plots import COLORS, HTML

#: Where the controls of each figure start, and its fixed numbers.
START: dict[str, dict] = {
    "bounds": {"row": "f", "n": 100, "R": 4.0, "printed": [[b.function, *b.powers] for b in LIPSCHITZ]},
    "kronecker": {"A1": [[1, 2], [3, 1], [0, -1]], "A2": [[1, 5], [2, 4]]},
}
ALT = {
    "bounds": "Printed and sharp Lipschitz constants against R, the vertical axis logarithmic. For the "
    "softmax row f two printed curves climb to more than ninety powers of ten at R = 6; the sharp constant "
    "stays near one.",
    "kronecker": "The matrices A1, 3 by 2, and A2, 2 by 2, and their Kronecker product, 6 by 4, in blocks of "
    "2 by 2. The entry in row 3 and column 2 is marked, and with it its factors: row 2, column 1 of A1 and "
    "row 1, column 2 of A2.",
}


def live(name: str) -> HTML:
    """Build a figure that moves, with its still picture.

    Args:
        name: A key of `START`: "kronecker" (which factors make an entry of the product), "bounds" (printed
            Lipschitz constants and ours).

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If there is no such figure.
    """
    return FIGURES.live(name)


def _kronecker_picture() -> Figure:
    first, second = (torch.tensor(START["kronecker"][name]) for name in ("A1", "A2"))
    product = torch.kron(first, second)
    figure, axes = plt.subplots(1, 3, figsize=(5.8, 3.2), width_ratios=[2, 2, 4])
    shown = ((r"$A_1$", first, (1, 0)), (r"$A_2$", second, (0, 1)), (r"$A_1\otimes A_2$", product, (2, 1)))
    for ax, (title, values, (row, column)) in zip(axes, shown, strict=True):
        plots.matrix(ax, values.numpy(), fmt=".0f", limit=40)
        ax.set_title(title)
        ax.add_patch(Rectangle((column, row), 1, 1, fill=False, linewidth=2, color=COLORS["exact"]))
    for edge in (2, 4):
        axes[2].axhline(edge, color=COLORS["guide"], linewidth=1)
    axes[2].axvline(2, color=COLORS["guide"], linewidth=1)
    return figure


def _bounds_picture() -> Figure:
    s = START["bounds"]
    row, n, R = s["row"], s["n"], np.linspace(0.5, 6, 56)
    figure, ax = plt.subplots()
    ax.set(xlabel="R", ylabel="log10 of the Lipschitz constant", title=f"softmax row f, n = {n}")
    for bound in (b for b in LIPSCHITZ if b.function == row):
        ax.plot(R, [bound.log10(n, r) for r in R], "--", color=COLORS["printed"], label=f"${bound.tex}$")
    plots.exact_curve(ax, R, [proven_constant(row, n, r) for r in R], "ours, at most R/2")
    ax.axvline(4, color=COLORS["guide"], linewidth=1)
    ax.annotate("R ≥ 4 assumed", (4, 80), xytext=(-5, 0), textcoords="offset points", ha="right")
    ax.legend(loc="center left")
    return figure


PICTURES = {"bounds": _bounds_picture, "kronecker": _kronecker_picture}
FIGURES = Moving(START, ALT, PICTURES)
