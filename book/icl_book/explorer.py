"""A figure of the exact risk with controls for class, noise and window, which needs no server."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence

import numpy as np

from icl_book.plots import COLORS, HTML

FRAME = {"left": 62, "right": 600, "top": 12, "bottom": 250}  # in SVG units of a 620 x 300 drawing
DECADES = (-4, 1)  # powers of ten of the risk at the bottom and at the top of the frame
DASHES = {"bias": "8 4", "noise": "2 4", "total": ""}


def risk_explorer(
    w: Sequence[float],
    classes: Mapping[str, tuple[np.ndarray, np.ndarray]],
    noise_stds: tuple[float, float],
    alt: str,
) -> HTML:
    """Draw bias, noise and risk against the window parameter, with controls.

    Only the bias and ``E sum omega_i^2`` are stored: the noise term is sigma^2 times the second, so every
    sigma between the ends is exact. ``book/_static/explorer.js`` redraws the curves when a control moves;
    the book's pages load it. Without it the first class at the middle of the sliders stays.

    Args:
        w: Window parameters, geometrically spaced, shape (k,).
        classes: Name to (bias, noise at sigma = 1), shapes (k,).
        noise_stds: Smallest and largest sigma, both > 0.
        alt: What the figure shows, for readers who cannot see it.

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If alt is empty, shapes differ, or the noise range is not 0 < low < high.
    """
    if not alt.strip():
        raise ValueError("alt is empty: describe the figure in words")
    least, most = noise_stds
    if not 0 < least < most:
        raise ValueError(f"noise_stds={noise_stds!r}: must be two numbers 0 < low < high")
    if any(len(curve) != len(w) for pair in classes.values() for curve in pair):
        raise ValueError(f"classes: every curve must have {len(w)} values, one for each w")
    curves = {
        "w": _short(w),
        "classes": {
            name: {"bias": _short(bias), "noise": _short(noise)} for name, (bias, noise) in classes.items()
        },
        "frame": FRAME,
        "decades": DECADES,
    }
    bias, noise = map(np.asarray, next(iter(classes.values())))
    sigma, middle = float(np.sqrt(least * most)), len(w) // 2  # the sliders' first places, halfway
    parts = {"bias": bias, "noise": sigma**2 * noise, "total": bias + sigma**2 * noise}
    risk, best = parts["total"], int(np.argmin(parts["total"]))
    read = (
        f"risk {risk[middle]:.4g} = bias {bias[middle]:.4g} + noise {parts['noise'][middle]:.4g}. "
        f"Lowest on this grid: {risk[best]:.4g} at w = {w[best]:.3g}."
    )
    options = "".join(f"<option>{html.escape(name)}</option>" for name in classes)
    return HTML(
        f'<div class="icl-explorer" data-curves="{html.escape(json.dumps(curves))}">'
        f"{_drawing(w, parts, {'best': best, 'here': middle}, alt)}"
        f"<label>class <select>{options}</select></label>"
        + _slider("noise", "noise standard deviation", np.log10([least, most, sigma]), 0.01, sigma)
        + _slider("window", "window parameter", (0, len(w) - 1, middle), 1, w[middle])
        + f'<output class="read" aria-live="polite">{read}</output></div>'
    )


def _drawing(w: Sequence[float], curves: dict[str, np.ndarray], marks: dict[str, int], alt: str) -> str:
    """Return the SVG of the first state; explorer.js moves its curves and its two marks."""
    left, right, top, bottom = FRAME.values()

    def x(value):
        return left + (right - left) * np.log(value / w[0]) / np.log(w[-1] / w[0])

    def y(value):
        low, high = DECADES
        return bottom + (top - bottom) * (np.clip(np.log10(value), low, high) - low) / (high - low)

    def text(at_x, at_y, words, anchor="middle", turn=0):
        return (
            f'<text transform="translate({at_x:.1f} {at_y:.1f}) rotate({turn})" text-anchor="{anchor}">'
            f"{words}</text>"
        )

    decades_w = 10.0 ** np.arange(np.ceil(np.log10(w[0])), np.floor(np.log10(w[-1])) + 1)
    decades_risk = 10.0 ** np.arange(DECADES[0], DECADES[1] + 1)
    labels = [
        *(text(x(value), bottom + 18, f"{value:g}") for value in decades_w),
        *(text(left - 8, y(value) + 4, f"{value:g}", "end") for value in decades_risk),
        text((left + right) / 2, 292, "window parameter w"),
        text(14, (top + bottom) / 2, "risk", turn=-90),
    ]
    key = "".join(
        f'<tspan fill="{COLORS[name]}" dx="14">{mark} {name}</tspan>'
        for name, mark in (("bias", "╌"), ("noise", "┄"), ("total", "─"))
    )
    lines = "".join(
        f'<polyline data-curve="{name}" fill="none" stroke="{COLORS[name]}" stroke-width="2" '
        f'stroke-dasharray="{DASHES[name]}" '
        f'points="{" ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(w, curve, strict=True))}"/>'
        for name, curve in curves.items()
    )
    dots = "".join(
        f'<circle class="{name}" cx="{x(w[i]):.1f}" cy="{y(curves["total"][i]):.1f}" r="5" '
        f'fill="{"currentColor" if name == "here" else "none"}" stroke="currentColor" stroke-width="2"/>'
        for name, i in marks.items()
    )
    return (
        f'<svg viewBox="0 0 620 300" role="img" aria-label="{html.escape(alt)}">'
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".4"/>'
        f'<g fill="currentColor" font-size="12">{"".join(labels)}</g>'
        f'<text x="{left}" y="{top + 18}" font-size="12">{key}</text>{lines}{dots}</svg>'
    )


def _slider(name: str, label: str, places: Sequence[float], step: float, shown: float) -> str:
    low, high, start = (f"{place:.4f}".rstrip("0").rstrip(".") for place in places)
    return (
        f'<label>{label} <input class="{name}" type="range" min="{low}" max="{high}" step="{step}" '
        f'value="{start}"><output class="{name}">{shown:.3g}</output></label>'
    )


def _short(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
