"""Figures that move, of the best window: on Gaussian tokens, and its phases.

The scripts are ``gaussian.js`` and ``phases.js`` of ``book/_static``. `icl_book.live` has the others.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import betainc

from icl.risk import gaussian_window, nearest_neighbor_risk, optimal_window, population_risk
from icl.tasks import Cosine, Linear
from icl_book import plots
from icl_book.moving import Moving
from icl_book.plots import COLORS, HTML

#: Where the controls of each figure start.
START: dict[str, dict] = {
    "gaussian": {"shown": "w", "d": 5, "n": 10000, "sigma": 0.5},
    "phases": {"kind": "cosine", "d": 3, "sigma": 0.1, "n": 63, "L": 10.0},
}
ALT = {
    "gaussian": "Best window, or least risk, of linear functions against the context length on logarithmic "
    "axes. On Gaussian tokens the best window levels off at one; on a sphere of equal length it grows.",
    "phases": "Left, a map of the best window over context length and wavenumber or slope, in regions named "
    "equal weights, a window and few tokens, with a point to move. Right, the risk at that point against the "
    "window parameter, with the levels of equal weights and of the nearest neighbor.",
}


def live(name: str) -> HTML:
    """Build a figure that moves, with its still picture.

    Args:
        name: A key of `START`: "gaussian" (best window and risk on Gaussian tokens and on the sphere),
            "phases" (the map of the best window, and the risk at a point of it).

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If there is no such figure.
    """
    return FIGURES.live(name)


def _gaussian_picture() -> Figure:
    s = START["gaussian"]
    n = np.round(10 ** np.arange(1, 12.1, 0.5))
    sphere = optimal_window(Linear(s["d"], s["d"] ** 0.5), n, s["sigma"])  # of radius sqrt(d)
    curves = (
        ("Gaussian tokens", gaussian_window(s["d"], n, s["sigma"]).w, COLORS["exact"], "-"),
        ("sphere", sphere.w / s["d"], COLORS["bias"], "--"),
    )
    figure, ax = plt.subplots()
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="context length n",
        ylabel="best window w*",
        title=f"linear functions, L = 1, d = {s['d']}, σ = {s['sigma']}",
    )
    ax.axhline(1, color=COLORS["guide"], linewidth=1)
    for words, w, color, dashes in curves:
        plots.exact_curve(ax, n, w, color=color, linestyle=dashes)
        ax.annotate(words, (n[16], w[16]), xytext=(0, 6), textcoords="offset points", ha="right", color=color)
    return figure


def _phases_picture() -> Figure:
    s = START["phases"]
    d, sigma, n, waves = (
        s["d"],
        s["sigma"],
        np.round(10 ** np.linspace(1, 4.2, 13)),
        10 ** np.linspace(-0.6, 1.3, 12),
    )
    best = np.array([optimal_window(Cosine(d, float(L)), n, sigma).w for L in waves])
    half, task = (d - 1) / 2, Cosine(d, s["L"])
    reach = n * betainc(half, half, np.minimum(0.5 / np.maximum(best, 0.25), 1.0))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6))
    shown = np.ma.masked_less_equal(best, 0)
    left.pcolormesh(n, waves, shown, cmap="Blues", norm="log", vmin=0.1, vmax=3e4, shading="nearest")
    left.contour(n, waves, best > 0, [0.5], colors="black", linewidths=1)
    left.contour(n, waves, np.where(best > 0, reach, 9), [2.0], colors="black", linewidths=1)
    names = (
        ("equal weights", best <= 0),
        ("a window", (best > 0) & (reach >= 2)),
        ("few tokens", (best > 0) & (reach < 2)),
    )
    for words, where in names:
        if where.sum() >= 9:
            rows, columns = np.nonzero(where)
            place = n[round(columns.mean())], waves[round(rows.mean())]
            left.annotate(words, place, ha="center", va="center", fontweight="bold")
    left.plot(s["n"], s["L"], "o", color=COLORS["total"])
    left.set(
        xscale="log",
        yscale="log",
        xlabel="context length n",
        ylabel="wavenumber L",
        title=f"cosines, d = {d}, σ = {sigma}",
    )
    left.grid(False)
    w, least = np.geomspace(0.1, 1e3, 41), optimal_window(task, s["n"], sigma)
    plots.exact_curve(
        right, w, population_risk(task, w, s["n"], sigma).total / least.risk, color=COLORS["total"]
    )
    levels = (
        ("equal weights", population_risk(task, 0.0, s["n"], sigma).total, COLORS["bias"], (0.1, "left")),
        (
            "nearest neighbor",
            nearest_neighbor_risk(task, s["n"], sigma).total,
            COLORS["noise"],
            (1e3, "right"),
        ),
    )
    for words, risk, color, (x, anchor) in levels:
        right.axhline(risk / least.risk, color=color, linestyle="--")
        right.annotate(
            words, (x, risk / least.risk), xytext=(0, 4), textcoords="offset points", ha=anchor, color=color
        )
    right.plot(max(least.w, w[0]), 1, "o", color=COLORS["total"])
    right.set(
        xscale="log",
        yscale="log",
        xlabel="window parameter w",
        ylabel="risk / least risk",
        title=f"n = {s['n']}, L = {s['L']:g}: w* = {least.w:.3g}",
    )
    right.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    return figure


PICTURES = {"gaussian": _gaussian_picture, "phases": _phases_picture}
FIGURES = Moving(START, ALT, PICTURES)
